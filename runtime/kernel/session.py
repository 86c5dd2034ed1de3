"""One bar through one strategy: the session that a backtest and a live clock share.

A session owns the venue and the books. It hands each closed bar to a ``StrategyHost`` and gets requests back. It goes
bar by bar and keeps nothing of the future, so any way of cutting a series into chunks gives the same result.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from runtime.desk import Action
from runtime.kernel.equity import mark
from runtime.kernel.report import Failure, OrderEntry, RunEnd, RunReport
from runtime.kernel.tickets import Cancel, OrderRefused, Ticket, canonical, judge
from runtime.kernel.venue import Venue
from runtime.model import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from runtime.desk import IndicatorCall, Moment, OpenOrder, Request
    from runtime.kernel.report import RunConfig
    from runtime.model import Bar, Fill, Instrument


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """How much one strategy may ask for and say."""

    orders_per_bar: int = 100
    """Requests of one bar; more end the run as flooded. A grid of orders fits; a loop that forgot to stop does not."""
    orders_per_run: int = 50_000
    open_orders: int = 200
    """Orders that may wait at once; more are refused. Every bar is matched against every one of them."""
    log_lines: int = 200
    log_chars: int = 500
    """Per line."""


class Declaration(NamedTuple):
    """What a strategy declared in ``on_start``."""

    calls: tuple[IndicatorCall, ...]
    need: int
    early_orders: int
    """Orders asked for in ``on_start``; they are refused."""


class Account(NamedTuple):
    """The copy of the books that a strategy may see."""

    cash: float
    position: float
    entry_price: float | None
    open_orders: tuple[OpenOrder, ...]


Glide: TypeAlias = "tuple[Moment | None, Sequence[Request] | Failure]"
"""How far a host went by itself: the last bar that it took (None when there was none), and what was asked for on it."""


class StrategyHost(Protocol):
    """Where a strategy lives: in this process, or in another one behind a pipe.

    Calls come in order: ``start``, ``warm_up`` (any number of times), ``decide`` or ``glide`` for each bar, ``stop``. A host never
    raises for the strategy's sake: a ``Failure`` is the answer then, and only ``log`` is read afterwards. One host
    serves one run; not thread-safe.
    """

    def start(self) -> Declaration | Failure:
        """Load the strategy and run ``on_start``."""

    def warm_up(self, moments: Sequence[Moment]) -> None:
        """Show bars (with the values of the declared series) on which nothing is decided."""

    def decide(self, moment: Moment, account: Account | None, fills: Sequence[Fill]) -> Sequence[Request] | Failure:
        """Run ``on_fill`` for each fill, then ``on_bar``.

        ``account`` is None when nothing changed since the last call. What comes back are well-formed requests,
        numbered from 1 without the cancels; their values may be anything.
        """

    def glide(self, moments: Iterator[Moment]) -> Glide:
        """Do what ``decide`` does for bar after bar on which nothing is new, up to the first on which something is asked.

        Takes no moment beyond that one. A loop over ``decide(moment, None, ())`` is a correct implementation.
        """

    def stop(self) -> Failure | None:
        """Run ``on_stop``."""

    @property
    def dropped(self) -> int:
        """Requests beyond what the host was willing to carry."""

    @property
    def log(self) -> Sequence[str]:
        """What the strategy logged so far."""


# On Python 3.11 reading a member from its enum costs as much as a function call; this is on the path of every order.
_CANCEL = Action.CANCEL


_Due: TypeAlias = "tuple[int, Ticket | Cancel]"
"""A request on its way to the venue, and the row at whose open it takes effect. Bare: made for every order."""


class Session:
    """One run in progress.

    Args:
        host: the strategy's place.
        config: how the run is made.
        instrument: what is traded.
        limits: caps on what a strategy may ask for.
    """

    def __init__(self, host: StrategyHost, config: RunConfig, instrument: Instrument, limits: RunLimits) -> None:
        self.venue = Venue(config, instrument)
        self.end: RunEnd | None = None
        self.failure: Failure | None = None
        self.first_tradable_bar: int | None = None
        self._host = host
        self._config = config
        self._instrument = instrument
        self._limits = limits
        self._pending: deque[_Due] = deque()
        self._log: list[OrderEntry] = []
        self._asked = 0
        self._orders = 0
        self._rows = 0
        self._last: Bar | None = None
        self._early_orders = 0
        self._disturbing: Moment | None = None

    def start(self) -> Declaration | None:
        """Start the strategy; gives its declarations, or None when it failed (``finish`` then reports why)."""
        declared = self._host.start()
        if isinstance(declared, Failure):
            self._fail(declared)
            return None
        self._early_orders = declared.early_orders
        return declared

    def warm_up(self, bars: Sequence[Bar], values: Sequence[Sequence[float]]) -> None:
        """Take bars before the first tradable one. ``values``: one sequence per declared series, as long as ``bars``."""
        if self.end is None and bars:
            self._host.warm_up(list(zip(bars, repeat(0, len(bars)), *values, strict=True)))
            self.skip(bars)

    def skip(self, bars: Sequence[Bar]) -> None:
        """``warm_up`` for a host that remembers nothing of it."""
        if self.end is None and bars:
            self._refuse_early(bars[0])
            self._rows += len(bars)
            self._last = bars[-1]

    def advance(self, bars: Sequence[Bar], values: Sequence[Sequence[float]]) -> None:
        """Take tradable bars. ``values``: one sequence per declared series, as long as ``bars``."""
        if self.end is None and bars:
            self._refuse_early(bars[0])
            if self.first_tradable_bar is None:
                self.first_tradable_bar = self._rows
            numbers = range(
                self._rows - self.first_tradable_bar + 1, self._rows - self.first_tradable_bar + 1 + len(bars)
            )
            self._loop(zip(bars, numbers, *values, strict=True), bars)

    def _loop(self, moments: Iterator[Moment], bars: Sequence[Bar]) -> None:
        # While nothing waits at the venue and the strategy knows the latest, the host goes on by itself: over everything
        # while flat, over the bars that leave the position alone while holding. This is the hot path of a search.
        venue, first = self.venue, self._rows
        while self.end is None:
            if venue.resting or self._pending or venue.changed:
                moment = next(moments, None)
                if moment is None:
                    return
                self._step(moment)
            elif not venue.books.position:
                if not self._glide(moments):
                    return
            elif venue.is_undisturbed:
                row = self._rows
                if not self._glide(moments):
                    return
                venue.watch(bars[row - first : self._rows - first])
            else:
                went = self._hold(moments)
                if self._disturbing is not None:
                    self._step(self._disturbing)
                elif not went:
                    return

    def _glide(self, moments: Iterator[Moment]) -> bool:
        last, requests = self._host.glide(moments)
        if last is None:
            return False
        self._arrive(last, requests)
        return True

    def _hold(self, moments: Iterator[Moment]) -> bool:
        self._disturbing = None
        return self._glide(self._undisturbed(moments))

    def _undisturbed(self, moments: Iterator[Moment]) -> Iterator[Moment]:
        """Bars that leave the position alone, up to the first one that does not."""
        hold, quiet = self.venue.hold, self.venue.unseen
        low, high = quiet()
        for moment in moments:
            bar = moment[0]
            # Most bars are no extreme of the position: compared here, because a call per bar costs more than the rest.
            if not (low <= bar[3] and bar[2] <= high):
                if not hold(bar):
                    self._disturbing = moment
                    return
                low, high = quiet()
            yield moment

    def _step(self, moment: Moment) -> None:
        """A bar on which the venue may act."""
        bar, venue = moment[0], self.venue
        fills = self._trade(self._rows, bar)
        if venue.ruined:
            self.end = RunEnd.FINISHED
            self._rows += 1
            return
        account, venue.changed = self._account() if venue.changed else None, False
        self._arrive(moment, self._host.decide(moment, account, fills))

    def _arrive(self, moment: Moment, requests: Sequence[Request] | Failure) -> None:
        """Take note of how far the strategy is and what it asked for there."""
        bar, count = moment[0], moment[1]
        self._last = bar
        self._rows = (self.first_tradable_bar or 0) + count
        if requests:
            self._take(requests, self._rows - 1, bar)

    def _trade(self, row: int, bar: Bar) -> Sequence[Fill]:
        """Let the venue have a bar; gives the new fills."""
        venue = self.venue
        known = len(venue.fills)
        last_close = bar.open if self._last is None else self._last.close
        pending = self._pending
        while pending and pending[0][0] <= row:
            venue.activate(pending.popleft()[1], bar, last_close)
        if venue.resting or venue.market or venue.books.position:
            venue.trade(row, bar)
        return venue.fills[known:]

    def _account(self) -> Account:
        books = self.venue.books
        seen: tuple[OpenOrder, ...] = ()
        if self.venue.resting or self._pending:
            waiting = [*self.venue.resting, *(order for _, order in self._pending if isinstance(order, Ticket))]
            seen = tuple(ticket.seen() for ticket in waiting)
        return record(Account, (books.cash, books.position, books.entry_price if books.position else None, seen))

    def _take(self, requests: Sequence[Request] | Failure, row: int, bar: Bar) -> None:
        if isinstance(requests, Failure):
            self._fail(requests)
            return
        self._asked += len(requests)
        limits = self._limits
        if self._host.dropped or len(requests) > limits.orders_per_bar or self._asked > limits.orders_per_run:
            self.end = RunEnd.FLOODED
            return
        due = row + 1 + self._config.decision_delay
        venue, pending, most = self.venue, self._pending, limits.open_orders
        for asked in requests:
            request = self._numbered(asked)
            try:
                order = judge(request, self._config, self._instrument)
                if len(venue.resting) + len(pending) >= most and type(order) is Ticket:
                    raise OrderRefused(f"too many open orders: at most {most} may wait")  # noqa: TRY301 - as if judge did
                pending.append((due, order))
                venue.changed = True
            except OrderRefused as refusal:
                venue.refuse(bar, str(refusal), request.id)
            # At once, not when the run is over: a text is less for the garbage collector to walk over than a request.
            self._log.append(record(OrderEntry, (row, canonical(request))))

    def _numbered(self, request: Request) -> Request:
        """The request under its own number: what a host says about that is checked, not believed."""
        if request.action is _CANCEL:
            return request
        self._orders += 1
        if type(request.id) is int and request.id == self._orders:
            return request
        return request._replace(id=self._orders)

    def _refuse_early(self, bar: Bar) -> None:
        for _ in range(self._early_orders):
            self.venue.refuse(bar, "orders from on_start are refused: ask in on_bar", 0)
        self._early_orders = 0

    def _fail(self, failure: Failure) -> None:
        self.end, self.failure = RunEnd.FAILED, failure

    @property
    def on_the_way(self) -> tuple[Ticket | Cancel, ...]:
        """Checked requests that the venue has not seen yet, in order."""
        return tuple(order for _, order in self._pending)

    def finish(self, close: NDArray[np.float64]) -> RunReport:
        """End the run and report it.

        Args:
            close: closes of all bars of the run, shape ``(n_bars,)``; equity is marked on them.
        """
        if self.end is None:
            self.end = RunEnd.FINISHED
        if self.end is RunEnd.FINISHED:
            failure = self._host.stop()
            if failure is not None:
                self._fail(failure)
        curve = mark(self.venue.marks, close, self._config.cash)
        return RunReport(
            end=self.end,
            failure=self.failure,
            first_tradable_bar=self.first_tradable_bar,
            equity=curve.equity,
            position=curve.position,
            fills=tuple(self.venue.fills),
            trades=tuple(self.venue.trades),
            refused=tuple(self.venue.refused),
            refused_count=self.venue.refused_count,
            open_orders=self._still_open(),
            order_log=tuple(self._log),
            log=tuple(self._host.log),
            ruined=self.venue.ruined,
            last_row=self._rows - 1 if self._rows else None,
        )

    def _still_open(self) -> int:
        """Orders that never filled, after the cancels that were still on their way."""
        if self.venue.ruined:
            return 0
        waiting = {ticket.id for ticket in self.venue.resting}
        for _, order in self._pending:
            if isinstance(order, Ticket):
                waiting.add(order.id)
            elif order.id is None:
                waiting.clear()
            else:
                waiting.discard(order.id)
        return len(waiting)
