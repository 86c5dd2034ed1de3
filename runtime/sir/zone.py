"""The market's own clock: minutes of the day and days, of one stamp and of whole columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DAY = 86_400
_QUARTER = 900


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone by its IANA name."""

    name: str = "UTC"

    def local(self, ts: datetime) -> int:
        """Seconds since 1970-01-01 00:00 on the wall clock there."""
        seconds = int(ts.timestamp())
        return seconds + _offset(self.name, seconds)

    def minute(self, ts: datetime) -> int:
        """Minutes since midnight on the wall clock there.

        >>> Zone("America/New_York").minute(datetime(2024, 7, 1, 13, 30, tzinfo=UTC))
        570
        """
        return self.local(ts) % _DAY // 60

    def day(self, ts: datetime) -> int:
        """Days since 1970-01-01 there."""
        return self.local(ts) // _DAY

    def locals(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """``local`` of a column of stamps in seconds, shape ``(n,)``."""
        if self.name == "UTC" or not len(ts):
            return ts
        # The offset changes a few times a year and never twice within a day: one question per quarter of an hour with bars.
        quarters, places = np.unique(ts // _QUARTER, return_inverse=True)
        offsets = np.array([_offset(self.name, int(each) * _QUARTER) for each in quarters], dtype=np.int64)
        return ts + offsets[places]

    def minutes(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """``minute`` of a column of stamps."""
        return self.locals(ts) % _DAY // 60

    def days(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """``day`` of a column of stamps."""
        return self.locals(ts) // _DAY


@lru_cache(maxsize=65_536)
def _offset_of(name: str, quarter: int) -> int:
    offset = datetime.fromtimestamp(quarter * _QUARTER, UTC).astimezone(ZoneInfo(name)).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _offset(name: str, seconds: int) -> int:
    """Seconds east of UTC. All clocks are put forward and back at a quarter of an hour of UTC."""
    return 0 if name == "UTC" else _offset_of(name, seconds // _QUARTER)
