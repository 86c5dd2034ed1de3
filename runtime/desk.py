"""The desk a strategy sits at: read-only copies of the world on it, and an outbox for what the strategy asks.

The engine writes to a desk before each hook and reads the outbox after it. There is nothing else between the two: a
desk knows no portfolio, no fee, no later bar and no other strategy, so a candidate that reaches through its own
private attributes finds only what it may see anyway. Whatever it changes here changes its own view; requests are
judged again by the session.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, overload

from runtime.model import Order

if TYPE_CHECKING:
    from runtime.model import Bar

# The same history for a search cell, a free-standing backtest and a live run: recursive indicators depend on how much
# came before, so nothing may reach further back than this.
MAX_LOOKBACK = 250

MAX_TAG = 64

_NAN = float("nan")

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


class StrategyError(Exception):
    """A strategy used its API wrongly. ``rule`` is a stable id; the text is ours and says what to write instead."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


class Action(Enum):
    """What a request asks for."""

    BUY = "buy"
    SELL = "sell"
    CLOSE = "close"
    TARGET = "target"
    CANCEL = "cancel"


class Request(NamedTuple):
    """One thing a strategy asked for, exactly as it asked: every value may be of any type until the session judges it."""

    id: int
    """Order id; for CANCEL unused (0)."""
    action: object
    type: object = None
    """An ``OrderType``; None lets the given prices decide."""
    quantity: object = None
    """Units; the weight for TARGET; the order id (or None for all) for CANCEL."""
    limit: object = None
    stop: object = None
    offset: object = None
    """Distance of a TRAILING_STOP, as a fraction of the best price."""
    stop_loss: object = None
    take_profit: object = None
    trail: object = None
    """The bracket's trailing exit, as a fraction of the best price since entry."""
    tag: object = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOrder(Order):
    """An order that has not filled yet, as a strategy sees it."""

    id: int

    @property
    def order_id(self) -> int:
        """The same number under the name that fills use."""
        return self.id


class Longer(NamedTuple):
    """Bars that are made of a run's own."""

    seconds: int
    rows: int
    """How many of the run's bars one of them has at most."""


class IndicatorCall(NamedTuple):
    """A declared series: which indicator over which column with which parameters."""

    name: str
    source: str
    params: tuple[tuple[str, float], ...]
    longer: Longer | None = None
    """The bars that it is computed on, where they are not the run's own (``runtime.longer``)."""


Moment: TypeAlias = "tuple[Bar, int, *tuple[float, ...]]"
"""A bar, its ``bar_count`` (0 before the first tradable one), and the values of the declared series, in order."""

# Where the values begin in a moment.
_FIRST_COLUMN = 2


class Series:
    """An indicator's values up to now: ``series[-1]`` belongs to the current bar, ``series[-2]`` to the one before.

    The object reaches the past only; a later value does not exist behind it. An undefined value (before the
    indicator's lookback is over, or mathematically undefined) is NaN, which compares as False with everything.
    """

    __slots__ = ("_column", "_past")

    def __init__(self, past: deque[Moment], column: int) -> None:
        self._past = past
        self._column = column

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[float, ...]: ...
    def __getitem__(self, index: int | slice) -> float | tuple[float, ...]:
        """The value ``-index - 1`` bars ago, or a tuple for a slice such as ``series[-5:]`` (oldest first)."""
        try:
            if index < 0:  # type: ignore[operator]  # a slice raises TypeError and is handled below
                return self._past[index][self._column]  # type: ignore[index,return-value]  # same
        except (TypeError, IndexError):
            pass
        return self._rare(index)

    def __len__(self) -> int:
        """How many bars back the series reaches now; at most 250."""
        return len(self._past)

    def _rare(self, index: object) -> float | tuple[float, ...]:
        if isinstance(index, slice):
            column = self._column
            return tuple(moment[column] for moment in tuple(self._past)[index])  # type: ignore[misc]  # a float column
        if type(index) is not int or index >= 0:
            raise StrategyError(
                "series-index", "a series is read backwards: series[-1] is the current bar, series[-2] the one before"
            )
        if index < -MAX_LOOKBACK:
            raise StrategyError("lookback-too-long", f"a series reaches {MAX_LOOKBACK} bars back, not further")
        return _NAN


@dataclass(slots=True)
class Desk:
    """What the engine lays out for one strategy, and what the strategy hands in. Owned by the host, one per run."""

    step_s: int
    """Seconds between two bar opens."""
    max_requests: int = 1000
    """Requests kept per hook; the ones beyond are counted in ``dropped`` only."""
    max_log_lines: int = 200
    max_log_chars: int = 500
    starting: bool = False
    """True while ``on_start`` runs."""
    past: deque[Moment] = field(default_factory=lambda: deque(maxlen=MAX_LOOKBACK))
    """The current bar and those before it, each with the values of the declared series."""
    cash: float = 0.0
    position: float = 0.0
    entry_price: float | None = None
    open_orders: tuple[OpenOrder, ...] = ()
    calls: list[IndicatorCall] = field(default_factory=list)
    need: int = 0
    outbox: list[Request] = field(default_factory=list)
    dropped: int = 0
    last_id: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def bar(self) -> Bar | None:
        """The current bar; None before the first."""
        return self.past[-1][0] if self.past else None

    @property
    def bar_count(self) -> int:
        """Which call of ``on_bar`` the current bar's is, counted from 1."""
        return self.past[-1][1] if self.past else 0

    def ask(self, request: Request) -> None:
        """Put a request into the outbox."""
        if len(self.outbox) < self.max_requests:
            self.outbox.append(request)
        else:
            self.dropped += 1

    def declare(self, call: IndicatorCall) -> Series:
        """Remember a declared series; two equal declarations share one column."""
        if call not in self.calls:
            self.calls.append(call)
        return Series(self.past, _FIRST_COLUMN + self.calls.index(call))

    def note(self, text: str) -> None:
        """Keep a log line: capped, without addresses (they differ from process to process), and harmless in any medium."""
        if len(self.log) < self.max_log_lines:
            self.log.append(printable(_ADDRESS.sub("", text[: self.max_log_chars])))


def printable(text: str) -> str:
    r"""Text with every character that does not print as itself written as an escape.

    >>> printable("a\nb")
    'a\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
