"""A night under ``trigate up`` survives the kill of its process, of the worker and of the server; Prefect and the store on PostgreSQL."""

from __future__ import annotations

import json
import os
import signal
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest
from patience import PATIENCE_S, wait_until

from evolution.ledger import TrialLedger
from evolution.run import RunStatus
from flows import standing
from flows.api import Api
from flows.processes import flow_processes
from runtime.store import open_engine

# Everything here waits for something to happen, and gives up only long after it should have.
GENERATIONS, POPULATION = 20, 4
NIGHT = {
    "data": "planted-edge",
    "generations": GENERATIONS,
    "population": POPULATION,
    "seed": 3,
    "deadline_minutes": 600,
}
PASSWORD = "hunter2"


def ask(api, path, body=None):
    """A server that is being started anew does not answer for a while."""
    return wait_until(lambda: found if (found := api.call(path, body)) and found.is_good else None, path).body


@pytest.mark.slow
def test_a_killed_night_goes_on_by_itself_whichever_process_was_killed(trigate, postgres, prefects_postgres):
    """One station for all three kills, since each start takes long. Prefect's history is on PostgreSQL where one is that it can use."""
    store = postgres.database()
    trigate.environment["TRIGATE_DATABASE_URL"] = store
    if prefects_postgres is not None:
        trigate.environment["TRIGATE_PREFECT_DATABASE_URL"] = prefects_postgres.database()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = trigate.run("up", "--port", port, "--json", timeout=PATIENCE_S)
    engine = open_engine(trigate.home, store)
    try:
        assert started.code == 0, started.err
        api = Api(url=started.document["api"], auth=standing.auth_string(trigate.home))
        ledger = TrialLedger(engine, now=lambda: datetime.now(UTC))
        run = _is_killed_and_goes_on(trigate, api, ledger)
        _loses_worker_and_server(trigate)
        wait_until(lambda: ledger.run(run).status is not RunStatus.RUNNING, "the end of the night")
        _is_complete(trigate, api, ledger, run)
        _tells_no_password(trigate, api)
        assert (trigate.home / "prefect" / "prefect.db").exists() == (prefects_postgres is None)
    finally:
        engine.dispose()
        ended = trigate.run("down", timeout=PATIENCE_S)
    assert (ended.code, ended.out) == (0, "ended; what was stored stays stored\n"), ended.err


def _is_killed_and_goes_on(trigate, api, ledger):
    """SIGKILL of the flow's process, with some of the night done; its run, by its id."""
    deployment = ask(api, "deployments/name/evolve/evolve-nightly")
    first = ask(api, f"deployments/{deployment['id']}/create_flow_run", {"parameters": {"night": NIGHT}})["id"]

    def begun():
        found = ledger.records(limit=1)
        return found[0] if found and ledger.funnel(found[0].id).total > POPULATION else None

    record = wait_until(begun, "the night")
    (process,) = [each for each in flow_processes() if each.flow_run == first]
    assert process.home == str(trigate.home)
    os.kill(process.pid, signal.SIGKILL)
    tried = ledger.funnel(record.id).total

    def gone_on():
        story = ledger.run(record.id).story
        return story if story["flow"]["id"] != first and ledger.funnel(record.id).total > tried else None

    story = wait_until(gone_on, "its going on")
    assert story["flow"]["until"] == record.story["flow"]["until"]
    assert first in story["flow_runs"]
    assert ask(api, f"flow_runs/{first}")["state_type"] == "CRASHED"
    return record.id


def _loses_worker_and_server(trigate):
    """SIGKILL of both, while the flow works on: it needs neither for what counts."""
    before = standing.find(trigate.home)
    os.kill(before.worker_pid, signal.SIGKILL)
    os.kill(before.server_pid, signal.SIGKILL)

    def again():
        now = standing.find(trigate.home)
        is_new = now.server_pid != before.server_pid and now.worker_pid != before.worker_pid
        return is_new and now.restarts >= 2

    wait_until(again, "the restart")
    document = trigate.run("doctor", "--json").document
    assert "answers" in document["server"]
    assert document["worker"] == "up"
    assert document["went_on_by_themselves"] >= 1


def _is_complete(trigate, api, ledger, run):
    """One run, all of its candidates once, and nothing in Prefect that looks as if it still worked."""
    (listed,) = trigate.run("runs", "list", "--json").document
    assert (listed["id"], listed["status"], listed["trials"]) == (run, "finished", GENERATIONS * POPULATION)
    assert 1 <= listed["resumes"] <= 3
    assert listed["given_up"] is None
    assert "went on by itself" in trigate.run("runs", "show", run).out
    newest = ledger.run(run).story["flow"]["id"]
    # Its page is written after the run has ended.
    wait_until(lambda: ask(api, f"flow_runs/{newest}")["state_type"] == "COMPLETED", "the flow's end")
    active = {"flow_runs": {"state": {"type": {"any_": ["PENDING", "RUNNING"]}}}}
    wait_until(lambda: not ask(api, "flow_runs/filter", active), "the end of the last zombie")
    assert (trigate.home / "reports" / f"{run}.html").is_file()


def _tells_no_password(trigate, api):
    """Neither database's password is on a command line, in a file, with a flow that has no use for it, or told by the server."""
    station = standing.find(trigate.home)
    for pid in (station.pid, station.server_pid, station.worker_pid):
        assert PASSWORD.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert b"TRIGATE_PREFECT_DATABASE_URL" not in Path(f"/proc/{station.worker_pid}/environ").read_bytes()
    for file in trigate.home.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes(), file
            assert file.stat().st_mode & 0o077 == 0 or file.parent.stat().st_mode & 0o077 == 0, file
    told = [ask(api, "admin/settings"), ask(api, "artifacts/filter", {}), ask(api, "logs/filter", {})]
    assert PASSWORD not in json.dumps(told)
