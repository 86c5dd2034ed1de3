"""Pruning: what an old run no longer needs goes, what others are counted or judged by stays.

What goes is bulk that only served the run itself: the cells of its scorecards (their sums stay), what models were asked and answered
(their bill stays), and so its replay. What never goes, by construction, since nothing here touches it: runs, candidates, sources,
outcomes, figures and reasons, the returns by which trials are clustered, validation reads, vault looks, decisions, codes, people, pool
entries, and the whole scorecard of any candidate that became one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import String, cast, func, select
from sqlmodel import col

from evolution.llm.tables import LlmCallRow, LlmRequestRow
from evolution.run import RunStatus
from evolution.tables import CandidateRow, PoolEntryRow, RunRow, TrialRow
from runtime.store import reading, writing

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Engine, Select
    from sqlalchemy.orm import Session

PRUNED = "pruned"
"""The part of a run's story that says when it was pruned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prunable:
    """An old run that still has its bulk."""

    run_id: str
    created: datetime
    trials: int
    """Trials whose cells would go."""
    cell_bytes: int
    """Of their scorecards; nearly all of it goes."""
    exchange_bytes: int
    """Of what models were asked and answered."""


def prunable(engine: Engine, before: datetime) -> tuple[Prunable, ...]:
    """Finished runs from before a moment that were not pruned yet, oldest first. Runs that can still go on are left alone."""
    query = select(RunRow).where(
        col(RunRow.status) == RunStatus.FINISHED.value, col(RunRow.finished).is_not(None), col(RunRow.finished) < before
    )
    with reading(engine) as session:
        rows = session.scalars(query.order_by(col(RunRow.created), col(RunRow.id)))
        return tuple(_measured(session, row) for row in rows if PRUNED not in (row.story or {}))


def prune(engine: Engine, run_id: str, at: datetime) -> bool:
    """Take the bulk out of one run, all of it or nothing; False when it was pruned by somebody else meanwhile, or has not ended."""
    with writing(engine) as session:
        run = session.get(RunRow, run_id)
        if run is None or run.status != RunStatus.FINISHED.value or PRUNED in (run.story or {}):
            return False
        for trial in session.scalars(_prunable_trials(run_id)):
            assert trial.scorecard is not None
            trial.scorecard = {**trial.scorecard, "cells": []}
        for call in session.scalars(select(LlmCallRow).where(col(LlmCallRow.run_id) == run_id)):
            call.response = None
        session.flush()
        for request in session.scalars(_requests_of(run_id)):
            if not _is_needed(session, request.sha256):
                request.body = b""
        run.story = {**(run.story or {}), PRUNED: at.isoformat()}
    return True


def is_pruned(story: dict[str, Any] | None) -> bool:
    """Whether a run's story says that its bulk is gone."""
    return PRUNED in (story or {})


def _measured(session: Session, row: RunRow) -> Prunable:
    trials = _prunable_trials(row.id).subquery()
    sizes = select(func.count(), func.coalesce(func.sum(func.length(cast(trials.c.scorecard, String))), 0))
    count, cells = session.execute(sizes.select_from(trials)).one()
    answers = select(func.coalesce(func.sum(func.length(col(LlmCallRow.response))), 0)).where(
        col(LlmCallRow.run_id) == row.id
    )
    asked = _requests_of(row.id).subquery()
    questions = select(func.coalesce(func.sum(func.length(asked.c.body)), 0))
    return Prunable(
        run_id=row.id,
        created=row.created,
        trials=count,
        cell_bytes=cells,
        exchange_bytes=(session.scalar(answers) or 0) + (session.scalar(questions) or 0),
    )


def _prunable_trials(run_id: str) -> Select[TrialRow]:
    """Those with a scorecard that never entered the pool."""
    entered = select(col(CandidateRow.index)).where(
        col(CandidateRow.run_id) == col(TrialRow.run_id),
        col(CandidateRow.generation) == col(TrialRow.generation),
        col(CandidateRow.index) == col(TrialRow.index),
        col(PoolEntryRow.run_id) == col(CandidateRow.run_id),
        col(PoolEntryRow.candidate_id) == col(CandidateRow.id),
    )
    return select(TrialRow).where(
        col(TrialRow.run_id) == run_id, col(TrialRow.scorecard).is_not(None), ~entered.exists()
    )


def _requests_of(run_id: str) -> Select[LlmRequestRow]:
    asked = select(col(LlmCallRow.request_sha256)).where(col(LlmCallRow.run_id) == run_id)
    return select(LlmRequestRow).where(col(LlmRequestRow.sha256).in_(asked))


def _is_needed(session: Session, sha256: str) -> bool:
    """Whether a run that keeps its answers asked the same."""
    query = select(col(LlmCallRow.number)).where(
        col(LlmCallRow.request_sha256) == sha256, col(LlmCallRow.response).is_not(None)
    )
    return session.scalar(query.limit(1)) is not None
