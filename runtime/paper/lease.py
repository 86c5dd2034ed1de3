"""Leases: of two runners of one run exactly one acts.

A lease has an end, so that another can take over from a runner that died, and an epoch that grows with every change of hands. The end
only decides who may *ask*; the epoch decides who may *write*: it is checked inside every transaction that writes, so a runner that was
asleep through its end finds out there, before it has done anything (Kleppmann, "How to do distributed locking", 2016: fencing tokens).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from runtime.paper.canon import moment, stamp
from runtime.paper.tables import LeaseRow
from runtime.store import writing

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

LEASE = timedelta(seconds=60)
"""How long a runner may be silent. It renews with each bar and each look at the run, several times within this."""


class LeaseLost(Exception):  # noqa: N818  # a state of the world, not an error of the caller
    """Another runner has taken over. Nothing was written; stop, and leave the run to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Leave to act for a run."""

    run: str
    epoch: int
    """The fencing token: larger than that of every lease before."""
    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Somebody else has it."""

    holder: str
    expires: datetime


def acquire(engine: Engine, run: str, *, holder: str, at: datetime) -> Lease | Held:
    """Take the lease of a run when it is free or past its end."""
    with writing(engine) as session:
        row = session.get(LeaseRow, run)
        if row is None:
            row = LeaseRow(run=run, epoch=0, holder="", expires=stamp(at))
        elif stamp(at) < row.expires:
            return Held(holder=row.holder, expires=moment(row.expires))
        row.epoch, row.holder, row.expires = row.epoch + 1, holder, stamp(at + LEASE)
        session.add(row)
        return Lease(run=run, epoch=row.epoch, holder=holder)


def fence(session: Session, lease: Lease, at: datetime) -> None:
    """Make sure, inside the caller's writing transaction, that the lease still holds, and renew it.

    Raises:
        LeaseLost: it does not.
    """
    row = session.get(LeaseRow, lease.run)
    if row is None or row.epoch != lease.epoch:
        raise LeaseLost(f"run {lease.run} was taken over by {row.holder if row else 'nobody'}")
    row.expires = max(row.expires, stamp(at + LEASE))
    session.add(row)


def release(engine: Engine, lease: Lease, at: datetime) -> None:
    """Let go, if it is still ours."""
    with writing(engine) as session:
        row = session.get(LeaseRow, lease.run)
        if row is not None and row.epoch == lease.epoch:
            row.expires = min(row.expires, stamp(at))
            session.add(row)
