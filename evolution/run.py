"""A run: what it was started with, how it stands, and how its trials went."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from evolution.trial import Trial, TrialOutcome


class RunStatus(Enum):
    """How a run stands. The value is the stable name in database and JSON."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    """Stopped before its plan was done: a deadline, a signal, a lost worker. It may be resumed."""
    FAILED = "failed"
    """Our own fault; it may be resumed once the fault is mended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a run is started with, and what its trials are bound to."""

    seed: int
    plan: Mapping[str, Any]
    """The search plan as a JSON document; only the search knows its shape."""
    dataset: str
    """Name of the data set."""
    dataset_sha256: str
    """Digest of the part that the search may see."""
    config_hash: str
    engine_version: str
    profile: str | None = None
    """Name of the LLM profile; None when the run is offline."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One stored run."""

    id: str
    """``r-20261130-001``: the UTC day on which it began, and a counter."""
    facts: RunFacts
    status: RunStatus
    created: datetime
    finished: datetime | None
    """When it was finished, interrupted or failed; None while it runs."""
    story: Mapping[str, Any] = field(default_factory=dict)
    """What happened on the way, as a JSON document (``evolution.story``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """Where a run's candidates ended, in the order in which they could fall."""

    outcomes: Mapping[TrialOutcome, int]
    """Every outcome is a key."""
    rejected_by_gate: Mapping[int, int]
    """1, 2 and 3 are keys."""

    @property
    def total(self) -> int:
        """All trials, barren ones included."""
        return sum(self.outcomes.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunListing:
    """A run as one line of a list."""

    record: RunRecord
    funnel: Funnel
    best_score: float | None
    """Highest seed score of a SCORED trial; None when there is none."""
    entries: int
    """Pool entries that came from this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCount:
    """How often a rule refused a candidate of a run."""

    gate: int
    rule: str
    candidates: int
    """Candidates in which it was found at least once."""
    message: str
    """The first finding's message, as an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSummary:
    """A generation at a glance."""

    generation: int
    hypervolume: float | None
    """Of the feasible front after this generation, on train; None when nothing was feasible."""
    counts: Mapping[str, int]
    """Trials per outcome (``TrialOutcome`` values)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """All that a run needs to go on where it stopped."""

    record: RunRecord
    trials: Mapping[int, tuple[Trial, ...]]
    """Stored trials by generation, ordered by index; a generation that was cut short has fewer."""
