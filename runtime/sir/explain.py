"""A plan in plain language, so that a person can hold it against what they asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.model import Timeframe
from runtime.sir.plan import Constant, IndicatorRef, MinuteOfDay, OffsetFromSpot, PriceRef
from runtime.sir.vocabulary import Direction, DistanceUnit, EntryOrder, LegKind, LegSide, Mode, Product, SizingKind

if TYPE_CHECKING:
    from runtime.sir.plan import (
        ExecutionPlan,
        PlannedDistance,
        PlannedExecution,
        PlannedLeg,
        PlannedLoss,
        PlannedOperand,
        PlannedRule,
        RuleGroups,
    )
    from runtime.sir.vocabulary import Operator

_PURPOSES = {
    Mode.BACKTEST: "a backtest",
    Mode.PAPER: "paper trading",
    Mode.SCREEN: "a screener: it names symbols and trades nothing",
}
_COMPARISONS = {
    ">": "is above",
    ">=": "is at or above",
    "<": "is below",
    "<=": "is at or below",
    "==": "is",
    "!=": "is not",
    "crosses_above": "crosses above",
    "crosses_below": "crosses below",
}
_TIMES = {">": "is after", ">=": "is at or after", "<": "is before", "<=": "is at or before"}
_BARS = {"m": "minute", "h": "hour", "d": "day", "w": "week"}


def explain(plan: ExecutionPlan) -> tuple[str, ...]:
    """The plan, one sentence per line, without its assumptions."""
    lines = [f"{plan.name}: {_PURPOSES[plan.intent]}.", _where(plan), *_series(plan)]
    lines += _signals(plan, "names a symbol" if plan.intent is Mode.SCREEN else "goes in", plan.rules.entry)
    if plan.execution is None:
        return tuple(lines)
    lines += [_entry(plan, plan.execution), *_legs(plan)]
    if plan.rules.exit:
        lines += _signals(plan, "goes out", plan.rules.exit)
    lines += _limits(plan)
    lines.append("Decisions fall at the close of a bar; orders go out for the next one.")
    return tuple(lines)


def assumption_lines(plan: ExecutionPlan) -> tuple[str, ...]:
    """What the author decided for the person who asked, one line each."""
    return tuple(
        f"{each.id}{' (needs your confirmation)' if each.needs_confirmation else ''}: {each.text}"
        for each in plan.assumptions
    )


def _where(plan: ExecutionPlan) -> str:
    bars = _bars(plan.timeframe_s)
    symbols = ", ".join(each.symbol for each in plan.universe) or "the symbols of the run's data"
    dates = f", from {plan.date_range.start} to {plan.date_range.end}" if plan.date_range else ""
    return f"It looks at {symbols} ({plan.market}) on {bars}{dates}; the first {plan.warmup_bars} bars only fill its indicators."


def _bars(timeframe_s: int) -> str:
    text = str(Timeframe(timeframe_s))
    count, unit = int(text[:-1]), _BARS[text[-1]]
    return f"bars of one {unit}" if count == 1 else f"bars of {count} {unit}s"


def _series(plan: ExecutionPlan) -> list[str]:
    lines = []
    for each in plan.indicators:
        params = ", ".join(f"{name} {value:g}" for name, value in each.params)
        source = "" if each.source == "close" else f" of {each.source}"
        kind = ", which is true or false" if each.is_boolean else ""
        bars = "" if each.timeframe_s is None else f" on {_bars(each.timeframe_s)}, as of the last one that is over"
        lines.append(f"{each.id} is {each.name}{f' ({params})' if params else ''}{source}{bars}{kind}.")
    return lines


def _signals(plan: ExecutionPlan, verb: str, groups: RuleGroups) -> list[str]:
    readings = [" and ".join(_rule(plan, rule) for rule in group) for group in groups]
    if len(readings) == 1:
        return [f"It {verb} when {readings[0]}."]
    return [f"It {verb} when one of these holds:", *(f"  - {reading}" for reading in readings)]


def _rule(plan: ExecutionPlan, rule: PlannedRule) -> str:
    left, right = rule.left, rule.right
    boolean = next(
        (x for x in (left, right) if isinstance(x, IndicatorRef) and plan.indicators[x.index].is_boolean), None
    )
    if boolean is not None and isinstance(right if boolean is left else left, Constant):
        return _presence(plan.indicators[boolean.index].id, rule.operator, right if boolean is left else left)
    is_time = isinstance(left, MinuteOfDay) or isinstance(right, MinuteOfDay)
    words = (_COMPARISONS | _TIMES if is_time else _COMPARISONS)[rule.operator.value]
    return f"{_operand(plan, left, is_time=is_time)} {words} {_operand(plan, right, is_time=is_time)}"


def _presence(name: str, operator: Operator, constant: PlannedOperand) -> str:
    wanted = isinstance(constant, Constant) and bool(constant.value)
    return f"{name} {'is there' if (operator.value == '==') is wanted else 'is not there'}"


def _operand(plan: ExecutionPlan, operand: PlannedOperand, *, is_time: bool) -> str:
    match operand:
        case IndicatorRef(index):
            return plan.indicators[index].id
        case PriceRef(field):
            return "the volume" if field.value == "volume" else f"the {field.value} price"
        case Constant(value):
            return _clock(int(value)) if is_time else f"{value:.15g}"
        case _:
            return f"the bar's opening time ({plan.timezone})"


def _entry(plan: ExecutionPlan, execution: PlannedExecution) -> str:
    sizing = plan.sizing
    assert sizing is not None
    share = sizing.kind is SizingKind.PERCENT_EQUITY
    size = f"{sizing.value:.15g}% of equity" if share else f"{sizing.value:.15g} unit{'' if sizing.value == 1 else 's'}"
    if plan.legs:
        size += " of the structure below"
    verb = "buys" if execution.direction is Direction.LONG else "sells short"
    return f"It {'opens' if plan.legs else verb} {size} {_order(execution)}; the product is {execution.product.value.replace('_', ' ')}."


def _order(execution: PlannedExecution) -> str:
    side = "below" if execution.direction is Direction.LONG else "above"
    at = f"{execution.price_offset_percent or 0.0:.15g}% {side} the close"
    match execution.order_type:
        case EntryOrder.LIMIT:
            return f"with a limit {at}, cancelled when the rules no longer hold"
        case EntryOrder.MARKET_IF_TOUCHED:
            return f"at the market once the price touches {at}, cancelled when the rules no longer hold"
        case EntryOrder.COVER:
            return "at the market, together with the stop loss"
        case EntryOrder.AFTER_MARKET:
            return "with an order given after the close, for the next open"
        case EntryOrder.MARKET:
            return "at the market"


def _legs(plan: ExecutionPlan) -> list[str]:
    if not plan.legs:
        return []
    head = "All legs are placed together or not at all; their prices are a model's (Black-Scholes), not a market's:"
    return [head, *(f"  - {_leg(leg)}" for leg in plan.legs)]


def _leg(leg: PlannedLeg) -> str:
    verb = "buy" if leg.side is LegSide.BUY else "sell"
    strike = ""
    if leg.kind is not LegKind.FUTURE and leg.strike is not None:
        strike = (
            f" {_strike(leg.strike)}"
            if isinstance(leg.strike, OffsetFromSpot)
            else f" with a delta of {leg.strike.value:g}"
        )
    days = f"{leg.expiry_days} day{'' if leg.expiry_days == 1 else 's'}"
    return f"{leg.id}: {verb} {leg.ratio} {leg.kind.value}{'' if leg.ratio == 1 else 's'}{strike}, {days} to expiry"


def _strike(strike: OffsetFromSpot) -> str:
    if strike.value == 0:
        return "at the money"
    unit = "%" if strike.unit is DistanceUnit.PERCENT else " points"
    return f"{abs(strike.value):.15g}{unit} {'above' if strike.value > 0 else 'below'} the spot"


def _limits(plan: ExecutionPlan) -> list[str]:
    risk, lines = plan.risk, []
    is_long = plan.execution is not None and plan.execution.direction is Direction.LONG
    against, favour = ("below", "above") if is_long else ("above", "below")
    if risk.stop_loss:
        lines.append(f"A stop loss ends the position {_distance(risk.stop_loss)} {against} its entry.")
    if risk.take_profit:
        lines.append(f"A take profit ends it {_distance(risk.take_profit)} {favour} its entry.")
    if risk.trailing_stop:
        lines.append(f"A trailing stop ends it {_distance(risk.trailing_stop)} {against} the best price since entry.")
    if risk.time_stop_bars:
        lines.append(f"It goes out after {risk.time_stop_bars} bars, the one of the entry counted.")
    if risk.max_trades_per_day:
        lines.append(f"It goes in at most {risk.max_trades_per_day} times a day.")
    if risk.max_daily_loss:
        lines.append(f"After a loss of {_loss(risk.max_daily_loss)} in a day it goes out and waits for the next day.")
    if plan.session:
        start, end = _clock(plan.session.start_minute), _clock(plan.session.end_minute)
        lines.append(f"It goes in only between {start} and {end} ({plan.timezone}).")
    if plan.execution and plan.execution.product is Product.INTRADAY:
        lines.append("Positions are closed before the session ends.")
    if not plan.legs and not (risk.stop_loss or risk.trailing_stop):
        lines.append("There is no stop loss.")
    return lines


def _distance(distance: PlannedDistance) -> str:
    return f"{distance.value:.15g}{'%' if distance.unit is DistanceUnit.PERCENT else ' points'}"


def _loss(loss: PlannedLoss) -> str:
    return (
        f"{loss.value:.15g}% of equity" if loss.unit.value == "percent" else f"{loss.value:.15g} in the quote currency"
    )


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
