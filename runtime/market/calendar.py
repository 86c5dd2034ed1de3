"""Time in market data: stamps as text, and the step between bars. Markets and their hours are in ``sessions``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from runtime.market.errors import DataError, quoted
from runtime.model import Timeframe

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOUR_S = 3_600
DAY_S = 86_400
# The mean Gregorian year.
YEAR_S = 31_556_952

# A step seen this often is the step: two bars a session show it in half of the differences, daily bars in 78 %.
_STEP_SHARE = 0.3
# A timeframe that somebody states may differ from what the stamps show by this factor, not more.
_STEP_TOLERANCE = 1.5

_INTEGER = re.compile(r"-?[0-9]{1,18}")
# 1800 to 2200: no market data lie outside, and a wrong unit does.
_EARLIEST, _LATEST = -5_364_662_400, 7_258_118_400
# 8 digits are a date written without dashes far more often than seconds of the year 1970; neither is guessed.
_COMPACT_DATE_DIGITS = 8
# Seconds up to the year 5138; anything larger is milliseconds (from March 1973 on, as milliseconds).
_FIRST_MILLISECONDS = 10**11
_FIRST_MICROSECONDS = 10**14


def parse_stamp(text: str) -> int:
    """Read the open of a bar: an ISO date or datetime, or an integer count of seconds or milliseconds since 1970.

    A datetime without a zone is UTC. Returns whole seconds since 1970-01-01 UTC.

    >>> parse_stamp("2013-03-01"), parse_stamp("2013-03-01T01:00+01:00"), parse_stamp("1362096000000")
    (1362096000, 1362096000, 1362096000)

    Raises:
        ValueError: a clause that says what the text is not.
    """
    text = text.strip()
    ts = _epoch(text) if _INTEGER.fullmatch(text) else _iso(text)
    if not _EARLIEST <= ts < _LATEST:
        raise ValueError(f"{quoted(text)} lies outside the years 1800 to 2199; check its unit")
    return ts


def _iso(text: str) -> int:
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{quoted(text)} is not a date like 2013-03-01, a datetime like 2013-03-01T14:30Z, or epoch seconds"
        ) from None
    if stamp.microsecond:
        raise ValueError(f"{quoted(text)} has a fraction of a second; bars open on whole seconds")
    zoned = stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)
    return int((zoned - datetime.fromtimestamp(0, UTC)).total_seconds())


def _epoch(text: str) -> int:
    value = int(text)
    if len(text) == _COMPACT_DATE_DIGITS and value > 0:
        raise ValueError(f"{text} may be a date or epoch seconds; write dates like 2013-03-01")
    if abs(value) < _FIRST_MILLISECONDS:
        return value
    if abs(value) >= _FIRST_MICROSECONDS:
        raise ValueError(f"{text} is too large for epoch milliseconds; give seconds or milliseconds")
    if value % 1000:
        raise ValueError(f"{text} has a fraction of a second; bars open on whole seconds")
    return value // 1000


def stamp_text(ts: int) -> str:
    """A stamp for people: the date, and the time of day unless it is midnight UTC.

    >>> stamp_text(1362096000), stamp_text(1362148200)
    ('2013-03-01', '2013-03-01T14:30Z')
    """
    moment = datetime.fromtimestamp(ts, UTC)
    return moment.strftime("%Y-%m-%d" if ts % DAY_S == 0 else "%Y-%m-%dT%H:%MZ")


def infer_timeframe(ts: NDArray[np.int64]) -> Timeframe:
    """The timeframe of stamps of shape ``(n,)``: the smallest step that makes up at least 30 % of all steps.

    Steps within an hour of whole days count as whole days, because daylight saving moves the open of daily bars.

    Raises:
        DataError: fewer than two different stamps, no step that is frequent enough, or one outside 1m to 1w.
    """
    steps = _steps(ts)
    sizes, counts = np.unique(steps, return_counts=True)
    frequent = sizes[counts >= _STEP_SHARE * len(steps)]
    if not len(frequent):
        raise DataError(
            f"the timeframe cannot be inferred: the most common step between bars, "
            f"{_duration(int(sizes[counts.argmax()]))}, makes up {counts.max() / len(steps):.0%} of the steps "
            f"and {_STEP_SHARE:.0%} are needed; state it with --timeframe"
        )
    try:
        return Timeframe(int(frequent[0]))
    except ValueError:
        raise DataError(
            f"the bars are {_duration(int(frequent[0]))} apart, but a timeframe is a whole number of minutes "
            f"from 1m to 1w; resample the data"
        ) from None


def check_timeframe(ts: NDArray[np.int64], timeframe: Timeframe) -> None:
    """Compare a stated timeframe with the stamps.

    Raises:
        DataError: fewer than two different stamps, or steps more than 1.5 times longer or shorter than stated; a wrong
            timeframe would make every annualised figure wrong.
    """
    observed = int(np.quantile(_steps(ts), _STEP_SHARE, method="lower"))
    if not 1 / _STEP_TOLERANCE <= observed / timeframe.seconds <= _STEP_TOLERANCE:
        raise DataError(
            f"timeframe {timeframe}: the bars are {_duration(observed)} apart; state the timeframe that the data have, "
            f"or none"
        )


def _steps(ts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positive steps between different stamps, those near whole days rounded to whole days."""
    steps = np.diff(np.unique(ts))
    if not len(steps):
        raise DataError("there is only one bar; two are the least that can be used")
    days = np.rint(steps / DAY_S).astype(np.int64) * DAY_S
    near = (days > 0) & (np.abs(steps - days) <= HOUR_S)
    return np.where(near, days, steps)


def _duration(seconds: int) -> str:
    """Seconds for people.

    >>> _duration(5_400), _duration(2_678_400)
    ('90 minutes', '31 days')
    """
    for size, unit in ((DAY_S, "days"), (HOUR_S, "hours"), (60, "minutes"), (1, "seconds")):
        if seconds % size == 0:
            return f"{seconds // size} {unit if seconds > size else unit[:-1]}"
    raise AssertionError(seconds)
