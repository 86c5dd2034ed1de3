"""The ledger of calls to models: every question before it is sent, every answer before it is read, every token and cent.

``CallLedger`` is the book of a run that may spend; ``ReplayLedger`` answers from what a run has stored, and sends nothing.
``spending`` adds up what a run has used, for people.

What it cannot do: a process that dies while an answer is under way has asked a question whose answer it never saw. The
attempt stays charged with its upper bound, and the question is asked again.
"""

from __future__ import annotations

import zlib
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, func, select
from sqlmodel import col

from evolution.llm.bandit import Place
from evolution.llm.book import Call, CallRecord, Recalled
from evolution.llm.budget import Charge, Overrun, Scope, overrun
from evolution.llm.counting import upper_bound
from evolution.llm.exchange import Broken, Reply
from evolution.llm.outcomes import Fatal, FatalKind, Held, Trouble
from evolution.llm.spending import ProfileSpending, Spending
from evolution.llm.tables import LlmCallRow, LlmRequestRow
from evolution.llm.usage import Usage
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy import Engine, Select
    from sqlalchemy.orm import Session

    from evolution.llm.budget import Budget
    from evolution.llm.outcomes import Outcome

_ANSWERED = ("text", "truncated", "refused", "empty", "tool_call", "malformed")
"""Codes of outcomes that were paid for and say what the model said."""
_HELD, _RETRYABLE, _FATAL = "held/", "retryable/", "fatal/"
# Any constant will do that nobody else uses for an advisory lock on the same PostgreSQL server.
_CHARGING = 7_420_261_131


class CallLedger:
    """The book of one run. Safe for several threads, and for several processes that share the store.

    Args:
        engine: The store.
        run_id: The run that the calls are made for; it is stored already.
        budget: Ceilings of this run and of the day.
        now: The clock.
    """

    def __init__(self, engine: Engine, *, run_id: str, budget: Budget, now: Callable[[], datetime]) -> None:
        self._engine = engine
        self._run_id = run_id
        self._budget = budget
        self._now = now

    def recall(self, call: Call) -> Recalled | None:
        """The answer to the same question of the same candidate, should one have come."""
        answered = col(LlmCallRow.outcome).in_(_ANSWERED)
        unread = col(LlmCallRow.outcome).is_(None) & col(LlmCallRow.status).is_not(None)
        with reading(self._engine) as session:
            row = session.scalars(_same_question(self._run_id, call).where(answered | unread)).first()
        if row is None:
            return None
        return Recalled(answer=_answer(row), is_final=False, unsettled=row.number if row.outcome is None else None)

    def begin(self, call: Call) -> int | Held:
        """Store the request and charge its upper bound, in one transaction; hold it when a ceiling would be passed."""
        bound = upper_bound(call.body, call.profile)
        wanted = _charge(call, bound)
        now = self._now()
        with writing(self._engine, durable=True) as session:
            if session.get_bind().dialect.name == "postgresql":
                session.execute(select(func.pg_advisory_xact_lock(_CHARGING)))
            over = overrun(self._budget, wanted, self._charged(session, call, now))
            _store_request(session, call)
            row = self._row(session, call, now)
            if over is not None:
                row.outcome, row.reason = f"{_HELD}{over.scope.value}", over.reason
            else:
                row.charged_tokens, row.charged_money = wanted.tokens, _money(call, bound)
            session.add(row)
            session.flush()
            number = row.number
        assert number is not None  # given by the database
        return number if over is None else _held(over)

    def arrived(self, number: int, answer: Reply | Broken, *, elapsed_s: float) -> None:
        """Store what came back, unread; it survives a power cut."""
        with writing(self._engine, durable=True) as session:
            row = session.get_one(LlmCallRow, number)
            row.elapsed_s = elapsed_s
            if isinstance(answer, Reply):
                row.status, row.content_type = answer.status, answer.headers.get("content-type")
                row.response = zlib.compress(answer.body)

    def settle(self, number: int, call: Call, outcome: Outcome) -> None:
        """Store what the answer meant, and charge what it cost instead of the upper bound."""
        usage = outcome.usage
        with writing(self._engine) as session:
            row = session.get_one(LlmCallRow, number)
            row.outcome = outcome.code
            row.reason = getattr(outcome, "reason", "")
            row.prompt_tokens, row.completion_tokens = usage.prompt_tokens, usage.completion_tokens
            row.estimated = bool(usage.estimated_calls)
            row.charged_tokens, row.charged_money = _charge(call, usage).tokens, _money(call, usage)

    def _row(self, session: Session, call: Call, now: datetime) -> LlmCallRow:
        request, price = call.request, call.profile.price
        same = _question(self._run_id, call)
        attempts = session.scalar(select(func.max(col(LlmCallRow.attempt))).where(*same)) or 0
        return LlmCallRow(
            run_id=self._run_id,
            subject=request.subject,
            generation=request.generation,
            ordinal=request.ordinal,
            attempt=attempts + 1,
            profile=call.profile.name,
            model=call.profile.model,
            prompt_version=request.prompt_version,
            request_sha256=call.sha256,
            sent=now,
            charged_tokens=0,
            currency=price.currency if price else None,
            reason="",
        )

    def _charged(self, session: Session, call: Call, now: datetime) -> dict[Scope, Charge]:
        """What stands against each scope, calls under way included."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        in_run = col(LlmCallRow.run_id) == self._run_id
        within: Mapping[Scope, ColumnElement[bool]] = {
            Scope.CANDIDATE: in_run & (col(LlmCallRow.subject) == call.request.subject),
            Scope.GENERATION: in_run & (col(LlmCallRow.generation) == call.request.generation),
            Scope.RUN: in_run,
            Scope.DAY: (col(LlmCallRow.sent) >= midnight) & (col(LlmCallRow.sent) < midnight + timedelta(days=1)),
        }
        return {scope: self._sum(session, rows) for scope, rows in within.items() if self._is_bounded(scope)}

    def _is_bounded(self, scope: Scope) -> bool:
        ceiling = self._budget.ceiling(scope)
        return ceiling.tokens is not None or ceiling.money is not None

    def _sum(self, session: Session, rows: ColumnElement[bool]) -> Charge:
        tokens = session.scalar(select(func.sum(col(LlmCallRow.charged_tokens))).where(rows))
        in_currency = col(LlmCallRow.currency) == self._budget.currency
        money = session.scalar(select(func.sum(col(LlmCallRow.charged_money))).where(rows, in_currency))
        return Charge(tokens=int(tokens or 0), money=float(money or 0.0))


class ReplayLedger:
    """The book of a run that repeats another one with no network: what is stored is the answer, and nothing is sent.

    A ceiling that held a call, and an endpoint that was out, are repeated like any other end. Nothing is written: a
    replay has no calls of its own.

    Args:
        engine: The store.
        run_id: The run that is repeated.
    """

    def __init__(self, engine: Engine, *, run_id: str) -> None:
        self._engine = engine
        self._run_id = run_id

    def recall(self, call: Call) -> Recalled | None:
        """How the last attempt at this question ended, whatever it was."""
        with reading(self._engine) as session:
            row = session.scalars(_same_question(self._run_id, call)).first()
        return None if row is None else Recalled(answer=_answer(row), is_final=True)

    def begin(self, call: Call) -> Fatal:
        """Nothing is sent in a replay."""
        request = call.request
        return Fatal(
            kind=FatalKind.NOT_STORED,
            reason=f"run {self._run_id} has no stored end of question {request.ordinal} for {request.subject}",
        )

    def arrived(self, number: int, answer: Reply | Broken, *, elapsed_s: float) -> None:  # noqa: ARG002 - its shape
        """Never called: nothing is sent."""
        raise AssertionError("a replay sends nothing")

    def settle(self, number: int, call: Call, outcome: Outcome) -> None:  # noqa: ARG002 - its shape
        """Never called: nothing is sent."""
        raise AssertionError("a replay sends nothing")


def stored_calls(engine: Engine, run_id: str, *, subject: str | None = None) -> tuple[CallRecord, ...]:
    """A run's attempts, whole, in the order in which they began; those of one candidate when ``subject`` names it."""
    query = (
        select(LlmCallRow, LlmRequestRow)
        .join(LlmRequestRow, col(LlmRequestRow.sha256) == col(LlmCallRow.request_sha256))
        .where(col(LlmCallRow.run_id) == run_id)
        .order_by(col(LlmCallRow.number))
    )
    if subject is not None:
        query = query.where(col(LlmCallRow.subject) == subject)
    with reading(engine) as session:
        return tuple(_record(row, request) for row, request in session.execute(query))


def spending(engine: Engine, run_id: str) -> Spending:
    """What a run's calls used, profile by profile. A replay used nothing."""
    was_sent = ~func.coalesce(col(LlmCallRow.outcome), "").startswith(_HELD)
    by_profile: dict[str, ProfileSpending] = {}
    query = select(LlmCallRow).where(col(LlmCallRow.run_id) == run_id, was_sent).order_by(col(LlmCallRow.number))
    with reading(engine) as session:
        for row in session.scalars(query):
            before = by_profile.get(row.profile, ProfileSpending(profile=row.profile, model=row.model))
            by_profile[row.profile] = before.plus(
                Usage(
                    calls=1,
                    prompt_tokens=row.prompt_tokens,
                    completion_tokens=row.completion_tokens,
                    estimated_calls=int(row.estimated),
                ),
                charged_tokens=row.charged_tokens,
                money=row.charged_money,
                currency=row.currency,
            )
    return Spending(profiles=tuple(by_profile[name] for name in sorted(by_profile)))


def places(engine: Engine, run_id: str) -> dict[str, Place]:
    """Which profile was asked last for each candidate of a run, and what its calls were charged."""
    columns = col(LlmCallRow.subject), col(LlmCallRow.profile)
    sums = func.sum(col(LlmCallRow.charged_tokens)), func.sum(col(LlmCallRow.charged_money))
    query = select(*columns, *sums).where(col(LlmCallRow.run_id) == run_id).group_by(*columns)
    with reading(engine) as session:
        rows = session.execute(query.order_by(func.max(col(LlmCallRow.number)))).all()
    return {
        subject: Place(profile=profile, cost=Charge(tokens=int(tokens or 0), money=float(money or 0.0)))
        for subject, profile, tokens, money in rows
    }


def _question(run_id: str, call: Call) -> tuple[ColumnElement[bool], ...]:
    request = call.request
    return (
        col(LlmCallRow.run_id) == run_id,
        col(LlmCallRow.subject) == request.subject,
        col(LlmCallRow.ordinal) == request.ordinal,
    )


def _same_question(run_id: str, call: Call) -> Select[LlmCallRow]:
    """Attempts at this very question, latest first."""
    same = (*_question(run_id, call), col(LlmCallRow.request_sha256) == call.sha256)
    return select(LlmCallRow).where(*same).order_by(col(LlmCallRow.attempt).desc())


def _store_request(session: Session, call: Call) -> None:
    if session.get(LlmRequestRow, call.sha256) is None:
        body = zlib.compress(call.body)
        session.add(LlmRequestRow(sha256=call.sha256, dialect=call.profile.dialect, path=call.path, body=body))
        session.flush()  # no relationships are declared, so the order of the tables is ours to keep


def _charge(call: Call, usage: Usage) -> Charge:
    return Charge(tokens=usage.prompt_tokens + usage.completion_tokens, money=_money(call, usage) or 0.0)


def _money(call: Call, usage: Usage) -> float | None:
    return None if call.profile.price is None else call.profile.price.cost(usage)


def _held(over: Overrun) -> Held:
    return Held(scope=over.scope, reason=over.reason)


def _answer(row: LlmCallRow) -> Reply | Broken | Held:
    """What an attempt brought, as it came."""
    if row.status is not None:
        headers = {} if row.content_type is None else {"content-type": row.content_type}
        return Reply(status=row.status, headers=headers, body=_text(row.response))
    code = row.outcome or ""
    if code.startswith(_HELD):
        return Held(scope=Scope(code.removeprefix(_HELD)), reason=row.reason)
    if code.startswith(_FATAL):
        return Broken(why=FatalKind(code.removeprefix(_FATAL)), reason=row.reason)
    if code.startswith(_RETRYABLE):
        return Broken(why=Trouble(code.removeprefix(_RETRYABLE)), reason=row.reason)
    return Broken(why=Trouble.CONNECTION, reason="the process ended before an answer came")


def _record(row: LlmCallRow, request: LlmRequestRow) -> CallRecord:
    return CallRecord(
        subject=row.subject,
        ordinal=row.ordinal,
        attempt=row.attempt,
        profile=row.profile,
        model=row.model,
        prompt_version=row.prompt_version,
        request_sha256=row.request_sha256,
        request=_text(request.body).decode(),
        outcome=row.outcome,
        reason=row.reason,
        status=row.status,
        response=_text(row.response).decode("utf-8", "backslashreplace"),
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        estimated=row.estimated,
        elapsed_s=row.elapsed_s,
    )


def _text(compressed: bytes | None) -> bytes:
    return b"" if compressed is None else zlib.decompress(compressed)
