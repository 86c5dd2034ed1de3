"""How much fills: cash, fees, lots, targets, margin."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.kernel import AccountKind, Costs
from runtime.kernel.costs import affordable, ceil_to, fee_of, fee_within, floor_to

MARGIN = {"account": AccountKind.MARGIN}
TEN_BPS = Costs(fee_bps=10)


def test_a_quantity_that_cash_does_not_cover_is_refused_with_both_amounts(play):
    """1,000 at 100 with 10 bps needs 100,100; cancelling it in silence would leave nobody the wiser."""
    report = play([100, 100], {0: lambda s: s.buy(1000)}, costs=TEN_BPS)
    assert report.fills == ()
    assert report.refused_count == 1
    assert report.refused[0].reason == "insufficient cash: need 100100.00, have 100000.00"
    assert report.refused[0].order_id == 1


def test_the_fee_counts_when_cash_is_tested(play):
    """Cash 1,000, buy 10 at 100, fee 1: without the fee in the test cash would be -1."""
    report = play([100, 100], {0: lambda s: s.buy(10)}, cash=1000.0, costs=TEN_BPS)
    assert report.refused[0].reason == "insufficient cash: need 1001.00, have 1000.00"


def test_buying_without_a_quantity_spends_all_cash_and_not_a_cent_more(play):
    report = play([100, 103], {0: lambda s: s.buy()}, costs=TEN_BPS)
    fill = report.fills[0]
    assert fill.quantity == pytest.approx(100_000 / (103 * 1.001))
    assert 0 <= 100_000 - fill.quantity * fill.price - fill.fee < 1e-9


def test_resting_buys_may_share_cash_until_one_of_them_fills(play):
    """Cash is not reserved: the order that finds too little at its fill is refused then, so cash never goes negative."""

    def two(s):
        s.buy(900, limit=99)
        s.buy(900, limit=98)

    report = play([100, (100, 100, 97, 98)], {0: two})
    assert [fill.price for fill in report.fills] == [99.0]
    assert report.refused[0].reason == "insufficient cash: need 88200.00, have 10900.00"


def test_a_zero_budget_is_refused_not_filled_with_nothing(play):
    report = play([100, 100, 100], {0: lambda s: s.buy(1000), 1: lambda s: s.buy()})
    assert len(report.fills) == 1
    assert report.refused[0].reason == "insufficient cash: need more than 0.00, have 0.00"


def test_selling_more_than_the_position_is_refused_in_a_cash_account(play):
    report = play([100, 100, 100], {0: lambda s: s.buy(10), 1: lambda s: s.sell(11)})
    assert report.refused[0].reason == "not enough to sell: asked 11, have 10"
    assert report.position[-1] == 10.0


def test_closing_when_flat_is_refused(play):
    assert play([100, 100], {0: lambda s: s.close()}).refused[0].reason == "nothing to close: the position is 0"


# Lots ---------------------------------------------------------------------------------------------------------------


def test_a_share_of_a_position_rounds_to_the_lot_with_a_tolerance(play):
    """6/7 of 2,100 leaves 300; (1 - 6/7) * 2,100 is 300.0000000000001 and must not round up to 301."""
    report = play(
        [10, 10, 10],
        {0: lambda s: s.buy(2100), 1: lambda s: s.sell(2100 * (6 / 7))},
        instrument={"lot": 1.0},
    )
    assert report.position[-1] == 300.0


def test_quantities_are_whole_lots(play):
    report = play([100, 100], {0: lambda s: s.buy(7.9)}, instrument={"lot": 2.0})
    assert report.fills[0].quantity == 6.0


def test_less_than_a_lot_is_refused(play):
    report = play([100, 100], {0: lambda s: s.buy(0.5)}, instrument={"lot": 1.0})
    assert report.refused[0].reason == "quantity 0.5 is below one lot of 1"


def test_an_order_below_the_minimum_notional_is_refused_but_a_close_is_not(play):
    small = {"min_notional": 500.0}
    report = play([100, 100], {0: lambda s: s.buy(4)}, instrument=small)
    assert report.refused[0].reason == "below the minimum notional: 400.00, the venue asks 500.00"
    closed = play([100, 100, 50], {0: lambda s: s.buy(5), 1: lambda s: s.close()}, instrument=small)
    assert closed.position[-1] == 0.0


# Targets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.25, 0.5, 1.0])
def test_a_target_makes_notional_plus_fee_the_share_of_equity(play, weight):
    report = play([100, 103], {0: lambda s: s.target(weight)}, costs=Costs(fee_bps=50))
    fill = report.fills[0]
    assert fill.quantity * fill.price + fill.fee == pytest.approx(weight * 100_000)


def test_a_target_counts_the_slippage_of_its_own_fill(play):
    report = play([100, 100], {0: lambda s: s.target(1.0)}, costs=Costs(fee_bps=50, slippage_bps=100))
    fill = report.fills[0]
    assert fill.price == 101.0
    assert fill.quantity * fill.price + fill.fee == pytest.approx(100_000)


def test_a_smaller_target_sells_down_to_it(play):
    """Long 1,000 at 100 without fees, price 120: equity 120,000, half of it is 500 units."""
    report = play([100, 100, 120], {0: lambda s: s.target(1.0), 1: lambda s: s.target(0.5)})
    assert report.position.tolist() == [0.0, 1000.0, 500.0]


def test_a_larger_target_adds_to_it(play):
    report = play([100, 100, 100], {0: lambda s: s.target(0.2), 1: lambda s: s.target(0.7)})
    assert report.position.tolist() == [0.0, 200.0, 700.0]


def test_a_target_that_is_met_trades_nothing_and_is_not_refused(play):
    plan = {row: lambda s: s.target(1.0) for row in range(5)}
    report = play([100, 100, 90, 120, 77, 100], plan, costs=TEN_BPS)
    assert len(report.fills) == 1
    assert report.refused_count == 0


def test_a_target_of_zero_leaves_exactly_nothing(play):
    report = play([100, 100, 107], {0: lambda s: s.target(0.37), 1: lambda s: s.target(0)}, costs=TEN_BPS)
    assert report.position[-1] == 0.0
    assert play([100, 100], {0: lambda s: s.target(0.0)}).refused_count == 0


def test_a_target_replaces_resting_entries_and_keeps_exits(play):
    def ladder(s):
        s.buy(1, limit=90)
        s.buy(1, limit=80)

    flat = play([100, 100, 100], {0: ladder, 1: lambda s: s.target(0.5)})
    assert flat.open_orders == 0

    def exit_and_entry(s):
        s.sell(limit=150)
        s.buy(1, limit=90)

    held = play([100, 100, 100, 100], {0: lambda s: s.buy(10), 1: exit_and_entry, 2: lambda s: s.target(0.5)})
    assert held.open_orders == 1


def test_a_target_may_rest_until_its_limit(play):
    report = play([100, 100, (100, 100, 90, 95)], {0: lambda s: s.target(1.0, limit=95)})
    assert report.fills[0].price == 95.0
    assert report.fills[0].quantity == pytest.approx(100_000 / 95)


def test_a_negative_target_shorts_and_a_positive_one_turns_it_round(play):
    report = play([100, 100, 100], {0: lambda s: s.target(-0.5), 1: lambda s: s.target(0.5)}, **MARGIN)
    assert report.position.tolist() == [0.0, -500.0, 500.0]


def test_the_largest_target_takes_what_the_margin_allows(play):
    report = play([100, 100], {0: lambda s: s.target(2.0)}, costs=TEN_BPS, **MARGIN)
    fill = report.fills[0]
    assert report.refused_count == 0
    assert 0.5 * fill.quantity * 100 == pytest.approx(100_000 - fill.fee)


# Pure arithmetic ----------------------------------------------------------------------------------------------------


def test_the_fee_has_a_share_an_amount_per_unit_and_a_minimum():
    assert fee_of(Costs(fee_bps=10, fee_per_unit=0.005), 1000, 50) == pytest.approx(50 + 5)
    assert fee_of(Costs(fee_bps=10, fee_minimum=7), 10, 50) == 7


def test_a_minimum_fee_takes_no_more_than_a_sale_brings(play):
    """Selling 1 at 5 with no cash left and a minimum fee of 10: the account pays 5 and ends at zero, not at -5."""
    report = play(
        [100, 100, (5, 5, 5, 5)],
        {0: lambda s: s.buy(1), 1: lambda s: s.close()},
        cash=110.0,
        costs=Costs(fee_bps=0, fee_minimum=10),
    )
    assert report.fills[1].fee == 5.0
    assert report.equity[-1] == 0.0


@given(st.floats(0, 1e6), st.floats(0.01, 1e6), st.floats(0, 1e7))
def test_no_fee_of_a_sale_takes_cash_below_zero(cash, proceeds, fee):
    paid = fee_within(fee, cash, proceeds)
    assert 0 <= paid <= fee
    assert cash - (-proceeds + paid) >= 0


@given(
    st.floats(0.01, 1e9),
    st.floats(0.01, 1e5),
    st.floats(0, 1000),
    st.floats(0, 1),
    st.floats(0, 50),
    st.sampled_from([None, 1.0, 0.1]),
)
def test_what_is_affordable_never_costs_more_than_the_budget(budget, price, bps, per_unit, minimum, lot):
    costs = Costs(fee_bps=bps, fee_per_unit=per_unit, fee_minimum=minimum)
    quantity = affordable(costs, budget, price, lot)
    assert quantity >= 0
    if quantity:
        assert quantity * price + fee_of(costs, quantity, price) <= budget
    if quantity and lot is None:
        more = quantity * (1 + 1e-9)
        assert more * price + fee_of(costs, more, price) > budget * (1 - 1e-12)


@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.1, 0.01, 0.25, 1e-4]))
def test_a_whole_number_of_steps_stays_what_it_is(steps, step):
    """0.3 / 0.1 is 2.9999999999999996, and three steps all the same."""
    assert floor_to(steps * step, step) == pytest.approx(steps * step, rel=1e-15, abs=1e-12)
    assert ceil_to(steps * step, step) == pytest.approx(steps * step, rel=1e-15, abs=1e-12)
    assert floor_to(math.pi, None) == math.pi


# The edges of arithmetic ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", [0.3, 100.0])
def test_quantities_that_underflow_are_refused_and_never_booked(play, price):
    """Two fills of 5e-324 units at 0.3 have an average entry price of 0, and a closed trade divides by it."""

    def dust(s):
        s.buy(5e-324)
        s.buy(5e-324)
        s.buy(1e-10)

    report = play([price] * 5, {0: dust, 2: lambda s: s.sell()})
    assert report.fills == ()
    assert [refusal.reason for refusal in report.refused] == [
        "quantity 4.940656458e-324 is too small to trade",
        "quantity 4.940656458e-324 is too small to trade",
        "quantity 1e-10 is too small to trade",
        "nothing to sell: the position is 0",
    ]


def test_a_fill_that_would_change_nothing_is_refused(play):
    report = play([1e-3] * 4, {0: lambda s: s.buy(1e7), 1: lambda s: s.sell(1e-7), 2: lambda s: s.buy(1e-7)})
    assert [fill.quantity for fill in report.fills] == [1e7]
    assert all("too small to trade" in refusal.reason for refusal in report.refused)
    assert report.refused_count == 2


def test_a_satoshi_is_not_dust(play):
    report = play([60_000.0] * 3, {0: lambda s: s.buy(1e-8), 1: lambda s: s.sell(1e-8)})
    assert len(report.trades) == 1


def test_a_fill_beyond_what_arithmetic_bears_is_refused(play):
    report = play([1e-4] * 3, {0: lambda s: s.buy()}, cash=1e13)
    assert report.fills == ()
    assert report.refused[0].reason == "quantity 1e+17 is too large to trade"


def test_a_lot_below_the_rounding_of_a_large_quantity_does_not_stall():
    quantity = affordable(Costs(fee_bps=7), 123_456_789.0, 1e-7, 1e-8)
    assert quantity * 1e-7 + fee_of(Costs(fee_bps=7), quantity, 1e-7) <= 123_456_789.0


@pytest.mark.parametrize("step", [0.01, 0.05, 0.1, 0.25, 1e-8, 1.0, 25.0])
def test_a_number_on_the_grid_stays_itself_to_the_last_bit(step):
    """10,007 * 0.01 is 100.07000000000001: a limit there would miss a high of 100.07, and a lot of it some cash."""
    for count in (3, 10_007, 83_790, 1_234_567):
        value = float(Decimal(count) * Decimal(repr(step)))
        assert floor_to(value, step) == ceil_to(value, step) == value


def test_a_sell_limit_on_the_tick_grid_fills_when_the_high_touches_it(play):
    report = play(
        [100, 100, (100, 100.07, 99, 99.5)],
        {0: lambda s: s.buy(1), 1: lambda s: s.sell(1, limit=100.07)},
        instrument={"tick": 0.01},
    )
    assert report.fills[1].price == 100.07


def test_all_of_the_cash_buys_the_last_lot_that_it_covers(play):
    """837.9 at 100 cost 83,790; 8,379 * 0.1 is an ulp more, and must not cost a whole lot."""
    report = play([100, 100], {0: lambda s: s.buy()}, cash=83_790.0, instrument={"lot": 0.1})
    assert report.position[-1] == 837.9
    assert report.equity[-1] == 83_790.0


def test_a_shrinking_target_counts_the_minimum_fee(play):
    """1,000 held at 100 after buying all; 0.3 of 100,000: notional 29,963 plus the fee of 37."""
    costs = Costs(fee_bps=0, fee_minimum=37)
    report = play([100, 100, 100], {0: lambda s: s.buy(999), 1: lambda s: s.target(0.3)}, costs=costs)
    assert report.position[-1] * 100 + 37 == pytest.approx(0.3 * (100_000 - 37))


def test_the_largest_target_counts_the_minimum_fee_once(play):
    """Half of 2,000 units' notional is 100,000 less a fee of 200 on top of which no minimum of 37 comes."""
    costs = Costs(fee_bps=10, fee_minimum=37)
    report = play([100, 100], {0: lambda s: s.target(2.0)}, costs=costs, account=AccountKind.MARGIN)
    quantity = report.position[-1]
    assert quantity * 100 * 0.5 == pytest.approx(100_000 - quantity * 100 * 0.001)


@pytest.mark.parametrize("per_unit", [0.99, 1.0, 1.5])
@pytest.mark.parametrize("kind", AccountKind)
def test_a_shrinking_target_goes_whole_where_the_fee_takes_what_a_unit_brings(play, per_unit, kind):
    """At a price of 1 a fee of 1 a unit leaves nothing: no smaller sale meets the target, and there is no dividing by it."""
    report = play(
        [100, 100, 1, 1],
        {0: lambda s: s.target(0.5), 1: lambda s: s.target(0.001)},
        costs=Costs(fee_bps=0.0, fee_per_unit=per_unit),
        account=kind,
        instrument={"initial_margin": 1.0, "lot": 0.5},
    )
    bought, sold = report.fills
    assert sold.quantity == bought.quantity
    assert report.position[-1] == 0.0


def test_a_short_target_shrinks_whole_where_the_fee_takes_what_a_unit_brings(play):
    report = play(
        [100, 100, 1, 1],
        {0: lambda s: s.target(-0.5), 1: lambda s: s.target(-0.000_1)},
        costs=Costs(fee_bps=0.0, fee_per_unit=1.0),
        **MARGIN,
    )
    assert report.position[-1] == 0.0
