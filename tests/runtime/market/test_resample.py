"""Longer bars are exactly their parts, whole or not there, on the market's own dates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.market import Bars, DataError, check_quality, find_calendar, resample
from runtime.market.calendar import DAY_S, HOUR_S, parse_stamp, stamp_text
from runtime.model import Instrument, Timeframe

MONDAY = parse_stamp("2024-01-01")
NEW_YORK = find_calendar("us-equities")
CURRENCIES = find_calendar("currencies")


def at(text):
    return Timeframe.parse(text)


def bars_at(ts, timeframe, seed=0):
    """Bars with whole-numbered volumes, so that sums do not depend on their order."""
    ts = np.asarray(ts, dtype=np.int64)
    generator = np.random.default_rng(seed)
    opening, close = 100 + generator.random((2, len(ts)))
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=1.0, tick=0.01),
        timeframe=at(timeframe),
        ts=ts,
        open=opening,
        high=np.maximum(opening, close) + generator.random(len(ts)),
        low=np.minimum(opening, close) - generator.random(len(ts)),
        close=close,
        volume=generator.integers(0, 1_000, len(ts)).astype(float),
    )


def steady(timeframe, count, start=MONDAY):
    return bars_at(start + np.arange(count) * at(timeframe).seconds, timeframe)


def sessions(days, *, first=MONDAY, step_s=900, bars=26, opens=(9, 30)):
    """Stamps of regular New York sessions on weekdays, daylight saving included."""
    dates = [day for day in range(first // DAY_S, first // DAY_S + days) if NEW_YORK.trades_on(day)]
    opening = opens[0] * HOUR_S + opens[1] * 60
    return np.array([NEW_YORK._moment(day, opening) + bar * step_s for day in dates for bar in range(bars)])


def stamps(bars):
    return [stamp_text(int(ts)) for ts in bars.ts]


def slow(source, timeframe):
    """The definition, bucket by bucket, for markets around the clock: a dictionary of what each bucket holds."""
    seconds = timeframe.seconds
    offset = 4 * DAY_S if seconds == 7 * DAY_S else 0
    rows = {}
    for row in range(len(source)):
        rows.setdefault((int(source.ts[row]) - offset) // seconds * seconds + offset, []).append(row)
    ends = int(source.ts[-1]) + source.timeframe.seconds
    whole = {start: each for start, each in rows.items() if source.ts[0] <= start and start + seconds <= ends}
    return {
        start: (
            source.open[each[0]],
            max(source.high[each]),
            min(source.low[each]),
            source.close[each[-1]],
            sum(source.volume[each]),
        )
        for start, each in whole.items()
    }


@given(
    seed=st.integers(0, 2**32 - 1),
    source=st.sampled_from(["1m", "5m", "15m", "1h", "4h", "1d"]),
    multiple=st.sampled_from([2, 3, 4, 6, 7, 12, 24, 96]),
    count=st.integers(2, 300),
    missing=st.floats(0, 0.5),
    shift=st.integers(0, 200),
)
def test_every_bar_is_the_first_highest_lowest_last_and_sum_of_its_parts(seed, source, multiple, count, missing, shift):
    step = at(source).seconds
    if step * multiple > 7 * DAY_S:
        return
    keep = np.random.default_rng(seed).random(count) >= missing
    ts = (MONDAY + (shift + np.arange(count)) * step)[keep]
    if not len(ts):
        return
    bars, timeframe = bars_at(ts, source, seed), Timeframe(step * multiple)
    expected = slow(bars, timeframe)
    if len(expected) < 2:
        with pytest.raises(DataError, match="make fewer than 2 whole bars"):
            resample(bars, timeframe)
        return
    resampled = resample(bars, timeframe)
    joined = resampled.bars
    assert joined.ts.tolist() == list(expected)
    found = np.array([joined.open, joined.high, joined.low, joined.close, joined.volume])
    assert np.array_equal(found.T, np.array(list(expected.values())))
    inside = joined.ts[0], joined.ts[-1] + timeframe.seconds
    assert resampled.dropped_before == (bars.ts < inside[0]).sum()
    assert resampled.dropped_after == (bars.ts >= inside[1]).sum()
    assert check_quality(joined).usable


@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.sampled_from(
        [("1m", "5m", "15m"), ("5m", "1h", "4h"), ("15m", "4h", "1d"), ("1h", "1d", "1w"), ("1h", "1d", "6d")]
    ),
    missing=st.floats(0, 0.4),
    shift=st.integers(0, 100),
)
def test_in_two_steps_or_in_one_the_result_is_the_same(seed, steps, missing, shift):
    short, middle, long = map(at, steps)
    count = 4 * long.seconds // short.seconds
    keep = np.random.default_rng(seed).random(count) >= missing
    bars = bars_at((MONDAY + (shift + np.arange(count)) * short.seconds)[keep], str(short), seed)
    direct = resample(bars, long).bars
    try:
        through = resample(resample(bars, middle).bars, long).bars
    except DataError:
        # The middle step may lose the bucket at an edge, and with it the second whole bar.
        assert len(direct) <= 3
        return
    assert set(through.ts) <= set(direct.ts)
    assert set(direct.ts[1:-1]) <= set(through.ts)
    same = np.isin(direct.ts, through.ts)
    for name in ("open", "high", "low", "close", "volume"):
        assert np.array_equal(getattr(through, name), getattr(direct, name)[same])


def test_without_holes_two_steps_and_one_are_equal_to_the_last_bit():
    bars = steady("15m", 96 * 21)
    assert resample(resample(bars, at("1h")).bars, at("1d")).bars.sha256 == resample(bars, at("1d")).bars.sha256
    assert resample(resample(bars, at("1d")).bars, at("1w")).bars.sha256 == resample(bars, at("1w")).bars.sha256


@given(st.integers(100, 400), st.integers(0, 300))
def test_what_comes_later_never_changes_a_bar_that_was_whole(count, more):
    """The property that lets a set grow: old bars are a prefix of new ones."""
    bars = steady("15m", count + more)
    before, after = resample(bars.between(0, count), at("4h")).bars, resample(bars, at("4h")).bars
    assert after.between(0, len(before)).sha256 == before.sha256


def test_the_same_timeframe_changes_nothing():
    bars = steady("1h", 50)
    assert resample(bars, at("1h")).bars.sha256 == bars.sha256


def test_it_is_noted_what_the_bars_were_made_from():
    bars = steady("15m", 96 * 3 + 7, MONDAY + 4 * HOUR_S)
    resampled = resample(bars, at("1d"))
    assert (str(resampled.source_timeframe), resampled.source_sha256) == ("15m", bars.sha256)
    assert (resampled.dropped_before, resampled.dropped_after) == (80, 23)
    assert resampled.bars.instrument == replace(bars.instrument, bars_per_year=resampled.bars.instrument.bars_per_year)
    assert resampled.bars.instrument.bars_per_year == 365


@pytest.mark.parametrize(("count", "whole"), [(95 + 96, 0), (96 + 96, 2), (96 * 3 - 1, 2), (96 * 3, 3)])
def test_a_day_is_there_when_its_last_bar_has_ended(count, whole):
    bars = steady("15m", count)
    if not whole:
        with pytest.raises(
            DataError, match="191 bars of 15m make fewer than 2 whole bars of 1d; bring a longer history"
        ):
            resample(bars, at("1d"))
    else:
        assert len(resample(bars, at("1d")).bars) == whole


def test_who_knows_that_nothing_more_comes_may_say_so():
    """Ten minutes without a trade at the end of a day are still the end of the day."""
    bars = steady("5m", 3 * 288 - 2)
    assert len(resample(bars, at("1d")).bars) == 2
    assert len(resample(bars, at("1d"), as_of=MONDAY + 3 * DAY_S - 1).bars) == 2
    assert len(resample(bars, at("1d"), as_of=MONDAY + 3 * DAY_S).bars) == 3


def test_hours_are_aligned_to_utc_and_weeks_to_monday():
    assert stamps(resample(steady("1h", 30, MONDAY + HOUR_S), at("4h")).bars)[:2] == [
        "2024-01-01T04:00Z",
        "2024-01-01T08:00Z",
    ]
    daily = steady("1d", 30, parse_stamp("2023-12-28"))
    assert stamps(resample(daily, at("1w")).bars) == ["2024-01-01", "2024-01-08", "2024-01-15"]


def test_sessions_become_dates_in_new_york_across_daylight_saving():
    """The clocks change on 2024-03-10: the session begins at 14:30 UTC before and at 13:30 after."""
    bars = bars_at(sessions(12, first=parse_stamp("2024-03-04")), "15m")
    daily = resample(bars, at("1d"), calendar=NEW_YORK).bars
    assert len(daily) == len(bars) // 26 == 10
    assert stamps(daily)[4:6] == ["2024-03-08T05:00Z", "2024-03-11T04:00Z"]
    assert daily.open.tolist() == bars.open[::26].tolist()
    assert daily.close.tolist() == bars.close[25::26].tolist()
    assert daily.volume.tolist() == bars.volume.reshape(-1, 26).sum(axis=1).tolist()
    assert check_quality(daily).warnings == ()


def test_sessions_become_weeks_that_end_on_friday():
    bars = bars_at(sessions(21), "15m")
    weekly = resample(bars, at("1w"), calendar=NEW_YORK).bars
    assert stamps(weekly) == ["2024-01-01T05:00Z", "2024-01-08T05:00Z", "2024-01-15T05:00Z"]
    assert weekly.close[-1] == bars.close[-1]
    daily = resample(bars, at("1d"), calendar=NEW_YORK).bars
    assert resample(daily, at("1w"), calendar=NEW_YORK).bars.sha256 == weekly.sha256


def test_a_half_day_at_the_end_waits_for_the_next_bar():
    whole = sessions(12)
    half = whole[:-12]
    assert len(resample(bars_at(half, "15m"), at("1d"), calendar=NEW_YORK).bars) == len(whole) // 26 - 1
    later = np.append(half, whole[-26] + 3 * DAY_S)
    assert len(resample(bars_at(later, "15m"), at("1d"), calendar=NEW_YORK).bars) == len(whole) // 26


def test_evening_trading_belongs_to_the_date_of_its_place():
    """19:00 in New York is already the next date in UTC."""
    bars = bars_at(sessions(4, bars=21, step_s=1_800), "30m")
    assert len(resample(bars, at("1d"), calendar=NEW_YORK).bars) == 4
    in_utc = resample(bars, at("1d")).bars
    assert in_utc.close[0] != resample(bars, at("1d"), calendar=NEW_YORK).bars.close[0]
    with pytest.raises(DataError, match=r"row 9: the 1h bar of 2024-01-01T23:30Z lies across the edge of two 1d bars"):
        resample(bars_at(sessions(4, bars=11, step_s=HOUR_S), "1h"), at("1d"))


def test_the_date_of_currencies_turns_at_five_in_new_york():
    sunday = parse_stamp("2024-01-07T22:00Z")
    bars = steady("1h", 5 * 24, sunday)
    daily = resample(bars, at("1d"), calendar=CURRENCIES).bars
    assert stamps(daily)[:2] == ["2024-01-07T22:00Z", "2024-01-08T22:00Z"]
    assert len(daily) == 5
    assert daily.open[0] == bars.open[0]
    two_weeks = bars_at(np.concatenate([bars.ts, bars.ts + 7 * DAY_S]), "1h")
    weekly = resample(two_weeks, at("1w"), calendar=CURRENCIES).bars
    assert stamps(weekly) == ["2024-01-07T22:00Z", "2024-01-14T22:00Z"]
    assert daily.instrument.bars_per_year == 260


def test_dates_at_midnight_utc_stay_dates_in_any_market():
    days = [day * DAY_S for day in range(MONDAY // DAY_S, MONDAY // DAY_S + 28) if NEW_YORK.trades_on(day)]
    bars = bars_at(days, "1d")
    weekly = resample(bars, at("1w"), calendar=NEW_YORK).bars
    assert len(weekly) == 4
    assert weekly.open.tolist() == bars.open[::5].tolist()


def test_weekend_bars_of_a_weekday_market_are_kept_apart():
    """A data fault that the bars show rather than hide."""
    ts = np.concatenate([sessions(5), [parse_stamp("2024-01-06T15:00Z")], sessions(5, first=MONDAY + 7 * DAY_S)])
    assert len(resample(bars_at(ts, "15m"), at("1d"), calendar=NEW_YORK).bars) == 11


@pytest.mark.parametrize(
    ("bars", "to", "words"),
    [
        (steady("15m", 100), "20m", "15m bars cannot make 20m bars; choose a whole multiple of 15m"),
        (steady("1h", 100), "30m", "1h bars cannot make 30m bars"),
        (
            steady("1h", 100, MONDAY + 1_800),
            "2h",
            r"row 1: the 1h bar of 2024-01-01T01:30Z lies across the edge of two 2h bars",
        ),
        (
            steady("4h", 100, MONDAY + 2 * HOUR_S),
            "1d",
            "lies across the edge of two 1d bars; .* or state the market's calendar",
        ),
        (steady("1h", 3), "4h", "3 bars of 1h make fewer than 2 whole bars of 4h"),
        (steady("1h", 0), "4h", "0 bars of 1h make fewer than 2"),
    ],
)
def test_what_does_not_fit_is_refused(bars, to, words):
    with pytest.raises(DataError, match=words):
        resample(bars, at(to))


def test_a_calendar_that_the_result_contradicts_is_refused():
    with pytest.raises(DataError, match="calendar us-equities has 1764 bars of 1h in a year and the data have 8766"):
        resample(steady("15m", 96 * 60), at("1h"), calendar=NEW_YORK)
