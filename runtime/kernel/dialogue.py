"""What a session and a strategy behind a line say to each other, as bytes. No pickle, nothing that runs code.

The way out is ours and trusted: moments as packed numbers, and what changed in the books as JSON. The way back comes
from a process that runs a candidate: it is capped, taken apart by hand and never believed. What a candidate asked for
is carried so that the session judges and logs it exactly as if it had been asked in this process, wrong values and all.
"""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from runtime.desk import MAX_LOOKBACK, MAX_TAG, Action, IndicatorCall, OpenOrder, Request, StrategyError
from runtime.indicators import REGISTRY, check, lookback
from runtime.kernel.report import Failure
from runtime.kernel.session import Account, Declaration
from runtime.model import Bar, Fill, OrderType, Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime.desk import Moment
    from runtime.kernel.session import RunLimits

# The trusted side computes each declared series over all bars. Real strategies have a dozen.
MAX_SERIES = 256

# What a hook asks for fits many times over; a longer answer is not worth parsing.
_MAX_ANSWER = 256 * 1024
# The capped log at its widest: every character an escape of an escape.
_MAX_FAREWELL = 4 * 1024 * 1024
_MAX_LOG_LINE = 10_000
_MAX_LINE_NUMBER = 2**31

_HOOKS = frozenset({"load", "__init__", "on_start", "on_bar", "on_fill", "on_stop"})


class DialogueError(Exception):
    """An answer that no honest strategy process gives. The run is over."""


class Topic(Enum):
    """What a message to the strategy is about: its first byte."""

    WARM_UP = b"W"
    """Bars on which nothing is decided. No answer."""
    BAR = b"B"
    """One bar on which nothing is new. The answer is what was asked for."""
    NEWS = b"N"
    """The same, with what changed in the books since the last bar."""
    STOP = b"S"
    """No more bars: run ``on_stop``. The answer is a ``Farewell``."""
    LOG = b"L"
    """The run is over before its end. The answer is a ``Farewell``."""


class Farewell(NamedTuple):
    """The last answer."""

    failure: Failure | None
    """What ``on_stop`` raised."""
    log: tuple[str, ...]


class News(NamedTuple):
    """What changed in the books since the last bar."""

    account: Account | None
    fills: tuple[Fill, ...]


# -- the way out: bars --


_BAR_FIELDS = len(Bar._fields)


class MomentCodec:
    """Packs and unpacks moments with a known number of declared series.

    >>> codec = MomentCodec(1)
    >>> moment = (Bar(datetime(2020, 1, 1, tzinfo=UTC), 1.0, 2.0, 0.5, 1.5, 9.0), 3, 0.25)
    >>> codec.unpack(codec.pack(moment)) == moment
    True
    """

    def __init__(self, series: int) -> None:
        self._layout = struct.Struct(f"<q5dq{series}d")

    @property
    def size(self) -> int:
        """Bytes of one moment."""
        return self._layout.size

    def pack(self, moment: Moment) -> bytes:
        """One moment; its stamp in whole seconds."""
        bar = moment[0]
        return self._layout.pack(int(bar[0].timestamp()), *bar[1:], *moment[1:])

    def unpack(self, data: bytes, offset: int = 0) -> Moment:
        """The moment at ``offset``."""
        fields = self._layout.unpack_from(data, offset)
        return (Bar(datetime.fromtimestamp(fields[0], UTC), *fields[1:_BAR_FIELDS]), *fields[_BAR_FIELDS:])

    def unpack_all(self, data: bytes) -> list[Moment]:
        """Moments one after the other, from the second byte on."""
        return [self.unpack(data, offset) for offset in range(1, len(data), self.size)]


# -- the way out: the books --


def encode_news(account: Account | None, fills: Iterable[Fill]) -> bytes:
    """What changed, for ``decode_news``. Numbers keep their type and every bit."""
    books = None
    if account is not None:
        cash, position, entry_price, orders = account
        books = [cash, position, entry_price, [_order_fields(order) for order in orders]]
    told = [[int(f.ts.timestamp()), f.side.value, f.quantity, f.price, f.fee, f.tag, f.order_id] for f in fills]
    return json.dumps([books, told], separators=(",", ":")).encode("ascii")


def decode_news(data: bytes) -> News:
    """What ``encode_news`` was given."""
    books, told = json.loads(data)
    account = None
    if books is not None:
        cash, position, entry_price, orders = books
        account = Account(cash, position, entry_price, tuple(_order(fields) for fields in orders))
    fills = tuple(
        Fill(
            ts=datetime.fromtimestamp(ts, UTC),
            side=Side(side),
            quantity=quantity,
            price=price,
            fee=fee,
            tag=tag,
            order_id=order_id,
        )
        for ts, side, quantity, price, fee, tag, order_id in told
    )
    return News(account, fills)


def _order_fields(order: OpenOrder) -> list[object]:
    numbers = (order.quantity, order.limit, order.stop, order.trail, order.stop_loss, order.take_profit)
    return [order.id, order.side.value, order.type.value, order.tag, *numbers]


def _order(fields: list[Any]) -> OpenOrder:
    number, side, kind, tag, quantity, limit, stop, trail, stop_loss, take_profit = fields
    return OpenOrder(
        id=number,
        side=Side(side),
        type=OrderType(kind),
        tag=tag,
        quantity=quantity,
        limit=limit,
        stop=stop,
        trail=trail,
        stop_loss=stop_loss,
        take_profit=take_profit,
    )


# -- the way back: declarations --


def encode_declaration(declared: Declaration | Failure) -> bytes:
    """What ``on_start`` declared, for ``decode_declaration``."""
    if isinstance(declared, Failure):
        return _encode_failure(declared)
    calls = [[call.name, call.source, list(map(list, call.params))] for call in declared.calls]
    return _dump({"calls": calls, "need": declared.need, "early": declared.early_orders})


def decode_declaration(data: bytes, limits: RunLimits) -> Declaration | Failure:
    """The declaration, each indicator judged again as on the day of its declaration.

    Raises:
        DialogueError: anything is off.
    """
    answer = _load(data, _MAX_ANSWER)
    if type(answer) is not dict:
        _refuse("a declaration that is none")
    if answer.keys() == {"failure"}:
        return _failure(answer["failure"])
    if answer.keys() != {"calls", "need", "early"} or type(answer["calls"]) is not list:
        _refuse("a declaration with other fields")
    if len(answer["calls"]) > MAX_SERIES:
        _refuse(f"more than {MAX_SERIES} declared series")
    return Declaration(
        tuple(_call(item) for item in answer["calls"]),
        _whole(answer["need"], MAX_LOOKBACK, "need"),
        _whole(answer["early"], limits.orders_per_run, "early orders"),
    )


def _call(item: Any) -> IndicatorCall:
    if type(item) is not list or len(item) != 3 or type(item[0]) is not str or item[0] not in REGISTRY:
        _refuse("a series that is none")
    name, source, params = item
    if type(params) is not list or any(type(p) is not list or len(p) != 2 or type(p[0]) is not str for p in params):
        _refuse("parameters that are none")
    claimed = IndicatorCall(name, source, tuple((key, value) for key, value in params))
    try:
        call = check(name, source, dict(claimed.params))
    except StrategyError:
        raise DialogueError("a series that cannot be declared") from None
    if call != claimed or lookback(call.name, dict(call.params)) + 1 > MAX_LOOKBACK:
        _refuse("a series that cannot be declared")
    return call


# -- the way back: requests --

NOTHING = b""
"""The answer to a bar on which nothing was asked for."""

# Candidates may put anything into a request. What the session would say about a wrong value depends on its type alone,
# so a value of the same type stands for it.
_STAND_INS = {"complex": 0j, "bytes": b"", "list": [], "tuple": (), "dict": {}, "set": set(), "object": object()}
_NAMES = {type(value): name for name, value in _STAND_INS.items()}
_HUGE = 2**128
_ACTIONS = {action.value: action for action in Action}
_TYPES = {kind.value: kind for kind in OrderType}


def encode_requests(requests: Sequence[Request] | Failure, limits: RunLimits) -> bytes:
    """What was asked for on one bar, for ``decode_requests``; ids are left to the other side.

    Cut to one more than the limit allows, which says that it is too much.
    """
    if isinstance(requests, Failure):
        return _encode_failure(requests)
    if not requests:
        return NOTHING
    return _dump([_request_fields(request) for request in requests[: limits.orders_per_bar + 1]])


def _request_fields(request: Request) -> list[object]:
    _, action, kind, *values = request
    return [
        action.value if type(action) is Action else None,
        None if kind is None else kind.value if type(kind) is OrderType else "?",
        *map(_plain, values),
    ]


def _plain(value: object) -> object:
    kind = type(value)
    if value is None or kind is float or kind is bool:
        return value
    if kind is int:
        return min(max(value, -_HUGE), _HUGE)  # type: ignore[call-overload]  # an int
    if kind is str:
        return value[:MAX_TAG]  # type: ignore[index]  # a str
    return [_NAMES.get(kind, "object")]


def decode_requests(data: bytes, limits: RunLimits) -> list[Request] | Failure:
    """What was asked for, all with id 0, at most one more than the limit allows.

    Raises:
        DialogueError: anything is off.
    """
    answer = _load(data, _MAX_ANSWER)
    if type(answer) is dict and answer.keys() == {"failure"}:
        return _failure(answer["failure"])
    if type(answer) is not list or not 0 < len(answer) <= limits.orders_per_bar + 1:
        _refuse("requests that are none, or too many")
    return [_request(item) for item in answer]


_WIDTH = len(Request._fields) - 1


def _request(item: Any) -> Request:
    if type(item) is not list or len(item) != _WIDTH:
        _refuse("a request with other fields")
    action, kind, *values = item
    if action is not None and (type(action) is not str or action not in _ACTIONS):
        _refuse("an action that is none")
    if kind is not None and (type(kind) is not str or kind not in {*_TYPES, "?"}):
        _refuse("an order type that is none")
    return Request(
        0,
        None if action is None else _ACTIONS[action],
        None if kind is None else _TYPES.get(kind, "?"),
        *map(_value, values),
    )


def _value(value: Any) -> object:
    kind = type(value)
    if value is None or kind is float or kind is bool:
        return value
    if kind is int and abs(value) <= _HUGE:
        return value
    if kind is str and len(value) <= MAX_TAG:
        return value
    if kind is list and len(value) == 1 and type(value[0]) is str and value[0] in _STAND_INS:
        return _STAND_INS[value[0]]
    return _refuse("a value that no request has")


# -- the way back: the end --


def encode_farewell(failure: Failure | None, log: Sequence[str]) -> bytes:
    """The last answer, for ``decode_farewell``."""
    return _dump({"failure": None if failure is None else _fields(failure), "log": list(log)})


def decode_farewell(data: bytes, limits: RunLimits) -> Farewell:
    """The last answer.

    Raises:
        DialogueError: anything is off.
    """
    answer = _load(data, _MAX_FAREWELL)
    if type(answer) is not dict or answer.keys() != {"failure", "log"}:
        _refuse("a last answer with other fields")
    lines = answer["log"]
    if type(lines) is not list or len(lines) > limits.log_lines:
        _refuse("a log that is none")
    log = tuple(_text(line, _MAX_LOG_LINE, "log line") for line in lines)
    return Farewell(None if answer["failure"] is None else _failure(answer["failure"]), log)


# -- both --


def _fields(failure: Failure) -> list[object]:
    return [failure.hook, failure.exception, failure.line, failure.message]


def _encode_failure(failure: Failure) -> bytes:
    return _dump({"failure": _fields(failure)})


def _failure(fields: Any) -> Failure:
    if type(fields) is not list or len(fields) != 4:
        _refuse("a failure with other fields")
    hook, exception, line, message = fields
    if type(hook) is not str or hook not in _HOOKS:
        _refuse("a failure in no hook")
    return Failure(
        hook=hook,
        exception=_text(exception, 64, "exception"),
        line=None if line is None else _whole(line, _MAX_LINE_NUMBER, "line"),
        message=_text(message, 500, "message"),
    )


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _load(data: bytes, most: int) -> Any:
    if len(data) > most:
        _refuse(f"an answer of {len(data)} bytes")
    try:
        return json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        # ValueError covers bad JSON, bytes that are not ASCII, and whole numbers too long to read.
        raise DialogueError("an answer that is not plain JSON") from None


def _whole(value: Any, most: int, name: str) -> int:
    if type(value) is not int or not 0 <= value <= most:
        _refuse(name)
    return value


def _text(value: Any, length: int, name: str) -> str:
    if type(value) is not str or len(value) > length or not value.isprintable():
        _refuse(name)
    return value


def _refuse(message: str) -> NoReturn:
    raise DialogueError(message)
