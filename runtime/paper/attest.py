"""What the signed log says against what the tables say: asked at every start and resume.

Who can write to the database can take a guard out of a run's row, un-revoke a deployment, clear a lock or give a stopped run back to the
runners. None of that is signed; the log's lines are. So the lines are followed and what they tell is held against the rows, and the first
difference is named. Lines that were followed once are not followed again by the same process.

What it leaves to others: bars, fills and books are held to the run's chain of hashes by a replay, and that chain to the log here. Bars on
which nothing happened have no line of their own, so those at the very end of a run that was killed can be replaced by others on which
nothing happens either; a run that ended in order has its last bar in the log. What was only ever for people to look at (decisions, ledger,
the reason of an end) is told by the log itself, and nothing is decided by its rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock as Mutex
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlmodel import col

from runtime.paper.audit import EMPTY, Head, read_head, steady, verify
from runtime.paper.canon import encode, sha256
from runtime.paper.deployment import account_of
from runtime.paper.tables import AuditRow, BarRow, DeploymentRow, FillRow, LockRow, RunRow
from runtime.paper.values import RunStatus
from runtime.store import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from runtime.paper.audit import Auditor

_LOCK_FIELDS = ("account", "market", "symbol", "side", "until", "rule", "reason")
_NOTHING_ASKED = "[]"


@dataclass(slots=True)
class _RunFacts:
    """One run, as its lines tell it."""

    start: Mapping[str, Any]
    status: str = RunStatus.RUNNING.value
    stop_by: str | None = None
    warm: int = 0
    """Bars before the first one that was traded; 0 while none are stored."""
    chains: dict[int, str] = field(default_factory=dict)
    """Hash of the run's bars up to the one of that number."""
    sealed: int | None = None
    """How many bars there were when the run ended in order; None while it may take more."""


@dataclass(slots=True)
class _Facts:
    deployments: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    revoked: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: dict[str, _RunFacts] = field(default_factory=dict)
    locks: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    plans: dict[str, dict[str, Any]] = field(default_factory=dict)


class Attestor:
    """Holds a store to its log. One per process; safe for several threads.

    Args:
        engine: the store.
        auditor: for the runner's public key, and the head that this home has seen.
    """

    def __init__(self, engine: Engine, auditor: Auditor) -> None:
        self._engine = steady(engine)
        self._auditor = auditor
        self._facts = _Facts()
        self._reached = EMPTY
        self._turn = Mutex()

    def deployment_difference(self, deployment: str) -> str | None:
        """How a deployment's row differs from what the log says of it; None when it does not."""
        with self._turn, self._reading() as session:
            return self._behind(session) or _deployment_difference(session, self._facts, deployment)

    def account_difference(self, account: str) -> str | None:
        """How any run or lock of an account differs; asked before the account's runs are counted."""
        with self._turn, self._reading() as session:
            problem = self._behind(session)
            if problem is not None:
                return problem
            runs = [name for name, facts in self._facts.runs.items() if _account(facts.start) == account]
            differences = (_status_difference(session, self._facts.runs[name], name) for name in runs)
            return next(filter(None, differences), None) or _lock_difference(session, self._facts, account)

    def run_difference(self, run: str) -> str | None:
        """How a run, its deployment, its bars or its account's locks differ; None when they do not."""
        with self._turn, self._reading() as session:
            problem = self._behind(session)
            facts = self._facts.runs.get(run)
            if problem is not None or facts is None:
                return problem or f"paper run {run} is in the store, and the audit log knows no start of it"
            return (
                _deployment_difference(session, self._facts, facts.start["deployment"])
                or _run_difference(session, facts, run)
                or _status_difference(session, facts, run)
                or _chain_difference(session, facts, run)
                or _lock_difference(session, self._facts, _account(facts.start))
            )

    def plan(self, plan_id: str) -> Mapping[str, Any] | None:
        """What the log says of a plan that was made by hand or by a model; None when it knows none, or is not whole.

        Besides the plan itself: its ``answer``, None while nobody gave one, and whether it ``is_done``, executed or refused by a guard.
        """
        with self._turn, self._reading() as session:
            return None if self._behind(session) else self._facts.plans.get(plan_id)

    def _reading(self) -> Any:
        return reading(self._engine)

    def _behind(self, session: Session) -> str | None:
        """Follow the lines that are new; gives what is wrong with them."""
        seen = self._auditor.seen()  # before the lines are read: it is never ahead of an honest database
        lines = session.scalars(
            select(col(AuditRow.line))
            .where(col(AuditRow.sequence) > self._reached.sequence)
            .order_by(col(AuditRow.sequence))
        ).all()
        key = self._auditor.key.public_key
        report = verify(lines, read_head(session), key, seen=seen, after=self._reached)
        if report.problem is not None:
            return f"the audit log does not hold: {report.problem}"
        for line in lines:
            _fold(self._facts, json.loads(line))
        self._reached = Head(*report.head)
        return None


def _fold(facts: _Facts, line: Mapping[str, Any]) -> None:
    """Take in one line."""
    run, what, body = line["run"], line["what"], line["body"]
    mine = facts.runs.get(run)
    if what == "deploy":
        facts.deployments[body["deployment"]] = body
    elif what == "revoke":
        facts.revoked[body["deployment"]] = body
    elif what == "start":
        facts.runs[run] = _RunFacts(body)
    elif what == "plan":
        facts.plans[body["plan"]] = {**body, "answer": None, "is_done": False}
    elif what == "answer" and body["plan"] in facts.plans:
        facts.plans[body["plan"]]["answer"] = body
    elif mine is not None:
        _fold_run(facts, mine, what, body)


def _fold_run(facts: _Facts, mine: _RunFacts, what: str, body: Mapping[str, Any]) -> None:
    match what:
        case "reopen":
            mine.status, mine.stop_by = RunStatus.RUNNING.value, None
        case "stop":
            mine.stop_by = body["by"]
            mine.status = RunStatus.STOPPED.value if body["over"] else mine.status
        case "end":
            mine.status = body["status"]
            if body.get("bars"):
                mine.sealed, mine.chains[body["bars"] - 1] = body["bars"], body["chain"]
        case "resume":
            mine.sealed = None
        case "warm-up":
            mine.warm, mine.chains = body["bars"], {body["bars"] - 1: body["chain"]}
        case "bar":
            mine.chains[body["bar"]] = body["chain"]
            for decision in body["decisions"]:
                if decision["plan"] in facts.plans:
                    facts.plans[decision["plan"]]["is_done"] = True
            for lock in body["locks"]:
                facts.locks.setdefault(lock["account"], []).append(lock)
        case _:
            pass


def _account(start: Mapping[str, Any]) -> str:
    return str(start.get("account", account_of(start["by"])))


def _deployment_difference(session: Session, facts: _Facts, deployment: str) -> str | None:
    row = session.get(DeploymentRow, deployment)
    told, revoked = facts.deployments.get(deployment), facts.revoked.get(deployment)
    if row is None or told is None:
        return f"deployment {deployment} is not both in the store and in the audit log"
    # Its id is a part of the hash only; the whole of it has been in the log since there was a need.
    for name, stored in (("text", sha256(row.document)), ("key", row.public_key)):
        if told.get(name, stored) != stored:
            return f"deployment {deployment}: its {name} is another one in the store than in the audit log"
    if revoked is not None and row.revoked is None:
        return (
            f"deployment {deployment} is not revoked in the store, and the audit log says that {revoked['by']} revoked it: "
            f"{revoked['reason']}"
        )
    return None


def _run_difference(session: Session, facts: _RunFacts, run: str) -> str | None:
    row, start = session.get_one(RunRow, run), facts.start
    stored = {
        "deployment": row.deployment,
        "symbol": row.symbol,
        "account": row.account,
        "started_by": row.started_by,
        "feed": row.feed,
        "unguarded_by": row.unguarded_by,
        "warm": row.warm,
    }
    told = {name: start.get(name) for name in stored}
    told |= {"account": _account(start), "started_by": start["by"], "warm": facts.warm}
    for name, value in stored.items():
        if value != told[name]:
            return f"paper run {run}: its {name} is {value!r} in the store and {told[name]!r} in the audit log"
    return _guard_difference(run, row.guards, start["guards"])


def _guard_difference(run: str, stored: str | None, told: str | None) -> str | None:
    if stored == told:
        return None
    try:
        mine, theirs = json.loads(stored or "{}"), json.loads(told or "{}")
        name = next(name for name in {**theirs, **mine} if mine.get(name) != theirs.get(name))
        detail = f"{name} is {mine.get(name)!r} in the store and {theirs.get(name)!r} in the audit log"
    except (ValueError, TypeError, AttributeError, StopIteration):
        detail = "they are not as they were written"
    return f"paper run {run}: its guards were changed: {detail}"


def _status_difference(session: Session, facts: _RunFacts, run: str) -> str | None:
    row = session.get(RunRow, run)
    if row is None:
        return f"paper run {run} is in the audit log and not in the store"
    if row.status != facts.status:
        return f"paper run {run} is {row.status} in the store and {facts.status} in the audit log"
    if row.stop_by != facts.stop_by:
        return (
            f"paper run {run}: asked to stop by {row.stop_by or 'nobody'} in the store and by {facts.stop_by or 'nobody'} in "
            f"the audit log"
        )
    return None


def _chain_difference(session: Session, facts: _RunFacts, run: str) -> str | None:
    query = select(col(BarRow.bar), col(BarRow.chain), col(BarRow.asked)).where(col(BarRow.run) == run)
    stored = {int(number): (str(chain), asked != _NOTHING_ASKED) for number, chain, asked in session.execute(query)}
    for number, chain in facts.chains.items():
        if number not in stored or stored[number][0] != chain:
            fault = "is not in the store" if number not in stored else "is another one in the store"
            return f"paper run {run}: bar {number} of the audit log {fault}"
    return _unlogged(session, facts, run, stored)


def _unlogged(session: Session, facts: _RunFacts, run: str, stored: Mapping[int, tuple[str, bool]]) -> str | None:
    """A bar that the log would know, if a runner had written it."""
    asked = {number for number, (_, is_asked) in stored.items() if is_asked}
    filled = set(session.scalars(select(col(FillRow.bar)).where(col(FillRow.run) == run)))
    late = set() if facts.sealed is None else {number for number in stored if number >= facts.sealed}
    early = set(stored) if facts.warm == 0 else set()
    unknown = ((asked | filled) - facts.chains.keys()) | late | early
    return f"paper run {run}: bar {min(unknown)} is in the store and not in the audit log" if unknown else None


def _lock_difference(session: Session, facts: _Facts, account: str) -> str | None:
    rows = session.scalars(select(LockRow).where(col(LockRow.account) == account))
    stored = {encode({name: getattr(row, name) for name in _LOCK_FIELDS}) for row in rows}
    told = {encode(dict(lock)) for lock in facts.locks.get(account, ())}
    sides = (
        (told - stored, "in the audit log and not in the store"),
        (stored - told, "in the store and not in the audit log"),
    )
    for locks, where in sides:
        if locks:
            lock = json.loads(min(locks))
            what = lock["symbol"] or lock["market"] or "everything"
            return f"account {account!r}: the lock of {what} until {lock['until'][:16]}Z by {lock['rule']} is {where}"
    return None
