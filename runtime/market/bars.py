"""``Bars``: one instrument's closed bars as columns, with a content hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from runtime.model import Bar, Instrument, Timeframe

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRICE_COLUMNS = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bars:
    """Closed bars of one instrument in time order. Arrays have shape ``(n,)`` and are made read-only.

    Construction checks shapes only; ``runtime.market.quality`` judges the content before anything trades on it.
    """

    instrument: Instrument
    timeframe: Timeframe
    ts: NDArray[np.int64]
    """Open of each bar, seconds since 1970-01-01 UTC."""
    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]
    volume: NDArray[np.float64]
    sha256: str = field(init=False)
    """Digest of timeframe, stamps and columns: the identity of the data, whatever it is called."""

    def __post_init__(self) -> None:
        digest = hashlib.sha256(f"bars/1 {self.timeframe.seconds}".encode())
        for name in ("ts", *PRICE_COLUMNS):
            dtype = np.int64 if name == "ts" else np.float64
            column = np.array(getattr(self, name), dtype=dtype, order="C")
            if column.ndim != 1 or len(column) != len(self.ts):
                raise ValueError(f"column {name}: shape {column.shape}, expected ({len(self.ts)},)")
            column.flags.writeable = False
            object.__setattr__(self, name, column)
            digest.update(name.encode() + column.tobytes())
        object.__setattr__(self, "sha256", digest.hexdigest())

    def __len__(self) -> int:
        return len(self.ts)

    def between(self, start: int, stop: int) -> Bars:
        """Rows ``start`` (included) to ``stop`` (excluded), counted from 0 and clipped to what exists."""
        rows = slice(max(start, 0), max(stop, 0))
        return replace(
            self,
            ts=self.ts[rows],
            open=self.open[rows],
            high=self.high[rows],
            low=self.low[rows],
            close=self.close[rows],
            volume=self.volume[rows],
        )

    def rows(self) -> list[Bar]:
        """All bars as records; build once per data set, they are shared by fork."""
        stamps = [datetime.fromtimestamp(ts, UTC) for ts in self.ts.tolist()]
        columns = (getattr(self, name).tolist() for name in PRICE_COLUMNS)
        return list(map(Bar, stamps, *columns))
