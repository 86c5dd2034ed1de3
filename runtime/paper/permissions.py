"""What may be planned by hand: patterns of who makes it and what it does, of which a denying one always wins."""

from __future__ import annotations

import fnmatch
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from runtime.desk import Action
from runtime.paper.values import MakerKind

_PLANS = tuple(f"{kind.value}:{action.value}" for kind in (MakerKind.PERSON, MakerKind.MODEL) for action in Action)


def _matching(pattern: str) -> str:
    """A pattern that matches nothing was mistyped, and what it was to deny would go its way."""
    if not any(fnmatch.fnmatchcase(plan, pattern) for plan in _PLANS):
        raise ValueError(
            f"{pattern!r} matches no plan: write {MakerKind.PERSON.value} or {MakerKind.MODEL.value}, a colon, and "
            f"{', '.join(action.value for action in Action)} or *, all in small letters"
        )
    return pattern


Pattern = Annotated[str, AfterValidator(_matching)]


class Permissions(BaseModel):
    """``[paper.plans]``: what may be planned by hand. Patterns like ``person:close`` or ``model:*``; what none of them names, asks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deny: tuple[Pattern, ...] = ()
    """Refused; wins over the others."""
    ask: tuple[Pattern, ...] = ()
    """Waits for a second person; wins over ``allow``."""
    allow: tuple[Pattern, ...] = ()
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
