"""Stamps, steps and years."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.market import DataError
from runtime.market.calendar import (
    DAY_S,
    HOUR_S,
    check_timeframe,
    infer_timeframe,
    parse_stamp,
    stamp_text,
)
from runtime.model import Timeframe

MONDAY = parse_stamp("2024-01-01")


def daily(count: int, *, weekdays: bool = True) -> np.ndarray:
    days = np.arange(2 * count)
    return MONDAY + days[days % 7 < (5 if weekdays else 7)][:count] * DAY_S


def sessions(days: int, *, step_s: int, bars: int) -> np.ndarray:
    """Bars from 14:30 UTC on weekdays."""
    opens = daily(days) + 14 * HOUR_S + 1800
    return (opens[:, None] + np.arange(bars) * step_s).ravel()


@pytest.mark.parametrize(
    "text",
    [
        "2013-03-01",
        " 2013-03-01T00:00 ",
        "2013-03-01 00:00:00",
        "2013-03-01T00:00:00Z",
        "2013-03-01T01:00:00+01:00",
        "2013-02-28T19:00-05:00",
        "1362096000",
        "1362096000000",
    ],
)
def test_every_way_to_write_a_moment_means_the_same(text):
    assert parse_stamp(text) == 1_362_096_000


def test_moments_before_1970_are_understood():
    assert parse_stamp("1962-01-02") == parse_stamp("-252374400") == parse_stamp("-252374400000")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a date"),
        ("yesterday", "is not a date"),
        ("03/01/2013", "is not a date"),
        ("2013-02-30", "is not a date"),
        ("1362096000.5", "is not a date"),
        ("20130301", "may be a date or epoch seconds"),
        ("1362096000123", "fraction of a second"),
        ("2013-03-01T00:00:00.25", "fraction of a second"),
        ("1362096000000000", "too large for epoch milliseconds"),
        ("99999999999", "outside the years"),
        ("0001-01-01T00:00+23:00", "outside the years"),
    ],
)
def test_what_may_mean_something_else_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        parse_stamp(text)


@given(st.integers(-5_364_662_400, 7_258_118_399).filter(lambda ts: not 9_999_999 < ts < 100_000_000))
def test_seconds_and_their_iso_form_are_read_back_unchanged(ts):
    iso = str(np.datetime64(ts, "s"))
    assert parse_stamp(str(ts)) == parse_stamp(iso) == ts


def test_a_moment_is_shown_with_its_time_only_where_it_has_one():
    assert (stamp_text(MONDAY), stamp_text(MONDAY + 5400)) == ("2024-01-01", "2024-01-01T01:30Z")


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        (daily(30), "1d"),
        (daily(2), "1d"),
        (MONDAY + np.arange(50) * 60, "1m"),
        (sessions(10, step_s=HOUR_S, bars=7), "1h"),
        (sessions(10, step_s=4 * HOUR_S, bars=2), "4h"),
        (daily(60, weekdays=False)[::7], "1w"),
    ],
)
def test_the_timeframe_is_the_smallest_frequent_step(ts, expected):
    assert str(infer_timeframe(ts)) == expected
    check_timeframe(ts, Timeframe.parse(expected))


def test_daylight_saving_does_not_hide_that_bars_are_daily():
    winter, summer = daily(5, weekdays=False) + HOUR_S, daily(10, weekdays=False)[5:]
    assert str(infer_timeframe(np.concatenate((winter, summer)))) == "1d"


@pytest.mark.parametrize(
    ("ts", "words"),
    [
        (MONDAY + np.zeros(3, dtype=np.int64), "only one bar"),
        (MONDAY + np.cumsum(np.arange(1, 40) * 60), "cannot be inferred"),
        (MONDAY + np.arange(9) * 31 * DAY_S, "31 days apart"),
        (MONDAY + np.arange(9), "1 second apart"),
        (MONDAY + np.arange(9) * 90, "90 seconds apart"),
    ],
)
def test_steps_that_are_no_timeframe_are_refused_with_the_step(ts, words):
    with pytest.raises(DataError, match=words):
        infer_timeframe(ts)


@pytest.mark.parametrize("stated", ["1h", "1w", "2d"])
def test_a_stated_timeframe_that_the_stamps_contradict_is_refused(stated):
    with pytest.raises(DataError, match=f"timeframe {stated}: the bars are 1 day apart"):
        check_timeframe(daily(30), Timeframe.parse(stated))
