"""The ledger of runs and trials: everything that was ever tried, kept for ever, rejected ones too.

LedgerError         a promise was broken: two different trials for one place, a run that has already finished
  UnknownIdError    nothing stored has that id, or several things do
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from evolution.kills import is_kill
from evolution.llm.ledger import spending
from evolution.rows import (
    candidate_row,
    candidate_value,
    interval_row,
    record_row,
    run_record,
    run_row,
    source_row,
    source_value,
    trial_row,
    trial_value,
)
from evolution.run import (
    FindingCount,
    Funnel,
    GenerationSummary,
    Resume,
    RunFacts,
    RunListing,
    RunRecord,
    RunStatus,
)
from evolution.tables import CandidateRow, GenerationRow, PoolEntryRow, RunRow, SourceRow, TrialRow
from evolution.trial import Trial, TrialOutcome
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Engine, Select
    from sqlalchemy.orm import Session

    from evolution.llm.spending import Spending
    from runtime.source import StrategySource

# Ends that the same source would meet again. A kill may have been the machine's doing, so it is not remembered.
_REPEATABLE = (TrialOutcome.REJECTED, TrialOutcome.FAILED, TrialOutcome.VETOED, TrialOutcome.SCORED)


class LedgerError(Exception):
    """The ledger refuses to write what would contradict what it holds; the text is one sentence."""


class UnknownIdError(LedgerError):
    """Nothing stored has that id, or more than one thing begins with it; the text says how to find the right one."""


class TrialLedger:
    """Runs and their trials. Safe for several threads and processes at once; one transaction per call.

    Rows are added, never changed, with two exceptions: a run's status, and a generation's summary.
    """

    def __init__(self, engine: Engine, *, now: Callable[[], datetime]) -> None:
        self._engine = engine
        self._now = now

    # Runs

    def start_run(self, facts: RunFacts) -> RunRecord:
        """Give a run its id and begin it. Ids of one day count up, so they sort by age."""
        created = self._now()
        day = f"r-{created:%Y%m%d}-"
        with writing(self._engine) as session:
            taken = session.scalars(select(col(RunRow.id)).where(col(RunRow.id).startswith(day)))
            number = 1 + max((int(run_id.removeprefix(day)) for run_id in taken), default=0)
            record = RunRecord(
                id=f"{day}{number:03d}", facts=facts, status=RunStatus.RUNNING, created=created, finished=None
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
            row = _find_run(session, run_id)
            row.story = {**(row.story or {}), **parts}
        return run_record(row)

    def run(self, id_or_prefix: str) -> RunRecord:
        """One run, by its id or by the beginning of it.

        Raises:
            UnknownIdError: No run, or more than one, begins like that.
        """
        with reading(self._engine) as session:
            return run_record(_find_run(session, id_or_prefix))

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

    def resume(self, run_id: str) -> Resume:
        """What is stored of a run, for going on with it."""
        record = self.run(run_id)
        by_generation: dict[int, list[Trial]] = {}
        for trial in self.trials(record.id):
            by_generation.setdefault(trial.candidate.generation, []).append(trial)
        return Resume(record=record, trials={number: tuple(trials) for number, trials in by_generation.items()})

    # Trials

    def add_trials(self, trials: Sequence[Trial]) -> int:
        """Store trials, all of them or none, and say how many were new.

        Writing a trial again is fine, so a step that was cut short can simply be repeated. Measured seconds do not
        count as a difference; the first measurement stays.

        Raises:
            LedgerError: A different trial stands in the same place (run, generation, index).
            UnknownIdError: A trial's run does not exist.
            ValueError: A figure is not finite.
        """
        created = self._now()
        with writing(self._engine) as session:
            for run_id in sorted({trial.candidate.run_id for trial in trials}):
                _find_run(session, run_id)
            fresh = _without_stored(session, trials)
            _add_missing_sources(session, (trial.candidate.source for trial in fresh))
            session.add_all(candidate_row(trial.candidate) for trial in fresh)
            session.flush()  # no relationships are declared, so the order of the tables is ours to keep
            session.add_all(trial_row(trial, created) for trial in fresh)
            session.flush()
            _add_records(session, fresh)
        return len(fresh)

    def trials(self, run_id: str, *, generation: int | None = None) -> tuple[Trial, ...]:
        """A run's trials, ordered by generation and index."""
        query = _trials_of(run_id)
        if generation is not None:
            query = query.where(col(TrialRow.generation) == generation)
        with reading(self._engine) as session:
            return _read_trials(session, query)

    def trial(self, run_id: str, candidate_id: str) -> Trial:
        """One trial.

        Raises:
            UnknownIdError: The run has no such candidate.
        """
        with reading(self._engine) as session:
            found = _read_trials(session, _trials_of(run_id).where(col(CandidateRow.id) == candidate_id))
        if not found:
            raise UnknownIdError(f"candidate {candidate_id} of run {run_id}: is not stored; see trigate runs show")
        return found[0]

    def recall(
        self,
        source: StrategySource,
        *,
        dataset_sha256: str,
        config_hash: str,
        engine_version: str,
        structure: str | None = None,
    ) -> Trial | None:
        """The first trial of the same source on the same data, under the same configuration and engine.

        Only ends that would repeat themselves are recalled; a killed source gets another chance.

        Args:
            source: The text that is asked for.
            dataset_sha256: Of the bars that the search may see.
            config_hash: Of cash, costs and limits.
            engine_version: Of the kernel.
            structure: Digest of its normal form; when given, a text that differs in layout only is the same, too.
        """
        same_text = (col(CandidateRow.source_sha256) == source.sha256) & (
            col(CandidateRow.language) == source.language.value
        )
        query = _trials().where(
            same_text if structure is None else same_text | (col(CandidateRow.structure) == structure),
            col(TrialRow.outcome).in_([outcome.value for outcome in _REPEATABLE]),
            col(RunRow.dataset_sha256) == dataset_sha256,
            col(RunRow.config_hash) == config_hash,
            col(RunRow.engine_version) == engine_version,
        )
        query = query.join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
        query = query.order_by(col(RunRow.created), col(TrialRow.generation), col(TrialRow.index))
        with reading(self._engine) as session:
            found = _read_trials(session, query)
        return next((trial for trial in found if not is_kill(trial.findings) and not _is_pruned(trial)), None)

    def has_other_runs(self, run_id: str) -> bool:
        """Whether trials of another run with the same data, configuration and engine could be recalled."""
        with reading(self._engine) as session:
            own = _find_run(session, run_id)
            other = select(col(RunRow.id)).where(*_same_binding(own), col(RunRow.id) != own.id).limit(1)
            return session.scalar(other) is not None

    def scored(self, facts: RunFacts) -> tuple[Trial, ...]:
        """SCORED trials of all runs on the same data, configuration and engine, oldest first; recalled ones left out."""
        query = _trials().join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
        query = query.where(
            *_same_binding(facts),
            col(TrialRow.outcome) == TrialOutcome.SCORED.value,
            col(TrialRow.recalled).is_(None),
        )
        with reading(self._engine) as session:
            ordered = query.order_by(col(RunRow.created), col(TrialRow.generation), col(TrialRow.index))
            return tuple(trial for trial in _read_trials(session, ordered) if not _is_pruned(trial))

    def model_ancestry(self, run_id: str, candidate_id: str) -> tuple[str, ...]:
        """Names of all models that wrote a candidate or any of its ancestors, sorted; empty means none did.

        The same text in another run brings that run's ancestors along: where a text first came from decides.
        """
        with reading(self._engine) as session:
            return _models_behind(session, run_id, candidate_id)

    # Generations

    def add_generation(self, run_id: str, summary: GenerationSummary) -> None:
        """Store a generation's summary; a later one for the same generation replaces it."""
        with writing(self._engine) as session:
            session.merge(
                GenerationRow(
                    run_id=_find_run(session, run_id).id,
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

    # Counts

    def funnel(self, run_id: str) -> Funnel:
        """How many of a run's trials ended where."""
        with reading(self._engine) as session:
            return _funnels(session, [run_id])[run_id]

    def spending(self, run_id: str) -> Spending:
        """What a run's calls to models used."""
        return spending(self._engine, run_id)

    def frequent_findings(self, run_id: str, *, limit: int = 10) -> tuple[FindingCount, ...]:
        """The rules that refused most candidates of a run, most frequent first, then by gate and name."""
        query = (
            select(col(TrialRow.findings))
            .where(col(TrialRow.run_id) == run_id, col(TrialRow.outcome) == TrialOutcome.REJECTED.value)
            .order_by(col(TrialRow.generation), col(TrialRow.index))
        )
        counts: Counter[tuple[int, str]] = Counter()
        examples: dict[tuple[int, str], str] = {}
        with reading(self._engine) as session:
            for findings in session.scalars(query):
                for finding in findings:
                    examples.setdefault((finding["gate"], finding["rule"]), finding["message"])
                counts.update({(finding["gate"], finding["rule"]) for finding in findings})
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            FindingCount(gate=gate, rule=rule, candidates=count, message=examples[gate, rule])
            for (gate, rule), count in ranked[:limit]
        )


def _is_pruned(trial: Trial) -> bool:
    """Whether the cells of a scorecard are gone (``evolution.pruning``): it is counted for ever, and judged no more."""
    return trial.scorecard is not None and not trial.scorecard.cells


def _find_run(session: Session, id_or_prefix: str) -> RunRow:
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


def _same_binding(run: RunRow | RunFacts) -> tuple[ColumnElement[bool], ...]:
    """What results must have in common to be comparable."""
    return (
        col(RunRow.dataset_sha256) == run.dataset_sha256,
        col(RunRow.config_hash) == run.config_hash,
        col(RunRow.engine_version) == run.engine_version,
    )


def _unfinished(session: Session, run_id: str) -> RunRow:
    row = _find_run(session, run_id)
    if row.status == RunStatus.FINISHED.value:
        raise LedgerError(f"run {row.id}: has already finished; start a new one")
    return row


def _without_stored(session: Session, trials: Sequence[Trial]) -> list[Trial]:
    """The trials that are not stored yet.

    Raises:
        LedgerError: A different one is.
    """
    keys = [_place_of(trial) for trial in trials]
    if len(set(keys)) != len(keys):
        raise LedgerError(f"run {keys[0][0]}: two trials for one place in one call")
    places = tuple_(col(TrialRow.run_id), col(TrialRow.generation), col(TrialRow.index))
    stored = {_place_of(trial): trial for trial in _read_trials(session, _trials().where(places.in_(keys)))}
    for key, trial in zip(keys, trials, strict=True):
        known = stored.get(key)
        if known is not None and replace(trial, cpu_s=known.cpu_s, wall_s=known.wall_s) != known:
            raise LedgerError(
                f"trial {known.candidate.id} of run {known.candidate.run_id}: another result is already stored "
                f"({known.outcome.value}, source {known.candidate.source.sha256[:12]}); trials are never rewritten"
            )
    return [trial for key, trial in zip(keys, trials, strict=True) if key not in stored]


def _place_of(trial: Trial) -> tuple[str, int, int]:
    return trial.candidate.run_id, trial.candidate.generation, trial.candidate.index


def _add_missing_sources(session: Session, sources: Iterable[StrategySource]) -> None:
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    rows = [source_row(source).model_dump() for source in {(s.sha256, s.language): s for s in sources}.values()]
    if rows:
        session.execute(insert(SourceRow).on_conflict_do_nothing(), rows)


def _add_records(session: Session, trials: Sequence[Trial]) -> None:
    """Active returns, and once per run the bars that they were made on."""
    session.add_all(record_row(trial, trial.record) for trial in trials if trial.record is not None)
    intervals = {
        (trial.candidate.run_id, interval)
        for trial in trials
        if trial.record is not None
        for interval in trial.record.intervals
    }
    for run_id, interval in sorted(intervals, key=lambda pair: (pair[0], pair[1].symbol, pair[1].start)):
        session.merge(interval_row(run_id, interval))


def _trials() -> Select[TrialRow, CandidateRow, SourceRow]:
    same_place = (
        (col(CandidateRow.run_id) == col(TrialRow.run_id))
        & (col(CandidateRow.generation) == col(TrialRow.generation))
        & (col(CandidateRow.index) == col(TrialRow.index))
    )
    same_source = (col(SourceRow.sha256) == col(CandidateRow.source_sha256)) & (
        col(SourceRow.language) == col(CandidateRow.language)
    )
    return select(TrialRow, CandidateRow, SourceRow).join(CandidateRow, same_place).join(SourceRow, same_source)


def _trials_of(run_id: str) -> Select[TrialRow, CandidateRow, SourceRow]:
    ordered = _trials().order_by(col(TrialRow.generation), col(TrialRow.index))
    return ordered.where(col(TrialRow.run_id) == run_id)


def _read_trials(session: Session, query: Select[TrialRow, CandidateRow, SourceRow]) -> tuple[Trial, ...]:
    return tuple(
        trial_value(trial, candidate_value(candidate, source_value(source)))
        for trial, candidate, source in session.execute(query)
    )


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


def _models_behind(session: Session, run_id: str, candidate_id: str) -> tuple[str, ...]:
    models: set[str] = set()
    seen: set[tuple[str, str]] = set()
    frontier = {(run_id, candidate_id)}
    place = tuple_(col(CandidateRow.run_id), col(CandidateRow.id))
    while frontier:
        seen |= frontier
        rows = session.scalars(select(CandidateRow).where(place.in_(sorted(frontier)))).all()
        texts = {row.source_sha256 for row in rows}
        twins = session.scalars(select(CandidateRow).where(col(CandidateRow.source_sha256).in_(sorted(texts)))).all()
        models |= {row.model for row in twins if row.model is not None}
        relatives = {(row.run_id, row.id) for row in twins}
        relatives |= {(row.run_id, parent) for row in (*rows, *twins) for parent in row.parents}
        frontier = relatives - seen
    return tuple(sorted(models))
