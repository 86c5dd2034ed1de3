"""``Intake``: a stored trial goes through the admission checks, and becomes an entry or a list of refusals."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from evolution.census import TrialCensus
from evolution.ledger import TrialLedger
from evolution.pool.admission import examine, is_admitted
from evolution.pool.bench import CandidateBench
from evolution.pool.entry import Binding, EntryStatus, PoolEntry
from evolution.pool.exhibits import AdmissionLimits
from evolution.pool.notes import NightLuck, evidence_notes, night_luck
from evolution.pool.readings import ValidationReads
from evolution.pool.shelf import binding_of, entry_value, same_source
from evolution.tables import PoolEntryRow, RefusalRow, SourceRow
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine

    from evolution.pool.card import AdmissionCard
    from evolution.pool.segment import Runner
    from evolution.run import RunRecord
    from evolution.trial import Trial
    from fitness.card import Scorecard
    from runtime.kernel.report import RunConfig
    from runtime.market import DataSet


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


class Intake:
    """The way into the pool of one store. Safe for several processes at once."""

    def __init__(self, engine: Engine, *, now: Callable[[], datetime]) -> None:
        self._engine = engine
        self._now = now
        self._ledger = TrialLedger(engine, now=now)
        self._census = TrialCensus(engine)
        self._luck: tuple[bytes, NightLuck] | None = None

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
            found = session.execute(same_source(sha256, binding)).first()
            return None if found is None else entry_value(*found)

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
            found = session.execute(same_source(candidate.source.sha256, binding)).first()
            if found is not None:
                return AlreadyIn(entry=entry_value(*found))
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
            return Entered(entry=entry_value(row, source))
