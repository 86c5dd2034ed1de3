"""Where an edge lives: active returns cut by the market's own weather, calm or wild, rising or falling. For people; no gate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fitness.ratios import sharpe_per_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series = NDArray[np.float64]

VOLATILITY_BARS, TREND_BARS = 63, 126
# With fewer bars the error of a ratio is larger than any ratio worth having.
FEWEST_BARS = 60

_VOLATILITIES = ("calm", "usual", "wild")
_TRENDS = ("falling", "rising")


class RegimeSlice(NamedTuple):
    """What is left of a strategy in one kind of weather."""

    name: str
    """Like ``calm, rising``."""
    bars: int
    active_sharpe: float | None
    """Annualised; None below 60 bars or without dispersion."""


def regime_slices(
    ts: NDArray[np.int64], active: Series, market_ts: NDArray[np.int64], market: Series, bars_per_year: float
) -> tuple[RegimeSlice, ...]:
    """Active returns in terciles of the market's 63-bar volatility, times the sign of its 126-bar return.

    Both are known before the bar they sort. Terciles are those of the bars sorted.

    Args:
        ts: stamps of the active returns, increasing, shape ``(n,)``.
        active: active returns, shape ``(n,)``.
        market_ts: stamps of the market's returns, increasing, shape ``(m,)``; should begin 126 bars before ``ts``.
        market: the market's simple returns (a mean over instruments), shape ``(m,)``.
        bars_per_year: annualises.
    """
    rows = np.searchsorted(market_ts, ts)
    known = (rows < len(market_ts)) & (rows >= TREND_BARS)
    rows, returns = rows[known], active[known]
    if len(rows) == 0:
        return ()
    totals, squares = np.cumsum(np.append(0.0, market)), np.cumsum(np.append(0.0, market**2))
    means = (totals[rows] - totals[rows - VOLATILITY_BARS]) / VOLATILITY_BARS
    spread = np.sqrt(np.maximum((squares[rows] - squares[rows - VOLATILITY_BARS]) / VOLATILITY_BARS - means**2, 0.0))
    logs = np.cumsum(np.append(0.0, np.log1p(np.maximum(market, -0.999999))))
    is_rising = logs[rows] - logs[rows - TREND_BARS] > 0
    tercile = np.searchsorted(np.quantile(spread, (1 / 3, 2 / 3)), spread, side="left")
    return tuple(
        _slice(f"{weather}, {trend}", returns[(tercile == place) & (is_rising == bool(direction))], bars_per_year)
        for place, weather in enumerate(_VOLATILITIES)
        for direction, trend in enumerate(_TRENDS)
    )


def _slice(name: str, returns: Series, bars_per_year: float) -> RegimeSlice:
    ratio = sharpe_per_bar(returns) if len(returns) >= FEWEST_BARS else None
    return RegimeSlice(name, len(returns), None if ratio is None else ratio * math.sqrt(bars_per_year))
