"""Made-up markets in which the truth is known: no edge at all, or an edge of a stated strength. For calibration only.

**Null**: real bars in an order that has no memory (``fitness.permutation``), scaled to a bearable volatility. Whatever a night promotes
there is a false promotion.

**Planted**: per symbol a latent drift that persists, as in ``runtime.market.synthetic``::

    z_t = rho z_(t-1) + sqrt(1 - rho^2) u_t      rho = 2^(-1 / half_life)
    x_t = drift + edge sigma z_t + sigma e_t     log return of the bar

``edge`` is found so that the best rule of a family (a close above its average, an average above a slower one, a breakout: all within
reach of the search) has the stated active Sharpe ratio, costs included, on a long path that had no part in choosing it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fitness.permutation import permute_bars
from runtime.market import EMBARGO_BARS, Bars
from runtime.market.calendar import DAY_S
from runtime.market.sessions import bars_per_year
from runtime.market.split import TRAIN_AND_VALIDATION_SHARE
from runtime.model import Instrument, Timeframe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Series = NDArray[np.float64]

BARS_PER_YEAR = 261
"""Weekdays of a year."""
_FIRST_MONDAY = 9_867  # days since 1970: 1997-01-06
_DAILY_SIGMA = 0.01
_STEPS = 8
_NIGHT_SHARE = 0.25


def bars_for_vault(years: float) -> int:
    """Length of a set whose vault has so many years of weekdays."""
    return math.ceil((years * BARS_PER_YEAR + EMBARGO_BARS) / (1.0 - TRAIN_AND_VALIDATION_SHARE)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedMarket:
    """Symbols whose drift persists, independent of each other."""

    symbols: tuple[str, ...] = ("CAL-A", "CAL-B")
    half_life: float = 20.0
    """Bars after which half of a drift is left; at least 10, so that there is time to notice it and pay for it."""
    sigma: float = _DAILY_SIGMA
    """Spread of a bar's noise, in logs."""
    drift: float = 0.0001
    edge: float = 0.0
    """Spread of the drift, in units of sigma."""

    def __post_init__(self) -> None:
        if self.half_life < 10:
            raise ValueError(f"half-life {self.half_life} bars: at least 10, or nobody could act on it")

    def log_returns(self, length: int, rng: np.random.Generator) -> tuple[Series, Series]:
        """Drift and noise of each bar, both of shape ``(length,)``."""
        rho = 2.0 ** (-1.0 / self.half_life)
        shocks = rng.standard_normal(length) * math.sqrt(1.0 - rho * rho)
        state, latent = float(rng.standard_normal()), np.empty(length)
        for row, shock in enumerate(shocks.tolist()):
            state = rho * state + shock
            latent[row] = state
        return self.drift + self.edge * self.sigma * latent, self.sigma * rng.standard_normal(length)

    def bars(self, length: int, rng: np.random.Generator) -> dict[str, Bars]:
        """A path, as daily bars on weekdays."""
        return {symbol: self._one(symbol, length, rng) for symbol in self.symbols}

    def _one(self, symbol: str, length: int, rng: np.random.Generator) -> Bars:
        drift, noise = self.log_returns(length, rng)
        share = np.full(1 + _STEPS, (1.0 - _NIGHT_SHARE) / _STEPS)
        share[0] = _NIGHT_SHARE
        # The noise of a bar is dealt to its steps so that they add up to it: normals, minus their mean excess.
        parts = rng.standard_normal((length, 1 + _STEPS)) * np.sqrt(share) * self.sigma
        parts += (noise - parts.sum(axis=1))[:, None] * share
        path = 100.0 * np.exp(np.cumsum((drift[:, None] * share + parts).ravel())).reshape(length, 1 + _STEPS)
        return _bars(symbol, path[:, 0], path.max(axis=1), path.min(axis=1), path[:, -1], rng)


def null_bars(
    real: Mapping[str, Bars], length: int, rng: np.random.Generator, *, symbols: int = 2, keeps_drift: bool = True
) -> dict[str, Bars]:
    """Real bars without a past: the last ``length`` of the first symbols, permuted together, on made-up dates.

    Without drift buy and hold is no obstacle, and more luck comes as far as the evidence.

    Logs are scaled to a daily spread of 1%: single stocks fall by more than the drawdown limit on nearly any path, and a null on
    which nothing is feasible would prove nothing about the evidence.

    Raises:
        ValueError: there are not enough bars or symbols.
    """
    chosen = dict(list(real.items())[:symbols])
    if len(chosen) < symbols or any(len(one) < length for one in chosen.values()):
        raise ValueError(f"{symbols} symbols of {length} bars are needed for a null")
    scaled = {
        symbol: _scaled(one.between(len(one) - length, len(one)), keeps_drift=keeps_drift)
        for symbol, one in chosen.items()
    }
    permuted = permute_bars(scaled, rng)
    return {
        f"CAL-{symbol}": _bars(f"CAL-{symbol}", one.open, one.high, one.low, one.close, rng, volume=one.volume)
        for symbol, one in permuted.items()
    }


def _scaled(bars: Bars, *, keeps_drift: bool) -> Bars:
    logs = np.log(bars.close)
    factor = min(1.0, _DAILY_SIGMA / float(np.std(np.diff(logs))))
    slope = 0.0 if keeps_drift else factor * float(logs[-1] - logs[0]) / (len(bars) - 1)
    trend = np.exp(-slope * np.arange(len(bars)))
    columns: dict[str, Any] = {
        name: 100.0 * trend * (getattr(bars, name) / bars.close[0]) ** factor
        for name in ("open", "high", "low", "close")
    }
    return replace(bars, **columns)


def _bars(  # noqa: PLR0913, PLR0917 - the columns of a bar
    symbol: str,
    opening: Series,
    high: Series,
    low: Series,
    close: Series,
    rng: np.random.Generator,
    *,
    volume: Series | None = None,
) -> Bars:
    length = len(close)
    days = _FIRST_MONDAY + np.arange(length, dtype=np.int64) // 5 * 7 + np.arange(length, dtype=np.int64) % 5
    ts, timeframe = days * DAY_S, Timeframe(DAY_S)
    return Bars(
        instrument=Instrument(symbol=symbol, bars_per_year=bars_per_year(ts, timeframe)),
        timeframe=timeframe,
        ts=ts,
        open=opening,
        high=high,
        low=low,
        close=close,
        volume=np.rint(1e6 * np.exp(0.4 * rng.standard_normal(length))) if volume is None else volume,
    )


# How strong an edge must be


class Strength(NamedTuple):
    """An edge, and what the best rule makes of it."""

    edge: float
    rule: str
    active_sharpe: float
    """Annual, pooled over the symbols, net of costs, on a path that had no part in choosing the rule."""


def find_edge(
    market: PlantedMarket, active_sharpe: float, *, years: int = 400, fee_bps: float = 10.0, seed: int = 1
) -> Strength:
    """The edge with which the best rule has this active Sharpe ratio over all symbols together.

    Bisection with the same numbers throughout. The rule is chosen on one path of ``years`` and measured on another.
    """
    low, high = 0.0, 1.0
    found = Strength(0.0, "", 0.0)
    for _ in range(14):
        middle = (low + high) / 2.0
        found = _strength(replace(market, edge=middle), years, fee_bps, seed)
        if found.active_sharpe < active_sharpe:
            low = middle
        else:
            high = middle
    return found


def _strength(market: PlantedMarket, years: int, fee_bps: float, seed: int) -> Strength:
    chosen, fresh = (_path(market, years * BARS_PER_YEAR, np.random.default_rng([seed, which])) for which in range(2))

    def active_sharpe(path: _Path, rule: _Rule) -> float:
        return _active_sharpe(path, rule.wants(path.log_close, rule.window), fee_bps)

    best = max(_rules(), key=lambda rule: active_sharpe(chosen, rule))
    # Symbols are independent and weighted equally.
    return Strength(market.edge, best.name, active_sharpe(fresh, best) * math.sqrt(len(market.symbols)))


class _Path(NamedTuple):
    log_close: Series
    gap: Series
    """From the close before to the open, in logs."""
    day: Series
    """From open to close, in logs."""


def _path(market: PlantedMarket, length: int, rng: np.random.Generator) -> _Path:
    drift, noise = market.log_returns(length, rng)
    own = rng.standard_normal(length) * market.sigma * math.sqrt(_NIGHT_SHARE * (1.0 - _NIGHT_SHARE))
    gap = _NIGHT_SHARE * (drift + noise) + own
    total = drift + noise
    return _Path(np.cumsum(total), gap, total - gap)


_WINDOWS = (5, 8, 12, 16, 20, 25, 30, 40, 50, 65, 80, 100)


class _Rule(NamedTuple):
    """Long where it answers True, decided at the close."""

    name: str
    wants: Callable[[Series, int], NDArray[np.bool_]]
    window: int


def _rules() -> list[_Rule]:
    kinds: dict[str, Callable[[Series, int], NDArray[np.bool_]]] = {
        "close above its average of {}": lambda close, window: close > _mean(close, window),
        "close above its exponential average of {}": lambda close, window: close > _exponential(close, window),
        "close above that of {} bars ago": lambda close, window: close > _before(close, window),
        "average of {} above one three times as long": lambda close, window: (
            _mean(close, window) > _mean(close, 3 * window)
        ),
    }
    return [_Rule(name.format(window), wants, window) for name, wants in kinds.items() for window in _WINDOWS]


def _before(values: Series, window: int) -> Series:
    return np.concatenate((values[:window], values[:-window]))


def _mean(values: Series, window: int) -> Series:
    totals = np.cumsum(np.append(0.0, values))
    rows = np.arange(1, len(values) + 1)
    begins = np.maximum(rows - window, 0)
    mean: Series = (totals[rows] - totals[begins]) / (rows - begins)
    return mean


def _exponential(values: Series, window: int) -> Series:
    weight, state, means = 2.0 / (window + 1.0), float(values[0]), []
    for value in values.tolist():
        state += weight * (value - state)
        means.append(state)
    return np.array(means)


def _active_sharpe(path: _Path, wants: NDArray[np.bool_], fee_bps: float) -> float:
    """Annual active Sharpe ratio of being long where a rule wants it, from the next open on, fees on both sides."""
    held = np.append(False, wants[:-1])  # during the day, filled at its open
    before = np.append(False, held[:-1])  # over the night
    fee = fee_bps / 10_000.0
    returns = np.expm1(before * path.gap) + np.expm1(held * path.day) - fee * (held != before)
    market = np.expm1(path.gap + path.day)
    active = returns - float(np.mean(before)) * market
    return float(np.mean(active) / np.std(active, ddof=1) * math.sqrt(BARS_PER_YEAR))
