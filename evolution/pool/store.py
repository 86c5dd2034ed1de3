"""``Pool``: what passed admission, and what people decided about it.

UnknownIdError    (``evolution.ledger``) no entry, or several, begin like that
DecisionError     (``evolution.pool.decisions``) a decision without a person or a reason
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import col

from evolution.census import TrialCensus
from evolution.ledger import TrialLedger, UnknownIdError
from evolution.pool import decisions, promotion
from evolution.pool.admission import AdmissionLimits, examine, is_admitted
from evolution.pool.bench import CandidateBench
from evolution.pool.card import AdmissionCard, CheckResult, EvidenceNote
from evolution.pool.entry import Binding, DecisionKind, EntryStatus, PoolEntry, entry_id
from evolution.pool.looks import LookPolicy, looks_left, read_looks
from evolution.pool.notes import NightLuck, evidence_notes, night_luck
from evolution.pool.people import NoAuthority, People, authorise, keys_of
from evolution.pool.promotion import PromotionRefused
from evolution.pool.readings import ValidationReads
from evolution.rows import source_value
from evolution.tables import DecisionRow, PoolEntryRow, RefusalRow, RunIntervalRow, SourceRow
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Engine, Select
    from sqlalchemy.orm import Session

    from evolution.pool.decisions import ChainReport
    from evolution.pool.entry import Decision
    from evolution.pool.people import Signer
    from evolution.pool.promotion import Promotion, Rescore, RunnerOpener, VaultOpener
    from evolution.pool.segment import Runner, Segment
    from evolution.run import RunRecord
    from evolution.trial import Trial
    from fitness.card import Scorecard
    from runtime.kernel.report import RunConfig
    from runtime.market import DataSet

# Shorter beginnings of a hash would often fit several entries, and look like an id.
_SHORTEST_HASH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """The candidate is in the pool now."""

    entry: PoolEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyIn:
    """The same source is in the pool already, for the same data, configuration and engine; nothing was run."""

    entry: PoolEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAdmitted:
    """A check refused the candidate; every refusal is stored with its figure."""

    card: AdmissionCard


Consideration = Entered | AlreadyIn | NotAdmitted


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
        self._ledger = TrialLedger(engine, now=now)
        self._census = TrialCensus(engine)
        self._luck: tuple[bytes, NightLuck] | None = None

    @property
    def people(self) -> People:
        """Who may decide."""
        return People(engine=self._engine, now=self._now)

    # Reading

    def validation_reads(self, run_id: str) -> tuple[Segment, ...]:
        """What a run's reads of validation found, in order."""
        return ValidationReads(engine=self._engine, now=self._now).of_run(run_id)

    def list(self, status: EntryStatus | None = None, *, run_id: str | None = None) -> tuple[PoolEntry, ...]:
        """Entries in order of admission, all of them or those with a status or from a run."""
        query = _entries().order_by(col(PoolEntryRow.number))
        if status is not None:
            query = query.where(col(PoolEntryRow.status) == status.value)
        if run_id is not None:
            query = query.where(col(PoolEntryRow.run_id) == run_id)
        with reading(self._engine) as session:
            return tuple(_entry(row, source) for row, source in session.execute(query))

    def get(self, id_or_prefix: str) -> PoolEntry:
        """One entry, by its id or the beginning of it, or by the beginning of its source's hash.

        Raises:
            UnknownIdError: No entry, or more than one, fits.
        """
        with reading(self._engine) as session:
            number = _find(session, id_or_prefix)
            row, source = session.execute(_entries().where(col(PoolEntryRow.number) == number)).one()
            return _entry(row, source)

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
            keys = keys_of(session)
        return decisions.verify(rows, {number: status for number, status in statuses if number is not None}, keys)

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
        """Put a stored trial through the admission checks.

        Args:
            trial: A VETOED or SCORED trial, as stored in the ledger.
            dataset: The data of the trial's run.
            runner: Runs the source on rows of ``admission_bars(dataset)``.
            config: How the run's trials were run.
            limits: What to keep to.
            workers: Versions of the source that run at the same time.
            is_exhaustive: Make every check even when one has refused (``evolution.pool.admission.examine``).

        Raises:
            UnknownIdError: The trial is not in the ledger.
            ValueError: The trial has no scorecard or is not the stored one, or the data is not that of its run.
        """
        run, train = self._checked(trial, dataset)
        binding = binding_of(run)
        present = self._present(trial.candidate.source.sha256, binding)
        if present is not None:
            return AlreadyIn(entry=present)
        bench = CandidateBench(
            trial=trial,
            binding=binding,
            dataset=dataset,
            runner=runner,
            config=config,
            reads=ValidationReads(engine=self._engine, now=self._now),
            trials=self._census,
            workers=workers,
        )
        card, exhibits = examine(
            train,
            train_bars=sum(cell.stop - cell.start for cell in dataset.train_cells()),
            config=config,
            limits=AdmissionLimits() if limits is None else limits,
            bench=bench,
            is_exhaustive=is_exhaustive,
        )
        if not is_admitted(card):
            self._refuse(trial, card)
            return NotAdmitted(card=card)
        notes = evidence_notes(exhibits, self._luck_of(trial.candidate.run_id))
        return self._enter(trial, replace(card, notes=notes), binding)

    def _luck_of(self, run_id: str) -> NightLuck:
        """Made once for all entries of a night, and again when it has grown since."""
        trials = self._census.matrix(run_id)
        digest = hashlib.sha256(trials.tobytes()).digest()
        if self._luck is None or self._luck[0] != digest:
            self._luck = (digest, night_luck(trials))
        return self._luck[1]

    def _checked(self, trial: Trial, dataset: DataSet) -> tuple[RunRecord, Scorecard]:
        candidate = trial.candidate
        run = self._ledger.run(candidate.run_id)
        stored = self._ledger.trial(run.id, candidate.id)
        if stored.scorecard is None:
            raise ValueError(
                f"trial {candidate.id}: ended as {stored.outcome.value}; only what was scored is considered"
            )
        if (stored.candidate, stored.scorecard) != (candidate, trial.scorecard):
            raise ValueError(f"trial {candidate.id} of run {run.id}: is not the one in the ledger")
        if dataset.sha256 != run.facts.dataset_sha256:
            raise ValueError(
                f"data set {dataset.name}: is {dataset.sha256[:12]}, and run {run.id} was on "
                f"{run.facts.dataset_sha256[:12]} ({run.facts.dataset})"
            )
        return run, stored.scorecard

    def _present(self, sha256: str, binding: Binding) -> PoolEntry | None:
        with reading(self._engine) as session:
            found = session.execute(_same(sha256, binding)).first()
            return None if found is None else _entry(*found)

    def _refuse(self, trial: Trial, card: AdmissionCard) -> None:
        candidate, created = trial.candidate, self._now()
        with writing(self._engine) as session:
            for check in card.failed:
                session.merge(
                    RefusalRow(
                        run_id=candidate.run_id,
                        candidate_id=candidate.id,
                        check=check.name,
                        figure=check.figure,
                        limit=check.limit,
                        sentence=check.sentence,
                        created=created,
                    )
                )

    def _enter(self, trial: Trial, card: AdmissionCard, binding: Binding) -> Entered | AlreadyIn:
        candidate = trial.candidate
        assert trial.scorecard is not None and trial.scorecard.score is not None  # noqa: PT018 - it beat buy and hold
        models = self._ledger.model_ancestry(candidate.run_id, candidate.id)
        with writing(self._engine) as session:
            # Asked again now that nobody else can write: two workers may have considered the same source.
            found = session.execute(_same(candidate.source.sha256, binding)).first()
            if found is not None:
                return AlreadyIn(entry=_entry(*found))
            row = PoolEntryRow(
                source_sha256=candidate.source.sha256,
                language=candidate.source.language.value,
                run_id=candidate.run_id,
                candidate_id=candidate.id,
                status=EntryStatus.CANDIDATE.value,
                score=trial.scorecard.score,
                dataset=binding.dataset,
                dataset_sha256=binding.dataset_sha256,
                config_hash=binding.config_hash,
                engine_version=binding.engine_version,
                models=list(models),
                card=[asdict(check) for check in card.checks],
                notes=[asdict(note) for note in card.notes],
                created=self._now(),
            )
            session.add(row)
            session.flush()
            source = session.get_one(SourceRow, (row.source_sha256, row.language))
            return Entered(entry=_entry(row, source))

    # Decisions

    def promote(  # noqa: PLR0913 - a promotion is bound to all of this
        self,
        id_or_prefix: str,
        *,
        by: str,
        reason: str,
        binding: Binding,
        config: RunConfig,
        open_vault: VaultOpener,
        open_runner: RunnerOpener,
        policy: LookPolicy | None = None,
        signer: Signer | None = None,
    ) -> Promotion:
        """Spend one look at the vault on an entry, and promote it if it passes; see ``evolution.pool.promotion``.

        Raises:
            DecisionError: No person or no reason.
            UnknownIdError: No entry, or more than one, fits.
        """
        request = self._request(by, reason, policy, signer)
        if isinstance(request, PromotionRefused):
            return request
        return promotion.promote(
            self._engine,
            self.get(id_or_prefix),
            request,
            binding=binding,
            config=config,
            open_vault=open_vault,
            open_runner=open_runner,
            now=self._now,
        )

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
        binding: Binding,
        config: RunConfig,
        open_vault: VaultOpener,
        open_runner: RunnerOpener,
        policy: LookPolicy | None = None,
        signer: Signer | None = None,
    ) -> Rescore:
        """Spend one look at newer bars on a promoted entry, and retire it if it does not hold (``evolution.pool.promotion``).

        Raises:
            DecisionError: No person or no reason.
            UnknownIdError: No entry, or more than one, fits.
        """
        request = self._request(by, reason, policy, signer)
        if isinstance(request, PromotionRefused):
            return request
        return promotion.rescore(
            self._engine,
            self.get(id_or_prefix),
            request,
            binding=binding,
            config=config,
            open_vault=open_vault,
            open_runner=open_runner,
            now=self._now,
        )

    def _request(
        self, by: str, reason: str, policy: LookPolicy | None, signer: Signer | None
    ) -> promotion.Request | PromotionRefused:
        """Who may not decide is refused before anything is opened."""
        by, reason = decisions.checked_person(by), decisions.checked_reason(reason)
        with reading(self._engine) as session:
            authority = authorise(session, by, signer)
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
            authority = authorise(session, by, signer)
            if isinstance(authority, NoAuthority):
                return NotPossible(reason=authority.reason)
            row = session.get_one(PoolEntryRow, _find(session, id_or_prefix))
            if row.status != needed.value:
                return NotPossible(
                    reason=f"entry {entry_id(row.number or 0)} is {row.status}; only what is {needed.value} "
                    f"can be {kind.value}"
                )
            decision = decisions.append(session, row, kind, reason=reason, at=self._now(), authority=authority)
            source = session.get_one(SourceRow, (row.source_sha256, row.language))
            return Decided(entry=_entry(row, source), decision=decision)


def binding_of(run: RunRecord) -> Binding:
    """What the results of a run hold for."""
    facts = run.facts
    return Binding(
        dataset=facts.dataset,
        dataset_sha256=facts.dataset_sha256,
        config_hash=facts.config_hash,
        engine_version=facts.engine_version,
    )


def _entries() -> Select[PoolEntryRow, SourceRow]:
    same_source = (col(SourceRow.sha256) == col(PoolEntryRow.source_sha256)) & (
        col(SourceRow.language) == col(PoolEntryRow.language)
    )
    return select(PoolEntryRow, SourceRow).join(SourceRow, same_source)


def _same(sha256: str, binding: Binding) -> Select[PoolEntryRow, SourceRow]:
    return _entries().where(
        col(PoolEntryRow.source_sha256) == sha256,
        col(PoolEntryRow.dataset_sha256) == binding.dataset_sha256,
        col(PoolEntryRow.config_hash) == binding.config_hash,
        col(PoolEntryRow.engine_version) == binding.engine_version,
    )


def _entry(row: PoolEntryRow, source: SourceRow) -> PoolEntry:
    assert row.number is not None  # it was flushed
    return PoolEntry(
        number=row.number,
        source=source_value(source),
        run_id=row.run_id,
        candidate_id=row.candidate_id,
        status=EntryStatus(row.status),
        score=row.score,
        binding=Binding(
            dataset=row.dataset,
            dataset_sha256=row.dataset_sha256,
            config_hash=row.config_hash,
            engine_version=row.engine_version,
        ),
        models=tuple(row.models),
        card=AdmissionCard(
            checks=tuple(CheckResult(**check) for check in row.card),
            notes=tuple(EvidenceNote(**note) for note in row.notes or ()),
        ),
        created=row.created,
    )


def _find(session: Session, id_or_prefix: str) -> int:
    """Number of the one entry that is meant."""
    text = id_or_prefix.strip().lower()
    known = session.execute(select(col(PoolEntryRow.number), col(PoolEntryRow.source_sha256))).all()
    names = {number: (entry_id(number), sha256) for number, sha256 in known if number is not None}
    exact = [number for number, (id_, _) in names.items() if text == id_]
    found = exact or sorted(number for number, (id_, sha256) in names.items() if _begins(text, id_, sha256))
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownIdError(f"pool entry {id_or_prefix!r}: there is none; see trigate pool list")
    ids: Sequence[str] = [entry_id(number) for number in found[:5]]
    raise UnknownIdError(f"pool entry {id_or_prefix!r}: fits several ({', '.join(ids)}); write the id in full")


def _begins(text: str, id_: str, sha256: str) -> bool:
    return (text != "" and id_.startswith(text)) or (len(text) >= _SHORTEST_HASH and sha256.startswith(text))
