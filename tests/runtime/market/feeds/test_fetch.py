"""Page after page over real HTTP: all closed bars once, whatever happens on the way, or an end that says which bar is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runtime.market import DataError, find_calendar
from runtime.market.calendar import DAY_S, HOUR_S, parse_stamp
from runtime.market.feeds import Feed, Fetched, JsonRows, Klines, Limits, PageStyle, Stop, Stopped
from runtime.market.feeds.fetch import OVERLAP_BARS, compare_history, fetch
from runtime.market.feeds.spool import open_spool
from runtime.market.quality import gaps
from runtime.model import Timeframe


@pytest.fixture
def run(tmp_path, call):
    """``run(want, feed, server)``: one fetch; the spool stays in the home between runs."""
    steps = []

    def one(want, feed, server, limits=None):
        with open_spool(tmp_path / "home", repr((want.symbol, want.start))) as spool:
            return fetch(want, feed, spool, call(server, limits), steps.append)

    one.steps = steps
    return one


def truth(klines_server, want, *, holes=()):
    stamps = [each for each in range(want.start, want.stop, want.timeframe.seconds) if each not in holes]
    rows = [klines_server.bar(want.symbol, each, want.timeframe.seconds) for each in stamps]
    return np.array(stamps), np.array(rows, dtype=np.float64).T


def assert_true(klines_server, fetched, want, **options):
    assert isinstance(fetched, Fetched), fetched
    ts, columns = truth(klines_server, want, **options)
    assert fetched.bars.ts.tolist() == ts.tolist()
    found = [getattr(fetched.bars, name) for name in ("open", "high", "low", "close", "volume")]
    assert np.array_equal(found, columns)
    assert fetched.bars.timeframe == want.timeframe


def test_all_pages_make_the_whole_and_nothing_twice(run, serve, klines_server, klines_feed, hourly):
    want, server = hourly(0, 450), serve()
    fetched = run(want, klines_feed, server)
    assert_true(klines_server, fetched, want)
    # 100 bars, then 99 new ones a page: every edge is asked for twice.
    assert fetched.requests == len(server.seen) == 5
    assert (fetched.resumed_bars, fetched.not_closed) == (0, 0)
    assert [step.bars for step in run.steps] == [100, 199, 298, 397, 450]
    assert fetched.bars.instrument.bars_per_year == 8_760


@pytest.mark.parametrize(
    "mode", ["429", "429-date", "429-none", "418", "500", "503", "reset", "cut", "cut-json", "html", "deep"]
)
@pytest.mark.parametrize("number", [0, 2])
def test_a_passing_fault_changes_nothing_but_the_time(
    run, serve, world, klines_server, klines_feed, hourly, mode, number
):
    want = hourly(0, 300)
    fetched = run(want, klines_feed, serve(*["plain"] * number, mode))
    assert_true(klines_server, fetched, want)
    assert fetched.requests == 5
    if mode in {"429", "429-date", "503"}:
        assert world.slept == [klines_server.RETRY_AFTER_S]
    if mode == "418":
        assert world.slept == [10 * klines_server.RETRY_AFTER_S]


@pytest.mark.parametrize(
    ("plan", "stop", "words"),
    [
        (["500"] * 6, Stop.UNREACHABLE, "it answered 500 ('An unknown error occurred.') (after 6 attempts)"),
        (["html"] * 6, Stop.UNREADABLE, "a web page instead of JSON"),
        (["418-none"], Stop.LIMITED, "banned for a while"),
        (["redirect"], Stop.REFUSED, "a redirect to 'elsewhere.example', which is not followed"),
        (["451"], Stop.REFUSED, "restricted location"),
        (["403"], Stop.REFUSED, "it answered 403"),
        (["compressed"], Stop.UNREADABLE, "compressed"),
    ],
)
def test_a_lasting_fault_ends_it_and_the_next_run_goes_on(
    run, serve, klines_server, klines_feed, hourly, plan, stop, words
):
    want, server = hourly(0, 300), serve("plain", *plan)
    stopped = run(want, klines_feed, server)
    assert isinstance(stopped, Stopped)
    assert stopped.stop is stop
    assert words in stopped.reason
    fetched = run(want, klines_feed, server)
    assert_true(klines_server, fetched, want)
    assert fetched.resumed_bars == 100


def test_the_deadline_holds_for_the_whole_and_the_next_run_goes_on(run, serve, klines_server, klines_feed, hourly):
    want, server = hourly(0, 450), serve()
    slow = Limits(per_minute=6, burst=1, deadline_s=25)
    stopped = run(want, klines_feed, server, slow)
    assert (stopped.stop, len(server.seen)) == (Stop.DEADLINE, 3)
    assert_true(klines_server, run(want, klines_feed, server), want)


def test_the_rate_is_kept(run, serve, world, klines_feed, hourly):
    begun = world.time
    fetched = run(hourly(0, 450), klines_feed, serve(), Limits(per_minute=30, burst=2))
    assert fetched.requests == 5
    assert world.time - begun == pytest.approx(3 * 2.0)


def test_an_unknown_symbol_is_the_feeds_to_reject(run, serve, klines_feed, hourly):
    stopped = run(hourly(0, 10, symbol="NOSUCH"), klines_feed, serve())
    assert (stopped.stop, stopped.reason) == (Stop.REJECTED, "it answered 400 ('Invalid symbol.')")


@pytest.mark.parametrize(("late_s", "closed"), [(0, 5), (1, 5), (HOUR_S - 1, 5), (HOUR_S, 6)])
def test_a_bar_counts_from_its_end_on(run, serve, world, klines_server, klines_feed, hourly, late_s, closed):
    """Bar 5 opens at hour 5 and is closed at hour 6, not a second before, and not left out after it."""
    want = hourly(0, 5)
    world.time = want.stop + late_s
    fetched = run(replace(want, stop=int(world.time) + 1), klines_feed, serve())
    assert_true(klines_server, fetched, hourly(0, closed))
    assert fetched.not_closed == 1


@pytest.mark.parametrize("ahead", [-2 * HOUR_S, 2 * HOUR_S])
def test_neither_clock_alone_closes_a_bar(run, serve, world, klines_server, klines_feed, hourly, ahead):
    """One of the two is wrong by two hours; the earlier one decides."""
    want = hourly(0, 20)
    world.time = want.start + 10 * HOUR_S
    server = serve(clock=lambda: world.time + ahead)
    expected = 10 if ahead > 0 else 8
    assert_true(klines_server, run(want, klines_feed, server), hourly(0, expected))


def test_bars_before_the_listing_are_just_not_there(run, serve, klines_server, klines_feed, hourly):
    assert_true(klines_server, run(hourly(-500, 150), klines_feed, serve()), hourly(0, 150))


def test_gaps_are_kept_and_can_be_listed(run, serve, klines_server, klines_feed, hourly):
    want = hourly(0, 450)
    holes = [want.start + hour * HOUR_S for hour in (50, 51, 52, 99, 100, 298)]
    fetched = run(want, klines_feed, serve(holes=holes))
    assert_true(klines_server, fetched, want, holes=holes)
    found = [((gap.after - want.start) // HOUR_S, (gap.before - want.start) // HOUR_S) for gap in gaps(fetched.bars)]
    assert found == [(49, 53), (98, 101), (297, 299)]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (
            "disorder",
            r"feed house, BTCUSDT: row 50 of a reply: .* comes after .*, and a feed's bars must be in time order",
        ),
        ("doubled", r"row 51 of a reply: .* is there twice"),
        (
            "nan",
            r"row 50 of a reply \(2024-01-07T05:00Z\): close is 'NaN', and every price and volume must be a finite number",
        ),
        ("infinity", r"close is 'inf'"),
        ("negative", r"a page of bars from .* row 49: volume is -1, and volume must not be negative"),
        ("high-low", r"row 49: open is .*, and open and close must lie between low and high"),
        ("other-step", r"the bar closes at .*, which is not a bar of 1h"),
        ("short-row", r"a kline is an array of 12 fields"),
        ("object", r"a klines feed answers with an array of arrays"),
        (
            "changed",
            r"the bar of 2024-01-05T03:00Z has changed \(close was .* and is now .*\), and fetched history must not",
        ),
    ],
)
def test_bad_data_are_refused_with_the_bar_and_what_was_good_is_kept(
    run, serve, klines_server, klines_feed, hourly, mode, words
):
    want, server = hourly(0, 300), serve("plain", mode)
    with pytest.raises(DataError, match=words):
        run(want, klines_feed, server)
    fetched = run(want, klines_feed, server)
    assert fetched.resumed_bars == 100
    assert_true(klines_server, fetched, want)


def test_an_interrupted_fetch_asks_again_for_its_end_and_compares(run, serve, klines_feed, hourly):
    want, server = hourly(0, 450), serve("plain", "plain", "plain", "403")
    assert isinstance(run(want, klines_feed, server), Stopped)
    run(want, klines_feed, server)
    again = int(server.seen[4].query["startTime"]) // 1000
    assert (again - want.start) // HOUR_S == 298 - OVERLAP_BARS


@pytest.mark.parametrize(("mode", "words"), [("changed", "close was"), ("vanished", "it was there and is gone")])
def test_history_that_reads_differently_the_second_time_is_refused(run, serve, klines_feed, hourly, mode, words):
    want, server = hourly(0, 450), serve("plain", "plain", "plain", "403", mode)
    assert isinstance(run(want, klines_feed, server), Stopped)
    with pytest.raises(DataError, match=words):
        run(want, klines_feed, server)


def test_a_hole_that_is_filled_later_is_changed_history(run, serve, klines_feed, hourly):
    want = hourly(0, 450)
    holed = serve("plain", "plain", "403", holes=[want.start + 150 * HOUR_S])
    assert isinstance(run(want, klines_feed, holed), Stopped)
    with pytest.raises(DataError, match=r"the bar of 2024-01-07T06:00Z has changed \(it was not there before\)"):
        run(want, klines_feed, serve())


def test_a_finished_download_is_verified_and_extended_not_repeated(run, serve, klines_server, klines_feed, hourly):
    server = serve()
    run(hourly(0, 450), klines_feed, server)
    before = len(server.seen)
    fetched = run(hourly(0, 470), klines_feed, server)
    assert_true(klines_server, fetched, hourly(0, 470))
    assert (fetched.resumed_bars, len(server.seen) - before) == (450, 2)


def test_a_feed_that_has_nothing_is_told(run, serve, klines_feed, hourly):
    with pytest.raises(
        DataError, match=r"there are 0 closed bars of 1h from 2023-12-11T.* to .*; ask for a longer time"
    ):
        run(hourly(-500, -400), klines_feed, serve())


JSON = JsonRows(
    path="/v1/bars/{symbol}",
    query={"step": "{timeframe}", "from": "{start}", "to": "{stop}", "limit": "{limit}"},
    rows="data.bars",
    fields={"timestamp": "t", "open": "o", "high": "h", "low": "l", "close": "c", "volume": "v"},
    timeframes={"1h": "3600"},
    page_bars=100,
)
STYLES = {
    "time": JSON,
    "window": replace(JSON, style=PageStyle.WINDOW, newest_first=True, query=JSON.query | {"order": "desc"}),
    "page": replace(JSON, style=PageStyle.NUMBER, query=JSON.query | {"page": "{page}"}),
    "token": replace(
        JSON, style=PageStyle.TOKEN, next="next", query=JSON.query | {"tokens": "yes", "token": "{token}"}
    ),
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_of_paging_brings_the_same_bars(run, serve, klines_server, hourly, style):
    want = hourly(-150, 450)
    feed = Feed(name="house", dialect=STYLES[style])
    holes = [want.start + (150 + hour) * HOUR_S for hour in (99, 100, 101)]
    fetched = run(want, feed, serve("plain", "reset", holes=holes))
    assert_true(klines_server, fetched, hourly(0, 450), holes=holes)


@pytest.mark.parametrize("style", STYLES)
def test_every_style_of_paging_can_be_interrupted(run, serve, klines_server, hourly, style):
    want, feed = hourly(0, 450), Feed(name="house", dialect=STYLES[style])
    server = serve("plain", "plain", "403", "plain", "403")
    assert isinstance(run(want, feed, server), Stopped)
    assert isinstance(run(want, feed, server), Stopped)
    fetched = run(want, feed, server)
    assert_true(klines_server, fetched, want)
    assert fetched.resumed_bars >= 2 * 99


def test_pages_smaller_than_what_is_compared_are_enough(run, serve, klines_server, hourly):
    want, feed = hourly(0, 450), Feed(name="house", dialect=Klines(page_bars=30))
    server = serve(*["plain"] * 6, "403")
    assert isinstance(run(want, feed, server), Stopped)
    assert_true(klines_server, run(want, feed, server), want)


def test_a_number_of_a_page_that_the_server_ignores_ends_the_fetch(run, serve, klines_server, hourly):
    """Without ``{page}`` in the query every page is the first one."""
    feed = Feed(name="house", dialect=replace(JSON, style=PageStyle.NUMBER))
    server = serve()
    assert_true(klines_server, run(hourly(0, 450), feed, server), hourly(0, 100))
    assert len(server.seen) == 2


def test_the_long_day_of_a_zone_closes_an_hour_later():
    """2024-11-03 has 25 hours in New York: its bar is not usable after 24."""
    stamp, day = parse_stamp("2024-11-03T04:00Z"), Timeframe(DAY_S)
    assert find_calendar("us-equities").bar_end(stamp, day) == parse_stamp("2024-11-04T05:00Z")
    assert find_calendar("around-the-clock").bar_end(stamp, day) == parse_stamp("2024-11-04T04:00Z")
    short = parse_stamp("2024-03-10T05:00Z")
    assert find_calendar("us-equities").bar_end(short, day) == parse_stamp("2024-03-11T04:00Z")


@pytest.mark.parametrize(
    ("day", "closes"),
    [("2024-03-10", "2024-03-10T23:00Z"), ("2024-11-03", "2024-11-04T01:00Z"), ("2024-06-03", "2024-06-04")],
)
def test_daily_bars_of_a_zone_are_closed_when_its_day_is_over(run, serve, world, hourly, day, closes):
    """The feed's days begin in the evening in New York: 23 and 25 hours where the clocks change."""
    first = parse_stamp(day) - 5 * DAY_S
    want = replace(hourly(0, 1), timeframe=Timeframe(DAY_S), start=first, stop=first + 10 * DAY_S)
    dialect = replace(JSON, timeframes={"1d": "86400"})
    feed = Feed(name="house", dialect=dialect, calendar=find_calendar("us-equities"))
    world.time = parse_stamp(closes) - 1
    assert len(run(want, feed, serve()).bars) == 5
    world.time += 1
    assert len(run(want, feed, serve()).bars) == 6


def test_equal_histories_agree_and_the_first_difference_is_named():
    ts = np.arange(5, dtype=np.int64) * HOUR_S
    columns = np.arange(25, dtype=np.float64).reshape(5, 5)
    compare_history(ts, columns, ts, columns)
    other = columns.copy()
    other[1, 3] = -1
    with pytest.raises(DataError, match=r"the bar of 1970-01-01T03:00Z has changed \(high was 8 and is now -1\)"):
        compare_history(ts, columns, ts, other)
    with pytest.raises(DataError, match=r"the bar of 1970-01-01T02:00Z has changed \(it was there and is gone\)"):
        compare_history(ts, columns, np.delete(ts, 2), np.delete(columns, 2, axis=1))
    with pytest.raises(DataError, match=r"the bar of 1970-01-01T02:00Z has changed \(it was not there before\)"):
        compare_history(np.delete(ts, 2), np.delete(columns, 2, axis=1), ts, columns)
    with pytest.raises(DataError, match=r"the bar of 1970-01-01T04:00Z has changed \(it was there and is gone\)"):
        compare_history(ts, columns, ts[:4], columns[:, :4])


def test_klines_of_a_day_are_closed_at_midnight(run, serve, world, klines_server, hourly):
    want = replace(hourly(0, 24 * 10), timeframe=Timeframe(DAY_S))
    world.time = want.start + 5 * DAY_S
    fetched = run(want, Feed(name="house", dialect=Klines()), serve())
    assert_true(klines_server, fetched, replace(want, stop=int(world.time)))
