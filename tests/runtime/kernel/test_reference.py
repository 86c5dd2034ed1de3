"""The kernel against a second, plain engine: random bars and random orders of every kind give the same run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import Reference
from worlds import make_bars, planned, wild_world

from runtime.kernel import AccountKind, Costs, RunConfig, RunEnd, run_strategy
from runtime.kernel.venue import MAX_REFUSALS
from runtime.model import Instrument, OrderType, Side

N = 24
EXAMPLES = 100
WORLDS = 250

# Prices on a grid of a cent around 100, so that opens, highs and lows often meet; and shares that put levels between them.
_cents = st.integers(-150, 150)
_share = st.none() | st.sampled_from([0.0073, 0.0131, 0.0317, 0.0919])
_quantity = st.none() | st.sampled_from([1.0, 3.0, 7.5, 100.0, 250.0, 480.0, 900.0, 1900.0, 3500.0])
_bracket = {"stop_loss": _share, "take_profit": _share, "trail": _share}
_near = st.integers(-400, 400).map(lambda cents: round(100 + cents / 100, 2))
_price = st.none() | _near
_sized = st.fixed_dictionaries({"quantity": _quantity, "limit": _price, "stop": _price, **_bracket})


def _typed(kind, **prices):
    return st.tuples(
        st.just("submit"),
        st.fixed_dictionaries(
            {"side": st.sampled_from(Side), "type": st.just(kind), "quantity": _quantity, **prices}
            | ({} if kind is OrderType.TRAILING_STOP else _bracket)
        ),
    )


_action = st.one_of(
    st.tuples(st.just("buy"), _sized),
    st.tuples(st.just("sell"), _sized),
    _typed(OrderType.MARKET),
    _typed(OrderType.LIMIT, limit=_near),
    _typed(OrderType.STOP, stop=_near),
    _typed(OrderType.STOP_LIMIT, stop=_near, limit=_near),
    _typed(OrderType.MARKET_IF_TOUCHED, stop=_near),
    _typed(OrderType.TRAILING_STOP, trail=st.sampled_from([0.0037, 0.0113, 0.0271])),
    st.tuples(st.just("close"), st.fixed_dictionaries({"limit": _price, "stop": _price})),
    st.tuples(
        st.just("target"),
        st.fixed_dictionaries(
            {
                "weight": st.sampled_from([-4.0, -2.0, -0.5, 0.0, 0.3, 0.8, 1.0, 2.0, 4.0]),
                "limit": _price,
                "stop": _price,
                **_bracket,
            }
        ),
    ),
    st.tuples(st.just("cancel"), st.fixed_dictionaries({"id": st.none() | st.integers(1, 20)})),
)
_plan = st.lists(st.just([]) | st.lists(_action, max_size=3), min_size=N, max_size=N)


@st.composite
def _rows(draw):
    """A walk with gaps; now and then a bar that goes a long way, so that accounts are ruined."""
    rows, last = [], 100.0
    for _ in range(N):
        wild = draw(st.integers(0, 40))
        opened = last + draw(_cents) / 100
        if wild == 40:
            opened *= draw(st.sampled_from([0.55, 1.8]))
        closed = opened + draw(_cents) / 100
        high = max(opened, closed) + draw(st.integers(0, 120)) / 100 + (70 if wild == 39 else 0)
        low = min(opened, closed) - draw(st.integers(0, 120)) / 100 - (45 if wild == 38 else 0)
        rows.append(tuple(round(max(price, 1.0), 2) for price in (opened, high, low, closed)))
        last = rows[-1][3]
        if last < 60 or last > 160:
            last = 100.0
    return rows


_instrument = st.builds(
    Instrument,
    symbol=st.just("X"),
    bars_per_year=st.just(252.0),
    lot=st.sampled_from([None, None, 1.0, 0.1, 25.0]),
    tick=st.sampled_from([None, None, 0.01, 0.25]),
    min_notional=st.sampled_from([0.0, 0.0, 500.0]),
    initial_margin=st.sampled_from([0.5, 0.25, 1.0]),
    maintenance_margin=st.sampled_from([None, 0.25]),
    borrow_bps_per_year=st.sampled_from([0.0, 500.0]),
)
_config = st.builds(
    RunConfig,
    cash=st.sampled_from([1_000.0, 100_000.0]),
    costs=st.builds(
        Costs,
        fee_bps=st.sampled_from([0.0, 10.0, 150.0]),
        fee_per_unit=st.sampled_from([0.0, 0.0, 0.013, 100.0]),
        fee_minimum=st.sampled_from([0.0, 0.0, 1.0, 37.0]),
        slippage_bps=st.sampled_from([0.0, 0.0, 7.0]),
    ),
    account=st.sampled_from(AccountKind),
    start=st.sampled_from([0, 0, 2]),
    decision_delay=st.sampled_from([0, 0, 0, 1]),
)


def near(value):
    return pytest.approx(value, rel=1e-9, abs=1e-7)


def check_same(rows, plan, instrument, config):
    """The whole of both runs: fills, round trips, refusals, equity, what is open."""
    report = run_strategy(planned(plan), make_bars(rows, instrument), config)
    slow = Reference(rows, plan, instrument, config).run()
    assert report.end is RunEnd.FINISHED
    row_of = {bar.ts: row for row, bar in enumerate(make_bars(rows, instrument).rows())}
    assert [
        (row_of[fill.ts], fill.side is Side.BUY, fill.order_id, fill.tag, fill.quantity, fill.price, fill.fee)
        for fill in report.fills
    ] == [
        (deal.row, deal.buying, deal.order_id, deal.tag, near(deal.quantity), near(deal.price), near(deal.fee))
        for deal in slow.deals
    ]
    named = sorted((row_of[refusal.ts], refusal.order_id) for refusal in report.refused)
    assert named == sorted(slow.refused) or len(slow.refused) > MAX_REFUSALS
    assert report.refused_count == len(slow.refused)
    assert [
        (trade.side is Side.BUY, trade.entry_row, trade.exit_row, trade.exit_reason, trade.quantity, trade.pnl)
        for trade in report.trades
    ] == [
        (trip.long, trip.entry_row, trip.exit_row, trip.reason, near(trip.quantity), near(trip.pnl))
        for trip in slow.trips
    ]
    assert [(trade.entry_price, trade.exit_price, trade.fees, trade.mae, trade.mfe) for trade in report.trades] == [
        tuple(map(near, (trip.entry_price, trip.exit_price, trip.fees, trip.mae, trip.mfe))) for trip in slow.trips
    ]
    assert report.ruined is (slow.ruined_row is not None)
    assert report.open_orders == slow.open_orders
    assert report.position.tolist() == near(slow.positions)
    assert report.equity.tolist() == near(slow.equity)
    return report


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(rows=_rows(), plan=_plan, instrument=_instrument, config=_config)
def test_the_kernel_and_a_plain_engine_agree_on_random_orders(rows, plan, instrument, config):
    check_same(rows, plan, instrument, config)


@pytest.mark.slow
@settings(max_examples=WORLDS, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**63))
def test_the_kernel_and_a_plain_engine_agree_in_wild_worlds(seed):
    check_same(*wild_world(seed))
