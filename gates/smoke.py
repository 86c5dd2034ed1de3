"""The bars of the dry run: made up, always the same, with a bit of every kind of market."""

from __future__ import annotations

import math
import random
from typing import Final, NamedTuple

import numpy as np

from gates.allowed import MAX_LOOKBACK_BARS
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe


class _Regime(NamedTuple):
    bars: int
    drift: float
    """Mean log return per bar."""
    noise: float
    """Standard deviation of the log return per bar."""


# The last five are traded, the first two only feed indicators (250 bars).
_REGIMES: Final = (
    _Regime(150, 0.0006, 0.010),
    _Regime(100, -0.0004, 0.014),
    _Regime(24, 0.0060, 0.009),
    _Regime(12, -0.0350, 0.025),
    _Regime(20, 0.0002, 0.002),
    _Regime(24, 0.0120, 0.035),
    _Regime(20, -0.0050, 0.012),
)
SMOKE_BARS: Final = sum(regime.bars for regime in _REGIMES)
SMOKE_START: Final = MAX_LOOKBACK_BARS
"""The first row that is traded."""

_DAY_S: Final = 86_400
_FIRST_DAY: Final = 1_262_563_200  # 2010-01-04, a Monday
_SEED: Final = 20_240_229


def smoke_bars() -> Bars:
    """Daily bars through a rise, a slide, a strong rise, a crash, a calm, a wild recovery and a fall.

    ``random.Random`` and not numpy: its stream is the same in every version, and these bars decide verdicts.
    """
    rng = random.Random(_SEED)
    rows = []
    close = 100.0
    for regime in _REGIMES:
        for _ in range(regime.bars):
            open_ = close * math.exp(rng.gauss(0.0, regime.noise / 4))
            close = open_ * math.exp(rng.gauss(regime.drift, regime.noise))
            high = max(open_, close) * math.exp(abs(rng.gauss(0.0, regime.noise / 2)) + 1e-5)
            low = min(open_, close) * math.exp(-abs(rng.gauss(0.0, regime.noise / 2)) - 1e-5)
            rows.append((open_, high, low, close, 1e6 * math.exp(rng.gauss(0.0, 0.4))))
    columns = np.array(rows).T
    return Bars(
        instrument=Instrument(symbol="SMOKE", bars_per_year=252.0),
        timeframe=Timeframe(_DAY_S),
        ts=_FIRST_DAY + np.arange(len(rows)) * _DAY_S,
        **dict(zip(("open", "high", "low", "close", "volume"), columns, strict=True)),
    )
