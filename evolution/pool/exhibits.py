"""What a candidate is judged by at admission: the limits, the stages, and the figures that each stage brings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evolution.census import Census
    from evolution.pool.proof import Proof
    from evolution.pool.segment import Measured, Segment, SegmentFailure
    from fitness.card import Scorecard
    from runtime.kernel.report import RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionLimits:
    """What a candidate must keep to."""

    max_drawdown: float = 0.30
    """In every cell of train and validation, as a fraction."""
    min_train_trades: int = 30
    """Closed round trips on train, over all cells."""
    min_validation_trades: int = 5
    """Closed round trips on validation, whatever its length; see ``validation_trades``."""
    min_deflated_sharpe: float = 0.10
    """Of active returns on train, against the best of as many trials without skill as were ever made on these bars. A screen that
    refuses only what train speaks against. In 24 calibration nights with an edge, a limit of 0.5 left 13 with somebody to look at
    and this one 19; it was chosen on those nights, so a calibration with other seeds has to confirm it."""
    min_retained: float = 0.50
    """Share of its active Sharpe ratio on train that a candidate keeps under each stress, and at the median of its neighbours."""
    min_validation_psr: float = 0.80
    """Of active returns. On pure noise one candidate in five passes: it is a screen, and the vault is the proof."""
    max_validation_reads: int = 20
    """New reads of validation bars in one run: the more candidates are shown to them, the less passing means."""

    def validation_trades(self, *, train_bars: int, validation_bars: int) -> int:
        """Fewest closed round trips on validation: those of train in proportion to the bars, and never under the floor.

        The minimum on train keeps single lucky trades from making a score; on validation it asks that the candidate
        still trades at no less than that pace. With 50% and 20% of the bars, 30 on train make 12 here. Demanding 30 of
        a stretch that is 2.5 times shorter would ask for another kind of strategy than train does.
        """
        if train_bars <= 0:
            return self.min_train_trades
        share = self.min_train_trades * validation_bars / train_bars
        return max(self.min_validation_trades, math.ceil(share))


class Stage(Enum):
    """Where a check's figure comes from, in the order of the stages."""

    TRAIN = "train"
    """The stored scorecard: nothing is run."""
    DEFLATION = "deflation"
    """One run on train, and all trials that were ever made on these bars."""
    STRESS = "stress"
    """Runs on train under worse conditions."""
    NEIGHBOURS = "neighbours"
    """Runs on train of the same strategy with other numbers, and of it on shaken bars."""
    PROOF = "proof"
    """Runs on train both ways: fast, and bar by bar in a process that holds no bars."""
    READ = "read"
    """The permission to read validation bars."""
    VALIDATION = "validation"
    """One run on bars that the search never saw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPermit:
    """Whether a source may be read on the validation bars."""

    reads: int | None
    """New reads of this run, this one included; 0 when the verdict is already there; None when it is refused."""
    problem: str = ""
    """Why it is refused, as a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """One strategy in many slightly different versions, on train."""

    active_sharpes: tuple[float, ...]
    """Annualised, one per version that ran and has one."""
    asked: int
    """Versions in all."""

    @property
    def median(self) -> float | None:
        """Median over all versions, those that failed or have no ratio counted as the worst; None when it falls among those."""
        ranked = sorted(self.active_sharpes, reverse=True)
        middle = self.asked // 2
        if not self.asked or middle >= len(ranked):
            return None
        return ranked[middle] if self.asked % 2 else (ranked[middle - 1] + ranked[middle]) / 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibits:
    """Everything that the checks may look at; filled in stage by stage."""

    train: Scorecard
    train_bars: int
    """Scored bars of train, summed over cells."""
    base: Measured | SegmentFailure | None = None
    census: Census | None = None
    costs: Segment | None = None
    delay: Segment | None = None
    neighbours: Variants | None = None
    jitter: Variants | None = None
    proof: Proof | SegmentFailure | None = None
    permit: ReadPermit | None = None
    validation: Segment | None = None


class Bench(Protocol):
    """Makes the exhibits that are not stored yet. Each is asked for at most once, and only when it is needed."""

    def base(self) -> Measured | SegmentFailure:
        """The candidate on the train cells, as the search ran it."""
        ...

    def census(self) -> Census:
        """All trials that were ever made on bars that overlap with those of train."""
        ...

    def stress(self, config: RunConfig) -> Segment:
        """The candidate on the train cells under another configuration."""
        ...

    def neighbours(self) -> Variants:
        """The candidate's neighbours (``evolution.pool.perturbation``) on the train cells."""
        ...

    def jitter(self) -> Variants:
        """The candidate on the train cells of shaken bars."""
        ...

    def proof(self) -> Proof | SegmentFailure:
        """The candidate on the train cells both ways, compared with each other and with what the search stored."""
        ...

    def permit(self) -> ReadPermit:
        """Whether the validation bars may be read for this source."""
        ...

    def validation(self) -> Segment:
        """The candidate on the validation cells: from the ledger when it was read before, else read now, by a proof run."""
        ...
