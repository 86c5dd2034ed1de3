"""Markets' hours, dates and bars per year."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.market import CALENDARS, DataError, find_calendar
from runtime.market.calendar import DAY_S, HOUR_S, parse_stamp, stamp_text
from runtime.market.sessions import Calendar, bars_per_year
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
    ("ts", "timeframe", "expected"),
    [
        (daily(800, weekdays=False), "1d", 365),
        (daily(800, weekdays=False)[::7], "1w", 52),
        (MONDAY + np.arange(20_000) * HOUR_S, "1h", 8_760),
        (MONDAY + np.arange(60_000) * 60, "1m", 525_600),
    ],
)
def test_bars_around_the_clock_are_counted_by_calendar(ts, timeframe, expected):
    assert bars_per_year(ts, Timeframe.parse(timeframe)) == expected


@pytest.mark.parametrize(
    ("step_s", "bars", "timeframe", "expected"),
    [(HOUR_S, 7, "1h", 1_764), (900, 26, "15m", 6_552), (60, 390, "1m", 98_280)],
)
def test_equity_sessions_of_six_and_a_half_hours_are_recognised(step_s, bars, timeframe, expected):
    """Nine weekdays a year are holidays."""
    ts = sessions(780, step_s=step_s, bars=bars)
    holidays = np.unique(ts // DAY_S)[::29]
    assert bars_per_year(ts[~np.isin(ts // DAY_S, holidays)], Timeframe.parse(timeframe)) == expected


def test_daily_bars_without_weekends_and_holidays_have_252_a_year():
    ts = daily(1_044)
    trading = ts[np.arange(len(ts)) % 29 != 7]
    assert bars_per_year(trading, Timeframe(DAY_S)) == 252


def test_a_market_on_no_known_calendar_keeps_the_measured_figure():
    ts = daily(1_000)
    measured = 999 * 31_556_952 / float(ts[-1] - ts[0])
    assert bars_per_year(ts, Timeframe(DAY_S)) == pytest.approx(measured)
    assert 260 < measured < 262


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        (
            "around-the-clock",
            {"1m": (525_600, 525_600), "1h": (8_760, 8_760), "1d": (365,), "1w": (52,), "2d": (182.5,)},
        ),
        (
            "us-equities",
            {"1m": (98_280, 98_280), "15m": (6_552, 6_552), "1h": (1_638, 1_764), "1d": (252,), "1w": (52,)},
        ),
        ("currencies", {"1h": (6_240, 6_240), "4h": (1_560, 1_560), "1d": (260,)}),
    ],
)
def test_each_calendar_has_its_bars_per_year(name, figures):
    found = {text: find_calendar(name).bars_per_year(Timeframe.parse(text)) for text in figures}
    assert found == figures


def test_a_stated_calendar_gives_its_figure_even_where_holidays_moved_the_measured_one():
    """Weekdays without holidays measure 261; whoever says equities gets 252, and hours the nearer of their two figures."""
    assert bars_per_year(daily(1_000), Timeframe(DAY_S), find_calendar("us-equities")) == 252
    assert bars_per_year(daily(1_000), Timeframe(DAY_S), find_calendar("currencies")) == 260
    ts = sessions(780, step_s=HOUR_S, bars=7)
    assert bars_per_year(ts, Timeframe(HOUR_S), find_calendar("us-equities")) == 1_764
    assert bars_per_year(ts[np.arange(len(ts)) % 7 < 6], Timeframe(HOUR_S), find_calendar("us-equities")) == 1_638


@pytest.mark.parametrize(
    ("ts", "step_s", "name"),
    [
        (MONDAY + np.arange(20_000) * 900, 900, "us-equities"),
        (MONDAY + np.arange(20_000) * HOUR_S, HOUR_S, "us-equities"),
        (sessions(300, step_s=900, bars=26), 900, "around-the-clock"),
        (sessions(300, step_s=HOUR_S, bars=7), HOUR_S, "currencies"),
    ],
)
def test_a_calendar_that_the_bars_contradict_is_refused(ts, step_s, name):
    """Equity quarters annualised around the clock would have a Sharpe ratio 2.3 times too high."""
    with pytest.raises(
        DataError, match=f"calendar {name} has [0-9]+ bars of .* in a year and the data have [0-9]+; state"
    ):
        bars_per_year(ts, Timeframe(step_s), find_calendar(name))


def test_a_few_days_cannot_contradict_a_calendar():
    assert bars_per_year(sessions(3, step_s=HOUR_S, bars=7), Timeframe(HOUR_S), find_calendar("us-equities")) == 1_764


def test_an_unknown_calendar_is_refused_with_those_that_there_are():
    with pytest.raises(DataError, match="calendar 'nyse': there are around-the-clock, us-equities, currencies"):
        find_calendar("nyse")
    assert [find_calendar(each.name) for each in CALENDARS] == list(CALENDARS)


def test_a_zone_that_the_machine_does_not_know_is_told():
    nowhere = Calendar(
        name="x", zone="Mars/Olympus", day_start_s=0, opens_s=0, closes_s=DAY_S, days_per_week=7, days_per_year=1.0
    )
    with pytest.raises(DataError, match="no time zone Mars/Olympus; install its time zone data"):
        nowhere.day_start(0)


def test_openings_follow_the_clocks_of_their_place():
    equities, currencies = find_calendar("us-equities"), find_calendar("currencies")
    before, after = (parse_stamp(text) // DAY_S for text in ("2024-03-08", "2024-03-11"))
    assert [stamp_text(equities.opening(day)) for day in (before, after)] == ["2024-03-08T14:30Z", "2024-03-11T13:30Z"]
    assert stamp_text(equities.closing(after)) == "2024-03-11T20:00Z"
    assert stamp_text(currencies.day_start(after)) == "2024-03-10T21:00Z"
    assert [equities.trades_on(parse_stamp(text) // DAY_S) for text in ("2024-03-08", "2024-03-09", "2024-03-10")] == [
        True,
        False,
        False,
    ]


def test_session_dates_are_those_of_the_place():
    moments = ["2024-01-02T04:59Z", "2024-01-02T05:00Z", "2024-07-02T03:59Z", "2024-07-02T04:00Z"]
    ts = np.array([parse_stamp(text) for text in moments])
    dates = ["2024-01-01", "2024-01-02", "2024-07-01", "2024-07-02"]
    assert [stamp_text(int(day) * DAY_S) for day in find_calendar("us-equities").session_days(ts)] == dates
    assert len(find_calendar("us-equities").session_days(ts[:0])) == 0


@pytest.mark.parametrize("name", [each.name for each in CALENDARS])
def test_every_moment_lies_in_its_own_session_date(name):
    calendar = find_calendar(name)
    ts = parse_stamp("2023-12-30") + np.arange(0, 366 * DAY_S, 1_800 + 7)
    days = calendar.session_days(ts)
    starts = {day: calendar.day_start(day) for day in range(days.min(), days.max() + 2)}
    assert all(starts[day] <= moment < starts[day + 1] for day, moment in zip(days.tolist(), ts.tolist(), strict=True))


def test_bars_below_a_day_end_after_their_step_in_every_zone():
    stamp = parse_stamp("2024-11-03T05:30Z")
    assert find_calendar("us-equities").bar_end(stamp, Timeframe(HOUR_S)) == stamp + HOUR_S
    assert find_calendar("us-equities").bar_end(parse_stamp("2024-03-04T05:00Z"), Timeframe(7 * DAY_S)) == parse_stamp(
        "2024-03-11T04:00Z"
    )
