"""``trigate sir`` as a user runs it."""

import json
import shutil
import signal
import time
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "sir_golden"
RSI = GOLDEN / "plans" / "rsi_daily.json"
ASSUMING = GOLDEN / "plans" / "limit_trailing.json"


def test_both_languages_go_through_one_door(trigate):
    ended = trigate.run("check", RSI, "--json")
    assert ended.code == 0
    assert ended.document["verdict"] == "admitted"
    assert ended.document["language"] == "sir"
    assert ended.document["findings"] == []


def test_a_refused_document_is_exit_one_with_one_line_per_problem(trigate, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(json.loads(RSI.read_text()) | {"features": []}))
    ended = trigate.run("check", bad)
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert [line.partition(": compilation ")[2].split(" ")[0] for line in lines[:2]] == ["undefined-indicator"] * 2
    assert lines[2] == "refused at the stage cross-check: 2 problems"


def test_compile_prints_the_plan(trigate):
    assert trigate.run("sir", "compile", RSI, "--json").document["plan"]["warmup_bars"] == 14
    assert json.loads(trigate.run("sir", "compile", RSI).out) == json.loads(RSI.with_suffix(".plan.json").read_text())


def test_the_hash_is_the_same_for_every_spelling(trigate, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps(json.loads(RSI.read_text()), indent=7, sort_keys=True))
    assert trigate.run("sir", "hash", other).out == trigate.run("sir", "hash", RSI, "--json").document["sha256"] + "\n"


def test_a_confirmation_is_kept_for_the_very_document(trigate, tmp_path):
    mine = tmp_path / "mine.json"
    shutil.copy(ASSUMING, mine)
    assert trigate.run("sir", "explain", mine, "--json").document["open_assumptions"] == ["exit"]
    assert trigate.run("sir", "explain", mine, "--confirm").out.splitlines()[-1] == "all assumptions are confirmed"
    assert trigate.run("sir", "explain", mine, "--json").document["open_assumptions"] == []
    mine.write_text(mine.read_text().replace("0.5", "0.6"))
    assert trigate.run("sir", "explain", mine, "--json").document["open_assumptions"] == ["exit"]


def test_the_schema_is_one_json_document(trigate):
    assert trigate.run("sir", "schema").document == trigate.run("sir", "schema", "--json").document


@pytest.fixture
def model(trigate, llm_server):
    """A scripted model that is set up: ``server = model("hang")``."""
    opened = []

    def start(*plan):
        opened.append(llm_server.ScriptedServer(plan))
        trigate.home.mkdir()
        profile = f'[llm.a]\nbase_url = "{opened[-1].base_url}"\nmodel = "scripted"\n'
        (trigate.home / "trigate.toml").write_text(profile)
        return opened[-1]

    yield start
    for server in opened:
        server.close()


def test_a_wish_becomes_a_file_that_compiles_and_is_read_out(trigate, model, tmp_path):
    server = model("violating")
    out = tmp_path / "plan.json"
    ended = trigate.run("sir", "write", "buy setbacks", "--out", out)
    assert ended.code == 0, ended.err
    assert "It goes in when" in ended.out
    assert trigate.run("sir", "check", out).code == 0
    # What the compiler refused went back, once.
    assert len(server.seen) == 2
    assert "unknown-indicator" in server.seen[1].text


def test_control_c_while_a_model_writes_leaves_nothing_behind(trigate, model, tmp_path):
    server = model("hang")
    process = trigate.start("sir", "write", "buy setbacks", "--out", tmp_path / "plan.json")
    deadline = time.monotonic() + 300
    while not server.seen and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "trigate: stopped; nothing was written"
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("check", "absent.json"), "document absent.json: no such file or directory"),
        (("sir", "check", RSI, "--mode", "fast"), "--mode fast: one of backtest, paper, live, screen"),
        (("sir", "write", "buy low"), "no model is set up: add a section [llm.NAME] to trigate.toml"),
        (("sir", "write", " "), "wish of 1 characters: say what the strategy should do"),
        (("sir", "write", "buy low", "--out", RSI), "it is there already; name a new file"),
    ],
)
def test_wrong_usage_is_one_sentence(trigate, words, sentence):
    ended = trigate.run(*words)
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.out == ""
