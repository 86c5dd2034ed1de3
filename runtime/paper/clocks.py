"""The two ways in which time passes for a run: as it does, or as fast as the bars can be taken."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

# How often a waiting run looks whether somebody wants it to stop, and renews its lease.
_LOOK_S = 2.0
# A wall clock that moved this much against the monotonic one was set; slewing moves it by 0.5 ms a second at most.
_JUMP_S = 2.0


class RunClock(Protocol):
    """A run's time."""

    def now(self) -> datetime:
        """Aware, UTC."""

    def wait(self, until: datetime, look: Callable[[], bool]) -> None:
        """Wait for a moment; return early when ``look``, called every few seconds, says so."""

    def jump_s(self) -> float:
        """Seconds by which the clock was set since the last call; 0.0 when it was not."""


class WallClock:
    """Time as it passes. Implements ``RunClock``."""

    def __init__(self) -> None:
        self._apart = time.time() - time.monotonic()

    def now(self) -> datetime:
        """The wall clock."""
        return datetime.now(UTC)

    def wait(self, until: datetime, look: Callable[[], bool]) -> None:
        """Sleep, in short slices: a clock that is set shortens or lengthens the wait at once."""
        while (left := (until - self.now()).total_seconds()) > 0.0:
            time.sleep(min(left, _LOOK_S))
            if left > _LOOK_S and look():
                return

    def jump_s(self) -> float:
        """Told by the monotonic clock."""
        apart = time.time() - time.monotonic()
        jump, self._apart = apart - self._apart, apart
        return jump if abs(jump) >= _JUMP_S else 0.0


class ReplayClock:
    """Time that jumps from wait to wait, at some multiple of its own pace. Implements ``RunClock``.

    Args:
        start: where it begins.
        speed: seconds that pass per second of waiting; None waits not at all.
    """

    def __init__(self, start: datetime, speed: float | None = None) -> None:
        self._now = start
        self._speed = speed

    def now(self) -> datetime:
        """Where it has come to."""
        return self._now

    def wait(self, until: datetime, look: Callable[[], bool]) -> None:
        """Be there."""
        left = max((until - self._now).total_seconds(), 0.0)
        if self._speed is not None:
            ends = time.monotonic() + left / self._speed
            while (slice_s := min(ends - time.monotonic(), _LOOK_S)) > 0.0:
                time.sleep(slice_s)
                if look():
                    return
        self._now += timedelta(seconds=left)

    def jump_s(self) -> float:
        """Nobody sets it."""
        return 0.0
