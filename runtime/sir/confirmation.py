"""What a person confirmed about a document: bound to its hash, so that any other document needs its own confirmation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from runtime.sir.plan import ExecutionPlan, PlannedAssumption


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Somebody read the assumptions of one document and said yes to those that need it."""

    document_sha256: str
    assumptions: tuple[str, ...]
    """Ids; what they say is fixed by the hash."""
    at: datetime
    """Aware, UTC."""


def open_assumptions(plan: ExecutionPlan, confirmation: Confirmation | None) -> tuple[PlannedAssumption, ...]:
    """What still needs a person's yes. A confirmation of another document counts for nothing."""
    is_ours = confirmation is not None and confirmation.document_sha256 == plan.document_sha256
    confirmed = confirmation.assumptions if confirmation is not None and is_ours else ()
    return tuple(each for each in plan.assumptions if each.needs_confirmation and each.id not in confirmed)


def why_not_promotable(plan: ExecutionPlan, confirmation: Confirmation | None) -> str | None:
    """One sentence for whoever wants to promote the document; None when nothing is open."""
    still = open_assumptions(plan, confirmation)
    if not still:
        return None
    names = ", ".join(each.id for each in still)
    return (
        f"document {plan.document_sha256[:12]} has assumptions that nobody confirmed ({names}): read them with "
        f"'trigate sir explain FILE', then confirm with --confirm"
    )
