"""A run has one process, and one whose process is gone is seen to be abandoned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import runlock
from flows.problems import UsageProblem

HOLDER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from flows.runlock import held
with held(Path(sys.argv[1]), "r-1"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_run_that_is_worked_on_is_refused_to_others_and_not_abandoned(tmp_path, holder, monkeypatch):
    monkeypatch.setattr(runlock, "_PAUSE_S", 0.0)
    assert not runlock.is_abandoned(tmp_path, "r-1")
    with pytest.raises(UsageProblem, match="r-1 is being worked on by another process"), runlock.held(tmp_path, "r-1"):
        pass


def test_a_run_whose_process_was_killed_is_abandoned_and_free(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert runlock.is_abandoned(tmp_path, "r-1")
    with runlock.held(tmp_path, "r-1"):
        assert not runlock.is_abandoned(tmp_path, "r-1")


def test_of_a_run_on_another_machine_nothing_is_known(tmp_path):
    assert not runlock.is_abandoned(tmp_path, "r-2")


def test_who_looks_does_not_keep_a_worker_out(tmp_path, monkeypatch):
    """A shared lock for an instant must not look like another worker."""
    import fcntl

    with runlock.held(tmp_path, "r-1"):
        pass
    with (tmp_path / "runs" / "r-1" / "lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        waits = SimpleNamespace(sleep=lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        monkeypatch.setattr(runlock, "time", waits)
        with runlock.held(tmp_path, "r-1"):
            pass


def test_the_folders_of_runs_are_for_their_owner_alone(tmp_path):
    with runlock.held(tmp_path, "r-1"):
        assert (tmp_path / "runs").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "runs" / "r-1").stat().st_mode & 0o777 == 0o700
