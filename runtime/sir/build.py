"""From a plan to the program that a machine runs: percentages become fractions, words become requests."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from runtime.desk import Action, IndicatorCall, Longer, Request
from runtime.model import OrderType
from runtime.sir.program import Hours, Points, Program
from runtime.sir.vocabulary import Direction, DistanceUnit, EntryOrder, LossUnit, Product, SizingKind
from runtime.sir.zone import Zone

if TYPE_CHECKING:
    from runtime.market.bars import Bars
    from runtime.sir.plan import (
        ExecutionPlan,
        PlannedDistance,
        PlannedExecution,
        PlannedRange,
        PlannedRisk,
        PlannedSizing,
        RuleGroups,
    )

_WAITING = {EntryOrder.LIMIT: OrderType.LIMIT, EntryOrder.MARKET_IF_TOUCHED: OrderType.MARKET_IF_TOUCHED}


def build(plan: ExecutionPlan) -> Program:
    """The program of a plan that trades one instrument.

    Raises:
        ValueError: the plan is a screener's, or its entries are structures of legs.
    """
    if plan.sizing is None or plan.execution is None or plan.legs:
        raise ValueError(f"plan {plan.name!r} does not trade one instrument")
    loss = plan.risk.max_daily_loss
    session = plan.session
    return Program(
        calls=calls_of(plan),
        need=need_of(plan),
        enter=plan.rules.entry,
        leave=plan.rules.exit,
        entry=_entry(plan.sizing, plan.execution, plan.risk),
        points=_points(plan.risk),
        offset=None if plan.execution.price_offset_percent is None else plan.execution.price_offset_percent / 100.0,
        hours=None if session is None else Hours(session.start_minute, session.end_minute),
        squares_off=plan.execution.product is Product.INTRADAY,
        zone=Zone(plan.timezone),
        time_stop=plan.risk.time_stop_bars,
        trades_per_day=plan.risk.max_trades_per_day,
        loss_share=loss.value / 100.0 if loss is not None and loss.unit is LossUnit.PERCENT else None,
        loss_amount=loss.value if loss is not None and loss.unit is LossUnit.CURRENCY else None,
    )


def calls_of(plan: ExecutionPlan) -> tuple[IndicatorCall, ...]:
    """The series to declare; ``IndicatorRef`` counts in this order."""
    return tuple(
        IndicatorCall(each.name, each.source, each.params, longer_of(each.timeframe_s, plan.timeframe_s))
        for each in plan.indicators
    )


def longer_of(timeframe_s: int | None, own_s: int) -> Longer | None:
    """The longer bars of a series; None for the run's own."""
    return None if timeframe_s is None else Longer(timeframe_s, timeframe_s // own_s)


def need_of(plan: ExecutionPlan) -> int:
    """Bars that must be known before the first decision: two when a crossing compares with the bar before."""
    return 2 if _crosses(plan.rules.entry) or _crosses(plan.rules.exit) else 1


def _crosses(groups: RuleGroups) -> bool:
    return any(rule.operator.crosses for group in groups for rule in group)


def _entry(sizing: PlannedSizing, execution: PlannedExecution, risk: PlannedRisk) -> Request:
    is_long = execution.direction is Direction.LONG
    if sizing.kind is SizingKind.FIXED_QTY:
        action, amount = (Action.BUY if is_long else Action.SELL), sizing.value
    else:
        action, amount = Action.TARGET, sizing.value / 100.0 * (1.0 if is_long else -1.0)
    return Request(
        0,
        action,
        _WAITING.get(execution.order_type),
        amount,
        stop_loss=_share(risk.stop_loss),
        take_profit=_share(risk.take_profit),
        trail=_share(risk.trailing_stop),
    )


def _share(distance: PlannedDistance | None) -> float | None:
    return distance.value / 100.0 if distance is not None and distance.unit is DistanceUnit.PERCENT else None


def _points(risk: PlannedRisk) -> Points | None:
    def points(distance: PlannedDistance | None) -> float | None:
        return distance.value if distance is not None and distance.unit is DistanceUnit.POINTS else None

    found = Points(points(risk.stop_loss), points(risk.take_profit), points(risk.trailing_stop))
    return None if found == Points() else found


class Stretch(NamedTuple):
    """The bars that a run needs, and where it may begin to trade."""

    bars: Bars
    start: int
    """First row that may be traded; the ones before it feed indicators."""


def stretch(bars: Bars, dates: PlannedRange | None, timezone: str) -> Stretch:
    """Cut bars at the end of a range of days, and find its beginning; days are those of the time zone.

    >>> from runtime.model import Instrument, Timeframe
    >>> from runtime.market.bars import Bars
    >>> price = np.ones(10)
    >>> bars = Bars(instrument=Instrument(symbol="X", bars_per_year=252), timeframe=Timeframe(86_400),
    ...     ts=np.arange(10) * 86_400, open=price, high=price, low=price, close=price, volume=price)
    >>> from datetime import date
    >>> from runtime.sir.plan import PlannedRange
    >>> found = stretch(bars, PlannedRange(start=date(1970, 1, 3), end=date(1970, 1, 5)), "UTC")
    >>> len(found.bars), found.start
    (5, 2)
    """
    if dates is None:
        return Stretch(bars, 0)
    zone = ZoneInfo(timezone)
    first, beyond = _midnight(dates.start, zone), _midnight(dates.end, zone, later=1)
    start, stop = (int(row) for row in np.searchsorted(bars.ts, [first, beyond]))
    return Stretch(bars.between(0, stop), min(start, stop))


# No market data lie outside these years (``runtime.market.calendar``), and a day at the end of what a date can be has no next one.
_FIRST_DAY, _LAST_DAY = date(1799, 1, 1), date(2201, 1, 1)


def _midnight(day: date, zone: ZoneInfo, *, later: int = 0) -> float:
    """When a day, or one so many days later, begins there: seconds since 1970 UTC."""
    known = min(max(day, _FIRST_DAY), _LAST_DAY) + timedelta(days=later)
    return datetime.combine(known, time(0), zone).astimezone(UTC).timestamp()
