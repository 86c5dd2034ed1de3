"""The loop over round trips and the kernel give the same run, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sir_worlds import CONFIGS, SHARES, markets

from runtime.desk import Action, Request
from runtime.kernel import AccountKind, RunConfig, run_strategy
from runtime.kernel.tickets import OrderRefused
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.sir.known import Known
from runtime.sir.trip_run import TripOrders, TripRun
from runtime.sir.trips import round_trips
from runtime.strategy import Strategy

if TYPE_CHECKING:
    from runtime.kernel import RunReport
# A failure is reported as it was found: shrinking a market takes minutes.
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)


@st.composite
def orders(draw: st.DrawFn) -> TripOrders:
    bracket = {name: draw(SHARES) for name in ("stop_loss", "take_profit", "trail")}
    if draw(st.booleans()):
        entry = Request(0, Action.TARGET, None, draw(st.floats(0.05, 1.0)), **bracket)
    else:
        entry = Request(0, Action.BUY, None, draw(st.sampled_from([1.0, 7.5, 100.0, 2_500.0])), **bracket)
    return TripOrders(
        entry=entry,
        leave=Request(0, Action.CLOSE),
        time_stop=draw(st.none() | st.integers(1, 12)),
    )


def in_kernel(bars: Bars, config: RunConfig, wanted: TripOrders, enter: np.ndarray, leave: np.ndarray) -> RunReport:
    """The same wishes as an ordinary strategy."""

    class Follow(Strategy):
        entered = -1

        def on_fill(self, fill):
            if self.flat:
                self.entered = -1
            elif self.entered < 0:
                self.entered = self.bar_count

        def on_bar(self, bar):
            row = self.bar_count - 1
            if self.open_orders:
                return
            if self.long:
                held = self.bar_count - self.entered + 1
                if leave[row] or (wanted.time_stop is not None and held >= wanted.time_stop):
                    self.close()
            elif enter[row]:
                entry = wanted.entry
                bracket = {
                    "stop_loss": entry.stop_loss,
                    "take_profit": entry.take_profit,
                    "trail": entry.trail,
                }
                if entry.action is Action.TARGET:
                    self.target(entry.quantity, **bracket)
                else:
                    self.buy(entry.quantity, **bracket)

    return run_strategy(Follow, bars, config)


def assert_equal(run: TripRun, report: RunReport) -> None:
    assert run.order_log == report.order_log
    assert [(f.side, f.quantity, f.price, f.fee, f.order_id) for f in run.fills] == [
        (f.side, f.quantity, f.price, f.fee, f.order_id) for f in report.fills
    ]
    assert run.curve.equity.tobytes() == report.equity.tobytes()
    assert run.curve.position.tobytes() == report.position.tobytes()
    assert (run.refused_count, run.open_orders) == (report.refused_count, report.open_orders)
    assert run.final_equity == report.equity[-1]


@settings(phases=QUICK, max_examples=150)
@given(markets(), orders(), CONFIGS, st.integers(0, 2**32 - 1), st.floats(0.02, 0.6))
def test_a_run_over_round_trips_is_the_kernels_run(
    bars: Bars, wanted: TripOrders, config: RunConfig, seed: int, density: float
) -> None:
    config = replace(config, account=AccountKind.CASH)
    rng = np.random.default_rng(seed)
    enter, leave = rng.random(len(bars)) < density, rng.random(len(bars)) < density
    assert_equal(
        round_trips(Known(bars), config, wanted, (enter, leave), 0), in_kernel(bars, config, wanted, enter, leave)
    )


def test_a_long_hold_is_looked_through_in_growing_blocks() -> None:
    rows = 3_000
    close = np.full(rows, 100.0)
    low = close.copy()
    low[2_777] = 80.0
    bars = Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(rows) * 86_400,
        open=close,
        high=close,
        low=low,
        close=close,
        volume=close,
    )
    enter, leave = np.zeros(rows, bool), np.zeros(rows, bool)
    enter[5] = True
    for bracket in ({"stop_loss": 0.1}, {"trail": 0.15}):
        wanted = TripOrders(entry=Request(0, Action.BUY, None, 10.0, **bracket), leave=Request(0, Action.CLOSE))
        run = round_trips(Known(bars), RunConfig(), wanted, (enter, leave), 0)
        assert [(fill.row, fill.price) for fill in run.fills] == [
            (6, 100.0),
            (2_777, 90.0 if "stop_loss" in bracket else 85.0),
        ]
        assert_equal(run, in_kernel(bars, RunConfig(), wanted, enter, leave))


def test_values_that_no_account_takes_are_refused_before_the_run() -> None:
    bars = flat_bars(3)
    wanted = TripOrders(entry=Request(0, Action.TARGET, None, 1.5), leave=Request(0, Action.CLOSE))
    with pytest.raises(OrderRefused, match=r"weight = 1\.5"):
        round_trips(Known(bars), RunConfig(), wanted, (np.ones(3, bool), np.zeros(3, bool)), 0)


def flat_bars(rows: int) -> Bars:
    price = np.full(rows, 10.0)
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(rows) * 86_400,
        open=price,
        high=price,
        low=price,
        close=price,
        volume=price,
    )


def test_no_bars_make_no_run() -> None:
    empty = flat_bars(0)
    wanted = TripOrders(entry=Request(0, Action.BUY, None, 1.0), leave=Request(0, Action.CLOSE))
    run = round_trips(Known(empty), RunConfig(), wanted, (np.zeros(0, bool), np.zeros(0, bool)), 0)
    assert (run.order_log, run.fills, run.final_equity) == ((), [], 100_000.0)
