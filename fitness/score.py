"""The seed score: one number per cell that ranks for people and compares with published figures. It does not select."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fitness.card import CellResult

CALMAR_WEIGHT = 0.3
TURNOVER_WEIGHT = 0.10


def seed_score(*, sharpe: float | None, calmar: float | None, trades: int, bars: int) -> float | None:
    """``sharpe + 0.3 * calmar - 0.10 * turnover``, turnover being closed round trips per 100 bars.

    None when the Sharpe is; a None Calmar counts 0. Unlike the public system that this score comes from, an undefined
    Sharpe does not count 0 (a strategy that never trades would beat every honest loser), and drawdown is a veto of its
    own (``fitness.objectives``), not a deduction.

    >>> seed_score(sharpe=2.0, calmar=1.0, trades=10, bars=1000)
    2.1999999999999997
    """
    if sharpe is None or bars <= 0:
        return None
    return sharpe + CALMAR_WEIGHT * (calmar or 0.0) - TURNOVER_WEIGHT * (100.0 * trades / bars)


class ScorePair(NamedTuple):
    """Mean seed scores of a candidate and of buy and hold on the same cells."""

    candidate: float | None
    buy_and_hold: float | None

    @property
    def beats(self) -> bool:
        """True when both are defined and the candidate's is strictly greater."""
        return self.candidate is not None and self.buy_and_hold is not None and self.candidate > self.buy_and_hold


def mean_scores(cells: Sequence[CellResult]) -> ScorePair:
    """Average both sides over the cells in which the candidate has a seed score.

    Buy and hold is averaged over those same cells only. If its score is undefined in one of them, its mean is undefined,
    and nothing beats it.
    """
    defined = [cell for cell in cells if cell.metrics.seed_score is not None]
    return ScorePair(
        _mean([cell.metrics.seed_score for cell in defined]),
        _mean([cell.buy_and_hold.seed_score for cell in defined]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(values) if known and len(known) == len(values) else None
