"""Who leads a run. One process at a time, on whichever machine: it breeds, selects and admits, and others may only try candidates.

A lease runs out when its holder is not heard of for some time, by the database's clock. Another process may then take it; from that
moment the former holder cannot write any more (``runtime.store.fenced``), however late it wakes up.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, update
from sqlmodel import col

from evolution.sharing_tables import RunLeaseRow, SharedCandidateRow, SharedRunRow
from runtime.store import database_time, reading, writing

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Engine

LEASE_S = 60.0
"""Seconds without a sign of life after which another machine may take over. Many times the beat, so that a busy database costs nobody a run."""
BEAT_S = 10.0
"""Seconds between two signs of life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to lead a run."""

    run_id: str
    holder: str
    token: int
    """Drawn anew each time that the lease changes hands; what writes are fenced by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Somebody else leads the run."""

    holder: str
    free_in_s: float
    """Seconds until it is free if its holder is not heard of again; 0 and less when it is free already."""


class Leases:
    """The leases of a database. Safe for several threads, processes and machines at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def take(self, run_id: str, holder: str, *, is_alone: bool = False) -> Lease | Taken:
        """Become the leader of a run, unless somebody else is.

        Args:
            run_id: of a stored run.
            holder: who asks; told to people.
            is_alone: the caller knows that no other process of this holder's lives, so a lease of its own name is nobody's.
        """
        lease = Lease(run_id=run_id, holder=holder, token=secrets.randbelow(2**62))
        with writing(self._engine) as session:
            now = database_time(session)
            row = session.get(RunLeaseRow, run_id)
            if row is not None and row.expires > now and not (is_alone and row.holder == holder):
                return Taken(holder=row.holder, free_in_s=(row.expires - now).total_seconds())
            session.merge(
                RunLeaseRow(run_id=run_id, holder=holder, token=lease.token, expires=now + timedelta(seconds=LEASE_S))
            )
        return lease

    def renew(self, lease: Lease) -> bool:
        """Give a sign of life; False when somebody else leads the run now."""
        with writing(self._engine) as session:
            expires = database_time(session) + timedelta(seconds=LEASE_S)
            changed = session.execute(update(RunLeaseRow).where(_is(lease)).values(expires=expires))
            return bool(changed.rowcount)  # type: ignore[attr-defined]  # an UPDATE has one

    def release(self, lease: Lease) -> None:
        """Let go of a run, and drop what others needed for it. Nothing happens when somebody else leads it now."""
        with writing(self._engine) as session:
            if session.execute(delete(RunLeaseRow).where(_is(lease))).rowcount:  # type: ignore[attr-defined]
                for table in (SharedCandidateRow, SharedRunRow):
                    session.execute(delete(table).where(col(table.run_id) == lease.run_id))

    def holder(self, run_id: str) -> Taken | None:
        """Who leads a run, or led it last and did not let go; None when nobody does."""
        with reading(self._engine) as session:
            row = session.get(RunLeaseRow, run_id)
            if row is None:
                return None
            return Taken(holder=row.holder, free_in_s=(row.expires - database_time(session)).total_seconds())


def _is(lease: Lease) -> ColumnElement[bool]:
    return (col(RunLeaseRow.run_id) == lease.run_id) & (col(RunLeaseRow.token) == lease.token)
