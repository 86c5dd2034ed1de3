"""Admission to the pool: the hard checks, and the order in which a candidate meets them.

A candidate goes through the stages one after the other and stops after the first one that refuses it, so that nothing is
spent on a candidate that is out already: least of all a read of the validation bars, of which there is one per source.
``CHECKS`` is the whole list. An undefined figure never passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from evolution.pool.card import AdmissionCard, CheckResult
from evolution.pool.segment import SegmentFailure, SegmentFigures
from fitness.stress import delay_one_bar, double_costs

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.pool.segment import Segment
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
    STRESS = "stress"
    """Runs on train under worse conditions."""
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
class Exhibits:
    """Everything that the checks may look at; filled in stage by stage."""

    train: Scorecard
    train_bars: int
    """Scored bars of train, summed over cells."""
    costs: Segment | None = None
    delay: Segment | None = None
    permit: ReadPermit | None = None
    validation: Segment | None = None


class Bench(Protocol):
    """Makes the exhibits that are not stored yet. Each is asked for at most once, and only when it is needed."""

    def stress(self, config: RunConfig) -> Segment:
        """The candidate on the train cells under another configuration."""
        ...

    def permit(self) -> ReadPermit:
        """Whether the validation bars may be read for this source."""
        ...

    def validation(self) -> Segment:
        """The candidate on the validation cells: from the ledger when it was read before, else read now."""
        ...


class Sense(Enum):
    """How figure and limit compare when the check passes."""

    AT_MOST = "at most"
    AT_LEAST = "at least"
    ABOVE = "above"

    def holds(self, figure: float, limit: float) -> bool:
        """Whether a figure keeps to a limit."""
        return {
            Sense.AT_MOST: figure <= limit,
            Sense.AT_LEAST: figure >= limit,
            Sense.ABOVE: figure > limit,
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One hard check."""

    name: str
    stage: Stage
    what: str
    """What the figure is, as the beginning of a sentence."""
    figure: Callable[[Exhibits], float | None]
    sense: Sense
    limit: Callable[[AdmissionLimits, Exhibits], float]
    show: str = "{:.2f}"
    """How figure and limit are written."""
    why_undefined: Callable[[Exhibits], str] = field(default=lambda _: "undefined")

    def judge(self, exhibits: Exhibits, limits: AdmissionLimits) -> CheckResult:
        """Compare, and say it in words."""
        figure, limit = self.figure(exhibits), self.limit(limits, exhibits)
        is_defined = figure is not None and math.isfinite(figure)
        shown = self.show.format(figure) if is_defined else self.why_undefined(exhibits)
        return CheckResult(
            name=self.name,
            figure=figure if is_defined else None,
            limit=limit,
            passed=figure is not None and is_defined and self.sense.holds(figure, limit),
            sentence=f"{self.what}: {shown}; must be {self.sense.value} {self.show.format(limit)}",
        )


def _margin(exhibits: Exhibits) -> float | None:
    card = exhibits.train
    return None if card.score is None or card.benchmark_score is None else card.score - card.benchmark_score


def _reads(exhibits: Exhibits) -> float | None:
    return exhibits.permit.reads if exhibits.permit is not None else None


def _of(segment: str, name: str) -> Callable[[Exhibits], float | None]:
    def figure(exhibits: Exhibits) -> float | None:
        found = getattr(exhibits, segment)
        return getattr(found, name) if isinstance(found, SegmentFigures) else None

    return figure


def _fate_of(segment: str) -> Callable[[Exhibits], str]:
    def reason(exhibits: Exhibits) -> str:
        found = getattr(exhibits, segment)
        return f"undefined ({found.reason})" if isinstance(found, SegmentFailure) else "undefined"

    return reason


CHECKS: tuple[Check, ...] = (
    Check(
        name="train-constraints",
        stage=Stage.TRAIN,
        what="broken constraints on train, added up",
        figure=lambda exhibits: exhibits.train.violation,
        sense=Sense.AT_MOST,
        limit=lambda _limits, _exhibits: 0.0,
    ),
    Check(
        name="train-drawdown",
        stage=Stage.TRAIN,
        what="deepest drawdown on train",
        figure=lambda exhibits: exhibits.train.max_drawdown,
        sense=Sense.AT_MOST,
        limit=lambda limits, _exhibits: limits.max_drawdown,
        show="{:.1%}",
    ),
    Check(
        name="train-round-trips",
        stage=Stage.TRAIN,
        what="closed round trips on train",
        figure=lambda exhibits: exhibits.train.trades,
        sense=Sense.AT_LEAST,
        limit=lambda limits, _exhibits: limits.min_train_trades,
        show="{:.0f}",
    ),
    Check(
        name="train-buy-and-hold",
        stage=Stage.TRAIN,
        what="seed score on train over that of buy and hold",
        figure=_margin,
        sense=Sense.ABOVE,
        limit=lambda _limits, _exhibits: 0.0,
        show="{:+.3f}",
    ),
    Check(
        name="cost-stress",
        stage=Stage.STRESS,
        what="active Sharpe ratio on train at twice the costs",
        figure=_of("costs", "active_sharpe"),
        sense=Sense.ABOVE,
        limit=lambda _limits, _exhibits: 0.0,
        show="{:+.3f}",
        why_undefined=_fate_of("costs"),
    ),
    Check(
        name="delay-stress",
        stage=Stage.STRESS,
        what="active Sharpe ratio on train with orders one bar late",
        figure=_of("delay", "active_sharpe"),
        sense=Sense.ABOVE,
        limit=lambda _limits, _exhibits: 0.0,
        show="{:+.3f}",
        why_undefined=_fate_of("delay"),
    ),
    Check(
        name="validation-reads",
        stage=Stage.READ,
        what="validation bars newly read for candidates of this run",
        figure=_reads,
        sense=Sense.AT_MOST,
        limit=lambda limits, _exhibits: limits.max_validation_reads,
        show="{:.0f}",
        why_undefined=lambda exhibits: exhibits.permit.problem if exhibits.permit else "undefined",
    ),
    Check(
        name="validation-drawdown",
        stage=Stage.VALIDATION,
        what="deepest drawdown on validation",
        figure=_of("validation", "max_drawdown"),
        sense=Sense.AT_MOST,
        limit=lambda limits, _exhibits: limits.max_drawdown,
        show="{:.1%}",
        why_undefined=_fate_of("validation"),
    ),
    Check(
        name="validation-round-trips",
        stage=Stage.VALIDATION,
        what="closed round trips on validation",
        figure=_of("validation", "trades"),
        sense=Sense.AT_LEAST,
        limit=lambda limits, exhibits: limits.validation_trades(
            train_bars=exhibits.train_bars, validation_bars=int(_of("validation", "bars")(exhibits) or 0)
        ),
        show="{:.0f}",
        why_undefined=_fate_of("validation"),
    ),
    Check(
        name="validation-psr",
        stage=Stage.VALIDATION,
        what="probability that the active Sharpe ratio on validation is above 0",
        figure=_of("validation", "psr"),
        sense=Sense.ABOVE,
        limit=lambda limits, _exhibits: limits.min_validation_psr,
        why_undefined=_fate_of("validation"),
    ),
)
"""All hard checks of admission, in the order in which they are made."""


def examine(
    train: Scorecard, *, train_bars: int, config: RunConfig, limits: AdmissionLimits, bench: Bench
) -> AdmissionCard:
    """Put a candidate through the stages until one refuses it.

    Args:
        train: The candidate's scorecard from the search.
        train_bars: Scored bars of train, summed over cells.
        config: How the search ran it; the stresses start from it.
        limits: What to keep to.
        bench: Runs the candidate where a stage needs it.
    """
    exhibits = Exhibits(train=train, train_bars=train_bars)
    results: list[CheckResult] = []
    for stage in Stage:
        exhibits = _fill(exhibits, stage, config, bench)
        results += [check.judge(exhibits, limits) for check in CHECKS if check.stage is stage]
        if not all(result.passed for result in results):
            break
    return AdmissionCard(checks=tuple(results))


def is_admitted(card: AdmissionCard) -> bool:
    """Whether every check was made and passed."""
    return {check.name for check in card.checks if check.passed} == {check.name for check in CHECKS}


def _fill(exhibits: Exhibits, stage: Stage, config: RunConfig, bench: Bench) -> Exhibits:
    match stage:
        case Stage.TRAIN:
            return exhibits
        case Stage.STRESS:
            return replace(
                exhibits,
                costs=bench.stress(double_costs(config)),
                delay=bench.stress(delay_one_bar(config)),
            )
        case Stage.READ:
            return replace(exhibits, permit=bench.permit())
        case Stage.VALIDATION:
            return replace(exhibits, validation=bench.validation())
