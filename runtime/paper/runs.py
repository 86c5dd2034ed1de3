"""Deployments and runs of one store: what may run, what runs, and who asked for what.

RunRefused    a run cannot be started, resumed or stopped, or a deployment not be kept; the text is one sentence, ``code`` what an
              HTTP server in front would answer
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import col

from runtime.paper.audit import read_head, read_lines, steady, verify
from runtime.paper.canon import moment, sha256, stamp
from runtime.paper.deployment import SignedDeployment, account_of, read_deployment
from runtime.paper.limits import RiskLimits
from runtime.paper.tables import DeploymentRow, LeaseRow, RunRow
from runtime.paper.values import RunStatus
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from runtime.paper.audit import Auditor, AuditReport
    from runtime.paper.deployment import Deployment

MOST_RUNS = 10
"""Runs of one account at a time."""

NOT_FOUND, FORBIDDEN, CONFLICT, TOO_MANY = 404, 403, 409, 429


class RunRefused(ValueError):  # noqa: N818  # said to a person as it is
    """Nothing was written."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run as it is stored."""

    id: str
    deployment: str
    account: str
    symbol: str
    started_by: str
    guards: RiskLimits | None
    unguarded_by: str | None
    """Who takes it on themselves that there is no guard."""
    feed: str
    """Where its bars come from, in words that start it again."""
    status: RunStatus
    reason: str
    stop_by: str | None
    created: datetime
    finished: datetime | None
    warm: int
    bars: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """What a person wants to run."""

    deployment: str
    account: str
    symbol: str
    started_by: str
    guards: RiskLimits | None
    """None only together with ``unguarded_by``."""
    feed: str
    unguarded_by: str | None = None


@dataclass(frozen=True, slots=True)
class RunBook:
    """The runs of one store. Safe for several processes at once."""

    engine: Engine
    auditor: Auditor
    most: int = MOST_RUNS

    # Deployments

    def keep(self, signed: SignedDeployment) -> None:
        """Store a signed deployment; the same one twice is the same one."""
        deployment = signed.deployment
        with writing(self.engine, durable=True) as session:
            if session.get(DeploymentRow, deployment.id) is not None:
                return
            session.add(
                DeploymentRow(
                    id=deployment.id,
                    document=deployment.text(),
                    signer=deployment.owner,
                    public_key=signed.public_key,
                    signature=signed.signature,
                )
            )
            body = {
                "deployment": deployment.id,
                "entry": deployment.entry,
                "by": deployment.owner,
                "text": sha256(deployment.text()),
                "key": signed.public_key,
            }
            self.auditor.append(session, "", "deploy", body)

    def deployments(self) -> tuple[SignedDeployment, ...]:
        """All of them, by id."""
        with reading(self.engine) as session:
            return tuple(map(_signed, session.scalars(select(DeploymentRow).order_by(col(DeploymentRow.id)))))

    def deployment(self, deployment_id: str) -> SignedDeployment:
        """One of them.

        Raises:
            RunRefused: there is none, or its text is damaged.
        """
        with reading(self.engine) as session:
            return _find_deployment(session, deployment_id)

    def revoke(self, deployment_id: str, *, by: str, reason: str) -> None:
        """Take a deployment back: its runs end at their next look, and none starts any more.

        Raises:
            RunRefused: there is none, or it is revoked already.
        """
        with writing(self.engine, durable=True) as session:
            row = session.get(DeploymentRow, deployment_id)
            if row is None:
                raise RunRefused(NOT_FOUND, _no_deployment(deployment_id))
            if row.revoked is not None:
                raise RunRefused(CONFLICT, f"deployment {deployment_id} was revoked before, by {row.revoked_by}")
            row.revoked, row.revoked_by, row.revoked_reason = stamp(self.auditor.now()), by, reason
            session.add(row)
            body = {"deployment": deployment_id, "by": by, "reason": reason}
            self.auditor.append(session, "", "revoke", body)

    # Runs

    def open(self, order: RunOrder) -> str:
        """Write a new run down; gives its id. Fail closed: no guard, no run, unless somebody says so by name.

        Raises:
            RunRefused: no guard; too many runs of the account (429); another run of the symbol (409).
        """
        if (order.guards is None or order.guards.is_empty) and order.unguarded_by is None:
            raise RunRefused(
                FORBIDDEN,
                "there is no risk guard, so nothing runs: set limits in [paper.guards], or take it on yourself with "
                "--without-guard --by NAME",
            )
        at = self.auditor.now()
        with writing(self.engine, durable=True) as session:
            _find_deployment(session, order.deployment)
            mine = session.scalars(
                select(RunRow).where(
                    col(RunRow.account) == order.account, col(RunRow.status) == RunStatus.RUNNING.value
                )
            ).all()
            same = next((row for row in mine if row.symbol == order.symbol), None)
            if same is not None:
                raise RunRefused(
                    CONFLICT,
                    f"account {order.account!r} trades {order.symbol} already, in run {same.id}: one run per symbol and "
                    f"account; trigate paper stop {same.id} ends it",
                )
            if len(mine) >= self.most:
                raise RunRefused(
                    TOO_MANY,
                    f"account {order.account!r} has {len(mine)} paper runs, and {self.most} is the most; stop one first "
                    f"(code {TOO_MANY})",
                )
            row = RunRow(
                id=f"t-{at:%Y%m%d}-{secrets.token_hex(3)}",
                deployment=order.deployment,
                account=order.account,
                symbol=order.symbol,
                started_by=order.started_by,
                guards=None if order.guards is None else order.guards.model_dump_json(),
                unguarded_by=order.unguarded_by,
                feed=order.feed,
                status=RunStatus.RUNNING.value,
                created=stamp(at),
            )
            session.add(row)
            session.flush()
            body = {
                "deployment": order.deployment,
                "account": order.account,
                "symbol": order.symbol,
                "by": order.started_by,
                "feed": order.feed,
                "guards": row.guards,
                "unguarded_by": order.unguarded_by,
            }
            self.auditor.append(session, row.id, "start", body)
            return row.id

    def reopen(self, run: str, *, by: str) -> None:
        """Let a run that ended go on. One that drifted does not: what it would go on from is not what is stored.

        Raises:
            RunRefused: there is none, it belongs to somebody else, it drifted, or its symbol is taken meanwhile.
        """
        with writing(self.engine, durable=True) as session:
            row = _find(session, run)
            _record(row)
            if account_of(by) != row.account:
                raise RunRefused(
                    FORBIDDEN, f"paper run {run} belongs to account {row.account!r}, and only its owner lets it go on"
                )
            if row.status == RunStatus.RUNNING.value and row.stop_by is None:
                return
            if row.status == RunStatus.DRIFTED.value:
                raise RunRefused(CONFLICT, f"paper run {run} drifted ({row.reason}); start a new one")
            other = session.scalars(
                select(RunRow).where(
                    col(RunRow.account) == row.account,
                    col(RunRow.symbol) == row.symbol,
                    col(RunRow.status) == RunStatus.RUNNING.value,
                    col(RunRow.id) != run,
                )
            ).first()
            if other is not None:
                raise RunRefused(CONFLICT, f"account {row.account!r} trades {row.symbol} in run {other.id} by now")
            row.status, row.reason, row.stop_by, row.finished = RunStatus.RUNNING.value, "", None, None
            session.add(row)
            self.auditor.append(session, run, "reopen", {"by": by})

    def stop(self, run: str, *, by: str) -> bool:
        """Ask a run to stop; gives whether it is over already, since nobody runs it.

        Raises:
            RunRefused: there is none, or it is over.
        """
        at = self.auditor.now()
        with writing(self.engine, durable=True) as session:
            row = _find(session, run)
            if _record(row).status.is_over:
                raise RunRefused(CONFLICT, f"paper run {run} is {row.status} already")
            row.stop_by = by
            lease = session.get(LeaseRow, run)
            is_over = lease is None or lease.expires <= stamp(at)
            if is_over:
                row.status, row.reason, row.finished = RunStatus.STOPPED.value, f"by {by}", stamp(at)
            session.add(row)
            self.auditor.append(session, run, "stop", {"by": by, "over": is_over})
        return is_over

    def get(self, run: str) -> RunRecord:
        """One run.

        Raises:
            RunRefused: there is none, or its guards are damaged.
        """
        with reading(self.engine) as session:
            return _record(_find(session, run))

    def list(self) -> tuple[RunRecord, ...]:
        """All runs, newest first."""
        with reading(self.engine) as session:
            rows = session.scalars(select(RunRow).order_by(col(RunRow.created).desc(), col(RunRow.id)))
            return tuple(map(_record, rows))

    def audit(self) -> tuple[Sequence[str], AuditReport]:
        """The audit log's lines, and whether they are whole."""
        seen = self.auditor.seen()
        with reading(steady(self.engine)) as session:
            lines, head = read_lines(session), read_head(session)
        return lines, verify(lines, head, self.auditor.key.public_key, seen=seen)


def _find(session: Session, run: str) -> RunRow:
    row = session.get(RunRow, run)
    if row is None:
        raise RunRefused(NOT_FOUND, f"there is no paper run {run!r}; trigate paper list shows them")
    return row


def _find_deployment(session: Session, deployment_id: str) -> SignedDeployment:
    row = session.get(DeploymentRow, deployment_id)
    if row is None:
        raise RunRefused(NOT_FOUND, _no_deployment(deployment_id))
    return _signed(row)


def _no_deployment(deployment_id: str) -> str:
    return f"there is no deployment {deployment_id!r}; trigate paper list shows them, and a promotion signs one"


def _signed(row: DeploymentRow) -> SignedDeployment:
    try:
        deployment: Deployment = read_deployment(row.document)
    except ValueError as error:
        raise RunRefused(CONFLICT, f"deployment {row.id}: {error}; sign again with trigate paper deploy") from error
    if deployment.id != row.id:
        raise RunRefused(
            CONFLICT, f"deployment {row.id}: holds the text of {deployment.id}; sign again with trigate paper deploy"
        )
    revoked = None if row.revoked is None else f"by {row.revoked_by} on {row.revoked[:10]}: {row.revoked_reason}"
    return SignedDeployment(deployment=deployment, public_key=row.public_key, signature=row.signature, revoked=revoked)


def _guards(run: str, text: str) -> RiskLimits:
    try:
        return RiskLimits.model_validate_json(text)
    except ValueError:
        raise RunRefused(
            CONFLICT,
            f"paper run {run}: its guards are not as they were written; trigate paper audit tells what they were",
        ) from None


def _record(row: RunRow) -> RunRecord:
    try:
        return _read_record(row)
    except RunRefused:
        raise
    except ValueError as error:
        raise RunRefused(
            CONFLICT, f"paper run {row.id}: is not as it was written ({error}); trigate paper audit tells what it was"
        ) from error


def _read_record(row: RunRow) -> RunRecord:
    return RunRecord(
        id=row.id,
        deployment=row.deployment,
        account=row.account,
        symbol=row.symbol,
        started_by=row.started_by,
        guards=None if row.guards is None else _guards(row.id, row.guards),
        unguarded_by=row.unguarded_by,
        feed=row.feed,
        status=RunStatus(row.status),
        reason=row.reason,
        stop_by=row.stop_by,
        created=moment(row.created),
        finished=None if row.finished is None else moment(row.finished),
        warm=row.warm,
        bars=row.bars,
        state=row.state,
    )
