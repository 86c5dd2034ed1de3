"""Resampling of returns in blocks: intervals for a Sharpe ratio, and Hansen's test of the best of many.

Neighbouring bars are not independent, so bars are drawn in blocks (the stationary bootstrap of Politis & Romano 1994: a block
goes on with probability ``1 - 1 / length``, and runs over the end to the beginning). A draw is kept as *weights*, how often
each bar was drawn: then the means of all candidates in all draws are one matrix product. All candidates share the draws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fitness.ratios import is_constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series = NDArray[np.float64]
    Matrix = NDArray[np.float64]

# Draws that are multiplied at once: bounds memory at 64 * N * 8 bytes for N candidates.
_DRAWS_AT_ONCE = 64


class Interval(NamedTuple):
    """A percentile interval."""

    low: float
    high: float


class SpaPValues(NamedTuple):
    """P-values of the test of superior predictive ability, by what is assumed of the losers."""

    lower: float
    """Losers are as good as the benchmark's equals at best: too small a p."""
    consistent: float
    """Clear losers are left out (Hansen 2005): the one to read."""
    upper: float
    """All are taken as the benchmark's equals: White's Reality Check, conservative."""


def draw_indices(length: int, draws: int, block: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of each draw of a stationary bootstrap, shape ``(draws, length)``.

    Args:
        length: number of bars.
        draws: number of draws.
        block: mean block length in bars, at least 1.
        rng: the only source of randomness.

    Raises:
        ValueError: the block length is below 1.
    """
    if not block >= 1.0:
        raise ValueError(f"mean block length {block}: at least 1 is needed")
    starts = rng.integers(0, length, (draws, length))
    begins = rng.random((draws, length)) < 1.0 / block
    begins[:, 0] = True
    # Row of the last beginning at or before each place, and how far it is away.
    places = np.arange(length)
    last = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    indices: NDArray[np.int64] = (np.take_along_axis(starts, last, axis=1) + places - last) % length
    return indices


def draw_weights(length: int, draws: int, block: float, rng: np.random.Generator) -> Matrix:
    """How often each bar is in each draw of a stationary bootstrap, shape ``(draws, length)``; every row sums to ``length``."""
    indices = draw_indices(length, draws, block, rng)
    flat = indices + length * np.arange(draws)[:, None]
    return np.bincount(flat.ravel(), minlength=draws * length).reshape(draws, length).astype(np.float64)


def optimal_block(series: Series) -> float:
    """Mean block length for a stationary bootstrap of this series' mean, at least 1 (Politis & White 2004; Patton et al. 2009).

    ``(2 G^2 / D)^(1/3) T^(1/3)`` with flat-top weights ``w`` on the autocovariances ``R``: ``G = sum w |k| R(k)``,
    ``D = 2 (sum w R(k))^2``; the bandwidth is twice the first lag after which ``max(5, sqrt(log10 T))`` autocorrelations are
    insignificant (``2 sqrt(log10 T / T)``). Capped at ``min(3 sqrt(T), T / 3)``.
    """
    count = len(series)
    if count < 8 or is_constant(series):
        return 1.0
    centred = series - np.mean(series)
    most = math.ceil(math.sqrt(count)) + max(5, int(math.log10(count)))
    lags = min(most, count - 1)
    covariances = np.array([float(centred[: count - lag] @ centred[lag:]) / count for lag in range(lags + 1)])
    bandwidth = _bandwidth(covariances / covariances[0], count)
    steps = np.arange(-bandwidth, bandwidth + 1)
    taper = np.clip(2.0 * (1.0 - np.abs(steps) / max(bandwidth, 1)), 0.0, 1.0)
    weighted = taper * covariances[np.abs(steps)]
    slope, level = float(np.sum(np.abs(steps) * weighted)), float(np.sum(weighted))
    if level <= 0.0:
        return 1.0
    length = (slope / level) ** 2 * count
    longest = math.ceil(min(3.0 * math.sqrt(count), count / 3.0))
    return max(1.0, min(math.cbrt(length), longest))


def _bandwidth(correlations: Series, count: int) -> int:
    quiet = max(5, int(math.log10(count)))
    threshold = 2.0 * math.sqrt(math.log10(count) / count)
    loud = np.abs(correlations[1:]) > threshold
    most = len(correlations) - 1
    for lag in range(most - quiet + 1):
        if not loud[lag : lag + quiet].any():
            return min(2 * max(lag, 1), most)
    last = int(np.flatnonzero(loud)[-1]) + 1 if loud.any() else 1
    return min(2 * last, most)


def sharpe_interval(
    returns: Series, rng: np.random.Generator, *, block: float | None = None, draws: int = 1_000, level: float = 0.95
) -> Interval | None:
    """Percentile interval of the per-bar Sharpe ratio over block-bootstrap draws; None without dispersion.

    Args:
        returns: simple returns, shape ``(T,)``.
        rng: the only source of randomness.
        block: mean block length; ``optimal_block`` of the returns when None.
        draws: number of draws.
        level: share of the draws inside.
    """
    count = len(returns)
    if count < 2 or is_constant(returns):
        return None
    weights = draw_weights(count, draws, optimal_block(returns) if block is None else block, rng)
    means = weights @ returns / count
    squares = weights @ (returns * returns) / count
    variances = np.maximum(squares - means * means, 0.0) * count / (count - 1)
    ratios = np.where(variances > 0, means / np.sqrt(np.where(variances > 0, variances, 1.0)), 0.0)
    low, high = np.quantile(ratios, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(float(low), float(high))


def superior_ability(
    excess: Matrix, rng: np.random.Generator, *, block: float | None = None, draws: int = 1_000
) -> SpaPValues | None:
    """Could the best of these candidates be luck? Hansen's (2005) test of superior predictive ability.

    Statistic ``max_k sqrt(T) mean_k / omega_k``, floored at 0; under the null each mean is re-centred by ``mean_k`` (upper), by
    it only where ``sqrt(T) mean_k / omega_k >= -sqrt(2 log log T)`` (consistent), or by its positive part (lower). ``omega_k``
    is the spread of the bootstrapped means.

    Args:
        excess: returns over the benchmark per bar and candidate, shape ``(T, N)``.
        rng: the only source of randomness.
        block: mean block length; the median of ``optimal_block`` over at most 20 of the candidates when None.
        draws: number of draws.

    Returns:
        None when no candidate has any dispersion.
    """
    moving = excess[:, np.ptp(excess, axis=0) > 0.0] if excess.size else excess
    count, candidates = moving.shape
    if candidates == 0 or count < 8:
        return None
    if block is None:
        some = np.unique(np.linspace(0, candidates - 1, min(candidates, 20)).astype(int))
        block = float(np.median([optimal_block(moving[:, column]) for column in some]))
    root, means = math.sqrt(count), moving.mean(axis=0)
    drawn = np.empty((draws, candidates), dtype=np.float32)
    for begin in range(0, draws, _DRAWS_AT_ONCE):
        size = min(_DRAWS_AT_ONCE, draws - begin)
        drawn[begin : begin + size] = draw_weights(count, size, block, rng) @ moving / count - means
    omega = root * np.sqrt(np.mean(drawn.astype(np.float64) ** 2, axis=0))
    omega = np.where(omega > 0, omega, np.inf)
    scores = root * means / omega
    found = max(float(np.max(scores)), 0.0)
    is_loser = scores < -math.sqrt(2.0 * math.log(math.log(count)))
    shifts = {
        # What is added to the centred draws: 0 takes a candidate as the benchmark's equal.
        "lower": np.minimum(means, 0.0),
        "consistent": np.where(is_loser, means, 0.0),
        "upper": np.zeros(candidates),
    }
    best = {
        name: np.maximum(np.max(root * (drawn + shift.astype(np.float32)) / omega, axis=1), 0.0)
        for name, shift in shifts.items()
    }
    return SpaPValues(**{name: float(np.mean(values >= found)) if found else 1.0 for name, values in best.items()})
