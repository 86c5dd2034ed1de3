"""What may be planned by hand: patterns of who makes it and what it does, of which a denying one always wins."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from runtime.desk import Action
    from runtime.paper.values import MakerKind


class Permissions(BaseModel):
    """``[paper.plans]``: what may be planned by hand. Patterns like ``person:close`` or ``model:*``; what none of them names, asks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deny: tuple[str, ...] = ()
    """Refused; wins over the others."""
    ask: tuple[str, ...] = ()
    """Waits for a second person; wins over ``allow``."""
    allow: tuple[str, ...] = ()
    """Approved at once, as ``system:policy``."""
    life_minutes: Annotated[float, Field(gt=0, le=10_080)] = 60.0
    """How long a plan waits for its approval and execution."""

    def verdict(self, kind: MakerKind, action: Action) -> str:
        """``deny``, ``ask`` or ``allow``."""
        wanted = f"{kind.value}:{action.value}"
        for name in ("deny", "ask", "allow"):
            if any(fnmatch.fnmatchcase(wanted, pattern) for pattern in getattr(self, name)):
                return name
        return "ask"
