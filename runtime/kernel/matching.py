"""When a resting order fills, and at what price: pure rules over one bar.

A bar tells four prices and not their order. So every order is tried twice: at the open, the one moment that is known
(a price that is already through fills at the open, better or worse than asked), and inside the bar, where a touched
level fills at the level. Whatever fills satisfies ``low <= price <= high`` before slippage.

A fill inside the bar also says something about the rest of it: after a touch from above the low is still to come or
just reached, while the high may be over already, and the close is certain. ``Path`` holds what is certain.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from runtime.kernel.costs import ceil_to, floor_to
from runtime.model import OrderType, Side

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.kernel.tickets import Ticket


class Path(NamedTuple):
    """The part of a bar that is certain to follow a moment in it."""

    now: float
    """Price at that moment."""
    low: float
    high: float
    close: float

    def after_fall_to(self, price: float) -> Path:
        """What follows a touch from above: the low is certain, the high only as far as the close proves it."""
        return Path(price, min(self.low, price), max(price, self.close), self.close)

    def after_rise_to(self, price: float) -> Path:
        """What follows a touch from below: the high is certain, the low only as far as the close proves it."""
        return Path(price, min(price, self.close), max(self.high, price), self.close)

    def within(self, other: Path) -> Path:
        """What is certain after this moment and after the other one, whichever came last."""
        return Path(self.now, max(self.low, other.low), min(self.high, other.high), self.close)


class Hit(NamedTuple):
    """A fill to be."""

    price: float
    """Before slippage."""
    slips: bool
    """Whether slippage applies: it does to whatever turns into a market order."""
    rising: bool = False
    """Inside the bar: touched from below (else from above)."""


class Touch(NamedTuple):
    """What a bar does to a resting order."""

    hit: Hit | None
    triggered: bool
    """The order's trigger has been met, now or before: a stop-limit order is a limit order from here on."""


def at_open(ticket: Ticket, price: float) -> Touch:
    """What the open does to a resting order."""
    buying, kind = ticket.side is Side.BUY, ticket.type
    if kind is OrderType.LIMIT or ticket.triggered:
        return Touch(_limit_at_open(ticket, price), ticket.triggered)
    level = _level(ticket)
    from_above = buying is (kind is OrderType.MARKET_IF_TOUCHED)
    if not (price <= level if from_above else price >= level):
        return Touch(None, triggered=False)
    if kind is OrderType.STOP_LIMIT:
        return Touch(_limit_at_open(ticket, price), triggered=True)
    return Touch(Hit(price, slips=True), triggered=False)


def _limit_at_open(ticket: Ticket, price: float) -> Hit | None:
    limit = _limit(ticket)
    through = price <= limit if ticket.side is Side.BUY else price >= limit
    return Hit(price, slips=False) if through else None


def inside(ticket: Ticket, path: Path) -> Touch:
    """What the rest of the bar does to a resting order."""
    buying, kind = ticket.side is Side.BUY, ticket.type
    if kind is OrderType.LIMIT or ticket.triggered:
        return Touch(_reach(path, _limit(ticket), falling=buying, slips=False), ticket.triggered)
    from_above = buying is (kind is OrderType.MARKET_IF_TOUCHED)
    hit = _reach(path, _level(ticket), falling=from_above, slips=True)
    if hit is None or kind is not OrderType.STOP_LIMIT:
        return Touch(hit, triggered=False)
    return Touch(_limit_after_trigger(ticket, path, hit), triggered=True)


def _limit_after_trigger(ticket: Ticket, path: Path, trigger: Hit) -> Hit | None:
    limit, buying = _limit(ticket), ticket.side is Side.BUY
    if trigger.price <= limit if buying else trigger.price >= limit:
        return trigger._replace(slips=False)
    # The price must come back to the limit after the trigger; only the close proves that it did.
    proven = path.close <= limit if buying else path.close >= limit
    return Hit(limit, slips=False, rising=not buying) if proven else None


def _reach(path: Path, level: float, *, falling: bool, slips: bool) -> Hit | None:
    if falling:
        return Hit(min(level, path.now), slips=slips, rising=False) if path.low <= level else None
    return Hit(max(level, path.now), slips=slips, rising=True) if path.high >= level else None


def is_protective(ticket: Ticket) -> bool:
    """Whether the order fills on an adverse move (a stop of any kind), as opposed to a favourable one."""
    kind = ticket.type
    return kind in {OrderType.STOP, OrderType.TRAILING_STOP} or (kind is OrderType.STOP_LIMIT and not ticket.triggered)


def trigger_of(ticket: Ticket) -> float:
    """The price that the order waits for."""
    return _limit(ticket) if ticket.type is OrderType.LIMIT or ticket.triggered else _level(ticket)


class Reach(NamedTuple):
    """Where resting orders begin: a bar that stays strictly between does nothing to any of them, at its open or inside."""

    below: float
    above: float


def reach_of(tickets: Iterable[Ticket]) -> Reach:
    """The nearest trigger below, of what is touched from above, and the nearest one above."""
    below, above = -math.inf, math.inf
    for ticket in tickets:
        level = trigger_of(ticket)
        is_resisting = ticket.triggered or ticket.type in {OrderType.LIMIT, OrderType.MARKET_IF_TOUCHED}
        if (ticket.side is Side.BUY) is is_resisting:
            below = max(below, level)
        else:
            above = min(above, level)
    return Reach(below, above)


def snap(ticket: Ticket, tick: float | None) -> None:
    """Put the order's prices on the tick grid, against the trader."""
    buying = ticket.side is Side.BUY
    if ticket.limit is not None:
        ticket.limit = floor_to(ticket.limit, tick) if buying else ceil_to(ticket.limit, tick)
    if ticket.stop is not None:
        from_above = buying is (ticket.type is OrderType.MARKET_IF_TOUCHED)
        ticket.stop = floor_to(ticket.stop, tick) if from_above else ceil_to(ticket.stop, tick)


def trail(ticket: Ticket, tick: float | None) -> None:
    """Let a trailing stop follow its best price, on the tick grid against the trader."""
    share = ticket.offset or 0.0
    if ticket.side is Side.BUY:
        ticket.stop = ceil_to(ticket.best * (1.0 + share), tick)
    else:
        ticket.stop = floor_to(ticket.best * (1.0 - share), tick)


def _level(ticket: Ticket) -> float:
    if ticket.stop is None:
        raise AssertionError(ticket)
    return ticket.stop


def _limit(ticket: Ticket) -> float:
    if ticket.limit is None:
        raise AssertionError(ticket)
    return ticket.limit
