"""The hard checks of admission. ``CHECKS`` is the whole list; an undefined figure never passes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from evolution.pool.card import CheckResult
from evolution.pool.exhibits import AdmissionLimits, Exhibits, Stage, Variants
from evolution.pool.proof import Proof
from evolution.pool.segment import Measured, SegmentFailure, SegmentFigures
from fitness import deflated_sharpe

if TYPE_CHECKING:
    from collections.abc import Callable


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
