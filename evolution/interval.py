"""Which bars were seen: the key of the ledgers. Two sets with other names that share bars share their history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.market import Bars, Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class BarInterval:
    """A stretch of one symbol's bars of one timeframe."""

    symbol: str
    timeframe: str
    start: datetime
    """Open of the first bar, UTC."""
    end: datetime
    """End of the last bar (its open plus the timeframe), UTC; no longer part of the interval."""

    def overlaps(self, other: BarInterval) -> bool:
        """Whether the two share at least one bar."""
        same = (self.symbol, self.timeframe) == (other.symbol, other.timeframe)
        return same and self.start < other.end and other.start < self.end


def intervals_of(bars: Mapping[str, Bars], cells: Sequence[Cell]) -> tuple[BarInterval, ...]:
    """What is scored in some cells. Warm-up rows are not: they feed indicators, and no figure comes from them."""
    return tuple(
        BarInterval(
            symbol=cell.symbol,
            timeframe=str(bars[cell.symbol].timeframe),
            start=_moment(bars[cell.symbol], cell.start),
            end=_moment(bars[cell.symbol], cell.stop - 1) + bars[cell.symbol].timeframe.step,
        )
        for cell in cells
    )


def overlap_of(intervals: Sequence[BarInterval], others: Sequence[BarInterval]) -> bool:
    """Whether any two of them share a bar."""
    return any(one.overlaps(other) for one in intervals for other in others)


def _moment(bars: Bars, row: int) -> datetime:
    return datetime.fromtimestamp(int(bars.ts[row]), UTC)
