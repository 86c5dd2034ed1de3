"""``Morning``: all that the page of one run says, as frozen values. Nothing here knows of HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from evolution.morning.curves import Curve
    from evolution.morning.falls import Stage
    from evolution.morning.family import Family
    from evolution.pool import PoolEntry, Refusal
    from evolution.summary import CheckRefusals, RunSummary
    from evolution.trial import Trial


class Command(NamedTuple):
    """Something to type, and what it does."""

    text: str
    purpose: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One candidate that the page shows at length."""

    trial: Trial
    entry: PoolEntry | None
    """Its place in the pool; None when it has none from this run."""
    refusals: tuple[Refusal, ...]
    """The checks that kept it out."""
    curve: Curve | None
    no_curve: str
    """Why there is no curve; empty where there is one."""
    family: Family
    source: tuple[str, ...]
    """Its text, line by line."""
    commands: tuple[Command, ...]
    """What can be done about it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTable:
    """One admission check and everybody that it refused."""

    summary: CheckRefusals
    refusals: tuple[Refusal, ...]
    """Nearest to the limit first."""
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """How large the front on train was after each generation."""

    volumes: tuple[tuple[int, float | None], ...]
    """Generation and hypervolume; None while nothing was feasible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One arm of the comparison of search and chance, as it was stored."""

    name: str
    run_id: str
    evaluations: int
    members: int
    train_volume: float
    best_train_score: float | None
    looked_at: int
    """Members of the front that were read on validation."""
    validation_volume: float
    best_validation_score: float | None
    validation_psr: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the run used, and what it got for it."""

    candidates: int
    accepted: int
    """New pool entries."""
    cpu_s: float
    """Processor time of the candidates, admission not counted."""
    control_cpu_s: float
    """The same of the control arm; 0 without one."""
    elapsed_s: float | None
    """From beginning to end by the clock; None while it runs, or where nobody wrote down an end."""
    calls: int
    """To models."""
    tokens: int
    """Of prompts and answers together."""
    money: tuple[tuple[str, float], ...]
    """Currency and amount; calls without a price are in none of them."""
    has_unpriced: bool
    """Whether some calls have no price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Morning:
    """One run, gathered for one page."""

    summary: RunSummary
    made: datetime
    """When this was gathered."""
    headline: str
    """What to do this morning, in one sentence."""
    finding: str
    """What the run came to, in one sentence."""
    origin: str
    """Where the bars come from, in words like ``synthetic bars``; empty where nobody knows any more."""
    standing: str
    ending: str
    """What stopped the search; empty where nobody wrote it down."""
    on_the_way: tuple[str, ...]
    """What stopped it, and what else happened, in sentences."""
    commands: tuple[Command, ...]
    stages: tuple[Stage, ...]
    beating: int
    """Scored candidates that beat buy and hold on train."""
    considered: int
    """Candidates that came to admission."""
    front: Front
    control_front: Front | None
    arms: tuple[Arm, ...]
    comparison: str
    """How the arms stand to each other; empty without two."""
    shown: tuple[Shown, ...]
    checks: tuple[CheckTable, ...]
    """In the order in which the checks are made."""
    cost: Cost
    generations: Mapping[int, tuple[Trial, ...]]
    """All candidates that are listed, in order."""
    unlisted: int
    """Candidates beyond those."""

    @property
    def scored(self) -> int:
        """Candidates that went through the whole funnel."""
        return self.stages[-1].came - self.stages[-1].fell
