from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(
    str(Path(__file__).parent / "worlds")
)  # a folder of its own: here would also be a module named conftest
