"""One process per run: two that worked on the same one would try the same candidates twice.

The lock is the kernel's (flock), so it is gone with its process, however that ended, and a process id that is used again fools nobody.
Seen on the machine and in the home folder where the run works; of a run on another machine nothing is known.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flows.problems import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Somebody who lists runs holds a shared lock for an instant; that must not look like another worker.
_ATTEMPTS = 40
_PAUSE_S = 0.05


@contextmanager
def held(home: Path, run_id: str) -> Iterator[None]:
    """Work on a run alone.

    Raises:
        UsageProblem: another process does.
    """
    runs = home / "runs"
    for folder in (runs, runs / run_id):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(runs / run_id / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _locked(descriptor):
            raise UsageProblem(f"run {run_id} is being worked on by another process; wait for it, or stop it first")
        yield
    finally:
        os.close(descriptor)


def is_abandoned(home: Path, run_id: str) -> bool:
    """Whether a run began here and no process works on it any more. False where nothing is known."""
    return is_held(home / "runs" / run_id / "lock") is False


def is_held(lock: Path) -> bool | None:
    """Whether a living process holds a lock file; None where there is no such file."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _locked(descriptor: int) -> bool:
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_PAUSE_S if attempt + 1 < _ATTEMPTS else 0)
        else:
            return True
    return False
