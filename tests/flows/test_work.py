"""Several processes on one run: as if one had done it alone, whoever dies; and who would not compute the same is refused."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from patience import PATIENCE_S, wait_until
from sqlalchemy import text

from evolution.leases import Leases
from evolution.ledger import TrialLedger
from evolution.run import RunFacts, RunStatus
from evolution.workboard import Parcel, Workboard
from flows.identity import code_digest, config_hash
from flows.settings import Settings
from runtime.store import open_engine, writing
from runtime.version import ENGINE_VERSION

PLAIN_NIGHT = Path(__file__).with_name("plain_night.py")


def a_run(engine, **changes):
    """A run that somebody else leads, shared with whoever fits."""
    facts = {
        "seed": 1,
        "plan": {},
        "dataset": "d",
        "dataset_sha256": "d" * 64,
        "config_hash": config_hash(Settings()),
        "engine_version": ENGINE_VERSION,
    }
    run = TrialLedger(engine, now=lambda: datetime.now(UTC)).start_run(RunFacts(**facts | changes)).id
    Workboard(engine).publish(run, Parcel(code=code_digest(), bench=b""))
    Leases(engine).take(run, "elsewhere")
    return run


def only_line(ended):
    (line,) = [each for each in ended.err.splitlines() if each.startswith("trigate:")]
    return line


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"engine_version": "0"}, "its engine version is 0 and is"),
        ({"config_hash": "f" * 64}, "its configuration is ffffffffffff and is"),
    ],
)
def test_who_would_not_compute_the_same_is_refused(trigate, changes, sentence):
    run = a_run(open_engine(trigate.home), **changes)
    ended = trigate.run("work", run)
    assert ended.code == 3
    assert sentence in only_line(ended)


def test_an_older_program_and_other_bars_are_refused(trigate):
    engine = open_engine(trigate.home)
    run = a_run(engine)
    with writing(engine) as session:
        session.execute(text("UPDATE shared_run SET code = 'older'"))
    assert "its program is older and is" in only_line(trigate.run("work", run))
    with writing(engine) as session:
        session.execute(text("UPDATE shared_run SET bench = :other"), {"other": b"other bars"})
    assert "are not those that were put up" in only_line(trigate.run("work", run))


def test_there_is_nothing_to_help_with_where_nobody_leads(trigate):
    engine = open_engine(trigate.home)
    ended = trigate.run("work", "r-1")
    assert (ended.code, "no run has this id" in only_line(ended)) == (2, True)
    run = a_run(engine)
    with writing(engine) as session:
        session.execute(text("DELETE FROM shared_run"))
    ended = trigate.run("work", run)
    assert ended.code == 3
    assert f"trigate evolve --resume {run}" in only_line(ended)


def test_a_run_that_died_elsewhere_is_cut_short_once_its_lease_has_run_out(trigate):
    engine = open_engine(trigate.home)
    run = a_run(engine)
    (listed,) = trigate.run("runs", "list", "--json").document
    assert (listed["id"], listed["status"]) == (run, RunStatus.RUNNING.value)
    with writing(engine) as session:
        then = datetime.now(UTC) - timedelta(days=1)
        session.execute(text("UPDATE run_lease SET expires = :then"), {"then": then})
    (listed,) = trigate.run("runs", "list", "--json").document
    assert (listed["status"], listed["resume"]) == ("cut short", f"trigate evolve --resume {run}")


def night(environment, *words):
    return subprocess.Popen(
        [sys.executable, PLAIN_NIGHT, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ends(process):
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.strip(), err.strip()


def trials(ledger):
    """All that a run came to, but for its name and the seconds."""
    (listing,) = ledger.runs()
    return [
        (trial.candidate.id, trial.candidate.source.sha256, trial.outcome, trial.reason, trial.scorecard, trial.probe)
        for trial in ledger.trials(listing.record.id)
    ]


@pytest.mark.slow
def test_leader_and_helpers_die_and_the_run_ends_as_if_one_had_done_it_alone(tmp_path, trigate, postgres):
    """Two homes, one PostgreSQL: two machines as far as anything here can tell. The helper's home holds no bars at all."""
    environment = trigate.environment
    alone = environment | {"TRIGATE_HOME": str(tmp_path / "alone")}
    assert ends(night(alone))[0] == 0
    undisturbed = trials(TrialLedger(open_engine(tmp_path / "alone"), now=lambda: datetime.now(UTC)))

    url = postgres.database()
    shared = environment | {"TRIGATE_DATABASE_URL": url}
    here, there, rival = (shared | {"TRIGATE_HOME": str(tmp_path / name)} for name in ("here", "there", "rival"))
    engine = open_engine(tmp_path, url)
    ledger = TrialLedger(engine, now=lambda: datetime.now(UTC))

    leader = night(here)
    run = leader.stdout.readline().strip()
    wait_until(lambda: ledger.funnel(run).total, "the first trial")
    leader.send_signal(signal.SIGKILL)
    leader.communicate()
    code, _, err = ends(night(rival, run))
    assert (code, f"run {run} is being worked on by" in err, "free" in err) == (1, True, True), err

    # Helpers that take a candidate and are killed while they are at it.
    leader = night(here, run)
    leader.stdout.readline()
    helper = subprocess.Popen(trigate.command("work", run), env=there, stdout=subprocess.DEVNULL, cwd=tmp_path)

    def claimed():
        with engine.connect() as connection:
            query = "SELECT count(*) FROM shared_candidate WHERE holder <> 'leader' AND NOT is_done"
            return connection.scalar(text(query)) or leader.poll() is not None

    wait_until(claimed, "a claim", pause_s=0.02)
    helper.send_signal(signal.SIGKILL)
    helper.wait()
    # So that nobody has to wait until its claims run out.
    with writing(engine) as session:
        then = datetime.now(UTC) - timedelta(days=1)
        session.execute(
            text("UPDATE shared_candidate SET expires = :then WHERE expires IS NOT NULL AND NOT is_done"),
            {"then": then},
        )
    second = subprocess.Popen(trigate.command("work", run), env=there, stdout=subprocess.DEVNULL, cwd=tmp_path)
    postgres.stop()  # in the middle of everything
    postgres.start()
    assert ends(leader)[0] == 0
    second.terminate()
    second.wait(PATIENCE_S)

    assert trials(ledger) == undisturbed
    assert ledger.run(run).status is RunStatus.FINISHED
    assert not [path for path in (tmp_path / "there").rglob("*") if path.suffix in {".npz", ".csv", ".gz", ".json"}]
    with engine.connect() as connection:
        for table in ("run_lease", "shared_run", "shared_candidate"):
            assert connection.scalar(text(f"SELECT count(*) FROM {table}")) == 0
    engine.dispose()
