"""Bad bars are refused with their places; suspicious ones are pointed out."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from runtime.market import check_quality, gaps
from runtime.market.calendar import DAY_S, HOUR_S
from runtime.market.quality import ERROR_CHECKS, WARNING_CHECKS


def with_value(bars, column, row, value):
    changed = getattr(bars, column).copy()
    changed[row] = value
    return changed


def errors_of(bars, **lines):
    return {issue.rule: issue for issue in check_quality(bars, **lines).errors}


def warnings_of(bars):
    report = check_quality(bars)
    assert report.usable
    return {issue.rule: issue for issue in report.warnings}


def test_clean_bars_have_no_issue(make_bars):
    for step_s in (60, HOUR_S, 4 * HOUR_S, DAY_S, 7 * DAY_S):
        report = check_quality(make_bars(300, step_s=step_s))
        assert report.errors == report.warnings == ()
        assert report.usable


def test_no_bars_at_all_break_no_check(make_bars):
    for step_s in (HOUR_S, DAY_S):
        empty = make_bars(3, step_s=step_s).between(0, 0)
        assert check_quality(empty).errors == check_quality(empty).warnings == ()


@pytest.mark.parametrize(
    ("column", "value", "rule", "words"),
    [
        ("close", np.nan, "not-finite", "close is nan, and every price and volume must be a finite number"),
        ("volume", np.inf, "not-finite", "volume is inf"),
        ("open", 0.0, "not-positive", "open is 0, and prices must be above 0"),
        ("low", -3.0, "not-positive", "low is -3"),
        ("high", 1.0, "high-low", "open and close must lie between low and high"),
        ("low", 1e6, "high-low", "low is 1e+06"),
        ("volume", -1.0, "negative-volume", "volume is -1, and volume must not be negative"),
    ],
)
def test_a_value_that_no_bar_can_have_is_an_error_with_its_row(make_bars, column, value, rule, words):
    bars = make_bars(100)
    changed = make_bars(100, **{column: with_value(bars, column, 41, value)})
    found = errors_of(changed)
    assert rule in found
    assert found[rule].places == (41,)
    assert found[rule].message.startswith("row 41: ")
    assert words in found[rule].message
    assert not check_quality(changed).usable


def test_the_bar_that_is_out_of_order_is_named(make_bars):
    ts = make_bars(10).ts.copy()
    ts[4], ts[5] = ts[5], ts[4]
    found = errors_of(make_bars(10, ts=ts))
    assert found["unsorted"].places == (5,)
    assert found["unsorted"].message == (
        "row 5: 1997-05-23 comes after 1997-05-24, and bars must be in time order, oldest first"
    )
    assert "duplicate" not in found


def test_a_stamp_that_is_there_twice_is_found_even_far_apart(make_bars):
    ts = make_bars(10).ts.copy()
    ts[9] = ts[2]
    found = errors_of(make_bars(10, ts=ts))
    assert found["duplicate"].places == (9,)
    assert found["unsorted"].places == (9,)


def test_daily_bars_allow_one_bar_per_date(make_bars):
    ts = make_bars(10).ts.copy()
    ts[5:] -= DAY_S - 10 * HOUR_S
    assert errors_of(make_bars(10, ts=ts))["duplicate"].places == (5,)


@pytest.mark.parametrize("open_s", [0, 5 * HOUR_S, 14 * HOUR_S + 1800, 21 * HOUR_S, 23 * HOUR_S])
def test_daylight_saving_may_move_the_open_of_daily_bars(make_bars, open_s):
    """In spring the next bar opens 23 hours later, which can be the same UTC date; in autumn 25 hours later."""
    ts = make_bars(30).ts + open_s + HOUR_S
    ts[10:20] -= HOUR_S
    assert errors_of(make_bars(30, ts=ts)) == {}


def test_a_stamp_between_two_steps_is_off_the_grid(make_bars):
    for step_s, shift in (
        (60, 30),
        (HOUR_S, 1800),
        (4 * HOUR_S, 1800),
        (4 * HOUR_S, 2 * HOUR_S),
        (7 * DAY_S, 4 * DAY_S),
    ):
        ts = make_bars(50, step_s=step_s).ts.copy()
        ts[20] -= shift
        found = errors_of(make_bars(50, step_s=step_s, ts=ts))
        assert found["off-grid"].places == (20,), step_s


def test_an_odd_first_stamp_is_blamed_and_not_all_others(make_bars):
    ts = make_bars(50, step_s=HOUR_S).ts.copy()
    ts[0] += 60
    assert errors_of(make_bars(50, step_s=HOUR_S, ts=ts))["off-grid"].places == (0,)


def test_daylight_saving_may_move_long_intraday_bars_by_an_hour(make_bars):
    ts = make_bars(50, step_s=4 * HOUR_S).ts.copy()
    ts[20:40] -= HOUR_S
    assert errors_of(make_bars(50, step_s=4 * HOUR_S, ts=ts)) == {}


@pytest.mark.parametrize("minutes", [7, 48, 90, 100, 150])
def test_steps_that_do_not_divide_an_hour_have_a_grid_too(make_bars, minutes):
    bars = make_bars(200, step_s=minutes * 60)
    assert errors_of(bars) == {}
    ts = bars.ts.copy()
    ts[50] = ts[49] + 60 * (minutes - 61 if minutes > 61 else minutes - 1)
    assert errors_of(make_bars(200, step_s=minutes * 60, ts=ts))["off-grid"].places == (50,)


def test_a_week_may_begin_on_a_tuesday(make_bars):
    ts = make_bars(50, step_s=7 * DAY_S).ts.copy()
    ts[20] += DAY_S
    assert errors_of(make_bars(50, step_s=7 * DAY_S, ts=ts)) == {}


@pytest.mark.parametrize(
    ("zone", "hour"), [("Europe/Berlin", 0), ("America/New_York", 0), ("America/New_York", 17), ("Asia/Tokyo", 9)]
)
def test_daily_bars_of_a_zone_are_clean_through_both_changes_of_its_clocks(make_bars, zone, hour):
    """Days of 23 and 25 hours are neither duplicates nor gaps nor moved."""
    days = [datetime(2024, 1, 1, hour) + timedelta(days=day) for day in range(366)]  # noqa: DTZ001 - wall clock
    ts = np.array([int(day.replace(tzinfo=ZoneInfo(zone)).timestamp()) for day in days])
    report = check_quality(make_bars(366, ts=ts))
    assert report.errors == report.warnings == ()
    assert {DAY_S} <= set(np.diff(ts)) <= {DAY_S - HOUR_S, DAY_S, DAY_S + HOUR_S}


def test_daily_bars_that_move_by_more_than_daylight_saving_are_suspicious(make_bars):
    """A file that was put together from two sources in two zones."""
    ts = make_bars(100).ts.copy()
    ts[60:] += 5 * HOUR_S
    issue = warnings_of(make_bars(100, ts=ts))["moved-open"]
    assert issue.places == tuple(range(60, 100))
    assert "05:00Z and most bars open at 00:00 UTC; daylight saving explains one hour" in issue.message
    late = make_bars(100).ts.copy()
    late[::2] -= HOUR_S
    assert "moved-open" not in warnings_of(make_bars(100, ts=late))


def test_all_gaps_can_be_listed(make_bars):
    bars = make_bars(2_000, step_s=HOUR_S)
    ts = np.delete(bars.ts, [5, 6, 100])
    holed = make_bars(1_997, step_s=HOUR_S, ts=ts)
    assert [(gap.row, (gap.before - gap.after) // HOUR_S) for gap in gaps(holed)] == [(5, 3), (98, 2)]
    assert warnings_of(holed)["gap"].places == (5, 98)
    assert gaps(bars) == gaps(bars.between(0, 0)) == ()


def test_lines_of_a_file_are_named_instead_of_rows(make_bars):
    volume = np.full(10, -1.0)
    issue = errors_of(make_bars(10, volume=volume), places=range(2, 12), unit="line")["negative-volume"]
    assert issue.places == tuple(range(2, 12))
    assert issue.message.startswith("lines 2, 3, 4 and 7 more: volume is -1")
    assert str(issue) == issue.message


def test_opens_that_repeat_the_previous_close_are_suspicious_when_there_are_many(make_bars):
    bars = make_bars(200)
    stale = bars.open.copy()
    stale[1:61] = bars.close[:60]
    made = {"open": stale, "high": np.maximum(stale, bars.close), "low": np.minimum(stale, bars.close)}
    issue = warnings_of(make_bars(200, **made))["stale-open"]
    assert issue.places == tuple(range(1, 61))
    assert issue.message.startswith("rows 1, 2, 3 and 57 more: ")
    assert "30.2% of the bars" in issue.message
    few = bars.open.copy()
    few[1:21] = bars.close[:20]
    made = {"open": few, "high": np.maximum(few, bars.close), "low": np.minimum(few, bars.close)}
    assert warnings_of(make_bars(200, **made)) == {}


def test_runs_without_volume_are_counted(make_bars):
    volume = np.full(100, 5.0)
    volume[[3, 50, 51, 52, 90]] = 0
    issue = warnings_of(make_bars(100, volume=volume))["zero-volume"]
    assert issue.places == (3, 50, 51, 52, 90)
    assert issue.message.startswith("rows 3, 50, 51 and 2 more: ")
    assert "run of up to 3 bars" in issue.message


@pytest.mark.parametrize("ratio", [2, 1 / 2, 3, 1.5, 1 / 10, 20])
def test_a_price_that_jumps_by_a_split_ratio_is_suspicious(make_bars, ratio):
    bars = make_bars(100)
    factor = np.where(np.arange(100) < 60, 1.0, 1 / ratio)
    columns = {name: getattr(bars, name) * factor for name in ("open", "high", "low", "close")}
    issue = warnings_of(make_bars(100, **columns))["split-like"]
    assert issue.places == (60,)
    assert issue.message.startswith("row 60: ")
    assert "looks like a split" in issue.message


def test_a_crash_that_is_no_split_ratio_is_not_called_one(make_bars):
    bars = make_bars(100)
    factor = np.where(np.arange(100) < 60, 1.0, 0.57)
    columns = {name: getattr(bars, name) * factor for name in ("open", "high", "low", "close")}
    assert warnings_of(make_bars(100, **columns)) == {}


def test_a_missing_bar_is_a_gap_only_where_the_market_never_closes(make_bars):
    hours = np.delete(make_bars(501, step_s=HOUR_S).ts, 250)
    assert warnings_of(make_bars(500, step_s=HOUR_S, ts=hours))["gap"].places == (250,)
    weekdays = make_bars(900, first_day=10_001).ts
    weekdays = weekdays[(weekdays // DAY_S + 3) % 7 < 5][:500]
    assert warnings_of(make_bars(500, ts=weekdays)) == {}
    closed = np.where(np.arange(500) < 300, weekdays, weekdays + 7 * DAY_S)
    assert warnings_of(make_bars(500, ts=closed))["gap"].places == (300,)


def test_every_check_has_a_rule_of_its_own(make_bars):
    rules = [check(make_bars(100)).rule for check in (*ERROR_CHECKS, *WARNING_CHECKS)]
    assert len(set(rules)) == len(rules) == 12
