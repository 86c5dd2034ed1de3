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


def events_of(api, run, what):
    chosen = {"resource": {"id": [f"trigate.paper.{run}"]}, "event": {"name": [f"trigate.paper.{what}"]}}
    answer = api.call("events/filter", {"filter": chosen, "limit": 50})
    assert answer.is_good, answer.body
    return answer.body["events"]


def test_a_paper_run_is_a_flow_run_with_its_name_events_and_days(here, prefect_url):
    run = started(here, "--from", "2009-03-02")
    assert flow_of(here, prefect_url, run) == "Finished"
    api = Api(url=prefect_url, auth=None)
    (found,) = api.call("flow_runs/filter", {"flow_runs": {"name": {"any_": [f"paper {run}"]}}}).body
    assert (found["state"]["type"], found["state"]["name"]) == ("COMPLETED", "Finished")
    assert found["state"]["message"] == f"{run} is finished: the feed has no further bars"
    assert found["parameters"] == {"run": run}
    fills = here.run("paper", "status", run, "--json").document["fills"]
    audit = here.run("paper", "audit", "--json").document

    def told():
        """What has reached the server's feed; events come on their own, each when it wants."""
        days = {day["payload"]["audit_head"] for day in events_of(api, run, "day")}
        ends = [end["payload"]["status"] for end in events_of(api, run, "end")]
        return len(events_of(api, run, "fill")), ends, audit["head"] in days

    deadline = time.monotonic() + 120
    while told() != (fills, ["finished"], True) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert told() == (fills, ["finished"], True)
    assert fills
    (artifact,) = api.call("artifacts/latest/filter", {"artifacts": {"key": {"any_": ["paper-day"]}}}).body
    shown = artifact["data"].replace("\\", "")
    assert shown.startswith(f"{run} on 2009-08-06: 1 bar, ")
    assert f"Audit log: line {audit['sequence']}, head {audit['head']}, key {audit['key']}" in shown
    # Over is over: the same flow run again does nothing.
    assert flow_of(here, prefect_url, run) == "Finished"
    assert here.run("paper", "status", run, "--json").document["fills"] == fills


def test_a_run_whose_rows_were_edited_fails_there_and_writes_nothing(here, prefect_url):
    import sqlite3

    run = started(here, "--from", "2009-03-02")
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
