"""The API that strategies see: the class they inherit and the names they get without importing anything."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from runtime import indicators
from runtime.bus import MessageBus
from runtime.clock import Clock
from runtime.desk import MAX_LOOKBACK, Action, Desk, OpenOrder, Request, Series, StrategyError
from runtime.model import Bar, Fill, Instrument, Order, OrderType, Position, Side, Timeframe, record

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INJECTED", "Strategy", "StrategyError", "crossed_above", "crossed_below", "param"]

Number = TypeVar("Number", int, float)

# On Python 3.11 reading a member from its enum costs as much as a function call; this is on the path of every order.
_BUY, _SELL, _CLOSE, _TARGET = Action.BUY, Action.SELL, Action.CLOSE, Action.TARGET


def param(default: Number, *, low: Number, high: Number) -> Number:
    """Declare a number that a search may turn.

    After ``window = param(40, low=10, high=120)`` in the class body, ``self.window`` is the number 40, checked.
    The bounds are read from the source text by whoever varies it; at run time only the number remains.

    >>> param(40, low=10, high=120)
    40

    Raises:
        StrategyError: not a plain finite number, or outside its own bounds.
    """
    for value in (default, low, high):
        if type(value) not in {int, float} or not math.isfinite(value):
            raise StrategyError("param-value", "param(default, low=, high=) takes plain finite numbers")
    if not low <= default <= high:
        # No message here holds a value of run time: it may be a price, and messages reach the model that wrote the code.
        raise StrategyError("param-range", "param(default, low=, high=): the default is outside its bounds")
    return default


def crossed_above(a: Series | float, b: Series | float) -> bool:
    """Whether ``a`` is above ``b`` on this bar and was not on the one before. Either may be a number; NaN is False."""
    # Written out in both functions, past the series' own method: they are called on every bar, and the first half usually decides.
    if type(a) is Series and type(b) is Series:
        try:
            if a._past[-1][a._column] > b._past[-1][b._column]:  # type: ignore[operator]  # noqa: SLF001 - numbers; see above
                return a._past[-2][a._column] <= b._past[-2][b._column]  # type: ignore[operator]  # noqa: SLF001 - same
        except IndexError:  # as NaN would
            pass
        return False
    return _last(a) > _last(b) and _last(a, -2) <= _last(b, -2)


def crossed_below(a: Series | float, b: Series | float) -> bool:
    """Whether ``a`` is below ``b`` on this bar and was not on the one before. Either may be a number; NaN is False."""
    if type(a) is Series and type(b) is Series:
        try:
            if a._past[-1][a._column] < b._past[-1][b._column]:  # type: ignore[operator]  # noqa: SLF001 - numbers; see above
                return a._past[-2][a._column] >= b._past[-2][b._column]  # type: ignore[operator]  # noqa: SLF001 - same
        except IndexError:  # as NaN would
            pass
        return False
    return _last(a) < _last(b) and _last(a, -2) >= _last(b, -2)


def _last(value: Series | float, index: int = -1) -> float:
    return value[index] if type(value) is Series else value  # type: ignore[return-value]  # a number


class _NoDesk:
    """Stands where the desk will be, until the engine has attached one. Shared by all strategies, so it holds nothing."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        raise StrategyError("not-started", "orders, state and series exist from on_start on, not in __init__")


class Strategy:
    """Base of every strategy: inherit it once, write ``on_bar(self, bar)``, ask for orders.

    A strategy only asks. Requests are judged after the hook has returned; market orders fill at the next bar's open.

    Example:
        ::

            class Cross(Strategy):
                def on_start(self):
                    self.fast = self.indicator("SMA", timeperiod=10)
                    self.slow = self.indicator("SMA", timeperiod=30)

                def on_bar(self, bar):
                    if self.flat and crossed_above(self.fast, self.slow):
                        self.buy(stop_loss=0.05)
                    elif self.long and crossed_below(self.fast, self.slow):
                        self.close()
    """

    _desk: Desk = _NoDesk()  # type: ignore[assignment]  # replaced by attach() before any hook runs

    def __init__(self, name: str, clock: Clock, bus: MessageBus, instrument: Instrument, timeframe: Timeframe) -> None:
        self.name = name
        self.clock = clock
        self.bus = bus
        self.instrument = instrument
        self.timeframe = timeframe

    # Hooks ------------------------------------------------------------------------------------------------------

    def on_start(self) -> None:
        """Once, before the first bar: declare indicators and history here."""

    def on_bar(self, bar: Bar) -> None:
        """Each closed bar from the first tradable one on; the only hook that a strategy must have."""
        raise NotImplementedError

    def on_fill(self, fill: Fill) -> None:
        """Each fill, just before the same bar's ``on_bar``."""

    def on_stop(self) -> None:
        """Once, after the last bar."""

    # Declarations -----------------------------------------------------------------------------------------------

    def indicator(self, name: str, source: str = "close", **params: float) -> Series:
        """Declare a series over any registry entry, like ``"RSI"``, ``"BBANDS.upper"`` or ``"CDLHAMMER"``.

        Raises:
            StrategyError: outside ``on_start``; unknown name, source or parameter; value out of range; or a lookback
                that needs more than 250 bars.
        """
        self._declaring("indicator")
        call = indicators.check(name, source, params)
        lookback = indicators.lookback(call.name, dict(call.params))
        if lookback + 1 > MAX_LOOKBACK:
            raise StrategyError(
                "lookback-too-long", f"{call.name} with these parameters needs more than {MAX_LOOKBACK} bars"
            )
        return self._desk.declare(call)

    def need(self, bars: int) -> None:
        """Declare that ``history`` must hold this many bars before ``on_bar`` is first called.

        Raises:
            StrategyError: outside ``on_start``, no whole number above 0, or more than 250.
        """
        self._declaring("need")
        if type(bars) is not int or bars < 1:
            raise StrategyError("need-value", "need(n) takes a whole number of bars above 0")
        if bars > MAX_LOOKBACK:
            raise StrategyError("lookback-too-long", f"need(n): at most {MAX_LOOKBACK} bars are allowed")
        self._desk.need = max(self._desk.need, bars)

    def history(self, n: int) -> list[Bar]:
        """The last ``n`` bars that exist, the current one included, newest last; at most 250.

        Raises:
            StrategyError: no whole number above 0, or more than 250.
        """
        if type(n) is not int or n < 1:
            raise StrategyError("history-value", "history(n) takes a whole number of bars above 0")
        if n > MAX_LOOKBACK:
            raise StrategyError("lookback-too-long", f"history(n): at most {MAX_LOOKBACK} bars are kept")
        past = self._desk.past
        return [past[i][0] for i in range(max(len(past) - n, 0), len(past))]

    def _declaring(self, what: str) -> None:
        if not self._desk.starting:
            raise StrategyError(
                "declare-late", f"{what}() works in on_start only: the engine sets up the history before the first bar"
            )

    # Orders -----------------------------------------------------------------------------------------------------

    def buy(  # noqa: PLR0913  # the contract's signature
        self,
        quantity: float | None = None,
        *,
        limit: float | None = None,
        stop: float | None = None,
        stop_loss: float | None = None,
        take_profit: float | None = None,
        trail: float | None = None,
        tag: str = "",
    ) -> int:
        """Ask to buy. None buys what cash allows after fees; ``limit`` and ``stop`` make the order rest until it fills.

        ``stop_loss``, ``take_profit`` and ``trail`` are fractions of the entry price and protect the whole position.
        Returns the order id.
        """
        return self._ask(_BUY, None, quantity, limit, stop, None, stop_loss, take_profit, trail, tag)

    def sell(  # noqa: PLR0913  # the contract's signature
        self,
        quantity: float | None = None,
        *,
        limit: float | None = None,
        stop: float | None = None,
        stop_loss: float | None = None,
        take_profit: float | None = None,
        trail: float | None = None,
        tag: str = "",
    ) -> int:
        """Ask to sell. None sells the position; a margin account may go short with an explicit quantity. Returns the order id."""
        return self._ask(_SELL, None, quantity, limit, stop, None, stop_loss, take_profit, trail, tag)

    def close(self, *, limit: float | None = None, stop: float | None = None, tag: str = "") -> int:
        """Ask to close the whole position, long or short. Returns the order id."""
        return self._ask(_CLOSE, None, None, limit, stop, None, None, None, None, tag)

    def target(  # noqa: PLR0913  # the contract's signature
        self,
        weight: float,
        *,
        limit: float | None = None,
        stop: float | None = None,
        stop_loss: float | None = None,
        take_profit: float | None = None,
        trail: float | None = None,
        tag: str = "",
    ) -> int:
        """Ask for a position worth ``weight`` of equity, fee included, sized at the fill; cancels resting entries and earlier targets.

        Cash accounts take 0 to 1; margin accounts take negative weights too. Returns the order id.
        """
        return self._ask(_TARGET, None, weight, limit, stop, None, stop_loss, take_profit, trail, tag)

    def submit(self, order: Order) -> int:
        """Ask for an order in its general form. Returns the order id."""
        if type(order) is not Order:
            return self._ask(None, None, None, None, None, None, None, None, None, "")
        action = Action.BUY if order.side is Side.BUY else Action.SELL if order.side is Side.SELL else None
        own = order.type is OrderType.TRAILING_STOP
        return self._ask(
            action,
            order.type,
            order.quantity,
            order.limit,
            order.stop,
            order.trail if own else None,
            order.stop_loss,
            order.take_profit,
            None if own else order.trail,
            order.tag,
        )

    def cancel(self, id: int | None = None) -> None:  # noqa: A002  # the contract's name for it
        """Ask to cancel one open order, or all of them. What has filled meanwhile stays filled."""
        self._desk.ask(Request(0, Action.CANCEL, None, id))

    def _ask(self, action: Action | None, *values: object) -> int:
        desk = self._desk
        desk.last_id += 1
        desk.ask(record(Request, (desk.last_id, action, *values)))
        return desk.last_id

    # State ------------------------------------------------------------------------------------------------------

    @property
    def flat(self) -> bool:
        """Whether nothing is held."""
        return self._desk.position == 0.0

    @property
    def long(self) -> bool:
        """Whether units are held."""
        return self._desk.position > 0.0

    @property
    def short(self) -> bool:
        """Whether units are owed."""
        return self._desk.position < 0.0

    @property
    def position(self) -> float:
        """Signed units held."""
        return self._desk.position

    @property
    def entry_price(self) -> float | None:
        """Average price of the position; None when flat."""
        return self._desk.entry_price

    @property
    def cash(self) -> float:
        """Quote currency at hand."""
        return self._desk.cash

    @property
    def equity(self) -> float:
        """Cash plus the position at the current close."""
        desk = self._desk
        bar = desk.bar
        return desk.cash if bar is None else desk.cash + desk.position * bar.close

    @property
    def bar_count(self) -> int:
        """Which call of ``on_bar`` this is, counted from 1; 0 before the first."""
        return self._desk.bar_count

    @property
    def open_orders(self) -> tuple[OpenOrder, ...]:
        """What has not filled yet, as of the current bar's close and before this bar's requests."""
        return self._desk.open_orders

    def log(self, *values: object) -> None:
        """Keep a line for people (capped in length and number)."""
        self._desk.note(" ".join(value if type(value) is str else str(value) for value in values))


def attach(strategy: Strategy, desk: Desk) -> None:
    """Seat a strategy at its desk. For hosts.

    Raises:
        StrategyError: the strategy has its own ``__init__`` that did not call ``super().__init__``.
    """
    for name in ("name", "clock", "bus", "instrument", "timeframe"):
        # Not vars(): it would give the instance a dict of its own and make every later attribute slower.
        if not hasattr(strategy, name):
            raise StrategyError(
                "init-without-super", "__init__ must call super().__init__(name, clock, bus, instrument, timeframe)"
            )
    strategy._desk = desk  # noqa: SLF001  # seating is the engine's side of the class


INJECTED: Mapping[str, object] = MappingProxyType(
    {
        "Strategy": Strategy,
        "Bar": Bar,
        "Order": Order,
        "OrderType": OrderType,
        "Side": Side,
        "Fill": Fill,
        "Position": Position,
        "Clock": Clock,
        "MessageBus": MessageBus,
        "Instrument": Instrument,
        "Timeframe": Timeframe,
        "param": param,
        "crossed_above": crossed_above,
        "crossed_below": crossed_below,
    }
)
"""The names that every strategy gets without an import."""
