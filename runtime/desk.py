"""The desk a strategy sits at: read-only copies of the world on it, and an outbox for what the strategy asks.

The engine writes to a desk before each hook and reads the outbox after it. There is nothing else between the two: a
desk knows no portfolio, no fee, no later bar and no other strategy, so a candidate that reaches through its own
private attributes finds only what it may see anyway. Whatever it changes here changes its own view; requests are
judged again by the session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

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


class IndicatorCall(NamedTuple):
    """A declared series: which indicator over which column with which parameters."""

    name: str
    source: str
    params: tuple[tuple[str, float], ...]


Moment: TypeAlias = "tuple[Bar, int, *tuple[float, ...]]"
"""A bar, its ``bar_count`` (0 before the first tradable one), and the values of the declared series, in order."""

# Where the values begin in a moment.
FIRST_COLUMN = 2

# Behind the window of MAX_LOOKBACK bars so many older ones may still be in memory: clearing them one by one would cost
# more than all the reading.
_SPARE = 250
KEPT = MAX_LOOKBACK + _SPARE
"""Bars on a desk before the oldest are cleared away."""


class _Forward:
    """What a series holds where nothing may be read: at the indices from 0 on, and before its first value."""

    __slots__ = ()


def _refuse_forward(*_: object) -> NoReturn:
    raise StrategyError(
        "series-index",
        f"a series is read backwards, at most {MAX_LOOKBACK} bars: series[-1] is the current bar, series[-2] the one before",
    )


for _name in (  # noqa: SIM905 - one per line would be a page
    "lt le gt ge eq ne hash bool float int index complex round trunc floor ceil abs neg pos str repr format len iter getitem "
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow divmod rdivmod call contains"
).split():
    setattr(_Forward, f"__{_name}__", _refuse_forward)
_FORWARD = _Forward()

# More than anybody counts forwards: every index from 0 on ends here.
_GUARD = [_FORWARD] * 1000
_GUARD_LENGTH = len(_GUARD)
_UNDEFINED = [_NAN] * (MAX_LOOKBACK - 1)

# What goes when the oldest values are cleared away: they, and what stood for the ones before them.
_FORGOTTEN = slice(_GUARD_LENGTH, _GUARD_LENGTH + len(_UNDEFINED) + _SPARE)
_IN_THEIR_PLACE = [_FORWARD] * len(_UNDEFINED)


class _Absent:
    """Takes a method of ``list`` away from a class that inherits it."""

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError("a series has no methods: series[-1] is the current value")


def _refuse_change(*_: object) -> NoReturn:
    raise TypeError("a series is read-only")


def _refuse_arithmetic(*_: object) -> NoReturn:
    raise TypeError("a series is no number: series[-1] is the current value")


def _incomparable(*_: object) -> Any:
    return NotImplemented


class Series(list[float]):
    """An indicator's values up to now: ``series[-1]`` belongs to the current bar, ``series[-2]`` to the one before.

    The object reaches the past only; a later value does not exist behind it. An undefined value (before the
    indicator's lookback is over, or mathematically undefined) is NaN, which compares as False with everything. A slice
    such as ``series[-5:]`` is a list, oldest first.

    It is a list that the host appends one value to per bar, because only then a subscript runs in C: a method of ours costs
    more than the rest of a bar. What a list can do beyond that is taken away. In front of the values stand objects that
    raise as soon as they are used, so that reading forwards fails; what reaches back further than 250 bars meets them too,
    at the latest 250 bars later.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_GUARD)  # type: ignore[arg-type]  # what is no float there is not to be read
        list.extend(self, _UNDEFINED)

    def __deepcopy__(self, memo: dict[int, object]) -> Series:
        """A copy of its own, for a session that is put aside."""
        made = Series()
        list.__setitem__(made, slice(None), list.__getitem__(self, slice(None)))
        return made

    def __len__(self) -> int:
        """How many values can be read now; at most 250."""
        return min(max(list.__len__(self) - _GUARD_LENGTH - len(_UNDEFINED), 0), MAX_LOOKBACK)

    # Neither of these has to do with reading backwards.
    append = extend = insert = remove = pop = clear = index = count = sort = reverse = copy = _Absent()
    __iter__ = __contains__ = __reversed__ = _refuse_forward
    __setitem__ = __delitem__ = _refuse_change
    __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __imul__ = _refuse_arithmetic

    # The identity, text and order of an object; ``repr`` and the comparisons of a list would show the values.
    __repr__ = object.__repr__
    __hash__ = object.__hash__  # type: ignore[assignment]  # a list has none
    __eq__, __ne__ = object.__eq__, object.__ne__
    __lt__ = __le__ = __gt__ = __ge__ = _incomparable


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
    bars: list[Bar] = field(default_factory=list)
    """The current bar and those before it, at least 250 where there are so many."""
    uncounted: int = 0
    """Bars of the warm-up among ``bars``, less the ones that are forgotten: may be negative."""
    series: list[Series] = field(default_factory=list)
    """One for each of ``calls``; each has a value for each of ``bars``."""
    flat: bool = True
    long: bool = False
    short: bool = False
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
        return self.bars[-1] if self.bars else None

    @property
    def bar_count(self) -> int:
        """Which call of ``on_bar`` the current bar's is, counted from 1."""
        return len(self.bars) - self.uncounted

    def lay_out(self, moment: Moment) -> None:
        """Put a bar on the desk."""
        bars = self.bars
        if len(bars) >= KEPT:
            self.room()
        bars.append(moment[0])
        column = FIRST_COLUMN
        for series in self.series:
            super(Series, series).append(moment[column])  # type: ignore[arg-type]  # a float column
            column += 1

    def room(self) -> int:
        """How many bars may be laid out before this must be asked again; at least 1."""
        bars = self.bars
        if len(bars) >= KEPT:
            del bars[:_SPARE]
            self.uncounted -= _SPARE
            for series in self.series:
                super(Series, series).__setitem__(_FORGOTTEN, _IN_THEIR_PLACE)  # type: ignore[assignment]  # nothing to read
        return KEPT - len(bars)

    def settle(
        self, cash: float, position: float, entry_price: float | None, open_orders: tuple[OpenOrder, ...]
    ) -> None:
        """Lay out what changed in the books."""
        self.cash, self.position, self.entry_price, self.open_orders = cash, position, entry_price, open_orders
        self.flat, self.long, self.short = position == 0.0, position > 0.0, position < 0.0

    def ask(self, request: Request) -> None:
        """Put a request into the outbox."""
        if len(self.outbox) < self.max_requests:
            self.outbox.append(request)
        else:
            self.dropped += 1

    def declare(self, call: IndicatorCall) -> Series:
        """Remember a declared series; two equal declarations share one series."""
        if call not in self.calls:
            self.calls.append(call)
            self.series.append(Series())
        return self.series[self.calls.index(call)]

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
