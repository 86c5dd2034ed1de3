"""Order fills on handwritten bars, each with its arithmetic. The wrong figure of a case is what some engine gave."""

from __future__ import annotations

import pytest

from runtime.kernel import AccountKind, Costs
from runtime.model import Order, OrderType, Side

MARGIN = {"account": AccountKind.MARGIN}


def submit(**fields):
    return lambda s: s.submit(Order(**fields))


def several(*actions):
    def do(strategy):
        for action in actions:
            action(strategy)

    return do


# Timing ---------------------------------------------------------------------------------------------------------


def test_a_market_order_fills_at_the_next_open(play, prices):
    """Decided at close 100, next open 103: 103, not the 100 that was known at the decision."""
    report = play([100, (103, 104, 102, 104)], {0: lambda s: s.buy(10)})
    assert prices(report) == [(103.0, "")]


def test_an_order_on_the_last_bar_stays_open_and_never_fills(play):
    """Filling it at that bar's own open would be 200 of profit from the future."""
    report = play([100, 100, 100, (100, 120, 100, 120)], {3: lambda s: s.buy(10)})
    assert report.fills == ()
    assert report.open_orders == 1
    assert report.equity[-1] == 100_000.0


def test_a_delay_moves_every_order_by_whole_bars(play, prices):
    report = play([100, 101, 102, 103], {0: lambda s: s.buy(10), 1: lambda s: s.close()}, decision_delay=1)
    assert prices(report) == [(102.0, ""), (103.0, "")]


def test_a_delayed_cancel_arrives_after_the_order_it_was_sent_with(play):
    report = play([100] * 5, {0: lambda s: s.buy(1, limit=90), 1: lambda s: s.cancel()}, decision_delay=2)
    assert report.open_orders == 0
    assert report.fills == ()


# Stops, limits, gaps --------------------------------------------------------------------------------------------


def test_a_buy_stop_that_the_open_jumps_over_fills_at_the_open(play, prices):
    """Stop 105, bar 110/112/108/111: 110; 105 never traded."""
    report = play([100, 100, (110, 112, 108, 111)], {1: lambda s: s.buy(1, stop=105)})
    assert prices(report) == [(110.0, "")]


def test_a_buy_stop_inside_the_bar_fills_at_the_stop(play, prices):
    report = play([100, (102, 108, 101, 107)], {0: lambda s: s.buy(1, stop=105)})
    assert prices(report) == [(105.0, "")]


def test_a_sell_stop_fills_at_the_stop_or_the_worse_open(play, prices):
    report = play(
        [100, 100, (99, 99, 90, 92), (80, 85, 79, 84)],
        {0: lambda s: s.buy(2), 1: lambda s: s.sell(1, stop=95), 2: lambda s: s.sell(1, stop=88)},
    )
    assert prices(report) == [(100.0, ""), (95.0, ""), (80.0, "")]


def test_a_buy_limit_above_the_open_fills_at_the_open(play, prices):
    """Limit 105, bar 100/103/99/101: 100; never the bar's high of 103."""
    report = play([100, (100, 103, 99, 101)], {0: lambda s: s.buy(1, limit=105)})
    assert prices(report) == [(100.0, "")]


def test_a_buy_limit_inside_the_bar_fills_at_the_limit_when_touched(play, prices):
    report = play([100, (100, 103, 97, 101)], {0: lambda s: s.buy(1, limit=97)})
    assert prices(report) == [(97.0, "")]


def test_a_sell_limit_gets_the_better_open_when_it_gaps_beyond(play, prices):
    report = play([100, 100, (120, 121, 119, 120)], {0: lambda s: s.buy(1), 1: lambda s: s.sell(1, limit=110)})
    assert prices(report)[1] == (120.0, "")


def test_an_untouched_order_rests_until_cancelled(play):
    seen = []
    report = play(
        [100] * 4,
        {
            0: lambda s: s.buy(1, limit=90),
            1: lambda s: seen.extend(s.open_orders),
            2: lambda s: s.cancel(s.open_orders[0].id),
            3: lambda s: seen.append(s.open_orders),
        },
    )
    assert (seen[0].id, seen[0].side, seen[0].limit, seen[0].type) == (1, Side.BUY, 90, OrderType.LIMIT)
    assert seen[1] == ()
    assert report.open_orders == 0


def test_an_order_rests_over_the_end_and_is_counted(play):
    assert play([100] * 4, {0: lambda s: s.buy(1, limit=90)}).open_orders == 1


def test_cancelling_one_order_leaves_the_others(play):
    def first(s):
        s.buy(1, limit=90)
        s.buy(1, limit=91)

    assert play([100] * 3, {0: first, 1: lambda s: s.cancel(1)}).open_orders == 1


def test_a_cancel_of_something_unknown_or_filled_is_harmless(play):
    report = play([100] * 3, {0: lambda s: s.buy(1), 1: lambda s: s.cancel(1), 2: lambda s: s.cancel(77)})
    assert len(report.fills) == 1
    assert report.refused_count == 0


def test_market_if_touched_fills_at_its_trigger_not_at_the_extreme(play, prices):
    """Buy if touched at 95, bar 100/101/90/96: 95; 90 would be a gift of 5 from the future."""
    order = submit(side=Side.BUY, quantity=1, type=OrderType.MARKET_IF_TOUCHED, stop=95)
    assert prices(play([100, (100, 101, 90, 96)], {0: order})) == [(95.0, "")]


def test_market_if_touched_takes_the_open_when_it_is_already_through(play, prices):
    order = submit(side=Side.BUY, quantity=1, type=OrderType.MARKET_IF_TOUCHED, stop=95)
    assert prices(play([100, (93, 96, 92, 96)], {0: order})) == [(93.0, "")]
    sell = submit(side=Side.SELL, quantity=1, type=OrderType.MARKET_IF_TOUCHED, stop=105)
    report = play([100, 100, (104, 109, 103, 104)], {0: lambda s: s.buy(1), 1: sell})
    assert prices(report)[1] == (105.0, "")


@pytest.mark.parametrize(
    ("bar", "filled"),
    [
        ((102, 108, 101, 107), 105.0),  # triggers at 105, within the limit of 106
        ((105.5, 108, 105, 107), 105.5),  # opens through the stop, within the limit
        ((110, 112, 108, 111), None),  # opens beyond the limit: rests as a limit order
        ((110, 112, 104, 111), 106.0),  # opens beyond and comes back in the same bar
        ((100, 104, 99, 101), None),  # not triggered
    ],
)
def test_a_stop_limit_triggers_at_the_stop_and_pays_no_more_than_the_limit(play, prices, bar, filled):
    report = play([100, bar], {0: lambda s: s.buy(1, stop=105, limit=106)})
    assert prices(report) == ([] if filled is None else [(filled, "")])
    assert report.open_orders == (filled is None)


def test_a_stop_limit_that_opened_beyond_its_limit_fills_later_as_a_limit(play, prices):
    report = play([100, (110, 112, 108, 111), (109, 110, 103, 104)], {0: lambda s: s.buy(1, stop=105, limit=106)})
    assert prices(report) == [(106.0, "")]


@pytest.mark.parametrize(("close", "filled"), [(103, True), (107, False)])
def test_a_limit_below_its_trigger_fills_in_the_same_bar_only_if_the_close_proves_it(play, close, filled):
    """Stop 105, limit 104: the low of 100 may have come before the trigger."""
    report = play([100, (101, 108, 100, close)], {0: lambda s: s.buy(1, stop=105, limit=104)})
    assert [f.price for f in report.fills] == ([104.0] if filled else [])


def test_a_sell_stop_limit_mirrors_it(play, prices):
    report = play(
        [100, 100, (99, 99, 93, 98)],
        {0: lambda s: s.buy(1), 1: lambda s: s.sell(1, stop=95, limit=94)},
    )
    assert prices(report)[1] == (95.0, "")


# Trailing -------------------------------------------------------------------------------------------------------


def test_a_trail_uses_earlier_bars_only(play, prices):
    """Peak 100 (stop 95), then 100/110/103/108: not hit on that bar; the next bar's stop is 110 * 0.95 = 104.5."""
    ohlc = [100, 100, (100, 110, 103, 108), (108, 109, 104, 105)]
    report = play(ohlc, {0: lambda s: s.buy(1, trail=0.05)})
    assert prices(report) == [(100.0, ""), (104.5, "trail")]
    assert play(ohlc[:3], {0: lambda s: s.buy(1, trail=0.05)}).open_orders == 0
    assert len(play(ohlc[:3], {0: lambda s: s.buy(1, trail=0.05)}).fills) == 1


def test_a_trail_on_a_short_takes_the_open_of_a_gap(play, prices):
    """Short at 100, trail 5%: stop 105, next open 200: 200; 105 was never on offer."""
    report = play([100, 100, (200, 201, 199, 200)], {0: lambda s: s.sell(1, trail=0.05)}, **MARGIN)
    assert prices(report) == [(100.0, ""), (200.0, "trail")]


def test_a_trailing_stop_order_follows_the_best_price_of_earlier_bars(play, prices):
    trailing = submit(side=Side.SELL, quantity=1, type=OrderType.TRAILING_STOP, trail=0.1)
    report = play([100, 100, (100, 120, 95, 118), (118, 119, 107, 110)], {0: lambda s: s.buy(1), 1: trailing})
    assert prices(report)[1] == (108.0, "")


def test_a_trailing_buy_follows_the_lowest_price(play, prices):
    trailing = submit(side=Side.BUY, quantity=1, type=OrderType.TRAILING_STOP, trail=0.1)
    report = play([100, (100, 101, 80, 82), (82, 90, 81, 89)], {0: trailing})
    assert prices(report) == [(88.0, "")]


# Brackets -------------------------------------------------------------------------------------------------------


def test_the_stop_wins_when_both_sides_of_a_bracket_are_in_the_bar(play, prices):
    """Long 100, stop 95, target 105, bar 100/110/90/100: 95."""
    report = play([100, 100, (100, 110, 90, 100)], {0: lambda s: s.buy(1, stop_loss=0.05, take_profit=0.05)})
    assert prices(report) == [(100.0, ""), (95.0, "stop_loss")]


def test_a_stop_loss_works_on_the_bar_of_a_market_entry(play, prices):
    """Buy fills at the open of 100/101/90/98 with a stop at 95: out at 95 on the same bar."""
    report = play([100, (100, 101, 90, 98)], {0: lambda s: s.buy(1, stop_loss=0.05)})
    assert prices(report) == [(100.0, ""), (95.0, "stop_loss")]


def test_a_take_profit_works_on_the_bar_of_a_market_entry(play, prices):
    report = play([100, (100, 106, 99, 104)], {0: lambda s: s.buy(1, take_profit=0.05)})
    assert prices(report) == [(100.0, ""), (105.0, "take_profit")]


def test_a_bracket_of_a_short_is_filled_when_reached_years_later(play, prices):
    """Short 47,334, stop 48,352, target 43,833: filled at the target on the first bar that reaches it."""
    report = play(
        [47_334, 47_334, (47_000, 47_100, 46_000, 46_500), (46_000, 46_100, 39_503, 40_000)],
        {0: lambda s: s.sell(1, stop_loss=48_352 / 47_334 - 1, take_profit=1 - 43_833 / 47_334)},
        **MARGIN,
    )
    assert report.fills[1].price == pytest.approx(43_833)
    assert report.fills[1].tag == "take_profit"


def test_a_gap_over_the_target_gives_the_better_open(play, prices):
    report = play([100, 100, (120, 121, 119, 120)], {0: lambda s: s.buy(1, take_profit=0.05)})
    assert prices(report)[1] == (120.0, "take_profit")


def test_a_gap_over_the_stop_gives_the_worse_open(play, prices):
    report = play([100, 100, (80, 81, 79, 80)], {0: lambda s: s.buy(1, stop_loss=0.05)})
    assert prices(report)[1] == (80.0, "stop_loss")


def test_the_bracket_dies_with_its_position(play):
    report = play([100, 100, 100, (100, 101, 80, 100)], {0: lambda s: s.buy(1, stop_loss=0.05), 1: lambda s: s.close()})
    assert len(report.fills) == 2


def test_a_later_order_replaces_only_the_values_it_carries(play, prices):
    """Average entry (100 + 110) / 2 = 105; the new stop of 10% is at 94.5, the old target of 20% moves to 126."""
    ohlc = [100, 100, 110, (110, 112, 94, 95)]
    plan = {0: lambda s: s.buy(1, stop_loss=0.02, take_profit=0.2), 1: lambda s: s.buy(1, stop_loss=0.1)}
    assert prices(play(ohlc, plan))[2] == (94.5, "stop_loss")
    assert prices(play([*ohlc[:3], (110, 130, 109, 126)], plan))[2] == (126.0, "take_profit")


def test_the_bracket_carries_the_id_of_the_order_that_set_it(play):
    report = play([100, 100, (100, 100, 90, 90)], {0: lambda s: s.buy(1, stop_loss=0.05)})
    assert [fill.order_id for fill in report.fills] == [1, 1]


# A position that begins inside the bar ---------------------------------------------------------------------------


def test_after_a_limit_entry_the_stop_below_it_is_certain(play, prices):
    """Buy limit 98, stop 5% below (93.1); bar 100/101/92/97: the price passed 98 on its way to 92."""
    report = play([100, (100, 101, 92, 97)], {0: lambda s: s.buy(1, limit=98, stop_loss=0.05)})
    assert prices(report) == [(98.0, ""), (pytest.approx(93.1), "stop_loss")]


@pytest.mark.parametrize(("close", "exits"), [(101.0, False), (103.0, True)])
def test_after_a_limit_entry_the_target_above_it_needs_the_close(play, close, exits):
    """Buy limit 98, target 102.9; the high of 104 may have come before the low."""
    report = play([100, (100, 104, 97, close)], {0: lambda s: s.buy(1, limit=98, take_profit=0.05)})
    assert len(report.fills) == 1 + exits


def test_after_a_stop_entry_the_target_above_it_is_certain(play, prices):
    report = play([100, (100, 112, 99, 101)], {0: lambda s: s.buy(1, stop=105, take_profit=0.05)})
    assert prices(report) == [(105.0, ""), (pytest.approx(110.25), "take_profit")]


@pytest.mark.parametrize(("close", "exits"), [(103.0, False), (99.0, True)])
def test_after_a_stop_entry_the_stop_below_it_needs_the_close(play, close, exits):
    """Buy stop 105, stop loss 99.75; the low of 98 may have come before the entry."""
    report = play([101, (101, 106, 98, close)], {0: lambda s: s.buy(1, stop=105, stop_loss=0.05)})
    assert len(report.fills) == 1 + exits


def test_after_a_stop_entry_a_proven_stop_wins_over_a_certain_target(play, prices):
    report = play([101, (101, 112, 98, 99)], {0: lambda s: s.buy(1, stop=105, stop_loss=0.05, take_profit=0.05)})
    assert prices(report)[1] == (pytest.approx(99.75), "stop_loss")


@pytest.mark.parametrize(("close", "exits"), [(99.0, False), (97.0, True)])
def test_the_rule_is_mirrored_for_shorts(play, close, exits):
    """Sell limit 102 is entered rising: the stop above is certain, the target at 96.9 needs the close."""
    report = play(
        [100, (100, 103, 96, close if not exits else 96.5)],
        {0: lambda s: s.sell(1, limit=102, take_profit=0.05)},
        **MARGIN,
    )
    assert len(report.fills) == 1 + exits
    stopped = play([100, (100, 108, 99, 100)], {0: lambda s: s.sell(1, limit=102, stop_loss=0.05)}, **MARGIN)
    assert stopped.fills[1].price == pytest.approx(107.1)


def test_the_trail_of_a_limit_entry_starts_at_its_fill(play, prices):
    """Bar 100/120/97/99: the high of 120 may be from before the entry at 98, so the next stop is 99 * 0.9 = 89.1."""
    ohlc = [100, (100, 120, 97, 99), (99, 100, 95, 96)]
    assert len(play(ohlc, {0: lambda s: s.buy(1, limit=98, trail=0.1)}).fills) == 1


def test_a_limit_entry_through_at_the_open_owns_the_whole_bar(play, prices):
    """Buy limit 98 fills at the open of 94; a separate stop at 95 is through already: out at 94, no gain, no loss."""
    plan = {0: several(lambda s: s.buy(1, limit=98), lambda s: s.sell(1, stop=95))}
    report = play([100, (94, 99, 93, 98)], plan)
    assert prices(report) == [(94.0, ""), (94.0, "")]
    assert report.equity[-1] == 100_000.0


def test_a_separate_stop_below_a_limit_entry_fills_in_the_same_bar(play, prices):
    for actions in (
        (lambda s: s.buy(1, limit=98), lambda s: s.sell(1, stop=95)),
        (lambda s: s.sell(1, stop=95), lambda s: s.buy(1, limit=98)),
    ):
        report = play([100, (100, 101, 94, 99)], {0: several(*actions)})
        assert prices(report) == [(98.0, ""), (95.0, "")]


def test_a_separate_target_above_a_limit_entry_waits_for_proof(play, prices):
    plan = {0: several(lambda s: s.buy(1, limit=98), lambda s: s.sell(1, limit=102))}
    report = play([100, (100, 103, 97, 99), (99, 103, 98, 100)], plan)
    assert prices(report) == [(98.0, ""), (102.0, "")]
    assert report.fills[1].ts > report.fills[0].ts


# Several orders in one bar --------------------------------------------------------------------------------------


def test_sells_come_before_buys_at_the_open(play):
    """Without the sale's cash the second buy would be refused."""
    plan = {0: lambda s: s.buy(1000), 1: several(lambda s: s.buy(500), lambda s: s.sell(1000))}
    report = play([100, 100, 100], plan)
    assert [(f.side, f.quantity) for f in report.fills[1:]] == [(Side.SELL, 1000.0), (Side.BUY, 500.0)]


def test_orders_inside_a_bar_fill_in_order_of_submission(play):
    """Both limits are touched and the cash covers one: the first one asked for gets it."""
    plan = {0: several(lambda s: s.buy(1000, limit=98), lambda s: s.buy(1000, limit=99))}
    report = play([100, (100, 101, 97, 100)], plan)
    assert [f.order_id for f in report.fills] == [1]
    assert report.refused[0].order_id == 2


def test_an_own_stop_nearer_than_the_bracket_fills_first(play, prices):
    plan = {0: lambda s: s.buy(10, stop_loss=0.1), 1: lambda s: s.sell(5, stop=95)}
    report = play([100, 100, (100, 100, 85, 86)], plan)
    assert [(f.price, f.quantity, f.tag) for f in report.fills[1:]] == [(95.0, 5.0, ""), (90.0, 5.0, "stop_loss")]


def test_an_own_limit_nearer_than_the_target_fills_first(play):
    plan = {0: lambda s: s.buy(10, take_profit=0.1), 1: lambda s: s.sell(5, limit=105)}
    report = play([100, 100, (100, 115, 99, 110)], plan)
    assert [(f.price, f.quantity) for f in report.fills[1:]] == [(105.0, 5.0), (pytest.approx(110.0), 5.0)]


def test_the_position_leaves_before_new_entries(play):
    """Stop 95 and a limit buy at 94 in one bar: first out, then in again with the cash."""
    plan = {0: lambda s: s.buy(1000, stop_loss=0.05), 1: lambda s: s.buy(1000, limit=94)}
    report = play([100, 100, (100, 101, 93, 99)], plan)
    assert [f.price for f in report.fills] == [100.0, 95.0, 94.0]


# Slippage, fees, lots, ticks --------------------------------------------------------------------------------------


def test_slippage_is_adverse_and_spares_limits(play, prices):
    costs = Costs(fee_bps=0, slippage_bps=100)
    report = play(
        [100, 100, (100, 111, 99, 110), (110, 110, 100, 100)],
        {0: lambda s: s.buy(2), 1: lambda s: s.sell(1, limit=110), 2: lambda s: s.sell(1, stop=105)},
        costs=costs,
    )
    assert prices(report) == [(101.0, ""), (110.0, ""), (pytest.approx(103.95), "")]


def test_a_take_profit_has_no_slippage_and_a_stop_loss_has(play):
    costs = Costs(fee_bps=0, slippage_bps=100)
    stopped = play([100, 100, (100, 100, 90, 90)], {0: lambda s: s.buy(1, stop_loss=0.05)}, costs=costs)
    assert stopped.fills[1].price == pytest.approx(101 * 0.95 * 0.99)
    taken = play([100, 100, (100, 120, 100, 110)], {0: lambda s: s.buy(1, take_profit=0.05)}, costs=costs)
    assert taken.fills[1].price == pytest.approx(101 * 1.05)


def test_levels_are_put_on_the_tick_grid_against_the_trader(play, prices):
    tick = {"tick": 0.5}
    bought = play([100, (100, 101, 90, 100)], {0: lambda s: s.buy(1, limit=97.9)}, instrument=tick)
    assert prices(bought) == [(97.5, "")]
    stopped = play([100, 100, (100, 100, 90, 95)], {0: lambda s: s.buy(1, stop_loss=0.033)}, instrument=tick)
    assert prices(stopped)[1] == (96.5, "stop_loss")
    sold = play(
        [100, 100, (100, 120, 100, 110)], {0: lambda s: s.buy(1), 1: lambda s: s.sell(1, limit=110.1)}, instrument=tick
    )
    assert prices(sold)[1] == (110.5, "")


def test_a_trade_that_gains_before_fees_and_loses_after_them_is_a_loser(play):
    """100 units from 10 to 10.015 at 10 bps: 1.5 - (1.0 + 1.0015) = -0.5015."""
    report = play(
        [10, 10, 10.015], {0: lambda s: s.buy(100), 1: lambda s: s.close()}, cash=2000.0, costs=Costs(fee_bps=10)
    )
    assert report.trades[0].pnl == pytest.approx(-0.5015)
    assert report.trades[0].fees == pytest.approx(2.0015)
    assert report.equity[-1] == pytest.approx(1999.4985)


# Margin, shorts, ruin -----------------------------------------------------------------------------------------------


def test_a_cash_account_cannot_short(play):
    report = play([100, 100], {0: lambda s: s.sell(1)})
    assert report.refused[0].reason == "nothing to sell: the position is 0"
    assert report.fills == ()


def test_a_short_of_everything_is_ruined_where_the_arithmetic_says(play):
    """Short 999 at 100 with 100,000: gone at 100 + 100,000 / 999 = 200.10, though the close is back at 150."""
    report = play(
        [100, 100, (150, 210, 140, 150), 150, 100],
        {0: lambda s: s.sell(999)},
        **MARGIN,
    )
    assert report.ruined
    assert report.fills[-1].tag == "ruin"
    assert report.fills[-1].price == pytest.approx(100 + 100_000 / 999)
    assert report.equity.tolist() == [100_000.0, 100_000.0, 100_000.0, 0.0, 0.0, 0.0]
    assert report.position.tolist() == [0.0, -999.0, 0.0, 0.0, 0.0]
    assert report.trades[-1].exit_reason == "ruin"


def test_ruin_is_tested_at_the_low_of_a_leveraged_long(play):
    """Long 2,000 at 100 with 100,000 cash: equity at 45 is -10,000, at the close of 90 it would look alive."""
    report = play([100, 100, (95, 95, 45, 90)], {0: lambda s: s.buy(2000)}, **MARGIN)
    assert report.ruined
    assert report.fills[-1].price == 50.0


def test_a_gap_beyond_ruin_fills_at_the_open_and_the_account_still_ends_at_zero(play):
    report = play([100, 100, (300, 310, 290, 300)], {0: lambda s: s.sell(999)}, **MARGIN)
    assert report.fills[-1].price == 300.0
    assert report.equity[-1] == 0.0


def test_a_stop_before_the_ruin_saves_the_account(play):
    report = play([100, 100, (100, 250, 100, 240)], {0: lambda s: s.sell(999, stop_loss=0.1)}, **MARGIN)
    assert not report.ruined
    assert report.fills[-1].price == pytest.approx(110.0)


def test_a_ruined_strategy_is_not_called_any_more_and_nothing_stays_open(play):
    called = []
    plan = dict.fromkeys(range(1, 5), called.append) | {
        0: lambda s: (s.sell(999), s.buy(1, limit=50)),
    }
    report = play([100, 100, 300, 300, 300], plan, **MARGIN)
    assert len(called) == 1
    assert report.open_orders == 0


def test_a_short_needs_its_initial_margin(play):
    """Half of the notional: 2,001 at 100 needs 100,050."""
    report = play([100, 100], {0: lambda s: s.sell(2001)}, **MARGIN)
    assert report.refused[0].reason == "insufficient margin: need 100050.00, have 100000.00"


def test_maintenance_margin_closes_the_position_before_ruin(play):
    """Long 2,000 at 100, of which 100,000 borrowed: equity is a quarter of the notional at 100,000 / (2,000 * 0.75)."""
    report = play(
        [100, 100, (90, 90, 60, 65)], {0: lambda s: s.buy(2000)}, instrument={"maintenance_margin": 0.25}, **MARGIN
    )
    assert report.fills[-1].tag == "margin"
    assert report.fills[-1].price == pytest.approx(100_000 / 1500)
    assert not report.ruined


def test_borrowing_costs_the_short_and_is_in_its_trade(play):
    """100 bps a year on 252 bars: 10 * 100 * 0.01 / 252 at each of two closes."""
    report = play(
        [100, 100, 100, 100],
        {0: lambda s: s.sell(10), 2: lambda s: s.close()},
        instrument={"borrow_bps_per_year": 100},
        **MARGIN,
    )
    cost = 2 * 10 * 100 * 0.01 / 252
    assert report.equity[-1] == pytest.approx(100_000 - cost)
    assert report.trades[0].pnl == pytest.approx(-cost)


def test_selling_and_buying_without_a_quantity_never_flip(play):
    plan = {
        0: lambda s: s.buy(10),
        1: lambda s: s.sell(),
        2: lambda s: s.sell(10),
        3: lambda s: s.buy(),
        4: lambda s: s.sell(),
    }
    report = play([100] * 6, plan, **MARGIN)
    assert report.position.tolist() == [0.0, 10.0, 0.0, -10.0, 0.0, 0.0]
    assert report.refused[0].reason == "nothing to sell: the position is 0"


def test_an_explicit_quantity_may_flip_a_margin_position(play):
    report = play([100, 100, 110], {0: lambda s: s.buy(10), 1: lambda s: s.sell(30)}, **MARGIN)
    assert report.position.tolist() == [0.0, 10.0, -20.0]
    assert report.trades[0].quantity == 10.0
    assert report.trades[0].pnl == pytest.approx(100.0)


# Zero ---------------------------------------------------------------------------------------------------------------


def test_closing_leaves_exactly_nothing(play):
    plan = {0: lambda s: s.buy(0.1), 1: lambda s: s.buy(0.2), 2: lambda s: s.sell(0.3)}
    assert play([100] * 4, plan).position[-1] == 0.0


def test_an_open_position_is_marked_at_the_last_close_and_not_sold(play):
    report = play([100, 100, 120], {0: lambda s: s.buy(10)})
    assert report.trades == ()
    assert report.position[-1] == 10.0
    assert report.equity[-1] == 100_200.0
