"""The document: version 1.2.0 of the schema, as pydantic models.

Nothing here has a default but "absent": a part that is left out and one that is ``null`` mean the same, and every value
that decides something is written down. So what a document means does not depend on which program reads it, and a hash
over what is written is a hash over what is meant (``runtime.sir.digest``).

Models are strict, frozen and closed. They hold shape and ranges of single values; what needs two of them, the mode or
the indicator registry is checked by the later stages of ``runtime.sir.compile``.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from runtime.sir.vocabulary import (
    AssetClass,
    Direction,
    DistanceUnit,
    EntryOrder,
    LegKind,
    LegSide,
    LossUnit,
    Mode,
    Operator,
    PriceField,
    Product,
    SizingKind,
    Source,
)

SCHEMA_VERSION = "1.2.0"

# More than any strategy that a person can check by reading; they bound the compiler's time and memory.
MAX_FEATURES, MAX_GROUPS, MAX_RULES, MAX_SYMBOLS, MAX_LEGS, MAX_ASSUMPTIONS = 64, 16, 16, 200, 8, 32

Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
"""Narrow on purpose: two ids that look alike are alike."""
Symbol = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,31}$")]
TimeframeText = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3}[mhdw]$")]
ClockTime = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Zone = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}$")]
Text = Annotated[str, Field(min_length=1, max_length=300)]
# No market has numbers beyond this, and every one below it is exact where it is whole.
Number = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=1e15, allow_inf_nan=False)]
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]


class Part(BaseModel):
    """What all parts have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Market(Part):
    """Where and on which bars."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9 _-]{0,39}$")]
    timeframe: TimeframeText
    """Step of the bars that rules are judged on."""
    timezone: Zone | None = None
    """IANA name; needed where a time of day is used."""


class Listing(Part):
    """One symbol of the universe."""

    symbol: Symbol
    venue: Symbol
    asset_class: AssetClass


class Feature(Part):
    """One series of an indicator."""

    id: Id
    type: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,31}(\.[a-z_0-9]{1,32})?$")]
    """An id of the registry, like ``RSI``, ``BBANDS.upperband`` or ``CDLHAMMER``."""
    params: Annotated[dict[Id, Number], Field(max_length=16)]
    """Every parameter that the indicator has."""
    timeframe: TimeframeText | None = None
    """The market's when absent."""
    source: Source | None = None
    """For indicators over one series, and only for them."""


class IndicatorOperand(Part):
    """The value of a feature."""

    kind: Literal["indicator"]
    id: Id


class LiteralOperand(Part):
    """A constant: a number, true or false for patterns, ``HH:MM`` for the time of day."""

    kind: Literal["literal"]
    value: bool | Number | ClockTime


class PriceOperand(Part):
    """A field of the bar."""

    kind: Literal["price"]
    field: PriceField


class TimeOperand(Part):
    """The time of day at which the bar opens, in the market's time zone."""

    kind: Literal["time"]


Operand: TypeAlias = Annotated[
    IndicatorOperand | LiteralOperand | PriceOperand | TimeOperand, Field(discriminator="kind")
]


class Rule(Part):
    """One comparison."""

    left: Operand
    operator: Operator
    right: Operand


class Group(Part):
    """Rules that must hold together."""

    all: Annotated[list[Rule], Field(max_length=MAX_RULES)]


class Signals(Part):
    """When to go in and out. One group that holds is enough."""

    entry: Annotated[list[Group], Field(max_length=MAX_GROUPS)]
    exit: Annotated[list[Group], Field(max_length=MAX_GROUPS)] | None = None


class Distance(Part):
    """How far from the average entry price; from the best price since entry for a trailing stop."""

    value: Positive
    unit: DistanceUnit


class DailyLoss(Part):
    """How much may be lost in a day, measured at closes."""

    value: Positive
    unit: LossUnit


class Risk(Part):
    """What ends a position beside its exit rules, and what stops new ones."""

    stop_loss: Distance | None = None
    take_profit: Distance | None = None
    trailing_stop: Distance | None = None
    time_stop_bars: Annotated[int, Field(ge=1, le=100_000)] | None = None
    max_trades_per_day: Annotated[int, Field(ge=1, le=1_000)] | None = None
    max_daily_loss: DailyLoss | None = None


class Sizing(Part):
    """How much."""

    type: SizingKind
    value: Positive


class Execution(Part):
    """What for, which way, and with which orders. A screener states its mode only."""

    mode: Mode
    direction: Direction | None = None
    order_type: EntryOrder | None = None
    product: Product | None = None
    price_offset_percent: Percent | None = None
    """Where a limit or market-if-touched entry waits: so far below the close of the deciding bar, above it when short."""


class Session(Part):
    """Hours of the day in which entries are asked for, in the market's time zone."""

    start: ClockTime
    end: ClockTime


class DateRange(Part):
    """First and last day, both included."""

    start: date
    end: date


class OffsetStrike(Part):
    """A strike by its distance from at-the-money, negative below the spot."""

    kind: Literal["offset"]
    value: Number
    unit: DistanceUnit


class DeltaStrike(Part):
    """A strike by the size of its delta."""

    kind: Literal["delta"]
    value: Annotated[float, Field(ge=0.01, le=0.99)]


Strike: TypeAlias = Annotated[OffsetStrike | DeltaStrike, Field(discriminator="kind")]


class Expiry(Part):
    """Calendar days from the day of entry."""

    days: Annotated[int, Field(ge=1, le=730)]


class Leg(Part):
    """One leg of a structure; all legs are placed together, or none."""

    id: Id
    side: LegSide
    instrument_type: LegKind
    expiry: Expiry
    strike: Strike | None = None
    """For options, and only for them."""
    ratio: Annotated[int, Field(ge=1, le=100)]
    """Units of this leg in one unit of the structure."""


class Assumption(Part):
    """Something that the request left open and the author decided."""

    id: Id
    text: Text
    needs_confirmation: bool


class Explainability(Part):
    """What a person should know before they trust the document."""

    assumptions: Annotated[list[Assumption], Field(max_length=MAX_ASSUMPTIONS)]


class Document(Part):
    """A strategy."""

    schema_version: Literal["1.2.0"]
    name: Annotated[str, Field(min_length=1, max_length=80)]
    market: Market
    universe: Annotated[list[Listing], Field(min_length=1, max_length=MAX_SYMBOLS)] | None = None
    """The run's data decide when absent."""
    features: Annotated[list[Feature], Field(max_length=MAX_FEATURES)]
    signals: Signals
    risk: Risk | None = None
    sizing: Sizing | None = None
    execution: Execution
    session: Session | None = None
    date_range: DateRange | None = None
    """All bars of the run when absent."""
    legs: Annotated[list[Leg], Field(min_length=1, max_length=MAX_LEGS)] | None = None
    explainability: Explainability | None = None
