"""Longer bars out of shorter ones: only whole ones, and with a note of what they were made from.

Below a day buckets are aligned to 1970-01-01 UTC (4h bars open at 00:00, 04:00, ...). From a day on they are made of
session dates in the calendar's own zone: one date, a week from Monday, or ``n`` dates counted from 1970-01-01. A bar is
stamped with the beginning of its bucket.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.market.calendar import DAY_S, stamp_text
from runtime.market.errors import DataError
from runtime.market.sessions import AROUND_THE_CLOCK, WEEK_DAYS, bars_per_year

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.market.bars import Bars
    from runtime.market.sessions import Calendar
    from runtime.model import Timeframe

# 1970-01-01 was a Thursday: day -3 was the Monday before it.
_FIRST_MONDAY = -3
_FEWEST_BARS = 2


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Resampled:
    """Longer bars and where they come from."""

    bars: Bars
    source_timeframe: Timeframe
    source_sha256: str
    """``Bars.sha256`` of what they were made from."""
    dropped_before: int
    """Source bars at the beginning that make no whole bar."""
    dropped_after: int
    """Source bars at the end that make no whole bar yet."""


class _Span(NamedTuple):
    """What a bucket must be covered by: seconds since 1970 UTC."""

    start: int
    stop: int


def resample(
    bars: Bars, timeframe: Timeframe, *, calendar: Calendar | None = None, as_of: int | None = None
) -> Resampled:
    """Join bars into bars of a longer timeframe.

    A bar opens with the first open of its bucket, closes with the last close, has the highest high, the lowest low and
    the sum of the volumes (in floats, so that sums in another order may differ in the last bit). Buckets in which the
    source has no bar stay empty. The first bucket is left out unless the source covers it from its beginning, and the
    last one unless it covers it to the end; for dates those are the market's opening and closing, on half days too.

    Args:
        bars: The source; its timeframe must divide the new one.
        timeframe: Step of the result.
        calendar: The market's dates and hours, and its bars per year; None takes dates in UTC and infers the rest.
        as_of: Moment up to which the source is known to be complete, seconds since 1970 UTC; the end of its last bar
            by default.

    Raises:
        DataError: the timeframes do not fit, a bar lies across the edge of a bucket, or fewer than two bars come out.
    """
    if timeframe.seconds % bars.timeframe.seconds:
        raise DataError(
            f"{bars.timeframe} bars cannot make {timeframe} bars; choose a whole multiple of {bars.timeframe}"
        )
    market = calendar or AROUND_THE_CLOCK
    keys = _buckets(bars, timeframe, market)
    edges = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1)) if len(keys) else np.empty(0, dtype=np.intp)
    first, stop = 0, len(edges)
    if stop:
        begins, ends = int(bars.ts[0]), max(int(bars.ts[-1]) + bars.timeframe.seconds, as_of or 0)
        first += begins > _span(int(keys[0]), timeframe, market).start
        stop -= ends < _span(int(keys[-1]), timeframe, market).stop
    if stop - first < _FEWEST_BARS:
        raise DataError(
            f"{len(bars)} bars of {bars.timeframe} make fewer than {_FEWEST_BARS} whole bars of {timeframe}; bring a longer "
            f"history"
        )
    end = int(edges[stop]) if stop < len(edges) else len(bars)
    joined = _joined(
        bars,
        timeframe,
        edges[first:stop],
        end,
        [_start(int(key), timeframe, market) for key in keys[edges[first:stop]]],
    )
    years = bars_per_year(joined.ts, timeframe, calendar)
    return Resampled(
        bars=replace(joined, instrument=replace(bars.instrument, bars_per_year=years)),
        source_timeframe=bars.timeframe,
        source_sha256=bars.sha256,
        dropped_before=int(edges[first]),
        dropped_after=len(bars) - end,
    )


def _joined(bars: Bars, timeframe: Timeframe, edges: NDArray[np.intp], end: int, stamps: list[int]) -> Bars:
    """The source's rows from the first edge to ``end``, joined between edges."""
    last = np.append(edges[1:], end) - 1
    return replace(
        bars,
        timeframe=timeframe,
        ts=np.array(stamps, dtype=np.int64),
        open=bars.open[edges],
        high=np.maximum.reduceat(bars.high[:end], edges),
        low=np.minimum.reduceat(bars.low[:end], edges),
        close=bars.close[last],
        volume=np.add.reduceat(bars.volume[:end], edges),
    )


def _is_of_dates(timeframe: Timeframe) -> bool:
    return timeframe.seconds % DAY_S == 0


def _buckets(bars: Bars, timeframe: Timeframe, calendar: Calendar) -> NDArray[np.int64]:
    """The bucket of each bar: its start in seconds, or its first session date in days since 1970-01-01."""
    step = bars.timeframe.seconds
    if not _is_of_dates(timeframe):
        keys = bars.ts // timeframe.seconds
        _refuse_crossing(bars, timeframe, keys, (bars.ts + step - 1) // timeframe.seconds)
        return keys * timeframe.seconds
    if _is_of_dates(bars.timeframe):
        # Midnight UTC on a daily bar is a date, whatever the market's zone is.
        days = np.where(bars.ts % DAY_S == 0, bars.ts // DAY_S, calendar.session_days(bars.ts))
        last = days + step // DAY_S - 1
    else:
        days = last = calendar.session_days(bars.ts)
        if calendar.closes_s - calendar.opens_s == DAY_S:
            # Elsewhere a last bar may reach past the end of the session only on paper.
            last = calendar.session_days(bars.ts + step - 1)
    length = timeframe.seconds // DAY_S
    origin = _FIRST_MONDAY if length == WEEK_DAYS else 0
    keys = (days - origin) // length
    _refuse_crossing(bars, timeframe, keys, (last - origin) // length)
    return keys * length + origin


def _refuse_crossing(bars: Bars, timeframe: Timeframe, keys: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    rows = np.flatnonzero(keys != ends)
    if len(rows):
        row = int(rows[0])
        raise DataError(
            f"row {row}: the {bars.timeframe} bar of {stamp_text(int(bars.ts[row]))} lies across the edge of two {timeframe} "
            f"bars; choose a timeframe whose edges the bars keep, or state the market's calendar"
        )


def _start(key: int, timeframe: Timeframe, calendar: Calendar) -> int:
    return calendar.day_start(key) if _is_of_dates(timeframe) else key


def _span(key: int, timeframe: Timeframe, calendar: Calendar) -> _Span:
    if not _is_of_dates(timeframe):
        return _Span(key, key + timeframe.seconds)
    days = [day for day in range(key, key + timeframe.seconds // DAY_S) if calendar.trades_on(day)]
    # Bars on a day without trading make a bucket of their own, and nothing more of it can come.
    return (
        _Span(calendar.opening(days[0]), calendar.closing(days[-1])) if days else _Span(calendar.day_start(key + 1), 0)
    )
