"""The ledger of validation reads: one read per source and bars, whose verdict is kept and reused for ever.

Reading the same source twice on the same bars must not give two chances. So a source that was read under another
configuration or engine, or on bars that overlap without being the same, is not read again: it is refused, and says so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import distinct, func, select
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from evolution.interval import BarInterval
from evolution.pool.exhibits import ReadPermit
from evolution.pool.segment import Segment, SegmentFailure, SegmentFigures
from evolution.tables import ValidationReadRow
from fitness.card import Objectives
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from evolution.candidate import Candidate
    from evolution.pool.entry import Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationReads:
    """The validation reads of one store."""

    engine: Engine
    now: Callable[[], datetime]

    def permit(self, candidate: Candidate, intervals: Sequence[BarInterval], binding: Binding) -> ReadPermit:
        """Whether a candidate's source may be read on these bars."""
        with reading(self.engine) as session:
            earlier = _overlapping(session, candidate.source.sha256, intervals)
            if not earlier:
                query = select(func.count(distinct(col(ValidationReadRow.source_sha256))))
                done = session.scalar(query.where(col(ValidationReadRow.run_id) == candidate.run_id))
                return ReadPermit(reads=1 + (done or 0))
        problem = _difference(earlier, intervals, binding)
        return ReadPermit(reads=0) if problem is None else ReadPermit(reads=None, problem=problem)

    def verdict(self, candidate: Candidate, intervals: Sequence[BarInterval]) -> Segment | None:
        """What the one read found; None when there was none."""
        with reading(self.engine) as session:
            earlier = _overlapping(session, candidate.source.sha256, intervals)
        return _segment(earlier[0].verdict) if earlier else None

    def of_run(self, run_id: str) -> tuple[Segment, ...]:
        """What the reads of a run found, in order; each once, however many symbols it covered."""
        query = select(ValidationReadRow).where(col(ValidationReadRow.run_id) == run_id)
        with reading(self.engine) as session:
            rows = session.scalars(query.order_by(col(ValidationReadRow.number))).all()
        return tuple(_segment(document) for document in {_read(row): row.verdict for row in rows}.values())

    def record(
        self, candidate: Candidate, intervals: Sequence[BarInterval], binding: Binding, segment: Segment
    ) -> Segment:
        """Keep what was found, and say what counts: what was stored first.

        A kill is not kept: the machine may be to blame, and it told nobody anything about the bars.
        """
        if isinstance(segment, SegmentFailure) and not segment.is_repeatable:
            return segment
        created, verdict = self.now(), _document(segment)
        try:
            with writing(self.engine) as session:
                session.add_all(
                    ValidationReadRow(
                        source_sha256=candidate.source.sha256,
                        symbol=interval.symbol,
                        timeframe=interval.timeframe,
                        start=interval.start,
                        end=interval.end,
                        config_hash=binding.config_hash,
                        engine_version=binding.engine_version,
                        run_id=candidate.run_id,
                        candidate_id=candidate.id,
                        verdict=verdict,
                        created=created,
                    )
                    for interval in intervals
                )
        except IntegrityError:
            # Another process read the same source at the same time, and was first.
            return self.verdict(candidate, intervals) or segment
        return segment


def _overlapping(session: Session, sha256: str, intervals: Sequence[BarInterval]) -> list[ValidationReadRow]:
    """All rows of the reads that share a bar with the intervals: also those of the same read on other symbols."""
    query = select(ValidationReadRow).where(col(ValidationReadRow.source_sha256) == sha256)
    rows = session.scalars(query.order_by(col(ValidationReadRow.number))).all()
    seen = {_read(row) for row in rows if any(interval.overlaps(_interval(row)) for interval in intervals)}
    return [row for row in rows if _read(row) in seen]


def _read(row: ValidationReadRow) -> tuple[str, str]:
    """What the rows of one read have in common."""
    return row.run_id, row.candidate_id


def _interval(row: ValidationReadRow) -> BarInterval:
    return BarInterval(symbol=row.symbol, timeframe=row.timeframe, start=row.start, end=row.end)


def _difference(earlier: Sequence[ValidationReadRow], intervals: Sequence[BarInterval], binding: Binding) -> str | None:
    first = earlier[0]
    when = f"already read for {first.candidate_id} of run {first.run_id}"
    if {_interval(row) for row in earlier} != set(intervals):
        return f"{when}, on other bars that overlap with these"
    if any((row.config_hash, row.engine_version) != (binding.config_hash, binding.engine_version) for row in earlier):
        return f"{when}, under another configuration or engine version"
    return None


def _document(segment: Segment) -> dict[str, Any]:
    return {"kind": type(segment).__name__, **asdict(segment)}


def _segment(document: dict[str, Any]) -> Segment:
    kinds: dict[str, type[Segment]] = {kind.__name__: kind for kind in (SegmentFigures, SegmentFailure)}
    fields = dict(document)
    if fields.get("objectives") is not None:
        fields["objectives"] = Objectives(**fields["objectives"])
    return kinds[fields.pop("kind")](**fields)
