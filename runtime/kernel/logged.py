"""The host of a run that has been: it asks again for what an order log says, and runs no strategy.

An order log holds every request with every digit (``tickets.canonical``), so the log and the bars are all that a run
depends on: a session over this host does the run again.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime.desk import Action, Request
from runtime.kernel.report import Failure, OrderEntry, RunEnd
from runtime.kernel.session import Account, Declaration, Glide
from runtime.kernel.tickets import LOGGED_VALUES, WRONG_VALUES
from runtime.model import OrderType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runtime.desk import Moment
    from runtime.model import Fill

_ACTIONS = {action.value: action for action in Action if action is not Action.CANCEL}
_TYPES = {kind.value: kind for kind in OrderType}

# What stands for a value that is written as its type, and for a whole number too long to be written.
_STAND_INS = {f"?{kind.__name__}": value for kind, value in WRONG_VALUES.items()} | {"?": object(), "huge": 2**128}

_BEFORE_BARS = frozenset({"load", "__init__", "on_start"})

_FLOOD = (Request(0, None),)


class Course(NamedTuple):
    """What a run did, apart from what the venue made of it."""

    end: RunEnd
    failure: Failure | None
    first_tradable_bar: int | None
    last_row: int | None
    """Row of the last bar that the strategy was shown."""
    order_log: tuple[OrderEntry, ...]
    log: tuple[str, ...]
    early_orders: int = 0
    """Orders asked for in ``on_start``: they are refused and not in the order log."""


class LoggedHost:
    """Asks on each bar for what the log has there, and ends as the run ended. Implements ``StrategyHost``.

    Raises:
        ValueError: a line of the log is no request.
    """

    def __init__(self, course: Course) -> None:
        first = course.first_tradable_bar or 0
        self._course = course
        self._asked: dict[int, list[Request]] = {}
        for entry in course.order_log:
            self._asked.setdefault(entry.row - first + 1, []).append(_request(entry.action))
        failure = course.failure
        self._breaks = failure is not None and failure.hook not in {*_BEFORE_BARS, "on_stop"}
        self._floods = course.end is RunEnd.FLOODED
        stops = {course.last_row - first + 1} if course.last_row is not None and (self._breaks or self._floods) else ()
        self._stop = next(iter(stops), None)
        # Bars, by their count, on which there is something to say; the next one last.
        self._events = sorted({*self._asked, *stops}, reverse=True)
        self._count = 0
        self.dropped = 0

    def start(self) -> Declaration | Failure:
        """What the run declared, without its series: nobody here looks at them."""
        failure = self._course.failure
        if failure is not None and failure.hook in _BEFORE_BARS:
            return failure
        return Declaration((), 0, self._course.early_orders)

    def warm_up(self, moments: Sequence[Moment]) -> None:
        """Nothing to remember."""

    def decide(self, moment: Moment, account: Account | None, fills: Sequence[Fill]) -> Sequence[Request] | Failure:  # noqa: ARG002  # the protocol's
        """What the log has on this bar."""
        self._count = count = moment[1]
        return self._said(count) if self._events and self._events[-1] == count else ()

    def glide(self, moments: Iterator[Moment]) -> Glide:
        """On to the next bar on which the log has something."""
        ahead = self._events[-1] - self._count if self._events else None
        taken = deque(islice(moments, ahead), maxlen=1)
        if not taken:
            return None, ()
        (last,) = taken
        return last, self.decide(last, None, ())

    def _said(self, count: int) -> Sequence[Request] | Failure:
        self._events.pop()
        if count != self._stop:
            return self._asked[count]
        if self._course.failure is not None:
            return self._course.failure
        self.dropped = 1
        return _FLOOD

    def stop(self) -> Failure | None:
        """How ``on_stop`` ended."""
        failure = self._course.failure
        return failure if failure is not None and failure.hook == "on_stop" else None

    @property
    def log(self) -> Sequence[str]:
        """What the strategy logged."""
        return self._course.log


def _request(text: str) -> Request:
    """``read_request``, with what stands behind the number read once: most orders of a strategy differ in nothing else."""
    number, _, wish = text.partition(" ")
    known = _wishes.get(wish)
    if known is not None and number.isdecimal():
        return Request(int(number), *known)
    request = read_request(text)
    if number != "cancel" and "tag=" not in wish:
        if len(_wishes) >= _WISHES_REMEMBERED:
            _wishes.clear()
        _wishes[wish] = tuple(request)[1:]
    return request


# Texts of a candidate: few, short and soon forgotten.
_WISHES_REMEMBERED = 1_024
_wishes: dict[str, tuple[Any, ...]] = {}


def read_request(text: str) -> Request:
    """The request that a line of an order log stands for: ``canonical`` makes the same line of it, if it is one.

    >>> read_request("1 buy limit=99.5 tag='in'").limit
    99.5

    Raises:
        ValueError: the line is none.
    """
    head, _, tag = text.partition(" tag=")
    first, *parts = head.split(" ")
    if not parts:
        raise ValueError(text)
    if first == "cancel":
        return Request(0, Action.CANCEL, None, None if parts[0] == "all" else _value(parts[0]))
    action, *parts = parts
    kind: object = None
    if parts and (parts[0] in _TYPES or parts[0] == "type=?"):
        kind = _TYPES.get(parts[0], "?")
        parts = parts[1:]
    values = {}
    for part in parts:
        name, _, value = part.partition("=")
        if name not in LOGGED_VALUES:
            raise ValueError(text)
        values[name] = _value(value)
    values["tag"] = _tag(tag)
    return Request(int(first), _ACTIONS.get(action), kind, **values)


def _value(text: str) -> object:
    if text in _STAND_INS:
        return _STAND_INS[text]
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _tag(text: str) -> object:
    if not text.startswith(("'", '"')):
        return _STAND_INS.get(text, text)
    # A printable text is written with no escapes but these.
    return re.sub(r"\\(.)", r"\1", text[1:-1])
