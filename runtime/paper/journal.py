"""What a run writes: one transaction per bar, all of it or nothing.

In it: the lease is checked; the bar; its fills and the ledger; what became of earlier orders; each new intent with its plan, approval,
token and order; decisions; the state of the books; the audit line with the log's head. A process that dies anywhere in between leaves
the bar untaken, and the resumed run takes it again, to the same end.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, select, update
from sqlmodel import col

from runtime.paper import tokens
from runtime.paper.canon import encode, sha256, stamp
from runtime.paper.lease import fence
from runtime.paper.tables import BarRow, DecisionRow, FillRow, LedgerRow, OrderRow, PlanRow, RunRow
from runtime.paper.values import PAPER_RUNNER, MakerKind, Outcome, PlanStatus
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from runtime.model import Bar
    from runtime.paper.audit import Auditor
    from runtime.paper.driver import Asked, Step
    from runtime.paper.feed import Note
    from runtime.paper.lease import Lease
    from runtime.paper.locks import Lock

# A strategy's plan is approved and executed where it is made; the time is for those that a person still has to see.
_PLAN_LIFE = timedelta(days=1)


class PlanConflict(Exception):  # noqa: N818  # a state of the world; the transaction must not commit
    """A plan is not what it was when the bar began: somebody decided otherwise meanwhile. Take the bar again."""


class Books(NamedTuple):
    """The account after a bar, for records."""

    equity: float
    cash: float
    position: float


class Journal:
    """Writes one run. Belongs to the holder of its lease; used by one thread.

    Args:
        engine: the store.
        auditor: writes the audit log.
        lease: leave to act.
        now: the wall clock.
        checkpoint: called with a name between any two statements of the order path. For tests that stop the process there.
    """

    def __init__(
        self,
        engine: Engine,
        auditor: Auditor,
        lease: Lease,
        now: Callable[[], datetime],
        checkpoint: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._engine = engine
        self._auditor = auditor
        self._lease = lease
        self._run = lease.run
        self._now = now
        self._checkpoint = checkpoint
        self._has_pending = True
        with reading(engine) as session:
            self._fills = _count(session, FillRow.run, self._run)
            self._ledger = _count(session, LedgerRow.run, self._run)
            self._decisions = _count(session, DecisionRow.run, self._run)
            self._chain = session.get_one(RunRow, self._run).chain

    def write_warm_up(self, bars: Sequence[Bar], state: str) -> None:
        """The bars before the first one that the run may trade, and the books at the beginning."""
        with self._auditor.turn, writing(self._engine, durable=True) as session:
            fence(session, self._lease, self._now())
            for number, bar in enumerate(bars):
                self._add_bar(session, number, bar, "[]", "")
            run = session.get_one(RunRow, self._run)
            run.warm = run.bars = len(bars)
            run.state, run.chain = state, self._chain
            session.add(run)
            self._auditor.append(session, self._run, "warm-up", {"bars": len(bars), "chain": self._chain})

    def write(self, step: Step, books: Books, notes: Sequence[Note] = (), locks: Sequence[Lock] = ()) -> None:
        """A bar that was taken, and all that came of it.

        Raises:
            LeaseLost: another runner has the run.
            PlanConflict: a plan that was to be executed is not approved any more.
        """
        with self._auditor.turn, writing(self._engine, durable=True) as session:
            self._reach("begin")
            fence(session, self._lease, self._now())
            self._reach("fenced")
            self._add_bar(session, step.row, step.bar, encode(asked_document(step.asked)), sha256(step.state))
            session.flush()
            self._reach("bar")
            fills = self._add_fills(session, step)
            self._settle(session, step)
            self._reach("settled")
            decisions = [self._intent(session, step, books, number, each) for number, each in enumerate(step.asked)]
            for lock in locks:
                session.add(lock.row())
            self._move_run(session, step)
            self._reach("run")
            if fills or decisions or step.refused or notes or locks:
                body = self._story(step, books, fills, decisions)
                body["notes"] = [note._asdict() for note in notes]
                body["locks"] = [lock.story() for lock in locks]
                self._auditor.append(session, self._run, "bar", body)
            self._reach("audited")
        self._reach("committed")

    def touch(self) -> str | None:
        """Renew the lease; gives the name of whoever asked for the run to stop.

        Raises:
            LeaseLost: another runner has the run.
        """
        with self._auditor.turn, writing(self._engine) as session:
            fence(session, self._lease, self._now())
            return session.get_one(RunRow, self._run).stop_by

    def note(self, what: str, body: dict[str, Any]) -> None:
        """A line in the audit log, apart from any bar."""
        with self._auditor.turn, writing(self._engine, durable=True) as session:
            fence(session, self._lease, self._now())
            self._auditor.append(session, self._run, what, body)

    def finish(self, status: str, reason: str, body: dict[str, Any]) -> None:
        """The end of the run, for now."""
        with self._auditor.turn, writing(self._engine, durable=True) as session:
            fence(session, self._lease, self._now())
            run = session.get_one(RunRow, self._run)
            run.status, run.reason, run.finished = status, reason, stamp(self._now())
            session.add(run)
            where = {"bars": run.bars, "chain": run.chain}
            self._auditor.append(session, self._run, "end", {"status": status, "reason": reason, **where, **body})

    # Inside the transaction -------------------------------------------------------------------------------------

    def _reach(self, name: str) -> None:
        self._checkpoint(name)

    def _add_bar(self, session: Session, number: int, bar: Bar, asked: str, state_sha256: str) -> None:
        ts = int(bar.ts.timestamp())
        self._chain = sha256(self._chain + encode([ts, *bar[1:], asked, state_sha256]))
        values = dict(zip(("open", "high", "low", "close", "volume"), bar[1:], strict=True))
        session.add(
            BarRow(
                run=self._run,
                bar=number,
                ts=ts,
                **values,
                asked=asked,
                state_sha256=state_sha256,
                chain=self._chain,
                taken=stamp(self._now()),
            )
        )

    def _add_fills(self, session: Session, step: Step) -> list[dict[str, Any]]:
        told = []
        for fill in step.fills:
            self._fills += 1
            facts: dict[str, Any] = {
                "side": fill.side.value,
                "quantity": fill.quantity,
                "price": fill.price,
                "fee": fill.fee,
                "tag": fill.tag,
            }
            ts = int(fill.ts.timestamp())
            session.add(FillRow(run=self._run, number=self._fills, bar=step.row, ts=ts, order=fill.order_id, **facts))
            session.flush()
            self._reach("fill")
            told.append(facts | {"order": fill.order_id})
        for bar, cash, position in step.marks:
            self._ledger += 1
            session.add(LedgerRow(run=self._run, number=self._ledger, bar=bar, cash=cash, position=position))
            session.flush()
            self._reach("ledger")
        return told

    def _settle(self, session: Session, step: Step) -> None:
        """What became of orders of earlier bars."""
        if not self._has_pending:
            return
        self._has_pending = False
        pending = session.scalars(
            select(DecisionRow).where(
                col(DecisionRow.run) == self._run, col(DecisionRow.outcome) == Outcome.PENDING.value
            )
        ).all()
        prices = {fill.order_id: fill.price for fill in step.fills}
        reasons = {refusal.order_id: refusal.reason for refusal in step.refused}
        for row in pending:
            if row.order in prices:
                row.outcome, row.reason = Outcome.FILLED.value, f"at {prices[row.order]!r}"
            elif row.order in reasons:
                row.outcome, row.reason = Outcome.REJECTED.value, reasons[row.order]
            elif row.order not in step.open_orders:
                row.outcome = Outcome.CANCELLED.value
            else:
                self._has_pending = True
            session.add(row)

    def _intent(self, session: Session, step: Step, books: Books, number: int, asked: Asked) -> dict[str, Any]:
        self._decisions += 1
        row = DecisionRow(
            run=self._run,
            number=self._decisions,
            bar=step.row,
            ts=int(step.bar.ts.timestamp()),
            context=encode({"close": step.bar.close, **books._asdict()}),
            intent=asked.text,
            outcome=Outcome.PENDING.value,
        )
        if asked.refused is not None:
            row.outcome, row.reason, row.plan = Outcome.RISK_REJECTED.value, asked.refused, asked.plan
            self._turn_down(session, asked.plan)
        else:
            row.plan, row.order = self._execute(session, step, number, asked), asked.number
            refused = {refusal.order_id: refusal.reason for refusal in step.refused}
            if asked.number is None:
                row.outcome = Outcome.DONE.value
            elif asked.number in refused:
                row.outcome, row.reason = Outcome.REJECTED.value, refused[asked.number]
        self._has_pending = self._has_pending or row.outcome == Outcome.PENDING.value
        session.add(row)
        session.flush()
        self._reach("decision")
        facts = {"intent": row.intent, "outcome": row.outcome, "plan": row.plan, "order": row.order}
        return facts | {"number": row.number, "reason": row.reason, "rule": asked.rule}

    def _execute(self, session: Session, step: Step, number: int, asked: Asked) -> str:
        """Intent to plan to approval to token to order; the token is spent where the order is booked."""
        at = self._now()
        plan = self._own_plan(session, step, number, asked) if asked.plan is None else asked.plan
        self._reach("plan")
        secret = tokens.issue(session, plan=plan, epoch=self._lease.epoch, at=at)
        self._reach("token")
        execute(session, plan=plan, secret=secret, epoch=self._lease.epoch, at=at)
        self._reach("spent")
        if asked.number is not None:
            session.add(OrderRow(run=self._run, number=asked.number, plan=plan, bar=step.row, request=asked.text))
            session.flush()
        self._reach("order")
        return plan

    def _turn_down(self, session: Session, plan: str | None) -> None:
        """A plan of a person or model that a guard refused is over."""
        if plan is not None:
            row = session.get_one(PlanRow, plan)
            row.status = PlanStatus.REJECTED.value
            session.add(row)

    def _own_plan(self, session: Session, step: Step, number: int, asked: Asked) -> str:
        at = self._now()
        plan = PlanRow(
            id=f"{self._run}-{step.row}-{number + 1}",
            run=self._run,
            bar=step.row,
            request=asked.text,
            maker="strategy",
            maker_kind=MakerKind.STRATEGY.value,
            created=stamp(at),
            expires=stamp(at + _PLAN_LIFE),
            status=PlanStatus.APPROVED.value,
            checker=PAPER_RUNNER,
            checked=stamp(at),
        )
        session.add(plan)
        session.flush()
        return plan.id

    def _move_run(self, session: Session, step: Step) -> None:
        session.execute(
            update(RunRow)
            .where(col(RunRow.id) == self._run)
            .values(bars=step.row + 1, state=step.state, chain=self._chain)
        )

    def _story(
        self, step: Step, books: Books, fills: list[dict[str, Any]], decisions: list[dict[str, Any]]
    ) -> dict[str, Any]:
        return {
            "bar": step.row,
            "ts": step.bar.ts.isoformat(),
            "close": step.bar.close,
            "fills": fills,
            "refused": [[refusal.order_id, refusal.reason] for refusal in step.refused],
            "decisions": decisions,
            "chain": self._chain,
            **books._asdict(),
        }


def execute(session: Session, *, plan: str, secret: str, epoch: int, at: datetime) -> None:
    """The one door through which a plan becomes an order, in the caller's transaction.

    Raises:
        TokenRefused: the token executes nothing.
        PlanConflict: the plan is not approved, or its time is over.
    """
    tokens.spend(session, secret, plan=plan, epoch=epoch, at=at)
    row = session.get(PlanRow, plan)
    if row is None or row.status != PlanStatus.APPROVED.value or row.checker is None:
        raise PlanConflict(f"plan {plan} is {row.status if row else 'unknown'}, and only an approved one is executed")
    if stamp(at) >= row.expires:
        raise PlanConflict(f"plan {plan} was good until {row.expires}")
    row.status = PlanStatus.EXECUTED.value
    session.add(row)
    session.flush()


def asked_document(asked: Sequence[Asked]) -> list[list[object]]:
    """What was asked for on a bar, as it is stored."""
    return [[each.text, each.number, each.plan, each.refused, each.rule] for each in asked]


def _count(session: Session, run_column: Any, run: str) -> int:
    return session.scalar(select(func.count()).where(run_column == run)) or 0
