"""The ``paper`` flow on a real Prefect server: a run that a person reads there, with its events and its days."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from flows.api import Api

pytestmark = pytest.mark.slow

KEY = {"TRIGATE_PASSPHRASE": "correct horse"}
LOOSE = "[paper.guards]\norder_notional = 1e9\nmax_drawdown = 0.9\ndaily_loss = 0.9\n"
CALL = "import sys; from flows.paper import paper; print(paper(sys.argv[1], return_state=True).name)"


def started(here, *words):
    (here.home / "trigate.toml").write_text(LOOSE)
    assert here.run("pool", "promote", "p-0001", "--by", "Ada", "--reason", "steady", **KEY).code == 0
    base = ("paper", "start", "p-0001", "--by", "Ada", "--symbol", "PLANT-A", "--replay", "planted-edge")
    done = here.run(*base, *words, "--queue", "--json", **KEY)
    assert done.code == 0, done.out + done.err
    return done.document["id"]


def flow_of(here, prefect_url, run):
    """Run the flow in a process of its own, as a worker does."""
    environment = here.environment | {"PREFECT_API_URL": prefect_url, "PREFECT_HOME": str(here.home / "prefect")}
    done = subprocess.run(
        [sys.executable, "-c", CALL, run], env=environment, cwd=here.home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def events_of(api, run, name):
    """How many events of a name the server has of a run."""
    chosen = {"resource": {"id": [f"trigate.paper.{run}"]}, "event": {"name": [f"trigate.paper.{name}"]}}
    answer = api.call("events/filter", {"filter": chosen, "limit": 1})
    assert answer.is_good, answer
    return answer.body["total"]


def test_a_paper_run_is_a_flow_run_with_its_name_events_and_days(here, prefect_url):
    run = started(here, "--from", "2009-06-01")
    assert flow_of(here, prefect_url, run) == "Finished"
    api = Api(url=prefect_url, auth=None)
    (found,) = api.call("flow_runs/filter", {"flow_runs": {"name": {"any_": [f"paper {run}"]}}}).body
    assert (found["state"]["type"], found["state"]["name"]) == ("COMPLETED", "Finished")
    assert found["state"]["message"] == f"{run} is finished: the feed has no further bars"
    assert found["parameters"] == {"run": run}
    fills = here.run("paper", "status", run, "--json").document["fills"]
    deadline = time.monotonic() + 120
    while events_of(api, run, "end") == 0 and time.monotonic() < deadline:
        time.sleep(0.2)  # events reach the server's feed on their own
    assert (events_of(api, run, "fill"), events_of(api, run, "end")) == (fills, 1)
    assert events_of(api, run, "day") == here.run("paper", "status", run, "--json").document["bars"]  # of one day each
    (artifact,) = api.call("artifacts/latest/filter", {"artifacts": {"key": {"any_": ["paper-day"]}}}).body
    audit = here.run("paper", "audit", "--json").document
    card = artifact["data"].replace("\\", "")
    assert run in card
    line = next(line for line in card.splitlines() if "Audit log" in line)
    assert str(audit["sequence"]) in line
    assert audit["head"] in line
    # Over is over: the same flow run again does nothing.
    assert flow_of(here, prefect_url, run) == "Finished"
    assert here.run("paper", "status", run, "--json").document["fills"] == fills


def test_a_run_whose_rows_were_edited_fails_there_and_writes_nothing(here, prefect_url):
    import sqlite3

    run = started(here, "--from", "2009-06-01")
    with sqlite3.connect(here.home / "trigate.db") as database:
        (guards,) = database.execute("SELECT guards FROM paper_run").fetchone()
        loose = json.dumps(json.loads(guards) | {"exposure": 20.0}, separators=(",", ":"))
        database.execute("UPDATE paper_run SET guards = ?", (loose,))
    assert flow_of(here, prefect_url, run) == "Refused"
    refused = here.run("paper", "resume", run, "--json")
    assert (refused.code, refused.document["refused"]) == (1, True)
    assert (
        "its guards were changed: exposure is 20.0 in the store and 1.05 in the audit log" in refused.document["reason"]
    )
