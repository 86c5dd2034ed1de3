"""The host for a strategy in this process: a caged child in the search, a test, or our own buy and hold."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from runtime.bus import MessageBus
from runtime.clock import Clock
from runtime.desk import Desk, Request, StrategyError, printable
from runtime.kernel.report import Failure
from runtime.kernel.session import Account, Declaration, Glide, RunLimits
from runtime.strategy import Strategy, attach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from runtime.desk import Moment
    from runtime.model import Bar, Fill, Instrument, Timeframe

CANDIDATE_FILE = "<candidate>"
"""File name under which candidate source is compiled; lines of failures are found by it."""

_BUILTIN_EXCEPTIONS = frozenset(
    value for value in vars(builtins).values() if isinstance(value, type) and issubclass(value, BaseException)
)

_MAX_MESSAGE = 500


class LocalHost:
    """Runs a strategy class directly. Implements ``StrategyHost``; whatever the strategy raises becomes a ``Failure``."""

    def __init__(
        self,
        strategy_class: type[Strategy],
        instrument: Instrument,
        timeframe: Timeframe,
        limits: RunLimits,
    ) -> None:
        self._class = strategy_class
        self._instrument = instrument
        self._timeframe = timeframe
        self.desk = Desk(
            step_s=timeframe.seconds,
            max_requests=limits.orders_per_bar + 1,
            max_log_lines=limits.log_lines,
            max_log_chars=limits.log_chars,
        )
        self._strategy: Strategy
        self._on_bar: Callable[[Bar], object]

    def start(self) -> Declaration | Failure:
        """Construct the strategy, seat it, run ``on_start``."""
        desk, hook = self.desk, "__init__"
        try:
            self._strategy = self._class(
                name=self._class.__name__,
                clock=Clock(desk),
                bus=MessageBus(),
                instrument=self._instrument,
                timeframe=self._timeframe,
            )
            attach(self._strategy, desk)
            hook = "on_start"
            desk.starting = True
            self._strategy.on_start()
            self._on_bar = self._strategy.on_bar
        except BaseException as error:  # noqa: BLE001  # a candidate may raise anything, SystemExit too
            return failure_of(hook, error)
        finally:
            desk.starting = False
        early, desk.outbox = len(desk.outbox) + desk.dropped, []
        desk.dropped = desk.last_id = 0
        return Declaration(tuple(desk.calls), desk.need, early)

    def warm_up(self, moments: Sequence[Moment]) -> None:
        """Fill history and series."""
        self.desk.past.extend(moments)

    def decide(self, moment: Moment, account: Account | None, fills: Sequence[Fill]) -> Sequence[Request] | Failure:
        """Lay out the bar, run ``on_fill`` and ``on_bar``, collect the outbox."""
        desk = self.desk
        desk.past.append(moment)
        if account is not None:
            desk.cash, desk.position, desk.entry_price, desk.open_orders = account
        failure = self._tell(fills) if fills else None
        if failure is not None:
            return failure
        try:
            self._on_bar(moment[0])
        except BaseException as error:  # noqa: BLE001  # a candidate may raise anything, SystemExit too
            return failure_of("on_bar", error)
        return self._collect() if desk.outbox else ()

    def glide(self, moments: Iterator[Moment]) -> Glide:
        """Run ``on_bar`` on bar after bar until something is asked for."""
        desk, on_bar = self.desk, self._on_bar
        keep = desk.past.append
        moment = None
        try:
            for moment in moments:  # the last one is wanted after the loop
                keep(moment)
                on_bar(moment[0])
                if desk.outbox:
                    return moment, self._collect()
        except BaseException as error:  # noqa: BLE001  # a candidate may raise anything, SystemExit too
            return moment, failure_of("on_bar", error)
        return moment, ()

    def _tell(self, fills: Sequence[Fill]) -> Failure | None:
        try:
            for fill in fills:
                self._strategy.on_fill(fill)
        except BaseException as error:  # noqa: BLE001  # a candidate may raise anything, SystemExit too
            return failure_of("on_fill", error)
        return None

    def _collect(self) -> list[Request]:
        # A candidate can reach its own outbox; only what is a request leaves it.
        requests = [request for request in self.desk.outbox if type(request) is Request]
        self.desk.outbox = []
        return requests

    def stop(self) -> Failure | None:
        """Run ``on_stop``; what it asks for is dropped, there is no bar left to trade on."""
        try:
            self._strategy.on_stop()
        except BaseException as error:  # noqa: BLE001  # a candidate may raise anything, SystemExit too
            return failure_of("on_stop", error)
        return None

    @property
    def dropped(self) -> int:
        """Requests beyond the cap of one bar."""
        return self.desk.dropped

    @property
    def log(self) -> Sequence[str]:
        """Lines logged so far."""
        return tuple(self.desk.log)


def failure_of(hook: str, error: BaseException) -> Failure:
    """Describe what a strategy raised without a word of its own: nearest builtin type, line, our message.

    ``StrategyError`` is ours, so its rule and text stand; they are escaped and capped all the same.
    """
    line = _line_in_candidate(error)
    if type(error) is StrategyError:
        rule, text = str(vars(error).get("rule", "")), str(vars(error).get("message", ""))
        return Failure(hook=hook, exception=printable(rule)[:64], line=line, message=printable(text)[:_MAX_MESSAGE])
    name = next(kind.__name__ for kind in type.mro(type(error)) if kind in _BUILTIN_EXCEPTIONS)
    where = f" at line {line}" if line is not None else ""
    return Failure(hook=hook, exception=name, line=line, message=f"{hook} raised {name}{where}")


def _line_in_candidate(error: BaseException) -> int | None:
    # Read through the base class: a candidate's exception may carry an attribute of that name.
    trace: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(error)
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == CANDIDATE_FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
