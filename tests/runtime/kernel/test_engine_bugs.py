"""Faults that well-known engines really had, one test each with its arithmetic, and then more of the same kinds.

The first line of a docstring says whose fault it was and what came out there; the figures are plain arithmetic over
bars written as open/high/low/close. An order is decided at a bar's close, so its earliest fill is the next open.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from fitness.card import CellResult
from fitness.metrics import measure
from fitness.objectives import ScoreRules, score_cells
from fitness.ratios import drawdowns, max_drawdown, sharpe_ratio
from runtime.kernel import (
    AccountKind,
    Costs,
    LocalHost,
    RunConfig,
    RunEnd,
    RunLimits,
    Session,
    buy_and_hold,
    run_strategy,
)
from runtime.kernel.backtest import columns_of
from runtime.market import MIN_BARS, WARMUP_BARS, Bars, DataError, check_quality, find_calendar, read_file, resample
from runtime.market.calendar import parse_stamp
from runtime.market.sessions import bars_per_year
from runtime.model import Instrument, Order, OrderType, Side, Timeframe
from runtime.strategy import Strategy, StrategyError

MARGIN = {"account": AccountKind.MARGIN}
TEN_BPS = Costs(fee_bps=10)
DAY = 86_400


def submit(side, kind, quantity=1.0, **prices):
    return lambda s: s.submit(Order(side=side, type=kind, quantity=quantity, **prices))


def several(*actions):
    def do(strategy):
        for action in actions:
            action(strategy)

    return do


def path(report):
    return [fill.price for fill in report.fills]


# Fill price and timing ----------------------------------------------------------------------------------------------


def test_a_gapped_stop_never_fills_at_a_price_that_did_not_trade(play):
    """backtesting.py#1370 (gave 105, below the low of 108): buy stop 105, bar 110/112/108/111: max(open, stop) = 110."""
    report = play([100, 100, (110, 112, 108, 111)], {1: lambda s: s.buy(1, stop=105)})
    assert path(report) == [110.0]


def test_a_gapped_trailing_stop_takes_the_open(play):
    """nautilus_trader#2397 (gave 105): short at 100 with a trail of 5, stop 105, next open 200: 200."""
    report = play([100, 100, (200, 201, 199, 200)], {0: lambda s: s.sell(1, trail=0.05)}, **MARGIN)
    assert path(report) == [100.0, 200.0]
    assert report.trades[0].pnl == -100.0


def test_a_limit_that_the_open_betters_fills_at_the_open(play):
    """Lean#7052 (gave the high of 103): buy limit 105, bar 100/103/99/101: min(open, limit) = 100."""
    assert path(play([104, (100, 103, 99, 101)], {0: lambda s: s.buy(1, limit=105)})) == [100.0]


def test_an_order_if_touched_fills_at_its_trigger(play):
    """nautilus_trader#3462 (gave the low of 90, a gift of 5): buy if touched at 95, bar 100/101/90/96: 95."""
    order = submit(Side.BUY, OrderType.MARKET_IF_TOUCHED, stop=95)
    assert path(play([100, (100, 101, 90, 96)], {0: order})) == [95.0]


def test_a_limit_that_gaps_through_its_own_stop_enters_and_leaves_at_the_open(play):
    """backtesting.py#1127 (held for two days): limit 98, stop 95, open 94: in at 94, out at 94, minus two fees.

    Fees are 94 * 10 bps on each side: 2 * 0.094 = 0.188.
    """
    plan = {0: several(lambda s: s.buy(1, limit=98), lambda s: s.sell(1, stop=95))}
    report = play([100, (94, 99, 93, 98), 98], plan, costs=TEN_BPS)
    assert path(report) == [94.0, 94.0]
    assert report.trades[0].pnl == pytest.approx(-0.188)
    assert report.trades[0].entry_row == report.trades[0].exit_row == 1


def test_a_decision_at_the_close_fills_at_the_next_open(play):
    """nautilus_trader#4063 (gave the decision's own close of 100): close 100, next open 103: 103."""
    assert path(play([(99, 101, 98, 100), (103, 105, 102, 104)], {0: lambda s: s.buy(1)})) == [103.0]


def test_a_bar_is_known_at_its_end_and_not_at_its_stamp():
    """nautilus_trader#1537, #4577 (used at 09:50): the 5 minute bar stamped 09:50 is known from 09:55 on."""
    told = []

    class Watch(Strategy):
        def on_bar(self, bar):
            told.append((bar.ts, self.clock.now()))

    stamp = datetime(2024, 3, 5, 9, 50, tzinfo=UTC)
    bars = Bars(
        instrument=Instrument(symbol="X", bars_per_year=98_280 / 5),
        timeframe=Timeframe.parse("5m"),
        ts=np.array([int(stamp.timestamp())]),
        **{name: np.ones(1) for name in ("open", "high", "low", "close", "volume")},
    )
    run_strategy(Watch, bars, RunConfig())
    assert told == [(stamp, stamp.replace(minute=55))]


# Order inside one bar -----------------------------------------------------------------------------------------------


def test_the_stop_wins_when_stop_and_target_are_both_inside_the_bar(play):
    """backtesting.py#910, go-trader#1271 (may give 105): long 100, stop 95, target 105, bar 100/110/90/100: 95."""
    report = play([100, 100, (100, 110, 90, 100)], {0: lambda s: s.buy(1, stop_loss=0.05, take_profit=0.05)})
    assert path(report) == [100.0, 95.0]
    assert report.open_orders == 0


def test_a_stop_protects_the_position_on_its_first_bar(play):
    """backtesting.py#119 (a bar late): in at the open of 100/101/90/98 with a stop at 95: out at 95 on the same bar."""
    report = play([100, (100, 101, 90, 98), 98], {0: lambda s: s.buy(1, stop_loss=0.05)})
    assert path(report) == [100.0, 95.0]
    assert report.fills[0].ts == report.fills[1].ts


def test_a_trail_is_not_raised_by_the_bar_that_it_is_tested_on(play):
    """freqtrade#1575, #4105 (an exit at 104.5 on the first bar): peak 100, 5%, bar 100/110/103/108: the stop is 95 there.

    The bar after it is tested at 110 * 0.95 = 104.5.
    """
    ohlc = [100, 100, (100, 110, 103, 108), (107, 108, 105, 106), (106, 107, 104, 105)]
    report = play(ohlc, {0: lambda s: s.buy(1, trail=0.05)})
    assert path(report) == [100.0, 104.5]
    assert report.trades[0].exit_row == 4


def test_bracket_children_of_an_entry_into_a_gap_are_alive(play):
    """nautilus_trader#4355 (held for 115 days): short 47,334, stop 48,352, target 43,833, low 39,503: out at 43,833."""
    ohlc = [
        47_000,
        (47_334, 47_900, 46_900, 47_000),
        (44_500, 45_000, 44_000, 44_200),
        (44_000, 44_100, 39_503, 40_000),
    ]
    bracket = {"stop_loss": 48_352 / 47_334 - 1, "take_profit": 1 - 43_833 / 47_334}
    report = play([*ohlc, 40_000], {0: lambda s: s.sell(1, **bracket)}, **MARGIN)
    assert report.fills[1].price == pytest.approx(43_833)
    assert report.trades[0].exit_row == 3


# Cash, size, fees ---------------------------------------------------------------------------------------------------


def test_a_size_that_cash_does_not_cover_is_refused_aloud(play):
    """backtesting.py#1334, #1360 (no trade and no word): 1,000 at 100 and 10 bps need 100,100."""
    report = play([100, 100, 100], {0: lambda s: s.buy(1000)}, costs=TEN_BPS)
    assert report.fills == ()
    assert report.refused_count == 1
    assert report.refused[0].reason == "insufficient cash: need 100100.00, have 100000.00"
    assert report.refused[0].order_id == 1


def test_the_fee_is_part_of_what_must_be_affordable(play):
    """bytex#55 (cash of -1): cash 1,000, 10 at 100, fee 1: refused, and 9 at 100 leave 1,000 - 900 - 1 = 99."""
    costs = Costs(fee_bps=0, fee_minimum=1)
    refused = play([100, 100], {0: lambda s: s.buy(10)}, cash=1000.0, costs=costs)
    assert refused.refused[0].reason == "insufficient cash: need 1001.00, have 1000.00"
    assert play([100, 100], {0: lambda s: s.buy(9)}, cash=1000.0, costs=costs).equity[-1] == 999.0


def test_the_result_of_a_trade_is_net_of_both_fees(play):
    """go-trader#1241 (a winner of 0.4985): 100 from 10 to 10.015 at 10 bps: 1.5 - (1.0 + 1.0015) = -0.5015."""
    report = play([10, 10, 10.015], {0: lambda s: s.buy(100), 1: lambda s: s.close()}, cash=2000.0, costs=TEN_BPS)
    assert report.trades[0].pnl == pytest.approx(-0.5015)
    assert report.equity[-1] - 2000.0 == pytest.approx(report.trades[0].pnl)


def test_a_share_of_a_position_leaves_whole_lots(play):
    """backtesting.py#954 (left 301): 6/7 of 2,100 leave 300, though (1 - 6/7) * 2,100 is 300.0000000000001."""
    assert (1 - 6 / 7) * 2100 > 300
    plan = {0: lambda s: s.buy(2100), 1: lambda s: s.sell(6 / 7 * s.position)}
    report = play([10, 10, 10], plan, instrument={"lot": 1.0})
    assert report.position.tolist() == [0.0, 2100.0, 300.0]
    other = {0: lambda s: s.buy(2100), 1: lambda s: s.sell(s.position - (1 - 6 / 7) * 2100)}
    assert play([10, 10, 10], other, instrument={"lot": 1.0}).position[-1] == 300.0


def test_a_cash_account_has_no_shorts_and_a_margin_account_an_end(play):
    """vectorbt#187, nautilus_trader#1510 (a result of -256%): refused in cash; with margin the worst is -100%."""
    ohlc = [100, 100, (100, 400, 100, 356)]
    assert play(ohlc, {0: lambda s: s.sell(1000)}).fills == ()
    assert play(ohlc, {0: lambda s: s.target(-1.0)}).refused[0].reason.startswith("wrong order value: weight = -1.0")
    report = play(ohlc, {0: lambda s: s.sell(1000)}, **MARGIN)
    assert report.ruined
    assert report.equity[-1] == 0.0


# Ruin, short, metrics -----------------------------------------------------------------------------------------------


def test_a_ruined_short_is_vetoed_whatever_its_ratios_are(play, bars_of):
    """Vibe-Trading#1291, backtesting.py#938 (Sharpe 0.0): short 999 at 100 with 100,000: gone at 100 + 100,000 / 999.

    That is 200.10. The curve ends at 0, its return is -100%, and the veto holds whatever the other limits are.
    """
    flat = [(100, 101, 99, 100)] * 40
    ruin = [*flat, (150, 210, 140, 150), *flat]
    report = play(ruin, {0: lambda s: s.sell(999)}, **MARGIN)
    assert report.ruined
    assert report.fills[-1].price == pytest.approx(100 + 100_000 / 999)
    assert report.fills[-1].tag == "ruin"
    figures = measure(report, bars_of(ruin), RunConfig(costs=Costs(fee_bps=0), **MARGIN))
    assert (figures.total_return, figures.max_drawdown) == (-1.0, 1.0)
    cell = CellResult(symbol="X", fold="train-1", metrics=figures, buy_and_hold=figures, ruined=report.ruined)
    card = score_cells([cell], ScoreRules(max_drawdown=1.0, min_trades=1))
    assert card.vetoes[0] == "ruined in 1 of 1 cells (limit 0)"
    assert card.violation >= 1.0


def test_drawdown_is_counted_from_the_starting_cash(play, bars_of):
    """quantstats#438, pyfolio#179, freqtrade#6655 (gave 16.67%): 100 to 90 to 75 is (100 - 75) / 100 = 25%.

    A loss of 35% on the first bar held must be seen by a veto at 30%.
    """
    assert max_drawdown(np.array([100.0, 90, 75])) == 0.25
    ohlc = [100, (100, 100, 65, 65), 65]
    report = play(ohlc, {0: lambda s: s.buy()})
    assert measure(report, bars_of(ohlc), RunConfig()).max_drawdown == pytest.approx(0.35)


def test_no_trade_has_no_ratio(play, bars_of):
    """vectorbt#638 (Sharpe of infinity, best of its population): nothing traded, nothing defined, nothing ranked."""
    figures = measure(play([100] * 120, {}), bars_of([100] * 120), RunConfig())
    assert figures.trades == 0
    assert figures.sharpe is figures.sortino is figures.calmar is figures.seed_score is None


def test_quarter_hours_of_us_equities_are_26_a_session():
    """vectorbt#294 (252 * 96 = 24,192, and Sharpe 1.92 times too high): 26 * 252 = 6,552."""
    equities, quarter = find_calendar("us-equities"), Timeframe.parse("15m")
    assert equities.bars_per_year(quarter) == (6552.0, 6552.0)
    days = [day for day in range(19_700, 19_700 + 364) if equities.trades_on(day)]
    ts = np.array([equities.opening(day) + bar * 900 for day in days for bar in range(26)])
    # A year of weekdays has 260 sessions; nine holidays are missing from it.
    assert bars_per_year(np.delete(ts, slice(26 * 100, 26 * 109)), quarter) == 6552.0
    assert math.sqrt(24_192 / 6_552) == pytest.approx(1.92, abs=0.005)


def test_a_market_around_the_clock_has_365_days():
    """quantstats#40, AlphaForgeBench#2 (252 days: 17% too low, chosen by a swallowed exception)."""
    ts = np.arange(0, 1000 * DAY, DAY)
    assert bars_per_year(ts, Timeframe(DAY)) == 365.0
    assert bars_per_year(np.arange(0, 100 * DAY, 3600), Timeframe(3600)) == 8760.0
    with pytest.raises(DataError, match="calendar 'crypto': there are around-the-clock"):
        find_calendar("crypto")
    with pytest.raises(DataError, match="calendar us-equities has 1764 bars of 1h in a year and the data have 8766"):
        bars_per_year(np.arange(0, 100 * DAY, 3600), Timeframe(3600), find_calendar("us-equities"))
    returns = np.random.default_rng(1).normal(0.001, 0.01, 500)
    assert sharpe_ratio(returns, 252) / sharpe_ratio(returns, 365) == pytest.approx(0.831, abs=0.0005)


def test_buy_and_hold_counts_losses_fees_and_the_same_bars(play, bars_of):
    """backtesting.py#36, #140, #327, freqtrade#6742 (abs() hid losses, no fee, from bar 0).

    100 to 80 is -20%. 100 to 110 at 10 bps, in and out: 110 * 0.999 / (100 * 1.001) - 1 = 9.780%; ours is not sold at
    the end, so 110 / (100 * 1.001) - 1 = 9.890%. Bars before the first tradable one do not count: 50 is not the base.
    """
    free = RunConfig(costs=Costs(fee_bps=0))
    assert buy_and_hold(bars_of([100, 100, 80]), free, first_tradable_bar=0).equity[-1] == pytest.approx(80_000)
    fee = RunConfig(costs=TEN_BPS)
    held = buy_and_hold(bars_of([50, 60, 100, 100, 110]), fee, first_tradable_bar=2)
    assert held.equity[-1] / 100_000 - 1 == pytest.approx(0.0989011, abs=1e-7)
    sold = play([100, 100, 110], {0: lambda s: s.buy(), 1: lambda s: s.close()}, costs=TEN_BPS)
    assert sold.equity[-1] / 100_000 - 1 == pytest.approx(0.0978022, abs=1e-7)


# End of data and data quality ---------------------------------------------------------------------------------------


def test_an_order_on_the_last_bar_stays_open(play):
    """backtesting.py#158, #183, PR #1382 (equity 100,200 from the last bar's own open): unfilled, 100,000, one open order."""
    for last in (lambda s: s.buy(10), lambda s: s.buy(10, limit=110), lambda s: s.buy(10, stop=110)):
        report = play([100, 100, 100, (100, 120, 100, 120)], {3: last})
        assert report.fills == ()
        assert report.equity[-1] == 100_000.0
        assert report.open_orders == 1


def test_history_loses_no_whole_bar_and_uses_no_forming_one(bars_of):
    """freqtrade#746, #9813, #1011 (live used the forming bar, history dropped the last whole one).

    A bar is usable from its open plus its step on, neither a second earlier nor a bar later.
    """
    seen = []

    class Watch(Strategy):
        def on_bar(self, bar):
            seen.append(bar.close)

    run_strategy(Watch, bars_of([1, 2, 3]), RunConfig())
    assert seen == [1.0, 2.0, 3.0]
    ts = parse_stamp("2024-01-01") + np.arange(2 * 24 - 1) * 3600
    hours = Bars(
        instrument=Instrument(symbol="X", bars_per_year=8760),
        timeframe=Timeframe(3600),
        ts=ts,
        **{name: np.ones(len(ts)) for name in ("open", "high", "low", "close", "volume")},
    )
    end = int(ts[-1]) + 2 * 3600
    with pytest.raises(DataError, match="fewer than 2 whole bars"):
        resample(hours, Timeframe(DAY), as_of=end - 1)
    assert len(resample(hours, Timeframe(DAY), as_of=end).bars) == 2


@pytest.mark.parametrize("column", ["open", "high", "low", "close", "volume"])
@pytest.mark.parametrize("value", ["nan", "inf", ""])
def test_a_price_that_is_no_number_is_refused_at_the_door(tmp_path, column, value):
    """zipline#1595, backtrader#469 (filled at NaN; 0 shares * NaN = NaN equity): the data are refused, with the line."""
    names = ("timestamp", "open", "high", "low", "close", "volume")
    rows = [dict(zip(names, (f"2024-01-0{day}", 5, 6, 4, 5, 100), strict=True)) for day in range(1, 8)]
    rows[3][column] = value
    file = tmp_path / "bad.csv"
    file.write_text("\n".join([",".join(names), *(",".join(str(cell) for cell in row.values()) for row in rows)]))
    with pytest.raises(DataError, match="line 5"):
        read_file(file)


def test_an_undefined_equity_is_an_error_and_never_a_figure(play, bars_of):
    """The last line of defence of the same kind: what is not finite is refused by name, not turned into a 0."""
    report = play([100] * 40, {0: lambda s: s.buy(1)})
    report.equity[7] = math.nan
    with pytest.raises(ValueError, match="equity 7 of the report is not finite"):
        measure(report, bars_of([100] * 40), RunConfig())


def test_recursive_indicators_have_the_same_history_everywhere():
    """Lean#8623, freqtrade#2311 (RSI 74.6 or 70.8, by how much came before): a fixed warm-up gives one value.

    A cell cut out of a long series with its 250 bars and a run that is fed the same bars one by one agree to the last
    bit, and nobody may ask for a longer memory than that.
    """
    generator = np.random.default_rng(5)
    close = 100 * np.exp(np.cumsum(generator.normal(0, 0.01, MIN_BARS)))
    long = Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(DAY),
        ts=np.arange(MIN_BARS) * DAY,
        **dict.fromkeys(("open", "high", "low", "close", "volume"), close),
    )
    told = {}

    def watch(key):
        class Watch(Strategy):
            def on_start(self):
                self.rsi = self.indicator("RSI", timeperiod=14)

            def on_bar(self, bar):
                told.setdefault(key, []).append(self.rsi[-1])

        return Watch

    cell = long.between(400 - WARMUP_BARS, 450)
    run_strategy(watch("cell"), cell, RunConfig(start=WARMUP_BARS))
    host = LocalHost(watch("live"), cell.instrument, cell.timeframe, RunLimits())
    session = Session(host, RunConfig(start=WARMUP_BARS), cell.instrument, RunLimits())
    columns, rows = columns_of(session.start(), cell), cell.rows()
    session.warm_up(rows[:WARMUP_BARS], [column[:WARMUP_BARS] for column in columns])
    for row in range(WARMUP_BARS, len(rows)):
        session.advance(rows[row : row + 1], [column[row : row + 1] for column in columns])
    assert told["cell"] == told["live"]
    assert len(told["cell"]) == 50

    class Long(Strategy):
        def on_start(self):
            self.indicator("EMA", timeperiod=251)

        def on_bar(self, bar):
            raise AssertionError(bar)

    failed = run_strategy(Long, long, RunConfig())
    assert failed.end is RunEnd.FAILED
    assert failed.failure.exception == "lookback-too-long"


@pytest.mark.parametrize(
    ("opens", "closes", "hours"),
    [
        ("2024-11-03T00:00-04:00", "2024-11-04T00:00-05:00", 25),
        ("2024-03-10T00:00-05:00", "2024-03-11T00:00-04:00", 23),
    ],
)
def test_a_day_of_new_york_ends_where_the_next_begins(opens, closes, hours):
    """TorchTrade#333, nautilus_trader#4398, backtesting.py#1002 (start + 24 h): 25 and 23 hours when the clocks change."""
    calendar = find_calendar("us-equities")
    end = calendar.bar_end(parse_stamp(opens), Timeframe(DAY))
    assert end == parse_stamp(closes)
    assert end - parse_stamp(opens) == hours * 3600


# More of the same kinds: price and time -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "side", "prices", "bar", "price"),
    [
        # A sell stop that the open jumps over takes the worse open; one inside the bar its own price.
        (OrderType.STOP, Side.SELL, {"stop": 95}, (90, 92, 88, 91), 90.0),
        (OrderType.STOP, Side.SELL, {"stop": 95}, (97, 98, 88, 91), 95.0),
        # A sell limit that the open jumps over takes the better open, never the bar's high.
        (OrderType.LIMIT, Side.SELL, {"limit": 105}, (110, 120, 108, 111), 110.0),
        (OrderType.LIMIT, Side.SELL, {"limit": 105}, (104, 120, 103, 111), 105.0),
        # A sell if touched: the trigger, or the open that is beyond it.
        (OrderType.MARKET_IF_TOUCHED, Side.SELL, {"stop": 105}, (104, 120, 103, 111), 105.0),
        (OrderType.MARKET_IF_TOUCHED, Side.SELL, {"stop": 105}, (110, 120, 108, 111), 110.0),
        # A stop-limit that gaps beyond its limit does not pay the gap.
        (OrderType.STOP_LIMIT, Side.SELL, {"stop": 95, "limit": 94}, (90, 92, 88, 91), None),
        (OrderType.STOP_LIMIT, Side.SELL, {"stop": 95, "limit": 94}, (90, 96, 88, 91), 94.0),
        (OrderType.STOP_LIMIT, Side.BUY, {"stop": 105, "limit": 106}, (110, 112, 108, 111), None),
        # What the bar does not reach by a tick does not fill.
        (OrderType.LIMIT, Side.BUY, {"limit": 94.99}, (100, 101, 95, 96), None),
        (OrderType.STOP, Side.BUY, {"stop": 101.01}, (100, 101, 95, 96), None),
        (OrderType.MARKET_IF_TOUCHED, Side.BUY, {"stop": 94.99}, (100, 101, 95, 96), None),
        # What the bar just reaches fills: touching is enough.
        (OrderType.LIMIT, Side.BUY, {"limit": 95}, (100, 101, 95, 96), 95.0),
        (OrderType.STOP, Side.BUY, {"stop": 101}, (100, 101, 95, 96), 101.0),
    ],
)
def test_every_price_follows_from_the_bar(play, kind, side, prices, bar, price):
    report = play([100, 100, bar], {1: submit(side, kind, **prices)}, **MARGIN)
    assert path(report) == ([] if price is None else [price])
    assert report.open_orders == (price is None)


def test_both_ends_of_a_bracket_take_the_open_of_a_gap(play):
    """A target that the open jumps over gives the better open, a stop the worse one; the mirror image for a short."""
    bracket = {"stop_loss": 0.05, "take_profit": 0.05}
    for gap, reason in ((120, "take_profit"), (80, "stop_loss")):
        report = play([100, 100, gap], {0: lambda s: s.buy(1, **bracket)})
        assert (report.fills[1].price, report.trades[0].exit_reason) == (gap, reason)
    for gap, reason in ((120, "stop_loss"), (80, "take_profit")):
        report = play([100, 100, gap], {0: lambda s: s.sell(1, **bracket)}, **MARGIN)
        assert (report.fills[1].price, report.trades[0].exit_reason) == (gap, reason)


def test_a_stop_is_measured_from_the_fill_and_not_from_a_close(play):
    """vectorbt#636 is of this kind: in at the open of 100, close 90: a stop of 5% is at 95, not at 85.5."""
    report = play([100, (100, 100, 96, 96), (96, 96, 90, 90)], {0: lambda s: s.buy(1, stop_loss=0.05)})
    assert path(report) == [100.0, 95.0]


def test_a_trail_of_a_short_follows_lows_of_earlier_bars_only(play):
    """Best 100, 5%: the stop on 100/101/90/99 is 105; then 90 * 1.05 = 94.5, which the next open of 99 is beyond."""
    report = play([100, 100, (100, 101, 90, 99), (99, 100, 98, 99)], {0: lambda s: s.sell(1, trail=0.05)}, **MARGIN)
    assert path(report) == [100.0, 99.0]
    assert report.trades[0].exit_row == 3


def test_a_trailing_order_is_not_moved_by_the_bar_that_it_is_tested_on(play):
    """Best 100 (the decision's close), 10%: 90 on the bar 100/150/95/140; then 150 * 0.9 = 135."""
    plan = {0: lambda s: s.buy(1), 1: submit(Side.SELL, OrderType.TRAILING_STOP, trail=0.1)}
    report = play([100, 100, (100, 150, 95, 140), (140, 141, 134, 136)], plan)
    assert path(report) == [100.0, 135.0]


def test_a_cancel_at_the_close_is_in_time_for_the_next_open(play):
    """The bar after the cancel would have filled it."""
    report = play([100, 100, (90, 90, 90, 90)], {0: lambda s: s.buy(1, limit=95), 1: lambda s: s.cancel()})
    assert report.fills == ()
    assert report.open_orders == 0


def test_an_order_is_good_until_cancelled(play):
    """Forty bars later the limit of 95 is reached."""
    report = play([100] * 40 + [(99, 100, 94, 96)], {0: lambda s: s.buy(1, limit=95)})
    assert path(report) == [95.0]


# More of the same kinds: what belongs together ------------------------------------------------------------------------


def test_the_other_half_of_a_bracket_dies_with_its_position(play):
    """The target is taken on one bar; the stop's level of 95 comes on the next and must not sell again."""
    ohlc = [100, 100, (100, 106, 99, 105), (100, 100, 90, 90), 90]
    report = play(ohlc, {0: lambda s: s.buy(1, stop_loss=0.05, take_profit=0.05)}, **MARGIN)
    assert path(report) == [100.0, 105.0]
    assert report.position[-1] == 0.0


def test_a_flip_does_not_inherit_the_bracket_of_the_other_side(play):
    """Long with a stop of 5%, then 30 sold: short 20 without a stop; 130 later nothing has happened."""
    plan = {0: lambda s: s.buy(10, stop_loss=0.05, trail=0.05), 1: lambda s: s.sell(30)}
    report = play([100, 100, 100, 110, 130], plan, **MARGIN)
    assert report.position.tolist() == [0.0, 10.0, -20.0, -20.0, -20.0]


def test_a_new_position_starts_without_the_last_ones_bracket(play):
    plan = {0: lambda s: s.buy(1, stop_loss=0.05), 1: lambda s: s.close(), 2: lambda s: s.buy(1)}
    report = play([100, 100, 100, 100, 80], plan)
    assert path(report) == [100.0, 100.0, 100.0]


def test_a_leftover_stop_cannot_short_a_cash_account(play):
    """The position leaves by its own target first; the resting sell stop finds nothing and is refused."""
    plan = {0: lambda s: s.buy(1, take_profit=0.05), 1: lambda s: s.sell(1, stop=95)}
    report = play([100, 100, (100, 106, 99, 105), (96, 97, 90, 91)], plan)
    assert path(report) == [100.0, 105.0]
    assert report.position[-1] == 0.0
    assert report.refused[0].reason == "nothing to sell: the position is 0"


def test_the_trail_of_an_entry_inside_the_bar_knows_only_what_came_after_it(play):
    """Limit 98 on 100/130/97/99: the high of 130 is older than the entry for all we know; 10% under 99 is 89.1."""
    report = play([100, (100, 130, 97, 99), (99, 100, 95, 96)], {0: lambda s: s.buy(1, limit=98, trail=0.1)})
    assert path(report) == [98.0]
    assert report.position[-1] == 1.0


def test_an_addition_inside_the_first_bar_does_not_forget_what_the_first_part_saw(play):
    """10 at the open of 100, 10 more at the stop of 105, bar 100/110/90/108: held since the open, so the low of 90 counts.

    Average (100 + 105) / 2 = 102.5; MAE (102.5 - 90) / 102.5; a trail of 5% stands at 110 * 0.95 = 104.5 on the next bar.
    """
    plan = {0: lambda s: (s.buy(10, trail=0.2), s.buy(10, stop=105)), 1: lambda s: s.close()}
    trade = play([100, (100, 110, 90, 108), 108], plan).trades[0]
    assert trade.mae == pytest.approx(12.5 / 102.5)
    assert trade.mfe == pytest.approx(7.5 / 102.5)
    plan = {0: lambda s: (s.buy(10, trail=0.05), s.buy(10, limit=98))}
    assert path(play([100, (100, 110, 97, 105), (105, 106, 104, 105)], plan)) == [100.0, 98.0, 104.5]


@pytest.mark.parametrize(
    ("bar", "fills"),
    [
        ((100, 101, 90, 92), [100.0, 95.0]),  # 101 was before the turn; after it only 92 is proven
        ((100, 101, 90, 100.5), [100.0, 95.0, 99.75]),  # the close proves that 99.75 came after 95
    ],
)
def test_a_position_turned_round_inside_a_bar_has_its_stop_from_there_on(play, bar, fills):
    """Long 10, sell stop 95 over 20 with a stop loss of 5%: short 10 from 95, out at 95 * 1.05 = 99.75 where that is certain."""
    plan = {0: lambda s: s.buy(10), 1: lambda s: s.sell(20, stop=95, stop_loss=0.05)}
    report = play([100, 100, bar], plan, account=AccountKind.MARGIN)
    assert path(report) == pytest.approx(fills)


def test_a_short_turned_round_inside_a_bar_is_measured_from_there_on(play):
    """Short 10, buy limit 95 over 20 on 100/130/94/96: the 130 may be older than the long, so its best price is 96.

    10% under 96 is 86.4: the next low of 88 leaves it alone (10% under 130 would have been 117).
    """
    plan = {0: lambda s: s.sell(10), 1: lambda s: s.buy(20, limit=95, trail=0.1), 2: lambda s: s.close()}
    report = play([100, 100, (100, 130, 94, 96), (96, 96, 88, 90)], plan, account=AccountKind.MARGIN)
    assert path(report) == [100.0, 95.0, 96.0]
    assert report.trades[-1].mfe == pytest.approx(1 / 95)


def test_a_sale_at_the_last_tick_is_not_given_away(play):
    """Tick 0.01, price 0.01, slippage 5 bps: rounding against the seller would sell for nothing."""
    plan = {0: lambda s: s.buy(1000), 1: lambda s: s.close()}
    report = play([0.01] * 3, plan, costs=Costs(fee_bps=0.0, slippage_bps=5), instrument={"tick": 0.01})
    assert path(report) == [0.02, 0.01]


def test_a_target_that_is_met_sets_its_stop(play):
    """All in at 100, asked for again with a stop of 5%: nothing to trade, and out at 95 all the same."""
    plan = {0: lambda s: s.target(1.0, stop_loss=0.5), 1: lambda s: s.target(1.0, stop_loss=0.05)}
    assert path(play([100, 100, 100, (100, 101, 90, 96)], plan)) == [100.0, 95.0]


@pytest.mark.parametrize(
    ("bar", "out"),
    [
        ((100, 106, 94, 100), 105.0),
        ((107, 108, 90, 100), 107.0),
        ((93, 106, 90, 100), 93.0),
        ((100, 104, 94, 96), 95.0),
    ],
)
def test_a_short_has_the_same_bracket_upside_down(play, bar, out):
    """Short at 100, stop 105, target 95: the stop where both are inside, the open where it is beyond either, else the target."""
    plan = {0: lambda s: s.sell(10, stop_loss=0.05, take_profit=0.05)}
    assert path(play([100, 100, bar], plan, account=AccountKind.MARGIN)) == [100.0, out]


def test_what_a_partial_exit_leaves_keeps_bracket_and_entry_price(play):
    """10 at 100 with a stop of 5%, 4 sold at 110: the other 6 leave at 95, and the two trades make 4 * 10 - 6 * 5 = 10."""
    plan = {0: lambda s: s.buy(10, stop_loss=0.05), 1: lambda s: s.sell(4)}
    report = play([100, 100, (110, 110, 109, 110), (100, 101, 90, 92)], plan)
    assert [(fill.price, fill.quantity) for fill in report.fills] == [(100.0, 10.0), (110.0, 4.0), (95.0, 6.0)]
    assert [trade.pnl for trade in report.trades] == pytest.approx([40.0, -30.0])
    assert report.equity[-1] == pytest.approx(100_010.0)


def test_an_order_that_is_cancelled_and_replaced_on_one_bar_fills_once(play):
    """Limit 98 replaced by 96 before a bar down to 95: one fill, at 96."""
    plan = {0: lambda s: s.buy(1, limit=98), 1: lambda s: (s.cancel(1), s.buy(1, limit=96))}
    report = play([100, 100, (100, 100, 95, 97)], plan)
    assert path(report) == [96.0]
    assert report.open_orders == 0


# More of the same kinds: money ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("held", [0.0, 0.5])
def test_of_several_targets_at_one_open_the_last_holds(play, first, held):
    """Not the one whose side comes last: 0.5 held, 0.8 and then 0.2 wanted is 200 units of 100 in 100,000, one order."""
    plan = {0: lambda s: s.target(held), 1: lambda s: (s.target(first), s.target(0.2))}
    report = play([100] * 4, plan)
    assert report.position[-1] == 200.0
    assert len(report.fills) == (1 if held == 0.0 else 2)


@pytest.mark.parametrize(("opened", "reason", "left"), [(180, "margin", 20_000.0), (210, "ruin", 0.0)])
def test_a_margin_call_that_the_open_jumps_over_takes_the_open(play, opened, reason, left):
    """Short 1,000 at 100 with 100,000: called at 200,000 / (1.25 * 1,000) = 160; opened at 180 it costs 80,000, at 210 everything."""
    report = play(
        [100, 100, (opened, opened, 150, 150), 150],
        {0: lambda s: s.sell(1000)},
        account=AccountKind.MARGIN,
        instrument={"maintenance_margin": 0.25},
    )
    assert path(report) == [100.0, opened]
    assert report.trades[0].exit_reason == reason
    assert report.equity[-1] == left


def test_a_borrow_fee_comes_to_its_rate_over_a_year_of_bars_and_not_of_days(play):
    """252 closes at 5% on 10,000, weekends among them or not: 500 a year; the trade bears it."""
    plan = {0: lambda s: s.sell(100), 252: lambda s: s.close()}
    report = play([100] * 254, plan, account=AccountKind.MARGIN, instrument={"borrow_bps_per_year": 500.0})
    assert report.equity[-1] == pytest.approx(99_500.0)
    assert report.trades[0].pnl == pytest.approx(-500.0)


def test_a_fee_at_the_ruin_takes_no_more_than_everything(play):
    """Short 1,000 at 100, f = 10 bps: ruin where 200,000 - 100 = 1,000 p, at 199.9; the fee of the way out is beyond zero."""
    report = play(
        [100, 100, (150, 250, 140, 150)],
        {0: lambda s: s.sell(1000)},
        account=AccountKind.MARGIN,
        costs=Costs(fee_bps=10),
    )
    assert path(report) == pytest.approx([100.0, 199.9])
    assert report.ruined
    assert report.equity[-1] == 0.0


@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_a_margin_account_that_must_own_everything_can_hold_it(play, weight):
    """Maintenance 100%: 1,000 long at 100 are paid for at any price; 1,000 short need 2 * 100 at once: 200,000 / 2,000 = 100."""
    margin = {"initial_margin": 1.0, "maintenance_margin": 1.0}
    report = play(
        [100, 100, (100, 101, 50, 60)], {0: lambda s: s.target(weight)}, account=AccountKind.MARGIN, instrument=margin
    )
    assert report.position[-1] == (1000.0 if weight > 0 else 0.0)
    assert [trade.exit_reason for trade in report.trades] == ([] if weight > 0 else ["margin"])


def test_slippage_is_part_of_what_must_be_affordable(play):
    """All of 100,000 at 100 with 1% slippage and 1% fee: 100,000 / (101 * 1.01) units, and not a cent below zero."""
    report = play([100, 100], {0: lambda s: s.buy()}, costs=Costs(fee_bps=100, slippage_bps=100))
    assert report.fills[0].quantity == pytest.approx(100_000 / (101 * 1.01))
    cash = report.equity[-1] - report.position[-1] * 100
    assert 0.0 <= cash < 1e-6


def test_two_resting_buys_cannot_spend_the_same_cash(play):
    """Each of 600 at 100 is affordable, both are not: the first fills, the second is refused with 40,000 left."""
    plan = {0: several(lambda s: s.buy(600, limit=100), lambda s: s.buy(600, limit=100))}
    report = play([101, (101, 101, 99, 100)], plan)
    assert [fill.order_id for fill in report.fills] == [1]
    assert report.refused[0].reason == "insufficient cash: need 60000.00, have 40000.00"


def test_many_slices_leave_exactly_nothing(play):
    """0.1 bought ten times and sold ten times: the sum of floats is 2.8e-17 off and the position is zero all the same."""
    plan = dict.fromkeys(range(10), lambda s: s.buy(0.1)) | dict.fromkeys(range(10, 20), lambda s: s.sell(0.1))
    report = play([100] * 22, plan)
    assert len(report.fills) == 20
    assert report.position[-1] == 0.0
    assert report.equity[-1] - 100_000 == pytest.approx(math.fsum(trade.pnl for trade in report.trades))


def test_the_fees_of_a_partial_exit_are_its_share(play):
    """10 at 100 at 1%: 10 of entry fee; half out at 110: 50 - (5 + 5.5) = 39.5; the rest at 120: 100 - (5 + 6) = 89."""
    plan = {0: lambda s: s.buy(10), 1: lambda s: s.sell(5), 2: lambda s: s.close()}
    report = play([100, 100, 110, 120], plan, costs=Costs(fee_bps=100))
    assert [trade.pnl for trade in report.trades] == [pytest.approx(39.5), pytest.approx(89.0)]
    assert report.equity[-1] == pytest.approx(100_128.5)


def test_every_fee_is_paid_once_on_each_side(play):
    """Per unit and at least a minimum: 10 * 0.01 = 0.1 is lifted to 1; 1,000 * 0.01 = 10 is not."""
    costs = Costs(fee_bps=0, fee_per_unit=0.01, fee_minimum=1)
    plan = {0: lambda s: s.buy(10), 1: lambda s: s.close(), 2: lambda s: s.buy(1000), 3: lambda s: s.close()}
    report = play([10] * 5, plan, costs=costs)
    assert [fill.fee for fill in report.fills] == [1.0, 1.0, 10.0, 10.0]
    assert report.equity[-1] == 100_000 - 22


def test_a_sale_pays_for_a_buy_of_the_same_open(play):
    """Rotation at one open: without the sale's 100,000 the buy would be refused."""
    plan = {0: lambda s: s.buy(1000), 1: several(lambda s: s.buy(900), lambda s: s.sell(1000))}
    report = play([100, 100, 100], plan)
    assert report.refused_count == 0
    assert report.position[-1] == 900.0


# More of the same kinds: ruin and figures -----------------------------------------------------------------------------


def test_a_leveraged_long_is_ruined_at_the_low_though_the_close_recovers(play):
    """2,000 at 100 on 100,000: gone at 50; the bar 95/96/45/99 closes as if nothing had been."""
    report = play([100, 100, (95, 96, 45, 99), 150], {0: lambda s: s.buy(2000)}, **MARGIN)
    assert report.ruined
    assert report.fills[-1].price == 50.0
    assert report.equity.tolist() == [100_000.0, 100_000.0, 100_000.0, 0.0, 0.0]


def test_ruin_counts_the_fees_that_are_already_paid(play):
    """1,900 at 100 with 1%: 1,900 of fees, cash -91,900: gone at 91,900 / 1,900 = 48.37, not at 47.37."""
    report = play([100, 100, (95, 96, 48, 99)], {0: lambda s: s.buy(1900)}, costs=Costs(fee_bps=100), **MARGIN)
    assert report.fills[-1].price == pytest.approx(91_900 / 1900)
    assert report.ruined


def test_returns_stop_at_a_ruin(play, bars_of):
    """Nothing is divided by zero or by a negative equity after it; the bar of the ruin is -100%."""
    ohlc = [100] * 35 + [(150, 210, 140, 150)] + [100] * 20
    report = play(ohlc, {0: lambda s: s.sell(999)}, **MARGIN)
    figures = measure(report, bars_of(ohlc), RunConfig(**MARGIN))
    assert figures.total_return == -1.0
    assert figures.cagr is None or figures.cagr == -1.0
    assert np.isfinite(drawdowns(report.equity)).all()


@pytest.mark.parametrize("growth", [0.0, 0.001, 1e-9, -0.001])
def test_a_constant_return_has_no_sharpe(growth):
    """The standard deviation of equal floats is 1e-19, and a ratio of it 1e16: noise is none, not the best of all."""
    assert sharpe_ratio(np.full(200, growth), 252) is None
    curve = 100 * (1 + growth) ** np.arange(200)
    assert sharpe_ratio(curve[1:] / curve[:-1] - 1, 252) is None


def test_flat_bars_count_in_a_ratio(play, bars_of):
    """In the market on a tenth of the bars only: the flat ones are returns of zero, not left out."""
    generator = np.random.default_rng(3)
    ohlc = (100 * np.exp(np.cumsum(generator.normal(0.002, 0.01, 400)))).tolist()
    report = play(ohlc, {0: lambda s: s.buy(), 40: lambda s: s.close()})
    figures = measure(report, bars_of(ohlc), RunConfig(costs=Costs(fee_bps=0)))
    returns = report.equity[1:] / report.equity[:-1] - 1
    assert len(returns) == 400
    assert figures.sharpe == pytest.approx(returns.mean() / returns.std(ddof=1) * math.sqrt(252))


def test_an_open_position_at_the_end_is_marked_and_not_sold(play, bars_of):
    """backtesting.py's finalize_trades books an exit that nobody made: no trade, no second fee, equity at the close."""
    report = play([100, 100, 120], {0: lambda s: s.buy(10)}, costs=TEN_BPS)
    assert len(report.fills) == 1
    assert report.trades == ()
    assert report.equity[-1] == pytest.approx(100_000 - 1 + 200)
    assert measure(report, bars_of([100, 100, 120]), RunConfig(costs=TEN_BPS)).trades == 0


# More of the same kinds: data and memory ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([("2024-01-02", 5, 6, 4, 5, 1), ("2024-01-01", 5, 6, 4, 5, 1), ("2024-01-03", 5, 6, 4, 5, 1)], "unsorted"),
        ([("2024-01-01", 5, 6, 4, 5, 1), ("2024-01-02", 5, 6, 4, 5, 1), ("2024-01-02", 5, 6, 4, 5, 1)], "duplicate"),
        ([("2024-01-01", 5, 4, 6, 5, 1), ("2024-01-02", 5, 6, 4, 5, 1), ("2024-01-03", 5, 6, 4, 5, 1)], "high-low"),
        ([("2024-01-01", 5, 6, 4, 5, 1), ("2024-01-02", 0, 6, 0, 5, 1), ("2024-01-03", 5, 6, 4, 5, 1)], "not-positive"),
        (
            [("2024-01-01", 5, 6, 4, 5, 1), ("2024-01-02", 5, 6, 4, 5, -1), ("2024-01-03", 5, 6, 4, 5, 1)],
            "negative-volume",
        ),
    ],
)
def test_bars_that_other_engines_read_as_they_come_are_refused(rows, rule):
    """backtesting.py sorts with a warning and takes doubles and high < low; backtrader reads what comes."""
    stamps, *columns = zip(*rows, strict=True)
    bars = Bars(
        instrument=Instrument(symbol="X", bars_per_year=365),
        timeframe=Timeframe(DAY),
        ts=np.array([parse_stamp(stamp) for stamp in stamps]),
        **{
            name: np.array(column, dtype=float)
            for name, column in zip(("open", "high", "low", "close", "volume"), columns, strict=True)
        },
    )
    assert rule in {issue.rule for issue in check_quality(bars).errors}


def test_no_strategy_reads_a_bar_that_is_still_to_come():
    """A series has no index from 0 on, and its slices end at the current bar."""
    told = []

    class Peek(Strategy):
        def on_start(self):
            self.series = self.indicator("SMA", timeperiod=2)

        def on_bar(self, bar):
            told.append((bar.close, self.series[-1:], self.history(99)[-1].close))
            for index in (0, 1, 5):
                with pytest.raises(StrategyError, match="read backwards"):
                    self.series[index]

    close = np.arange(1.0, 9.0)
    bars = Bars(
        instrument=Instrument(symbol="X", bars_per_year=365),
        timeframe=Timeframe(DAY),
        ts=np.arange(8) * DAY,
        **dict.fromkeys(("open", "high", "low", "close", "volume"), close),
    )
    report = run_strategy(Peek, bars, RunConfig())
    assert report.failure is None
    assert told == [(c, (c - 0.5,), c) for c in close[2:]]


def test_time_goes_forward_in_equal_steps_through_a_change_of_the_clocks():
    """A strategy's clock is UTC: no hour comes twice in autumn and none is missing in spring."""
    told = []

    class Watch(Strategy):
        def on_bar(self, bar):
            told.append(self.clock.now())

    start = parse_stamp("2024-11-03T00:00-04:00")
    bars = Bars(
        instrument=Instrument(symbol="X", bars_per_year=8760),
        timeframe=Timeframe(3600),
        ts=start + np.arange(25) * 3600,
        **{name: np.ones(25) for name in ("open", "high", "low", "close", "volume")},
    )
    run_strategy(Watch, bars, RunConfig())
    assert {b - a for a, b in pairwise(told)} == {timedelta(hours=1)}
