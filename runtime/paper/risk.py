"""Risk guards: rules between what a strategy asks for and the venue. Configuration, and fail closed.

Every rule sees the account after the bar's close and one order that would open or add; an order that only reduces the position is
always let through, whatever is locked. A rule answers with a reason, and some lock what comes next. Time is the bar's end, so a
replayed night is judged like a live one. What a rule cannot judge (an order without a size that can be known) it refuses.

The order of the rules is data (``RULES``): locks first, then what is cheap to know, then what locks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from runtime.desk import Action, Request
from runtime.paper.limits import RiskLimits
from runtime.paper.locks import Lock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.kernel.session import Account
    from runtime.model import Bar

_EXITS = frozenset({"stop_loss", "trail", "ruin", "margin"})


class RoundTrip(NamedTuple):
    """A closed position, as far as guards look at it."""

    closed: datetime
    side: str
    """The side that opened it: ``buy`` or ``sell``."""
    profit: float
    """Net, as a fraction of what was put in."""
    exit: str


class Place(NamedTuple):
    """What is traded, and for whom."""

    account: str
    market: str
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What rules may know."""

    place: Place
    now: datetime
    """End of the bar."""
    bar: Bar
    account: Account
    equity: float
    curve: Sequence[tuple[datetime, float]]
    """Equity at the closes of late, oldest first, this one included."""
    day: datetime
    """Where the trading day began."""
    next_day: datetime
    is_open: bool
    """Whether regular trading is on."""
    trips: Sequence[RoundTrip]
    """Round trips of late, oldest first."""
    opened: Sequence[datetime]
    """When fills opened or added, of late, and the orders passed on this bar."""
    locks: Sequence[Lock]
    waiting: float = 0.0
    """Signed units that orders passed on this bar or still waiting would add."""
    leaving: float = 0.0
    """Signed units that resting orders would take off the position, all of them together."""
    can_turn: bool = True
    """Whether selling more than there is opens a position on the other side; it does not in a cash account."""


class Verdict(NamedTuple):
    """A rule's no."""

    rule: str
    reason: str
    lock: Lock | None = None


class _Order(NamedTuple):
    request: Request
    side: str
    units: float
    """Signed units that it would add to the position."""
    price: float
    """What it is valued at."""


Rule = Callable[[RiskLimits, Situation, _Order], Verdict | None]


@dataclass(slots=True)
class Judged:
    """The verdicts on one bar's requests."""

    verdicts: list[Verdict | None] = field(default_factory=list)
    locks: list[Lock] = field(default_factory=list)
    opening: int = 0
    """Orders passed that open or add."""
    exits: list[bool] = field(default_factory=list)
    """For each request, whether it opens nothing: what no guard keeps back."""


def judge(limits: RiskLimits | None, situation: Situation, requests: Sequence[Request], most: float) -> Judged:
    """Judge one bar's requests in order.

    Args:
        limits: the rules; None when a person runs without a guard.
        situation: as the bar leaves it.
        requests: what is asked for.
        most: notional of one order that the deployment allows, whatever the rules say.
    """
    judged = Judged()
    waiting, leaving, locks = situation.waiting, situation.leaving, list(situation.locks)
    reducible = abs(situation.account.position)
    for request in requests:
        order = _read(request, situation, reducible)
        judged.exits.append(order is None or _reduces(order, situation, reducible, leaving))
        if order is None or judged.exits[-1]:
            reducible -= abs(order.units) if order is not None else 0.0
            leaving += order.units if order is not None and _rests(request) else 0.0
            judged.verdicts.append(None)
            continue
        now = _with(situation, waiting=waiting, leaving=leaving, locks=locks, opened=judged.opening)
        verdict = _deployment_cap(order, most) or _first(limits, now, order)
        judged.verdicts.append(verdict)
        if verdict is None:
            waiting += order.units
            judged.opening += 1
        elif verdict.lock is not None:
            judged.locks.append(verdict.lock)
            locks.append(verdict.lock)
    return judged


def _with(situation: Situation, *, waiting: float, leaving: float, locks: Sequence[Lock], opened: int) -> Situation:
    return replace(
        situation,
        waiting=waiting,
        leaving=leaving,
        locks=locks,
        opened=[*situation.opened, *[situation.now] * opened],
    )


def _first(limits: RiskLimits | None, situation: Situation, order: _Order) -> Verdict | None:
    if limits is None:
        return None
    for rule in RULES:
        verdict = rule(limits, situation, order)
        if verdict is not None:
            return verdict
    return None


def _read(request: Request, situation: Situation, reducible: float) -> _Order | None:
    """A request as an order with a size; None for what opens nothing: a cancel, a close, or what the venue will refuse anyway."""
    if request.action not in {Action.BUY, Action.SELL, Action.TARGET}:
        return None
    amount = request.quantity
    if request.action is Action.TARGET:
        return _target(request, float(amount), situation) if _is_number(amount) else None  # type: ignore[arg-type]  # a number
    price = max(_prices(request, situation.bar.close))
    if amount is None:
        units = _all(request, situation, price, reducible)
    elif _is_number(amount):
        units = float(amount) if request.action is Action.BUY else -float(amount)  # type: ignore[arg-type]  # a number
    else:
        return None
    return _Order(request, "buy" if units > 0.0 else "sell", units, price)


def _target(request: Request, weight: float, situation: Situation) -> _Order:
    """A target at the price where it opens most: what it comes to depends on the price, and the strategy names that, too."""
    account, found = situation.account, []
    for price in _prices(request, situation.bar.close):
        units = weight * (account.cash + account.position * price) / price - account.position
        found.append(_Order(request, "buy" if units > 0.0 else "sell", units, price))
    return max(found, key=lambda order: (not _shrinks(order.units, account.position), abs(order.units) * order.price))


def _all(request: Request, situation: Situation, price: float, reducible: float) -> float:
    """Without a quantity: what cash allows, or the position (nothing when flat, which opens nothing in a cash account)."""
    if request.action is Action.BUY:
        position = situation.account.position
        # After others of this bar have closed a short position, it buys for all cash.
        is_cover = position < 0.0 and reducible >= -position
        return -position if is_cover else max(situation.account.cash, 0.0) / price
    return -situation.account.position


def _prices(request: Request, close: float) -> list[float]:
    """Prices that the order may be filled at, as far as they can be known: the last close, and those that it names."""
    return [close, *(float(each) for each in (request.limit, request.stop) if _is_number(each) and each > 0)]  # type: ignore[arg-type,operator]  # numbers


def _rests(request: Request) -> bool:
    """Whether it may wait for its price."""
    return not (request.limit is None and request.stop is None and request.offset is None)


def _is_number(value: object) -> bool:
    return type(value) in {int, float} and -1e15 <= value <= 1e15  # type: ignore[operator]  # false for NaN


def _reduces(order: _Order, situation: Situation, reducible: float, leaving: float) -> bool:
    """Whether it only makes the position smaller, together with the others of this bar and, if it waits, with those that wait."""
    if order.units == 0.0:
        return True
    if situation.can_turn and _rests(order.request):
        reducible -= abs(leaving)
    return _shrinks(order.units, situation.account.position) and abs(order.units) <= reducible * (1.0 + 1e-9)


def _shrinks(units: float, position: float) -> bool:
    return position * units < 0.0 and abs(units) <= abs(position) * (1.0 + 1e-9)


def _deployment_cap(order: _Order, most: float) -> Verdict | None:
    worth = abs(order.units) * order.price
    if worth > most:
        return Verdict("deployment", f"worth {worth:.2f}, and the signed deployment allows {most:.2f} for one order")
    return None


# The rules --------------------------------------------------------------------------------------------------------------


def _locks(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del limits
    place = situation.place
    for lock in situation.locks:
        if lock.holds(market=place.market, symbol=place.symbol, side=order.side, at=situation.now):
            return Verdict("lock", f"locked until {lock.until:%Y-%m-%d %H:%MZ} by {lock.rule}: {lock.reason}")
    return None


def _hours(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del order
    if limits.market_hours and not situation.is_open:
        return Verdict("market_hours", "the market is closed when this order would reach it")
    return None


def _notional(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del situation
    worth = abs(order.units) * order.price
    if limits.order_notional is not None and worth > limits.order_notional:
        return Verdict("order_notional", f"worth {worth:.2f}, and one order may be worth {limits.order_notional:.2f}")
    return None


def _deviation(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    if limits.price_deviation is None:
        return None
    close = situation.bar.close
    for name in ("limit", "stop"):
        value = getattr(order.request, name)
        if _is_number(value) and abs(float(value) / close - 1.0) > limits.price_deviation:
            return Verdict(
                "price_deviation",
                f"{name} {value!r} is {abs(float(value) / close - 1.0):.1%} from the close {close!r}, and "
                f"{limits.price_deviation:.1%} is the most",
            )
    return None


def _exposure(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    if limits.exposure is None:
        return None
    # A target replaces what waits.
    waiting = 0.0 if order.request.action is Action.TARGET else situation.waiting
    after = situation.account.position + waiting + order.units
    # Resting exits may all be filled before it.
    after = max(abs(after), abs(after + situation.leaving) if situation.can_turn else 0.0) * order.price
    allowed = limits.exposure * max(situation.equity, 0.0)
    if after > allowed:
        return Verdict("exposure", f"the position would be worth {after:.2f}, and {allowed:.2f} is the most")
    return None


def _drawdown(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del order
    if limits.max_drawdown is None:
        return None
    window = timedelta(minutes=limits.drawdown_minutes)
    peak = max((value for at, value in situation.curve if at >= situation.now - window), default=situation.equity)
    fall = 1.0 - situation.equity / peak if peak > 0.0 else 1.0
    if fall < limits.max_drawdown:
        return None
    reason = f"equity fell by {fall:.1%} within {limits.drawdown_minutes:g} minutes"
    lock = Lock(account=situation.place.account, until=situation.now + window, rule="max_drawdown", reason=reason)
    return Verdict("max_drawdown", f"{reason}, and {limits.max_drawdown:.1%} is the limit", lock)


def _daily_loss(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del order
    if limits.daily_loss is None:
        return None
    before = [value for at, value in situation.curve if at <= situation.day]
    start = before[-1] if before else situation.curve[0][1]
    fall = 1.0 - situation.equity / start if start > 0.0 else 1.0
    if fall < limits.daily_loss:
        return None
    reason = f"equity fell by {fall:.1%} since the day began"
    lock = Lock(account=situation.place.account, until=situation.next_day, rule="daily_loss", reason=reason)
    return Verdict("daily_loss", f"{reason}, and {limits.daily_loss:.1%} is the limit", lock)


def _stop_losses(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del order
    if limits.stop_losses is None:
        return None
    window = timedelta(minutes=limits.stop_minutes)
    count = sum(trip.exit in _EXITS and trip.closed > situation.now - window for trip in situation.trips)
    if count < limits.stop_losses:
        return None
    reason = f"{count} stop losses within {limits.stop_minutes:g} minutes"
    return Verdict("stop_losses", reason, _symbol_lock(situation, window, "stop_losses", reason))


def _cooldown(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    if limits.cooldown_minutes is None:
        return None
    window = timedelta(minutes=limits.cooldown_minutes)
    for trip in situation.trips:
        if trip.profit < 0.0 and trip.side == order.side and situation.now < trip.closed + window:
            return Verdict(
                "cooldown", f"a losing trade ended at {trip.closed:%H:%MZ}; wait {limits.cooldown_minutes:g} minutes"
            )
    return None


def _low_profit(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del order
    if limits.low_profit is None:
        return None
    window = timedelta(minutes=limits.profit_minutes)
    late = [trip.profit for trip in situation.trips if trip.closed > situation.now - window]
    if not late or sum(late) >= limits.low_profit:
        return None
    reason = f"{len(late)} round trips within {limits.profit_minutes:g} minutes came to {sum(late):.1%}"
    return Verdict("low_profit", reason, _symbol_lock(situation, window, "low_profit", reason))


def _trades(limits: RiskLimits, situation: Situation, order: _Order) -> Verdict | None:
    del order
    count = sum(at > situation.day for at in situation.opened)
    if limits.trades_per_day is not None and count >= limits.trades_per_day:
        return Verdict("trades_per_day", f"{count} orders were opened today, and that is the most")
    return None


def _symbol_lock(situation: Situation, window: timedelta, rule: str, reason: str) -> Lock:
    place = situation.place
    return Lock(
        account=place.account,
        market=place.market,
        symbol=place.symbol,
        until=situation.now + window,
        rule=rule,
        reason=reason,
    )


RULES: tuple[Rule, ...] = (
    _locks,
    _hours,
    _notional,
    _deviation,
    _exposure,
    _trades,
    _cooldown,
    _stop_losses,
    _low_profit,
    _daily_loss,
    _drawdown,
)
