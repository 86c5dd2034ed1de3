"""Made-up bars for the tests of market data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from runtime.market import Bars
from runtime.market.calendar import DAY_S
from runtime.market.sessions import bars_per_year
from runtime.model import Instrument, Timeframe

MakeBars = Callable[..., Bars]


@pytest.fixture
def make_bars() -> MakeBars:
    """``make_bars(count, symbol="X", first_day=10_000, seed=1, step_s=86_400, **columns)``: clean bars, columns replaced."""

    def make(count, *, symbol="X", first_day=10_000, seed=1, step_s=DAY_S, **columns):
        generator = np.random.default_rng(seed)
        close = 100 * np.exp(np.cumsum(0.01 * generator.standard_normal(count)))
        opening = close * np.exp(0.003 * generator.standard_normal(count))
        named = {
            "ts": first_day * DAY_S + np.arange(count, dtype=np.int64) * step_s,
            "open": opening,
            "high": np.maximum(opening, close) * 1.002,
            "low": np.minimum(opening, close) * 0.998,
            "close": close,
            "volume": np.full(count, 1_000.0),
        } | columns
        timeframe = Timeframe(step_s)
        years = bars_per_year(np.sort(named["ts"]), timeframe)
        return Bars(instrument=Instrument(symbol=symbol, bars_per_year=years), timeframe=timeframe, **named)

    return make


@pytest.fixture
def write_csv(tmp_path):
    """``write_csv(bars, name="prices.csv", symbols=False)``: a data file with exact values; several bars need symbols."""

    def write(*many, name="prices.csv", symbols=False):
        path = tmp_path / name
        lines = ["timestamp,open,high,low,close,volume" + (",symbol" if symbols else "")]
        for bars in many:
            for row in bars.rows():
                cells = [row.ts.isoformat(), *map(repr, row[1:])]
                lines.append(",".join(cells + ([bars.instrument.symbol] if symbols else [])))
        path.write_text("\n".join(lines) + "\n")
        return path

    return write
