"""Leading a run: one process at a time breeds, selects and admits, on whichever machine; others may help to try candidates.

In a home folder the kernel's lock decides (``flows.runlock``), which ends with its process. Between machines that share a database a
lease does (``evolution.leases``), which runs out.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from evolution.leases import BEAT_S, LEASE_S, Leases, Taken
from evolution.run import RunStatus
from flows import runlock
from flows.heartbeat import beating
from flows.identity import place
from flows.problems import UsageProblem
from runtime.store import StoreError, fenced, impatient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.run import RunRecord


@contextmanager
def led(engine: Engine, home: Path, run_id: str) -> Iterator[Engine]:
    """Lead a run alone. Gives the database to write to: it refuses once somebody else leads.

    Raises:
        UsageProblem: another process leads it, or did until a moment ago on another machine.
    """
    with runlock.held(home, run_id):
        # The kernel says that no other process of this home works on the run, so a lease of this home's is a dead one's.
        lease = Leases(engine).take(run_id, place(home), is_alone=True)
        if isinstance(lease, Taken):
            raise UsageProblem(
                f"run {run_id} is being worked on by {lease.holder}: wait for it, or stop it there; if it was cut short, "
                f"the run is free {lease.free_in_s:.0f} s from now, {LEASE_S:.0f} s after its last sign of life"
            )
        leases = Leases(impatient(engine))
        try:
            with beating(lambda: leases.renew(lease), BEAT_S):
                yield fenced(engine, run_id, lease.token)
        finally:
            # A database that is away lets the lease run out by itself.
            with suppress(StoreError):
                leases.release(lease)


def is_led(engine: Engine, home: Path, run_id: str) -> bool:
    """Whether a process leads a run: one of this home that holds its lock, or one elsewhere whose lease has not run out."""
    if runlock.is_held(home / "runs" / run_id / "lock"):
        return True
    leader = Leases(engine).holder(run_id)
    return leader is not None and leader.holder != place(home) and leader.free_in_s > 0


def is_cut_short(engine: Engine, home: Path, record: RunRecord) -> bool:
    """Whether a run is stored as running while nobody leads it any more, here or elsewhere."""
    if record.status is not RunStatus.RUNNING:
        return False
    here = runlock.is_held(home / "runs" / record.id / "lock")
    if here:
        return False
    leader = Leases(engine).holder(record.id)
    if leader is None or leader.holder == place(home):
        return here is False
    return leader.free_in_s <= 0
