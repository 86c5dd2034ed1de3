"""A whole night through the command line, and what it leaves behind: store, pool, files, Prefect's states and artifacts."""

from __future__ import annotations

import json
import signal
import stat
import time
import urllib.request
from datetime import datetime
from pathlib import Path

import pytest
from patience import wait_until

from flows.tasks import STATE_NAMES

SMALL = ("evolve", "--generations", 3, "--population", 8, "--seed", 5)


def trials_of(trigate, run):
    document = trigate.run("runs", "show", run, "--json").document
    return [
        {name: value for name, value in each.items() if name not in {"cpu_s", "wall_s"}} for each in document["trials"]
    ]


def pool_of(trigate):
    keep = ("sha256", "score", "status", "candidate", "checks")
    return [{name: each[name] for name in keep} for each in trigate.run("pool", "list", "--json").document]


def post(url, path, body):
    request = urllib.request.Request(f"{url}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def processes_of(home):
    """Ids of processes whose environment names this home: everything that a run started, whoever its parent is now."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if str(home).encode() in environment and state != "Z":
                found.append(int(entry.name))
    return found


def test_a_night_tells_its_funnel_and_keeps_every_trial(night):
    trigate, document = night
    assert document["funnel"]["trials"] == 16
    shown = trigate.run("runs", "show", document["id"], "--json").document
    assert shown["status"] == "finished"
    assert [each["id"] for each in shown["trials"]] == [f"g{g:03d}-c{i:03d}" for g in range(2) for i in range(8)]
    for trial in shown["trials"]:
        assert {"id", "generation", "sha256", "parents", "operator", "outcome", "gate", "reason", "score"} <= set(trial)
        assert trial["operator"].startswith(("seed/", "offline/"))
        assert trial["model"] is None
        assert bool(trial["parents"]) == (not trial["operator"].startswith("seed/"))
        if trial["outcome"] == "scored":
            assert trial["objectives"] is not None
            assert trial["reason"]
    listed = trigate.run("runs", "list", "--json").document
    assert [each["id"] for each in listed] == [document["id"]]


def test_an_empty_pool_says_why_check_by_check(night):
    trigate, document = night
    text = trigate.run("runs", "show", document["id"]).out
    assert "Funnel" in text
    if not document["entries"]:
        assert "nothing was" in document["verdict"]


def test_candidate_files_are_private_and_exact(night):
    trigate, document = night
    import hashlib

    folder = trigate.home / "runs" / document["id"] / "candidates"
    trials = {
        each["id"]: each["sha256"] for each in trigate.run("runs", "show", document["id"], "--json").document["trials"]
    }
    files = sorted(folder.glob("*.py"))
    assert len(files) == len(trials)
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() == trials[file.stem]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(trigate.home.stat().st_mode) == 0o700


def during(document, records):
    """Those that were made while the run of this document went on: a run of another home may have the same name."""
    began, ended = (datetime.fromisoformat(document[name]) for name in ("created", "finished"))
    return [each for each in records if began <= datetime.fromisoformat(each["created"]) <= ended]


def test_prefect_shows_one_green_task_per_candidate_with_the_verdict_as_its_state(night, prefect_url):
    trigate, document = night
    trials = {each["id"]: each for each in trigate.run("runs", "show", document["id"], "--json").document["trials"]}
    flows = post(prefect_url, "flow_runs/filter", {"flows": {"name": {"any_": ["generation"]}}})
    mine = during(document, flows)
    assert sorted(each["name"] for each in mine) == ["generation g000", "generation g001"]
    assert {each["parameters"]["run_id"] for each in mine} == {document["id"]}
    ours = [each["id"] for each in mine]
    tasks = post(prefect_url, "task_runs/filter", {"task_runs": {"flow_run_id": {"any_": ours}}})
    seen = {each["name"]: each["state"] for each in tasks}
    assert set(seen) == set(trials)
    names = {outcome.value: name for outcome, name in STATE_NAMES.items()}
    for name, state in seen.items():
        assert state["type"] == "COMPLETED"
        assert state["name"] == names[trials[name]["outcome"]]
        assert state["message"] == trials[name]["reason"]


def test_prefect_gets_a_table_for_each_generation_a_bar_and_a_report(night, prefect_url):
    _, document = night
    artifacts = during(document, post(prefect_url, "artifacts/filter", {"limit": 200}))
    tables = [each for each in artifacts if each["key"] == "generation" and document["id"] in each["description"]]
    assert len(tables) == 2
    rows = json.loads(tables[0]["data"])
    assert [row["rank"] for row in rows] == list(range(1, 9))
    assert {"candidate", "outcome", "score", "gate", "reason", "parents"} <= set(rows[0])
    bars = [each for each in artifacts if each["key"] == "run-progress" and document["id"] in each["description"]]
    assert [each["data"] for each in bars] == [100.0]
    assert any(each["key"] == "run-report" and document["id"].replace("-", "\\-") in each["data"] for each in artifacts)


@pytest.mark.slow
def test_only_the_whole_night_sends_heartbeats(night, prefect_url):
    """Prefect waits up to a second at the end of each flow run that does: a fifth of a generation."""
    _, document = night
    began, ended = (document[name] for name in ("created", "finished"))
    wanted = {"event": {"name": ["prefect.flow-run.heartbeat"]}, "occurred": {"since": began, "until": ended}}

    def beating():
        events = post(prefect_url, "events/filter", {"filter": wanted, "limit": 50})["events"]
        return [each["resource"]["prefect.resource.name"] for each in events]

    wait_until(lambda: any(name.startswith("evolve ") for name in beating()), "the night's heartbeat")
    assert [name for name in beating() if name.startswith("generation ")] == []


def test_the_same_seed_gives_the_same_candidates_scores_and_pool(tmp_path, with_server):
    """Twice in homes of their own, with one candidate at a time and with two."""
    results = []
    for workers in (1, 2):
        with_server.home = tmp_path / f"home-{workers}"
        with_server.environment["TRIGATE_HOME"] = str(with_server.home)
        (tmp_path / "trigate.toml").write_text(f"workers = {workers}\n")
        ended = with_server.run(*SMALL, "--data", "planted-edge", "--json")
        assert ended.code == 0, ended.err
        results.append((trials_of(with_server, ended.document["id"]), pool_of(with_server)))
    assert results[0] == results[1]
    assert results[0][1], "the planted edge must fill the pool, or this compares nothing"


@pytest.mark.slow
def test_a_promotion_succeeds_on_the_planted_edge_and_only_once(with_server):
    ended = with_server.run(*SMALL, "--data", "planted-edge", "--json")
    first = ended.document["entries"][0]["id"]
    assert with_server.run("pool", "show", first).code == 0
    promoted = with_server.run("pool", "promote", first, "--by", "Ada", "--reason", "holds on validation", "--json")
    assert promoted.document["verdict"] == "promoted"
    assert promoted.code == 0
    again = with_server.run("pool", "promote", first, "--by", "Ada", "--reason", "again", "--json")
    assert again.code == 1
    assert again.document["verdict"] == "refused"
    shown = with_server.run("pool", "show", first, "--json").document
    assert shown["status"] == "promoted"
    assert [each["by"] for each in shown["decisions"]] == ["Ada"]
    second = ended.document["entries"][1]["id"]
    declined = with_server.run("pool", "decline", second, "--by", "Ada", "--reason", "too close to the first")
    assert declined.code == 0
    assert with_server.run("pool", "promote", second, "--by", "Ada", "--reason", "after all").code == 1


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_happened(tmp_path, with_server):
    """kill -9 in the middle: the store holds what was done, nothing of the run survives, and resume gives the same end."""
    whole = with_server.run(*SMALL, "--json").document
    expected = trials_of(with_server, whole["id"])
    with_server.home = tmp_path / "killed"
    with_server.environment["TRIGATE_HOME"] = str(with_server.home)
    process = with_server.start(*SMALL)
    count = 0
    while count < 10:
        assert process.poll() is None
        listed = with_server.run("runs", "list", "--json").document
        count = listed[0]["trials"] if listed else 0
    process.kill()
    process.communicate()
    wait_until(lambda: not processes_of(with_server.home), "the end of all processes")
    (run,) = with_server.run("runs", "list", "--json").document
    # Nobody was left to write down an end; who lists runs sees that nobody works on it.
    assert (run["status"], run["resume"]) == ("cut short", f"trigate evolve --resume {run['id']}")
    assert f"trigate evolve --resume {run['id']}" in with_server.run("runs", "list").out
    shown = with_server.run("runs", "show", run["id"]).out
    assert "  cut short; from" in shown
    assert f"  go on with it: trigate evolve --resume {run['id']}\n" in shown
    resumed = with_server.run("evolve", "--resume", run["id"], "--json")
    assert resumed.code == 0, resumed.err
    assert trials_of(with_server, run["id"]) == expected
    assert with_server.run("evolve", "--resume", run["id"]).code == 2  # it has finished


@pytest.mark.slow
def test_ctrl_c_ends_a_run_quietly_and_leaves_it_resumable(trigate):
    """With a server of our own: it must survive the signal long enough, and be gone afterwards."""
    process = trigate.start("evolve", "--generations", 40, "--population", 8, "--seed", 5)
    listed = []
    while not (listed and listed[0]["trials"] > 8):
        assert process.poll() is None, process.communicate()
        time.sleep(0.5)
        listed = trigate.run("runs", "list", "--json").document
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, (out, err)
    assert "Traceback" not in out + err
    assert err.strip().endswith(f"trigate evolve --resume {listed[0]['id']}"), err
    assert len(err.strip().splitlines()) == 1, err
    (run,) = trigate.run("runs", "list", "--json").document
    assert run["status"] == "interrupted"
    wait_until(lambda: not processes_of(trigate.home), "the end of all processes")


@pytest.mark.slow
def test_two_runs_at_once_without_a_server_do_not_disturb_each_other(trigate):
    small = ("evolve", "--generations", 1, "--population", 6, "--json")
    processes = [trigate.start(*small, "--seed", seed) for seed in (1, 2)]
    for process in processes:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        assert json.loads(out)["funnel"]["trials"] == 6
        assert "Traceback" not in err
    assert {each["status"] for each in trigate.run("runs", "list", "--json").document} == {"finished"}


@pytest.mark.slow
def test_output_without_a_terminal_is_a_few_plain_lines(with_server):
    ended = with_server.run("evolve", "--generations", 1, "--population", 6, "--seed", 2)
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert ended.err == ""
    lines = ended.out.splitlines()
    assert lines[0].startswith("Trigate ")
    assert any(line.startswith("generation g000 (1 of 1): ") for line in lines)


@pytest.mark.slow
def test_a_model_writes_children_and_its_key_stays_secret(tmp_path, with_server, llm_server, prefect_folder):
    """The scripted server really edits the parent; its first answers break the rules, and are repaired from findings."""
    key = "sk-canary-7f3a9b"
    with llm_server.ScriptedServer(("violating", "429-seconds"), key=key) as server:
        (tmp_path / "trigate.toml").write_text(
            f'[search]\nllm_share = 0.7\n[llm.scripted]\ndialect = "openai_chat"\nbase_url = "{server.base_url}"\n'
            'model = "scripted"\nkey_env = "TRIGATE_TEST_KEY"\n'
        )
        words = ("evolve", "--generations", 3, "--population", 8, "--seed", 3, "--llm", "scripted", "--json")
        ended = with_server.run(*words, TRIGATE_TEST_KEY=key)
        assert ended.code == 0, ended.err
        seen = [each.text for each in server.seen]
    trials = trials_of(with_server, ended.document["id"])
    operators = {each["operator"] for each in trials}
    assert {"llm/mutate", "llm/crossover"} & operators
    assert any(each.startswith("offline/") for each in operators)
    assert any(each.endswith("+repair") for each in operators)
    by_model = [each for each in trials if each["operator"].startswith("llm/")]
    assert {each["model"] for each in by_model} == {"scripted"}
    assert any(each["outcome"] in {"scored", "vetoed"} for each in by_model)
    for secret in (key, "AAPL", "MSFT", "IBM"):
        assert not any(secret in text for text in seen)
    # Prefect's database holds parameters, states, artifacts, events and logs.
    for file in (*with_server.home.rglob("*"), *prefect_folder.rglob("*")):
        if file.is_file():
            assert key.encode() not in file.read_bytes(), file


@pytest.mark.slow
def test_an_outage_stops_the_run_and_eats_no_candidate(tmp_path, with_server, llm_server):
    with llm_server.ScriptedServer((), key=None) as server:
        (tmp_path / "trigate.toml").write_text(
            f'[search]\nllm_share = 1.0\n[llm.out]\ndialect = "openai_chat"\nbase_url = "{server.base_url}"\n'
            'model = "scripted:401"\n'
        )
        ended = with_server.run("evolve", "--generations", 2, "--population", 6, "--seed", 3, "--llm", "out")
    assert ended.code == 3
    (run,) = with_server.run("runs", "list", "--json").document
    assert run["status"] == "interrupted"
    assert run["trials"] == 6
    assert f"trigate evolve --resume {run['id']}" in ended.err
