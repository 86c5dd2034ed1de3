"""Where a bracket would end each of many long positions: the kernel's rules for stop loss, trail and take profit, on columns.

Nothing in here depends on money, so every position that could be entered is looked at, taken or not. A trail is the one rule
with a memory. Its level on a row is that of the highest price since the entry, and rounding never turns an order of prices round, so a
row touches it exactly when it touches the level of the entry's own price, or that of any earlier row of the position. For each row the
first later one that touches its level is known without any position, and the earliest of them from the entry on is what ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.kernel.tickets import Ticket
    from runtime.market.bars import Bars
    from runtime.sir.known import Known

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


REASONS = ("", "stop_loss", "trail", "take_profit")
"""What a fill is tagged with, by code; the first is that of an order's own fill."""
BY_ORDER, _STOP, _TRAIL, _PROFIT = range(4)


class Leavings(NamedTuple):
    """How positions end by their bracket, each column of shape ``(n_positions,)``."""

    ends: Flags
    """Whether the bracket ends it."""
    rows: Rows
    """Where, as the other columns only for those that it ends."""
    prices: Floats
    """Before slippage."""
    reasons: NDArray[np.int8]
    """Codes of ``REASONS``."""

    @property
    def slips(self) -> Flags:
        """Whether a stop ends it, which slips."""
        stops: Flags = self.reasons != _PROFIT
        return stops

    def of(self, places: Rows) -> Leavings:
        """Some of them."""
        return Leavings(self.ends[places], self.rows[places], self.prices[places], self.reasons[places])


def has_bracket(ticket: Ticket) -> bool:
    """Whether an entry carries anything that may end its position."""
    return not (ticket.stop_loss is None and ticket.take_profit is None and ticket.trail is None)


def leavings(known: Known, ticket: Ticket, entered: Rows, prices: Floats, due: Rows) -> Leavings:
    """How the bracket of an entry ends positions, for an instrument without a tick.

    Args:
        known: what is traded.
        ticket: the entry; its ``stop_loss``, ``take_profit`` and ``trail`` are the bracket.
        entered: row of each entry's fill, within the bars.
        prices: of each entry's fill.
        due: the row at whose open each position is closed anyway, after ``entered``; may lie beyond the bars.
    """
    bars, rows = known.bars, len(known.bars)
    stopped = np.minimum(due, rows)
    longest = int((stopped - entered).max(initial=0)) + 1
    hit = np.full(len(entered), rows, dtype=np.intp)
    floors = np.full(len(entered), -np.inf) if ticket.stop_loss is None else prices * (1.0 - ticket.stop_loss)
    nearest = floors if ticket.trail is None else np.maximum(floors, prices * (1.0 - ticket.trail))
    if ticket.stop_loss is not None or ticket.trail is not None:
        lows = known.lows(longest)
        hit = lows.first(entered, nearest)
        if ticket.trail is not None:
            touched = lows.first(np.arange(1, rows + 1), bars.high * (1.0 - ticket.trail))
            hit = np.minimum(hit, np.minimum.accumulate(touched[::-1])[::-1][entered])
    falls = None
    if ticket.take_profit is not None or ticket.trail is not None:
        falls = known.falls(longest)
    profits = np.full(len(entered), np.inf)
    if ticket.take_profit is not None and falls is not None:
        profits = prices * (1.0 + ticket.take_profit)
        hit = np.minimum(hit, falls.first(entered, -profits))
    is_hit = hit < stopped
    # What no row before ends may still end at the open of the row on which it is closed anyway.
    row = np.minimum(np.where(is_hit, hit, due), rows - 1)
    below = np.full(len(entered), _STOP, dtype=np.int8)
    if ticket.trail is not None and falls is not None:
        best = np.maximum(prices, -falls.of(entered, row))
        trailed = best * (1.0 - ticket.trail)
        # Of two levels at one price the stop loss is the reason, as in the kernel.
        below[trailed > floors] = _TRAIL
        floors = np.maximum(trailed, floors)
    return _left(bars, _Ways(entered, row, is_hit, due < rows), floors, profits, below)


class _Ways(NamedTuple):
    """Where positions may end, each column of shape ``(n_positions,)``."""

    entered: Rows
    row: Rows
    is_hit: Flags
    """Whether the row touches a level."""
    is_closed: Flags
    """Whether it is closed anyway, within the bars."""


def _left(bars: Bars, ways: _Ways, floors: Floats, profits: Floats, below: NDArray[np.int8]) -> Leavings:
    """The price on the row where it may end; the open comes first, and below before above."""
    opens = bars.open[ways.row]
    is_below, is_above = opens <= floors, opens >= profits
    ends = ways.is_hit | (ways.is_closed & (is_below | is_above))
    rises = (ways.row > ways.entered) & is_above & ~is_below
    falls = (bars.low[ways.row] <= floors) & ~rises
    prices = np.where(falls, np.minimum(floors, opens), np.maximum(profits, opens))
    return Leavings(ends, ways.row, prices, np.where(falls, below, np.int8(_PROFIT)))
