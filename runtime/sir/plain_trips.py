"""Round trips whose rows the money does not decide: shares of the equity, and nothing that could refuse an entry.

Then all rows and prices are found first, on columns where there is no bracket, and what is left to do one after the other is the money: each size depends on the cash that
the trip before left. Sizes and costs are the kernel's (``Sizer``, ``affordable``, ``fee_of``, ``slipped``) for the case that is left of them here,
in the same order of operations. Whatever looks unusual is not decided here but given back.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.desk import Action
from runtime.sir.bracket import TripBracket
from runtime.sir.trip_run import Asked, Filled, TripRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.kernel.report import RunConfig
    from runtime.kernel.tickets import Ticket
    from runtime.market.bars import Bars
    from runtime.sir.trip_run import TripOrders

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float64]

# Far inside what the kernel lets trade, in shares of cash, quote currency and units, so that it has nothing to object to.
_LEAST_WEIGHT = 1e-3
_LEAST, _MOST = 1e-3, 1e12

# A sale pays any fee below this out of what it brings in.
_MOST_BPS = 5_000.0


class _Decided(NamedTuple):
    """Orders, and their fills: purchases and sales in turn."""

    asked: Asked
    rows: NDArray[np.intp]
    prices: Floats
    order_ids: NDArray[np.intp]
    refused_count: int
    open_orders: int


def are_plain(ticket: Ticket, config: RunConfig, bars: Bars) -> bool:
    """Whether these orders under these rules are the case that this module knows."""
    costs, venue = config.costs, bars.instrument
    has_steps = not (venue.lot is None and venue.tick is None)
    is_share = costs.fee_per_unit == costs.fee_minimum == 0.0 and max(costs.fee_bps, costs.slippage_bps) <= _MOST_BPS
    is_target = ticket.action is Action.TARGET and (ticket.weight or 0.0) >= _LEAST_WEIGHT
    return is_share and is_target and not has_steps


def plain_trips(
    bars: Bars, config: RunConfig, orders: TripOrders, ticket: Ticket, signals: tuple[Rows, Rows]
) -> TripRun | None:
    """Trade the signals; None when a size comes out that only the kernel's own rules can judge.

    Args:
        bars: what it trades on.
        config: cash, costs and delay.
        orders: the requests.
        ticket: the entry as it was judged.
        signals: rows on which the rules to enter and to leave fire.
    """
    bracket, fee_bps = TripBracket(bars, ticket), config.costs.fee_bps
    schedule = _schedule(len(bars), 1 + config.decision_delay, orders.time_stop, signals)
    decided = _walk(bars, config, schedule, bracket) if bracket.exists else _take(bars, config, schedule)
    settled = _settle(decided.prices, config, ticket.weight or 0.0, bars.instrument.min_notional)
    if settled is None:
        return None
    quantities, cash = settled
    fees = quantities * decided.prices * fee_bps / 10_000.0
    return TripRun(
        orders=orders,
        asked=decided.asked,
        filled=Filled(decided.rows, quantities, decided.prices, fees, decided.order_ids, cash),
        refused_count=decided.refused_count,
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
    following: list[int]
    """The place of the next entry after that."""


def _schedule(rows: int, delay: int, time_stop: int | None, signals: tuple[Rows, Rows]) -> _Schedule:
    enter, leave = signals
    entered = enter + delay
    leaving = np.append(leave, rows)[np.searchsorted(leave, entered)]
    if time_stop is not None:
        leaving = np.minimum(leaving, entered + (time_stop - 1))
    return _Schedule(enter, entered, leaving, np.searchsorted(enter, leaving + delay).tolist())


def _take(bars: Bars, config: RunConfig, schedule: _Schedule) -> _Decided:
    """From exit to next entry, on columns."""
    chain, at, end = [], 0, len(schedule.following)
    while at < end:
        chain.append(at)
        at = schedule.following[at]
    taken, rows = np.array(chain, dtype=np.intp), len(bars)
    asked = np.column_stack((schedule.enter[taken], schedule.leaving[taken])).ravel()
    # Only of the last trip anything can lie beyond the bars.
    asked = asked[asked < rows]
    filled = asked + (1 + config.decision_delay)
    filled = filled[filled < rows]
    prices, share = bars.open[filled], config.costs.slippage_bps / 10_000.0
    prices[::2] *= 1.0 + share
    prices[1::2] *= 1.0 - share
    orders = Asked(asked, np.arange(len(asked)) % 2 == 0)
    return _Decided(orders, filled, prices, np.arange(1, len(filled) + 1), 0, len(asked) - len(filled))


def _walk(bars: Bars, config: RunConfig, schedule: _Schedule, bracket: TripBracket) -> _Decided:
    """Trip by trip, since a bracket may end one sooner."""
    rows, delay, share = len(bars), 1 + config.decision_delay, config.costs.slippage_bps / 10_000.0
    enter, entered, leaving = (column.tolist() for column in schedule[:3])
    opens = bars.open.data
    asked: list[int] = []
    enters: list[bool] = []
    fills: list[tuple[int, float, int]] = []
    refused = open_orders = at = 0
    while at < len(enter):
        asked.append(enter[at])
        enters.append(True)
        row, number, asking = entered[at], len(asked), leaving[at]
        if row >= rows:
            open_orders = 1
            break
        price, due = opens[row] * (1.0 + share), asking + delay
        fills.append((row, price, number))
        left = bracket.end(row, price, due)
        if left is not None:
            fills.append((left.row, left.price * (1.0 - share) if left.slips else left.price, number))
            if left.row <= asking:
                at = bisect_left(enter, left.row, at)
                continue
        if asking >= rows:
            break
        asked.append(asking)
        enters.append(False)
        if due >= rows:
            open_orders = 1
            break
        if left is None:
            fills.append((due, opens[due] * (1.0 - share), len(asked)))
        else:
            # The order to close comes too late and is refused: there is nothing left to close.
            refused += 1
        at = schedule.following[at]
    filled, prices, numbers = zip(*fills, strict=True) if fills else ((), (), ())
    return _Decided(
        Asked(asked, enters),
        np.array(filled, dtype=np.intp),
        np.array(prices, dtype=np.float64),
        np.array(numbers, dtype=np.intp),
        refused,
        open_orders,
    )


def _settle(prices: Floats, config: RunConfig, weight: float, min_notional: float) -> tuple[Floats, Floats] | None:
    """Quantity of each fill and cash after it; None when a purchase is unusually small or large."""
    fee_bps, cash, least = config.costs.fee_bps, config.cash, max(_LEAST, min_notional)
    buys, sells = prices[::2], prices[1::2].tolist()
    quantities: list[float] = []
    after: list[float] = []
    # A position that is still open has no sale: any number does, and what comes of it is cut off.
    sells += [0.0] * (len(buys) - len(sells))
    for price, per_unit, sale in zip(buys.tolist(), (buys * (1.0 + fee_bps / 10_000.0)).tolist(), sells, strict=True):
        budget = weight * cash
        quantity = budget / per_unit
        notional = quantity * price
        while (paid := notional + notional * fee_bps / 10_000.0) > budget:
            quantity = math.nextafter(quantity, 0.0)
            notional = quantity * price
        if not (least <= notional <= _MOST and _LEAST <= quantity <= _MOST):
            return None
        cash -= paid
        after.append(cash)
        brought = quantity * sale
        cash -= brought * fee_bps / 10_000.0 - brought
        after.append(cash)
        quantities.append(quantity)
    return np.repeat(np.array(quantities), 2)[: len(prices)], np.array(after[: len(prices)])
