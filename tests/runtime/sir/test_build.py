"""A range of days cuts bars by the calendar of the document's own zone, however far it reaches."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.sir.build import stretch
from runtime.sir.plan import PlannedRange

HOUR = 3_600
ZONES = ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "America/Sao_Paulo", "Australia/Lord_Howe"]


def hourly(first: datetime, rows: int) -> Bars:
    price = np.ones(rows)
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=8_760),
        timeframe=Timeframe(HOUR),
        ts=int(first.timestamp()) + HOUR * np.arange(rows),
        open=price,
        high=price,
        low=price,
        close=price,
        volume=price,
    )


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("start", "end"),
    [
        (date(2018, 11, 3), date(2018, 11, 4)),
        (date(2018, 11, 4), date(2018, 11, 4)),
        (date(2018, 11, 2), date(9999, 12, 31)),
        (date(1, 1, 1), date(2018, 11, 3)),
        (date(1, 1, 1), date(9999, 12, 31)),
        (date(9999, 12, 31), date(9999, 12, 31)),
        (date(1, 1, 1), date(1, 1, 1)),
    ],
    ids=str,
)
def test_a_range_holds_the_bars_that_open_on_its_days(zone, start, end):
    """Clocks change in these days in three of the zones; and a range without an end is written as the last day that there is."""
    bars = hourly(datetime(2018, 11, 1, tzinfo=UTC), 120)
    days = [bar.ts.astimezone(ZoneInfo(zone)).date() for bar in bars.rows()]
    found = stretch(bars, PlannedRange(start=start, end=end), zone)
    assert days[found.start : len(found.bars)] == [day for day in days if start <= day <= end]
    assert found.start <= len(found.bars)
