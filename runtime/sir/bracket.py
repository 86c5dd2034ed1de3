"""Where a bracket ends a position: the kernel's rules for stop loss, trail and take profit, for one position at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.kernel.costs import ceil_to, floor_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.kernel.tickets import Ticket
    from runtime.market.bars import Bars

# Most positions leave soon: so many rows are looked at one by one, which is cheaper than a column for each trip. Then columns of
# this many rows, and each further look takes four times as many.
_FEW = 32
_BLOCK = 64


class Leaving(NamedTuple):
    """How a position ends by its bracket."""

    row: int
    price: float
    """Before slippage."""
    slips: bool


class TripBracket:
    """The bracket that an entry carries; says where it ends a position."""

    def __init__(self, bars: Bars, ticket: Ticket) -> None:
        self._bars, self._ticket = bars, ticket
        self._tick = bars.instrument.tick
        self._lows, self._highs = bars.low.data, bars.high.data
        self.exists = not (ticket.stop_loss is None and ticket.take_profit is None and ticket.trail is None)

    def end(self, entered: int, price: float, due: int) -> Leaving | None:
        """How a position that was entered at ``price`` ends, up to the open of row ``due``, at which it is closed anyway."""
        if not self.exists:
            return None
        ticket, tick, rows = self._ticket, self._tick, len(self._bars)
        stop = -math.inf if ticket.stop_loss is None else floor_to(price * (1.0 - ticket.stop_loss), tick)
        profit = math.inf if ticket.take_profit is None else ceil_to(price * (1.0 + ticket.take_profit), tick)
        stopped = min(due, rows)
        lows, highs = self._lows, self._highs
        best, start = price, min(entered + _FEW, stopped)
        for row in range(entered, start):
            low, high = lows[row], highs[row]
            floor = stop if ticket.trail is None else self._floor(best, ticket.trail, stop)
            if low <= floor or high >= profit:
                return self._left(entered, row, floor, profit)
            best = max(best, high)
        found, best = self._looked_up(slice(start, stopped), best, stop, profit)
        if found is not None:
            return self._left(entered, *found, profit)
        if due < rows:
            floor = stop if ticket.trail is None else self._floor(best, ticket.trail, stop)
            return self._left_at_open(due, floor, profit)
        return None

    def _floor(self, best: float, trail: float, stop: float) -> float:
        """The level below, where the best price so far is ``best``."""
        return max(floor_to(best * (1.0 - trail), self._tick), stop)

    def _looked_up(
        self, rows: slice, best: float, stop: float, profit: float
    ) -> tuple[tuple[int, float] | None, float]:
        """The first of the rows that touches a level, with the level below there; and the best price after them."""
        start, block = rows.start, _BLOCK
        while start < rows.stop:
            part = slice(start, min(start + block, rows.stop))
            floors, best = self._floors(part, best, stop)
            hits = (self._bars.low[part] <= floors) | (self._bars.high[part] >= profit)
            at = int(hits.argmax())
            if hits[at]:
                return (start + at, float(floors[at])), best
            start, block = part.stop, block * 4
        return None, best

    def _floors(self, rows: slice, best: float, stop: float) -> tuple[NDArray[np.float64], float]:
        """The level below on each of the rows, and the best price after them; ``best`` is that before them."""
        trail = self._ticket.trail
        if trail is None:
            return np.full(rows.stop - rows.start, stop), best
        peaks = np.maximum.accumulate(np.concatenate(([best], self._bars.high[rows])))
        levels = peaks[:-1] * (1.0 - trail)
        if self._tick is not None:
            levels = np.array([floor_to(level, self._tick) for level in levels.tolist()])
        return np.maximum(levels, stop), float(peaks[-1])

    def _left(self, entered: int, row: int, level: float, profit: float) -> Leaving:
        at_open = self._left_at_open(row, level, profit) if row > entered else None
        if at_open is not None:
            return at_open
        open_ = float(self._bars.open[row])
        if self._bars.low[row] <= level:
            return Leaving(row, min(level, open_), slips=True)
        return Leaving(row, max(profit, open_), slips=False)

    def _left_at_open(self, row: int, level: float, profit: float) -> Leaving | None:
        price = float(self._bars.open[row])
        if price <= level:
            return Leaving(row, price, slips=True)
        if price >= profit:
            return Leaving(row, price, slips=False)
        return None
