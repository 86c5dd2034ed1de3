"""``planted-edge``: three made-up instruments in which trends really persist, to prove that the search finds an edge.

A night on real data may rightly end with nothing. This set answers the other question: if there is an edge, do the
operators breed it, do the gates let it through, does the evidence accept it? It says nothing about markets, and
everything made from it is labelled synthetic.

**Model**, per symbol and daily bar t, independent between symbols::

    z_t = rho * z_(t-1) + sqrt(1 - rho^2) * u_t        rho = 2^(-1/HALF_LIFE), u ~ N(0, 1), z stationary
    x_t = DRIFT + EDGE * SIGMA * z_t + SIGMA * e_t     log return of the bar, e ~ N(0, 1)

A quarter of each bar's variance and drift falls between close and open, the rest on eight steps inside the bar, which
make high and low. The drift's half-life of 20 bars leaves time to notice a trend, wait for the next open and pay fees.

**Measured** (long or flat with all equity, decided at the close, filled at the next open, 10 bps a side; each segment
of the registered split as one run per symbol; annual Sharpe of the equal-weight mean of r - mean exposure * market,
over all symbols; for buy and hold the Sharpe of the equal-weight mean of r)::

    rule                                       train  validation  vault   deepest drawdown
    close above its average of 50 bars          2.03        2.33   2.14   0.22
    average of 5 bars above that of 20          1.80        2.53   1.64   0.22
    breakout, enter at 20 bars, leave at 10     1.77        2.39   2.24   0.20
    close above that of 60 bars ago             1.69        1.76   1.98   0.19
    breakout, enter at 55 bars, leave at 20     1.22        2.26   1.73   0.20
    buy and hold                               -0.42        0.27  -0.02   0.89

(drawdowns of single symbols; in train per fold, for buy and hold over the whole span). A test computes the rules again.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from runtime.market.bars import Bars
from runtime.market.calendar import DAY_S
from runtime.market.sessions import bars_per_year
from runtime.model import Instrument, Timeframe

VERSION = "planted-edge/1"
"""Changes whenever a value that ``planted_edge`` returns does."""

SYMBOLS = ("PLANT-A", "PLANT-B", "PLANT-C")
FIRST_DAY = datetime(1997, 1, 1, tzinfo=UTC)
# 18 years of weekdays: three tenths of them, the vault, are over five years.
N_BARS = 4_696
# Chosen among the first four hundred so that buy and hold is dull in every segment; the edge is in nearly all of them.
SEED = 144
HALF_LIFE = 20
SIGMA = 0.008
EDGE = 0.22
DRIFT = 0.0001
FIRST_PRICE = 100.0
_STEPS = 8
_NIGHT_SHARE = 0.25


def planted_edge() -> dict[str, Bars]:
    """The bars by symbol, the same to the last bit on every machine.

    PCG64 and its normals are stable across numpy versions; ``exp`` may differ in the last bit between processors, so
    prices are rounded to 0.0001. Daily bars on Mondays to Fridays, stamped midnight UTC.
    """
    days = int(FIRST_DAY.timestamp()) // DAY_S + np.arange(2 * N_BARS, dtype=np.int64)
    # Day 0 of 1970 was a Thursday, so Monday is 4 days later.
    ts = days[(days - 4) % 7 < 5][:N_BARS] * DAY_S
    generator = np.random.Generator(np.random.PCG64(SEED))
    return {symbol: _one_symbol(symbol, ts, generator) for symbol in SYMBOLS}


def _one_symbol(symbol: str, ts: np.ndarray[tuple[int], np.dtype[np.int64]], generator: np.random.Generator) -> Bars:
    rho = 2.0 ** (-1 / HALF_LIFE)
    news = generator.standard_normal(N_BARS)
    noise = generator.standard_normal((N_BARS, 1 + _STEPS))
    volume = np.rint(1e6 * np.exp(0.4 * generator.standard_normal(N_BARS)))
    latent = np.empty(N_BARS)
    state = float(news[0])
    for row, shock in enumerate(news.tolist()):
        state = rho * state + (1 - rho * rho) ** 0.5 * shock
        latent[row] = state
    # Variance of the parts of one bar: the night, then equal steps.
    share = np.full(1 + _STEPS, (1 - _NIGHT_SHARE) / _STEPS)
    share[0] = _NIGHT_SHARE
    drift = DRIFT + EDGE * SIGMA * latent
    log_price = np.cumsum((drift[:, None] * share + SIGMA * np.sqrt(share) * noise).ravel())
    path = np.round(FIRST_PRICE * np.exp(log_price), 4).reshape(N_BARS, 1 + _STEPS)
    timeframe = Timeframe(DAY_S)
    return Bars(
        instrument=Instrument(symbol=symbol, bars_per_year=bars_per_year(ts, timeframe)),
        timeframe=timeframe,
        ts=ts,
        open=path[:, 0],
        high=path.max(axis=1),
        low=path.min(axis=1),
        close=path[:, -1],
        volume=volume,
    )
