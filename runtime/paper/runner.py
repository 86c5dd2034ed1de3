"""One paper run, unattended: bars come, the strategy decides, guards judge, the venue fills, everything is written down.

::

    lease -> host -> replay of what is stored -> [ poll -> sift -> take -> write ]* -> end

What is certainly wrong ends the run at once and says why. What may pass (a feed that is out, a database that is busy, a process that
the machine killed) is tried again after a growing pause, ``Faults.streak`` times in a row at most. After any such fault the session in
memory is thrown away and replayed from the store: nothing lives on that was not written down.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from runtime.cage.faults import CageError
from runtime.cage.outcome import CageEnd
from runtime.kernel.remote import RemoteHost
from runtime.kernel.report import AccountKind
from runtime.kernel.session import RunLimits
from runtime.paper.audit import AuditBroken
from runtime.paper.feed import Outage, bar_sha256, sift
from runtime.paper.journal import Books, Journal, PlanConflict
from runtime.paper.lease import Held, LeaseLost, acquire, release
from runtime.paper.resume import Drift, read_run, replay
from runtime.paper.risk import Place
from runtime.paper.screen import GuardScreen, Memory, NoHooks
from runtime.paper.tables import RunRow
from runtime.paper.values import RunStatus
from runtime.paper.venue import SimulatedVenue
from runtime.store import StoreError, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import Engine

    from runtime.desk import Request
    from runtime.kernel.session import StrategyHost
    from runtime.model import Bar
    from runtime.paper.audit import Auditor
    from runtime.paper.clocks import RunClock
    from runtime.paper.deployment import Deployment
    from runtime.paper.driver import Driver, Step
    from runtime.paper.feed import BarFeed, Market, Note
    from runtime.paper.limits import RiskLimits
    from runtime.paper.resume import StoredRun
    from runtime.paper.screen import StepHooks
    from runtime.paper.venue import Venue

# Bars whose hashes are kept for telling a revised bar from a late one.
_REMEMBERED = 300
# A bar that is due and not there is asked for again after this share of its step.
_OVERDUE_SHARE = 1 / 60
_OVERDUE_S = (1.0, 60.0)
# What the feed needs to have the bar that just closed.
_GRACE = timedelta(seconds=0.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How to bear what may pass."""

    streak: int = 5
    """So many in a row end the run."""
    first_s: float = 1.0
    most_s: float = 60.0

    asked_s: float = 900.0
    """Longest that a feed's own wish is heeded: who says \"come back tomorrow\" is asked again before."""

    def pause_s(self, streak: int, wished_s: float | None = None) -> float:
        """Seconds to wait after so many faults in a row, doubled each time up to the cap; longer when a feed asks for it."""
        return float(max(min(self.first_s * 2.0 ** (streak - 1), self.most_s), min(wished_s or 0.0, self.asked_s)))


class Watch(Protocol):
    """Who looks on; tells people, never decides."""

    def took(self, run: str, step: Step, books: Books) -> None:
        """A bar was written."""

    def faulted(self, run: str, reason: str, pause_s: float) -> None:
        """Something that may pass."""


class Unwatched:
    """Nobody looks on. Implements ``Watch``."""

    def took(self, run: str, step: Step, books: Books) -> None:
        """Nothing."""

    def faulted(self, run: str, reason: str, pause_s: float) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """All that a run is made of."""

    engine: Engine
    auditor: Auditor
    run: str
    holder: str
    """Who runs it: host and process, for people."""
    account: str
    symbol: str
    deployment: Deployment
    guards: RiskLimits | None
    market: Market
    feed: BarFeed
    warm: Sequence[Bar]
    """Bars before the first one that is traded; used when the run begins, stored from then on."""
    clock: RunClock
    open_host: Callable[[], AbstractContextManager[StrategyHost]]
    """A fresh host for the deployment's source, each time."""
    permit: Callable[[], str | None]
    """Why the deployment does not hold (any more); None while it does. Asked at each start and each look."""
    attest: Callable[[], str | None] = lambda: None
    """How the store differs from the signed log; None when it does not. Asked at each start, before anything of the store is believed."""
    plans: Callable[[], Sequence[tuple[str, Request]]] = lambda: ()
    """Approved plans of people and models."""
    hooks: StepHooks = field(default_factory=NoHooks)
    """Asked before each order and told after it."""
    venue: Venue = field(default_factory=SimulatedVenue)
    limits: RunLimits = field(default_factory=RunLimits)
    faults: Faults = field(default_factory=Faults)
    watch: Watch = field(default_factory=Unwatched)
    look_every_s: float = 1.0
    """Shortest time between two looks at whether the run may go on; a replay takes hundreds of bars in it."""
    leave: Callable[[], bool] = lambda: False
    """Whether this process is to end; the run stays one that should run."""
    most_gap: float | None = None
    """See ``sift``: for live bars; history is what it is."""
    until: datetime | None = None
    """When the run is over by itself, by its own clock."""
    checkpoint: Callable[[str], object] = lambda _: None
    """See ``Journal``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnding:
    """How a runner came to its end."""

    status: RunStatus | None
    """The run's; None when another runner has it, or it is refused."""
    reason: str
    is_refused: bool = False
    """Whether nothing ran and nothing was written, since the store is not what the signed log says."""


class _Passing(Exception):  # noqa: N818  # control flow inside this module
    """A fault that may pass."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class _Over(Exception):  # noqa: N818  # control flow inside this module
    def __init__(self, status: RunStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _Refused(Exception):  # noqa: N818  # control flow inside this module
    """The store is not what the log says."""


class _Left(Exception):  # noqa: N818  # control flow inside this module
    """The process is to end."""


def run_paper(parts: RunParts) -> RunEnding:
    """Run until the end: the feed's, a person's, or that of what is certainly wrong."""
    streak = 0

    def progressed() -> None:
        nonlocal streak
        streak = 0

    while True:
        try:
            taken = acquire(parts.engine, parts.run, holder=parts.holder, at=parts.auditor.now())
            if isinstance(taken, Held):
                return RunEnding(
                    status=None, reason=f"{taken.holder} runs it, until {taken.expires:%H:%M:%SZ} at least"
                )
            try:
                _attest(parts)
                return _Runner(
                    parts, Journal(parts.engine, parts.auditor, taken, parts.auditor.now, parts.checkpoint)
                ).go(progressed)
            finally:
                release(parts.engine, taken, parts.auditor.now())
        except LeaseLost as error:
            return RunEnding(status=None, reason=str(error))
        except (_Refused, AuditBroken) as error:
            return RunEnding(status=None, reason=str(error), is_refused=True)
        except _Left:
            return RunEnding(
                status=None, reason=f"this process was asked to end; trigate paper resume {parts.run} goes on"
            )
        except PlanConflict:
            continue
        except (StoreError, CageError, _Passing) as error:
            streak += 1
            pause_s = parts.faults.pause_s(streak, getattr(error, "wait_s", None))
            parts.watch.faulted(parts.run, str(error), pause_s)
            if streak >= parts.faults.streak:
                return _give_up(parts, f"{streak} faults in a row, the last one: {error}")
            parts.clock.wait(parts.clock.now() + timedelta(seconds=pause_s), lambda: False)


def _attest(parts: RunParts) -> None:
    """Nothing is written on a store that was edited: an end with a reason would give the edit a line of its own."""
    difference = parts.attest()
    if difference is not None:
        raise _Refused(difference)


def _give_up(parts: RunParts, reason: str) -> RunEnding:
    try:
        return _failed(parts, reason)
    except StoreError as error:
        # A full disk is such a fault: then the end cannot be written either, and the run stays one that should run.
        return RunEnding(
            status=None, reason=f"{reason}; nor could that be written down ({error}); trigate paper resume goes on"
        )


def _failed(parts: RunParts, reason: str) -> RunEnding:
    taken = acquire(parts.engine, parts.run, holder=parts.holder, at=parts.auditor.now())
    if not isinstance(taken, Held):
        journal = Journal(parts.engine, parts.auditor, taken, parts.auditor.now)
        journal.finish(RunStatus.FAILED.value, reason, {})
        release(parts.engine, taken, parts.auditor.now())
    return RunEnding(status=RunStatus.FAILED, reason=reason)


class _Runner:
    """One attempt: from the replay on, to the end or the first fault."""

    def __init__(self, parts: RunParts, journal: Journal) -> None:
        self._parts = parts
        self._journal = journal
        self._memory = Memory(parts.market)
        self._known: dict[int, str] = {}
        self._last = 0
        self._close: float | None = None
        self._noted: set[Note] = set()
        self._stop_reason = ""
        self._looked = -math.inf
        self._host: StrategyHost
        self._driver: Driver

    def go(self, progressed: Callable[[], None]) -> RunEnding:
        parts = self._parts
        with reading(parts.engine) as session:
            row = session.get_one(RunRow, parts.run)
        if RunStatus(row.status).is_over:
            return RunEnding(status=RunStatus(row.status), reason=row.reason)
        try:
            self._permit()
            with parts.open_host() as host:
                self._host = host
                instrument = parts.deployment.instrument(parts.symbol)
                assert instrument is not None  # ``permit`` has seen to it
                self._driver = parts.venue.open(host, parts.deployment.config, instrument, parts.limits)
                self._begin()
                while True:
                    self._round(progressed)
        except Drift as drift:
            return self._end(RunStatus.DRIFTED, str(drift))
        except _Over as over:
            return self._end(over.status, str(over))

    def _permit(self) -> None:
        refused = self._parts.permit()
        if refused is not None:
            raise _Over(RunStatus.REVOKED, refused)

    def _end(self, status: RunStatus, reason: str) -> RunEnding:
        self._journal.finish(status.value, reason, {"last": self._last})
        return RunEnding(status=status, reason=reason)

    # Beginning ----------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        parts = self._parts
        with reading(parts.engine) as session:
            stored = read_run(session, parts.run)
        if stored.warm:
            self._go_on(stored)
            return
        if not parts.warm:
            raise _Over(RunStatus.FAILED, "there are no bars before the run, and indicators need some")
        self._driver.start(parts.warm)
        self._judge_end()
        self._journal.write_warm_up(parts.warm, self._driver.state())
        self._remember(parts.warm)

    def _go_on(self, stored: StoredRun) -> None:
        driver = self._driver
        replay(driver, stored, lambda step: self._memory.note(step, driver.equity or 0.0))
        self._known = stored.hashes(_REMEMBERED)
        self._last = stored.last
        self._close = (stored.bars[-1].bar if stored.bars else stored.warm[-1]).close
        self._journal.note(
            "resume",
            {"bars": len(stored.bars), "fills": len(stored.fills), "equity": driver.equity, "by": self._parts.holder},
        )

    def _remember(self, bars: Sequence[Bar]) -> None:
        for bar in bars:
            self._last, self._close = int(bar.ts.timestamp()), bar.close
            self._known[self._last] = bar_sha256(bar)
        for ts in sorted(self._known)[:-_REMEMBERED]:
            del self._known[ts]

    # Round by round -----------------------------------------------------------------------------------------------------

    def _round(self, progressed: Callable[[], None]) -> None:
        parts = self._parts
        if self._look():
            if parts.leave():
                raise _Left
            raise _Over(RunStatus.STOPPED, self._stop_reason)
        jump_s = parts.clock.jump_s()
        if jump_s:
            self._journal.note("clock", {"jumped_s": jump_s})
        answer = parts.feed.bars(self._last, parts.clock.now())
        if isinstance(answer, Outage):
            raise (
                _Passing(f"feed: {answer.reason}", answer.wait_s)
                if answer.passes
                else _Over(RunStatus.FAILED, f"feed: {answer.reason}")
            )
        sifted = sift(
            answer,
            self._known,
            self._last,
            parts.feed.clock(parts.clock.now()),
            parts.market,
            close=self._close,
            most_gap=parts.most_gap,
        )
        if sifted.fault is not None:
            raise _Over(RunStatus.FAILED, f"feed: {sifted.fault}")
        notes = [note for note in sifted.notes if note not in self._noted]
        self._noted.update(notes)
        if notes and not sifted.bars:
            self._journal.note("feed", {"notes": [note._asdict() for note in notes]})
        for number, bar in enumerate(sifted.bars):
            self._take(bar, notes if number == 0 else [])
        progressed()
        if parts.until is not None and parts.clock.now() >= parts.until:
            raise _Over(RunStatus.FINISHED, f"its time was over at {parts.until:%Y-%m-%d %H:%MZ}")
        if not sifted.bars and parts.feed.is_over:
            raise _Over(RunStatus.FINISHED, "the feed has no further bars")
        # A run that has caught up asks no second time for what has not closed.
        if not sifted.bars or parts.clock.now().timestamp() < self._due():
            self._wait()

    def _look(self) -> bool:
        """Whether the run is to stop; renews the lease."""
        if time.monotonic() - self._looked < self._parts.look_every_s:
            return self._parts.leave()
        self._looked = time.monotonic()
        self._permit()
        by = self._journal.touch()
        self._stop_reason = f"by {by}"
        return by is not None or self._parts.leave()

    def _take(self, bar: Bar, notes: Sequence[Note]) -> None:
        parts, driver = self._parts, self._driver
        screen = GuardScreen(
            parts.engine,
            Place(parts.account, parts.market.calendar.name, parts.symbol),
            limits=parts.guards,
            most=parts.deployment.max_notional,
            market=parts.market,
            memory=self._memory,
            can_turn=parts.deployment.config.account is not AccountKind.CASH,
            plans=parts.plans,
            hooks=parts.hooks,
        )
        step = driver.take(bar, screen)
        self._judge_end()
        equity = driver.equity
        assert equity is not None  # a bar was taken
        books = Books(equity=equity, cash=driver.account.cash, position=driver.position)
        self._journal.write(step, books, [*notes, *screen.notes], screen.locks)
        self._memory.note(step, equity)
        self._remember([bar])
        self._tell_hooks(step)
        parts.watch.took(parts.run, step, books)
        if driver.ruined:
            raise _Over(RunStatus.FAILED, "the account is ruined: its equity fell to 0")

    def _tell_hooks(self, step: Step) -> None:
        """After the bar was written: a kill in between leaves a hook untold, never an order unwritten."""
        parts = self._parts
        for asked in step.asked:
            if asked.refused is not None:
                continue
            facts = {"run": parts.run, "symbol": parts.symbol, "ts": step.bar.ts.isoformat()}
            complaint = parts.hooks.after(facts | {"request": asked.text, "order": asked.number, "plan": asked.plan})
            if complaint is not None:
                self._journal.note("hook", {"request": asked.text, "complaint": complaint})

    def _judge_end(self) -> None:
        """Tell a strategy that broke its promise from a process that the machine took away."""
        driver = self._driver
        if driver.end is None:
            return
        host: Any = self._host
        if isinstance(host, RemoteHost) and host.ended is not None and host.ended.end is CageEnd.KILLED:
            raise _Passing(f"the strategy's process {host.ended.reason}")
        failure = driver.failure
        why = f"the strategy ended the run: {driver.end.value}" if failure is None else failure.message
        place = "" if failure is None or failure.line is None else f" (line {failure.line}, {failure.exception})"
        raise _Over(RunStatus.FAILED, f"{why}{place}")

    def _due(self) -> int:
        """When the next bar closes, seconds since 1970 UTC."""
        market = self._parts.market
        return market.end(market.next_open(self._last))

    def _wait(self) -> None:
        """Until the next bar closes; when it is overdue, a little."""
        parts = self._parts
        market, now = parts.market, parts.clock.now()
        due = datetime.fromtimestamp(self._due(), UTC) + _GRACE
        if due <= now:
            low, high = _OVERDUE_S
            due = now + timedelta(seconds=min(max(market.timeframe.seconds * _OVERDUE_SHARE, low), high))
        if parts.until is not None:
            due = min(due, parts.until)
        parts.clock.wait(due, self._look)
