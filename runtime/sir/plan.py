"""The plan: what a document comes to, as one frozen value with every reference resolved.

Adapters, the screener, the plain-language reading and approvals take this, never the document. The same document and
compiler give the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
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
    )

PLAN_VERSION = "1.1.0"
COMPILER_VERSION = "1.1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSymbol:
    """One symbol of the universe."""

    symbol: str
    venue: str
    asset_class: AssetClass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedIndicator:
    """One series, ready for ``runtime.indicators.compute``."""

    id: str
    name: str
    """Canonical id of the registry."""
    source: str
    params: tuple[tuple[str, float], ...]
    """All parameters, sorted by name."""
    timeframe_s: int | None
    """The longer bars that it is computed on; None: the market's own."""
    lookback: int
    """Rows of the market's bars at the start for which it is undefined, at most."""
    is_boolean: bool
    """Whether its values are 0 and 1 only."""


@dataclass(frozen=True, slots=True)
class IndicatorRef:
    """The series at this place of ``ExecutionPlan.indicators``."""

    index: int


@dataclass(frozen=True, slots=True)
class PriceRef:
    """A field of the bar."""

    field: PriceField


@dataclass(frozen=True, slots=True)
class Constant:
    """A number; 1 and 0 for true and false, minutes from midnight for a time of day."""

    value: float


@dataclass(frozen=True, slots=True)
class MinuteOfDay:
    """Minutes from midnight to the open of the bar, in the plan's time zone."""


PlannedOperand: TypeAlias = IndicatorRef | PriceRef | Constant | MinuteOfDay


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRule:
    """One comparison."""

    left: PlannedOperand
    operator: Operator
    right: PlannedOperand


RuleGroups: TypeAlias = "tuple[tuple[PlannedRule, ...], ...]"
"""All rules of a group must hold, and one group is enough. No group holds never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRules:
    """When to go in and out."""

    entry: RuleGroups
    exit: RuleGroups


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDistance:
    """How far from a price."""

    value: float
    unit: DistanceUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLoss:
    """How much may be lost in a day."""

    value: float
    unit: LossUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRisk:
    """What ends a position beside its exit rules, and what stops new ones; None where there is no such limit."""

    stop_loss: PlannedDistance | None = None
    take_profit: PlannedDistance | None = None
    trailing_stop: PlannedDistance | None = None
    time_stop_bars: int | None = None
    max_trades_per_day: int | None = None
    max_daily_loss: PlannedLoss | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSizing:
    """How much."""

    kind: SizingKind
    value: float
    """Units, or percent of equity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedExecution:
    """Which way and with which orders. Signals at the close of t, orders at t+1."""

    direction: Direction
    order_type: EntryOrder
    product: Product
    price_offset_percent: float | None
    """Where a waiting entry lies: so far below the deciding close, above it when short; None at the market."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    """Minutes of the day, in the plan's time zone: bars that open at ``start`` or later and close by ``end``."""

    start_minute: int
    end_minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRange:
    """First and last day, both included."""

    start: date
    end: date


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFromSpot:
    """A strike by its distance from at-the-money, negative below the spot."""

    value: float
    unit: DistanceUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDelta:
    """A strike by the size of its delta."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLeg:
    """One leg of a structure; all legs are placed together, or none."""

    id: str
    side: LegSide
    kind: LegKind
    expiry_days: int
    strike: OffsetFromSpot | TargetDelta | None
    """None for a future."""
    ratio: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAssumption:
    """Something that the author decided for the person who asked."""

    id: str
    text: str
    needs_confirmation: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """What a document comes to in one mode."""

    plan_version: str
    compiler_version: str
    document_sha256: str
    """Hash of the document as it was stored, in the version in which it was stored."""
    schema_version: str
    """The version in which the document was stored."""
    name: str
    intent: Mode
    """What the plan may be used for; never ``LIVE``."""
    market: str
    timeframe_s: int
    timezone: str
    date_range: PlannedRange | None
    """None: all bars of the run."""
    warmup_bars: int
    """Rows at the start for which some indicator is undefined."""
    universe: tuple[PlannedSymbol, ...]
    """Empty: the run's data decide."""
    indicators: tuple[PlannedIndicator, ...]
    """In the order of the document; only those that a rule names."""
    rules: PlannedRules
    sizing: PlannedSizing | None
    """None for a screener only."""
    risk: PlannedRisk
    execution: PlannedExecution | None
    """None for a screener only."""
    session: PlannedSession | None
    legs: tuple[PlannedLeg, ...]
    assumptions: tuple[PlannedAssumption, ...]


_KINDS = {
    IndicatorRef: "indicator",
    PriceRef: "price",
    Constant: "literal",
    MinuteOfDay: "time",
    OffsetFromSpot: "offset",
    TargetDelta: "delta",
}


def as_document(plan: ExecutionPlan) -> dict[str, Any]:
    """The plan as JSON values: enums by their words, days in ISO form, a ``kind`` where there are several forms.

    An indicator operand also names its feature, so that the plan can be read on its own.
    """
    tree = _plain(plan)
    for groups in tree["rules"].values():
        for rule in (rule for group in groups for rule in group):
            for side in (rule["left"], rule["right"]):
                if side["kind"] == "indicator":
                    side["id"] = plan.indicators[side["index"]].id
    for planned, written in zip(plan.indicators, tree["indicators"], strict=True):
        written["params"] = dict(planned.params)
    return tree  # type: ignore[no-any-return]  # a plan becomes an object


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case date():
            return value.isoformat()
        case tuple():
            return [_plain(each) for each in value]
        case _ if hasattr(value, "__dataclass_fields__"):
            kind = {"kind": _KINDS[type(value)]} if type(value) in _KINDS else {}
            return kind | {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
        case _:
            return value
