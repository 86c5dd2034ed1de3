"""Round trips whose rows the money does not decide: shares of the equity, and nothing that could refuse an entry.

Then all rows and prices are found first, on columns, and what is left to do one after the other is the money: each size depends on the cash that
the trip before left. Sizes and costs are the kernel's (``Sizer``, ``affordable``, ``fee_of``, ``slipped``) for the case that is left of them here,
in the same order of operations. Whatever looks unusual is not decided here but given back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from runtime.desk import Action
from runtime.sir.leaving import BY_ORDER, Leavings, has_bracket, leavings
from runtime.sir.trip_run import Asked, Filled, TripRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.kernel.report import RunConfig
    from runtime.kernel.tickets import Ticket
    from runtime.market.bars import Bars
    from runtime.sir.known import Known
    from runtime.sir.trip_run import TripOrders

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float64]

_T = TypeVar("_T", bound=np.generic)

# Far inside what the kernel lets trade, in shares of cash, quote currency and units, so that it has nothing to object to.
_LEAST_WEIGHT = 1e-3
_LEAST, _MOST = 1e-3, 1e12

# A sale pays any fee below this out of what it brings in.
_MOST_BPS = 5_000.0


class _Decided(NamedTuple):
    """Orders, and their fills: purchases and sales in turn."""

    asked: Asked
    rows: Rows
    prices: Floats
    order_ids: Rows
    reasons: NDArray[np.int8]
    late: Rows
    """Numbers of the orders that were refused."""
    open_orders: int


def are_plain(ticket: Ticket, config: RunConfig, bars: Bars) -> bool:
    """Whether these orders under these rules are the case that this module knows."""
    costs, venue = config.costs, bars.instrument
    has_steps = not (venue.lot is None and venue.tick is None)
    is_share = costs.fee_per_unit == costs.fee_minimum == 0.0 and max(costs.fee_bps, costs.slippage_bps) <= _MOST_BPS
    is_target = ticket.action is Action.TARGET and (ticket.weight or 0.0) >= _LEAST_WEIGHT
    return is_share and is_target and not has_steps


def plain_trips(
    known: Known, config: RunConfig, orders: TripOrders, ticket: Ticket, signals: tuple[Rows, Rows]
) -> TripRun | None:
    """Trade the signals; None when a size comes out that only the kernel's own rules can judge.

    Args:
        known: what it trades on.
        config: cash, costs and delay.
        orders: the requests.
        ticket: the entry as it was judged.
        signals: rows on which the rules to enter and to leave fire.
    """
    bars, fee_bps = known.bars, config.costs.fee_bps
    schedule = _schedule(len(bars), 1 + config.decision_delay, orders.time_stop, signals)
    decided = _take(known, config, schedule, ticket)
    settled = _settle(decided.prices, config, ticket.weight or 0.0, bars.instrument.min_notional)
    if settled is None:
        return None
    quantities, cash = settled
    fees = quantities * decided.prices * fee_bps / 10_000.0
    return TripRun(
        orders=orders,
        asked=decided.asked,
        filled=Filled(decided.rows, quantities, decided.prices, fees, decided.order_ids, cash),
        refused_count=len(decided.late),
        late=decided.late,
        reasons=decided.reasons,
        open_orders=decided.open_orders,
        close=bars.close,
        cash=config.cash,
    )


class _Schedule(NamedTuple):
    """For each row on which the rules to enter fire: what follows if it is taken, brackets aside."""

    enter: Rows
    entered: Rows
    """Where the entry fills; may lie beyond the bars, like the rows below."""
    leaving: Rows
    """Where leaving is decided by rule or by time."""
    due: Rows
    """Where the position is closed by that."""


def _schedule(rows: int, delay: int, time_stop: int | None, signals: tuple[Rows, Rows]) -> _Schedule:
    enter, leave = signals
    entered = enter + delay
    leaving = np.append(leave, rows)[np.searchsorted(leave, entered)]
    if time_stop is not None:
        leaving = np.minimum(leaving, entered + (time_stop - 1))
    return _Schedule(enter, entered, leaving, leaving + delay)


def _take(known: Known, config: RunConfig, schedule: _Schedule, ticket: Ticket) -> _Decided:
    """From exit to next entry: how each entry would end is known, so what is left is to follow the chain."""
    opens, share = known.bars.open, config.costs.slippage_bps / 10_000.0
    enter, entered, leaving, due = schedule
    # Of the last trip only, what is asked for or filled may lie beyond the bars.
    inside = int(np.searchsorted(entered, len(opens)))
    bought = opens[entered[:inside]] * (1.0 + share)
    left = leavings(known, ticket, entered[:inside], bought, due[:inside]) if has_bracket(ticket) else None
    free = due
    if left is not None:
        free = due.copy()
        np.copyto(free[:inside], left.rows, where=left.ends & (left.rows <= leaving[:inside]))
    taken = _chain(np.searchsorted(enter, free).tolist())
    held = taken[: int(np.searchsorted(taken, inside))]
    trips = _Trips(entered[held], leaving[held], due[held], None if left is None else left.of(held))
    return _written(trips, enter[taken], bought[held], opens, share)


class _Trips(NamedTuple):
    """What is entered within the bars, each column of shape ``(n_trips,)``."""

    entered: Rows
    leaving: Rows
    due: Rows
    left: Leavings | None
    """How the bracket ends them; None where there is none."""


def _written(trips: _Trips, enter: Rows, bought: Floats, opens: Floats, share: float) -> _Decided:
    """Orders and fills of trips; ``enter`` may have one more, whose entry lies beyond the bars."""
    entered, leaving, due, left = trips
    rows, count = len(opens), len(entered)
    asks, is_due = leaving < rows, due < rows
    sold_rows, sold = due, opens[np.minimum(due, rows - 1)] * (1.0 - share)
    by_order, is_late, reasons = asks & is_due, None, np.full(count, BY_ORDER, dtype=np.int8)
    if left is not None:
        asks &= ~(left.ends & (left.rows <= leaving))
        # An order to close that comes too late is refused: there is nothing left to close.
        is_late = asks & is_due & left.ends
        by_order = asks & is_due & ~left.ends
        reasons = np.where(left.ends, left.reasons, reasons)
        sold_rows = np.where(left.ends, left.rows, due)
        sold = np.where(left.ends, np.where(left.slips, left.prices * (1.0 - share), left.prices), sold)
    numbers = np.arange(len(enter))
    numbers[1:] += np.cumsum(asks)[: len(enter) - 1]
    orders = np.empty(len(enter) + int(asks.sum()), dtype=np.intp)
    orders[numbers] = enter
    after = numbers[:count] + 1
    orders[after[asks]] = leaving[asks]
    enters = np.zeros(len(orders), dtype=np.bool_)
    enters[numbers] = True
    is_open = count > 0 and not (by_order[-1] or (left is not None and left.ends[-1]))
    filled = 2 * count - is_open
    waits = len(enter) > count or (count > 0 and bool(asks[-1]) and not is_due[-1])
    return _Decided(
        Asked(orders, enters),
        _in_turn(entered, sold_rows)[:filled],
        _in_turn(bought, sold)[:filled],
        _in_turn(after, after + by_order)[:filled],
        _in_turn(np.full(count, BY_ORDER, dtype=np.int8), reasons)[:filled],
        after[:0] if is_late is None else after[is_late] + 1,
        int(waits),
    )


def _chain(following: list[int]) -> Rows:
    """Places of the entries that are taken: the first, and from each on the one that follows it."""
    taken, at, end = [], 0, len(following)
    while at < end:
        taken.append(at)
        at = following[at]
    return np.array(taken, dtype=np.intp)


def _in_turn(first: NDArray[_T], second: NDArray[_T]) -> NDArray[_T]:
    """One of the first, one of the second, and so on."""
    both = np.empty(2 * len(first), dtype=first.dtype)
    both[::2], both[1::2] = first, second
    return both


def _settle(prices: Floats, config: RunConfig, weight: float, min_notional: float) -> tuple[Floats, Floats] | None:
    """Quantity of each fill and cash after it; None when a purchase is unusually small or large."""
    fee_bps, cash = config.costs.fee_bps, config.cash
    buys, sells = prices[::2], prices[1::2].tolist()
    # A position that is still open has no sale: any number does, and what comes of it is cut off.
    sells += [0.0] * (len(buys) - len(sells))
    quantities: list[float] = []
    cashes = [cash]
    for price, per_unit, sale in zip(buys.tolist(), (buys * (1.0 + fee_bps / 10_000.0)).tolist(), sells, strict=True):
        budget = weight * cash
        quantity = budget / per_unit
        notional = quantity * price
        while (paid := notional + notional * fee_bps / 10_000.0) > budget:
            quantity = math.nextafter(quantity, 0.0)
            notional = quantity * price
        quantities.append(quantity)
        brought = quantity * sale
        cash = cash - paid - (brought * fee_bps / 10_000.0 - brought)
        cashes.append(cash)
    held, after = np.array(quantities), np.array(cashes)
    notionals = held * buys
    if len(held) and not (
        max(_LEAST, min_notional) <= notionals.min()
        and notionals.max() <= _MOST
        and held.min() >= _LEAST
        and held.max() <= _MOST
    ):
        return None
    paid_for = after[:-1] - (notionals + notionals * fee_bps / 10_000.0)
    return np.repeat(held, 2)[: len(prices)], _in_turn(paid_for, after[1:])[: len(prices)]
