"""Round trips of two signal columns in a cash account: what the kernel would do, without going over the bars.

Only for what most documents are: long or flat, market orders, one bracket, whole exits. The loop here is over round trips, sizes come
from the kernel's own ``Sizer`` and costs from its own functions, in the same order of operations, so results agree to the last bit
with a run of the kernel (a property test holds the two together). Everything else runs through the kernel itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.kernel.costs import ceil_to, fee_of, fee_within, floor_to, slipped
from runtime.kernel.equity import mark
from runtime.kernel.portfolio import Mark, Portfolio
from runtime.kernel.report import OrderEntry, RunConfig
from runtime.kernel.sizing import Sizer
from runtime.kernel.tickets import OrderRefused, Ticket, canonical, judge
from runtime.model import Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runtime.desk import Request
    from runtime.kernel.equity import Curve
    from runtime.market.bars import Bars

# Rows looked through at once for a touched level: most positions leave sooner, and each further look takes four times as many.
_BLOCK = 64


class TripFill(NamedTuple):
    """One fill."""

    row: int
    side: Side
    quantity: float
    price: float
    fee: float
    order_id: int


class Asked(NamedTuple):
    """One line of the order log, not written out yet."""

    row: int
    request: Request


@dataclass(frozen=True, kw_only=True, eq=False)
class TripRun:
    """What came of it. The same figures as in the kernel's ``RunReport``, made when they are asked for."""

    asked: Sequence[Asked]
    fills: Sequence[TripFill]
    refused_count: int
    open_orders: int
    """0 or 1: the last order had no bar left to fill on."""
    marks: Sequence[Mark]
    close: NDArray[np.float64]
    cash: float

    @cached_property
    def order_log(self) -> tuple[OrderEntry, ...]:
        """The log in the kernel's words."""
        return tuple(OrderEntry(row, canonical(request)) for row, request in self.asked)

    @cached_property
    def curve(self) -> Curve:
        """Equity, shape ``(n_bars + 1,)``, and position, shape ``(n_bars,)``."""
        return mark(self.marks, self.close, self.cash)

    @property
    def final_equity(self) -> float:
        """Equity at the last close, quote currency; starting cash when there is no bar."""
        last = self.marks[-1]
        return last.cash + last.position * float(self.close[-1]) if len(self.close) else self.cash


class Leaving(NamedTuple):
    """How a position ends by its bracket."""

    row: int
    price: float
    """Before slippage."""
    slips: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TripOrders:
    """What is asked for: ``entry`` opens, ``leave`` closes all; their ids are set anew."""

    entry: Request
    leave: Request
    time_stop: int | None = None
    """Bars after which a position is closed, the one of its entry counted."""


def round_trips(
    bars: Bars,
    config: RunConfig,
    orders: TripOrders,
    signals: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    first: int,
) -> TripRun:
    """Trade the signals: enter while flat, leave while long, each decided at a close and filled at a later open.

    Args:
        bars: what it trades on.
        config: cash, costs and delay; the account must be a cash account.
        orders: the requests; the entry is a BUY or TARGET at the market without prices.
        signals: enter and leave, each of shape ``(n_bars,)``.
        first: the first row on which anything may be decided.

    Raises:
        OrderRefused: the entry's own values are not allowed, so every attempt would be refused as it is asked.
    """
    return _Trader(bars, config, orders, signals).run(first)


class _Trader:
    """The books of one run and a place in it."""

    def __init__(
        self,
        bars: Bars,
        config: RunConfig,
        orders: TripOrders,
        signals: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    ) -> None:
        self._bars, self._config, self._orders = bars, config, orders
        self._enter, self._leave = (np.flatnonzero(column).tolist() for column in signals)
        self._tick = bars.instrument.tick
        self._books = Portfolio(config.cash)
        self._sizer = Sizer(config, bars.instrument, self._books)
        self._delay = 1 + config.decision_delay
        self._rows = len(bars)
        self._asked: list[Asked] = []
        self._fills: list[TripFill] = []
        self._marks = [Mark(0, config.cash, 0.0)]
        self._ids = 0
        self._refused = 0
        self._open_orders = 0
        ticket = judge(orders.entry, config, bars.instrument)
        if not isinstance(ticket, Ticket):
            raise AssertionError(orders)  # noqa: TRY004 - ours to get right
        self._ticket = ticket

    def run(self, first: int) -> TripRun:
        row: int | None = first
        while row is not None:
            row = self._trip(row)
        return TripRun(
            asked=self._asked,
            fills=self._fills,
            refused_count=self._refused,
            open_orders=self._open_orders,
            marks=self._marks,
            close=self._bars.close,
            cash=self._config.cash,
        )

    def _trip(self, row: int) -> int | None:
        """One attempt at a round trip from ``row`` on; gives the row from which the next one may be decided."""
        at = bisect_left(self._enter, row)
        if at == len(self._enter):
            return None
        entered = self._ask(self._enter[at], self._orders.entry)
        if entered is None:
            return None
        if not self._buy(entered):
            return entered
        asking = self._exit_decided(entered)
        due = asking + self._delay
        left = self._bracket(entered, due)
        if left is not None and left.row <= asking:
            self._sell(left.row, left.price, self._ids, slips=left.slips)
            return left.row
        if asking >= self._rows:
            return None
        entry_id = self._ids
        closed = self._ask(asking, self._orders.leave)
        if left is not None:
            # The order to close comes too late and is refused: there is nothing left to close.
            self._sell(left.row, left.price, entry_id, slips=left.slips)
            self._refused += closed is not None
        elif closed is not None:
            self._sell(closed, float(self._bars.open[closed]), self._ids, slips=True)
        return closed

    def _ask(self, row: int, request: Request) -> int | None:
        """Write an order down; gives the row at whose open it fills, None when there is none left."""
        self._ids += 1
        self._asked.append(Asked(row, request._replace(id=self._ids)))
        due = row + self._delay
        if due < self._rows:
            return due
        self._open_orders = 1
        return None

    def _exit_decided(self, entered: int) -> int:
        """The row on which leaving is decided by rule or by time; the number of rows when it is not."""
        at = bisect_left(self._leave, entered)
        row: int = self._leave[at] if at < len(self._leave) else self._rows
        stop = self._orders.time_stop
        return row if stop is None else min(row, entered + stop - 1)

    def _buy(self, row: int) -> bool:
        ticket, books = self._ticket, self._books
        price = self._slipped(float(self._bars.open[row]), Side.BUY)
        try:
            quantity = self._sizer.size(ticket, Side.BUY, price)
        except OrderRefused:
            self._refused += 1
            return False
        if not quantity > 0.0:
            return False
        fee = fee_of(self._config.costs, quantity, price)
        books.cash -= quantity * price + fee
        books.position, books.entry_price = quantity, price
        self._note(TripFill(row, Side.BUY, quantity, price, fee, self._ids))
        return True

    def _sell(self, row: int, price: float, order_id: int, *, slips: bool) -> None:
        books, costs = self._books, self._config.costs
        price = self._slipped(price, Side.SELL) if slips else price
        quantity = books.position
        fee = fee_within(fee_of(costs, quantity, price), books.cash, quantity * price)
        books.cash -= -quantity * price + fee
        books.position = books.entry_price = 0.0
        self._note(TripFill(row, Side.SELL, quantity, price, fee, order_id))

    def _note(self, fill: TripFill) -> None:
        self._fills.append(fill)
        self._marks.append(Mark(fill.row, self._books.cash, self._books.position))

    def _slipped(self, price: float, side: Side) -> float:
        costs = self._config.costs
        if not costs.slippage_bps:
            return price
        if side is Side.BUY:
            return ceil_to(slipped(costs, price, buying=True), self._tick)
        return floor_to(slipped(costs, price, buying=False), self._tick)

    # The bracket ------------------------------------------------------------------------------------------------

    def _bracket(self, entered: int, due: int) -> Leaving | None:
        """Where stop loss, trail or take profit end the position, up to the open at which it is closed anyway."""
        ticket = self._ticket
        if ticket.stop_loss is None and ticket.take_profit is None and ticket.trail is None:
            return None
        price, tick = self._books.entry_price, self._tick
        stop = -math.inf if ticket.stop_loss is None else floor_to(price * (1.0 - ticket.stop_loss), tick)
        profit = math.inf if ticket.take_profit is None else ceil_to(price * (1.0 + ticket.take_profit), tick)
        best, start, block = price, entered, _BLOCK
        stopped = min(due, self._rows)
        while start < stopped:
            rows = slice(start, min(start + block, stopped))
            floor, best = self._floors(rows, best, stop)
            low, high = self._bars.low[rows], self._bars.high[rows]
            hits = (low <= floor) | (high >= profit)
            at = int(hits.argmax())
            if hits[at]:
                level = floor if isinstance(floor, float) else float(floor[at])
                return self._left(entered, start + at, level, profit)
            start, block = rows.stop, block * 4
        if due < self._rows:
            floor, _ = self._floors(slice(due, due + 1), best, stop)
            return self._left_at_open(due, floor if isinstance(floor, float) else float(floor[0]), profit)
        return None

    def _floors(self, rows: slice, best: float, stop: float) -> tuple[float | NDArray[np.float64], float]:
        """The level below on each of the rows, and the best price after them; ``best`` is that before them."""
        trail = self._ticket.trail
        if trail is None:
            return stop, best
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
