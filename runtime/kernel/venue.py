"""One bar at the venue: which of the waiting orders and exits fill, and in which order.

The order of things inside a bar is part of the contract with strategies:

1. The open. Exits of the position that the open is already through; then sells (resting ones that are through, then
   market orders), so that their cash is free; then buys; each in order of submission.
2. Inside the bar. Exits on the adverse side (stop loss, trail, margin, ruin, the strategy's own stops) before those on
   the favourable side (take profit, limits) before entries. A position entered inside the bar can leave on the same
   bar only where the bar proves it (``matching.Path``); in doubt the stop wins.
3. The close. Borrow fee, ruin by the mark, then trailing levels move: they never use the bar they are tested on.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING

from runtime.desk import Action
from runtime.kernel.costs import ceil_to, fee_of, fee_within, floor_to, slipped
from runtime.kernel.exits import (
    ALWAYS_QUIET,
    NEVER_QUIET,
    QuietRange,
    adverse_exits,
    profit_level,
    quiet_range,
    trailed,
)
from runtime.kernel.matching import Hit, Path, Reach, at_open, inside, is_protective, reach_of, snap, trail, trigger_of
from runtime.kernel.portfolio import Mark, Portfolio
from runtime.kernel.report import Refusal, Trade
from runtime.kernel.sizing import Sizer
from runtime.kernel.tickets import Cancel, OrderRefused, Ticket
from runtime.model import Fill, OrderType, Side, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.kernel.report import RunConfig
    from runtime.model import Bar, Instrument

# Order id of fills that nobody asked for: ruin and margin.
ENGINE_ORDER = 0

# On Python 3.11 reading a member from its enum costs as much as a function call.
_BUY, _SELL = Side.BUY, Side.SELL
_SELLS_FIRST = (_SELL, _BUY)
_TARGET, _CLOSE = Action.TARGET, Action.CLOSE
_MARKET = OrderType.MARKET

_high_of, _low_of = itemgetter(2), itemgetter(3)

# Refusals kept with their reasons; all are counted.
MAX_REFUSALS = 100


class Venue:
    """Waiting orders, the books, and what happened. Owned by one session; bars go in one at a time.

    A bar goes to ``trade``; while nothing waits it may go to ``hold`` first, which is cheaper and says whether that was enough.
    """

    def __init__(self, config: RunConfig, instrument: Instrument) -> None:
        self.books = Portfolio(config.cash)
        self.resting: list[Ticket] = []
        self.market: list[Ticket] = []
        self.fills: list[Fill] = []
        self.trades: list[Trade] = []
        self.marks: list[Mark] = [(0, config.cash, 0.0)]
        self.refused: list[Refusal] = []
        self.refused_count = 0
        self.ruined = False
        self.changed = True
        """Something that a strategy can see has changed. The reader puts it back."""
        self._costs = config.costs
        self._instrument = instrument
        self._never_slips = not config.costs.slippage_bps
        self._tick = instrument.tick
        self._sizer = Sizer(config, instrument, self.books)
        self._is_cash = self._sizer.is_cash
        borrow = 0.0 if self._is_cash else instrument.borrow_bps_per_year
        self._borrow = borrow / 10_000.0 / instrument.bars_per_year
        """Share of a short position's notional that each close costs."""
        self._quiet = NEVER_QUIET
        self._reach: Reach | None = None
        """Of ``resting``; None when it has to be found anew."""
        self._row = 0
        self._bar: Bar
        self._path: Path
        self._entry: Path | None = None
        """What is certain after the last entry inside the current bar; None when there was none."""
        self._begun_inside = False
        """The position began inside the current bar, and was not just added to there."""

    # What the session calls -------------------------------------------------------------------------------------

    def activate(self, order: Ticket | Cancel, bar: Bar, last_close: float) -> None:
        """Let a request take effect at the open of ``bar``; ``last_close`` is the price known before it."""
        self.changed, self._reach = True, None
        if isinstance(order, Cancel):
            self.resting = [] if order.id is None else [t for t in self.resting if t.id != order.id]
            self.market = [] if order.id is None else [t for t in self.market if t.id != order.id]
            return
        if order.action is _TARGET and self.resting:
            self.resting = [t for t in self.resting if t.side is self._sizer.reducing_side]
        is_settled_later = order.action is _TARGET and order.type is _MARKET  # at the open, where its price is known
        if order.side is None and not is_settled_later and not self._settle_side(order, last_close):
            self.refuse(bar, "nothing to close: the position is 0", order.id)
        elif order.type is _MARKET:
            if order.action is _TARGET and self.market:
                # Of several targets at one open the last is what is wanted.
                self.market = [t for t in self.market if t.action is not _TARGET]
            self.market.append(order)
        else:
            snap(order, self._tick)
            if order.offset is not None:
                order.best = last_close
                trail(order, self._tick)
            self.resting.append(order)

    def unseen(self) -> tuple[float, float]:
        """Lowest low and highest high of a bar on which the open position, with nothing waiting, need not be looked at."""
        books, quiet = self.books, self._quiet
        if books.position <= 0.0:
            return math.inf, -math.inf
        low = books.worst if books.worst > quiet.low else math.nextafter(quiet.low, math.inf)
        high = books.best if books.best < quiet.high else math.nextafter(quiet.high, -math.inf)
        return low, high

    def hold(self, bar: Bar) -> bool:
        """Whether the open position simply goes on over this bar, given that nothing waits; if so, it has seen the bar."""
        _, _, high, low, _, _ = bar
        if not (self._quiet.low < low and high < self._quiet.high):
            return False
        books = self.books
        if high > books.best or low < books.worst or books.position < 0.0:
            books.observe(low, high)
            self._quiet = trailed(self._quiet, books, self._instrument)
        return True

    @property
    def is_undisturbed(self) -> bool:
        """Whether the position goes on over any bar while nothing waits; ``watch`` then takes many at once."""
        return self._quiet is ALWAYS_QUIET

    def watch(self, bars: Sequence[Bar]) -> None:
        """Let a position that nothing can disturb have seen these bars."""
        self.books.observe(min(map(_low_of, bars)), max(map(_high_of, bars)))

    def _quiet_range(self) -> QuietRange:
        position = self.books.position
        if not position or (self._borrow and position < 0.0):
            return NEVER_QUIET
        if self._is_cash and self.books.bracket is None:
            return ALWAYS_QUIET
        return quiet_range(self.books, self._instrument, is_cash=self._is_cash)

    def trade(self, row: int, bar: Bar) -> None:
        """Match everything that waits against one bar, then close the bar."""
        self._row, self._bar = row, bar
        self._entry, self._begun_inside = None, False
        _, open_, high, low, close, _ = bar
        marked = len(self.marks)
        if self.books.position and not self._quiet.low < open_ < self._quiet.high:
            self._leave_at_open(open_)
        touched = bool(self.resting) and self._touches(low, high)
        if (self.market or touched) and not self.ruined:
            self._open_phase(open_)
        self._quiet = self._quiet_range()
        disturbed = self.books.position and not (self._quiet.low < low and high < self._quiet.high)
        if (touched and self.resting) or disturbed:
            self._path = Path(open_, low, high, close)
            self._inside_phase()
            self._quiet = self._quiet_range()
        if not self.ruined:
            self._close_phase()
        if self.ruined:
            # Whatever is left, a ruined account is worth nothing from this bar on.
            self.marks[marked:] = [(row, 0.0, 0.0)]

    def _touches(self, low: float, high: float) -> bool:
        """Whether a bar may do something to an order that rests: with many of them a look at each costs more than all else."""
        if self._reach is None:
            self._reach = reach_of(self.resting)
        if self._reach.below < low and high < self._reach.above:
            return False
        self._reach = None
        return True

    def refuse(self, bar: Bar, reason: str, order_id: int) -> None:
        """Count a refusal; the first hundred are kept with their reasons."""
        self.changed = True
        self.refused_count += 1
        if len(self.refused) < MAX_REFUSALS:
            self.refused.append(Refusal(ts=bar.ts, reason=reason, order_id=order_id))

    # Activation -------------------------------------------------------------------------------------------------

    def _settle_side(self, order: Ticket, price: float) -> bool:
        """Give closing orders and targets their side; False when there is nothing to close."""
        if order.action is _CLOSE:
            order.side = self._sizer.reducing_side
        elif order.action is _TARGET:
            order.side = _BUY if self._sizer.target_change(order, price) >= 0.0 else _SELL
        return order.side is not None

    # The open ---------------------------------------------------------------------------------------------------

    def _open_phase(self, price: float) -> None:
        market, self.market = self.market, []
        for order in market:
            if order.action is _TARGET:
                self._settle_side(order, price)
        if len(market) == 1 and not self.resting:
            self._execute(market[0], price, slips=True)
            return
        late: list[tuple[Ticket, Hit]] = []
        for side in _SELLS_FIRST:
            if self.resting:
                late.extend(self._resting_at_open(side, price))
            for order in market:
                if order.side is side:
                    self._execute(order, price, slips=True)
        # A resting sell that came through together with the buy that it belongs to: the buy first, at the same price.
        for order, hit in late:
            self._execute(order, hit.price, slips=hit.slips)

    def _resting_at_open(self, side: Side, price: float) -> list[tuple[Ticket, Hit]]:
        """Fill what is through; gives the sells that nothing is there for yet."""
        late: list[tuple[Ticket, Hit]] = []
        for order in [order for order in self.resting if order.side is side]:
            hit, order.triggered = at_open(order, price)
            if hit is not None and self._sizer.is_uncovered(order):
                late.append((order, hit))
            elif hit is not None:
                self._execute(order, hit.price, slips=hit.slips)
        return late

    def _leave_at_open(self, price: float) -> None:
        is_long = self.books.position > 0.0
        for way in adverse_exits(self.books, self._instrument, is_cash=self._is_cash):
            if price <= way.level if is_long else price >= way.level:
                ruined = not self._is_cash and self.books.equity(price) <= 0.0
                self._leave(Hit(price, slips=True), "ruin" if ruined else way.reason)
                return
        profit = profit_level(self.books, self._instrument)
        if profit is not None and (price >= profit if is_long else price <= profit):
            self._leave(Hit(price, slips=False), "take_profit")

    # Inside the bar ---------------------------------------------------------------------------------------------

    def _inside_phase(self) -> None:
        tried: set[int] = set()
        if self.books.position:
            self._adverse_side(tried)
        if self.books.position and not self._begun_inside:
            self._favourable_side(tried)
        if self.resting and not self.ruined:
            self._entries(tried)

    def _adverse_side(self, tried: set[int]) -> None:
        """Stops against the position; the strategy's own ones before the bracket where they are nearer."""
        is_long = self.books.position > 0.0
        own = [t for t in self.resting if t.side is self._sizer.reducing_side and is_protective(t)]
        exits = adverse_exits(self.books, self._instrument, is_cash=self._is_cash)
        level = exits[0].level if exits else None
        nearer = [t for t in own if level is None or (trigger_of(t) > level if is_long else trigger_of(t) < level)]
        self._own_exits(nearer, tried)
        if not self._begun_inside:
            self._leave_adverse(self._path)
        self._own_exits([t for t in own if t not in nearer], tried)

    def _favourable_side(self, tried: set[int]) -> None:
        """Profits of the position; the strategy's own limits before the bracket where they are nearer."""
        is_long = self.books.position > 0.0
        own = [t for t in self.resting if t.side is self._sizer.reducing_side and t.id not in tried]
        level = profit_level(self.books, self._instrument)
        nearer = [t for t in own if level is None or (trigger_of(t) < level if is_long else trigger_of(t) > level)]
        self._own_exits(nearer, tried)
        if not self._begun_inside:
            self._leave_favourable(self._path)
        self._own_exits([t for t in own if t not in nearer], tried)

    def _own_exits(self, orders: list[Ticket], tried: set[int]) -> None:
        for order in orders:
            if not self.books.position or self._begun_inside:
                return
            tried.add(order.id)
            hit, order.triggered = inside(order, self._path)
            if hit is not None:
                self._enter(order, hit)

    def _leave_adverse(self, path: Path) -> None:
        if not self.books.position:
            return
        exits = adverse_exits(self.books, self._instrument, is_cash=self._is_cash)
        if not exits:
            return
        level, reason = exits[0]
        if self.books.position > 0.0 and path.low <= level:
            self._leave(Hit(min(level, path.now), slips=True), reason)
        elif self.books.position < 0.0 and path.high >= level:
            self._leave(Hit(max(level, path.now), slips=True), reason)

    def _leave_favourable(self, path: Path) -> None:
        level = profit_level(self.books, self._instrument)
        if level is None:
            return
        if self.books.position > 0.0 and path.high >= level:
            self._leave(Hit(max(level, path.now), slips=False), "take_profit")
        elif self.books.position < 0.0 and path.low <= level:
            self._leave(Hit(min(level, path.now), slips=False), "take_profit")

    def _entries(self, tried: set[int]) -> None:
        """What is left, in order of submission; a position that begins here is tested on the proven rest of the bar."""
        late: list[Ticket] = []
        for order in list(self.resting):
            if self.ruined:
                return
            if order.id in tried:
                continue
            touch = inside(order, self._path_for(order))
            if touch.hit is not None and self._sizer.is_uncovered(order):
                late.append(order)
                continue
            order.triggered = touch.triggered
            if touch.hit is not None:
                self._enter(order, touch.hit)
        for order in late:
            self._late_sell(order)

    def _path_for(self, order: Ticket) -> Path:
        """An order against a position that began inside this bar sees only what is certain after that."""
        reduces = order.side is self._sizer.reducing_side
        return self._entry if reduces and self._entry is not None else self._path

    def _late_sell(self, order: Ticket) -> None:
        """A sell that was touched with nothing to sell: it may belong to a buy of this bar, else it is refused."""
        if self._entry is None or not self.books.position:
            self._execute(order, self._bar.close, slips=False)
            return
        hit, order.triggered = inside(order, self._entry)
        if hit is not None:
            self._execute(order, hit.price, slips=hit.slips)

    def _enter(self, order: Ticket, hit: Hit) -> None:
        before = self.books.position
        self._execute(order, hit.price, slips=hit.slips)
        position = self.books.position
        same_side = (position > 0.0) is (before > 0.0)
        if position == 0.0 or (same_side and abs(position) <= abs(before)):
            return
        rest = self._path.after_rise_to(hit.price) if hit.rising else self._path.after_fall_to(hit.price)
        if self._entry is not None and before != 0.0 and same_side:
            rest = rest.within(self._entry)
        self._entry = rest
        if before == 0.0 or not same_side:
            self._begun_inside = True
        self._leave_adverse(rest)
        self._leave_favourable(rest)

    # The close --------------------------------------------------------------------------------------------------

    def _close_phase(self) -> None:
        books, bar = self.books, self._bar
        if books.position < 0.0 and self._borrow:
            books.charge(-books.position * bar.close * self._borrow)
            self.marks.append((self._row, books.cash, books.position))
            self.changed = True
        if not self._is_cash and books.equity(bar.close) <= 0.0:
            if books.position:
                self._leave(Hit(bar.close, slips=True), "ruin")
            self._ruin()
            return
        if books.position:
            if self._entry is not None and self._begun_inside:
                books.observe(self._entry.low, self._entry.high)
            else:
                books.observe(bar.low, bar.high)
            self._quiet = trailed(self._quiet, books, self._instrument)
        for order in self.resting:
            if order.offset is not None:
                best = min(order.best, bar.low) if order.side is Side.BUY else max(order.best, bar.high)
                if best != order.best:
                    order.best = best
                    trail(order, self._tick)
                    self.changed, self._reach = True, None

    # Fills ------------------------------------------------------------------------------------------------------

    def _execute(self, order: Ticket, price: float, *, slips: bool) -> None:
        """Fill an order that was hit at ``price``, or refuse it. Either way it is done."""
        self.changed = True
        if order.type is not _MARKET:
            self.resting = [t for t in self.resting if t.id != order.id]
        side = order.side
        if side is None:
            raise AssertionError(order)
        if slips and not self._never_slips:
            price = self._slipped(price, side)
        try:
            quantity = self._sizer.size(order, side, price)
        except OrderRefused as refusal:
            self.refuse(self._bar, str(refusal), order.id)
            return
        if quantity > 0.0:
            self._book(self._fill(side, quantity, price, order.tag, order.id), "signal")
        elif (order.weight or 0.0) * self.books.position <= 0.0:
            return
        # A target that is met trades nothing, and protects what is there all the same.
        if order.stop_loss is not None or order.take_profit is not None or order.trail is not None:
            self.books.protect(order)

    def _leave(self, hit: Hit, reason: str) -> None:
        """Close the whole position for a reason of its own."""
        books, bracket = self.books, self.books.bracket
        side = _SELL if books.position > 0.0 else _BUY
        order_id = ENGINE_ORDER if bracket is None or reason in {"ruin", "margin"} else bracket.order_id
        price = self._slipped(hit.price, side) if hit.slips and not self._never_slips else hit.price
        self._book(self._fill(side, abs(books.position), price, reason, order_id), reason)
        if reason == "ruin":
            self._ruin()

    def _ruin(self) -> None:
        self.ruined = self.changed = True
        self.resting, self.market = [], []

    def _slipped(self, price: float, side: Side) -> float:
        worse = slipped(self._costs, price, buying=side is _BUY)
        # Nothing trades at zero: a sale at the last tick has nowhere to slip to.
        return ceil_to(worse, self._tick) if side is _BUY else floor_to(worse, self._tick) or price

    def _fill(self, side: Side, quantity: float, price: float, tag: str, order_id: int) -> Fill:
        fee = fee_of(self._costs, quantity, price)
        if self._is_cash and side is _SELL:
            fee = fee_within(fee, self.books.cash, quantity * price)
        return record(Fill, (self._bar[0], side, quantity, price, fee, tag, order_id))

    def _book(self, fill: Fill, reason: str) -> None:
        trade = self.books.apply(self._row, fill, reason)
        if trade is not None:
            self.trades.append(trade)
        self.fills.append(fill)
        self.marks.append((self._row, self.books.cash, self.books.position))
        self.changed = True
