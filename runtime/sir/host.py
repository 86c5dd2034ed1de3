"""A program as a strategy that the kernel's session drives: the same path for backtest and paper.

There is nothing to cage here: a program is data, and every value in it was judged by the compiler. What fires on a bar comes from a
``Source``, so that one set of desk rules serves both adapters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from runtime.desk import Action, Request
from runtime.kernel.session import Account, Declaration, Glide
from runtime.model import OrderType
from runtime.sir.rules import holds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runtime.desk import Moment
    from runtime.kernel.report import Failure
    from runtime.model import Fill, Timeframe
    from runtime.sir.program import Program

_CLOSE = Request(0, Action.CLOSE)
_CANCEL = Request(0, Action.CANCEL)


class Fired(NamedTuple):
    """Which rules hold on a bar."""

    enter: bool
    leave: bool


class Source(Protocol):
    """Says which rules hold. Asked once for each bar, in order, and only for bars on which it matters."""

    def at(self, now: Moment, before: Moment) -> Fired:
        """The rules on bar ``now``; ``before`` is the one before it."""


class RuleSource:
    """Evaluates the rules on the bar itself."""

    def __init__(self, program: Program) -> None:
        self._enter, self._leave, self._zone = program.enter, program.leave, program.zone

    def at(self, now: Moment, before: Moment) -> Fired:
        """Both lists of groups; the exit's even while flat, which costs little and keeps this free of state."""
        return Fired(holds(self._enter, now, before, self._zone), holds(self._leave, now, before, self._zone))


class ProgramHost:
    """Implements ``StrategyHost``. One per run."""

    def __init__(self, program: Program, timeframe: Timeframe, source: Source | None = None) -> None:
        self._program = program
        self._source: Source = RuleSource(program) if source is None else source
        self._desk = DeskRules(program, timeframe)
        self._before: Moment | None = None

    def start(self) -> Declaration:
        """Declare the program's series."""
        return Declaration(self._program.calls, self._program.need, 0)

    def warm_up(self, moments: Sequence[Moment]) -> None:
        """Remember the last bar: a crossing needs it."""
        if moments:
            self._before = moments[-1]
            self._desk.rest(self._before)

    def decide(self, moment: Moment, account: Account | None, fills: Sequence[Fill]) -> Sequence[Request]:  # noqa: ARG002 - the protocol's
        """One bar on which something may be new. Fills show in the account."""
        self._desk.update(moment, account)
        return self._ask(moment)

    def glide(self, moments: Iterator[Moment]) -> Glide:
        """Bar after bar, until something is asked for."""
        moment = None
        for moment in moments:  # the last one is wanted after the loop
            requests = self._ask(moment)
            if requests:
                return moment, requests
        return moment, ()

    def _ask(self, moment: Moment) -> Sequence[Request]:
        # The very first bar stands before itself: what compares two bars cannot hold there, and everything else can.
        before, self._before = self._before or moment, moment
        return self._desk.ask(moment, self._source.at(moment, before))

    def stop(self) -> Failure | None:
        """Nothing to do."""
        return None

    @property
    def dropped(self) -> int:
        """None ever: at most one request a bar."""
        return 0

    @property
    def log(self) -> Sequence[str]:
        """A program says nothing."""
        return ()


def sells(entry: Request) -> bool:
    """Whether the entry opens a short position."""
    weight = entry.quantity
    return entry.action is Action.SELL or (entry.action is Action.TARGET and isinstance(weight, float) and weight < 0.0)


class DeskRules:
    """The rules of the desk (``runtime.sir.program``) and what they need to remember."""

    def __init__(self, program: Program, timeframe: Timeframe) -> None:
        self._program = program
        self._step = timeframe.seconds // 60
        self._account = Account(0.0, 0.0, None, ())
        self._ids = 0
        self._entered_count = 0
        self._entered_day = 0
        self._day = -1
        self._traded = 0
        self._lost = False
        self._day_equity: float | None = None
        self._equity: float | None = None
        self._sells = sells(program.entry)

    def rest(self, moment: Moment) -> None:
        """A bar on which nothing is decided."""
        if self._program.watches_days:
            self._day = self._program.zone.day(moment[0].ts)

    def update(self, moment: Moment, account: Account | None) -> None:
        """What changed in the books since the bar before."""
        was_flat = not self._account.position
        if account is not None:
            self._account = account
        if was_flat and self._account.position:
            self._entered_count = moment[1]
            self._entered_day = self._program.zone.day(moment[0].ts)

    def ask(self, moment: Moment, fired: Fired) -> Sequence[Request]:
        """What is asked for on this bar: nothing, or one thing."""
        if self._program.watches_days:
            self._watch_day(moment)
        account = self._account
        if account.position:
            return self._numbered(_CLOSE) if not account.open_orders and self._leaves(moment, fired) else ()
        if account.open_orders:
            return self._keep_waiting(moment, fired)
        if not (fired.enter and not self._lost and self._may_enter(moment)):
            return ()
        self._traded += 1
        return self._numbered(self._priced(moment))

    def _keep_waiting(self, moment: Moment, fired: Fired) -> Sequence[Request]:
        if self._program.offset is None or (fired.enter and not self._lost and self._in_hours(moment)):
            return ()
        return (_CANCEL,)

    def _numbered(self, request: Request) -> Sequence[Request]:
        self._ids += 1
        return (request._replace(id=self._ids),)

    def _priced(self, moment: Moment) -> Request:
        """The entry with what depends on the price."""
        program, entry, close = self._program, self._program.entry, moment[0].close
        if program.points is not None:
            shares = {name: value / close for name, value in program.points._asdict().items() if value is not None}
            entry = entry._replace(**shares)
        if program.offset is None:
            return entry
        price = close * (1.0 + program.offset if self._sells else 1.0 - program.offset)
        return entry._replace(limit=price) if entry.type is OrderType.LIMIT else entry._replace(stop=price)

    # The clock --------------------------------------------------------------------------------------------------

    def _in_hours(self, moment: Moment) -> bool:
        program = self._program
        if program.hours is None:
            return True
        first, end = program.hours
        minute = program.zone.minute(moment[0].ts)
        if program.squares_off:
            return minute >= first and not self._is_last_chance(moment, end)
        return minute >= first and minute + self._step <= end

    def _is_last_chance(self, moment: Moment, end: int) -> bool:
        """Whether an order of this bar fills on the last bar of the hours, or later."""
        return self._program.zone.minute(moment[0].ts) + 2 * self._step >= end

    def _may_enter(self, moment: Moment) -> bool:
        most = self._program.trades_per_day
        return (most is None or self._traded < most) and self._in_hours(moment)

    def _leaves(self, moment: Moment, fired: Fired) -> bool:
        program = self._program
        if fired.leave or self._lost:
            return True
        if program.time_stop is not None and moment[1] - self._entered_count + 1 >= program.time_stop:
            return True
        if not program.squares_off or program.hours is None:
            return False
        # The second part is for days that end early: better late than never.
        return self._is_last_chance(moment, program.hours.end) or program.zone.day(moment[0].ts) != self._entered_day

    def _watch_day(self, moment: Moment) -> None:
        """Find out whether the day's loss is reached; start a new day where one begins."""
        program, bar = self._program, moment[0]
        day = program.zone.day(bar.ts)
        if day != self._day:
            self._day, self._traded, self._day_equity = day, 0, self._equity
        self._equity = self._account.cash + self._account.position * bar.close
        begun = self._equity if self._day_equity is None else self._day_equity
        self._day_equity = begun
        lost = begun - self._equity
        self._lost = (program.loss_amount is not None and lost >= program.loss_amount) or (
            program.loss_share is not None and lost >= program.loss_share * begun
        )
