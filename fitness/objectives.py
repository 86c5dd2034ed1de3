"""``score_cells``: from one result per cell to the scorecard that selection, pool and people read.

A result on one stretch of one instrument is mostly luck, so each objective is taken as mean minus half a standard
deviation over the cells (plus, where smaller is better): a candidate has to be good in most cells to be good.
Hard limits are constraints, not penalties: the objectives keep their real values, and ``violation`` says how far a
candidate is from allowed. Selection puts every feasible candidate before every infeasible one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fitness.card import Objectives, Scorecard
from fitness.score import mean_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fitness.card import CellResult, Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRules:
    """Limits and weights of a scorecard; part of the fitness configuration that each trial is stored with."""

    max_drawdown: float = 0.30
    """Deepest drawdown allowed in any cell, as a fraction."""
    min_trades: int = 30
    """Fewest closed round trips, summed over all cells."""
    min_defined: float = 0.75
    """Smallest share of cells in which both ratios must be defined."""
    spread_weight: float = 0.5
    """How many standard deviations (over cells, ddof 0) are held against a candidate."""
    clip: float = 5.0
    """Sharpe and Calmar of a cell are clipped to plus and minus this: beyond it a figure is an artefact."""

    def __post_init__(self) -> None:
        allowed = {
            "max_drawdown": 0 < self.max_drawdown <= 1,
            "min_trades": self.min_trades >= 1,
            "min_defined": 0 < self.min_defined <= 1,
            "spread_weight": math.isfinite(self.spread_weight) and self.spread_weight >= 0,
            "clip": math.isfinite(self.clip) and self.clip > 0,
        }
        for name, is_allowed in allowed.items():
            if not is_allowed:
                raise ValueError(f"score rule {name} = {getattr(self, name)} is out of range")


DEFAULT_RULES = ScoreRules()


class Veto(NamedTuple):
    """One broken constraint."""

    sentence: str
    """Names the figure and the limit; no symbol, no date, so that it may stand in a prompt."""
    size: float
    """How far beyond the limit, as a fraction of the limit; above 0."""


def score_cells(cells: Sequence[CellResult], rules: ScoreRules = DEFAULT_RULES) -> Scorecard:
    """Sum up a candidate over its cells. The order of the cells does not matter to any figure.

    Raises:
        ValueError: there are no cells, or a metric is not finite (undefined is None; NaN is a bug upstream).
    """
    if not cells:
        raise ValueError("a scorecard needs at least one cell")
    for cell in cells:
        _refuse_non_finite(cell)
    vetoes = [veto for check in CONSTRAINTS if (veto := check(cells, rules)) is not None]
    scores = mean_scores(cells)
    return Scorecard(
        cells=tuple(cells),
        objectives=objectives_of(cells, rules),
        violation=math.fsum(veto.size for veto in vetoes),
        vetoes=tuple(veto.sentence for veto in vetoes),
        score=scores.candidate,
        benchmark_score=scores.buy_and_hold,
        beats_buy_and_hold=scores.beats,
        trades=_trades(cells),
        max_drawdown=_deepest(cells).metrics.max_drawdown,
    )


def _ruin(cells: Sequence[CellResult], _rules: ScoreRules) -> Veto | None:
    ruined = [cell for cell in cells if cell.ruined]
    if not ruined:
        return None
    return Veto(f"ruined in {len(ruined)} of {len(cells)} cells (limit 0)", 1.0)


def _drawdown(cells: Sequence[CellResult], rules: ScoreRules) -> Veto | None:
    worst = _deepest(cells)
    depth, limit = worst.metrics.max_drawdown, rules.max_drawdown
    if depth <= limit:
        return None
    return Veto(f"maximum drawdown {depth:.2%} in {worst.fold} (limit {limit:.2%})", depth / limit - 1.0)


def _round_trips(cells: Sequence[CellResult], rules: ScoreRules) -> Veto | None:
    trades, limit = _trades(cells), rules.min_trades
    if trades >= limit:
        return None
    return Veto(f"closed round trips over all cells: {trades} (at least {limit} needed)", 1.0 - trades / limit)


def _definition(cells: Sequence[CellResult], rules: ScoreRules) -> Veto | None:
    defined, needed = len(_defined(cells)), _needed(cells, rules)
    if defined >= needed:
        return None
    sentence = f"Sharpe and Calmar are defined in {defined} of {len(cells)} cells (at least {needed} needed)"
    return Veto(sentence, 1.0 - defined / needed)


CONSTRAINTS: tuple[Callable[[Sequence[CellResult], ScoreRules], Veto | None], ...] = (
    _ruin,
    _drawdown,
    _round_trips,
    _definition,
)
"""All hard limits, in the order in which their vetoes are listed."""


def objectives_of(cells: Sequence[CellResult], rules: ScoreRules) -> Objectives | None:
    """The objectives over some cells; None when the ratios are undefined in too many of them."""
    defined = _defined(cells)
    if len(defined) < _needed(cells, rules):
        return None
    sharpe = _spread([_clip(each.sharpe, rules.clip) for each in defined])
    calmar = _spread([_clip(each.calmar, rules.clip) for each in defined])
    turnover = _spread([each.turnover for each in defined])
    weight = rules.spread_weight
    return Objectives(
        sharpe=sharpe.mean - weight * sharpe.deviation,
        calmar=calmar.mean - weight * calmar.deviation,
        turnover=turnover.mean + weight * turnover.deviation,
    )


class _Spread(NamedTuple):
    mean: float
    deviation: float


def _spread(values: list[float]) -> _Spread:
    # ddof 0: the cells are all the cells there are, and one cell has no spread. Sorted, so that order never shows in a bit.
    ordered = np.sort(np.array(values))
    return _Spread(float(np.mean(ordered)), float(np.std(ordered)))


def _defined(cells: Sequence[CellResult]) -> list[Metrics]:
    return [each.metrics for each in cells if each.metrics.sharpe is not None and each.metrics.calmar is not None]


def _needed(cells: Sequence[CellResult], rules: ScoreRules) -> int:
    return math.ceil(rules.min_defined * len(cells))


def _clip(value: float | None, limit: float) -> float:
    assert value is not None  # only asked for defined cells
    return min(max(value, -limit), limit)


def _trades(cells: Sequence[CellResult]) -> int:
    return sum(cell.metrics.trades for cell in cells)


def _deepest(cells: Sequence[CellResult]) -> CellResult:
    return max(cells, key=lambda cell: (cell.metrics.max_drawdown, cell.fold))


def _refuse_non_finite(cell: CellResult) -> None:
    for metrics in (cell.metrics, cell.buy_and_hold):
        for name in metrics.__slots__:
            value = getattr(metrics, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} of {cell.fold} {cell.symbol} is {value}: undefined must be None")
