"""A second engine, slow and plain, written from the rules of trading and not from the kernel.

One loop over the bars, one ``if`` per rule, nothing shared with the kernel but its input values. Where the kernel keeps
running totals, this one adds up all fills again: cash is what was there at first minus all that was paid, an excursion is
the worst of a list of prices. It has no speed, no wire and no strategy: a plan says what is asked for on which bar.

The rules, in the order in which a bar goes through them:

1. What was asked for takes effect (cancels, closes, targets; prices go onto the tick grid against the trader).
2. At the open: the position's exits that the open is through; sells; buys; each in order of submission.
3. Inside the bar: stops against the position, nearest first (own orders win only where they are nearer than the
   bracket); profits in the same way; then everything else in order of submission. What begins inside the bar is tested
   against what must still come after it: after a touch from above the low, after one from below the high, and the close.
4. At the close: borrow fee, ruin by the mark, then the trails move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from runtime.kernel import AccountKind
from runtime.model import OrderType, Side


class Refused(Exception):  # noqa: N818  # an outcome
    """What the account or the venue does not allow."""


@dataclass
class Deal:
    """A fill."""

    row: int
    buying: bool
    quantity: float
    price: float
    fee: float
    tag: str
    order_id: int


@dataclass
class RoundTrip:
    """A closed position, or the closed part of one."""

    long: bool
    quantity: float
    entry_row: int
    exit_row: int
    entry_price: float
    exit_price: float
    fees: float
    pnl: float
    mae: float
    mfe: float
    reason: str


@dataclass
class Waiting:
    """An order at work."""

    id: int
    verb: str
    kind: OrderType
    buying: bool | None
    quantity: float | None = None
    weight: float = 0.0
    limit: float | None = None
    stop: float | None = None
    distance: float | None = None
    """Of a trailing stop."""
    bracket: dict[str, float] = field(default_factory=dict)
    tag: str = ""
    armed: bool = False
    """A stop-limit order whose stop has been met."""
    best: float = 0.0


@dataclass
class Rest:
    """What is certain to come after a moment inside a bar."""

    now: float
    low: float
    high: float


class Reference:
    """One run. ``rows``: ``(open, high, low, close)``; ``plan[i]``: what is asked for on the i-th tradable bar."""

    def __init__(self, rows, plan, instrument, config):
        self.rows, self.plan, self.instrument, self.config = rows, plan, instrument, config
        self.costs, self.cash_account = config.costs, config.account is AccountKind.CASH
        self.deals: list[Deal] = []
        self.trips: list[RoundTrip] = []
        self.refused: list[tuple[int, int]] = []
        """Row and order id."""
        self.borrowed: list[float] = []
        self.position = 0.0
        self.entry_price = 0.0
        self.entry_row = -1
        self.open_fees = 0.0
        self.seen: list[float] = []
        """Prices that the open position has lived through."""
        self.bracket: dict[str, float] = {}
        self.bracket_id = 0
        self.resting: list[Waiting] = []
        self.market: list[Waiting] = []
        self.due: list[tuple[int, Any]] = []
        self.ids = 0
        self.ruined_row: int | None = None
        self.equity = [config.cash]
        self.positions: list[float] = []
        self.row = 0

    # The loop ---------------------------------------------------------------------------------------------------

    def run(self):
        for row, bar in enumerate(self.rows):
            self.row = row
            self.open, self.high, self.low, self.close = bar
            if self.ruined_row is None and self.row >= self.config.start:
                self.one_bar()
            gone = self.ruined_row is not None
            self.positions.append(0.0 if gone else self.position)
            self.equity.append(0.0 if gone else self.cash() + self.position * self.close)
        return self

    def one_bar(self):
        now = [what for when, what in self.due if when <= self.row]
        self.due = [(when, what) for when, what in self.due if when > self.row]
        for what in now:
            self.take_effect(what)
        self.begun, self.held_before = None, False
        self.at_the_open()
        if self.ruined_row is None:
            self.inside_the_bar()
        if self.ruined_row is None:
            self.at_the_close()
        if self.ruined_row is None:
            self.ask()

    def ask(self):
        for verb, values in self.plan[self.row - self.config.start]:
            when = self.row + 1 + self.config.decision_delay
            if verb == "cancel":
                self.due.append((when, values["id"]))
                continue
            self.ids += 1
            order = self.order_of(verb, dict(values))
            most = 1.0 if self.cash_account else 1.0 / self.instrument.initial_margin
            too_much = not (0.0 if self.cash_account else -most) <= order.weight <= most
            if too_much or (order.quantity is not None and order.quantity <= 0.0):
                self.refused.append((self.row, order.id))
            else:
                self.due.append((when, order))

    def order_of(self, verb, values):
        kind = values.pop("type", None)
        side = values.pop("side", None)
        if verb == "submit":
            verb = "buy" if side is Side.BUY else "sell"
        distance = values.pop("trail", None) if kind is OrderType.TRAILING_STOP else None
        limit, stop = values.pop("limit", None), values.pop("stop", None)
        if kind is None:
            if limit is None:
                kind = OrderType.MARKET if stop is None else OrderType.STOP
            else:
                kind = OrderType.LIMIT if stop is None else OrderType.STOP_LIMIT
        bracket = {name: values[name] for name in ("stop_loss", "take_profit", "trail") if values.get(name) is not None}
        return Waiting(
            id=self.ids,
            verb=verb,
            kind=kind,
            buying={"buy": True, "sell": False}.get(verb),
            quantity=values.get("quantity"),
            weight=values.get("weight", 0.0),
            limit=limit,
            stop=stop,
            distance=distance,
            bracket=bracket,
            tag=values.get("tag", ""),
        )

    # 1: taking effect -------------------------------------------------------------------------------------------

    def take_effect(self, what):
        if what is None:
            self.resting, self.market = [], []
            return
        if isinstance(what, int):
            self.resting = [order for order in self.resting if order.id != what]
            self.market = [order for order in self.market if order.id != what]
            return
        before = self.rows[self.row - 1][3] if self.row else self.open
        if what.verb == "close":
            if self.position == 0.0:
                self.refused.append((self.row, what.id))
                return
            what.buying = self.position < 0.0
        if what.verb == "target":
            self.resting = [order for order in self.resting if self.reduces(order)]
            what.buying = self.change_for(what.weight, before) >= 0.0
        if what.kind is OrderType.MARKET:
            if what.verb == "target":
                self.market = [order for order in self.market if order.verb != "target"]
            self.market.append(what)
            return
        if what.limit is not None:
            what.limit = self.down(what.limit) if what.buying else self.up(what.limit)
        if what.stop is not None:
            low_side = what.buying == (what.kind is OrderType.MARKET_IF_TOUCHED)
            what.stop = self.down(what.stop) if low_side else self.up(what.stop)
        if what.distance is not None:
            what.best = before
            self.move_trail(what)
        self.resting.append(what)

    def move_trail(self, order):
        if order.buying:
            order.stop = self.up(order.best * (1.0 + order.distance))
        else:
            order.stop = self.down(order.best * (1.0 - order.distance))

    # 2: the open ------------------------------------------------------------------------------------------------

    def at_the_open(self):
        price = self.open
        if self.position:
            level, reason = self.nearest_exit()
            if level is not None and (price <= level if self.position > 0 else price >= level):
                broke = not self.cash_account and self.cash() + self.position * price <= 0.0
                self.leave(price, "ruin" if broke else reason, slips=True)
            elif self.is_beyond_profit(price):
                self.leave(price, "take_profit", slips=False)
        if self.ruined_row is not None:
            return
        market, self.market = self.market, []
        for order in market:
            if order.verb == "target":
                order.buying = self.change_for(order.weight, price) >= 0.0
        waits_for_a_buy = []
        for buying in (False, True):
            for order in [order for order in self.resting if order.buying is buying]:
                slips = self.through_at_open(order)
                if slips is None:
                    continue
                if self.lacks_cover(order):
                    waits_for_a_buy.append((order, slips))
                else:
                    self.fill(order, price, slips=slips)
            for order in market:
                if order.buying is buying:
                    self.fill(order, price, slips=True)
        for order, slips in waits_for_a_buy:
            self.fill(order, price, slips=slips)

    def is_beyond_profit(self, price):
        level = self.profit_level()
        return level is not None and (price >= level if self.position > 0 else price <= level)

    def through_at_open(self, order):
        """None: not through. Otherwise whether the fill slips."""
        price, buying, kind = self.open, order.buying, order.kind
        if kind is OrderType.STOP_LIMIT and not order.armed:
            if not (price >= order.stop if buying else price <= order.stop):
                return None
            order.armed = True
        if kind is OrderType.LIMIT or order.armed:
            return False if (price <= order.limit if buying else price >= order.limit) else None
        if kind is OrderType.MARKET_IF_TOUCHED:
            return True if (price <= order.stop if buying else price >= order.stop) else None
        return True if (price >= order.stop if buying else price <= order.stop) else None

    # 3: inside the bar ------------------------------------------------------------------------------------------

    def inside_the_bar(self):
        whole, tried = Rest(self.open, self.low, self.high), set()
        self.held_before = self.position != 0.0
        if self.position:
            own = [order for order in self.resting if self.reduces(order) and self.is_stop(order)]
            level, _ = self.nearest_exit()
            nearer = [order for order in own if level is None or self.is_before(self.wait_price(order), level)]
            self.own_exits(nearer, whole, tried)
            if self.begun is None:
                self.bracket_stop(whole)
            self.own_exits([order for order in own if order not in nearer], whole, tried)
        if self.position and self.begun is None:
            own = [order for order in self.resting if self.reduces(order) and order.id not in tried]
            level = self.profit_level()
            nearer = [order for order in own if level is None or self.is_before(level, self.wait_price(order))]
            self.own_exits(nearer, whole, tried)
            if self.begun is None:
                self.bracket_profit(whole)
            self.own_exits([order for order in own if order not in nearer], whole, tried)
        self.entries(whole, tried)

    def is_before(self, first, second):
        """On the way down for a long position (up for a short one), ``first`` is reached strictly before ``second``."""
        return first > second if self.position > 0 else first < second

    def own_exits(self, orders, rest, tried):
        for order in orders:
            if self.position == 0.0 or self.begun is not None:
                return
            tried.add(order.id)
            touch = self.touched(order, rest)
            if touch is not None:
                was_long = self.position > 0
                self.fill(order, touch[0], slips=touch[1])
                if self.position and (self.position > 0) is not was_long:
                    self.begin(-self.position, touch[0], touch[2])

    def entries(self, whole, tried):
        waits_for_a_buy = []
        for order in list(self.resting):
            if self.ruined_row is not None:
                return
            if order.id in tried:
                continue
            rest = self.begun if self.begun is not None and self.reduces(order) else whole
            armed = order.armed
            touch = self.touched(order, rest)
            if touch is None:
                continue
            if self.lacks_cover(order):
                order.armed = armed
                waits_for_a_buy.append(order)
                continue
            before = self.position
            self.fill(order, touch[0], slips=touch[1])
            grew = self.position != 0.0 and (
                (self.position > 0) != (before > 0) or abs(self.position) > abs(before) or before == 0.0
            )
            if grew:
                self.begin(before, touch[0], touch[2])
        for order in waits_for_a_buy:
            if self.begun is None or self.position == 0.0:
                self.fill(order, self.close, slips=False)
                continue
            touch = self.touched(order, self.begun)
            if touch is not None:
                self.fill(order, touch[0], slips=touch[1])

    def begin(self, before, price, rising):
        """A position begins (or grows) inside the bar: what is certain from here on, and what that does to it."""
        if rising:
            rest = Rest(price, min(price, self.close), max(self.high, price))
        else:
            rest = Rest(price, min(self.low, price), max(price, self.close))
        grows = before != 0.0 and (before > 0) == (self.position > 0)
        if self.begun is not None and grows:
            rest = Rest(price, max(rest.low, self.begun.low), min(rest.high, self.begun.high))
        self.begun = rest
        self.held_before = self.held_before and grows
        self.bracket_stop(rest)
        self.bracket_profit(rest)

    def touched(self, order, rest):
        """None, or ``(price, slips, rising)``: where the rest of the bar fills the order."""
        buying, kind = order.buying, order.kind
        if kind is OrderType.LIMIT or order.armed:
            return self.from_above(rest, order.limit, False) if buying else self.from_below(rest, order.limit, False)
        if kind is OrderType.MARKET_IF_TOUCHED:
            return self.from_above(rest, order.stop, True) if buying else self.from_below(rest, order.stop, True)
        touch = self.from_below(rest, order.stop, True) if buying else self.from_above(rest, order.stop, True)
        if touch is None or kind is not OrderType.STOP_LIMIT:
            return touch
        order.armed = True
        price, _, rising = touch
        if price <= order.limit if buying else price >= order.limit:
            return price, False, rising
        # The limit lies on the far side of the stop: only the close proves that the price came back to it.
        if self.close <= order.limit if buying else self.close >= order.limit:
            return order.limit, False, not buying
        return None

    @staticmethod
    def from_above(rest, level, slips):
        return (min(level, rest.now), slips, False) if rest.low <= level else None

    @staticmethod
    def from_below(rest, level, slips):
        return (max(level, rest.now), slips, True) if rest.high >= level else None

    def bracket_stop(self, rest):
        level, reason = self.nearest_exit()
        if level is None:
            return
        touch = self.from_above(rest, level, True) if self.position > 0 else self.from_below(rest, level, True)
        if touch is not None:
            self.leave(touch[0], reason, slips=True)

    def bracket_profit(self, rest):
        level = self.profit_level()
        if level is None:
            return
        touch = self.from_below(rest, level, False) if self.position > 0 else self.from_above(rest, level, False)
        if touch is not None:
            self.leave(touch[0], "take_profit", slips=False)

    @staticmethod
    def is_stop(order):
        return order.kind in {OrderType.STOP, OrderType.TRAILING_STOP} or (
            order.kind is OrderType.STOP_LIMIT and not order.armed
        )

    @staticmethod
    def wait_price(order):
        return order.limit if order.kind is OrderType.LIMIT or order.armed else order.stop

    # 4: the close -----------------------------------------------------------------------------------------------

    def at_the_close(self):
        if self.position < 0.0 and not self.cash_account and self.instrument.borrow_bps_per_year:
            rate = self.instrument.borrow_bps_per_year / 10_000.0 / self.instrument.bars_per_year
            self.borrowed.append(-self.position * self.close * rate)
            self.open_fees += self.borrowed[-1]
        if not self.cash_account and self.cash() + self.position * self.close <= 0.0:
            if self.position:
                self.leave(self.close, "ruin", slips=True)
            self.ruin()
            return
        if self.position:
            began_here = self.begun is not None and not self.held_before
            self.seen += [self.begun.low, self.begun.high] if began_here else [self.low, self.high]
        for order in self.resting:
            if order.distance is not None:
                order.best = min(order.best, self.low) if order.buying else max(order.best, self.high)
                self.move_trail(order)

    # Levels -----------------------------------------------------------------------------------------------------

    def nearest_exit(self):
        """Level and reason of the first thing against the position; ``(None, "")`` without any."""
        if not self.position:
            return None, ""
        long, cash, levels = self.position > 0, self.cash(), []
        best = max(self.seen) if long else min(self.seen)
        for name, base in (("stop_loss", self.entry_price), ("trail", best)):
            if name in self.bracket:
                share = self.bracket[name]
                levels.append((self.down(base * (1.0 - share)) if long else self.up(base * (1.0 + share)), name))
        if not self.cash_account:
            levels.append((-cash / self.position, "ruin"))
            keep = self.instrument.maintenance_margin
            if keep is not None and not (self.position > 0 and keep == 1.0):
                # cash + position * p = keep * |position| * p
                levels.append((-cash / (self.position - keep * abs(self.position)), "margin"))
            levels = [one for one in levels if one[0] > 0.0 or one[1] not in {"ruin", "margin"}]
        if not levels:
            return None, ""
        return max(levels, key=lambda one: one[0]) if long else min(levels, key=lambda one: one[0])

    def profit_level(self):
        if not self.position or "take_profit" not in self.bracket:
            return None
        share = self.bracket["take_profit"]
        if self.position > 0:
            return self.up(self.entry_price * (1.0 + share))
        return self.down(self.entry_price * (1.0 - share))

    def down(self, price):
        return self.steps(price, self.instrument.tick, math.floor, 1e-9)

    def up(self, price):
        return self.steps(price, self.instrument.tick, math.ceil, -1e-9)

    @staticmethod
    def steps(value, step, rounding, tolerance):
        return value if step is None else float(Decimal(rounding(value / step + tolerance)) * Decimal(str(step)))

    def lots(self, quantity):
        return self.steps(quantity, self.instrument.lot, math.floor, 1e-9)

    # Money ------------------------------------------------------------------------------------------------------

    def cash(self):
        """All of it, added up again."""
        paid = [(deal.quantity if deal.buying else -deal.quantity) * deal.price + deal.fee for deal in self.deals]
        return self.config.cash - math.fsum(paid) - math.fsum(self.borrowed)

    def fee(self, quantity, price):
        by_size = quantity * price * self.costs.fee_bps / 10_000.0 + quantity * self.costs.fee_per_unit
        return max(by_size, self.costs.fee_minimum)

    def reduces(self, order):
        return self.position != 0.0 and order.buying is (self.position < 0.0)

    def lacks_cover(self, order):
        """A sell of more than a cash account has."""
        if not self.cash_account or order.buying:
            return False
        return self.position <= 0.0 or (order.quantity or 0.0) > self.position * (1 + 1e-9)

    def most_for(self, budget, price):
        """The largest quantity with notional plus fee within a budget, before lots."""
        share = self.costs.fee_bps / 10_000.0
        by_share = budget / (price * (1.0 + share) + self.costs.fee_per_unit)
        by_minimum = (budget - self.costs.fee_minimum) / price
        return max(min(by_share, by_minimum), 0.0)

    def most_on_margin(self, price, buying):
        """The largest growth after which the equity still covers the initial margin, before lots."""
        need, share = self.instrument.initial_margin, self.costs.fee_bps / 10_000.0
        held = self.position if buying else -self.position
        room = self.cash() + self.position * price - need * held * price
        by_share = room / (price * (need + share) + self.costs.fee_per_unit)
        by_minimum = (room - self.costs.fee_minimum) / (price * need)
        return max(min(by_share, by_minimum), 0.0)

    def change_for(self, weight, price):
        """Signed units to trade so that notional plus fee is the wanted share of equity."""
        if weight == 0.0:
            return -self.position
        cash = self.cash()
        equity = cash + self.position * price
        gap = weight * equity - self.position * price
        if abs(gap) <= 1e-9 * abs(equity):
            return 0.0
        if (gap > 0) == (weight > 0):
            if self.cash_account:
                size = self.most_for(min(gap, cash), price)
            else:
                size = min(self.most_for(abs(gap), price), self.most_on_margin(price, gap > 0))
            return math.copysign(self.lots(size), gap)
        share = self.costs.fee_bps / 10_000.0
        kept = price * (1.0 - share) - self.costs.fee_per_unit
        by_share = abs(gap) / kept if kept > 0.0 else 1e15
        size = max(by_share, (abs(gap) + self.costs.fee_minimum) / price)
        if size >= abs(self.position) * (1 - 1e-9) and (weight > 0) == (self.position > 0):
            return -self.position
        return math.copysign(self.lots(size), gap)

    def size_of(self, order, price):
        """Units to trade, 0 for a target that is met."""
        wanted, buying = order.quantity, order.buying
        if order.verb == "target":
            change = self.change_for(order.weight, price)
            if change == 0.0 or (change > 0) is not buying:
                return 0.0
            wanted = abs(change)
        reduces = self.reduces(order)
        if order.verb == "close" and not reduces:
            raise Refused
        held = abs(self.position)
        if reduces:
            if wanted is None or abs(wanted - held) <= 1e-9 * held:
                return held
            quantity = self.big_enough(self.lots(wanted), price)
            if wanted > held:
                if self.cash_account:
                    raise Refused
                self.check_margin(quantity, price, buying)
            return quantity
        if not buying and (self.cash_account or wanted is None):
            raise Refused
        quantity = self.big_enough(self.lots(self.most_for(self.cash(), price) if wanted is None else wanted), price)
        if not self.cash_account:
            self.check_margin(quantity, price, buying)
        elif quantity * price + self.fee(quantity, price) > self.cash() * (1 + 1e-12):
            raise Refused
        return quantity

    def big_enough(self, quantity, price):
        least = max(1e-9, 1e-12 * abs(self.position))
        notional = max(self.instrument.min_notional, 1e-6, 1e-12 * abs(self.cash()))
        if quantity < least or quantity * price < notional:
            raise Refused
        return quantity

    def check_margin(self, quantity, price, buying):
        after = self.position + (quantity if buying else -quantity)
        own = self.cash() + self.position * price - self.fee(quantity, price)
        if self.instrument.initial_margin * abs(after) * price > own * (1 + 1e-12):
            raise Refused

    # Fills ------------------------------------------------------------------------------------------------------

    def fill(self, order, price, *, slips):
        self.resting = [other for other in self.resting if other.id != order.id]
        if slips:
            price = self.slip(price, order.buying)
        try:
            quantity = self.size_of(order, price)
        except Refused:
            self.refused.append((self.row, order.id))
            return
        if quantity > 0.0:
            self.deal(order.buying, quantity, price, order.tag, order.id, "signal")
        elif order.verb != "target" or order.weight * self.position <= 0.0:
            return
        if self.position and order.bracket:
            self.bracket = {**self.bracket, **order.bracket}
            self.bracket_id = order.id

    def slip(self, price, buying):
        if not self.costs.slippage_bps:
            return price
        share = self.costs.slippage_bps / 10_000.0
        return self.up(price * (1.0 + share)) if buying else self.down(price * (1.0 - share)) or price

    def leave(self, price, reason, *, slips):
        buying = self.position < 0.0
        by_engine = reason in {"ruin", "margin"} or not self.bracket
        price = self.slip(price, buying) if slips else price
        self.deal(buying, abs(self.position), price, reason, 0 if by_engine else self.bracket_id, reason)
        if reason == "ruin":
            self.ruin()

    def ruin(self):
        self.ruined_row = self.row
        self.resting, self.market, self.due = [], [], []

    def deal(self, buying, quantity, price, tag, order_id, reason):
        fee = self.fee(quantity, price)
        if self.cash_account and not buying:
            fee = min(fee, self.cash() + quantity * price)
        self.deals.append(Deal(self.row, buying, quantity, price, fee, tag, order_id))
        signed, held = (quantity if buying else -quantity), abs(self.position)
        if held == 0.0 or (self.position > 0) == buying:
            self.grow(signed, price, fee)
            return
        closed = min(quantity, held)
        self.seen.append(price)
        self.close_part(closed, price, fee * closed / quantity, reason)
        left = self.position + signed
        if abs(left) <= 1e-9 * held:
            self.be_flat()
        elif (left > 0) == (self.position > 0):
            self.open_fees *= 1.0 - closed / held
            self.position = left
        else:
            self.be_flat()
            self.grow(left, price, fee - fee * closed / quantity)

    def grow(self, signed, price, fee):
        held = abs(self.position)
        if held == 0.0:
            self.entry_row, self.seen = self.row, []
        self.entry_price = (self.entry_price * held + price * abs(signed)) / (held + abs(signed))
        self.seen.append(price)
        self.position += signed
        self.open_fees += fee

    def be_flat(self):
        self.position = self.entry_price = self.open_fees = 0.0
        self.bracket, self.bracket_id, self.seen, self.entry_row = {}, 0, [], -1

    def close_part(self, closed, price, exit_fee, reason):
        long, entry = self.position > 0, self.entry_price
        fees = self.open_fees * closed / abs(self.position) + exit_fee
        lowest, highest = min(self.seen), max(self.seen)
        adverse, favourable = (entry - lowest, highest - entry) if long else (highest - entry, entry - lowest)
        self.trips.append(
            RoundTrip(
                long=long,
                quantity=closed,
                entry_row=self.entry_row,
                exit_row=self.row,
                entry_price=entry,
                exit_price=price,
                fees=fees,
                pnl=(closed * (price - entry) if long else closed * (entry - price)) - fees,
                mae=max(adverse, 0.0) / entry,
                mfe=max(favourable, 0.0) / entry,
                reason=reason,
            )
        )

    @property
    def open_orders(self):
        """Orders that wait at the end, after the cancels that were still on their way."""
        if self.ruined_row is not None:
            return 0
        waiting = {order.id for order in self.resting}
        for _, what in self.due:
            if what is None:
                waiting = set()
            elif isinstance(what, int):
                waiting.discard(what)
            else:
                waiting.add(what.id)
        return len(waiting)
