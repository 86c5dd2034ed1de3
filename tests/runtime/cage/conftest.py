from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.append(str(Path(__file__).parent))  # where a zygote finds cage_entries, as it finds any installed entry

from cage_arena import ENTRY, Arena

from runtime.cage import open_cage

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def _full_arena() -> Iterator[Arena]:
    with open_cage(ENTRY, b"bars") as cage:
        yield Arena(cage)


@pytest.fixture
def arena(_full_arena: Arena) -> Arena:
    """A full cage, shared by the tests of a session as by the candidates of a night."""
    return _full_arena
