"""The clock that strategies see: it shows the time of the decision, and nothing can turn it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from runtime.desk import Desk, StrategyError

if TYPE_CHECKING:
    from datetime import datetime


class Clock:
    """Read-only time. ``now()`` is when the current bar became known: its open plus the timeframe's step, UTC.

    It is the same in a backtest and on live bars, so a strategy cannot tell the two apart by it.
    """

    __slots__ = ("_desk",)

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def now(self) -> datetime:
        """Time of the decision, aware, UTC.

        Raises:
            StrategyError: no bar has been seen yet (``on_start`` runs before the first one).
        """
        bar = self._desk.bar
        if bar is None:
            raise StrategyError(
                "clock-not-running", "clock.now() needs a bar: it works from on_bar on, not in on_start"
            )
        return bar.ts + timedelta(seconds=self._desk.step_s)
