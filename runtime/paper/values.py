"""The closed choices of paper trading, and who is who in it."""

from __future__ import annotations

from enum import Enum

PAPER_RUNNER = "system:paper_runner"
"""The approver of an unattended run's own orders. It is earned by two acts of people: a promotion and a start."""


class RunStatus(Enum):
    """Where a run stands. The value is the stable name in database and JSON."""

    RUNNING = "running"
    STOPPED = "stopped"
    """A person stopped it."""
    FINISHED = "finished"
    """Its feed has come to an end, or its time is over."""
    FAILED = "failed"
    """The strategy, its process or the feed did what asking again does not mend; or a streak of outages was too long."""
    REVOKED = "revoked"
    """Its deployment does not hold any more."""
    DRIFTED = "drifted"
    """A replay of what is stored did not arrive at what is stored."""

    @property
    def is_over(self) -> bool:
        """Whether nothing will come any more unless a person resumes it."""
        return self is not RunStatus.RUNNING


class PlanStatus(Enum):
    """Where a plan stands."""

    PENDING = "pending_approval"
    APPROVED = "approved"
    EXECUTED = "executed"
    REJECTED = "rejected"
    EXPIRED = "expired"


class MakerKind(Enum):
    """Who made a plan."""

    STRATEGY = "strategy"
    PERSON = "person"
    MODEL = "model"


class Outcome(Enum):
    """What became of an intent."""

    PENDING = "pending"
    """The venue has the order, and it waits."""
    FILLED = "filled"
    REJECTED = "rejected"
    """The venue refused it."""
    RISK_REJECTED = "risk_rejected"
    """A guard refused it; the venue never saw it."""
    CANCELLED = "cancelled"
    """It waited and will not fill any more."""
    DONE = "done"
    """It was a wish to cancel, and was passed on."""
