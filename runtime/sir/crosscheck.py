"""The cross-check: what no single part can know.

Duplicate and undefined ids, ends before starts, orders without prices, products without sessions, positions that
nothing would close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from runtime.model import Timeframe
from runtime.sir.deadends import why_never
from runtime.sir.document import TimeOperand
from runtime.sir.features import duplicates
from runtime.sir.plan import PlannedRules
from runtime.sir.problems import Problem, pointer, senseless
from runtime.sir.signals import Names, minutes, plan_groups
from runtime.sir.vocabulary import Direction, DistanceUnit, EntryOrder, LegKind, Mode, Product, SizingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runtime.sir.document import Document
    from runtime.sir.features import Resolved
    from runtime.sir.plan import RuleGroups

_DAY_S = 86_400
_WAITING = {EntryOrder.LIMIT, EntryOrder.MARKET_IF_TOUCHED}


class Checked(NamedTuple):
    """The rules with their references resolved, and what is wrong or worth knowing."""

    rules: PlannedRules
    problems: list[Problem]
    warnings: list[Problem]


def cross_check(document: Document, resolved: Resolved, intent: Mode) -> Checked:
    """Hold the parts of a document against each other."""
    places: dict[str, int] = {}
    for index, indicator in enumerate(resolved.indicators):
        places.setdefault(indicator.id, index)
    names = Names(places, resolved.indicators, frozenset(feature.id for feature in document.features))
    entry = plan_groups(document.signals.entry, "/signals/entry", names)
    leave = plan_groups(document.signals.exit or [], "/signals/exit", names)
    rules = PlannedRules(entry=entry.groups, exit=leave.groups)
    noted = document.explainability.assumptions if document.explainability else []
    problems = [
        *resolved.problems,
        *_market(document),
        *_entry(document),
        *entry.problems,
        *leave.problems,
        *_times(document),
        *duplicates("/explainability/assumptions", [each.id for each in noted]),
    ]
    if intent is not Mode.SCREEN:
        problems += [*_risk(document), *_sizing(document), *_orders(document), *_way_out(document), *_legs(document)]
    dead_exits = () if problems else _dead(leave.groups, "/signals/exit", resolved)
    if not problems:
        problems += _dead(entry.groups, "/signals/entry", resolved)
    return Checked(rules, problems, [*_unused(document), *dead_exits])


def _dead(groups: RuleGroups, where: str, resolved: Resolved) -> Iterator[Problem]:
    for index, group in enumerate(groups):
        why = why_never(group, resolved.indicators)
        if why is not None:
            yield senseless(
                "never-fires",
                where + pointer(index),
                "the group can never hold",
                why,
                "which of its rules is meant otherwise",
            )


def _market(document: Document) -> Iterator[Problem]:
    market, session, dates = document.market, document.session, document.date_range
    try:
        timeframe = str(Timeframe.parse(market.timeframe))
    except ValueError:
        yield senseless("timeframe", "/market/timeframe", f"{market.timeframe} is no step between bars",
                       "bars last from one minute to one week", "which bars to trade on")  # fmt: skip
    else:
        if timeframe != market.timeframe:
            yield senseless("timeframe", "/market/timeframe", f"{market.timeframe} is {timeframe} in other words",
                           "one step has one name", f"nothing: write {timeframe}")  # fmt: skip
    if market.timezone is not None and not _is_zone(market.timezone):
        yield senseless("timezone", "/market/timezone", f"{market.timezone} is no known time zone", "names are IANA's, like America/New_York",
                       "in which city the market is")  # fmt: skip
    if session and minutes(session.start) >= minutes(session.end):
        yield senseless("session-order", "/session", f"it starts at {session.start} and ends at {session.end}",
                       "a session ends later on the same day", "when the session begins and ends")  # fmt: skip
    if dates and dates.start > dates.end:
        yield senseless("start-after-end", "/date_range", f"it starts on {dates.start} and ends on {dates.end}",
                       "a range ends on its first day or later", "from when to when")  # fmt: skip
    seen = [(each.symbol, each.venue) for each in document.universe or ()]
    for index, each in enumerate(seen):
        if each in seen[:index]:
            yield senseless("duplicate-symbol", pointer("universe", index), f"{each[0]} at {each[1]} is there twice",
                           "it would be traded twice", "which symbol was meant")  # fmt: skip


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # a folder of the database is an OSError, an unknown name a KeyError
        return False
    return True


def _entry(document: Document) -> Iterator[Problem]:
    if not document.signals.entry:
        yield senseless(
            "empty-entry",
            "/signals/entry",
            "there is no group",
            "nothing would ever be bought or sold",
            "when to go in",
        )


def _times(document: Document) -> Iterator[Problem]:
    signals = document.signals
    uses_time = any(
        isinstance(side, TimeOperand)
        for groups in (signals.entry, signals.exit or [])
        for group in groups
        for rule in group.all
        for side in (rule.left, rule.right)
    )
    where = "/session" if document.session else "/signals"
    if not (uses_time or document.session):
        return
    if _seconds(document) >= _DAY_S:
        yield senseless("time-of-day", where, f"a time of day is used on {document.market.timeframe} bars",
                       "such a bar is a whole day or more, so it has none", "which bars to trade on, or whether the hours matter")  # fmt: skip
    elif document.market.timezone is None:
        yield senseless("no-timezone", "/market/timezone", "it is missing and a time of day is used",
                       "half past nine is at another moment in each zone", "in which time zone the hours are meant")  # fmt: skip


def _seconds(document: Document) -> int:
    try:
        return Timeframe.parse(document.market.timeframe).seconds
    except ValueError:
        return 0


def _risk(document: Document) -> Iterator[Problem]:
    risk = document.risk
    if risk is None:
        return
    is_long = document.execution.direction is Direction.LONG
    for name in ("stop_loss", "trailing_stop", "take_profit"):
        distance = getattr(risk, name)
        falls = (name != "take_profit") if is_long else (name == "take_profit")
        if (
            distance
            and distance.unit is DistanceUnit.PERCENT
            and distance.value >= 100
            and (falls or name == "trailing_stop")
        ):
            yield senseless("distance", pointer("risk", name, "value"), f"{name} is {distance.value:g} percent",
                           "a price cannot fall by all of itself or more", f"how far away the {name.replace('_', ' ')} should be")  # fmt: skip
    loss = risk.max_daily_loss
    if loss and loss.unit.value == "percent" and loss.value > 100:
        yield senseless("daily-loss", "/risk/max_daily_loss/value", f"it is {loss.value:g} percent", "nobody can lose more than all",
                       "how much may be lost in a day")  # fmt: skip
    yield from _contradictions(document)


def _contradictions(document: Document) -> Iterator[Problem]:
    risk = document.risk
    if risk is None or not (risk.stop_loss and risk.trailing_stop):
        return
    stop, trail = risk.stop_loss, risk.trailing_stop
    if stop.unit is not trail.unit:
        yield senseless("risk-units", "/risk/trailing_stop/unit", f"stop_loss is in {stop.unit.value}, trailing_stop in {trail.unit.value}",
                       "which of the two is nearer would depend on the price", "in which unit both are meant")  # fmt: skip
    elif trail.value <= stop.value:
        yield senseless("stop-never-reached", "/risk/stop_loss", f"it is {stop.value:g} away and the trailing stop {trail.value:g}",
                       "a trailing stop begins at the entry, so the further stop is never reached", "which of the two is meant")  # fmt: skip


def _sizing(document: Document) -> Iterator[Problem]:
    sizing = document.sizing
    if sizing and sizing.type is SizingKind.PERCENT_EQUITY and sizing.value > 100:
        yield senseless("size", "/sizing/value", f"it is {sizing.value:g} percent of equity", "positions are not larger than the equity",
                       "how much of the equity to use, at most 100")  # fmt: skip


def _orders(document: Document) -> Iterator[Problem]:
    execution, order = document.execution, document.execution.order_type
    offset = execution.price_offset_percent
    if order in _WAITING and offset is None:
        yield senseless("no-price", "/execution/price_offset_percent", f"it is missing and order_type is {order.value}",
                       "such an order waits at a price", "how far from the close, in percent, the order should wait")  # fmt: skip
    if order not in _WAITING and offset is not None and order is not None:
        yield senseless("no-use-for-price", "/execution/price_offset_percent", f"it is given and order_type is {order.value}",
                       "only limit and market_if_touched wait at a price", "which order opens a position")  # fmt: skip
    if order in _WAITING and offset is not None and offset >= 100 and execution.direction is Direction.LONG:
        yield senseless("distance", "/execution/price_offset_percent", f"it is {offset:g} percent below the close",
                       "a price is above zero", "how far below the close the order should wait")  # fmt: skip
    if order is EntryOrder.COVER and not (document.risk and document.risk.stop_loss):
        yield senseless("cover-needs-stop", "/risk/stop_loss", "it is missing and order_type is cover",
                       "a cover order goes out together with its stop loss", "how far away the stop loss should be")  # fmt: skip
    if order is EntryOrder.AFTER_MARKET and 0 < _seconds(document) < _DAY_S:
        yield senseless("after-market", "/execution/order_type", f"it is after_market on {document.market.timeframe} bars",
                       "such an order is given while the market is closed, and these bars close while it is open",
                       "whether to decide once a day, or to trade at the market")  # fmt: skip
    yield from _product(document)


def _product(document: Document) -> Iterator[Problem]:
    execution = document.execution
    if execution.product is Product.INTRADAY and document.session is None:
        yield senseless("intraday-needs-session", "/session", "it is missing and the product is intraday",
                       "positions are closed before the session ends", "when the session begins and ends")  # fmt: skip
    if execution.product is Product.DELIVERY and execution.direction is Direction.SHORT:
        yield senseless("short-delivery", "/execution/product", "it is delivery and the direction is short",
                       "what is not owned cannot be delivered", "whether the short is intraday or carried forward")  # fmt: skip
    if execution.product is Product.DELIVERY and document.legs:
        yield senseless("legs-delivery", "/execution/product", "it is delivery and there are legs", "options and futures are carried, not delivered",
                       "whether the legs are intraday or carried forward")  # fmt: skip


def _way_out(document: Document) -> Iterator[Problem]:
    risk = document.risk
    ends = (
        document.signals.exit,
        risk and (risk.stop_loss or risk.take_profit or risk.trailing_stop or risk.time_stop_bars),
        document.execution.product is Product.INTRADAY,
        document.legs,
    )
    if not any(ends):
        yield senseless("no-way-out", "/signals/exit", "there is no exit, stop, target, time stop or session's end",
                       "a position would be held for ever", "when to go out")  # fmt: skip


def _legs(document: Document) -> Iterator[Problem]:
    legs = document.legs or []
    yield from duplicates("/legs", [leg.id for leg in legs])
    for index, leg in enumerate(legs):
        where = pointer("legs", index, "strike")
        if leg.instrument_type is LegKind.FUTURE and leg.strike is not None:
            yield senseless("future-strike", where, f"{leg.id} is a future with a strike", "only options have strikes",
                           f"whether {leg.id} is a call or a put")  # fmt: skip
        if leg.instrument_type is not LegKind.FUTURE and leg.strike is None:
            yield senseless("option-strike", where, f"{leg.id} is an option without a strike", "an option has one",
                           f"at which strike {leg.id} should be")  # fmt: skip
        kind = (leg.instrument_type, leg.expiry, leg.strike)
        for other in legs[:index]:
            if (other.instrument_type, other.expiry, other.strike) == kind and other.side is not leg.side:
                yield senseless("legs-cancel", pointer("legs", index), f"{leg.id} undoes {other.id}",
                               "the same contract is bought and sold", "what the structure should look like")  # fmt: skip
    if legs and document.execution.direction is Direction.SHORT:
        yield senseless("legs-direction", "/execution/direction", "it is short and there are legs",
                       "the sides of the legs say which way each goes", "nothing: write long, and turn the sides of the legs")  # fmt: skip
    if legs and document.execution.order_type is not EntryOrder.MARKET:
        yield senseless("legs-order", "/execution/order_type", "it is not market and there are legs",
                       "all legs are placed together, or none", "whether to open the structure at the market")  # fmt: skip


def _unused(document: Document) -> Iterator[Problem]:
    signals = document.signals
    named = {
        getattr(side, "id", None)
        for groups in (signals.entry, signals.exit or [])
        for group in groups
        for rule in group.all
        for side in (rule.left, rule.right)
    }
    for index, feature in enumerate(document.features):
        if feature.id not in named:
            yield senseless("unused-feature", pointer("features", index), f"no rule names {feature.id}", "it is left out of the plan",
                           f"whether a rule about {feature.id} was forgotten")  # fmt: skip
