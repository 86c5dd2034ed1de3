"""A market of a few handwritten bars, and a strategy that does on each row what a test says."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runtime.kernel import Costs, RunConfig, run_strategy
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.strategy import Strategy

sys.path.append(str(Path(__file__).parent))  # for the reference engine, the worlds and the invariants beside it

INSTRUMENT = Instrument(symbol="X", bars_per_year=252)
FREE = Costs(fee_bps=0.0)


def _bars(ohlc, **instrument):
    """Daily bars from rows of ``(open, high, low, close)``, or of one number for a flat bar."""
    rows = np.array([row if isinstance(row, tuple) else (row,) * 4 for row in ohlc], dtype=float)
    return Bars(
        instrument=replace(INSTRUMENT, **instrument),
        timeframe=Timeframe(86_400),
        ts=1_600_041_600 + np.arange(len(rows)) * 86_400,
        open=rows[:, 0],
        high=rows[:, 1],
        low=rows[:, 2],
        close=rows[:, 3],
        volume=np.full(len(rows), 1000.0),
    )


def _scripted(plan):
    class Scripted(Strategy):
        def on_bar(self, bar):
            action = plan.get(self.bar_count - 1)
            if action is not None:
                action(self)

    return Scripted


@pytest.fixture(autouse=True)
def _asserting_kernel(monkeypatch):
    """Every test of the kernel runs with the invariants asserted inside it."""
    from invariants import assert_inside

    assert_inside(monkeypatch)


@pytest.fixture
def bars_of():
    return _bars


@pytest.fixture
def play():
    """Run ``{row: action(strategy)}`` over handwritten bars; free of fees unless told otherwise."""

    def run(ohlc, plan, *, instrument=None, limits=None, **config):
        return run_strategy(
            _scripted(plan), _bars(ohlc, **(instrument or {})), RunConfig(**{"costs": FREE, **config}), limits=limits
        )

    return run


@pytest.fixture
def prices():
    """The (price, tag) pairs of a report's fills."""
    return lambda report: [(fill.price, fill.tag) for fill in report.fills]
