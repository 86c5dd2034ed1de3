"""Plans of people and models: one door in, a second party, and out through the same order path as a strategy's own.

A plan waits until somebody else than its maker approves it, or until its time is over. What may be planned at all is configuration
(``runtime.paper.permissions``): patterns of ``kind:action``, of which a denying one always wins. The runner executes approved plans at the next bar.

PlanProblem    a plan or an answer to one is not possible; the text is one sentence
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, select
from sqlmodel import col

from runtime.desk import Action, Request
from runtime.kernel.logged import read_request
from runtime.kernel.tickets import canonical
from runtime.paper.canon import encode, moment, stamp
from runtime.paper.deployment import account_of
from runtime.paper.signing import is_signed
from runtime.paper.tables import PlanRow, RunRow, TokenRow
from runtime.paper.values import MakerKind, PlanStatus, RunStatus
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from runtime.paper.audit import Auditor
    from runtime.paper.permissions import Permissions

BY_POLICY = "system:policy"
"""The approver of what a person has allowed beforehand, in the configuration."""
_MACHINES = "system:"


class PlanProblem(ValueError):  # noqa: N818  # said to a person as it is
    """Nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What somebody wants to be done."""

    id: str
    run: str
    request: str
    """Canonical text."""
    reason: str
    maker: str
    maker_kind: MakerKind
    created: datetime
    expires: datetime
    status: PlanStatus
    checker: str | None


def plan_text(plan: Plan) -> str:
    """A plan as text, without its status: what an approval is about and a signature covers."""
    facts = [plan.id, plan.run, plan.request, plan.reason, plan.maker, plan.maker_kind.value]
    return encode(["trigate-plan/1", *facts, stamp(plan.created), stamp(plan.expires)])


def answer_text(plan: Plan, *, approve: bool) -> str:
    """What a person signs who answers a plan: a signed no is no yes."""
    return encode(["trigate-answer/1", plan_text(plan), "approved" if approve else "rejected"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Who makes a plan, and why."""

    name: str
    """The enrolled person, or service, with whose key it was made; for a model's plan, who ran the model."""
    kind: MakerKind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What tells an approval from a word that somebody wrote into the store."""

    keys: Mapping[str, str]
    """Enrolled public keys by account (``account_of``)."""
    permissions: Permissions
    """As they are now: what the policy has approved, it must still allow, and what it denies by now nobody's approval carries."""
    logged: Callable[[str], Mapping[str, Any] | None] | None = None
    """What the signed log says of a plan, by its id; None believes the plan's row."""

    def holds(self, row: PlanRow) -> bool:
        """Whether an enrolled person other than the maker has signed for the plan, or the policy allows it."""
        try:
            plan = _plan(row)
            request = read_request(plan.request)
        except ValueError:  # a row that nobody here wrote
            return False
        if not isinstance(request.action, Action):
            return False
        if self.logged is not None and plan_difference(plan, row.signature, self.logged(plan.id)) is not None:
            return False
        verdict = self.permissions.verdict(plan.maker_kind, request.action)
        if plan.checker == BY_POLICY or verdict == "deny":
            return verdict == "allow" and plan.checker == BY_POLICY
        checker, maker = account_of(plan.checker or ""), account_of(plan.maker)
        key = self.keys.get(checker)
        return (
            key is not None
            and checker != maker
            and key != self.keys.get(maker)
            and is_signed(key, answer_text(plan, approve=True), row.signature or "")
        )


@dataclass(frozen=True, slots=True)
class PlanBook:
    """The plans of one store."""

    engine: Engine
    auditor: Auditor

    def make(self, run: str, request: Request, maker: Maker, permissions: Permissions) -> Plan:
        """Make a plan; it waits for its approval unless the permissions allow it beforehand.

        Raises:
            PlanProblem: there is no such run, it is over, or the permissions deny it.
        """
        if not isinstance(request.action, Action):
            raise PlanProblem("a plan buys, sells, closes, sets a target or cancels")
        verdict = permissions.verdict(maker.kind, request.action)
        if verdict == "deny":
            raise PlanProblem(
                f"plans like {maker.kind.value}:{request.action.value} are denied in [paper.plans]; nothing was planned"
            )
        at = self.auditor.now()
        with writing(self.engine, durable=True) as session:
            _running(session, run)
            row = PlanRow(
                id=f"{run}-h{secrets.token_hex(4)}",
                run=run,
                request=canonical(request),
                reason=maker.reason,
                maker=maker.name,
                maker_kind=maker.kind.value,
                created=stamp(at),
                expires=stamp(at + timedelta(minutes=permissions.life_minutes)),
                status=PlanStatus.PENDING.value,
            )
            if verdict == "allow":
                row.status, row.checker, row.checked = PlanStatus.APPROVED.value, BY_POLICY, stamp(at)
            session.add(row)
            session.flush()
            plan = _plan(row)
            self.auditor.append(
                session,
                run,
                "plan",
                {
                    "plan": plan.id,
                    "request": plan.request,
                    "maker": plan.maker,
                    "kind": plan.maker_kind.value,
                    "reason": plan.reason,
                    "expires": row.expires,
                    "verdict": verdict,
                },
            )
        return plan

    def answer(self, plan_id: str, *, by: str, approve: bool, public_key: str | None, signature: str | None) -> Plan:
        """Approve or reject a plan.

        Args:
            plan_id: which.
            by: the person who answers, as enrolled.
            approve: False rejects.
            public_key: the person's, hex; None where nobody has keys.
            signature: over ``answer_text``, hex.

        Raises:
            PlanProblem: it does not wait any more, or the person made it, or the signature does not hold.
        """
        at = self.auditor.now()
        if by.startswith(_MACHINES):
            raise PlanProblem(f"{by!r} is no person, and a person answers a plan")
        with writing(self.engine, durable=True) as session:
            row = session.get(PlanRow, plan_id)
            if row is None:
                raise PlanProblem(f"there is no plan {plan_id!r}; trigate paper list shows those that wait")
            plan = _plan(row)
            if plan.status is not PlanStatus.PENDING:
                raise PlanProblem(f"plan {plan_id} is {plan.status.value}; only one that waits can be answered")
            if at >= plan.expires:
                raise PlanProblem(f"plan {plan_id} was good until {row.expires}; make it again")
            if approve and account_of(by) == account_of(plan.maker):
                raise PlanProblem(
                    f"{by} made this plan, and whoever makes a plan never approves it; somebody else must"
                )
            if signature is not None and not is_signed(public_key or "", answer_text(plan, approve=approve), signature):
                raise PlanProblem(f"the signature on plan {plan_id} does not hold; nothing was approved")
            status = PlanStatus.APPROVED if approve else PlanStatus.REJECTED
            row.status, row.checker, row.checked = status.value, by, stamp(at)
            row.public_key, row.signature = public_key, signature
            session.add(row)
            session.flush()
            self.auditor.append(
                session, row.run, "answer", {"plan": plan_id, "by": by, "status": status.value, "signature": signature}
            )
            return _plan(row)

    def get(self, plan_id: str) -> Plan:
        """One plan.

        Raises:
            PlanProblem: there is none.
        """
        with reading(self.engine) as session:
            row = session.get(PlanRow, plan_id)
            if row is None:
                raise PlanProblem(f"there is no plan {plan_id!r}; trigate paper list shows those that wait")
            return _plan(row)

    def waiting(self) -> tuple[Plan, ...]:
        """Plans that wait for an answer and are still good, oldest first."""
        return tuple(plan for plan in self._with(PlanStatus.PENDING, None) if plan.expires > self.auditor.now())

    def approved(self, run: str, proof: Proof | None = None) -> tuple[tuple[str, Request], ...]:
        """Plans to be executed in a run now.

        Args:
            run: which.
            proof: what an approval has to stand up to; None believes the store.

        A plan that was executed once is not, whatever its row says by now: its token was spent.
        """
        at = self.auditor.now()
        query = select(PlanRow).where(
            col(PlanRow.run) == run,
            col(PlanRow.status) == PlanStatus.APPROVED.value,
            col(PlanRow.maker_kind) != MakerKind.STRATEGY.value,
            col(PlanRow.expires) > stamp(at),
            ~exists().where(col(TokenRow.plan) == col(PlanRow.id)),
        )
        with reading(self.engine) as session:
            rows = session.scalars(query.order_by(col(PlanRow.created), col(PlanRow.id)))
            return tuple((row.id, read_request(row.request)) for row in rows if proof is None or proof.holds(row))

    def _with(self, status: PlanStatus, run: str | None) -> Sequence[Plan]:
        query = select(PlanRow).where(col(PlanRow.status) == status.value)
        if run is not None:
            query = query.where(col(PlanRow.run) == run)
        with reading(self.engine) as session:
            return [_plan(row) for row in session.scalars(query.order_by(col(PlanRow.created), col(PlanRow.id)))]


def plan_difference(plan: Plan, signature: str | None, told: Mapping[str, Any] | None) -> str | None:
    """Why a plan, as it is stored, cannot be answered or carried out by what the signed log says of it; None when it can.

    Args:
        plan: As it is stored.
        signature: On its answer, as it is stored; None while it has none.
        told: What the log says (``runtime.paper.attest.Attestor.plan``).
    """
    if told is None:
        return f"plan {plan.id} is in the store, and the audit log does not know it, or is not whole"
    if told["is_done"]:
        return f"plan {plan.id} was carried out, or refused by a guard, before"
    stored = {
        "request": plan.request,
        "maker": plan.maker,
        "reason": plan.reason,
        "kind": plan.maker_kind.value,
        "expires": stamp(plan.expires),
    }
    for name, value in stored.items():
        if told.get(name, value) != value:  # older lines know no kind and no time
            return f"plan {plan.id}: its {name} is {value!r} in the store and {told[name]!r} in the audit log"
    answer = told["answer"]
    logged = None if answer is None else (answer["by"], answer["status"], answer["signature"])
    is_answered = plan.checker not in {None, BY_POLICY}
    if logged != ((plan.checker, plan.status.value, signature) if is_answered else None):
        return (
            f"plan {plan.id} is {plan.status.value} in the store, and the audit log knows another answer to it, or none"
        )
    return None


def _running(session: Session, run: str) -> None:
    row = session.get(RunRow, run)
    if row is None:
        raise PlanProblem(f"there is no paper run {run!r}; trigate paper list shows them")
    if RunStatus(row.status).is_over:
        raise PlanProblem(f"paper run {run} is {row.status}; a plan needs one that runs")


def _plan(row: PlanRow) -> Plan:
    try:
        return _read_plan(row)
    except ValueError as error:
        raise PlanProblem(
            f"plan {row.id}: is not as it was written ({error}); trigate paper audit tells what it was"
        ) from error


def _read_plan(row: PlanRow) -> Plan:
    return Plan(
        id=row.id,
        run=row.run,
        request=row.request,
        reason=row.reason,
        maker=row.maker,
        maker_kind=MakerKind(row.maker_kind),
        created=moment(row.created),
        expires=moment(row.expires),
        status=PlanStatus(row.status),
        checker=row.checker,
    )
