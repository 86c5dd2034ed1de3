"""One paper run's session: the kernel's own, fed one closed bar at a time.

What fills, at which price and with which fee is decided by the same code as in a backtest, so a run on paper cannot trade otherwise.
The driver adds what a backtest does not need: a screen between strategy and session (guards take requests out, approved plans of people
put some in), a record of each bar, and the whole state of the books as one text.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from runtime.desk import Action, Request
from runtime.kernel.backtest import first_row
from runtime.kernel.report import Failure, RunEnd
from runtime.kernel.session import Account, Declaration, Glide, RunLimits, Session
from runtime.kernel.tickets import Ticket, canonical
from runtime.longer import values
from runtime.paper.canon import encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runtime.desk import IndicatorCall, Moment, OpenOrder
    from runtime.kernel.portfolio import Mark
    from runtime.kernel.report import Refusal, RunConfig, Trade
    from runtime.kernel.session import StrategyHost
    from runtime.kernel.tickets import Cancel
    from runtime.model import Bar, Fill, Instrument


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request on its way to the venue, and what the screen made of it."""

    text: str
    """The request as it was made, exactly (``canonical``), under its maker's number."""
    number: int | None
    """Its number in the session; None when it was refused, or is a cancel."""
    plan: str | None
    """The plan of a person or model that it came from; None for the strategy's own."""
    refused: str | None
    """Why a guard took it out; None when it passed."""
    rule: str | None = None
    """The guard's rule."""


class Added(NamedTuple):
    """A request that did not come from the strategy."""

    plan: str
    request: Request
    refusal: tuple[str, str] | None = None
    """As in ``Screened``."""


class Screened(NamedTuple):
    """A screen's verdict on the requests of one bar."""

    refusals: Sequence[tuple[str, str] | None]
    """For each request of the strategy: rule and reason, or None when it passes."""
    added: Sequence[Added] = ()
    """What is to be done besides."""


class Scene(NamedTuple):
    """What a screen may know on one bar, after its close."""

    bar: Bar
    account: Account
    requests: Sequence[Request]


class Screen(Protocol):
    """Stands between strategy and session."""

    def judge(self, scene: Scene) -> Screened:
        """Judge the requests of one bar. Called for each bar on which the strategy lives, also when it asks for nothing."""


class Step(NamedTuple):
    """What one bar brought."""

    row: int
    bar: Bar
    asked: tuple[Asked, ...]
    fills: tuple[Fill, ...]
    refused: tuple[Refusal, ...]
    marks: tuple[Mark, ...]
    trades: tuple[Trade, ...]
    """Round trips that ended."""
    open_orders: frozenset[int]
    """Numbers of the orders that wait after it."""
    state: str
    """The books after the bar, with every digit."""


class Driver:
    """A run in progress.

    Args:
        host: where the strategy lives; not started yet.
        config: cash, costs and account; its ``start`` is set by the bars given to ``start``.
        instrument: what is traded.
        limits: caps on what a strategy may ask for; the host's too.
    """

    def __init__(self, host: StrategyHost, config: RunConfig, instrument: Instrument, limits: RunLimits) -> None:
        self._host = _ScreenedHost(host)
        self._config = config
        self._session = Session(self._host, config, instrument, limits)
        self._series = _Series(())
        self._first = 0
        self._rows = 0
        self._seen = (0, 1, 0)

    @property
    def end(self) -> RunEnd | None:
        """How the strategy ended the run; None while it goes on."""
        return self._session.end

    @property
    def failure(self) -> Failure | None:
        """What the strategy raised, or how its process ended."""
        return self._session.failure

    @property
    def ruined(self) -> bool:
        """Whether the account is worth nothing any more."""
        return self._session.venue.ruined

    @property
    def rows(self) -> int:
        """Bars so far, warm-up included."""
        return self._rows

    @property
    def equity(self) -> float | None:
        """At the last close; None before the first bar."""
        last = self._series.last_close
        return None if last is None else self._session.venue.books.equity(last)

    @property
    def position(self) -> float:
        """Signed units held."""
        return self._session.venue.books.position

    def start(self, warm: Sequence[Bar], known: Sequence[Bar] = ()) -> None:
        """Start the strategy and show it the bars before the run.

        Args:
            warm: bars on which nothing is traded.
            known: bars that will follow for certain, in order: their indicators are computed at once. The values are those of
                computing them one by one, since every indicator of the registry is causal bit for bit.
        """
        declared = self._session.start()
        if not isinstance(declared, Declaration):
            return
        self._first = first_row(declared, replace(self._config, start=len(warm)))
        self._series = _Series(declared.calls)
        self._series.foresee([*warm, *known])
        self._session.warm_up(warm, self._series.take(len(warm)))
        self._rows = len(warm)

    def take(self, bar: Bar, screen: Screen) -> Step:
        """Take the next closed bar."""
        session, row = self._session, self._rows
        self._series.extend([bar])
        values = self._series.take(1)
        self._host.screen = screen
        if row < self._first:
            session.warm_up([bar], values)
        else:
            session.advance([bar], values)
        self._rows += 1
        venue = session.venue
        fills, marks, trades = self._seen
        self._seen = (len(venue.fills), len(venue.marks), len(venue.trades))
        refused, asked = tuple(venue.refused), tuple(self._host.asked)
        # The venue keeps a hundred with their reasons; read and cleared bar by bar, all have theirs.
        venue.refused.clear()
        self._host.asked.clear()
        waiting = (order.id for order in (*venue.resting, *session.on_the_way) if isinstance(order, Ticket))
        return Step(
            row=row,
            bar=bar,
            asked=asked,
            fills=tuple(venue.fills[fills:]),
            refused=refused,
            marks=tuple(venue.marks[marks:]),
            trades=tuple(venue.trades[trades:]),
            open_orders=frozenset(waiting),
            state=self.state(),
        )

    def state(self) -> str:
        """The books and all that waits, as one text: equal texts are equal runs."""
        venue, books = self._session.venue, self._session.venue.books
        return encode(
            {
                "rows": self._rows,
                "cash": books.cash,
                "position": books.position,
                "entry": [books.entry_price, books.entry_row, books.best, books.worst],
                "bracket": None if books.bracket is None else list(astuple(books.bracket)),
                "fills": len(venue.fills),
                "trades": len(venue.trades),
                "refused": venue.refused_count,
                "ruined": venue.ruined,
                "resting": [_waiting(order) for order in venue.resting],
                "pending": [_waiting(order) for order in self._session.on_the_way],
                "numbers": self._host.numbers,
            }
        )

    @property
    def account(self) -> Account:
        """The books as the strategy may see them, after the last bar."""
        books = self._session.venue.books
        return Account(books.cash, books.position, books.entry_price if books.position else None, ())

    def finish(self) -> tuple[str, ...]:
        """Run ``on_stop`` and give the strategy's log."""
        if self._session.end is None:
            self._host.stop()
        return tuple(self._host.log)


class _Series:
    """Values of the declared series, bar by bar."""

    def __init__(self, calls: Sequence[IndicatorCall]) -> None:
        self._calls = calls
        self._stamps: list[int] = []
        self._columns: list[list[float]] = [[], [], [], [], []]
        self._values: list[list[float]] = [[] for _ in calls]
        self._taken = 0

    @property
    def last_close(self) -> float | None:
        return self._columns[3][self._taken - 1] if self._taken else None

    def foresee(self, bars: Sequence[Bar]) -> None:
        """Bars that are all known already."""
        for bar in bars:
            self._stamps.append(int(bar.ts.timestamp()))
            for column, value in zip(self._columns, bar[1:], strict=True):
                column.append(value)
        if bars and self._calls:
            names = ("open", "high", "low", "close", "volume")
            prices = {name: np.array(column) for name, column in zip(names, self._columns, strict=True)}
            stamps = np.array(self._stamps, dtype=np.int64)
            self._values = [values(call, stamps, prices).tolist() for call in self._calls]

    def extend(self, bars: Sequence[Bar]) -> None:
        """The next bars to be taken, unless they were foreseen."""
        if len(self._columns[0]) < self._taken + len(bars):
            self.foresee(bars)

    def take(self, count: int) -> list[list[float]]:
        """The values of the next ``count`` bars, one list per series."""
        start, self._taken = self._taken, self._taken + count
        return [values[start : self._taken] for values in self._values]


class _ScreenedHost:
    """The strategy's host, with the screen's verdict on what it asks for. Implements ``StrategyHost``.

    The strategy numbers its own orders. What is refused or added would shift the session's numbers against them, so both ways are
    translated here: a cancel, an open order and a fill mean the same order on both sides.
    """

    def __init__(self, host: StrategyHost) -> None:
        self._host = host
        self.screen: Screen
        self.asked: list[Asked] = []
        self._account: Account = Account(0.0, 0.0, None, ())
        self._own_of: dict[int, int] = {}
        self._session_of: dict[int, int] = {}
        self._count = 0

    @property
    def numbers(self) -> int:
        """Orders that the session has been given so far."""
        return self._count

    def start(self) -> Declaration | Failure:
        return self._host.start()

    def warm_up(self, moments: Sequence[Moment]) -> None:
        self._host.warm_up(moments)

    def decide(self, moment: Moment, account: Account | None, fills: Sequence[Fill]) -> Sequence[Request] | Failure:
        if account is not None:
            self._account = account
            account = account._replace(open_orders=tuple(map(self._seen_by_strategy, account.open_orders)))
        told = [fill._replace(order_id=self._own_of.get(fill.order_id, 0)) for fill in fills]
        requests = self._host.decide(moment, account, told)
        if isinstance(requests, Failure):
            return requests
        verdict = self.screen.judge(Scene(moment[0], self._account, requests))
        every = [*(Added("", *each) for each in zip(requests, verdict.refusals, strict=True)), *verdict.added]
        passed = [self._screened(each) for each in every]
        return [request for request in passed if request is not None]

    def glide(self, moments: Iterator[Moment]) -> Glide:
        moment = None
        for moment in moments:
            requests = self.decide(moment, None, ())
            if requests:
                return moment, requests
        return moment, ()

    def stop(self) -> Failure | None:
        return self._host.stop()

    @property
    def dropped(self) -> int:
        return self._host.dropped

    @property
    def log(self) -> Sequence[str]:
        return self._host.log

    def _seen_by_strategy(self, order: OpenOrder) -> OpenOrder:
        return replace(order, id=self._own_of.get(order.id, 0))

    def _screened(self, each: Added) -> Request | None:
        """The request as the session gets it; None when it gets none."""
        request, plan, text = each.request, each.plan or None, canonical(each.request)
        if each.refusal is not None:
            rule, reason = each.refusal
            self.asked.append(Asked(text=text, number=None, plan=plan, refused=reason, rule=rule))
            return None
        if request.action is Action.CANCEL:
            self.asked.append(Asked(text=text, number=None, plan=plan, refused=None))
            return self._cancel(request, plan)
        self._count += 1
        if plan is None:
            self._own_of[self._count], self._session_of[request.id] = request.id, self._count
        self.asked.append(Asked(text=text, number=self._count, plan=plan, refused=None))
        return request._replace(id=self._count)

    def _cancel(self, request: Request, plan: str | None) -> Request | None:
        """The cancel under the session's number; of an order that never got there, nothing is left to cancel."""
        wanted = request.quantity
        if plan is not None or type(wanted) is not int:
            return request
        number = self._session_of.get(wanted)
        return None if number is None else request._replace(quantity=number)


def _waiting(order: Ticket | Cancel) -> list[object]:
    if not isinstance(order, Ticket):
        return ["cancel", order.id]
    return [
        order.id,
        order.action.value,
        None if order.side is None else order.side.value,
        order.type.value,
        order.quantity,
        order.weight,
        order.limit,
        order.stop,
        order.offset,
        order.stop_loss,
        order.take_profit,
        order.trail,
        order.tag,
        order.triggered,
        order.best,
    ]
