"""Round trips whose rows the money does not decide: no bracket, and nothing that could refuse an entry.

Then all rows are found on columns first, and what is left to do one after the other is the money: each size depends on the cash that
the trip before left. Sizes and costs are the kernel's (``Sizer``, ``affordable``, ``fee_of``, ``slipped``) for the case that is left of them here,
in the same order of operations. Whatever looks unusual is not decided here but given back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.desk import Action
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
    """Rows of orders and of their fills, entries and exits in turn."""

    asked: Rows
    filled: Rows


def are_plain(ticket: Ticket, config: RunConfig, bars: Bars) -> bool:
    """Whether these orders under these rules are the case that this module knows."""
    costs, venue = config.costs, bars.instrument
    has_bracket = not (ticket.stop_loss is None and ticket.take_profit is None and ticket.trail is None)
    has_steps = not (venue.lot is None and venue.tick is None)
    is_share = costs.fee_per_unit == costs.fee_minimum == 0.0 and max(costs.fee_bps, costs.slippage_bps) <= _MOST_BPS
    is_target = ticket.action is Action.TARGET and (ticket.weight or 0.0) >= _LEAST_WEIGHT
    return is_share and is_target and not (has_bracket or has_steps)


def plain_trips(
    bars: Bars, config: RunConfig, orders: TripOrders, signals: tuple[Rows, Rows], weight: float
) -> TripRun | None:
    """Trade the signals; None when a size comes out that only the kernel's own rules can judge.

    Args:
        bars: what it trades on.
        config: cash, costs and delay.
        orders: the requests.
        signals: rows on which the rules to enter and to leave fire.
        weight: the share of the equity that an entry asks for.
    """
    asked, filled = _decide(len(bars), 1 + config.decision_delay, orders.time_stop, signals)
    prices, costs = bars.open[filled], config.costs
    share = costs.slippage_bps / 10_000.0
    prices[::2] *= 1.0 + share
    prices[1::2] *= 1.0 - share
    settled = _settle(prices, config, weight, bars.instrument.min_notional)
    if settled is None:
        return None
    quantities, cash = settled
    return TripRun(
        orders=orders,
        asked=Asked(asked, np.arange(len(asked)) % 2 == 0),
        filled=Filled(
            filled,
            quantities,
            prices,
            quantities * prices * costs.fee_bps / 10_000.0,
            np.arange(1, len(filled) + 1),
            cash,
        ),
        refused_count=0,
        open_orders=len(asked) - len(filled),
        close=bars.close,
        cash=config.cash,
    )


def _decide(rows: int, delay: int, time_stop: int | None, signals: tuple[Rows, Rows]) -> _Decided:
    """What is asked for when and where it fills: each entry's exit on columns, then from exit to next entry."""
    enter, leave = signals
    entered = enter + delay
    leaving = np.append(leave, rows)[np.searchsorted(leave, entered)]
    if time_stop is not None:
        leaving = np.minimum(leaving, entered + (time_stop - 1))
    following = np.searchsorted(enter, leaving + delay).tolist()
    chain, at, end = [], 0, len(following)
    while at < end:
        chain.append(at)
        at = following[at]
    taken = np.array(chain, dtype=np.intp)
    asked = np.column_stack((enter[taken], leaving[taken])).ravel()
    # Only of the last trip anything can lie beyond the bars.
    asked = asked[asked < rows]
    filled = asked + delay
    return _Decided(asked, filled[filled < rows])


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
