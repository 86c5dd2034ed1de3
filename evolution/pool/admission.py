"""Admission to the pool: the hard checks, and the order in which a candidate meets them.

A candidate goes through the stages one after the other and stops after the first one that refuses it, so that nothing is
spent on a candidate that is out already: least of all a read of the validation bars, of which there is one per source.
``CHECKS`` is the whole list. An undefined figure never passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from evolution.pool.card import AdmissionCard, CheckResult
from evolution.pool.proof import Proof
from evolution.pool.segment import Measured, SegmentFailure, SegmentFigures
from fitness import deflated_sharpe
from fitness.stress import delay_one_bar, double_costs

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.census import Census
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
    remark: Callable[[Exhibits], str] = field(default=lambda _: "")
    """What else there is to say about the figure, in brackets; mostly nothing."""

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
            sentence=f"{self.what}: {shown}{self.remark(exhibits)}; must be {self.sense.value} {self.show.format(limit)}",
        )


def _margin(exhibits: Exhibits) -> float | None:
    card = exhibits.train
    return None if card.score is None or card.benchmark_score is None else card.score - card.benchmark_score


def _reads(exhibits: Exhibits) -> float | None:
    return exhibits.permit.reads if exhibits.permit is not None else None


def _base_sharpe(exhibits: Exhibits) -> float | None:
    base = exhibits.base
    return base.figures.active_sharpe if isinstance(base, Measured) else None


def _deflated(exhibits: Exhibits) -> float | None:
    """Deflated by the spread that trials without skill have, ``1 / (T - 1)``, not by the ledger's.

    On bars with an edge some trials find it and others fight it, so the ledger's spread is partly skill, and deflating by it holds
    the edge against its finder. The count is the ledger's, by clusters. The figure by the ledger's spread is on the card as a note.
    """
    base, census = exhibits.base, exhibits.census
    if not isinstance(base, Measured) or base.sample is None or census is None:
        return None
    return deflated_sharpe(
        base.sample, trials=max(census.effective.clusters, 1), variance=1.0 / (base.sample.length - 1)
    )


def _retained(figure: Callable[[Exhibits], float | None]) -> Callable[[Exhibits], float | None]:
    """Share of the active Sharpe ratio on train that is left; undefined when there is none to keep."""

    def share(exhibits: Exhibits) -> float | None:
        base, left = _base_sharpe(exhibits), figure(exhibits)
        return None if base is None or left is None or base <= 0 else left / base

    return share


def _median_of(variants: str) -> Callable[[Exhibits], float | None]:
    def median(exhibits: Exhibits) -> float | None:
        found: Variants | None = getattr(exhibits, variants)
        if found is not None and found.asked == 0:
            return _base_sharpe(exhibits)  # a strategy without a number to move has no cliff
        return None if found is None else found.median

    return median


def _why_not_retained(segment: str) -> Callable[[Exhibits], str]:
    def reason(exhibits: Exhibits) -> str:
        base = _base_sharpe(exhibits)
        if base is None or base <= 0:
            return "undefined (no active Sharpe ratio above 0 to keep)"
        return _fate_of(segment)(exhibits)

    return reason


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
        name="deflated-sharpe",
        stage=Stage.DEFLATION,
        what="probability that the active Sharpe ratio on train is more than the best of as many trials without skill",
        figure=_deflated,
        sense=Sense.ABOVE,
        limit=lambda limits, _exhibits: limits.min_deflated_sharpe,
        why_undefined=_fate_of("base"),
    ),
    *(
        Check(
            name=name,
            stage=stage,
            what=f"share of the active Sharpe ratio on train that is left {when}",
            figure=_retained(figure),
            sense=Sense.AT_LEAST,
            limit=lambda limits, _exhibits: limits.min_retained,
            why_undefined=_why_not_retained(segment),
        )
        for name, stage, segment, figure, when in (
            ("cost-stress", Stage.STRESS, "costs", _of("costs", "active_sharpe"), "at twice the costs"),
            ("delay-stress", Stage.STRESS, "delay", _of("delay", "active_sharpe"), "with orders one bar late"),
            (
                "neighbour-stress",
                Stage.NEIGHBOURS,
                "neighbours",
                _median_of("neighbours"),
                "at the median of its neighbours, each with one number moved by 10 or 20%",
            ),
            (
                "jitter-stress",
                Stage.NEIGHBOURS,
                "jitter",
                _median_of("jitter"),
                "at the median of bars shaken by a tenth of their range",
            ),
        )
    ),
    Check(
        name="proof-run",
        stage=Stage.PROOF,
        what="cells of train in which the proof run differs",
        figure=lambda exhibits: exhibits.proof.differing if isinstance(exhibits.proof, Proof) else None,
        sense=Sense.AT_MOST,
        limit=lambda _limits, _exhibits: 0.0,
        show="{:.0f}",
        why_undefined=_fate_of("proof"),
        remark=lambda exhibits: (
            f" ({exhibits.proof.first})" if isinstance(exhibits.proof, Proof) and exhibits.proof.first else ""
        ),
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


class Examination(NamedTuple):
    """The verdict on a candidate, and what it was made from."""

    card: AdmissionCard
    exhibits: Exhibits


def examine(  # noqa: PLR0913 - a candidate, what it is held to, and how it is run
    train: Scorecard,
    *,
    train_bars: int,
    config: RunConfig,
    limits: AdmissionLimits,
    bench: Bench,
    is_exhaustive: bool = False,
) -> Examination:
    """Put a candidate through the stages until one refuses it.

    Args:
        train: The candidate's scorecard from the search.
        train_bars: Scored bars of train, summed over cells.
        config: How the search ran it; the stresses start from it.
        limits: What to keep to.
        bench: Runs the candidate where a stage needs it.
        is_exhaustive: Make all checks, also after a refusal. For calibration, where every figure counts; a night would spend reads of
            validation on candidates that are out.
    """
    exhibits = Exhibits(train=train, train_bars=train_bars)
    results: list[CheckResult] = []
    for stage in Stage:
        exhibits = _fill(exhibits, stage, config, bench)
        results += [check.judge(exhibits, limits) for check in CHECKS if check.stage is stage]
        if not is_exhaustive and not all(result.passed for result in results):
            break
    return Examination(AdmissionCard(checks=tuple(results)), exhibits)


def is_admitted(card: AdmissionCard) -> bool:
    """Whether every check was made and passed."""
    return {check.name for check in card.checks if check.passed} == {check.name for check in CHECKS}


def _fill(exhibits: Exhibits, stage: Stage, config: RunConfig, bench: Bench) -> Exhibits:
    match stage:
        case Stage.TRAIN:
            return exhibits
        case Stage.DEFLATION:
            return replace(exhibits, base=bench.base(), census=bench.census())
        case Stage.STRESS:
            return replace(
                exhibits,
                costs=bench.stress(double_costs(config)),
                delay=bench.stress(delay_one_bar(config)),
            )
        case Stage.NEIGHBOURS:
            return replace(exhibits, neighbours=bench.neighbours(), jitter=bench.jitter())
        case Stage.PROOF:
            return replace(exhibits, proof=bench.proof())
        case Stage.READ:
            return replace(exhibits, permit=bench.permit())
        case Stage.VALIDATION:
            return replace(exhibits, validation=bench.validation())
