"""``trigate up``: what stands in its way is told in one sentence, a schedule really fires, and ``trigate down`` ends it all."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import socket
import stat
import urllib.error
import urllib.request
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from patience import PATIENCE_S, wait_until

from flows import standing
from flows.commands import station as module
from flows.problems import EnvironmentProblem
from flows.standing import Phase, Station
from flows.tidings import store_tag

# Everything here waits for something to happen, and gives up only long after it should have.
KEY = {"TRIGATE_PASSPHRASE": "correct horse"}


@contextmanager
def pretended(home, **changes):
    """A station as it looks from outside: a held lock, and what it wrote."""
    (home / "prefect").mkdir(parents=True)
    station = Station(**{"phase": Phase.READY, "pid": os.getpid(), "port": 14_321} | changes)
    standing.write_state(home, station)
    with (home / "prefect" / standing.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield station


def one_line(ended, *parts):
    (line,) = ended.err.strip().splitlines()
    assert all(part in line for part in parts), line


def test_a_station_is_known_by_its_lock_and_not_by_what_it_wrote(tmp_path):
    """A process id may be somebody else's by now; a lock ends with who held it."""
    assert standing.find(tmp_path) is None
    with pretended(tmp_path) as station:
        assert standing.find(tmp_path) == station
    assert standing.read_state(tmp_path) == station
    assert standing.find(tmp_path) is None


def test_what_it_wrote_is_for_its_owner_and_garbage_is_nothing(tmp_path):
    with pretended(tmp_path):
        file = tmp_path / "prefect" / "station.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for text in ("", "[]", '{"phase": "READY"}', '{"phase": "ODD", "pid": 1, "port": 2}'):
            file.write_text(text)
            assert standing.find(tmp_path) is None


def test_the_password_is_made_once_and_for_its_owner_only(tmp_path):
    (tmp_path / "prefect").mkdir()
    first = standing.auth_string(tmp_path)
    assert standing.auth_string(tmp_path) == first
    assert first.startswith("trigate:")
    assert len(first) > 40
    assert stat.S_IMODE(standing.auth_file(tmp_path).stat().st_mode) == 0o600


def test_a_process_that_is_no_station_is_not_ended(tmp_path):
    """This test's own process has the id that the file names."""
    with pretended(tmp_path) as station:
        assert not standing.end(station)


def test_a_run_uses_the_server_that_is_up(tmp_path, monkeypatch):
    from flows import server

    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_HOME"):
        monkeypatch.setitem(os.environ, name, "")
    with pretended(tmp_path) as station:
        pending = server.start_server(tmp_path)
        assert (pending.api_url, pending.own) == (station.api_url, False)
        assert os.environ["PREFECT_API_AUTH_STRING"] == standing.auth_string(tmp_path)


def test_what_stands_in_the_way_is_told_in_one_sentence(trigate):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = trigate.run("up", "--port", port)
        assert ended.code == 3
        one_line(ended, f"port {port} of 127.0.0.1", "already in use", "--port")
    ended = trigate.run("up", PREFECT_API_URL="http://127.0.0.1:9/api")
    assert ended.code == 2
    one_line(ended, "PREFECT_API_URL", "http://127.0.0.1:9/api", "unset it")
    ended = trigate.run("up", TRIGATE_HOME="/dev/null/home")
    assert ended.code == 3
    one_line(ended, "TRIGATE_HOME")
    assert trigate.run("down").out == "nothing is up\n"
    assert trigate.run("down", "--json").document == {"was_up": False}


def test_a_disk_without_room_is_told_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: SimpleNamespace(free=3 * 2**20))
    monkeypatch.setenv("TRIGATE_HOME", str(tmp_path))
    with pytest.raises(
        EnvironmentProblem, match=r"3\.0 MiB are free there, .* need 32 .*; free some, or set TRIGATE_HOME"
    ):
        module.up(port=4_333)
    assert list(tmp_path.iterdir()) == []


def test_an_old_server_on_the_port_is_named_as_such(trigate, prefect_url):
    ended = trigate.run("up", "--port", prefect_url.rsplit(":", 1)[1].removesuffix("/api"))
    assert ended.code == 3
    one_line(ended, "a Prefect server that trigate up did not start answers there", "--port")


def test_up_twice_says_where_it_is(trigate):
    with pretended(trigate.home) as station:
        ended = trigate.run("up")
        assert ended.code == 0
        assert ended.out.startswith(f"up already: {station.ui_url}")
        ended = trigate.run("up", "--port", 4_333)
        assert ended.code == 2
        one_line(ended, "--port 4333", station.ui_url, "trigate down")
        assert station.ui_url in trigate.run("doctor", "--json").document["server"]


def newest_run(trigate):
    """Of those that the station made; the home came with an older one, whatever today's date is."""
    return next(each for each in trigate.run("runs", "list", "--json").document if each["id"] != "r-20261130-001")


class Api:
    """Prefect's API as somebody with the password uses it."""

    def __init__(self, url, password):
        self.url = url
        self.headers = {"Content-Type": "application/json"}
        if password:
            self.headers["Authorization"] = "Basic " + base64.b64encode(password.encode()).decode()

    def call(self, path, body=None, method=None):
        """The server says 503 while somebody else writes to its database."""
        return wait_until(lambda: found if (found := self.once(path, body, method))[0] != 503 else None, "an answer")

    def once(self, path, body, method):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.mark.slow
def test_a_schedule_fires_by_itself_and_down_ends_what_works(house, tmp_path):
    """One life of a station, since each start takes long: up, closed doors, a review, a schedule, down (kills: test_going_on.py)."""
    trigate = house
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert trigate.run("people", "add", "Ada", **KEY).code == 0
    started = trigate.run("up", "--port", port, "--json", timeout=PATIENCE_S, **KEY)
    open_to_others = [each for each in (trigate.home / "prefect").iterdir() if each.stat().st_mode & 0o077]
    assert open_to_others == []
    try:
        assert started.code == 0, started.err
        assert started.document["phase"] == "ready"
        api = Api(started.document["api"], standing.auth_string(trigate.home))
        deployment = _closed_doors(api)
        _reviews(trigate, api, tmp_path)
        _fires(trigate, api, deployment, tmp_path)
        _works(trigate, api, deployment)
    finally:
        ended = trigate.run("down", timeout=PATIENCE_S)
    assert (ended.code, ended.out) == (0, "ended; what was stored stays stored\n"), ended.err
    assert standing.find(trigate.home) is None
    # Nobody works any more on the run that was under way. Whether or not it could still write that down, it was stopped and not killed.
    newest = newest_run(trigate)
    assert newest["status"] == "interrupted"
    assert newest["resume"] == f"trigate evolve --resume {newest['id']}"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


def _closed_doors(api):
    """Only with the password, and through the form only names and sizes."""
    status, _ = Api(api.url, None).call("deployments/name/evolve/evolve-nightly")
    assert status == 401
    status, deployment = api.call("deployments/name/evolve/evolve-nightly")
    assert status == 200
    assert deployment["entrypoint"] == "flows.evolve.evolve"
    for smuggled in (
        {"data": "../secret.csv"},
        {"data": "/etc/passwd"},
        {"cage": "reduced"},
        {"base_url": "http://10.0.0.1/"},
        {"key_env": "AWS_SECRET_ACCESS_KEY"},
        {"database": "postgresql://10.0.0.1/x"},
        {"population": 2},
    ):
        status, said = api.call(f"deployments/{deployment['id']}/create_flow_run", {"parameters": {"night": smuggled}})
        assert status == 409, (smuggled, said)
    return deployment


def _reviews(trigate, api, tmp_path):
    """A person promotes from the UI's form; what is forged moves nothing, and another review of the same entry ends by it."""
    _, deployment = api.call("deployments/name/review/review")
    canary = tmp_path / "canary-of-a-review"
    # A command, an environment and a folder of somebody's choice are not what runs.
    sent = {"command": f"touch {canary}", "env": {"TRIGATE_HOME": str(tmp_path / "other")}, "working_dir": "/"}
    body = {"parameters": {"request": {"entry": "p-0001"}}}
    create = f"deployments/{deployment['id']}/create_flow_run"
    status, said = api.call(create, body | {"job_variables": sent})
    assert status in {201, 409, 422}, said
    smuggler = said["id"] if status == 201 else None
    first, second = (api.call(create, body)[1]["id"] for _ in range(2))

    def is_waiting(run, attempt):
        state = api.call(f"flow_runs/{run}")[1]["state"]
        assert state["type"] not in {"FAILED", "CRASHED", "COMPLETED"}, state
        return state["type"] == "PAUSED" and state["state_details"]["pause_key"] == f"attempt-{attempt}"

    for run in (first, second):
        wait_until(lambda run=run: is_waiting(run, 1), "the review")
    for forged in (None, {}, {"decision": "promote"}, {"decision": "retire", "reason": "r", "code": "c"}):
        _, said = api.call(f"flow_runs/{first}/resume", {"run_input": forged})
        assert said["status"] == "REJECT", said
    form = {"decision": "promote", "reason": "steady on every fold"}
    words = ("people", "code", "p-0001", "--by", "Ada", "--json", "--decision")
    stray = trigate.run(*words, "decline", **KEY).document["code"]
    _, said = api.call(f"flow_runs/{first}/resume", {"run_input": form | {"code": stray}})
    assert said["status"] == "ACCEPT", said
    wait_until(lambda: is_waiting(first, 2), "the refusal")
    assert trigate.run("pool", "list", "--json").document[0]["status"] == "candidate"
    code = trigate.run(*words, "promote", **KEY).document["code"]
    _, said = api.call(f"flow_runs/{first}/resume", {"run_input": form | {"code": code}})
    assert said["status"] == "ACCEPT", said

    def ended(run):
        state = api.call(f"flow_runs/{run}")[1]["state"]
        return state if state["type"] == "COMPLETED" else None

    assert wait_until(lambda: ended(first), "the promotion")["name"] == "Promoted"
    assert wait_until(lambda: ended(second), "the other review")["name"] == "Decided elsewhere"
    shown = trigate.run("pool", "show", "p-0001", "--json").document
    assert (shown["status"], shown["looks_left"]) == ("promoted", 9)
    (line,) = shown["decisions"]
    assert (line["by"], line["attestation"]) == ("Ada", "signed by one-time code")
    assert "cannot be trusted" not in trigate.run("pool", "show", "p-0001").out
    assert smuggler is None or wait_until(lambda: ended(smuggler), "the smuggler's review")
    assert not canary.exists()
    # The key of a person is no business of the worker, whatever the terminal knew that started it.
    worker = standing.find(trigate.home).worker_pid
    assert b"correct horse" not in Path(f"/proc/{worker}/environ").read_bytes()


def _fires(trigate, api, deployment, tmp_path):
    """A run that nobody asked for by hand, by the worker, in the home of ``trigate up``."""
    canary = tmp_path / "canary"
    sent = {"command": f"touch {canary}", "env": {"TRIGATE_HOME": str(tmp_path / "other")}, "working_dir": "/"}
    status, said = api.call(f"deployments/{deployment['id']}", {"job_variables": sent}, "PATCH")
    assert status in {204, 409, 422}, said
    night = {"data": "planted-edge", "generations": 2, "population": 4, "seed": 3}
    schedule = {
        "schedule": {
            "interval": 86_400,
            "anchor_date": (datetime.now(UTC) + timedelta(seconds=20)).isoformat(),
        },
        "active": True,
        "parameters": {"night": night},
    }
    status, said = api.call(f"deployments/{deployment['id']}/schedules", [schedule])
    assert status == 201, said

    def fired():
        _, runs = api.call(
            "flow_runs/filter",
            {"deployments": {"id": {"any_": [deployment["id"]]}}, "flow_runs": {"state": {"type": {"not_any_": ["SCHEDULED", "PENDING", "RUNNING"]}}}},
        )  # fmt: skip
        return runs

    (run,) = wait_until(fired, "the schedule")
    assert (run["state_type"], run["auto_scheduled"]) == ("COMPLETED", True), run["state"]
    assert run["parameters"]["night"]["data"] == "planted-edge"
    # Whoever looks after another store on the same server knows by this that it is none of theirs.
    _, generations = api.call("flow_runs/filter", {"flows": {"name": {"any_": ["generation"]}}})
    assert len(generations) == 2
    assert all(store_tag(trigate.home) in each["tags"] for each in (run, *generations))
    assert not canary.exists()
    assert not (tmp_path / "other").exists()
    listed = newest_run(trigate)
    assert (listed["status"], listed["dataset"], listed["trials"]) == ("finished", "planted-edge", 8)
    # Nobody was at a terminal, and the page lies there in the morning.
    page = (trigate.home / "reports" / f"{listed['id']}.html").read_text(encoding="utf-8")
    assert "planted-edge, synthetic bars" in page
    assert ">finished<" in page


def _works(trigate, api, deployment):
    """A long run, under way when the station is ended."""
    night = {"data": "planted-edge", "generations": 500, "population": 4, "seed": 4}
    status, said = api.call(f"deployments/{deployment['id']}/create_flow_run", {"parameters": {"night": night}})
    assert status == 201, said

    def is_under_way():
        newest = newest_run(trigate)
        return newest["plan"]["generations"] == 500 and newest["trials"] > 4

    wait_until(is_under_way, "the long run")
