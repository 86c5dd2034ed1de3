"""Is a Sharpe ratio more than luck? Active returns, probabilistic and deflated Sharpe, lengths of record.

All ratios are per bar unless a name says otherwise. Moments are those of ``fitness.ratios`` (ddof 0, kurtosis non-excess).
The normal distribution comes from the standard library: ``erfc`` for the tail, Wichura's AS241 for its inverse; both are
good to double precision and cost no import of scipy.

What none of this can do: the null behind a deflated Sharpe is N independent trials. A search that breeds on its data beats
that null even on pure noise, so here it is a screen; only bars that the search never saw are calibrated evidence.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fitness.metrics import measured_span
from fitness.ratios import is_constant, kurtosis, sharpe_per_bar, simple_returns, skewness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars

    Series = NDArray[np.float64]

EULER_GAMMA = 0.5772156649015329

_NORMAL = NormalDist()


class SharpeSample(NamedTuple):
    """What the sampling theory of a Sharpe ratio needs to know of a return series."""

    sharpe: float
    """Per bar, ddof 1."""
    length: int
    """Number of returns."""
    skewness: float = 0.0
    kurtosis: float = 3.0

    @property
    def variance_factor(self) -> float:
        """``1 - g3 SR + (g4 - 1) / 4 SR^2`` (Mertens 2002; Opdyke 2007): variance of the estimate, times its T - 1."""
        return 1.0 - self.skewness * self.sharpe + (self.kurtosis - 1.0) / 4.0 * self.sharpe**2


class StampedReturns(NamedTuple):
    """Returns with the bar they belong to."""

    ts: NDArray[np.int64]
    """Open of each bar, seconds since 1970-01-01 UTC, increasing, shape ``(n,)``."""
    returns: Series
    """Shape ``(n,)``."""


def active_returns(returns: Series, weights: Series, market: Series) -> Series:
    """Returns minus what the mean exposure would have earned: ``a_t = r_t - mean(w) * m_t``.

    If positions carry no information about the next bar, active returns have mean zero, whatever the market did; raw
    returns of a long strategy in a rising market do not.

    Args:
        returns: simple returns of the strategy, shape ``(n,)``.
        weights: notional over equity that the strategy carried into each bar, signed, shape ``(n,)``.
        market: simple returns of the instrument on the same bars, shape ``(n,)``.

    Raises:
        ValueError: the three shapes differ.
    """
    if not returns.shape == weights.shape == market.shape:
        raise ValueError(f"shapes {returns.shape}, {weights.shape} and {market.shape} must be equal")
    if len(returns) == 0:
        return returns
    return returns - float(np.mean(weights)) * market


class RunReturns(NamedTuple):
    """What one run earned per bar, and what it held while its market moved. All of shape ``(n,)``."""

    ts: NDArray[np.int64]
    """Open of each bar, seconds since 1970-01-01 UTC, increasing."""
    returns: Series
    """Simple returns of the equity."""
    weights: Series
    """Notional over equity carried into the bar, signed."""
    market: Series
    """Simple returns of the instrument."""

    @property
    def active(self) -> StampedReturns:
        """Returns beyond what the mean exposure would have earned."""
        return StampedReturns(self.ts, active_returns(self.returns, self.weights, self.market))


def run_returns(report: RunReport, bars: Bars, config: RunConfig, *, first: int | None = None) -> RunReturns:
    """Returns of one run beside its market's, from its first tradable bar (or ``first``) to its end or its ruin.

    The weight of a bar is what was held at the previous close, valued there. A position that opens at this bar's open
    counts from the next bar on, and one that closes there counts once more; over a round trip that evens out.

    Raises:
        ValueError: the report does not belong to these bars (see ``fitness.metrics.measured_span``).
    """
    span = measured_span(report, bars, config, first=first)
    returns = simple_returns(span.equity)
    start = len(bars) - (len(span.equity) - 1)
    rows = np.arange(start, start + len(returns))
    before = np.maximum(rows - 1, 0)
    weights = np.where(rows > 0, report.position[before] * bars.close[before], 0.0) / span.equity[: len(returns)]
    # Row 0 has no previous close: its market return is taken from its own open.
    previous = np.where(rows > 0, bars.close[before], bars.open[before])
    return RunReturns(bars.ts[rows], returns, weights, bars.close[rows] / previous - 1.0)


def active_run_returns(report: RunReport, bars: Bars, config: RunConfig, *, first: int | None = None) -> StampedReturns:
    """Active returns of one run (``run_returns``).

    Raises:
        ValueError: the report does not belong to these bars.
    """
    return run_returns(report, bars, config, first=first).active


def pooled_active_returns(runs: Sequence[StampedReturns]) -> StampedReturns:
    """One series: at each timestamp the equal-weight mean over the runs that have a return there, in time order."""
    if not runs:
        return StampedReturns(np.array([], dtype=np.int64), np.array([]))
    stamps, places = np.unique(np.concatenate([run.ts for run in runs]), return_inverse=True)
    totals = np.bincount(places, weights=np.concatenate([run.returns for run in runs]), minlength=len(stamps))
    return StampedReturns(stamps, totals / np.bincount(places, minlength=len(stamps)))


def sharpe_sample(returns: Series) -> SharpeSample | None:
    """Sharpe ratio per bar with its length and moments; None without dispersion."""
    sharpe, third, fourth = sharpe_per_bar(returns), skewness(returns), kurtosis(returns)
    if sharpe is None or third is None or fourth is None:
        return None
    return SharpeSample(sharpe, len(returns), third, fourth)


def lo_standard_error(sample: SharpeSample) -> float:
    """Standard error for independent normal returns: ``sqrt((1 + SR^2 / 2) / T)`` (Lo 2002, eq. 9)."""
    return math.sqrt((1.0 + sample.sharpe**2 / 2.0) / sample.length)


def mertens_standard_error(sample: SharpeSample) -> float | None:
    """Standard error for independent returns of any shape: ``sqrt((1 - g3 SR + (g4 - 1) / 4 SR^2) / (T - 1))`` (Mertens 2002)."""
    if sample.length < 2 or sample.variance_factor < 0:
        return None
    return math.sqrt(sample.variance_factor / (sample.length - 1))


def hac_standard_error(returns: Series, *, lags: int | None = None) -> float | None:
    """Standard error that allows for autocorrelation: delta method with a Newey-West covariance (Lo 2002, section 2).

    The covariance is that of ``(r - mean, (r - mean)^2 - variance)`` with Bartlett weights.

    Args:
        returns: simple returns, shape ``(T,)``.
        lags: autocovariances to use; ``floor(4 (T / 100)^(2/9))`` when left out.
    """
    ratio, count = sharpe_per_bar(returns), len(returns)
    if ratio is None:
        return None
    lags = int(4 * (count / 100) ** (2 / 9)) if lags is None else lags
    centred = returns - np.mean(returns)
    variance = float(np.mean(centred**2))
    moments = np.column_stack((centred, centred**2 - variance))
    covariance = moments.T @ moments / count
    for lag in range(1, min(lags, count - 1) + 1):
        cross = moments[lag:].T @ moments[:-lag] / count
        covariance += (1.0 - lag / (lags + 1.0)) * (cross + cross.T)
    gradient = np.array([1.0, -float(np.mean(returns)) / (2.0 * variance)]) / math.sqrt(variance)
    return math.sqrt(max(float(gradient @ covariance @ gradient), 0.0) / count)


def lo_scaling(periods: int, autocorrelation: float = 0.0) -> float:
    """Factor from a Sharpe ratio per bar to one over ``periods`` bars, for AR(1) returns (Lo 2002, eq. 20).

    ``q / sqrt(q + 2 sum_{k<q} (q - k) rho^k)``; without autocorrelation this is ``sqrt(q)``.
    """
    lags = np.arange(1, periods)
    return float(periods / math.sqrt(periods + 2.0 * float(np.sum((periods - lags) * autocorrelation**lags))))


def probabilistic_sharpe(sample: SharpeSample | None, *, benchmark: float = 0.0) -> float | None:
    """Probability that the true Sharpe ratio is above ``benchmark`` (per bar): the PSR of Bailey & Lopez de Prado (2012).

    ``Phi((SR - SR0) sqrt(T - 1) / sqrt(1 - g3 SR + (g4 - 1) / 4 SR^2))``, the variance taken at the estimate (a later convention
    takes it at the benchmark).

    >>> round(probabilistic_sharpe(SharpeSample(0.458, 24, -2.448, 10.164)), 4)
    0.9134
    """
    error = None if sample is None else mertens_standard_error(sample)
    if sample is None or not error:
        return None
    return _phi((sample.sharpe - benchmark) / error)


def expected_maximum(trials: int) -> float:
    """Expected largest of N independent standard normals (Bailey & Lopez de Prado 2014, eq. 1); 0 for a single one.

    ``(1 - gamma) z(1 - 1/N) + gamma z(1 - 1/(N e))``: an approximation, 0.9% above the exact value for N = 100.

    Raises:
        ValueError: ``trials`` is below 1.
    """
    if trials < 1:
        raise ValueError(f"expected maximum of {trials} trials: at least 1 is needed")
    if trials == 1:
        return 0.0
    upper, further = _z(1.0 - 1.0 / trials), _z(1.0 - 1.0 / (trials * math.e))
    return (1.0 - EULER_GAMMA) * upper + EULER_GAMMA * further


def deflated_sharpe(sample: SharpeSample | None, *, trials: int, variance: float) -> float | None:
    """PSR against the Sharpe ratio that the best of N skill-less trials would show (Bailey & Lopez de Prado 2014).

    Args:
        sample: the candidate.
        trials: number of independent trials; from the ledger of all trials, never from the pool.
        variance: variance of the per-bar Sharpe ratios of those trials.
    """
    return probabilistic_sharpe(sample, benchmark=math.sqrt(variance) * expected_maximum(trials))


def minimum_track_record(sample: SharpeSample, *, benchmark: float = 0.0, confidence: float = 0.95) -> float | None:
    """Number of returns after which this Sharpe ratio would be above ``benchmark`` at ``confidence``: MinTRL.

    ``1 + (1 - g3 SR + (g4 - 1) / 4 SR^2) (z / (SR - SR0))^2`` (Bailey & Lopez de Prado 2012). None when the ratio is not above
    the benchmark: no length is enough.
    """
    if sample.sharpe <= benchmark:
        return None
    return 1.0 + sample.variance_factor * (_z(confidence) / (sample.sharpe - benchmark)) ** 2


def minimum_backtest_years(trials: int, *, annual_sharpe: float = 1.0) -> float:
    """Years below which the best of N skill-less trials is expected to reach ``annual_sharpe``: MinBTL.

    ``(E[max_N] / SR)^2`` (Bailey, Borwein, Lopez de Prado & Zhu 2014).
    """
    return (expected_maximum(trials) / annual_sharpe) ** 2


class MarketAlpha(NamedTuple):
    """A regression of returns on the market's."""

    alpha: float
    """Intercept per bar: what is earned beyond the exposure."""
    beta: float
    t_statistic: float
    """Of alpha; classical standard errors."""


def market_alpha(returns: Series, market: Series) -> MarketAlpha | None:
    """Least squares ``r_t = alpha + beta m_t + e_t`` (Jensen 1968), residual variance with ``T - 2``; None without dispersion.

    Active returns fix beta at the mean exposure; here it is estimated, so a strategy that is exposed more on stormy days
    shows it.

    Raises:
        ValueError: the shapes differ.
    """
    if returns.shape != market.shape:
        raise ValueError(f"shapes {returns.shape} and {market.shape} must be equal")
    count = len(returns)
    if count < 3 or is_constant(market):
        return None
    centred = market - np.mean(market)
    power = float(centred @ centred)
    beta = float(centred @ returns) / power
    alpha = float(np.mean(returns)) - beta * float(np.mean(market))
    residual = returns - alpha - beta * market
    if is_constant(residual):
        return None
    variance = float(residual @ residual) / (count - 2)
    error = math.sqrt(variance * (1.0 / count + float(np.mean(market)) ** 2 / power))
    return MarketAlpha(alpha, beta, alpha / error)


def _phi(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))


def _z(probability: float) -> float:
    return _NORMAL.inv_cdf(probability)
