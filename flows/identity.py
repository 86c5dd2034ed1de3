"""What a result is bound to on this machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.settings import Settings


def config_hash(settings: Settings) -> str:
    """Identity of what changes a trial's figures: cash, costs and limits. Sizes, endpoints and the machine do not."""
    text = settings.run.model_dump_json() + settings.limits.model_dump_json()
    return hashlib.sha256(text.encode()).hexdigest()
