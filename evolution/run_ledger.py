"""The ledger of runs: how each was started, how it stands, how its generations went and what happened on the way.

LedgerError         a promise was broken: two different trials for one place, a run that has already finished
  UnknownIdError    nothing stored has that id, or several things do
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlmodel import col

from evolution.llm.ledger import spending
from evolution.rows import run_record, run_row
from evolution.run import Funnel, GenerationSummary, RunFacts, RunListing, RunRecord, RunStatus
from evolution.tables import GenerationRow, PoolEntryRow, RunRow, TrialRow
from evolution.trial import TrialOutcome
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Engine, Select
    from sqlalchemy.orm import Session

    from evolution.llm.spending import Spending


class LedgerError(Exception):
    """The ledger refuses to write what would contradict what it holds; the text is one sentence."""


class UnknownIdError(LedgerError):
    """Nothing stored has that id, or more than one thing begins with it; the text says how to find the right one."""


class RunLedger:
    """Runs and their generations. Safe for several threads and processes at once; one transaction per call.

    Rows are added, never changed, but for a run's status, note and story, and a generation's summary. Their trials are added by
    ``evolution.ledger.TrialLedger``, which is this ledger and theirs in one: a run is never without its trials.
    """

    def __init__(self, engine: Engine, *, now: Callable[[], datetime]) -> None:
        self._engine = engine
        self._now = now

    def start_run(self, facts: RunFacts, *, story: Mapping[str, Any] | None = None) -> RunRecord:
        """Give a run its id and begin it. Ids of one day count up, so they sort by age.

        Args:
            facts: What it is started with.
            story: What is known of it from the first moment on.
        """
        created = self._now()
        day = f"r-{created:%Y%m%d}-"
        with writing(self._engine) as session:
            taken = session.scalars(select(col(RunRow.id)).where(col(RunRow.id).startswith(day)))
            number = 1 + max((int(run_id.removeprefix(day)) for run_id in taken), default=0)
            record = RunRecord(
                id=f"{day}{number:03d}",
                facts=facts,
                status=RunStatus.RUNNING,
                created=created,
                finished=None,
                story=story or {},
            )
            session.add(run_row(record))
        return record

    def finish_run(self, run_id: str, status: RunStatus, *, note: str | None = None) -> RunRecord:
        """Write down how a run ended.

        Raises:
            LedgerError: It has already finished, or ``status`` is not an end.
        """
        if status is RunStatus.RUNNING:
            raise LedgerError(f"run {run_id}: running is not an end; use finished, interrupted or failed")
        with writing(self._engine) as session:
            row = _unfinished(session, run_id)
            row.status, row.finished = status.value, self._now()
            row.note = row.note if note is None else note
        return run_record(row)

    def reopen_run(self, run_id: str) -> RunRecord:
        """Let an interrupted or failed run go on.

        Raises:
            LedgerError: It has already finished.
        """
        with writing(self._engine) as session:
            row = _unfinished(session, run_id)
            row.status, row.finished = RunStatus.RUNNING.value, None
        return run_record(row)

    def tell(self, run_id: str, **parts: Any) -> RunRecord:
        """Add to a run's story, or replace parts of it; each part is a JSON document."""
        with writing(self._engine) as session:
            row = find_run(session, run_id)
            row.story = {**(row.story or {}), **parts}
        return run_record(row)

    def run(self, id_or_prefix: str) -> RunRecord:
        """One run, by its id or by the beginning of it.

        Raises:
            UnknownIdError: No run, or more than one, begins like that.
        """
        with reading(self._engine) as session:
            return run_record(find_run(session, id_or_prefix))

    def records(self, *, limit: int) -> tuple[RunRecord, ...]:
        """The newest runs without their counts, newest first; cheap enough to ask every few seconds."""
        newest = select(RunRow).order_by(col(RunRow.created).desc(), col(RunRow.id).desc()).limit(limit)
        with reading(self._engine) as session:
            return tuple(run_record(row) for row in session.scalars(newest))

    def runs(self, *, limit: int | None = None) -> tuple[RunListing, ...]:
        """Runs with their counts, newest first."""
        newest = select(RunRow).order_by(col(RunRow.created).desc(), col(RunRow.id).desc()).limit(limit)
        with reading(self._engine) as session:
            records = [run_record(row) for row in session.scalars(newest)]
            ids = [record.id for record in records]
            funnels = _funnels(session, ids)
            best = _per_run(
                session,
                select(col(TrialRow.run_id), func.max(col(TrialRow.score)))
                .where(col(TrialRow.outcome) == TrialOutcome.SCORED.value, col(TrialRow.run_id).in_(ids))
                .group_by(col(TrialRow.run_id)),
            )
            entries = _per_run(
                session,
                select(col(PoolEntryRow.run_id), func.count())
                .where(col(PoolEntryRow.run_id).in_(ids))
                .group_by(col(PoolEntryRow.run_id)),
            )
        return tuple(
            RunListing(
                record=record,
                funnel=funnels[record.id],
                best_score=best.get(record.id),
                entries=entries.get(record.id, 0),
            )
            for record in records
        )

    def has_other_runs(self, run_id: str) -> bool:
        """Whether trials of another run with the same data, configuration and engine could be recalled."""
        with reading(self._engine) as session:
            own = find_run(session, run_id)
            other = select(col(RunRow.id)).where(*same_binding(own), col(RunRow.id) != own.id).limit(1)
            return session.scalar(other) is not None

    def add_generation(self, run_id: str, summary: GenerationSummary) -> None:
        """Store a generation's summary; a later one for the same generation replaces it."""
        with writing(self._engine) as session:
            session.merge(
                GenerationRow(
                    run_id=find_run(session, run_id).id,
                    generation=summary.generation,
                    hypervolume=summary.hypervolume,
                    counts=dict(summary.counts),
                    created=self._now(),
                )
            )

    def generations(self, run_id: str) -> tuple[GenerationSummary, ...]:
        """A run's generation summaries in order."""
        query = select(GenerationRow).where(col(GenerationRow.run_id) == run_id).order_by(col(GenerationRow.generation))
        with reading(self._engine) as session:
            return tuple(
                GenerationSummary(generation=row.generation, hypervolume=row.hypervolume, counts=row.counts)
                for row in session.scalars(query)
            )

    def funnel(self, run_id: str) -> Funnel:
        """How many of a run's trials ended where."""
        with reading(self._engine) as session:
            return _funnels(session, [run_id])[run_id]

    def spending(self, run_id: str) -> Spending:
        """What a run's calls to models used."""
        return spending(self._engine, run_id)


def find_run(session: Session, id_or_prefix: str) -> RunRow:
    """The row of a run, by its id or by the beginning of it.

    Raises:
        UnknownIdError: No run, or more than one, begins like that.
    """
    exact = session.get(RunRow, id_or_prefix)
    if exact is not None:
        return exact
    pattern = col(RunRow.id).startswith(id_or_prefix, autoescape=True)
    found = (
        session.scalars(select(RunRow).where(pattern).order_by(col(RunRow.id)).limit(2)).all() if id_or_prefix else []
    )
    if len(found) == 1:
        return found[0]
    problem = "begins the ids of several runs" if found else "no run has this id"
    raise UnknownIdError(f"run {id_or_prefix!r}: {problem}; see trigate runs list")


def same_binding(run: RunRow | RunFacts) -> tuple[ColumnElement[bool], ...]:
    """What results must have in common to be comparable."""
    return (
        col(RunRow.dataset_sha256) == run.dataset_sha256,
        col(RunRow.config_hash) == run.config_hash,
        col(RunRow.engine_version) == run.engine_version,
    )


def _unfinished(session: Session, run_id: str) -> RunRow:
    row = find_run(session, run_id)
    if row.status == RunStatus.FINISHED.value:
        raise LedgerError(f"run {row.id}: has already finished; start a new one")
    return row


def _per_run(session: Session, query: Select[str, Any]) -> Mapping[str, Any]:
    return dict(session.execute(query).all())


def _funnels(session: Session, run_ids: Sequence[str]) -> dict[str, Funnel]:
    outcomes = {run_id: dict.fromkeys(TrialOutcome, 0) for run_id in run_ids}
    gates = {run_id: dict.fromkeys((1, 2, 3), 0) for run_id in run_ids}
    columns = col(TrialRow.run_id), col(TrialRow.outcome), col(TrialRow.gate)
    query = select(*columns, func.count()).where(columns[0].in_(run_ids)).group_by(*columns)
    for run_id, outcome, gate, count in session.execute(query):
        outcomes[run_id][TrialOutcome(outcome)] += count
        if outcome == TrialOutcome.REJECTED.value and gate is not None:
            gates[run_id][gate] = gates[run_id].get(gate, 0) + count
    return {run_id: Funnel(outcomes=outcomes[run_id], rejected_by_gate=gates[run_id]) for run_id in run_ids}
