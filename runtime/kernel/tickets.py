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
    from collections.abc import Mapping

    from runtime.kernel.report import RunConfig
    from runtime.model import Instrument

# On Python 3.11 reading a member from its enum costs as much as a function call; this is on the path of every order.
_BUY, _SELL, _TARGET, _CANCEL = Action.BUY, Action.SELL, Action.TARGET, Action.CANCEL
_BUYING, _SELLING = Side.BUY, Side.SELL
_MARKET = OrderType.MARKET
_CASH = AccountKind.CASH
_NO_TAG = ""

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
    number, action, kind, amount, limit, stop, offset, stop_loss, take_profit, trail, tag = request
    if action is _CANCEL:
        return _judge_cancel(amount)
    if type(action) is not Action:
        raise OrderRefused("wrong order: submit() takes an Order whose side is Side.BUY or Side.SELL")
    sized = action is _BUY or action is _SELL
    is_plain = kind is None and limit is None and stop is None and offset is None
    return Ticket(  # by position: twice as fast as by name, on the path of every order
        number,
        action,
        _BUYING if action is _BUY else _SELLING if action is _SELL else None,
        _MARKET if is_plain else _type_of(kind, (limit is not None, stop is not None, offset is not None)),
        _positive("quantity", amount) if sized and amount is not None else None,
        None if action is not _TARGET else _weight(amount, config, instrument),
        None if limit is None else _positive("limit", limit),
        None if stop is None else _positive("stop", stop),
        None if offset is None else _fraction("trail", offset),
        None if stop_loss is None else _fraction("stop_loss", stop_loss),
        None if take_profit is None else _positive("take_profit", take_profit),
        None if trail is None else _fraction("trail", trail),
        tag if tag is _NO_TAG else _tag(tag),
    )


def _judge_cancel(wanted: object) -> Cancel:
    if wanted is None:
        return Cancel(None)
    if type(wanted) is int and 0 < wanted < 2**63:
        return Cancel(wanted)
    raise OrderRefused(f"wrong order value: cancel takes an order id, not {_shown(wanted)}")


# The prices that each type takes, all of them needed: limit, stop, trail.
_PRICES = {
    OrderType.MARKET: (False, False, False),
    OrderType.LIMIT: (True, False, False),
    OrderType.STOP: (False, True, False),
    OrderType.STOP_LIMIT: (True, True, False),
    OrderType.MARKET_IF_TOUCHED: (False, True, False),
    OrderType.TRAILING_STOP: (False, False, True),
}
_BY_PRICES = {prices: kind for kind, prices in reversed(_PRICES.items())}


def _type_of(kind: object, given: tuple[bool, bool, bool]) -> OrderType:
    if kind is None:
        kind = _BY_PRICES.get(given)
    if type(kind) is not OrderType:
        raise OrderRefused("wrong order value: type must be an OrderType")
    if _PRICES[kind] == given:
        return kind
    for name, wanted, has in zip(("limit", "stop", "trail"), _PRICES[kind], given, strict=True):
        if wanted is not has:
            raise OrderRefused(f"wrong order: {kind.name} {'needs' if wanted else 'takes no'} {name}")
    raise AssertionError(kind)


def _number(name: str, value: object) -> float:
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


def _positive(name: str, value: object) -> float:
    number = _number(name, value)
    if number <= 0.0:
        raise OrderRefused(f"wrong order value: {name} = {number!r} must be above 0")
    return number


def _fraction(name: str, value: object) -> float:
    number = _positive(name, value)
    if number >= 1.0:
        raise OrderRefused(f"wrong order value: {name} = {number!r} must be a fraction between 0 and 1")
    return number


def _weight(value: object, config: RunConfig, instrument: Instrument) -> float:
    weight = _number("weight", value)
    if config.account is _CASH:
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
    return printable(value[:MAX_TAG])[:MAX_TAG] if value else ""


WRONG_VALUES: Mapping[type, object] = {
    type(None): None,
    bool: True,
    complex: 0j,
    str: "",
    bytes: b"",
    list: [],
    tuple: (),
    dict: {},
    set: set(),
}
"""Types that a wrong value is named by, each with a value that stands for it."""


def _shown(value: object) -> str:
    """The type of a wrong value in our own words: a class of the candidate's may call itself anything."""
    return next((kind.__name__ for kind in WRONG_VALUES if type(value) is kind), "another object")


def canonical(request: Request) -> str:
    """Exact text of a request: equal texts mean equal wishes. Numbers as shortest exact decimals, wrong values by type.

    ``logged.read_request`` makes the request of it again.
    """
    number, action, kind, quantity, limit, stop, offset, stop_loss, take_profit, trail, tag = request
    if action is _CANCEL:
        return (
            f"cancel {'all' if quantity is None else _whole(quantity) if type(quantity) is int else _exact(quantity)}"
        )
    # Without the way through the enum's descriptor.
    first = f"{number} {action._value_ if type(action) is Action else '?'}"
    # Most orders say no more. Told by identity alone: comparing may run code of the candidate's.
    if (
        kind is limit is stop is offset is stop_loss is take_profit is trail is None
        and quantity is None
        and tag is _NO_TAG
    ):
        return first
    parts = [first]
    if kind is not None:
        parts.append(kind.value if type(kind) is OrderType else "type=?")
    values = (quantity, limit, stop, offset, stop_loss, take_profit, trail)
    for name, value in zip(LOGGED_VALUES, values, strict=True):
        if value is not None:
            parts.append(f"{name}={_exact(value)}")
    if type(tag) is not str:
        parts.append(f"tag={_wrong(tag)}")
    elif tag:
        parts.append(f"tag={_tag(tag)!r}")
    return " ".join(parts)


LOGGED_VALUES = ("quantity", "limit", "stop", "offset", "stop_loss", "take_profit", "trail")
"""Names of the values of a request in its canonical text."""


def _exact(value: object) -> str:
    if type(value) is float:
        return repr(value)
    if type(value) is int:
        return repr(float(value)) if abs(value) <= _MAX_NUMBER else _whole(value)
    return _wrong(value)


def _wrong(value: object) -> str:
    return "?" + next((kind.__name__ for kind in WRONG_VALUES if type(value) is kind), "")


def _whole(value: int) -> str:
    return str(value) if abs(value) < 2**128 else "huge"
