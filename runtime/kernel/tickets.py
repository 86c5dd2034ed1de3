"""From request to ticket: what a strategy asked for is judged value by value before anything acts on it.

A strategy may put anything into a request (text, complex numbers, ``10**400``, its own objects). Nothing of that
reaches the matching: a request becomes a ``Ticket`` of plain checked values, or a reason for refusing it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.desk import MAX_TAG, Action, OpenOrder, Request, printable
from runtime.kernel.report import AccountKind
from runtime.model import OrderType, Side

if TYPE_CHECKING:
    from runtime.kernel.report import RunConfig
    from runtime.model import Instrument

# Beyond it the arithmetic of notionals overflows; no market has such numbers.
_MAX_NUMBER = 1e15


class OrderRefused(Exception):  # noqa: N818  # an outcome inside this package, never seen outside
    """A request or a fill that is not allowed; the text is the reason."""


@dataclass(slots=True)
class Ticket:
    """A checked order at work. Mutable: it triggers, its side may be settled late, its best price moves."""

    id: int
    action: Action
    side: Side | None
    """None until the order is active: closing and targets find their side then."""
    type: OrderType
    quantity: float | None
    weight: float | None
    limit: float | None
    stop: float | None
    """Trigger; for a trailing stop the current level."""
    offset: float | None
    stop_loss: float | None
    take_profit: float | None
    trail: float | None
    tag: str
    triggered: bool = False
    best: float = 0.0
    """Trailing stop: best price of earlier bars."""

    def seen(self) -> OpenOrder:
        """The order as the strategy may see it."""
        return OpenOrder(
            id=self.id,
            side=self.side or (Side.SELL if self.action is Action.CLOSE else Side.BUY),
            quantity=self.quantity,
            type=self.type,
            limit=self.limit,
            stop=self.stop,
            trail=self.offset if self.offset is not None else self.trail,
            stop_loss=self.stop_loss,
            take_profit=self.take_profit,
            tag=self.tag,
        )


@dataclass(frozen=True, slots=True)
class Cancel:
    """A checked wish to cancel one order, or all (None)."""

    id: int | None


def judge(request: Request, config: RunConfig, instrument: Instrument) -> Ticket | Cancel:
    """Turn a request into checked values.

    Raises:
        OrderRefused: with the reason, naming the value and the rule.
    """
    if request.action is Action.CANCEL:
        return _judge_cancel(request.quantity)
    if type(request.action) is not Action:
        raise OrderRefused("wrong order: submit() takes an Order whose side is Side.BUY or Side.SELL")
    action = request.action
    limit, stop = _price("limit", request.limit), _price("stop", request.stop)
    offset = _fraction("trail", request.offset)
    weight = _weight(request.quantity, config, instrument) if action is Action.TARGET else None
    quantity = None if action in {Action.TARGET, Action.CLOSE} else _positive("quantity", request.quantity)
    return Ticket(
        id=request.id,
        action=action,
        side={Action.BUY: Side.BUY, Action.SELL: Side.SELL}.get(action),
        type=_type_of(request, limit, stop, offset),
        quantity=quantity,
        weight=weight,
        limit=limit,
        stop=stop,
        offset=offset,
        stop_loss=_fraction("stop_loss", request.stop_loss),
        take_profit=_positive("take_profit", request.take_profit),
        trail=_fraction("trail", request.trail),
        tag=_tag(request.tag),
    )


def _judge_cancel(wanted: object) -> Cancel:
    if wanted is None:
        return Cancel(None)
    if type(wanted) is int and 0 < wanted < 2**63:
        return Cancel(wanted)
    raise OrderRefused(f"wrong order value: cancel takes an order id, not {_shown(wanted)}")


# What each type needs (True), may not have (False).
_PRICES = {
    OrderType.MARKET: (False, False, False),
    OrderType.LIMIT: (True, False, False),
    OrderType.STOP: (False, True, False),
    OrderType.STOP_LIMIT: (True, True, False),
    OrderType.MARKET_IF_TOUCHED: (False, True, False),
    OrderType.TRAILING_STOP: (False, False, True),
}


def _type_of(request: Request, limit: float | None, stop: float | None, offset: float | None) -> OrderType:
    given = (limit is not None, stop is not None, offset is not None)
    kind = request.type
    if kind is None:
        kind = next(known for known, prices in _PRICES.items() if prices == given)
    if type(kind) is not OrderType:
        raise OrderRefused("wrong order value: type must be an OrderType")
    for name, wanted, has in zip(("limit", "stop", "trail"), _PRICES[kind], given, strict=True):
        if wanted and not has:
            raise OrderRefused(f"wrong order: {kind.name} needs {name}")
        if has and not wanted:
            raise OrderRefused(f"wrong order: {kind.name} takes no {name}")
    return kind


def _number(name: str, value: object) -> float | None:
    if value is None:
        return None
    if type(value) is int:
        # Compared before it is converted: float(10**400) raises.
        if abs(value) > _MAX_NUMBER:
            raise OrderRefused(f"wrong order value: {name} is over {_MAX_NUMBER:g}")
        return float(value)
    if type(value) is not float:
        raise OrderRefused(f"wrong order value: {name} must be a plain number, not {_shown(value)}")
    if not math.isfinite(value) or abs(value) > _MAX_NUMBER:
        raise OrderRefused(f"wrong order value: {name} = {value!r} must be finite and at most {_MAX_NUMBER:g}")
    return value


def _positive(name: str, value: object) -> float | None:
    number = _number(name, value)
    if number is not None and number <= 0.0:
        raise OrderRefused(f"wrong order value: {name} = {number!r} must be above 0")
    return number


def _price(name: str, value: object) -> float | None:
    return _positive(name, value)


def _fraction(name: str, value: object) -> float | None:
    number = _positive(name, value)
    if number is not None and number >= 1.0:
        raise OrderRefused(f"wrong order value: {name} = {number!r} must be a fraction between 0 and 1")
    return number


def _weight(value: object, config: RunConfig, instrument: Instrument) -> float:
    weight = _number("weight", value)
    if weight is None:
        raise OrderRefused("wrong order value: target needs a weight")
    if config.account is AccountKind.CASH:
        low, high = 0.0, 1.0
    else:
        high = 1.0 / instrument.initial_margin
        low = -high
    if not low <= weight <= high:
        raise OrderRefused(
            f"wrong order value: weight = {weight!r} must be from {low:g} to {high:g} in a {config.account.value} account"
        )
    return weight


def _tag(value: object) -> str:
    if type(value) is not str:
        raise OrderRefused(f"wrong order value: tag must be a text, not {_shown(value)}")
    return printable(value[:MAX_TAG])[:MAX_TAG]


_PLAIN = (bool, complex, str, bytes, list, tuple, dict, set)


def _shown(value: object) -> str:
    """The type of a wrong value in our own words: a class of the candidate's may call itself anything."""
    return next((kind.__name__ for kind in _PLAIN if type(value) is kind), "another object")


def canonical(request: Request) -> str:
    """Exact text of a request: equal texts mean equal wishes. Numbers as shortest exact decimals, wrong values by type."""
    action = request.action.value if type(request.action) is Action else "?"
    if request.action is Action.CANCEL:
        return f"cancel {_exact(request.quantity) if request.quantity is not None else 'all'}"
    parts = [f"{request.id} {action}"]
    if type(request.type) is OrderType:
        parts.append(request.type.value)
    elif request.type is not None:
        parts.append("type=?")
    for name in ("quantity", "limit", "stop", "offset", "stop_loss", "take_profit", "trail"):
        value = getattr(request, name)
        if value is not None:
            parts.append(f"{name}={_exact(value)}")
    if type(request.tag) is not str:
        parts.append("tag=?")
    elif request.tag:
        parts.append(f"tag={printable(request.tag[:MAX_TAG])[:MAX_TAG]!r}")
    return " ".join(parts)


def _exact(value: object) -> str:
    if type(value) is float:
        return repr(value)
    if type(value) is int:
        return repr(float(value)) if abs(value) <= 2**53 else (str(value) if abs(value) < 2**128 else "huge")
    return "?"
