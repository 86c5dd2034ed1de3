from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from runtime.sir.zone import Zone


@pytest.mark.parametrize("name", ["UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"])
def test_minutes_and_days_are_those_of_the_wall_clock_there(name: str) -> None:
    # Two years in steps that hit every quarter of an hour somewhere, and both changes of the clocks.
    ts = np.arange(1_672_531_200, 1_735_689_600, 2_700, dtype=np.int64)
    zone, there = Zone(name), ZoneInfo(name)
    minutes, days = zone.minutes(ts), zone.days(ts)
    for at in range(0, len(ts), 7):
        moment = datetime.fromtimestamp(int(ts[at]), UTC)
        wall = moment.astimezone(there)
        assert minutes[at] == zone.minute(moment) == wall.hour * 60 + wall.minute
        assert days[at] == zone.day(moment) == wall.toordinal() - datetime(1970, 1, 1, tzinfo=UTC).toordinal()
