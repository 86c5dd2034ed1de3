"""The session: warm-up, hooks, caps, delays, and the numbering of what happens."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.kernel import RunConfig, RunEnd, RunLimits, run_strategy
from runtime.model import Side
from runtime.strategy import Strategy


@pytest.fixture
def wavy(bars_of):
    """Forty bars that go up and down."""
    closes = 100 + 5 * np.sin(np.arange(40) / 3)
    return bars_of([(c - 0.5, c + 1, c - 1, c) for c in closes])


class Recorder(Strategy):
    def on_start(self):
        self.seen = []

    def on_bar(self, bar):
        self.seen.append(bar)
        self.log(f"{self.bar_count} {bar.ts:%d}")


# Warm-up ------------------------------------------------------------------------------------------------------------


def test_the_first_bar_is_the_first_one_without_declarations(wavy):
    report = run_strategy(Recorder, wavy, RunConfig())
    assert report.first_tradable_bar == 0
    assert report.log[0].startswith("1 ")


def test_nothing_is_decided_before_the_start_row(wavy):
    report = run_strategy(Recorder, wavy, RunConfig(start=7))
    assert report.first_tradable_bar == 7
    assert report.log[0] == f"1 {wavy.rows()[7].ts:%d}"


def test_the_first_bar_has_this_and_the_previous_value_of_every_series(wavy):
    class Declares(Strategy):
        def on_start(self):
            self.fast = self.indicator("SMA", timeperiod=3)
            self.slow = self.indicator("SMA", timeperiod=10)

        def on_bar(self, bar):
            if self.bar_count == 1:
                self.log(f"{self.fast[-2]:.6f} {self.slow[-2]:.6f} {self.slow[-1]:.6f} {self.slow[-3]}")

    report = run_strategy(Declares, wavy, RunConfig())
    means = [wavy.close[i - 9 : i + 1].mean() for i in (9, 10)]
    assert report.first_tradable_bar == 10
    assert report.log == (f"{wavy.close[7:10].mean():.6f} {means[0]:.6f} {means[1]:.6f} nan",)


@pytest.mark.parametrize(("need", "first"), [(1, 0), (5, 4), (40, 39)])
def test_need_waits_until_so_many_bars_exist(wavy, need, first):
    class Needs(Strategy):
        def on_start(self):
            self.need(need)

        def on_bar(self, bar):
            if self.bar_count == 1:
                self.log(len(self.history(need)))

    report = run_strategy(Needs, wavy, RunConfig())
    assert report.first_tradable_bar == first
    assert report.log == (str(need),)


def test_a_warm_up_longer_than_the_bars_never_calls_the_strategy(bars_of):
    class Long(Strategy):
        def on_start(self):
            self.indicator("SMA", timeperiod=30)

        def on_bar(self, bar):
            raise AssertionError

    report = run_strategy(Long, bars_of([100] * 20), RunConfig())
    assert report.end is RunEnd.FINISHED
    assert report.first_tradable_bar is None
    assert report.equity.tolist() == [100_000.0] * 21


def test_the_longest_allowed_lookback_is_defined_after_250_bars_of_warm_up(bars_of):
    class Longest(Strategy):
        def on_start(self):
            self.slow = self.indicator("SMA", timeperiod=250)

        def on_bar(self, bar):
            if self.bar_count == 1:
                self.log(self.slow[-1], self.slow[-2])

    report = run_strategy(Longest, bars_of([100] * 260), RunConfig(start=250))
    assert report.first_tradable_bar == 250
    assert report.log == ("100.0 100.0",)


def test_an_empty_series_of_bars_gives_an_empty_report(bars_of):
    report = run_strategy(Recorder, bars_of([100]).between(0, 0), RunConfig())
    assert report.end is RunEnd.FINISHED
    assert report.equity.tolist() == [100_000.0]


# Hooks --------------------------------------------------------------------------------------------------------------


def test_on_fill_comes_just_before_on_bar_of_the_same_bar_and_sees_the_new_position(bars_of):
    class Hooks(Strategy):
        def on_fill(self, fill):
            self.log("fill", fill.quantity, self.position, self.history(1)[0].close)

        def on_bar(self, bar):
            self.log("bar", bar.close)
            if self.flat:
                self.buy(1)

        def on_stop(self):
            self.log("stop", self.equity)

    report = run_strategy(Hooks, bars_of([100, 101, 102]), RunConfig())
    assert report.log == ("bar 100.0", "fill 1.0 1.0 101.0", "bar 101.0", "bar 102.0", "stop 100000.899")


def test_orders_from_on_fill_count_as_that_bars(bars_of):
    class Exits(Strategy):
        def on_fill(self, fill):
            if fill.side is Side.BUY:
                self.close()

        def on_bar(self, bar):
            if self.bar_count == 1:
                self.buy(1)

    report = run_strategy(Exits, bars_of([100, 101, 102]), RunConfig())
    assert [fill.price for fill in report.fills] == [101.0, 102.0]
    assert [entry.row for entry in report.order_log] == [0, 1]


def test_orders_from_on_start_are_refused(bars_of):
    class Early(Strategy):
        def on_start(self):
            self.buy(1)
            self.target(0.5)

        def on_bar(self, bar):
            if self.bar_count == 1:
                self.log(self.buy(1))

    bars = bars_of([100, 101, 102])
    report = run_strategy(Early, bars, RunConfig())
    assert report.refused_count == 2
    assert report.refused[0].reason == "orders from on_start are refused: ask in on_bar"
    assert report.refused[0].ts == bars.rows()[0].ts
    assert len(report.fills) == 1
    assert report.log == ("1",)


def test_state_is_the_one_after_the_bars_fills(play):
    seen = []

    def note(s):
        seen.append((s.flat, s.long, s.short, s.position, s.entry_price, s.cash, s.equity))

    play([100, 100, 110], {0: lambda s: (note(s), s.buy(10)), 1: note, 2: note})
    assert seen == [
        (True, False, False, 0.0, None, 100_000.0, 100_000.0),
        (False, True, False, 10.0, 100.0, 99_000.0, 100_000.0),
        (False, True, False, 10.0, 100.0, 99_000.0, 100_100.0),
    ]


# Order numbers, log and caps --------------------------------------------------------------------------------------------


def test_ids_count_orders_and_not_cancels(play):
    ids = []

    def ask(s):
        ids.append(s.buy(1, limit=50))
        s.cancel(99)
        ids.append(s.target(0.1))
        ids.append(s.close())

    play([100] * 3, {0: ask})
    assert ids == [1, 2, 3]


def test_the_order_log_says_exactly_what_was_asked(play):
    def ask(s):
        s.buy(0.1 + 0.2, limit=99, stop_loss=0.05, tag="in")
        s.cancel()
        s.target(1 / 3)

    report = play([100] * 2, {0: ask})
    assert [entry.action for entry in report.order_log] == [
        "1 buy quantity=0.30000000000000004 limit=99.0 stop_loss=0.05 tag='in'",
        "cancel all",
        "2 target quantity=0.3333333333333333",
    ]


def test_too_many_orders_on_one_bar_flood_the_run(play):
    def flood(s):
        for _ in range(11):
            s.buy(1)

    report = play([100] * 5, {1: flood}, limits=RunLimits(orders_per_bar=10))
    assert report.end is RunEnd.FLOODED
    assert report.fills == ()
    assert len(report.equity) == 6


def test_too_many_orders_over_the_run_flood_it(play):
    plan = {row: lambda s: s.buy(1, limit=1) for row in range(9)}
    assert play([100] * 9, plan, limits=RunLimits(orders_per_run=8)).end is RunEnd.FLOODED
    assert play([100] * 9, plan, limits=RunLimits(orders_per_run=9)).end is RunEnd.FINISHED


def test_an_endless_stream_of_orders_keeps_little_memory(play):
    def endless(s):
        for _ in range(100_000):
            s.cancel()

    report = play([100] * 2, {0: endless})
    assert report.end is RunEnd.FLOODED


def test_refusals_are_capped_in_the_list_but_not_in_the_count(play):
    def wrong(s):
        for _ in range(50):
            s.buy(-1)

    report = play([100] * 4, dict.fromkeys(range(3), wrong))
    assert (len(report.refused), report.refused_count) == (100, 150)


def test_the_log_is_capped_and_escaped(play):
    def chatter(s):
        for _ in range(1000):
            s.log("x" * 10_000 + "\n")
        s.log("never")

    report = play([100], {0: lambda s: (s.log("a\nb\ud800"), chatter(s))})
    assert report.log[0] == "a\\nb\\ud800"
    assert len(report.log) == 200
    assert len(report.log[1]) == 500


def test_a_position_of_a_failed_run_is_marked_to_the_end(play):
    def fail(s):
        raise ValueError

    report = play([100, 100, 110, 120], {0: lambda s: s.buy(1), 2: fail})
    assert report.end is RunEnd.FAILED
    assert report.equity.tolist() == [100_000.0, 100_000.0, 100_000.0, 100_010.0, 100_020.0]


def test_open_orders_during_a_delay_are_listed(play):
    seen = []
    play([100] * 4, {0: lambda s: s.buy(1), 1: lambda s: seen.append(len(s.open_orders))}, decision_delay=2)
    assert seen == [1]


def test_only_so_many_orders_may_wait_and_cancels_always_pass(play):
    """Every bar is matched against every waiting order, here and again wherever the report is read."""

    def ask(s):
        for _ in range(3):
            s.buy(1, limit=50)

    plan = {0: ask, 1: ask, 2: lambda s: s.cancel(), 3: ask}
    report = play([100] * 6, plan, limits=RunLimits(open_orders=4))
    assert [refusal.reason for refusal in report.refused] == ["too many open orders: at most 4 may wait"] * 2
    assert report.open_orders == 3
