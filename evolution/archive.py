"""An archive of what is different (MAP-Elites, Mouret & Clune 2015): the best strategy of each way of trading.

Selection keeps the front; the archive keeps a slow strategy although a quick one has better figures. The search takes parents from it
now and then, and a restarted island is filled from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evolution.trial import Trial
    from fitness.card import Scorecard

_MOST = 7


class Way(NamedTuple):
    """A way of trading, as coarse steps."""

    frequency: int
    """Closed round trips per cell, in doublings: 0 is fewer than 2, 1 fewer than 4, ... 7 is 128 and more."""
    holding: int
    """Median bars held, in doublings like ``frequency``."""
    exposure: int
    """Share of bars with a position, in quarters: 0..3."""
    direction: int
    """Of the bars held: 0 mostly long, 1 both ways, 2 mostly short; mostly is two thirds. 0 without a round trip."""


def way_of(card: Scorecard) -> Way:
    """How a strategy trades: medians and means over its cells."""
    digests = [cell.trading for cell in card.cells if cell.trading is not None]
    held = [each.median_bars for each in digests]
    short = [each.short_share or 0.0 for each in digests]
    exposure = fmean(cell.metrics.exposure for cell in card.cells)
    return Way(
        frequency=_doublings(card.trades / len(card.cells)),
        holding=_doublings(median(held) if held else 0.0),
        exposure=min(int(4 * exposure), 3),
        direction=min(int(3 * fmean(short)), 2) if short else 0,
    )


@dataclass(frozen=True, slots=True)
class Archive:
    """The best of each way of trading so far. A value: ``grown`` gives another one."""

    best: Mapping[Way, Trial] = field(default_factory=dict)

    def grown(self, trials: Iterable[Trial]) -> Archive:
        """With some more trials. Only what keeps to all limits comes in; the order of trials leaves no trace."""
        best = dict(self.best)
        for trial in trials:
            card = trial.scorecard
            if card is None or card.objectives is None or card.violation > 0:
                continue
            way = way_of(card)
            if way not in best or _merit(trial) > _merit(best[way]):
                best[way] = trial
        return Archive(best)

    @property
    def elites(self) -> tuple[Trial, ...]:
        """One per way, in a fixed order."""
        return tuple(trial for _, trial in sorted(self.best.items(), key=lambda item: item[0]))


def _merit(trial: Trial) -> tuple[float, float, tuple[int, ...]]:
    """Lower bound of Sharpe, then of Calmar; of equals the earlier one."""
    card = trial.scorecard
    assert card is not None and card.objectives is not None  # noqa: PT018 - only such trials come in
    age = (-trial.candidate.generation, -trial.candidate.index)
    return (card.objectives.sharpe, card.objectives.calmar, age)


def _doublings(value: float) -> int:
    return min(int(math.log2(value)), _MOST) if value >= 1 else 0
