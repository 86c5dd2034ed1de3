"""The clock shows when a decision is possible, the bus ends at its owner."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime.clock import Clock
from runtime.desk import Desk, StrategyError
from runtime.model import Bar


def test_a_bar_is_known_one_step_after_its_open():
    """A five-minute bar stamped 09:50 may be used from 09:55."""
    desk = Desk(step_s=300)
    clock = Clock(desk)
    with pytest.raises(StrategyError, match="needs a bar"):
        clock.now()
    desk.past.append((Bar(datetime(2024, 3, 1, 9, 50, tzinfo=UTC), 1, 1, 1, 1, 1), 1))
    assert clock.now() == datetime(2024, 3, 1, 9, 55, tzinfo=UTC)


def test_a_clock_cannot_be_set():
    clock = Clock(Desk(step_s=300))
    with pytest.raises(AttributeError):
        clock.time = 5
    assert [name for name in dir(clock) if not name.startswith("_")] == ["now"]
