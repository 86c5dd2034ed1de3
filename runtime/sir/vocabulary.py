"""The closed choices of the language. Each value is the stable word that documents use."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """What a document is for."""

    BACKTEST = "backtest"
    PAPER = "paper"
    LIVE = "live"
    """Real money. The word is known so that it can be refused with its reason."""
    SCREEN = "screen"
    """Which symbols fire on the last closed bar."""


class AssetClass(Enum):
    """What kind of thing a symbol is."""

    EQUITY = "equity"
    ETF = "etf"
    INDEX = "index"
    FX = "fx"
    CRYPTO = "crypto"
    COMMODITY = "commodity"


class Source(Enum):
    """The price that an indicator over one series reads; the names of ``runtime.indicators.SOURCES``."""

    OPEN = "open"
    HIGH = "high"
    LOW = "low"
    CLOSE = "close"
    VOLUME = "volume"
    HL2 = "hl2"
    HLC3 = "hlc3"
    OHLC4 = "ohlc4"
    TYPICAL = "typical"


class PriceField(Enum):
    """A field of the bar itself."""

    OPEN = "open"
    HIGH = "high"
    LOW = "low"
    CLOSE = "close"
    VOLUME = "volume"


class Operator(Enum):
    """How two operands are compared. What is undefined (NaN) makes every comparison false, ``!=`` too."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="
    EQUAL = "=="
    UNEQUAL = "!="
    CROSSES_ABOVE = "crosses_above"
    CROSSES_BELOW = "crosses_below"

    @property
    def crosses(self) -> bool:
        """Whether it looks at the bar before, too: from at or below to above, from at or above to below."""
        return self in {Operator.CROSSES_ABOVE, Operator.CROSSES_BELOW}


class DistanceUnit(Enum):
    """What a distance from a price is counted in."""

    PERCENT = "percent"
    POINTS = "points"
    """Units of the price itself."""


class LossUnit(Enum):
    """What a day's loss is counted in."""

    PERCENT = "percent"
    """Of the equity at the last close of the day before."""
    CURRENCY = "currency"
    """The quote currency."""


class SizingKind(Enum):
    """How the size of an entry is found."""

    FIXED_QTY = "FIXED_QTY"
    """So many units (of the whole structure, where there are legs)."""
    PERCENT_EQUITY = "PERCENT_EQUITY"
    """So much of the equity at the fill, fee included."""


class Direction(Enum):
    """Which way a position is opened."""

    LONG = "long"
    SHORT = "short"


class EntryOrder(Enum):
    """How an entry is asked for. Exits are always at the market."""

    MARKET = "market"
    LIMIT = "limit"
    """Waits at a better price than the close; fills there or better."""
    MARKET_IF_TOUCHED = "market_if_touched"
    """Waits for a better price than the close; becomes a market order when it is touched."""
    COVER = "cover"
    """At the market, together with a stop loss that it must have."""
    AFTER_MARKET = "after_market"
    """Given while the market is closed, for its next open: only bars of a day or longer decide then."""


class Product(Enum):
    """How long a position may be held, and against what."""

    INTRADAY = "intraday"
    """Closed before the session ends."""
    DELIVERY = "delivery"
    """Paid for and owned: long only."""
    CARRY_FORWARD = "carry_forward"
    """Held on margin from day to day."""


class LegSide(Enum):
    """Whether a leg is bought or sold when the structure is opened."""

    BUY = "buy"
    SELL = "sell"


class LegKind(Enum):
    """What a leg is made of."""

    CALL = "call"
    PUT = "put"
    FUTURE = "future"
