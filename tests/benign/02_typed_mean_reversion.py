from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Optional

WINDOW: Final = 20
ENTRY_Z: Final[float] = 1.0


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Population mean and standard deviation."""
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / len(values)
    return mean, math.sqrt(variance)


class TypedMeanReversion(Strategy):
    def __init__(
        self, name: str, clock: Clock, bus: MessageBus, instrument: Instrument, timeframe: Timeframe
    ) -> None:
        super().__init__(name, clock, bus, instrument, timeframe)
        self._last_z: Optional[float] = None

    def on_start(self) -> None:
        self.need(WINDOW)

    def z_score(self, close: float) -> float | None:
        mean, deviation = mean_and_deviation([bar.close for bar in self.history(WINDOW)])
        return None if deviation == 0 else (close - mean) / deviation

    def on_bar(self, bar: Bar) -> None:
        z = self.z_score(bar.close)
        if z is None:
            return
        if self.flat and z < -ENTRY_Z:
            self.target(0.9, stop_loss=0.08)
        elif self.long and z > 0 and self._last_z is not None:
            self.close()
        self._last_z = z
