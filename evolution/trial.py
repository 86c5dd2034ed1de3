"""A trial: one candidate with everything that was found out about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evolution.candidate import Candidate
    from evolution.record import ActiveRecord
    from fitness.card import Scorecard
    from gates.findings import Finding


class TrialOutcome(Enum):
    """How a trial ended. The value is the stable name in database, JSON and Prefect states."""

    BARREN = "barren"
    """No source came into being: every attempt was a duplicate, empty or unusable."""
    REJECTED = "rejected"
    """A gate refused the source."""
    KILLED = "killed"
    """The cage ended it: time, memory, flood, forbidden call, crash."""
    FAILED = "failed"
    """The strategy raised, or its result could not be used."""
    DUPLICATE = "duplicate"
    """It orders the same as an earlier candidate of the run on the whole first fold, so the other folds were not run."""
    STOPPED = "stopped"
    """Its run was ended early: it could not have been selected any more, or the night was over."""
    VETOED = "vetoed"
    """It ran, and a hard constraint is broken."""
    SCORED = "scored"
    """It ran, and takes part in selection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the store keeps for ever, for good and bad candidates alike."""

    candidate: Candidate
    outcome: TrialOutcome
    reason: str
    """One line for people: the gate and finding, the kill, the veto, or the score in words."""
    gate: int | None = None
    """The gate that refused it."""
    findings: tuple[Finding, ...] = ()
    scorecard: Scorecard | None = None
    """On train cells; only for VETOED and SCORED."""
    behaviour: str | None = None
    """Digest of the order logs over all cells; equal digests mean equal behaviour."""
    probe: str | None = None
    """Digest of the order logs of the first fold; None when it did not come to its end, and for trials of earlier versions."""
    rhythm: bytes | None = None
    """When it earned and lost on train (``evolution.niches``); only for VETOED and SCORED, None on trials of earlier versions."""
    recalled: str | None = None
    """``run/candidate`` of an earlier night that this result is taken from; None when it was found out here."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    record: ActiveRecord | None = field(default=None, compare=False, repr=False)
    """Active returns on train, for the statistics over all trials. Long, so the ledger keeps it apart: None on a trial that was
    read back (``evolution.census`` reads the records)."""

    def __post_init__(self) -> None:
        if (self.scorecard is not None) != (self.outcome in {TrialOutcome.VETOED, TrialOutcome.SCORED}):
            raise ValueError(f"a trial that ended as {self.outcome.value} and its scorecard do not fit together")
