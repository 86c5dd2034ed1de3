"""Round trips of two signal columns in a cash account: what the kernel would do, without going over the bars.

Only for what most documents are: long or flat, market orders, one bracket, whole exits. The loop here is over round trips, sizes come
from the kernel's own ``Sizer`` and costs from its own functions, in the same order of operations, so results agree to the last bit
with a run of the kernel (a property test holds the two together). Everything else runs through the kernel itself.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from runtime.kernel.costs import ceil_to, fee_of, fee_within, floor_to, slipped
from runtime.kernel.portfolio import Portfolio
from runtime.kernel.sizing import Sizer
from runtime.kernel.tickets import OrderRefused, Ticket, judge
from runtime.model import Side
from runtime.sir.bracket import TripBracket
from runtime.sir.plain_trips import are_plain, plain_trips
from runtime.sir.trip_run import Asked, Filled, TripRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.kernel.report import RunConfig
    from runtime.market.bars import Bars
    from runtime.sir.known import Known
    from runtime.sir.trip_run import TripOrders

    Rows = NDArray[np.intp]
    _Booked: TypeAlias = tuple[int, float, float, float, int, float]
    """A line of ``Filled``."""


def round_trips(
    known: Known,
    config: RunConfig,
    orders: TripOrders,
    signals: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    first: int,
) -> TripRun:
    """Trade the signals: enter while flat, leave while long, each decided at a close and filled at a later open.

    Args:
        known: what it trades on.
        config: cash, costs and delay; the account must be a cash account.
        orders: the requests; the entry is a BUY or TARGET at the market without prices.
        signals: enter and leave, each of shape ``(n_bars,)``.
        first: the first row on which anything may be decided.

    Raises:
        OrderRefused: the entry's own values are not allowed, so every attempt would be refused as it is asked.
    """
    bars = known.bars
    ticket = judge(orders.entry, config, bars.instrument)
    if not isinstance(ticket, Ticket):
        raise AssertionError(orders)  # noqa: TRY004 - ours to get right
    enter, leave = (np.flatnonzero(column[first:]) + first for column in signals)
    run = None
    if are_plain(ticket, config, bars):
        run = plain_trips(known, config, orders, ticket, (enter, leave))
    return _Trader(bars, config, orders, ticket, (enter, leave)).run(first) if run is None else run


class _Trader:
    """The books of one run and a place in it."""

    def __init__(
        self, bars: Bars, config: RunConfig, orders: TripOrders, ticket: Ticket, signals: tuple[Rows, Rows]
    ) -> None:
        self._bars, self._config, self._orders, self._ticket = bars, config, orders, ticket
        self._enter, self._leave = (rows.tolist() for rows in signals)
        self._tick = bars.instrument.tick
        self._books = Portfolio(config.cash)
        self._sizer = Sizer(config, bars.instrument, self._books)
        self._bracket = TripBracket(bars, ticket)
        self._delay = 1 + config.decision_delay
        self._rows = len(bars)
        self._asked: list[int] = []
        self._enters: list[bool] = []
        self._filled: list[_Booked] = []
        self._refused = 0
        self._open_orders = 0

    def run(self, first: int) -> TripRun:
        row: int | None = first
        while row is not None:
            row = self._trip(row)
        return TripRun(
            orders=self._orders,
            asked=Asked(self._asked, self._enters),
            filled=Filled(*zip(*self._filled, strict=True)) if self._filled else Filled((), (), (), (), (), ()),
            refused_count=self._refused,
            late=None,
            reasons=None,
            open_orders=self._open_orders,
            close=self._bars.close,
            cash=self._config.cash,
        )

    def _trip(self, row: int) -> int | None:
        """One attempt at a round trip from ``row`` on; gives the row from which the next one may be decided."""
        at = bisect_left(self._enter, row)
        if at == len(self._enter):
            return None
        entered = self._ask(self._enter[at], enters=True)
        if entered is None:
            return None
        if not self._buy(entered):
            return entered
        asking = self._exit_decided(entered)
        due = asking + self._delay
        left = self._bracket.end(entered, self._books.entry_price, due)
        if left is not None and left.row <= asking:
            self._sell(left.row, left.price, self._last_id, slips=left.slips)
            return left.row
        if asking >= self._rows:
            return None
        entry_id = self._last_id
        closed = self._ask(asking, enters=False)
        if left is not None:
            # The order to close comes too late and is refused: there is nothing left to close.
            self._sell(left.row, left.price, entry_id, slips=left.slips)
            self._refused += closed is not None
        elif closed is not None:
            self._sell(closed, float(self._bars.open[closed]), self._last_id, slips=True)
        return closed

    @property
    def _last_id(self) -> int:
        return len(self._asked)

    def _ask(self, row: int, *, enters: bool) -> int | None:
        """Write an order down; gives the row at whose open it fills, None when there is none left."""
        self._asked.append(row)
        self._enters.append(enters)
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
        self._note(row, quantity, price, fee, self._last_id)
        return True

    def _sell(self, row: int, price: float, order_id: int, *, slips: bool) -> None:
        books, costs = self._books, self._config.costs
        price = self._slipped(price, Side.SELL) if slips else price
        quantity = books.position
        fee = fee_within(fee_of(costs, quantity, price), books.cash, quantity * price)
        books.cash -= -quantity * price + fee
        books.position = books.entry_price = 0.0
        self._note(row, quantity, price, fee, order_id)

    def _note(self, row: int, quantity: float, price: float, fee: float, order_id: int) -> None:
        self._filled.append((row, quantity, price, fee, order_id, self._books.cash))

    def _slipped(self, price: float, side: Side) -> float:
        costs = self._config.costs
        if not costs.slippage_bps:
            return price
        if side is Side.BUY:
            return ceil_to(slipped(costs, price, buying=True), self._tick)
        # As at the venue, a sale at the last tick has nowhere to slip to.
        return floor_to(slipped(costs, price, buying=False), self._tick) or price
