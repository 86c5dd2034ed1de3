"""The candidates of a run that wait to be tried, where every process that shares the database can take one.

The leader of a run (``evolution.leases``) puts up a generation; it takes candidates from the front, and helpers on any machine take them
from the back, so they meet once. A helper's claim runs out when it is not heard of, by the database's clock, and is then anybody's.

The board only shares out work. That there is one trial per candidate is the ledger's doing: the first result stands, and equal candidates
have equal results wherever they are tried.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, or_, select, update
from sqlmodel import col

from evolution.candidate import Candidate, Provenance
from evolution.sharing_tables import RunLeaseRow, SharedCandidateRow, SharedRunRow
from runtime.source import Language, StrategySource
from runtime.store import database_time, reading, writing, writing_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Engine, Table

CLAIM_S = 30.0
"""Seconds without a sign of life after which a helper's candidate is anybody's; a beat is a third of it."""
_LEADER = "leader"
"""Holds its claims as long as it holds the run."""


class DamagedParcelError(Exception):
    """What the run put up for its helpers is not what came back: the database was changed by other hands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What a helper needs, and whose code it must have."""

    code: str
    """Digest of the leader's program (``flows.identity.code_digest``)."""
    bench: bytes
    """Made by ``evolution.bench_parcel``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A candidate that a helper has claimed."""

    candidate: Candidate
    is_full: bool
    """Whether the places that it competes for are all taken by feasible trials (``evolution.cascade``)."""


class Workboard:
    """Who tries which candidate. Safe for several threads, processes and machines at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    # For the leader

    def publish(self, run_id: str, parcel: Parcel) -> None:
        """Put up what helpers need; replaces what a former leader put up."""
        digest = hashlib.sha256(parcel.bench).hexdigest()
        with writing(self._engine) as session:
            session.merge(SharedRunRow(run_id=run_id, code=parcel.code, bench_sha256=digest, bench=parcel.bench))

    def clear(self, run_id: str, expected: Collection[str]) -> None:
        """Make room for a generation. What helpers are at work on stays theirs; what a former leader was is free.

        Args:
            run_id: Of the run.
            expected: Ids of all places of the generation that are still open.
        """
        with writing(self._engine) as session:
            session.execute(
                delete(SharedCandidateRow).where(
                    col(SharedCandidateRow.run_id) == run_id,
                    or_(
                        col(SharedCandidateRow.holder) == _LEADER,
                        col(SharedCandidateRow.candidate_id).not_in(expected),
                    ),
                )
            )

    def offer(self, run_id: str, candidates: Sequence[Candidate], is_full: Mapping[str, bool]) -> None:
        """Put up candidates of the generation that there is room for, in any number of portions."""
        of_run = col(SharedCandidateRow.run_id) == run_id
        with writing(self._engine) as session:
            there = set(session.scalars(select(col(SharedCandidateRow.candidate_id)).where(of_run)))
            rows = [
                _columns(candidate, is_full=is_full.get(candidate.id, False))
                for candidate in candidates
                if candidate.id not in there
            ]
            if rows:
                session.connection().execute(insert(SharedCandidateRow), rows)

    def claim(self, run_id: str, candidate_id: str) -> bool:
        """Whether the leader may try a candidate now; not while a helper that lives is at it, or has done it."""
        with writing_rows(self._engine) as connection:
            place = {"of_run": run_id, "wanted": candidate_id, "now": database_time(connection)}
            return bool(connection.execute(_CLAIM, place).rowcount)

    def is_done(self, run_id: str, candidate_id: str) -> bool:
        """Whether a helper has stored a trial for it."""
        with reading(self._engine) as session:
            row = session.get(SharedCandidateRow, (run_id, candidate_id))
            return row is not None and row.is_done

    def helpers(self, run_id: str) -> dict[str, int]:
        """How many candidates of this generation each helper has done."""
        done = select(col(SharedCandidateRow.holder)).where(
            col(SharedCandidateRow.run_id) == run_id, col(SharedCandidateRow.is_done)
        )
        counts: dict[str, int] = {}
        with reading(self._engine) as session:
            for holder in session.scalars(done):
                counts[str(holder)] = counts.get(str(holder), 0) + 1
        return counts

    # For helpers

    def runs(self) -> tuple[str, ...]:
        """Runs that are led by somebody alive, oldest first."""
        with reading(self._engine) as session:
            query = (
                select(col(SharedRunRow.run_id))
                .join(RunLeaseRow, col(RunLeaseRow.run_id) == col(SharedRunRow.run_id))
                .where(col(RunLeaseRow.expires) > database_time(session))
                .order_by(col(SharedRunRow.run_id))
            )
            return tuple(session.scalars(query))

    def parcel(self, run_id: str) -> Parcel | None:
        """What the run put up; None when it is not shared, or over.

        Raises:
            DamagedParcelError: It has another digest than when it was put up.
        """
        with reading(self._engine) as session:
            row = session.get(SharedRunRow, run_id)
            if row is None:
                return None
            code, bench, digest = row.code, bytes(row.bench), row.bench_sha256
        if hashlib.sha256(bench).hexdigest() != digest:
            raise DamagedParcelError(
                f"run {run_id}: the bars that it shares are not those that were put up; resume it, which puts them up anew"
            )
        return Parcel(code=code, bench=bench)

    def take(self, run_id: str, holder: str) -> Job | None:
        """Claim the last candidate that is free; None when there is none."""
        with writing(self._engine) as session:
            now = database_time(session)
            row = session.scalars(
                select(SharedCandidateRow)
                .where(col(SharedCandidateRow.run_id) == run_id, _is_free(now))
                .order_by(col(SharedCandidateRow.index).desc())
                .limit(1)
            ).one_or_none()
            if row is None:
                return None
            row.holder, row.expires = holder, now + timedelta(seconds=CLAIM_S)
            return Job(candidate=_candidate(row), is_full=row.is_full)

    def renew(self, holder: str) -> None:
        """A sign of life for all that a helper is at work on."""
        with writing(self._engine) as session:
            expires = database_time(session) + timedelta(seconds=CLAIM_S)
            own = (col(SharedCandidateRow.holder) == holder) & ~col(SharedCandidateRow.is_done)
            session.execute(update(SharedCandidateRow).where(own).values(expires=expires))

    def finish(self, run_id: str, candidate_id: str, holder: str) -> None:
        """Say that a trial of the candidate is stored."""
        with writing(self._engine) as session:
            row = session.get(SharedCandidateRow, (run_id, candidate_id))
            if row is not None and row.holder == holder:
                row.is_done = True

    def give_back(self, holder: str) -> None:
        """Let go of all that a helper has claimed and not done."""
        with writing(self._engine) as session:
            own = (col(SharedCandidateRow.holder) == holder) & ~col(SharedCandidateRow.is_done)
            session.execute(update(SharedCandidateRow).where(own).values(holder=None, expires=None))


def _is_free(now: datetime) -> ColumnElement[bool]:
    return ~col(SharedCandidateRow.is_done) & or_(
        col(SharedCandidateRow.holder).is_(None), col(SharedCandidateRow.expires) <= now
    )


_BOARD: Table = SharedCandidateRow.__table__  # type: ignore[attr-defined]  # every table model has one
# Made once, since making it takes longer than carrying it out.
_CLAIM = (
    update(_BOARD)
    .where(
        _BOARD.c.run_id == bindparam("of_run"),
        _BOARD.c.candidate_id == bindparam("wanted"),
        ~_BOARD.c.is_done,
        or_(_BOARD.c.holder.is_(None), _BOARD.c.expires <= bindparam("now")),
    )
    .values(holder=_LEADER, expires=None)
)


def _columns(candidate: Candidate, *, is_full: bool) -> dict[str, object]:
    origin = asdict(candidate.provenance)
    seed = origin["seed"]
    return {
        "run_id": candidate.run_id,
        "candidate_id": candidate.id,
        "generation": candidate.generation,
        "index": candidate.index,
        "language": candidate.source.language.value,
        "data": candidate.source.data,
        # Seeds may have more bits than a number in JSON keeps on SQLite.
        "origin": origin
        | {
            "seed": None if seed is None else str(seed),
            "structure": candidate.structure,
            "redraws": candidate.redraws,
        },
        "is_full": is_full,
        "holder": None,
        "expires": None,
        "is_done": False,
    }


def _candidate(row: SharedCandidateRow) -> Candidate:
    origin = dict(row.origin)
    structure, redraws, seed = origin.pop("structure"), origin.pop("redraws"), origin.pop("seed")
    return Candidate(
        id=row.candidate_id,
        run_id=row.run_id,
        generation=row.generation,
        index=row.index,
        source=StrategySource(bytes(row.data), Language(row.language)),
        provenance=Provenance(
            **origin | {"parents": tuple(origin["parents"]), "seed": None if seed is None else int(seed)}
        ),
        structure=structure,
        redraws=redraws,
    )
