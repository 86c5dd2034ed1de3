"""Domain values as rows, and back. Exact both ways: floats to the last bit, None as None, findings in their order.

What a night writes for every candidate goes in as plain columns (``...columns``), which cost a tenth of a table model. Table models and
JSON columns accept anything, so the way back is strict: a document with an unknown or missing field is not patched up but refused.
"""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from evolution.candidate import Candidate, Provenance
from evolution.interval import BarInterval
from evolution.run import RunFacts, RunRecord, RunStatus
from evolution.tables import CandidateRow, RunIntervalRow, RunRow, SourceRow, TrialRow
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Objectives, Scorecard
from fitness.trades import TradeDigest, TradeGlimpse
from gates.findings import Finding
from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    from datetime import datetime

    from evolution.record import ActiveRecord


class RowError(Exception):
    """A stored row cannot be turned into the value it stands for: the database was changed by other hands."""


def run_row(record: RunRecord) -> RunRow:
    """A run as a row."""
    facts = record.facts
    return RunRow(
        id=record.id,
        status=record.status.value,
        seed=facts.seed,
        plan=dict(facts.plan),
        dataset=facts.dataset,
        dataset_sha256=facts.dataset_sha256,
        config_hash=facts.config_hash,
        engine_version=facts.engine_version,
        profile=facts.profile,
        note=facts.note,
        story=dict(record.story) or None,
        created=record.created,
        finished=record.finished,
    )


def run_record(row: RunRow) -> RunRecord:
    """A row as a run."""
    return RunRecord(
        id=row.id,
        facts=RunFacts(
            seed=row.seed,
            plan=row.plan,
            dataset=row.dataset,
            dataset_sha256=row.dataset_sha256,
            config_hash=row.config_hash,
            engine_version=row.engine_version,
            profile=row.profile,
            note=row.note,
        ),
        status=RunStatus(row.status),
        created=row.created,
        finished=row.finished,
        story=row.story or {},
    )


Columns: TypeAlias = "dict[str, Any]"
"""Values of one row by column name, for an INSERT."""


def source_columns(source: StrategySource) -> Columns:
    """A source as a row."""
    return {"sha256": source.sha256, "language": source.language.value, "data": source.data}


def source_value(row: SourceRow) -> StrategySource:
    """A row as a source.

    Raises:
        RowError: The bytes are not the ones that were stored.
    """
    source = StrategySource(bytes(row.data), Language(row.language))
    if source.sha256 != row.sha256:
        raise RowError(f"source {row.sha256[:12]}: its stored bytes hash to {source.sha256[:12]}; restore a backup")
    return source


def candidate_columns(candidate: Candidate) -> Columns:
    """A candidate as a row; its source goes into a row of its own."""
    provenance = candidate.provenance
    return {
        "run_id": candidate.run_id,
        "generation": candidate.generation,
        "index": candidate.index,
        "id": candidate.id,
        "source_sha256": candidate.source.sha256,
        "language": candidate.source.language.value,
        "operator": provenance.operator,
        "parents": provenance.parents,
        "seed": provenance.seed,
        "model": provenance.model,
        "detail": provenance.detail,
        "structure": candidate.structure,
        "redraws": candidate.redraws,
    }


def candidate_value(row: CandidateRow, source: StrategySource) -> Candidate:
    """A row and its source as a candidate."""
    return Candidate(
        id=row.id,
        run_id=row.run_id,
        generation=row.generation,
        index=row.index,
        source=source,
        provenance=Provenance(
            operator=row.operator,
            parents=tuple(row.parents),
            seed=row.seed,
            model=row.model,
            detail=row.detail,
        ),
        structure=row.structure,
        redraws=row.redraws or 0,
    )


def trial_columns(trial: Trial, created: datetime) -> Columns:
    """A trial as a row; its candidate goes into a row of its own.

    Raises:
        ValueError: A measured time is NaN or infinite.
    """
    if not (math.isfinite(trial.cpu_s) and math.isfinite(trial.wall_s)):
        raise not_finite(trial)
    card = trial.scorecard
    objectives = card.objectives if card else None
    return {
        "run_id": trial.candidate.run_id,
        "generation": trial.candidate.generation,
        "index": trial.candidate.index,
        "outcome": trial.outcome.value,
        "gate": trial.gate,
        "reason": trial.reason,
        "findings": [asdict(finding) for finding in trial.findings],
        "scorecard": scorecard_document(card) if card else None,
        "sharpe": objectives.sharpe if objectives else None,
        "calmar": objectives.calmar if objectives else None,
        "turnover": objectives.turnover if objectives else None,
        "violation": card.violation if card else None,
        "score": card.score if card else None,
        "behaviour": trial.behaviour,
        "probe": trial.probe,
        "rhythm": trial.rhythm,
        "recalled": trial.recalled,
        "cpu_s": trial.cpu_s,
        "wall_s": trial.wall_s,
        "created": created,
    }


def not_finite(trial: Trial) -> ValueError:
    """What to raise for a figure that is NaN or infinite: JSON has neither, and no figure of ours may be either."""
    return ValueError(f"trial {trial.candidate.id}: holds a figure that is not finite; undefined is None")


def record_columns(trial: Trial, record: ActiveRecord) -> Columns:
    """A trial's active returns as a row.

    Raises:
        ValueError: One of them, or a figure of theirs, is NaN or infinite: SQLite would keep a NaN as None, and PostgreSQL as NaN.
    """
    sample = record.sample
    figures = () if sample is None else (sample.sharpe, sample.skewness, sample.kurtosis)
    if not (all(map(math.isfinite, figures)) and np.isfinite(record.series()).all()):
        raise not_finite(trial)
    return {
        "run_id": trial.candidate.run_id,
        "generation": trial.candidate.generation,
        "index": trial.candidate.index,
        "length": sample.length if sample else None,
        "sharpe": sample.sharpe if sample else None,
        "skewness": sample.skewness if sample else None,
        "kurtosis": sample.kurtosis if sample else None,
        "returns": record.returns,
    }


def interval_columns(run_id: str, interval: BarInterval) -> Columns:
    """Bars that a run was scored on as a row."""
    return {
        "run_id": run_id,
        "symbol": interval.symbol,
        "timeframe": interval.timeframe,
        "start": interval.start,
        "end": interval.end,
    }


def interval_value(row: RunIntervalRow) -> BarInterval:
    """A row as the bars that a run was scored on."""
    return BarInterval(symbol=row.symbol, timeframe=row.timeframe, start=row.start, end=row.end)


def trial_value(row: TrialRow, candidate: Candidate) -> Trial:
    """A row and its candidate as a trial.

    Raises:
        RowError: The row does not hold a trial.
    """
    try:
        return Trial(
            candidate=candidate,
            outcome=TrialOutcome(row.outcome),
            reason=row.reason,
            gate=row.gate,
            findings=tuple(Finding(**finding) for finding in row.findings),
            scorecard=scorecard_value(row.scorecard) if row.scorecard is not None else None,
            behaviour=row.behaviour,
            probe=row.probe,
            rhythm=bytes(row.rhythm) if row.rhythm is not None else None,
            recalled=row.recalled,
            cpu_s=row.cpu_s,
            wall_s=row.wall_s,
        )
    except (TypeError, ValueError, KeyError) as error:
        raise RowError(f"trial {candidate.id} of run {candidate.run_id}: cannot be read back; {error}") from error


class _Flat:
    """Values of a kind whose fields are all plain, as documents: what ``asdict`` gives, in a tenth of its time."""

    def __init__(self, kind: type, *, without: tuple[str, ...] = ()) -> None:
        self._names = tuple(field.name for field in fields(kind) if field.name not in without)
        self._values = attrgetter(*self._names)

    def __call__(self, value: object) -> dict[str, Any]:
        return dict(zip(self._names, self._values(value), strict=True))


_metrics, _objectives, _glimpse = _Flat(Metrics), _Flat(Objectives), _Flat(TradeGlimpse)
_card, _result = _Flat(Scorecard, without=("cells", "objectives")), _Flat(CellResult)
_digest = _Flat(TradeDigest)


def scorecard_document(card: Scorecard) -> dict[str, Any]:
    """A scorecard as what ``scorecard_value`` reads: equal to ``dataclasses.asdict``."""
    return {
        "cells": tuple(_cell_document(cell) for cell in card.cells),
        "objectives": None if card.objectives is None else _objectives(card.objectives),
        **_card(card),
    }


def _cell_document(cell: CellResult) -> dict[str, Any]:
    document = _result(cell)
    document["metrics"] = _metrics(cell.metrics)
    document["buy_and_hold"] = _metrics(cell.buy_and_hold)
    if cell.trading is not None:
        document["trading"] = _digest(cell.trading) | {
            "exits": dict(cell.trading.exits),
            "worst": _glimpse(cell.trading.worst),
        }
    return document


def scorecard_value(document: dict[str, Any]) -> Scorecard:
    """The document of a scorecard (``dataclasses.asdict``) as a scorecard.

    Raises:
        KeyError: A field is missing.
        TypeError: A field is missing or unknown.
    """
    objectives = document["objectives"]
    return Scorecard(
        **document
        | {
            "cells": tuple(_cell(cell) for cell in document["cells"]),
            "objectives": None if objectives is None else Objectives(**objectives),
            "vetoes": tuple(document["vetoes"]),
        }
    )


def _cell(document: dict[str, Any]) -> CellResult:
    metrics = {name: Metrics(**document[name]) for name in ("metrics", "buy_and_hold")}
    return CellResult(**document | metrics | {"trading": _trading(document.get("trading"))})


def _trading(document: dict[str, Any] | None) -> TradeDigest | None:
    """None also for cells that were stored before there was a digest."""
    if document is None:
        return None
    return TradeDigest(**document | {"worst": TradeGlimpse(**document["worst"])})
