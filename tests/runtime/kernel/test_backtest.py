"""A whole run over columns: indicators, look-ahead, repeatability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.desk import Request
from runtime.kernel import Account, AccountKind, Costs, LocalHost, RunConfig, RunEnd, RunLimits, Session, run_strategy
from runtime.kernel.backtest import columns_of, run_host
from runtime.kernel.report import OrderEntry, Trade
from runtime.market.bars import Bars
from runtime.model import Fill, Instrument, Timeframe
from runtime.strategy import Strategy, crossed_above, crossed_below, param

N = 160


def walk(seed=1, n=N):
    rng = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(rng.normal(0, 0.02, n)))
    open_ = np.concatenate([[100.0], close[:-1]]) * np.exp(rng.normal(0, 0.004, n))
    spread = np.abs(rng.normal(0, 0.01, (2, n)))
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(n) * 86_400,
        open=open_,
        high=np.maximum(open_, close) * (1 + spread[0]),
        low=np.minimum(open_, close) * (1 - spread[1]),
        close=close,
        volume=rng.integers(1, 1000, n).astype(float),
    )


class Mixed(Strategy):
    """Several indicator kinds, every order style, state of its own."""

    fast = param(8, low=2, high=30)
    slow = param(21, low=5, high=90)

    def on_start(self):
        self.a = self.indicator("EMA", timeperiod=self.fast)
        self.b = self.indicator("SMA", source="hl2", timeperiod=self.slow)
        self.upper = self.indicator("BBANDS.upper", timeperiod=20)
        self.hammer = self.indicator("CDLHAMMER")
        self.atr = self.indicator("ATR", timeperiod=14)
        self.need(30)

    def on_bar(self, bar):
        mean = sum(past.close for past in self.history(30)) / 30
        if self.flat:
            if crossed_above(self.a, self.b) or self.hammer[-1] > 0:
                self.target(0.9, stop_loss=0.04, take_profit=0.1, trail=0.06)
            elif bar.close < mean and not self.open_orders:
                self.buy(100, limit=bar.close - self.atr[-1], tag=f"{self.atr[-2]:.4f}")
            elif self.open_orders:
                self.cancel()
        elif crossed_below(self.a, self.b) or bar.close > self.upper[-1]:
            self.close()


def test_the_strategy_sees_the_values_of_the_whole_column_bar_for_bar():
    import talib

    bars = walk()

    class Reads(Strategy):
        def on_start(self):
            self.rsi = self.indicator("RSI", timeperiod=14)

        def on_bar(self, bar):
            self.log(repr(self.rsi[-1]))

    report = run_strategy(Reads, bars, RunConfig(start=0))
    assert report.log == tuple(map(repr, talib.RSI(bars.close, 14).tolist()[15:]))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), cut=st.integers(40, N - 2))
def test_orders_up_to_a_cut_do_not_depend_on_the_bars_after_it(seed, cut):
    """The future replaced by garbage: if one indicator or order rule peeked, an order before the cut would change."""
    bars, other = walk(seed), walk(seed + 1)
    mixed = replace(
        bars,
        **{
            name: np.concatenate([getattr(bars, name)[:cut], getattr(other, name)[cut:] * (3.0 if name != "ts" else 1)])
            for name in ("open", "high", "low", "close", "volume")
        },
    )
    first, second = run_strategy(Mixed, bars, RunConfig()), run_strategy(Mixed, mixed, RunConfig())
    assert first.end is RunEnd.FINISHED
    before = lambda report: [entry for entry in report.order_log if entry.row < cut]  # noqa: E731
    assert before(first) == before(second)
    np.testing.assert_array_equal(first.equity[: cut + 1], second.equity[: cut + 1])


def test_a_run_repeats_itself_exactly():
    bars = walk(7, 600)
    first, second = run_strategy(Mixed, bars, RunConfig()), run_strategy(Mixed, bars, RunConfig())
    assert len(first.fills) > 10
    assert first.fills == second.fills
    assert first.order_log == second.order_log
    assert first.log == second.log


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), account=st.sampled_from(AccountKind))
def test_a_host_that_stops_at_every_bar_gives_the_same_run(seed, account):
    """Gliding over bars on which nothing happens is a short cut and nothing else."""

    class Stepping(LocalHost):
        def glide(self, moments):
            for moment in moments:
                requests = self.decide(moment, None, ())
                if requests:
                    return moment, requests
                return moment, ()
            return None, ()

    bars, config = walk(seed), RunConfig(account=account, costs=Costs(slippage_bps=3))
    session = Session(
        Stepping(Mixed, bars.instrument, bars.timeframe, RunLimits()), config, bars.instrument, RunLimits()
    )
    declared = session.start()
    columns, rows = columns_of(declared, bars), bars.rows()
    session.warm_up(rows[:29], [column[:29] for column in columns])
    for row in range(29, N):
        session.advance(rows[row : row + 1], [column[row : row + 1] for column in columns])
    stepped, whole = session.finish(bars.close), run_strategy(Mixed, bars, config)
    assert stepped.fills == whole.fills
    assert stepped.trades == whole.trades
    assert stepped.order_log == whole.order_log
    np.testing.assert_array_equal(stepped.equity, whole.equity)


def test_what_is_made_past_its_constructor_has_all_its_fields():
    """``model.record`` counts nothing; a field that is added must be added where an order makes its records, too."""
    handed = []

    class Told(LocalHost):
        def decide(self, moment, account, fills):
            requests = super().decide(moment, account, fills)
            handed.extend([*([account] if account is not None else []), *requests])
            return requests

        def glide(self, moments):
            last, requests = super().glide(moments)
            handed.extend(requests)
            return last, requests

    bars = walk(7, 600)
    report = run_host(Told(Mixed, bars.instrument, bars.timeframe, RunLimits()), bars, RunConfig())
    made = [*handed, *report.fills, *report.trades, *report.order_log]
    assert {type(item) for item in made} == {Account, Request, Fill, Trade, OrderEntry}
    for item in made:
        assert type(item)(*item) == item  # the constructor counts


def test_rows_made_once_may_be_shared():
    bars = walk(7)
    rows = bars.rows()
    assert run_strategy(Mixed, bars, RunConfig(), rows=rows).fills == run_strategy(Mixed, bars, RunConfig()).fills


def test_other_costs_change_fills_and_not_what_is_asked_for_first():
    bars = walk(3)
    cheap, dear = (
        run_strategy(Mixed, bars, replace(RunConfig(), costs=replace(RunConfig().costs, fee_bps=bps)))
        for bps in (0.0, 50.0)
    )
    assert cheap.order_log[0] == dear.order_log[0]
    assert cheap.equity[-1] > dear.equity[-1]


def test_a_strategy_without_on_bar_fails():
    class Nothing(Strategy):
        pass

    report = run_strategy(Nothing, walk(), RunConfig())
    assert report.end is RunEnd.FAILED
    assert report.failure.exception == "NotImplementedError"


@pytest.mark.parametrize("start", [0, 17, 60])
def test_a_declared_lookback_is_over_before_the_first_decision(start):
    report = run_strategy(Mixed, walk(), RunConfig(start=start))
    assert report.first_tradable_bar == max(start, 29)
