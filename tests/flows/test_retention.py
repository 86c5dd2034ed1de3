"""Old runs lose their bulk here and in Prefect's history; nothing that counts goes, and nothing goes unasked."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from evolution.ledger import TrialLedger
from evolution.pool import Pool
from evolution.run import RunStatus
from flows import retention
from flows.api import Api
from flows.runlock import held
from flows.tidings import store_tag
from runtime.store import DATABASE_FILE, open_engine

pytestmark = pytest.mark.slow

RUN = "r-20261130-001"
ENDED = datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
LATER = ENDED + timedelta(days=91)


@pytest.fixture
def old(here):
    """A home whose one run has ended, with a file of a candidate that never entered the pool."""
    engine = open_engine(here.home)
    TrialLedger(engine, now=lambda: ENDED).finish_run(RUN, RunStatus.FINISHED)
    engine.dispose()
    (here.home / "runs" / RUN / "candidates" / "g000-c001.py").write_text("x = 1\n")
    return here


def opened(home):
    engine = open_engine(home)
    return engine, Pool(engine, now=lambda: LATER)


def test_files_of_entries_stay_and_those_of_others_go(old):
    engine, pool = opened(old.home)
    planned = retention.plan(old.home, engine, pool, LATER)
    assert [file.name for file in planned.files] == ["g000-c001.py"]
    assert [(run.run_id, run.trials) for run in planned.runs] == [(RUN, 0)]
    done = retention.carry_out(old.home, engine, planned, before=LATER, at=LATER)
    assert (done.runs, done.files, done.note) == (1, 1, "")
    left = [file.name for file in (old.home / "runs" / RUN / "candidates").iterdir()]
    assert left == ["g000-c000.py"]
    again = retention.plan(old.home, engine, pool, LATER)
    assert (again.runs, again.files) == ((), ())
    engine.dispose()
    assert old.run("pool", "show", "p-0001", "--json").document["sha256"]


def test_the_file_shrinks_by_what_went_and_not_while_a_run_works(old):
    with sqlite3.connect(old.home / DATABASE_FILE) as connection:
        connection.execute("CREATE TABLE ballast (data BLOB)")
        connection.execute("INSERT INTO ballast VALUES (randomblob(3000000))")
        connection.commit()
        connection.execute("DROP TABLE ballast")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    engine, pool = opened(old.home)
    planned = retention.plan(old.home, engine, pool, ENDED)
    with held(old.home, "r-20261130-002"):
        busy = retention.carry_out(old.home, engine, planned, before=ENDED, at=LATER)
    assert "r-20261130-002 is working" in busy.note
    assert busy.store_after == busy.store_before
    done = retention.carry_out(old.home, engine, planned, before=ENDED, at=LATER)
    assert done.note == ""
    assert done.store_after < done.store_before - 2_000_000
    engine.dispose()


def test_the_command_says_what_would_go_and_touches_nothing_without_yes(old):
    before = (old.home / DATABASE_FILE).read_bytes()
    said = old.run("runs", "prune", "--older-than", "1")
    assert said.code == 0, said.err
    assert "nothing was touched; --yes does it" in said.out
    assert "kept for ever: trials with outcome" in said.out
    assert (old.home / DATABASE_FILE).read_bytes() == before
    document = old.run("runs", "prune", "--json").document
    assert (document["done"], document["flow_runs"]) == (None, None)
    assert old.run("runs", "prune", "--older-than", "0").code == 2


def test_history_goes_by_age_and_by_name_and_with_its_artifacts(old, prefect_url, prefect_folder, monkeypatch):
    """Runs of other people on the same server stay, and so do runs that have not ended."""
    monkeypatch.setitem(os.environ, "PREFECT_API_URL", prefect_url)
    api = Api(url=prefect_url, auth=None)

    def made(flow, state, *tags):
        flow_id = api.call("flows/", {"name": flow}).body["id"]
        body = {"flow_id": flow_id, "name": "long ago", "state": {"type": state}, "tags": tags}
        return api.call("flow_runs/", body).body["id"]

    mine, theirs = store_tag(old.home), store_tag(old.home / "other")
    gone = [made("evolve", "COMPLETED"), made("generation", "FAILED", mine)]
    kept = [made("evolve", "PAUSED"), made("somebody-elses", "COMPLETED"), made("evolve", "COMPLETED", theirs)]
    # Nobody can say through the API that something ended long ago.
    with sqlite3.connect(prefect_folder / "prefect.db", timeout=60) as connection:
        connection.execute("UPDATE flow_run SET end_time = '2001-05-01 00:00:00.000000' WHERE name = 'long ago'")
    connection.close()
    artifact = {"key": "generation", "type": "table", "data": "[]", "flow_run_id": gone[0]}
    artifact_id = api.call("artifacts/", artifact).body["id"]
    engine, pool = opened(old.home)
    before = datetime(2002, 1, 1, tzinfo=UTC)
    planned = retention.plan(old.home, engine, pool, before)
    assert planned.flow_runs == 2
    done = retention.carry_out(old.home, engine, planned, before=before, at=LATER)
    engine.dispose()
    assert done.flow_runs == 2
    assert [api.call(f"flow_runs/{run}").status for run in gone] == [404, 404]
    assert [api.call(f"flow_runs/{run}").status for run in kept] == [200, 200, 200]
    assert api.call(f"artifacts/{artifact_id}").status == 404


def test_a_store_is_kept_and_brought_back_at_the_command_line(old, tmp_path):
    file = tmp_path / "kept.db"
    kept = old.run("store", "backup", file)
    assert kept.code == 0, kept.err
    assert "whole; holds 0 decisions" in kept.out
    assert "not in it: the sealed keys" in kept.out
    assert old.run("store", "backup", file).code == 2
    assert "--replace" in old.run("store", "restore", file).err
    done = old.run("store", "restore", file, "--replace", "--json")
    assert done.document["holds"]["trials"] == 1
    old.run("pool", "decline", "p-0001", "--by", "Ada", "--reason", "no")
    refused = old.run("store", "restore", file, "--replace")
    assert refused.code == 2
    assert "does not know 1 decisions" in refused.err
    assert old.run("pool", "list", "--json").document[0]["status"] == "declined"
    with held(old.home, RUN):
        assert f"run {RUN} is being worked on" in old.run("store", "restore", file, "--replace").err
    elsewhere = old.run("store", "backup", tmp_path / "x.db", TRIGATE_DATABASE_URL="postgresql://h/x")
    assert "pg_dump" in elsewhere.err


def test_doctor_says_how_much_is_kept(old):
    document = old.run("doctor", "--json").document
    assert document["store"].endswith("MiB")
    assert document["prefect_history"] == "0.0 MiB"
    assert document["free"].endswith("MiB")


def test_two_entries_are_compared_and_one_is_taken_along(old, tmp_path):
    same = old.run("pool", "diff", "p-0001", "p-0001")
    assert "their sources are the same" in same.out
    assert old.run("pool", "diff", "p-0001", "p-0009").code == 2
    source, whole = tmp_path / "entry.py", tmp_path / "entry.json"
    assert old.run("pool", "export", "p-0001", source).code == 0
    original = old.home / "runs" / RUN / "candidates" / "g000-c000.py"
    assert source.read_bytes() == original.read_bytes()
    assert old.run("pool", "export", "p-0001", whole, "--json").document["bytes"] == whole.stat().st_size
    assert "is there already" in old.run("pool", "export", "p-0001", whole).err
    assert "must end in .json" in old.run("pool", "export", "p-0001", tmp_path / "entry.txt").err
