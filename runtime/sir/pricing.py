"""Prices of European options on a Black-Scholes surface that is made from the underlying's own past.

There are no quotes here: every price is a model's, and whoever shows one says so. The surface is flat in strike and has one volatility
per number of days to expiry: the realised volatility of as many bars as the option has left, at least ``SHORTEST`` of them. No smile,
no bid and ask, no early exercise; rate and dividends are zero, so the forward is the spot.

Source: F. Black and M. Scholes, The Pricing of Options and Corporate Liabilities, Journal of Political Economy 81 (1973).
"""

from __future__ import annotations

import math
from enum import Enum
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORTEST, LONGEST = 20, 250
"""Bars of realised volatility behind a price: at least and at most."""

WIDEST = 30.0
"""Most standard deviations of a log price by expiry for which a delta has a strike: the next ones are beyond what a number can be."""

_NORMAL = NormalDist()
# A market that never moved would price every option at its intrinsic value and give no strike a delta between 0 and 1.
_LEAST_VOLATILITY = 1e-4


class Right(Enum):
    """What an option is a right to do. The value is the stable name in documents and reports."""

    CALL = "call"
    PUT = "put"


def realised_volatility(close: NDArray[np.float64], bars: int, bars_per_year: float) -> float:
    """Yearly volatility of the last bars: standard deviation of log returns about zero, times the root of bars per year.

    About zero, because a mean over so few bars is mostly noise. At least 0.01% a year.

    Args:
        close: closes up to the moment of pricing, oldest first, all above 0; at least 2.
        bars: how many returns to use; clipped to ``SHORTEST`` .. ``LONGEST`` and to what there is.
        bars_per_year: of the underlying.

    >>> round(realised_volatility(np.array([100.0, 101.0] * 11), 20, 252.0), 6)
    0.157957
    """
    count = min(max(bars, SHORTEST), LONGEST, len(close) - 1)
    returns = np.diff(np.log(close[-count - 1 :]))
    return max(float(math.sqrt(np.mean(returns**2) * bars_per_year)), _LEAST_VOLATILITY)


def price(right: Right, spot: float, strike: float, years: float, volatility: float) -> float:
    """What one unit of the option is worth, in the underlying's currency; its intrinsic value at expiry.

    >>> round(price(Right.CALL, 100.0, 100.0, 1.0, 0.2), 6)
    7.965567
    """
    sign = 1.0 if right is Right.CALL else -1.0
    if years <= 0.0:
        return max(sign * (spot - strike), 0.0)
    d1, d2 = _distances(spot, strike, years, volatility)
    return max(sign * (spot * _cdf(sign * d1) - strike * _cdf(sign * d2)), 0.0)


def delta(right: Right, spot: float, strike: float, years: float, volatility: float) -> float:
    """Change of the price for a change of the spot: 0 to 1 for a call, -1 to 0 for a put.

    >>> round(delta(Right.PUT, 100.0, 100.0, 1.0, 0.2), 6)
    -0.460172
    """
    if years <= 0.0:
        in_money = spot > strike if right is Right.CALL else spot < strike
        return (1.0 if right is Right.CALL else -1.0) if in_money else 0.0
    d1, _ = _distances(spot, strike, years, volatility)
    return _cdf(d1) if right is Right.CALL else _cdf(d1) - 1.0


def strike_of_delta(right: Right, spot: float, size: float, years: float, volatility: float) -> float:
    """The strike whose delta has this size, between 0 and 1 exclusive (0.25 is the 25-delta call or put).

    Up to a ``volatility * sqrt(years)`` of ``WIDEST``.

    >>> strike = strike_of_delta(Right.PUT, 100.0, 0.25, 0.5, 0.3)
    >>> round(delta(Right.PUT, 100.0, strike, 0.5, 0.3), 9)
    -0.25
    """
    d1 = _NORMAL.inv_cdf(size if right is Right.CALL else 1.0 - size)
    spread = volatility * math.sqrt(years)
    return spot * math.exp(0.5 * spread * spread - d1 * spread)


def listed(strike: float, step: float) -> float:
    """The nearest strike of a grid with this step, never below the first; a tie goes down.

    >>> listed(103.0, 2.5), listed(0.4, 2.5)
    (102.5, 2.5)
    """
    return max(math.ceil(strike / step - 0.5), 1) * step


def usual_step(spot: float) -> float:
    """A strike step such as exchanges list: 1, 2.5 or 5 times a power of ten, about one percent of the spot.

    >>> [usual_step(spot) for spot in (18.0, 100.0, 430.0, 24_000.0)]
    [0.25, 1.0, 5.0, 250.0]
    """
    aim = spot / 100.0
    power = 10.0 ** math.floor(math.log10(aim))
    steps = [factor * power for factor in (1.0, 2.5, 5.0, 10.0)]
    return min(steps, key=lambda step: abs(math.log(step / aim)))


def _distances(spot: float, strike: float, years: float, volatility: float) -> tuple[float, float]:
    spread = volatility * math.sqrt(years)
    d1 = math.log(spot / strike) / spread + 0.5 * spread
    return d1, d1 - spread


def _cdf(x: float) -> float:
    # erfc keeps the tails that 1 + erf rounds away.
    return 0.5 * math.erfc(-x / math.sqrt(2.0))
