"""The census: every trial that was ever scored on some bars, whatever the data set was called and whichever night it was.

A candidate's Sharpe ratio is the best of many, and the many are not those of its own night only. Any overlap counts: a symbol left
out, a row dropped or a new bar at the end makes another data set, and the same trials.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import func, select
from sqlmodel import col

from evolution.interval import overlap_of
from evolution.rows import interval_value
from evolution.tables import RunIntervalRow, TrialRecordRow
from fitness.overfitting import LARGEST_BATCH, EffectiveTrials, effective_trials
from runtime.store import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from evolution.interval import BarInterval


class Census(NamedTuple):
    """How many trials there were, how many of them were independent, and how far their ratios spread."""

    runs: int
    trials: int
    """Trials with a record, copies in behaviour included."""
    distinct: int
    """Different series of returns among them."""
    effective: EffectiveTrials
    """Of the distinct ones. With more than ``fitness.overfitting.LARGEST_BATCH`` of them, or with trials on different bars, they are
    clustered in batches and the clusters added up: more than there are, which only makes deflation harder."""
    variance: float
    """Of the distinct ones' per-bar Sharpe ratios (ddof 1); 0 with fewer than two."""


@dataclass(slots=True)
class TrialCensus:
    """Reads the records of one store. Keeps the last answer, for several candidates are judged after one night."""

    engine: Engine
    _last: tuple[tuple[BarInterval, ...], int, Census] | None = field(default=None, init=False)

    def over(self, intervals: Sequence[BarInterval]) -> Census:
        """All trials, of all runs, on bars that overlap with these."""
        with reading(self.engine) as session:
            key = tuple(intervals)
            count = session.scalar(select(func.count()).select_from(TrialRecordRow)) or 0
            if self._last is not None and self._last[:2] == (key, count):
                return self._last[2]
            runs = _runs_over(session, key)
            records = [_records_of(session, run_id) for run_id in runs]
        census = _count(records)
        self._last = (key, count, census)
        return census

    def matrix(self, run_id: str) -> NDArray[np.float64]:
        """Active returns of a run's distinct trials, shape ``(bars, trials)``; of those on most common bars."""
        with reading(self.engine) as session:
            series = [each.returns for each in _records_of(session, run_id)]
        by_length = _by_length(series)
        if not by_length:
            return np.empty((0, 0))
        return _stack(max(by_length.values(), key=len))


class _Record(NamedTuple):
    returns: bytes
    sharpe: float | None


def _runs_over(session: Session, intervals: Sequence[BarInterval]) -> list[str]:
    symbols = sorted({interval.symbol for interval in intervals})
    by_run: dict[str, list[BarInterval]] = {}
    for row in session.scalars(select(RunIntervalRow).where(col(RunIntervalRow.symbol).in_(symbols))):
        by_run.setdefault(row.run_id, []).append(interval_value(row))
    return sorted(run_id for run_id, own in by_run.items() if overlap_of(own, intervals))


def _records_of(session: Session, run_id: str) -> list[_Record]:
    query = select(col(TrialRecordRow.returns), col(TrialRecordRow.sharpe)).where(col(TrialRecordRow.run_id) == run_id)
    ordered = query.order_by(col(TrialRecordRow.generation), col(TrialRecordRow.index))
    return [_Record(returns, sharpe) for returns, sharpe in session.execute(ordered)]


def _count(records: Sequence[Sequence[_Record]]) -> Census:
    distinct = {
        hashlib.sha256(record.returns).digest(): record
        for run in records
        for record in run
        if record.sharpe is not None
    }
    ratios = np.array([record.sharpe for record in distinct.values()], dtype=np.float64)
    batches = [
        _stack(group[begin : begin + LARGEST_BATCH])
        for group in _by_length([record.returns for record in distinct.values()]).values()
        for begin in range(0, len(group), LARGEST_BATCH)
    ]
    return Census(
        runs=len(records),
        trials=sum(map(len, records)),
        distinct=len(distinct),
        effective=_added([effective_trials(batch) for batch in batches]),
        variance=float(np.var(ratios, ddof=1)) if len(ratios) > 1 else 0.0,
    )


def _by_length(series: Iterable[bytes]) -> dict[int, list[bytes]]:
    """Distinct series that can stand side by side, in the order in which they came."""
    groups: dict[int, dict[bytes, None]] = {}
    for returns in series:
        groups.setdefault(len(returns), {})[returns] = None
    return {length: list(group) for length, group in groups.items()}


def _stack(series: Sequence[bytes]) -> NDArray[np.float64]:
    return np.column_stack([np.frombuffer(returns, dtype="<f4") for returns in series]).astype(np.float64)


def _added(parts: Sequence[EffectiveTrials]) -> EffectiveTrials:
    return EffectiveTrials(
        trials=sum(part.trials for part in parts),
        clusters=sum(part.clusters for part in parts),
        rank=math.fsum(part.rank for part in parts),
        average=math.fsum(part.average for part in parts),
    )
