"""Trading calendars as data: which wall clock a market keeps, its hours, and how many bars it has in a year.

A calendar knows hours and weekdays, not holidays: those change by decree, and a set's identity must not change with the
edition of a table of them. Missing days are therefore read from the bars themselves (``quality.gaps``), and the number
of bars in a year is the calendar's only where the bars agree with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from runtime.market.calendar import DAY_S, HOUR_S, YEAR_S
from runtime.market.errors import DataError, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.model import Timeframe

WEEK_DAYS = 7
_WEEKS_PER_YEAR = 52.0
# A measured figure this near to a calendar is that calendar: holidays and a few lost bars move it by less.
_SNAP = 0.03
# Nearer than this the bars confirm a calendar that somebody states; beyond it every annualised figure would be wrong.
_AGREEMENT = 1.5
# In less than four weeks one holiday or one weekend at the edge moves the measured figure by more than that.
_MEASURABLE_S = 28 * DAY_S
# Zones change their offset on quarters of an hour.
_OFFSET_GRID_S = 900
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - wall clock, the zone comes later
# 1970-01-01 was a Thursday.
_FIRST_WEEKDAY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The hours of a market. Seconds of a day are wall clock of ``zone``, counted from midnight of the session's date."""

    name: str
    zone: str
    """Name of the time zone, as in the IANA database."""
    day_start_s: int
    """Where one session date ends and the next begins; negative for the evening before."""
    opens_s: int
    """First moment of regular trading."""
    closes_s: int
    """First moment after regular trading."""
    days_per_week: int
    """5 from Monday to Friday, or 7."""
    days_per_year: float
    """Sessions in a year, holidays taken off."""

    def bars_per_year(self, timeframe: Timeframe) -> tuple[float, ...]:
        """Bars in a year; two figures below a day, where the part of a bar at a session's end may count as a whole one.

        >>> from runtime.model import Timeframe
        >>> find_calendar("us-equities").bars_per_year(Timeframe.parse("1h"))
        (1638.0, 1764.0)
        """
        seconds = timeframe.seconds
        if seconds == WEEK_DAYS * DAY_S:
            return (_WEEKS_PER_YEAR,)
        if seconds >= DAY_S:
            return (self.days_per_year * DAY_S / seconds,)
        session_s = self.closes_s - self.opens_s
        return (self.days_per_year * session_s / seconds, self.days_per_year * math.ceil(session_s / seconds))

    def session_days(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Session dates of moments, as days since 1970-01-01; both of shape ``(n,)``."""
        return (ts + self._offsets(ts) - self.day_start_s) // DAY_S

    def day_start(self, day: int) -> int:
        """The moment at which a session date begins, seconds since 1970 UTC; ``day`` counts from 1970-01-01."""
        return self._moment(day, self.day_start_s)

    def opening(self, day: int) -> int:
        """First moment of regular trading on a date."""
        return self._moment(day, self.opens_s)

    def closing(self, day: int) -> int:
        """First moment after regular trading on a date."""
        return self._moment(day, self.closes_s)

    def trades_on(self, day: int) -> bool:
        """Whether a date is a weekday of the market; holidays are not known."""
        return (day + _FIRST_WEEKDAY) % WEEK_DAYS < self.days_per_week

    def bar_end(self, ts: int, timeframe: Timeframe) -> int:
        """The moment from which the bar that opens at ``ts`` is usable, seconds since 1970 UTC.

        Daily and longer bars end at the same wall-clock time so many days later: a day in a zone with daylight saving
        has 23 or 25 hours, and counting 24 would use the bar of a long day an hour too early.
        """
        if timeframe.seconds % DAY_S or self.zone == "UTC":
            return ts + timeframe.seconds
        local = datetime.fromtimestamp(ts, _zone(self.zone)).replace(tzinfo=None)
        end = local + timedelta(seconds=timeframe.seconds)
        return int(end.replace(tzinfo=_zone(self.zone)).timestamp())

    def _moment(self, day: int, seconds: int) -> int:
        wall = _EPOCH + timedelta(days=day, seconds=seconds)
        return int(wall.replace(tzinfo=_zone(self.zone)).timestamp())

    def _offsets(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.zone == "UTC" or not len(ts):
            return np.zeros(len(ts), dtype=np.int64)
        zone = _zone(self.zone)
        quarters, which = np.unique(ts // _OFFSET_GRID_S, return_inverse=True)
        moments = (datetime.fromtimestamp(quarter * _OFFSET_GRID_S, UTC) for quarter in quarters.tolist())
        offsets = [int((zone.utcoffset(moment.astimezone(zone)) or timedelta()).total_seconds()) for moment in moments]
        return np.array(offsets, dtype=np.int64)[which]


AROUND_THE_CLOCK = Calendar(
    name="around-the-clock",
    zone="UTC",
    day_start_s=0,
    opens_s=0,
    closes_s=DAY_S,
    days_per_week=7,
    days_per_year=365.0,
)
US_EQUITIES = Calendar(
    name="us-equities",
    zone="America/New_York",
    day_start_s=0,
    opens_s=9 * HOUR_S + 1_800,
    closes_s=16 * HOUR_S,
    days_per_week=5,
    days_per_year=252.0,
)
# The trading date of currencies turns at five in the afternoon in New York.
CURRENCIES = Calendar(
    name="currencies",
    zone="America/New_York",
    day_start_s=-7 * HOUR_S,
    opens_s=-7 * HOUR_S,
    closes_s=17 * HOUR_S,
    days_per_week=5,
    days_per_year=260.0,
)
CALENDARS: tuple[Calendar, ...] = (AROUND_THE_CLOCK, US_EQUITIES, CURRENCIES)
# Told apart by their figures alone. Currencies are too near to weekdays without holidays: they must be stated.
_INFERRED = (AROUND_THE_CLOCK, US_EQUITIES)


def find_calendar(name: str) -> Calendar:
    """The calendar of that name.

    Raises:
        DataError: there is none; the sentence lists those that there are.
    """
    for calendar in CALENDARS:
        if calendar.name == name:
            return calendar
    raise DataError(f"calendar {quoted(name)}: there are {', '.join(each.name for each in CALENDARS)}")


def bars_per_year(ts: NDArray[np.int64], timeframe: Timeframe, calendar: Calendar | None = None) -> float:
    """Bars in a year, for annualising: the calendar's figure where the bars agree with it.

    Measured are steps over years between first and last bar. Without a stated calendar the nearest figure of those
    that can be told apart is taken within 3 %, else the measured one stays (futures, currencies, odd hours).

    Args:
        ts: Opens in time order, shape ``(n,)`` with n >= 2, seconds since 1970.
        timeframe: Step between bars.
        calendar: What somebody knows about the market; None infers.

    Raises:
        DataError: the stated calendar's figure and the measured one are more than 1.5 times apart.
    """
    measured = (len(ts) - 1) * YEAR_S / float(ts[-1] - ts[0])
    known = _INFERRED if calendar is None else (calendar,)
    figures = [figure for each in known for figure in each.bars_per_year(timeframe)]
    nearest = min(figures, key=lambda figure: abs(figure - measured))
    if calendar is None:
        return nearest if abs(nearest - measured) <= _SNAP * nearest else measured
    measurable = int(ts[-1] - ts[0]) >= _MEASURABLE_S
    if measurable and not 1 / _AGREEMENT <= measured / nearest <= _AGREEMENT:
        raise DataError(
            f"calendar {calendar.name} has {nearest:.0f} bars of {timeframe} in a year and the data have {measured:.0f}; "
            f"state the calendar that the data follow, or none"
        )
    return nearest


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError as error:
        raise DataError(
            f"this machine knows no time zone {name}; install its time zone data (package tzdata)"
        ) from error
