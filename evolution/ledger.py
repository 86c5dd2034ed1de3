"""The ledger of trials: everything that was ever tried, kept for ever, rejected ones too."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError, StatementError
from sqlmodel import col

from evolution.kills import is_kill
from evolution.rows import (
    candidate_columns,
    candidate_value,
    interval_columns,
    not_finite,
    record_columns,
    scorecard_document,
    source_columns,
    source_value,
    trial_columns,
    trial_value,
)
from evolution.run import FindingCount, Resume
from evolution.run_ledger import LedgerError, RunLedger, UnknownIdError, find_run, same_binding
from evolution.tables import CandidateRow, RunIntervalRow, RunRow, SourceRow, TrialRecordRow, TrialRow
from evolution.trial import Trial, TrialOutcome
from runtime.store import reading, writing, writing_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Engine, Insert, Select
    from sqlalchemy.orm import Session
    from sqlmodel import SQLModel

    from evolution.interval import BarInterval
    from evolution.rows import Columns
    from evolution.run import RunFacts
    from runtime.source import StrategySource

__all__ = ["LedgerError", "TrialLedger", "UnknownIdError"]

# Ends that the same source would meet again. A kill may have been the machine's doing, so it is not remembered.
_REPEATABLE = (TrialOutcome.REJECTED, TrialOutcome.FAILED, TrialOutcome.VETOED, TrialOutcome.SCORED)


class TrialLedger(RunLedger):
    """Runs with their trials. Trials are added and never changed; errors are those of ``evolution.run_ledger``."""

    def __init__(self, engine: Engine, *, now: Callable[[], datetime]) -> None:
        super().__init__(engine, now=now)
        self._stored_intervals: frozenset[tuple[str, BarInterval]] = frozenset()
        """Bars of runs that this ledger has seen stored: the same for every trial of a run."""

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
        intervals = _intervals(trials) - self._stored_intervals
        try:
            # Nearly always they are new, and the keys of the tables say so when they are not.
            with writing_rows(self._engine) as connection:
                _insert(connection, trials, intervals, created)
            count = len(trials)
        except IntegrityError:
            with writing(self._engine) as session:
                for run_id in sorted({trial.candidate.run_id for trial in trials}):
                    find_run(session, run_id)
                fresh = _without_stored(session, trials)
                _insert(session.connection(), fresh, intervals, created)
            count = len(fresh)
        self._stored_intervals |= intervals
        return count

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

    def resume(self, run_id: str) -> Resume:
        """What is stored of a run, for going on with it."""
        record = self.run(run_id)
        by_generation: dict[int, list[Trial]] = {}
        for trial in self.trials(record.id):
            by_generation.setdefault(trial.candidate.generation, []).append(trial)
        return Resume(record=record, trials={number: tuple(trials) for number, trials in by_generation.items()})

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
        return next((trial for trial in found if _is_whole(trial)), None)

    def scored(self, facts: RunFacts) -> tuple[Trial, ...]:
        """SCORED trials of all runs on the same data, configuration and engine, oldest first; recalled ones left out."""
        query = _trials().join(RunRow, col(RunRow.id) == col(TrialRow.run_id))
        query = query.where(
            *same_binding(facts),
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


def _is_whole(trial: Trial) -> bool:
    """Whether a stored trial says all that a new one would. Those of earlier versions do not say when they earned."""
    return (
        not is_kill(trial.findings) and not _is_pruned(trial) and (trial.scorecard is None or trial.rhythm is not None)
    )


def _is_pruned(trial: Trial) -> bool:
    """Whether the cells of a scorecard are gone (``evolution.pruning``): it is counted for ever, and judged no more."""
    return trial.scorecard is not None and not trial.scorecard.cells


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


def _insert(
    connection: Connection, trials: Sequence[Trial], intervals: Iterable[tuple[str, BarInterval]], created: datetime
) -> None:
    """Write new trials, with their sources, candidates, active returns and, once per run, the bars that those were made on.

    Raises:
        IntegrityError: One of them is stored already, or its run is not.
        ValueError: A figure is not finite.
    """
    candidates = [trial.candidate for trial in trials]
    sources = {(source.sha256, source.language): source for source in (each.source for each in candidates)}
    _add(connection, SourceRow, [source_columns(source) for source in sources.values()], or_ignore=True)
    _add(connection, CandidateRow, [candidate_columns(candidate) for candidate in candidates])
    try:
        _add(connection, TrialRow, [trial_columns(trial, created) for trial in trials])
    except StatementError as error:
        # The serializer of JSON has refused a figure; which one is of interest only then.
        culprit = next(filter(_holds_no_number, trials), None) if isinstance(error.orig, ValueError) else None
        if culprit is None:
            raise
        raise not_finite(culprit) from error
    _add(connection, TrialRecordRow, [record_columns(trial, trial.record) for trial in trials if trial.record])
    ordered = sorted(intervals, key=lambda pair: (pair[0], pair[1].symbol, pair[1].start))
    _add(
        connection, RunIntervalRow, [interval_columns(run_id, interval) for run_id, interval in ordered], or_ignore=True
    )


def _add(connection: Connection, table: type[SQLModel], rows: list[Columns], *, or_ignore: bool = False) -> None:
    if not rows:
        return
    is_lite = connection.dialect.name == "sqlite"
    statement = _inserting(table, is_lite=is_lite, or_ignore=or_ignore)
    connection.execute(statement, rows if len(rows) > 1 else rows[0])


@cache
def _inserting(table: type[SQLModel], *, is_lite: bool, or_ignore: bool) -> Insert:
    """Made once per table, since making it takes longer than carrying it out."""
    columns = table.__table__  # type: ignore[attr-defined]  # every table model has one
    if or_ignore:
        return (sqlite.insert if is_lite else postgresql.insert)(columns).on_conflict_do_nothing()
    return insert(columns)


def _holds_no_number(trial: Trial) -> bool:
    try:
        json.dumps(trial.scorecard and scorecard_document(trial.scorecard), allow_nan=False)
    except ValueError:
        return True
    return False


def _intervals(trials: Sequence[Trial]) -> frozenset[tuple[str, BarInterval]]:
    """The bars that some trials' records were made on, with their runs."""
    return frozenset(
        (trial.candidate.run_id, interval)
        for trial in trials
        if trial.record is not None
        for interval in trial.record.intervals
    )


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
