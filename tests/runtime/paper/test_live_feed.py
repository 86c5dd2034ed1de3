"""A run on bars that come over HTTP: a server that speaks klines and misbehaves, and a clock that both sides share."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from runtime.market import Bars
from runtime.market.feeds import Feed, Klines, Limits, Timing
from runtime.market.feeds.transport import HttpTransport
from runtime.market.sessions import US_EQUITIES
from runtime.model import Instrument, Timeframe
from runtime.paper.audit import read_lines
from runtime.paper.clocks import ReplayClock
from runtime.paper.feed import Market, Outage
from runtime.paper.live_feed import LiveFeed
from runtime.paper.resume import read_run
from runtime.paper.runner import Faults
from runtime.paper.values import RunStatus
from runtime.store import reading

MINUTE, HALF_HOUR = 60, 1_800
SYMBOL = "BTCUSDT"
FIRST = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp())
WARM, LIVE = 40, 18
STEADY = Faults(streak=10)


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)


def truth(server, stamps, step):
    """The bars that the server has, as a set would hold them."""
    rows = np.array([[float(each) for each in server.bar(SYMBOL, ts, step)] for ts in stamps])
    instrument = Instrument(symbol=SYMBOL, bars_per_year=525_600.0)
    columns = dict(zip(("open", "high", "low", "close", "volume"), rows.T.copy(), strict=True))
    return Bars(instrument=instrument, timeframe=Timeframe(step), ts=np.array(stamps), **columns)


class Night:
    """A desk, a server and the one clock that they share."""

    def __init__(self, desk, server, stamps, step, market, holes=()):
        self.desk, self.step = desk, step
        self.stamps = stamps
        desk.market = market
        self.clock = ReplayClock(at(stamps[WARM]))
        self.server = server.KlinesServer(listed=FIRST, clock=self.now, holes=holes)
        self.transport = HttpTransport(self.server.base_url, {})
        self.polled = []
        limits = Limits(attempts=1, per_minute=6_000, deadline_s=30.0)
        timing = Timing(now=self.clock.now, monotonic=self.now, sleep=lambda _: None, jitter=random.Random(1))
        source = Feed(name="loopback", dialect=Klines(), limits=limits)
        self.feed = LiveFeed(source, self.transport, SYMBOL, Timeframe(step), timing)

    def now(self):
        return self.clock.now().timestamp()

    def polls(self):
        """The run's clock at each request, by watching the feed."""
        night, polled = self, self.polled

        class Watched:
            is_over = False

            def bars(self, after, now):
                polled.append(now.timestamp())
                return night.feed.bars(after, now)

            def clock(self, now):
                return night.feed.clock(now)

        return Watched()

    def run(self, plan=(), **changes):
        """Run to the end of the bars; the plan is for the first polls of the run."""
        self.server.plan.extend(plan)
        run = self.desk.book.open(self.desk.order())
        options = {
            "feed": self.polls(),
            "clock": self.clock,
            "until": at(self.stamps[-1] + self.step + 1),
            "faults": STEADY,
            "most_gap": 2.0,
        }
        return run, self.desk.run(run, **(options | changes))

    def notes(self):
        with reading(self.desk.engine) as session:
            lines = [json.loads(line) for line in read_lines(session)]
        return [note["what"] for line in lines for note in line["body"].get("notes", [])]

    def close(self):
        self.transport.close()
        self.server.close()


@pytest.fixture
def night(tmp_path, desk_of, klines_server):
    stamps = [FIRST + MINUTE * row for row in range(WARM + LIVE)]
    desk = desk_of(truth(klines_server, stamps, MINUTE))
    night = Night(desk, klines_server, stamps, MINUTE, Market(timeframe=Timeframe(MINUTE)))
    yield night
    night.close()


def assert_backtest(night, run, *, fewest=3):
    """The run has the backtest's fills and books to the last bit."""
    backtest = night.desk.backtest()
    with reading(night.desk.engine) as session:
        stored = read_run(session, run)
    assert tuple(each.bar for each in stored.bars) == tuple(night.desk.bars.rows()[WARM:])
    assert stored.fills == backtest.fills
    assert len(stored.fills) >= fewest
    state = json.loads(stored.state)
    assert state["cash"] + state["position"] * night.desk.bars.close[-1] == backtest.equity[-1]


def test_a_night_on_live_bars_has_the_backtests_fills_and_polls_once_at_each_close(night):
    run, ending = night.run()
    assert (ending.status, "its time was over" in ending.reason) == (RunStatus.FINISHED, True)
    assert_backtest(night, run)
    # Each bar once, a moment after its close; nothing between. The first poll is at the start and the last at the end.
    ends = [ts + MINUTE for ts in night.stamps[WARM:]]
    assert night.polled == [night.stamps[WARM], *(end + 0.25 for end in ends), ends[-1] + 1]
    assert night.notes() == []
    assert night.server.seen[-1].query["symbol"] == SYMBOL


def test_no_bar_is_taken_before_both_clocks_say_that_it_is_closed(night):
    taken = []

    class Watch:
        def took(self, run, step, books):
            taken.append((night.now() - (step.bar.ts.timestamp() + MINUTE), night.server.market.clock()))

        def faulted(self, run, reason, pause_s):
            raise AssertionError(reason)

    night.run(["date-back", "date-ahead", "early"] * 6, watch=Watch())
    assert len(taken) == LIVE
    assert min(late for late, _ in taken) >= 0.0


# What the feed does at some polls in the middle, and what the audit log says of it. The fills are the backtest's each time.
BORNE = {
    "outages of all kinds": (
        ["plain"] * 2 + ["429", "429-date", "418", "500"] + ["plain"] * 2 + ["503", "reset", "cut", "cut-json"] + ["plain"] * 2
        + ["html", "deep", "compressed", "flood"], []),
    "nothing, and a hole that closes": (["plain"] * 2 + ["empty"] * 3 + ["plain"] * 3 + ["gap"] + ["plain"] * 3 + ["vanished"], []),
    "clocks and bars that are ahead": (["plain"] * 3 + ["date-ahead"] * 3 + ["early"] * 3, []),
    "a clock of the past": (["plain"] * 4 + ["date-back"] * 20, []),
    "a bar of before that changed": (["plain"] * 5 + ["changed"], ["revised"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BORNE)
def test_what_passes_is_borne_and_no_bar_is_skipped_doubled_or_traded_otherwise(night, name):
    plan, notes = BORNE[name]
    run, ending = night.run(plan)
    assert ending.status is RunStatus.FINISHED, ending.reason
    assert not night.server.plan
    assert_backtest(night, run)
    assert night.notes() == notes


# What is surely wrong ends the run at once, with a sentence.
ENDED = {
    "nan": "must be a finite number",
    "infinity": "must be a finite number",
    "negative": "not above 0, or the volume below it",
    "high-low": "do not enclose",
    "doubled": "is there twice",
    "disorder": "in time order",
    "object": "answers with an array of arrays",
    "other-step": "which is not a bar of 1m",
    "short-row": "a kline is an array of 12 fields",
    "jump": "more than 2 times off: a split, or another market",
    "other-prices": "this is not the market that it was",
    "shifted": "begins before the one before it ended",
    "403": "it answered 403",
    "451": "restricted location",
    "redirect": "a redirect to 'elsewhere.example', which is not followed",
}


@pytest.mark.parametrize("mode", ENDED)
def test_a_feed_that_lies_ends_the_run_at_once_and_says_how(night, mode):
    run, ending = night.run(["plain"] * 4 + [mode])
    assert (ending.status, ending.reason.startswith("feed: ")) == (RunStatus.FAILED, True)
    assert ENDED[mode] in ending.reason
    assert len(night.server.seen) == 5  # and it is not asked again
    told = night.desk.book.get(run)
    assert (told.status, told.reason) == (RunStatus.FAILED, ending.reason)


def test_bars_that_were_missed_in_an_outage_are_taken_in_order_and_waits_grow_up_to_the_cap(night):
    paused = []

    class Watch:
        taken = 0

        def took(self, run, step, books):
            self.taken += 1

        def faulted(self, run, reason, pause_s):
            paused.append(pause_s)

    run, ending = night.run(["plain"] * 5 + ["503"] * 9, watch=Watch(), faults=Faults(streak=10, most_s=100.0))
    assert ending.status is RunStatus.FINISHED
    assert paused == [7.0, 7.0, 7.0, 8.0, 16.0, 32.0, 64.0, 100.0, 100.0]  # as long as the feed asks for, at least
    assert_backtest(night, run)


def test_an_outage_that_is_too_long_ends_the_run_and_it_goes_on_later_with_every_bar(night):
    run, ending = night.run(["plain"] * 5 + ["500"] * 4, faults=Faults(streak=4))
    assert (ending.status, "4 faults in a row, the last one: feed: it answered 500" in ending.reason) == (
        RunStatus.FAILED,
        True,
    )
    night.clock.wait(at(night.stamps[-4]), lambda: False)
    night.desk.book.reopen(run, by="Ann")
    options = {"feed": night.polls(), "clock": night.clock, "until": at(night.stamps[-1] + MINUTE + 1)}
    assert night.desk.run(run, **options, faults=STEADY, most_gap=2.0).status is RunStatus.FINISHED
    assert_backtest(night, run)


def test_a_feed_that_answers_nothing_in_time_is_an_outage_that_passes(night, klines_server):
    limits = Limits(attempts=1, call_s=0.05, deadline_s=30.0)
    timing = Timing(now=night.clock.now, monotonic=night.now, sleep=lambda _: None, jitter=random.Random(1))
    source = Feed(name="slow", dialect=Klines(), limits=limits)
    for mode in ("hold", "drip"):
        night.server.plan.append(mode)
        feed = LiveFeed(source, night.transport, SYMBOL, Timeframe(MINUTE), timing)
        answer = feed.bars(night.stamps[WARM], night.clock.now())
        assert isinstance(answer, Outage)
        assert answer.passes


def test_a_feed_that_bans_for_days_is_asked_again_sooner():
    faults = Faults(first_s=1.0, most_s=60.0, asked_s=900.0)
    assert faults.pause_s(1, 7.0) == 7.0
    assert faults.pause_s(5, 7.0) == 16.0
    assert faults.pause_s(1, 1e6) == 900.0
    assert faults.pause_s(9) == 60.0


def test_a_missing_bar_is_noted_and_none_is_made_up(night, klines_server):
    hole = night.stamps[WARM + 5]
    night.server.market = replace(night.server.market, holes=frozenset({hole}))
    run, ending = night.run()
    assert ending.status is RunStatus.FINISHED
    assert night.notes() == ["missing"]
    stamps = [ts for ts in night.stamps if ts != hole]
    night.desk.bars = truth(klines_server, stamps, MINUTE)
    assert_backtest(night, run)


def test_the_forming_bar_is_never_taken(night):
    """The server gives it at every poll."""
    stop = at(night.stamps[WARM + 4] + 30)
    run, ending = night.run(until=stop)
    assert ending.status is RunStatus.FINISHED
    with reading(night.desk.engine) as session:
        stored = read_run(session, run)
    assert stored.last == night.stamps[WARM + 3]
    body = night.feed.bars(night.stamps[WARM + 3], night.clock.now())
    assert int(body[-1].ts.timestamp()) == night.stamps[WARM + 4]


def test_over_a_weekend_nobody_asks_for_bars(desk_of, klines_server):
    """New York, from Friday noon to Monday: polls follow the session's bars, daylight saving included."""
    days = [int(datetime(2026, 3, day, tzinfo=UTC).timestamp()) // 86_400 for day in (4, 5, 6, 9)]
    stamps = [
        ts
        for day in days
        for ts in range(US_EQUITIES.opening(day), US_EQUITIES.closing(day), HALF_HOUR)
    ][:48]  # fmt: skip
    holes = set(range(stamps[0], stamps[-1], HALF_HOUR)) - set(stamps)
    desk = desk_of(truth(klines_server, stamps, HALF_HOUR))
    market = Market(timeframe=Timeframe(HALF_HOUR), calendar=US_EQUITIES)
    night = Night(desk, klines_server, stamps, HALF_HOUR, market, holes)
    try:
        run, ending = night.run()
    finally:
        night.close()
    assert ending.status is RunStatus.FINISHED
    assert_backtest(night, run, fewest=0)
    assert night.notes() == []
    ends = [ts + HALF_HOUR for ts in stamps[WARM:]]
    assert night.polled == [stamps[WARM], *(end + 0.25 for end in ends), ends[-1] + 1]


def test_polls_that_only_bring_old_bars_write_nothing(night):
    """A feed that is late is asked again and again; the log must not grow by that."""
    run, _ = night.run(["plain"] * 5 + ["date-back"] * 12)
    with reading(night.desk.engine) as session:
        lines = [json.loads(line)["what"] for line in read_lines(session)]
    assert set(lines) <= {"deploy", "start", "warm-up", "bar", "end"}
    assert re.fullmatch(r"t-\d{8}-[0-9a-f]{6}", run)


def test_a_clock_that_is_set_is_written_down_and_no_bar_is_lost(night):
    jumps = iter([0.0] * 5 + [3_600.0] + [0.0] * 1_000)
    night.clock.jump_s = lambda: next(jumps)
    run, _ = night.run()
    assert_backtest(night, run)
    with reading(night.desk.engine) as session:
        lines = [json.loads(line) for line in read_lines(session)]
    assert [line["body"] for line in lines if line["what"] == "clock"] == [{"jumped_s": 3_600.0}]


def test_a_clock_that_was_set_ahead_trades_nothing_that_the_feed_says_is_open(night):
    """Ours says that an hour has passed, and the feed's date does not."""
    ahead = [0.0]
    real = night.clock.now
    night.clock.now = lambda: real() + timedelta(seconds=ahead[0])
    night.server.market = replace(night.server.market, clock=lambda: real().timestamp())
    taken = []

    class Watch:
        def took(self, run, step, books):
            taken.append(real().timestamp() - step.bar.ts.timestamp() - MINUTE)
            if len(taken) == 6:
                ahead[0] = 3_600.0

        def faulted(self, run, reason, pause_s):
            raise AssertionError(reason)

    night.run(watch=Watch(), until=at(night.stamps[-1] + MINUTE + 3_601))
    assert len(taken) >= LIVE
    assert min(taken) >= 0.0
