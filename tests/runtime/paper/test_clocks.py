"""A clock that is set is noticed; a wait ends when it should, whatever the clock did."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from runtime.paper.clocks import ReplayClock, WallClock


@pytest.mark.parametrize(("moved", "told"), [(3_600.0, 3_600.0), (-90.0, -90.0), (0.5, 0.0), (-1.9, 0.0)])
def test_a_wall_clock_that_was_set_is_told_by_the_monotonic_one_and_only_once(monkeypatch, moved, told):
    wall, steady = [1_000.0], [50.0]
    monkeypatch.setattr(time, "time", lambda: wall[0])
    monkeypatch.setattr(time, "monotonic", lambda: steady[0])
    clock = WallClock()
    wall[0] += 7.0 + moved
    steady[0] += 7.0
    assert clock.jump_s() == pytest.approx(told)
    assert clock.jump_s() == 0.0


def test_a_wait_for_a_moment_that_is_over_is_none():
    clock = WallClock()
    clock.wait(clock.now() - timedelta(days=1), lambda: pytest.fail("nobody waits"))


def test_replayed_time_is_where_the_last_wait_led_and_never_goes_back():
    start = datetime(2026, 3, 2, tzinfo=UTC)
    clock = ReplayClock(start)
    clock.wait(start + timedelta(hours=3), lambda: False)
    clock.wait(start, lambda: False)
    assert clock.now() == start + timedelta(hours=3)
