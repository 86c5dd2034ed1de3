"""Made-up markets in which the truth is known: no edge at all, or an edge of a stated strength. For calibration only.

**Null**: real bars in an order that has no memory (``fitness.permutation``), scaled to a bearable volatility. Whatever a night promotes
there is a false promotion.

**Planted**: per symbol a latent drift that persists: up or down, and with each bar it may turn::

    z_t = +-1, turning with probability (1 - rho) / 2      rho = 2^(-1 / half_life), its autocorrelation at lag 1
    x_t = drift + edge sigma z_t + sigma e_t               log return of the bar

Two states, because an edge whose own size wanders is stronger in one vault than in the next by luck, and then the dice are
measured instead of the search.

``edge`` is found so that the best rule of a family (a close above its average, an average above a slower one, a close above an
earlier one: all within reach of the search) has the stated active Sharpe ratio, costs included, on a long path that had no part in
choosing it. The ratio is the one that a look measures: active returns are taken over the mean exposure of each stretch as long as
the vault. Over one mean for the whole path the same rule looks better (``Strength.whole_path``), by what it earns from being in the
market in better years, which no vault of three years can credit it with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fitness import probabilistic_sharpe, sharpe_sample
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
_HELD_BARS = 21
"""How long a rule without skill stays in or out, in the mean."""


def bars_for_vault(years: float) -> int:
    """Length of a set whose vault has so many years of weekdays."""
    return math.ceil((years * BARS_PER_YEAR + EMBARGO_BARS) / (1.0 - TRAIN_AND_VALIDATION_SHARE)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedMarket:
    """Symbols whose drift persists, independent of each other."""

    symbols: tuple[str, ...] = ("CAL-A", "CAL-B")
    half_life: float = 10.0
    """Bars after which half of a drift is left; at least 10, so that there is time to notice it and pay for it."""
    sigma: float = _DAILY_SIGMA
    """Spread of a bar's noise, in logs."""
    drift: float = 0.0001
    edge: float = 0.0
    """Distance of the drift from its mean, up or down, in units of sigma."""

    def __post_init__(self) -> None:
        if self.half_life < 10:
            raise ValueError(f"half-life {self.half_life} bars: at least 10, or nobody could act on it")

    def log_returns(self, length: int, rng: np.random.Generator) -> tuple[Series, Series]:
        """Drift and noise of each bar, both of shape ``(length,)``."""
        rho = 2.0 ** (-1.0 / self.half_life)
        turns = np.cumsum(rng.random(length) < (1.0 - rho) / 2.0) + int(rng.integers(2))
        latent = np.where(turns % 2 == 0, 1.0, -1.0)
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
    """Annual, pooled over the symbols, net of costs, on a path that had no part in choosing the rule; over the mean exposure of each
    stretch of it, as a look measures it."""
    whole_path: float
    """The same over one mean exposure for the whole path."""


def find_edge(  # noqa: PLR0913 - a market, a target and how it is measured
    market: PlantedMarket,
    active_sharpe: float,
    *,
    stretch_years: float = 3.0,
    years: int = 300,
    fee_bps: float = 10.0,
    seed: int = 1,
) -> Strength:
    """The edge with which the best rule has this active Sharpe ratio over all symbols together.

    Bisection with the same numbers throughout. The rule is chosen on one path of ``years`` and measured on another, both by
    stretches of ``stretch_years``.
    """
    stretch = round(stretch_years * BARS_PER_YEAR)
    low, high = 0.0, 1.0
    found = Strength(0.0, "", 0.0, 0.0)
    for _ in range(14):
        middle = (low + high) / 2.0
        found = _strength(replace(market, edge=middle), years, stretch, fee_bps, seed)
        if found.active_sharpe < active_sharpe:
            low = middle
        else:
            high = middle
    return found


def power_of(  # noqa: PLR0913 - a rule, a market and a look
    rule: str,
    market: PlantedMarket,
    *,
    years: float,
    alpha: float,
    vaults: int = 2_000,
    fee_bps: float = 10.0,
    seed: int = 2,
) -> float:
    """Share of fresh vaults on which a rule passes its look: what nobody can beat who has to find the rule first.

    Args:
        rule: the name of one in the family (``Strength.rule``).
        market: where it trades.
        years: length of the vault.
        alpha: level of the look.
        vaults: how many are drawn.
        fee_bps: costs.
        seed: of the vaults.
    """
    chosen = next(each for each in _rules() if each.name == rule)
    length, passed = round(years * BARS_PER_YEAR), 0
    for number in range(vaults):
        rng = np.random.default_rng([seed, number])
        paths = [_path(market, _RULE_WARMUP + length, rng) for _ in market.symbols]
        series = [_active(path, chosen.wants(path.log_close, chosen.window), fee_bps, length) for path in paths]
        psr = probabilistic_sharpe(sharpe_sample(np.mean(series, axis=0)[0]))
        passed += psr is not None and psr > 1.0 - alpha
    return passed / vaults


def luck_of_a_life(  # noqa: PLR0913 - a vault, its budget, and how many are drawn
    *,
    years: float,
    alpha: float,
    budget: float,
    vaults: int = 2_000,
    fee_bps: float = 10.0,
    seed: int = 3,
) -> int:
    """In how many vaults something is promoted when rules without skill are looked at until the budget is spent.

    Every vault is noise, and every rule is long for about a month at a time, whatever the bars do. Nothing stands before the looks:
    with a search, checks and a person who may stop earlier it can only be less. What bounds it is the ledger (the union bound).

    Args:
        years: length of a vault.
        alpha: level of each look.
        budget: most that the levels add up to.
        vaults: how many are drawn.
        fee_bps: costs.
        seed: of the vaults.
    """
    market, length = PlantedMarket(), round(years * BARS_PER_YEAR)
    looks, unlucky = int(budget / alpha + 1e-9), 0
    for number in range(vaults):
        rng = np.random.default_rng([seed, number])
        paths = [_path(market, length, rng) for _ in market.symbols]
        unlucky += any(_passes_by_luck(paths, rng, fee_bps=fee_bps, alpha=alpha) for _ in range(looks))
    return unlucky


def _passes_by_luck(paths: list[_Path], rng: np.random.Generator, *, fee_bps: float, alpha: float) -> bool:
    length = len(paths[0].log_close)
    series = [
        _active(path, np.cumsum(rng.random(length) < 1.0 / _HELD_BARS) % 2 == rng.integers(2), fee_bps, length)
        for path in paths
    ]
    psr = probabilistic_sharpe(sharpe_sample(np.mean(series, axis=0)[0]))
    return psr is not None and psr > 1.0 - alpha


def _strength(market: PlantedMarket, years: int, stretch: int, fee_bps: float, seed: int) -> Strength:
    chosen, fresh = (_path(market, years * BARS_PER_YEAR, np.random.default_rng([seed, which])) for which in range(2))

    def active_sharpe(path: _Path, rule: _Rule, length: int) -> float:
        active = _active(path, rule.wants(path.log_close, rule.window), fee_bps, length)
        # Symbols are independent and weighted equally.
        annual = math.sqrt(BARS_PER_YEAR * len(market.symbols))
        return float(np.mean(active) / np.std(active, ddof=1) * annual)

    best = max(_rules(), key=lambda rule: active_sharpe(chosen, rule, stretch))
    whole = len(fresh.log_close)
    return Strength(market.edge, best.name, active_sharpe(fresh, best, stretch), active_sharpe(fresh, best, whole))


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
_RULE_WARMUP = 3 * _WINDOWS[-1]


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
    from scipy.signal import lfilter  # noqa: PLC0415 - slow to load, and only calibration needs it

    weight = 2.0 / (window + 1.0)
    means, _ = lfilter([weight], [1.0, weight - 1.0], values, zi=[(1.0 - weight) * values[0]])
    return np.asarray(means, dtype=np.float64)


def _active(path: _Path, wants: NDArray[np.bool_], fee_bps: float, stretch: int) -> NDArray[np.float64]:
    """Active returns of being long where a rule wants it, from the next open on, fees on both sides.

    Returns:
        Shape ``(stretches, stretch)``: the last whole stretches of the path, each over its own mean exposure.
    """
    held = np.append(False, wants[:-1])  # during the day, filled at its open
    before = np.append(False, held[:-1])  # over the night
    fee = fee_bps / 10_000.0
    returns = np.expm1(before * path.gap) + np.expm1(held * path.day) - fee * (held != before)
    market = np.expm1(path.gap + path.day)
    first = len(market) % stretch
    cut, passive, weight = (
        column[first:].reshape(-1, stretch) for column in (returns, market, before.astype(np.float64))
    )
    active: NDArray[np.float64] = cut - weight.mean(axis=1, keepdims=True) * passive
    return active
