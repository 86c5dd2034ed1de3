"""The last stage: a document that passed all others, written as a plan. Nothing can be refused here any more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runtime.model import Timeframe
from runtime.sir.document import DeltaStrike, OffsetStrike
from runtime.sir.plan import (
    COMPILER_VERSION,
    PLAN_VERSION,
    ExecutionPlan,
    IndicatorRef,
    OffsetFromSpot,
    PlannedAssumption,
    PlannedDistance,
    PlannedExecution,
    PlannedLeg,
    PlannedLoss,
    PlannedRange,
    PlannedRisk,
    PlannedRule,
    PlannedRules,
    PlannedSession,
    PlannedSizing,
    PlannedSymbol,
    TargetDelta,
)
from runtime.sir.signals import minutes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.sir.document import Distance, Document, Leg, Risk, Strike
    from runtime.sir.plan import PlannedIndicator, PlannedOperand, RuleGroups
    from runtime.sir.vocabulary import Mode


class Stored(NamedTuple):
    """What is known about the document as it was stored."""

    sha256: str
    schema_version: str


def make_plan(
    document: Document, indicators: Sequence[PlannedIndicator], rules: PlannedRules, intent: Mode, stored: Stored
) -> ExecutionPlan:
    """Write the plan. Features that no rule names are left out of it (the cross-check has warned)."""
    used = sorted({index for rule in _all_rules(rules) for index in _places(rule)})
    moved = {old: new for new, old in enumerate(used)}
    kept = tuple(indicators[index] for index in used)
    dates, session = document.date_range, document.session
    noted = document.explainability.assumptions if document.explainability else []
    return ExecutionPlan(
        plan_version=PLAN_VERSION,
        compiler_version=COMPILER_VERSION,
        document_sha256=stored.sha256,
        schema_version=stored.schema_version,
        name=document.name,
        intent=intent,
        market=document.market.name,
        timeframe_s=Timeframe.parse(document.market.timeframe).seconds,
        timezone=document.market.timezone or "UTC",
        date_range=PlannedRange(start=dates.start, end=dates.end) if dates else None,
        warmup_bars=max((indicator.lookback for indicator in kept), default=0),
        universe=tuple(
            PlannedSymbol(symbol=each.symbol, venue=each.venue, asset_class=each.asset_class)
            for each in document.universe or ()
        ),
        indicators=kept,
        rules=PlannedRules(entry=_moved(rules.entry, moved), exit=_moved(rules.exit, moved)),
        sizing=PlannedSizing(kind=document.sizing.type, value=document.sizing.value) if document.sizing else None,
        risk=_risk(document.risk),
        execution=_execution(document),
        session=PlannedSession(start_minute=minutes(session.start), end_minute=minutes(session.end))
        if session
        else None,
        legs=tuple(_leg(leg) for leg in document.legs or ()),
        assumptions=tuple(
            PlannedAssumption(id=each.id, text=each.text, needs_confirmation=each.needs_confirmation) for each in noted
        ),
    )


def _all_rules(rules: PlannedRules) -> list[PlannedRule]:
    return [rule for groups in (rules.entry, rules.exit) for group in groups for rule in group]


def _places(rule: PlannedRule) -> list[int]:
    return [side.index for side in (rule.left, rule.right) if isinstance(side, IndicatorRef)]


def _moved(groups: RuleGroups, places: Mapping[int, int]) -> RuleGroups:
    def there(operand: PlannedOperand) -> PlannedOperand:
        return IndicatorRef(places[operand.index]) if isinstance(operand, IndicatorRef) else operand

    return tuple(tuple(replace(r, left=there(r.left), right=there(r.right)) for r in group) for group in groups)


def _risk(risk: Risk | None) -> PlannedRisk:
    if risk is None:
        return PlannedRisk()
    loss = risk.max_daily_loss
    return PlannedRisk(
        stop_loss=_distance(risk.stop_loss),
        take_profit=_distance(risk.take_profit),
        trailing_stop=_distance(risk.trailing_stop),
        time_stop_bars=risk.time_stop_bars,
        max_trades_per_day=risk.max_trades_per_day,
        max_daily_loss=PlannedLoss(value=loss.value, unit=loss.unit) if loss else None,
    )


def _distance(distance: Distance | None) -> PlannedDistance | None:
    return PlannedDistance(value=distance.value, unit=distance.unit) if distance else None


def _execution(document: Document) -> PlannedExecution | None:
    asked = document.execution
    if asked.direction is None or asked.order_type is None or asked.product is None:
        return None
    return PlannedExecution(
        direction=asked.direction,
        order_type=asked.order_type,
        product=asked.product,
        price_offset_percent=asked.price_offset_percent,
    )


def _leg(leg: Leg) -> PlannedLeg:
    return PlannedLeg(
        id=leg.id,
        side=leg.side,
        kind=leg.instrument_type,
        expiry_days=leg.expiry.days,
        strike=_strike(leg.strike),
        ratio=leg.ratio,
    )


def _strike(strike: Strike | None) -> OffsetFromSpot | TargetDelta | None:
    match strike:
        case OffsetStrike():
            return OffsetFromSpot(value=strike.value, unit=strike.unit)
        case DeltaStrike():
            return TargetDelta(value=strike.value)
        case _:
            return None
