"""Formulas on plain arrays: returns, drawdowns and the ratios made of them.

Conventions, the same everywhere: simple returns per bar, standard deviation with ddof 1, risk-free rate 0, moments with
ddof 0 and kurtosis non-excess (3 for a normal), drawdowns as fractions of the previous peak. A figure that is not defined
is None, never 0, NaN or infinity: 0 would outrank an honest loser. How much data a figure needs before anybody should
read it is policy and lives in ``fitness.metrics``; here a formula only asks for what it needs to be computed at all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series = NDArray[np.float64]

# The mean Gregorian year, 365.2425 days.
SECONDS_PER_YEAR = 31_556_952

# Constant returns leave a standard deviation of rounding noise (1e-19 is usual) and with it a Sharpe of 1e16. Simple
# returns are differences of numbers near 1, so their absolute noise is a few 1e-16; real dispersion is far above 1e-14.
_RELATIVE_NOISE = 1e-12
_ABSOLUTE_NOISE = 1e-14


def simple_returns(equity: Series) -> Series:
    """Returns ``E_t / E_(t-1) - 1`` of an equity curve of shape ``(n + 1,)``: shape ``(n,)``, or less after a ruin.

    A curve that touches 0 or less has no return beyond that point: the series ends with the bar of the ruin, counted as -1.
    """
    ruined = np.flatnonzero(equity <= 0)
    if len(ruined):
        equity = np.maximum(equity[: ruined[0] + 1], 0.0)
    return equity[1:] / equity[:-1] - 1.0


def is_constant(values: Series) -> bool:
    """True when nothing but rounding noise separates the values (or when there are fewer than two)."""
    return len(values) < 2 or _is_noise(float(np.std(values, ddof=1)), float(np.mean(values)))


def _is_noise(spread: float, mean: float) -> bool:
    return spread <= _ABSOLUTE_NOISE + _RELATIVE_NOISE * abs(mean)


def sharpe_per_bar(returns: Series) -> float | None:
    """Sharpe ratio ``mean(r) / std(r, ddof=1)``, not annualised (Sharpe 1994); None without dispersion."""
    if len(returns) < 2:
        return None
    mean, spread = float(np.mean(returns)), float(np.std(returns, ddof=1))
    return None if _is_noise(spread, mean) else mean / spread


def sharpe_ratio(returns: Series, bars_per_year: float) -> float | None:
    """Annualised Sharpe ratio: per-bar ratio times ``sqrt(bars_per_year)``; None without dispersion."""
    ratio = sharpe_per_bar(returns)
    return None if ratio is None else ratio * math.sqrt(bars_per_year)


def sortino_ratio(returns: Series, bars_per_year: float) -> float | None:
    """Annualised Sortino ratio ``mean(r) / sqrt(mean(min(r, 0)^2))``; None without a losing bar.

    The denominator averages over all bars, not over the losing ones only (Sortino & Price 1994), target return 0.
    """
    if len(returns) == 0:
        return None
    downside = math.sqrt(float(np.mean(np.minimum(returns, 0.0) ** 2)))
    if downside <= _ABSOLUTE_NOISE:
        return None
    return float(np.mean(returns)) / downside * math.sqrt(bars_per_year)


def drawdowns(equity: Series) -> Series:
    """Fall from the highest value so far, as a fraction of it, shape of ``equity``; the first peak is ``equity[0]``.

    Hand in the starting cash as element 0: a curve that starts at the first close hides a loss on the first bar.
    """
    fall: Series = 1.0 - np.maximum(equity, 0.0) / np.maximum.accumulate(equity)
    return fall


def max_drawdown(equity: Series) -> float:
    """Deepest drawdown, 0..1; rounding noise counts as none."""
    deepest = float(np.max(drawdowns(equity)))
    return 0.0 if deepest <= _RELATIVE_NOISE else deepest


def ulcer_index(equity: Series) -> float:
    """Root of the mean squared drawdown over the T bars after the first value (Martin & McCann 1989), 0..1.

    Divides by T; some libraries divide by T - 1.
    """
    depth = drawdowns(equity)[1:]
    return math.sqrt(float(np.mean(depth**2))) if len(depth) else 0.0


def annual_growth(equity: Series, years: float) -> float:
    """Compound annual growth ``(E_T / E_0)^(1 / years) - 1``; -1 when everything is lost."""
    growth = max(float(equity[-1] / equity[0]), 0.0)
    return math.pow(growth, 1.0 / years) - 1.0


def calmar_ratio(growth: float, drawdown: float) -> float | None:
    """Compound annual growth over maximum drawdown, both over the full sample (Young 1991 used 36 months); None without drawdown.

    Geometric growth: the linear variant (total return / years) shows 0.129 for the NASDAQ 1999-2018, this one 0.073.
    """
    return None if drawdown <= 0 else growth / drawdown


def skewness(values: Series) -> float | None:
    """Third standardised moment, ddof 0 (biased); None without dispersion."""
    return _standardised_moment(values, 3)


def kurtosis(values: Series) -> float | None:
    """Fourth standardised moment, ddof 0, non-excess: 3 for a normal distribution; None without dispersion."""
    return _standardised_moment(values, 4)


def tail_ratio(returns: Series) -> float | None:
    """Size of the 95% quantile over the size of the 5% quantile (linear interpolation); None when the lower one is 0."""
    if is_constant(returns):
        return None
    low, high = (abs(float(value)) for value in np.quantile(returns, (0.05, 0.95)))
    return None if low <= _ABSOLUTE_NOISE else high / low


def _standardised_moment(values: Series, order: int) -> float | None:
    if is_constant(values):
        return None
    centred = values - np.mean(values)
    return float(np.mean(centred**order) / np.mean(centred**2) ** (order / 2))
