"""``Pool``: what passed admission, and what people decided about it.

UnknownIdError    (``evolution.ledger``) no entry, or several, begin like that
DecisionError     (``evolution.pool.decisions``) a decision without a person or a reason
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import col

from evolution.pool import decisions, promotion
from evolution.pool.codes import Codes, authority_of, stored_codes
from evolution.pool.entry import DecisionKind, EntryStatus, PoolEntry, entry_id
from evolution.pool.intake import Consideration, Intake
from evolution.pool.looks import LookPolicy, looks_left, read_looks
from evolution.pool.people import NoAuthority, People, keys_of
from evolution.pool.promotion import PromotionRefused
from evolution.pool.readings import ValidationReads
from evolution.pool.shelf import entries, entry_value, find_number
from evolution.tables import DecisionRow, PoolEntryRow, RefusalRow, RunIntervalRow, SourceRow
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine

    from evolution.pool.decisions import ChainReport
    from evolution.pool.entry import Binding, Decision
    from evolution.pool.exhibits import AdmissionLimits
    from evolution.pool.people import Signer
    from evolution.pool.promotion import LookContext, Promotion, Rescore, VaultOpener
    from evolution.pool.segment import Runner, Segment
    from evolution.trial import Trial
    from runtime.kernel.report import RunConfig
    from runtime.market import DataSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision stands in the log."""

    entry: PoolEntry
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPossible:
    """The entry is not in a state in which this can be decided; nothing was written."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One stored check that kept a candidate out."""

    candidate_id: str
    check: str
    figure: float | None
    limit: float
    sentence: str


class Pool:
    """The pool of one store. Safe for several processes at once."""

    def __init__(self, engine: Engine, *, now: Callable[[], datetime]) -> None:
        self._engine = engine
        self._now = now
        self._intake = Intake(engine, now=now)

    @property
    def people(self) -> People:
        """Who may decide."""
        return People(engine=self._engine, now=self._now)

    @property
    def codes(self) -> Codes:
        """One-time codes for decisions that are typed into a form."""
        return Codes(engine=self._engine, now=self._now)

    # Reading

    def validation_reads(self, run_id: str) -> tuple[Segment, ...]:
        """What a run's reads of validation found, in order."""
        return ValidationReads(engine=self._engine, now=self._now).of_run(run_id)

    def list(self, status: EntryStatus | None = None, *, run_id: str | None = None) -> tuple[PoolEntry, ...]:
        """Entries in order of admission, all of them or those with a status or from a run."""
        query = entries().order_by(col(PoolEntryRow.number))
        if status is not None:
            query = query.where(col(PoolEntryRow.status) == status.value)
        if run_id is not None:
            query = query.where(col(PoolEntryRow.run_id) == run_id)
        with reading(self._engine) as session:
            return tuple(entry_value(row, source) for row, source in session.execute(query))

    def get(self, id_or_prefix: str) -> PoolEntry:
        """One entry, by its id or the beginning of it, or by the beginning of its source's hash.

        Raises:
            UnknownIdError: No entry, or more than one, fits.
        """
        with reading(self._engine) as session:
            number = find_number(session, id_or_prefix)
            row, source = session.execute(entries().where(col(PoolEntryRow.number) == number)).one()
            return entry_value(row, source)

    def refusals(self, run_id: str) -> tuple[Refusal, ...]:
        """The checks that kept a run's candidates out, by candidate and check."""
        query = select(RefusalRow).where(col(RefusalRow.run_id) == run_id)
        with reading(self._engine) as session:
            rows = session.scalars(query.order_by(col(RefusalRow.candidate_id), col(RefusalRow.check)))
            return tuple(
                Refusal(
                    candidate_id=row.candidate_id,
                    check=row.check,
                    figure=row.figure,
                    limit=row.limit,
                    sentence=row.sentence,
                )
                for row in rows
            )

    def decisions(self, entry: PoolEntry | None = None) -> tuple[Decision, ...]:
        """The decision log in order, of one entry or of all."""
        query = select(DecisionRow, col(PoolEntryRow.dataset)).join(
            PoolEntryRow, col(PoolEntryRow.number) == col(DecisionRow.entry)
        )
        if entry is not None:
            query = query.where(col(DecisionRow.entry) == entry.number)
        with reading(self._engine) as session:
            rows = session.execute(query.order_by(col(DecisionRow.number)))
            return tuple(decisions.decision_value(row, dataset) for row, dataset in rows)

    def verify_chain(self) -> ChainReport:
        """Whether the decision log is whole, its signatures hold, and the entries' statuses follow from it."""
        with reading(self._engine) as session:
            rows = session.scalars(select(DecisionRow).order_by(col(DecisionRow.number))).all()
            statuses = session.execute(select(col(PoolEntryRow.number), col(PoolEntryRow.status))).all()
            keys, codes = keys_of(session), stored_codes(session)
            looks = {look.number: look.passed for look in read_looks(session)}
        reached = {number: status for number, status in statuses if number is not None}
        return decisions.verify(rows, reached, keys, codes, looks)

    # Admission

    def consider(  # noqa: PLR0913 - a candidate, its data, and how it is run
        self,
        trial: Trial,
        *,
        dataset: DataSet,
        runner: Runner,
        config: RunConfig,
        limits: AdmissionLimits | None = None,
        workers: int = 1,
        is_exhaustive: bool = False,
    ) -> Consideration:
        """Put a stored trial through the admission checks (``evolution.pool.intake``, which says what it raises)."""
        return self._intake.consider(
            trial,
            dataset=dataset,
            runner=runner,
            config=config,
            limits=limits,
            workers=workers,
            is_exhaustive=is_exhaustive,
        )

    # Decisions

    def promote(  # noqa: PLR0913 - a promotion is bound to all of this
        self,
        id_or_prefix: str,
        *,
        by: str,
        reason: str,
        context: LookContext,
        policy: LookPolicy | None = None,
        signer: Signer | None = None,
    ) -> Promotion:
        """Spend one look at the vault on an entry, and promote it if it passes; see ``evolution.pool.promotion``.

        Raises:
            DecisionError: No person or no reason.
            UnknownIdError: No entry, or more than one, fits.
        """
        entry = self.get(id_or_prefix)
        request = self._request(entry, DecisionKind.PROMOTED, by, reason, policy, signer)
        if isinstance(request, PromotionRefused):
            return request
        return promotion.promote(self._engine, entry, request, context, now=self._now)

    def obstacle(
        self, entry: PoolEntry, *, binding: Binding, open_vault: VaultOpener, policy: LookPolicy | None = None
    ) -> PromotionRefused | None:
        """Why a promotion would be refused as things stand; nothing is spent and nobody is enrolled."""
        return promotion.obstacle(
            self._engine, entry, binding=binding, policy=policy or LookPolicy(), open_vault=open_vault
        )

    def looks_left(self, entry: PoolEntry, policy: LookPolicy | None = None) -> int:
        """How many more looks the error budget pays for at the vault of an entry's data, until newer bars come."""
        query = select(col(RunIntervalRow.symbol), col(RunIntervalRow.timeframe)).where(
            col(RunIntervalRow.run_id) == entry.run_id
        )
        with reading(self._engine) as session:
            searched = session.execute(query.distinct()).all()
            looks = read_looks(session)
        symbols, timeframes = {symbol for symbol, _ in searched}, {timeframe for _, timeframe in searched}
        chosen = LookPolicy() if policy is None else policy
        return min(looks_left(looks, sorted(symbols), each, chosen) for each in timeframes or {""})

    def seen_until(self, entry: PoolEntry) -> datetime | None:
        """End of the newest bar that a look at this entry has seen; None when it had none."""
        with reading(self._engine) as session:
            looks = [look for look in read_looks(session) if look.entry == entry.number]
        return max((interval.end for look in looks for interval in look.intervals), default=None)

    def rescore(  # noqa: PLR0913 - a look is bound to all of this
        self,
        id_or_prefix: str,
        *,
        by: str,
        reason: str,
        context: LookContext,
        policy: LookPolicy | None = None,
        signer: Signer | None = None,
    ) -> Rescore:
        """Spend one look at newer bars on a promoted entry, and retire it if it does not hold (``evolution.pool.promotion``).

        Raises:
            DecisionError: No person or no reason.
            UnknownIdError: No entry, or more than one, fits.
        """
        entry = self.get(id_or_prefix)
        request = self._request(entry, DecisionKind.RESCORED, by, reason, policy, signer)
        if isinstance(request, PromotionRefused):
            return request
        return promotion.rescore(self._engine, entry, request, context, now=self._now)

    def _request(  # noqa: PLR0913, PLR0917 - what is asked for, and by whom
        self,
        entry: PoolEntry,
        kind: DecisionKind,
        by: str,
        reason: str,
        policy: LookPolicy | None,
        signer: Signer | None,
    ) -> promotion.Request | PromotionRefused:
        """Who may not decide is refused before anything is opened."""
        by, reason = decisions.checked_person(by), decisions.checked_reason(reason)
        with reading(self._engine) as session:
            authority = authority_of(session, session.get_one(PoolEntryRow, entry.number), kind, by, signer)
        if isinstance(authority, NoAuthority):
            return PromotionRefused(reason=authority.reason)
        return promotion.Request(authority=authority, reason=reason, policy=LookPolicy() if policy is None else policy)

    def decline(
        self, id_or_prefix: str, *, by: str, reason: str, signer: Signer | None = None
    ) -> Decided | NotPossible:
        """Turn an entry down, for good.

        Raises:
            DecisionError: No person or no reason.
            UnknownIdError: No entry, or more than one, fits.
        """
        return self._decide(id_or_prefix, DecisionKind.DECLINED, EntryStatus.CANDIDATE, by, reason, signer)

    def retire(self, id_or_prefix: str, *, by: str, reason: str, signer: Signer | None = None) -> Decided | NotPossible:
        """Take a promoted entry out of use, for good.

        Raises:
            DecisionError: No person or no reason.
            UnknownIdError: No entry, or more than one, fits.
        """
        return self._decide(id_or_prefix, DecisionKind.RETIRED, EntryStatus.PROMOTED, by, reason, signer)

    def _decide(  # noqa: PLR0913, PLR0917 - what is decided, and by whom
        self, id_or_prefix: str, kind: DecisionKind, needed: EntryStatus, by: str, reason: str, signer: Signer | None
    ) -> Decided | NotPossible:
        by, reason = decisions.checked_person(by), decisions.checked_reason(reason)
        with writing(self._engine, durable=True) as session:
            row = session.get_one(PoolEntryRow, find_number(session, id_or_prefix))
            authority = authority_of(session, row, kind, by, signer)
            if isinstance(authority, NoAuthority):
                return NotPossible(reason=authority.reason)
            if row.status != needed.value:
                return NotPossible(
                    reason=f"entry {entry_id(row.number or 0)} is {row.status}; only what is {needed.value} "
                    f"can be {kind.value}"
                )
            decision = decisions.append(session, row, kind, reason=reason, at=self._now(), authority=authority)
            source = session.get_one(SourceRow, (row.source_sha256, row.language))
            return Decided(entry=entry_value(row, source), decision=decision)
