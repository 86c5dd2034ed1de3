"""The screen of a live run: guards judge what the strategy asks for, approved plans of people come in, locks are kept.

What it knows of the run's past (equity, round trips, openings) is rebuilt by a replay like everything else.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from runtime.kernel.tickets import canonical
from runtime.model import Side
from runtime.paper.driver import Added, Screened
from runtime.paper.feed import Note
from runtime.paper.locks import read_locks
from runtime.paper.risk import Place, RoundTrip, Situation, judge
from runtime.store import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Engine

    from runtime.desk import Request
    from runtime.kernel.session import Account
    from runtime.paper.driver import Scene, Step
    from runtime.paper.feed import Market
    from runtime.paper.limits import RiskLimits
    from runtime.paper.locks import Lock

# Guards look back over a week at most by default; more of a run than this is not needed for them.
_KEPT = 5_000
_DAY = timedelta(days=1)


class Memory:
    """What guards remember of a run."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self.curve: deque[tuple[datetime, float]] = deque(maxlen=_KEPT)
        self.trips: deque[RoundTrip] = deque(maxlen=_KEPT)
        self.opened: deque[datetime] = deque(maxlen=_KEPT)
        self._position = 0.0

    def note(self, step: Step, equity: float) -> None:
        """A bar that was taken."""
        end = self.end(step.bar.ts)
        self.curve.append((end, equity))
        for trade in step.trades:
            spent = trade.quantity * trade.entry_price
            side = "buy" if trade.side is Side.BUY else "sell"
            self.trips.append(RoundTrip(end, side, trade.pnl / spent if spent else 0.0, trade.exit_reason))
        for _, _, position in step.marks:
            if abs(position) > abs(self._position):
                self.opened.append(end)
            self._position = position

    def end(self, ts: datetime) -> datetime:
        """The end of the bar that opens then."""
        return datetime.fromtimestamp(self._market.end(int(ts.timestamp())), UTC)


class StepHooks(Protocol):
    """A person's own commands around execution. Neither method raises; both may take as long as their time limit."""

    def before(self, order: Mapping[str, Any]) -> str | None:
        """Why an order is not to be executed; None when nothing speaks against it."""

    def after(self, order: Mapping[str, Any]) -> str | None:
        """Tell of an order that was executed; gives a complaint, which changes nothing."""


class NoHooks:
    """Nobody is asked. Implements ``StepHooks``."""

    def before(self, order: Mapping[str, Any]) -> str | None:
        """Nothing."""

    def after(self, order: Mapping[str, Any]) -> str | None:
        """Nothing."""


class GuardScreen:
    """Implements ``Screen`` for bars that are taken for the first time.

    Args:
        engine: the store, for locks.
        place: what is traded, and for whom.
        limits: the guards; None when a person runs without.
        most: notional of one order that the deployment allows.
        market: when bars close.
        memory: of this run.
        can_turn: whether selling more than there is opens a position on the other side (a margin account).
        plans: approved plans of people and models, asked for once per bar.
        hooks: asked about each order that the guards let through.
    """

    def __init__(  # noqa: PLR0913 - all that a verdict depends on
        self,
        engine: Engine,
        place: Place,
        *,
        limits: RiskLimits | None,
        most: float,
        market: Market,
        memory: Memory,
        can_turn: bool,
        plans: Callable[[], Sequence[tuple[str, Request]]],
        hooks: StepHooks,
    ) -> None:
        self.notes: list[Note] = []
        """What hooks had against exits, which were passed on all the same."""
        self.locks: list[Lock] = []
        """Made on the bar that was judged last."""
        self._engine = engine
        self._place = place
        self._limits = limits
        self._most = most
        self._market = market
        self._memory = memory
        self._can_turn = can_turn
        self._plans = plans
        self._hooks = hooks

    def judge(self, scene: Scene) -> Screened:
        """One bar's requests and plans, in this order."""
        self.locks, self.notes = [], []
        added = self._plans()
        requests = [*scene.requests, *(request for _, request in added)]
        if not requests:
            return Screened(())
        judged = judge(self._limits, self._situation(scene), requests, self._most)
        self.locks = judged.locks
        refusals = [None if each is None else (each.rule, each.reason) for each in judged.verdicts]
        own = len(scene.requests)
        plans = [None] * own + [plan for plan, _ in added]
        for number, (request, plan) in enumerate(zip(requests, plans, strict=True)):
            if refusals[number] is None:
                refusals[number] = self._asked(scene, request, plan, is_exit=judged.exits[number])
        return Screened(
            refusals[:own],
            [Added(plan, request, refusal) for (plan, request), refusal in zip(added, refusals[own:], strict=True)],
        )

    def _asked(self, scene: Scene, request: Request, plan: str | None, *, is_exit: bool) -> tuple[str, str] | None:
        """What the hooks have against an order. One that only reduces is passed on: a broken hook must not hold a position fast."""
        close = scene.bar.close
        against = self._hooks.before(
            {
                **self._place._asdict(),
                "ts": scene.bar.ts.isoformat(),
                "close": close,
                "request": canonical(request),
                "plan": plan,
            }
        )
        if against is None:
            return None
        if is_exit:
            self.notes.append(
                Note("hook", int(scene.bar.ts.timestamp()), f"{against}; it only reduces, and was passed on")
            )
            return None
        return "hook", against

    def _situation(self, scene: Scene) -> Situation:
        market, memory = self._market, self._memory
        end = memory.end(scene.bar.ts)
        day = market.day_start(int(scene.bar.ts.timestamp()))
        equity = scene.account.cash + scene.account.position * scene.bar.close
        with reading(self._engine) as session:
            locks = read_locks(session, self._place.account, end)
        return Situation(
            place=self._place,
            now=end,
            bar=scene.bar,
            account=scene.account,
            equity=equity,
            curve=[*memory.curve, (end, equity)],
            day=datetime.fromtimestamp(day, UTC),
            next_day=datetime.fromtimestamp(day, UTC) + _DAY,
            is_open=market.is_open(int(end.timestamp())) or market.is_open(int(scene.bar.ts.timestamp())),
            trips=memory.trips,
            opened=memory.opened,
            locks=locks,
            waiting=_waiting(scene.account, adds=True),
            leaving=_waiting(scene.account, adds=False),
            can_turn=self._can_turn,
        )


def _waiting(account: Account, *, adds: bool) -> float:
    """Signed units of waiting orders that would add to the position, or take off it, as far as they have a quantity."""
    signed = [(order.quantity or 0.0) * (1.0 if order.side is Side.BUY else -1.0) for order in account.open_orders]
    return sum(units for units in signed if (account.position * units >= 0.0) is adds)
