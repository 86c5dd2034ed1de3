"""Each oddity of a feed has one stated consequence."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from runtime.market.sessions import CURRENCIES, US_EQUITIES
from runtime.model import Bar, Timeframe
from runtime.paper.feed import Market, bar_sha256, sift

HOURLY = Market(timeframe=Timeframe(3_600))
START = datetime(2026, 3, 2, tzinfo=UTC)


def bar(hour, close=100.0):
    return Bar(START + timedelta(hours=hour), close, close + 1.0, close - 1.0, close, 5.0)


def ts(hour):
    return int(bar(hour).ts.timestamp())


KNOWN = {ts(hour): bar_sha256(bar(hour)) for hour in range(5)}


def sifted(answer, hours):
    return sift(answer, KNOWN, ts(4), START + timedelta(hours=hours), HOURLY)


def test_a_bar_is_used_from_its_close_on_and_not_a_second_earlier():
    assert sifted([bar(5)], 5.9999).bars == ()
    assert sifted([bar(5)], 6).bars == (bar(5),)


def test_a_clock_that_was_set_back_only_makes_bars_wait():
    assert sifted([bar(3), bar(5)], 2) == ((), (), None)


def test_missed_bars_come_in_order_whatever_the_order_of_the_answer():
    assert sifted([bar(7), bar(5), bar(6), bar(8)], 8.5).bars == (bar(5), bar(6), bar(7))


def test_a_duplicate_is_nothing():
    assert sifted([bar(2), bar(4), bar(5), bar(5)], 6) == ((bar(5),), (), None)


def test_a_revised_bar_is_noted_and_not_traded_again():
    bars, notes, fault = sifted([bar(3, 101.0)], 6)
    assert (bars, fault, [(note.what, note.ts) for note in notes]) == ((), None, [("revised", ts(3))])


def test_a_late_bar_is_noted_and_not_traded():
    known = {stamp: digest for stamp, digest in KNOWN.items() if stamp != ts(2)}
    bars, notes, _ = sift([bar(2)], known, ts(4), START + timedelta(hours=6), HOURLY)
    assert (bars, [(note.what, note.ts) for note in notes]) == ((), [("late", ts(2))])


def test_bars_from_before_the_runs_own_are_no_news():
    assert sifted([bar(-3)], 6) == ((), (), None)


def test_a_missing_bar_is_noted_with_its_open_and_none_is_made_up():
    bars, notes, _ = sifted([bar(7)], 8)
    assert (bars, [(note.what, note.ts) for note in notes]) == ((bar(7),), [("missing", ts(5))])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (bar(5)._replace(close=math.nan), "finite"),
        (bar(5)._replace(low=-1.0), "not above 0"),
        (bar(5)._replace(volume=-1.0), "below it"),
        (bar(5)._replace(high=50.0), "do not enclose"),
    ],
)
def test_what_is_no_bar_ends_the_run(wrong, words):
    assert words in sifted([wrong], 6).fault


def test_two_different_bars_for_one_moment_end_the_run():
    assert "two bars" in sifted([bar(5), bar(5, 101.0)], 6).fault


def moment(text):
    return int(datetime.fromisoformat(text).timestamp())


@pytest.mark.parametrize(
    ("market", "last", "following"),
    [
        (HOURLY, "2026-03-06T23:00Z", "2026-03-07T00:00Z"),
        # Friday's last full hour in New York, then Monday's open, by daylight saving that began on the Sunday between.
        (Market(timeframe=Timeframe(3_600), calendar=US_EQUITIES), "2026-03-06T20:30Z", "2026-03-09T13:30Z"),
        (Market(timeframe=Timeframe(900), calendar=US_EQUITIES), "2026-03-04T14:30Z", "2026-03-04T14:45Z"),
        # Daily bars that carry their date.
        (Market(timeframe=Timeframe(86_400), calendar=US_EQUITIES), "2026-03-06T00:00Z", "2026-03-09T00:00Z"),
        (Market(timeframe=Timeframe(86_400)), "2026-03-06T00:00Z", "2026-03-07T00:00Z"),
        (Market(timeframe=Timeframe(604_800), calendar=US_EQUITIES), "2026-03-02T00:00Z", "2026-03-09T00:00Z"),
        # Currencies rest from Friday to Sunday at five in New York.
        (Market(timeframe=Timeframe(3_600), calendar=CURRENCIES), "2026-02-27T21:00Z", "2026-03-01T22:00Z"),
    ],
)
def test_the_next_bar_is_expected_when_the_market_opens_next(market, last, following):
    assert market.next_open(moment(last)) == moment(following)


def test_a_bar_that_begins_before_the_last_one_ended_is_of_another_market():
    early = bar(5)._replace(ts=START + timedelta(hours=4.5))
    assert "begins before the one before it ended" in sifted([early], 6).fault
    assert "begins before" in sifted([bar(5), bar(5)._replace(ts=START + timedelta(hours=5.5))], 8).fault


def test_a_price_far_off_is_looked_at_by_a_person_where_somebody_says_how_far():
    def judged(price, most_gap):
        return sift([bar(5, price)], KNOWN, ts(4), START + timedelta(hours=6), HOURLY, close=100.0, most_gap=most_gap)

    assert judged(10.0, None).fault is None
    for price, most_gap in ((201.0, 2.0), (49.0, 2.0)):
        assert "a split, or another market" in judged(price, most_gap).fault
    for price in (51.0, 200.0):
        assert judged(price, 2.0).fault is None


def test_a_feed_that_tells_another_past_is_another_market_and_single_corrections_are_not():
    other = [bar(hour, 150.0) for hour in range(2, 5)]
    assert "all 3 bars" in sifted([*other, bar(5, 150.0)], 6).fault
    notes = sifted([bar(1), *other, bar(5)], 6).notes
    assert [note.what for note in notes] == ["revised"] * 3
