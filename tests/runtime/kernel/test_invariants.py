"""What must hold for every run: random bars, random orders, all account kinds and costs."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.kernel import (
    AccountKind,
    Costs,
    LocalHost,
    RunConfig,
    RunLimits,
    Session,
    decode_report,
    encode_report,
    run_strategy,
)
from runtime.market.bars import Bars
from runtime.model import Instrument, Order, OrderType, Side, Timeframe
from runtime.strategy import Strategy

N = 12

_price = st.floats(80, 125).map(lambda x: round(x, 2))
_bar = st.tuples(_price, _price, _price, _price).map(lambda p: (p[0], max(p), min(p), p[3]))
_some_price = st.none() | _price
_share = st.none() | st.sampled_from([0.01, 0.03, 0.1])
_quantity = st.none() | st.sampled_from([1.0, 3, 7.5, 250.0, 900.0, 4000.0])

_bracket = {"stop_loss": _share, "take_profit": _share, "trail": _share}
_trade = st.fixed_dictionaries({"quantity": _quantity, "limit": _some_price, "stop": _some_price, **_bracket})
_action = st.one_of(
    st.tuples(st.just("buy"), _trade),
    st.tuples(st.just("sell"), _trade),
    st.tuples(st.just("close"), st.fixed_dictionaries({"limit": _some_price, "stop": _some_price})),
    st.tuples(
        st.just("target"),
        st.fixed_dictionaries({"weight": st.sampled_from([-2.0, -0.5, 0.0, 0.3, 1.0, 2.0]), **_bracket}),
    ),
    st.tuples(st.just("cancel"), st.fixed_dictionaries({"id": st.none() | st.integers(1, 9)})),
    st.tuples(
        st.just("submit"),
        st.fixed_dictionaries(
            {
                "side": st.sampled_from(Side),
                "type": st.just(OrderType.MARKET_IF_TOUCHED),
                "stop": _price,
                "quantity": _quantity,
            }
        ),
    ),
    st.tuples(
        st.just("submit"),
        st.fixed_dictionaries(
            {
                "side": st.sampled_from(Side),
                "type": st.just(OrderType.TRAILING_STOP),
                "trail": st.sampled_from([0.01, 0.05]),
                "quantity": _quantity,
            }
        ),
    ),
)
_plan = st.lists(st.lists(_action, max_size=3), min_size=N, max_size=N)
_instrument = st.builds(
    Instrument,
    symbol=st.just("X"),
    bars_per_year=st.just(252.0),
    lot=st.sampled_from([None, None, 1.0, 0.1]),
    tick=st.sampled_from([None, None, 0.01]),
    min_notional=st.sampled_from([0.0, 500.0]),
    maintenance_margin=st.sampled_from([None, 0.25]),
    borrow_bps_per_year=st.sampled_from([0.0, 500.0]),
)
_config = st.builds(
    RunConfig,
    cash=st.sampled_from([1_000.0, 100_000.0]),
    costs=st.builds(
        Costs,
        fee_bps=st.sampled_from([0.0, 10.0, 500.0]),
        fee_per_unit=st.sampled_from([0.0, 0.01]),
        fee_minimum=st.sampled_from([0.0, 1.0, 400.0]),
        slippage_bps=st.sampled_from([0.0, 0.0, 25.0]),
    ),
    account=st.sampled_from(AccountKind),
    start=st.sampled_from([0, 0, 2]),
    decision_delay=st.sampled_from([0, 0, 1, 2]),
)


def make_bars(rows, instrument):
    o, h, l, c = np.array(rows).T  # noqa: E741
    return Bars(
        instrument=instrument,
        timeframe=Timeframe(86_400),
        ts=np.arange(N) * 86_400,
        open=o,
        high=h,
        low=l,
        close=c,
        volume=np.ones(N),
    )


def make_strategy(plan):
    class Random(Strategy):
        def on_bar(self, bar):
            assert self.history(1) == [bar]
            for name, values in plan[self.bar_count - 1]:
                if name == "submit":
                    self.submit(Order(**values))
                else:
                    getattr(self, name)(**values)

    return Random


runs = given(rows=st.lists(_bar, min_size=N, max_size=N), plan=_plan, instrument=_instrument, config=_config)


@settings(max_examples=150, deadline=None)
@runs
def test_the_books_of_any_run_add_up(rows, plan, instrument, config):
    """Prices inside the bar, cash never negative, equity and cash identities, positions exactly zero after a close."""
    bars = make_bars(rows, instrument)
    report = run_strategy(make_strategy(plan), bars, config)
    assert report.failure is None
    cash, position = config.cash, 0.0
    slip = config.costs.slippage_bps / 10_000
    room = (instrument.tick or 0.0) if slip else 0.0
    row_of = {bar.ts: row for row, bar in enumerate(bars.rows())}
    last = [None] * N
    for fill in report.fills:
        row = row_of[fill.ts]
        if fill.side is Side.BUY:
            assert bars.low[row] <= fill.price <= bars.high[row] * (1 + slip) + room
        else:
            assert bars.low[row] * (1 - slip) - room <= fill.price <= bars.high[row]
        signed = fill.quantity if fill.side is Side.BUY else -fill.quantity
        cash -= signed * fill.price + fill.fee
        position += signed
        if abs(position) < 1e-9 * fill.quantity:
            position = 0.0
        last[row] = (cash, position)
        if config.account is AccountKind.CASH:
            assert cash >= 0
            assert position >= 0
    if not report.ruined and not instrument.borrow_bps_per_year:
        held = (config.cash, 0.0)
        for row in range(N):
            held = last[row] or held
            assert report.position[row] == pytest.approx(held[1], rel=1e-9)
            assert report.equity[row + 1] == pytest.approx(held[0] + held[1] * bars.close[row], rel=1e-9)
    if report.position[-1] == 0.0 and not report.ruined:
        assert report.equity[-1] - config.cash == pytest.approx(math.fsum(t.pnl for t in report.trades), abs=1e-6)
    if report.ruined:
        assert report.equity[-1] == 0.0
        assert report.position[-1] == 0.0
        assert config.account is AccountKind.MARGIN
    assert (report.equity >= 0).all()
    assert np.isfinite(report.equity).all()


@settings(max_examples=100, deadline=None)
@runs
def test_any_report_survives_the_wire(rows, plan, instrument, config):
    """The decoder explains every honest run from its fills, so it may refuse whatever it cannot explain."""
    bars = make_bars(rows, instrument)
    report = run_strategy(make_strategy(plan), bars, config)
    again = decode_report(encode_report(report), bars, config)
    for name in (
        "end",
        "failure",
        "first_tradable_bar",
        "fills",
        "refused",
        "refused_count",
        "open_orders",
        "order_log",
    ):
        assert getattr(again, name) == getattr(report, name), name
    np.testing.assert_allclose(again.equity, report.equity, rtol=1e-9, atol=1e-6)
    assert [t.exit_reason for t in again.trades] == [t.exit_reason for t in report.trades]


@settings(max_examples=60, deadline=None)
@runs
def test_nothing_depends_on_bars_that_are_still_to_come(rows, plan, instrument, config):
    """Replacing every bar after a cut changes no fill up to the cut and no order asked for up to it."""
    cut = N // 2
    garbage = [*rows[:cut], *[(1.0, 9_999.0, 0.5, 3.0)] * (N - cut)]
    honest = run_strategy(make_strategy(plan), make_bars(rows, instrument), config)
    other = run_strategy(make_strategy(plan), make_bars(garbage, instrument), config)
    border = make_bars(rows, instrument).rows()[cut - 1].ts
    early = lambda report: [fill for fill in report.fills if fill.ts <= border]  # noqa: E731
    assert early(honest) == early(other)
    asked = lambda report: [entry for entry in report.order_log if entry.row < cut]  # noqa: E731
    assert asked(honest) == asked(other)
    np.testing.assert_array_equal(honest.equity[: cut + 1], other.equity[: cut + 1])


@settings(max_examples=60, deadline=None)
@runs
def test_a_run_may_be_cut_into_chunks_anywhere(rows, plan, instrument, config):
    """The same session serves a backtest and a live clock: bar by bar, or stopped and resumed, it comes out the same."""
    bars = make_bars(rows, instrument)
    whole = run_strategy(make_strategy(plan), bars, config)
    session = Session(
        LocalHost(make_strategy(plan), instrument, bars.timeframe, RunLimits()), config, instrument, RunLimits()
    )
    session.start()
    moments = bars.rows()
    session.warm_up(moments[: config.start], [])
    for row in range(config.start, N):
        if row == N // 2:
            session = copy.deepcopy(session)
        session.advance(moments[row : row + 1], [])
    stepped = session.finish(bars.close)
    assert stepped.fills == whole.fills
    assert stepped.refused == whole.refused
    assert stepped.order_log == whole.order_log
    assert stepped.open_orders == whole.open_orders
    np.testing.assert_array_equal(stepped.equity, whole.equity)
