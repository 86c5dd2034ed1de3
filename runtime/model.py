"""The values that cross every border: bars, orders, fills, instruments, time steps.

Everything here is frozen. Strategies receive these types by name (see ``runtime.strategy``), the kernel trades in
them, the store keeps them; none of them knows any of its users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple


class Side(Enum):
    """Which way an order or a fill goes."""

    BUY = "buy"
    SELL = "sell"


class OrderType(Enum):
    """How an order turns into a fill (the rules are in ``runtime.kernel.matching``)."""

    MARKET = "market"
    LIMIT = "limit"
    STOP = "stop"
    STOP_LIMIT = "stop_limit"
    MARKET_IF_TOUCHED = "market_if_touched"
    TRAILING_STOP = "trailing_stop"


record = tuple.__new__
"""``record(Fill, (ts, side, ...))`` is ``Fill(ts, side, ...)`` in half the time: a named tuple's own constructor is a
function in Python. Takes all fields, in order, and does not count them: for what is made once per order only."""


class Bar(NamedTuple):
    """One closed bar. A named tuple, not a dataclass: a run makes one per row, and this is the cheapest frozen record."""

    ts: datetime
    """Open of the bar, aware, UTC. The bar may be used from ``ts`` plus the timeframe's step on."""
    open: float
    high: float
    low: float
    close: float
    volume: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a strategy asks for. Nothing is checked here: the kernel refuses what is wrong, and counts it."""

    side: Side
    quantity: float | None = None
    """Units of the instrument; None buys what cash allows after fees, or sells the position."""
    type: OrderType = OrderType.MARKET
    limit: float | None = None
    """Worst acceptable price of LIMIT and STOP_LIMIT."""
    stop: float | None = None
    """Trigger price of STOP, STOP_LIMIT and MARKET_IF_TOUCHED."""
    trail: float | None = None
    """TRAILING_STOP: distance as a fraction of the best price. Otherwise: the bracket's trailing exit, same unit."""
    stop_loss: float | None = None
    """Bracket: distance below (long) or above (short) the average entry price, as a fraction of it."""
    take_profit: float | None = None
    """Bracket: distance above (long) or below (short) the average entry price, as a fraction of it."""
    tag: str = ""


class Fill(NamedTuple):
    """A trade that happened. A named tuple for the reason of ``Bar``."""

    ts: datetime
    """Stamp of the bar in which it happened."""
    side: Side
    quantity: float
    """Units, always positive."""
    price: float
    fee: float
    """Quote currency, never negative."""
    tag: str
    order_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What is held: signed units and their average entry price (None when flat)."""

    quantity: float
    entry_price: float | None


_TIMEFRAME = re.compile(r"([1-9]\d{0,3})([mhdw])")
_UNIT_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True, order=True)
class Timeframe:
    """A fixed step between bars, from one minute to one week.

    >>> Timeframe.parse("15m").seconds
    900
    >>> str(Timeframe(86_400))
    '1d'
    """

    seconds: int

    def __post_init__(self) -> None:
        if not 60 <= self.seconds <= 604_800 or self.seconds % 60:
            raise ValueError(f"timeframe of {self.seconds} s: whole minutes from 1m to 1w are allowed")

    @classmethod
    def parse(cls, text: str) -> Timeframe:
        """Read ``15m``, ``4h``, ``1d`` or ``1w``.

        Raises:
            ValueError: one sentence that names the text and the rule.
        """
        match = _TIMEFRAME.fullmatch(text.strip().lower())
        if match is None:
            raise ValueError(f"timeframe {text!r}: write a number and one of m, h, d, w, like 15m, 4h, 1d or 1w")
        return cls(int(match[1]) * _UNIT_SECONDS[match[2]])

    @property
    def step(self) -> timedelta:
        """The distance between two bar opens."""
        return timedelta(seconds=self.seconds)

    def __str__(self) -> str:
        for unit in "wdhm":
            size = _UNIT_SECONDS[unit]
            if self.seconds % size == 0:
                return f"{self.seconds // size}{unit}"
        raise AssertionError(self.seconds)


class Range(NamedTuple):
    """What a number may be, and how that is said."""

    words: str
    low: float
    high: float = 1e15
    """Beyond this notionals overflow; no market has such numbers."""
    open_below: bool = False
    """Whether ``low`` itself is left out."""

    def holds(self, value: float) -> bool:
        """Whether the value lies in the range; NaN lies in none."""
        return self.low <= value <= self.high and not (self.open_below and value == self.low)


ABOVE_ZERO = Range("a number above 0", 0.0, open_below=True)
ZERO_OR_MORE = Range("0 or more", 0.0)
FRACTION = Range("a fraction above 0 and at most 1", 0.0, 1.0, open_below=True)


def check_number(what: str, value: Any, allowed: Range) -> None:
    """Refuse what is no plain finite number of the range.

    >>> check_number("lot", -1.0, ABOVE_ZERO)
    Traceback (most recent call last):
    ...
    ValueError: lot = -1.0 must be a number above 0

    Raises:
        ValueError: one sentence that names the thing, the value and the rule.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not allowed.holds(value):
        raise ValueError(f"{what} = {value!r} must be {allowed.words}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """What is traded and the rules of its venue.

    Raises:
        ValueError: a value that no venue can have; one sentence with the way out.
    """

    symbol: str
    """The name a strategy may see; masked during a search."""
    bars_per_year: float
    """Used to annualise; from the instrument's calendar, cross-checked with the observed spacing."""
    lot: float | None = None
    """Smallest quantity step; None means fractional."""
    tick: float | None = None
    """Smallest price step; None means any price."""
    min_notional: float = 0.0
    """Orders below this value (quote currency) are refused."""
    initial_margin: float = 0.5
    """Share of the notional that a margin account must own when it opens."""
    maintenance_margin: float | None = None
    """Share of the notional below which a margin position is closed; None switches the rule off."""
    borrow_bps_per_year: float = 0.0
    """Fee on the notional of a short position, per year."""

    def __post_init__(self) -> None:
        symbol: object = self.symbol
        if not isinstance(symbol, str) or not symbol:
            raise ValueError(f"instrument symbol = {symbol!r} must be a name")
        for name, allowed in _INSTRUMENT_RANGES.items():
            value = getattr(self, name)
            if value is not None or name not in _INSTRUMENT_OPTIONS:
                check_number(f"{name} of instrument {self.symbol}", value, allowed)
        keep = self.maintenance_margin
        if keep is not None and keep > self.initial_margin:
            raise ValueError(
                f"maintenance_margin = {keep!r} of instrument {self.symbol} is above its initial_margin of "
                f"{self.initial_margin!r}, so that every position would be closed as it opens; lower the first or raise the second"
            )


_INSTRUMENT_RANGES = {
    "bars_per_year": ABOVE_ZERO,
    "lot": ABOVE_ZERO,
    "tick": ABOVE_ZERO,
    "min_notional": ZERO_OR_MORE,
    "initial_margin": FRACTION,
    "maintenance_margin": FRACTION,
    "borrow_bps_per_year": ZERO_OR_MORE,
}
_INSTRUMENT_OPTIONS = {"lot", "tick", "maintenance_margin"}
