"""Paper trading at the command line: from a promotion to the story of a night, in real cages."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from evolution.seeds import seed_sources
from flows.hooks import run_hooks
from flows.story import request_words, tell
from gates import CellJob, open_proof_cage, prove
from runtime.kernel import RunConfig
from runtime.market import WARMUP_BARS, open_dataset
from runtime.sir.build import build
from runtime.sir.compile import compile_document
from runtime.sir.vector import run_signals

pytestmark = pytest.mark.slow

KEY = {"TRIGATE_PASSPHRASE": "correct horse"}
FROM = "2008-06-02"
LOOSE = "[paper.guards]\norder_notional = 1e9\nmax_drawdown = 0.9\ndaily_loss = 0.9\n"


@pytest.fixture
def desk(trigate, stocked):
    """A home with one promoted entry and a signed deployment."""
    shutil.copytree(stocked, trigate.home)
    (trigate.home / "trigate.toml").write_text(LOOSE)
    done = trigate.run("pool", "promote", "p-0001", "--by", "Ada", "--reason", "steady", **KEY)
    assert done.code == 0, done.out + done.err
    assert "is signed: trigate paper start p-0001 --by Ada --symbol PLANT-A --feed NAME (or --replay SET)\n" in done.out
    return trigate


def start(desk, *words, by="Ada", **environment):
    base = ("paper", "start", "p-0001", "--by", by, "--symbol", "PLANT-A", "--replay", "planted-edge", "--from", FROM)
    return desk.run(*base, *words, "--json", **KEY | environment)


def test_a_promoted_entry_runs_a_replayed_night_to_the_backtests_fills_and_its_story_is_told(desk):
    done = start(desk)
    assert (done.code, done.document["status"]) == (0, "finished"), done.out + done.err
    run = done.document["id"]
    bars = open_dataset("planted-edge", desk.home).bars["PLANT-A"]
    first = int(np.searchsorted(bars.ts, datetime.fromisoformat(f"{FROM}T00:00+00:00").timestamp()))
    with open_proof_cage() as cage:
        cell = CellJob(key="PLANT-A", start=first, stop=len(bars), warmup=WARMUP_BARS)
        source = dict(seed_sources())["breakout"]
        (report,) = prove(source, cage, {"PLANT-A": bars}, [cell], RunConfig()).reports
    with sqlite3.connect(desk.home / "trigate.db") as database:
        stored = database.execute("SELECT ts, side, quantity, price, fee FROM paper_fill ORDER BY number").fetchall()
    assert stored == [(int(f.ts.timestamp()), f.side.value, f.quantity, f.price, f.fee) for f in report.fills]
    assert stored
    status = desk.run("paper", "status", run, "--json").document
    assert status["equity"] == report.equity[-1]
    assert (status["fills"], status["locks"], status["lag_s"]) == (len(stored), [], None)
    told = desk.run("paper", "audit", run)
    assert told.code == 0
    assert told.out.count(" filled ") == len(stored)
    assert "audit log: whole;" in told.out
    exported = desk.home / "audit.jsonl"
    assert desk.run("paper", "audit", "--export", str(exported)).code == 0
    assert desk.run("paper", "audit", "--file", str(exported)).code == 0
    lines = exported.read_text().splitlines(keepends=True)
    exported.write_text("".join(lines[:-2]))
    cut = desk.run("paper", "audit", "--file", str(exported), "--json")
    assert (cut.code, "its tail was cut" in cut.document["verdict"]) == (1, True)
    assert desk.run("paper", "list").out.count(run) == 1


@pytest.mark.parametrize("begin", ["1990-01-01", "2013-06-03"])
def test_a_day_that_cannot_be_replayed_is_answered_with_those_that_can(desk, begin):
    """The set's own list ends with its vault, which is not replayed: somebody who chose a day from it is told so."""
    done = start(desk, "--from", begin)
    message = done.document["error"]["message"]
    assert (
        done.code,
        message.startswith(f"--from {begin}: planted-edge replays PLANT-A from 1997-01-01 to 2009-"),
    ) == (2, True)
    assert "its vault left out; choose a day after the first and not after the last" in message


def test_control_c_says_how_the_run_goes_on_and_so_does_the_list(desk):
    words = ("--by", "Ada", "--symbol", "PLANT-A", "--replay", "planted-edge", "--from", FROM, "--speed", "1000000")
    process = desk.start("paper", "start", "p-0001", *words, **KEY)
    said = process.stderr.readline()
    run = said.split()[0]
    assert (
        f"on PLANT-A; bars with a fill or a refusal follow. Ctrl-C leaves it resumable; look: trigate paper status {run}"
        in said
    )
    assert process.stderr.readline().split()[0] == run  # its first fill
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == f"trigate: stopped; {run} goes on with: trigate paper resume {run}"
    assert f"nobody runs it; trigate paper resume {run}" in desk.run("paper", "list").out
    resumed = desk.run("paper", "resume", run)
    assert (resumed.code, resumed.out) == (0, f"{run} is finished: the feed has no further bars\n")
    assert "the last one 2009-08-06T00:00Z" in desk.run("paper", "audit", run).out


def test_a_promoted_document_trades_on_paper_what_it_traded_in_its_backtest(trigate, stocked_document):
    """One path for both: the kernel's session asks the document bar by bar, weeks included, and the backtest reads columns."""
    shutil.copytree(stocked_document, trigate.home)
    (trigate.home / "trigate.toml").write_text(LOOSE)
    promoted = trigate.run("pool", "promote", "p-0001", "--by", "Ada", "--reason", "steady", **KEY)
    assert promoted.code == 0, promoted.out + promoted.err
    done = start(trigate)
    assert (done.code, done.document["status"]) == (0, "finished"), done.out + done.err
    bars = open_dataset("planted-edge", trigate.home).bars["PLANT-A"]
    first = int(np.searchsorted(bars.ts, datetime.fromisoformat(f"{FROM}T00:00+00:00").timestamp()))
    with sqlite3.connect(trigate.home / "trigate.db") as database:
        stored = database.execute("SELECT ts, side, quantity, price, fee FROM paper_fill ORDER BY number").fetchall()
        ((data,),) = database.execute("SELECT data FROM source WHERE language = 'sir'").fetchall()
    cut = bars.between(first - WARMUP_BARS, len(bars))
    report = run_signals(build(compile_document(data).plan), cut, RunConfig(start=WARMUP_BARS))
    assert stored == [(int(f.ts.timestamp()), f.side.value, f.quantity, f.price, f.fee) for f in report.fills]
    assert stored
    assert trigate.run("paper", "status", done.document["id"], "--json").document["equity"] == report.equity[-1]


def test_what_does_not_hold_any_more_is_refused_at_start_and_at_resume(desk):
    assert start(desk, by="Eve").document["code"] == 403
    wrong = start(desk, TRIGATE_PASSPHRASE="another one")
    assert wrong.code == 2
    real = start(desk, "--venue", "exchange")
    assert "real money is out of scope" in real.document["message"]
    queued = start(desk, "--queue")
    assert queued.code == 0
    run = queued.document["id"]
    again = start(desk, "--queue")
    assert (again.code, again.document["code"]) == (1, 409)
    (deployment,) = desk.run("paper", "list", "--json").document["deployments"]
    revoked = desk.run("paper", "revoke", deployment["id"], "--by", "Ada", "--reason", "too risky", **KEY)
    assert revoked.code == 0
    resumed = desk.run("paper", "resume", run, "--json", **KEY)
    assert (resumed.code, resumed.document["status"]) == (1, "revoked")
    assert "was revoked by Ada" in resumed.document["reason"]
    assert "has no signed deployment" in start(desk).document["error"]["message"]


def test_no_guard_no_run(desk):
    off = "\n".join(f"{name} = {value}" for name, value in {"market_hours": "false", "order_notional": "-1"}.items())
    (desk.home / "trigate.toml").write_text(f"[paper.guards]\n{off}\n")
    wrong = start(desk)
    assert (wrong.code, "order_notional" in wrong.document["error"]["message"]) == (2, True)
    (desk.home / "trigate.toml").write_text("")
    done = start(desk, "--queue", "--without-guard")
    run = desk.run("paper", "status", done.document["id"], "--json").document
    assert (run["guards"], run["unguarded_by"]) == (None, "Ada")
    nobody = desk.run("paper", "stop", run["id"], "--by", "Eve", "--json", **KEY)
    assert (nobody.code, "Eve" in nobody.document["error"]["message"]) == (2, True)
    stopped = desk.run("paper", "stop", run["id"], "--by", "Ada", "--json", **KEY)
    assert stopped.document == {"id": run["id"], "stopped": True}


def test_plans_by_hand_need_a_second_person(desk):
    run = start(desk, "--queue").document["id"]
    desk.run("people", "add", "Bob", **KEY)
    plan = desk.run("paper", "plan", run, "buy", "--quantity", "3", "--by", "Ada", "--reason", "news", "--json", **KEY)
    assert plan.document["status"] == "pending_approval"
    own = desk.run("paper", "approve", plan.document["id"], "--by", "Ada", "--json", **KEY)
    assert (own.code, "never approves it" in own.document["message"]) == (1, True)
    typed = desk.run("paper", "plan", run, "buy", "--model", "--by", "m-1", "--reason", "news", "--json", **KEY)
    assert (typed.code, "m-1" in typed.document["error"]["message"]) == (2, True)
    words = ("--quantity", "3", "--model", "--by", "Ada", "--reason", "a model's", "--json")
    models = desk.run("paper", "plan", run, "buy", *words, **KEY).document
    assert (models["maker"], models["kind"]) == ("Ada", "model")
    own = desk.run("paper", "approve", models["id"], "--by", "Ada", "--json", **KEY)
    assert (own.code, "never approves it" in own.document["message"]) == (1, True)
    other = desk.run("paper", "approve", plan.document["id"], "--by", "Bob", "--json", **KEY)
    assert (other.code, other.document["status"], other.document["checker"]) == (0, "approved", "Bob")
    assert desk.run("paper", "resume", run, "--json", **KEY).code == 0
    told = desk.run("paper", "audit", run).out
    assert f"wanted [buy 3] passed on as order 1, plan {plan.document['id']}" in told
    for machine_words in ("pending_approval", "quantity=", "signature", "{", "verdict"):
        assert machine_words not in told
    assert "plan: by Ada, [buy 3], reason news; somebody else has to answer by" in told
    assert f"answer: by Bob, approved; plan {plan.document['id']}" in told


def test_a_plan_or_run_that_was_edited_is_refused_with_the_difference(desk):
    run = start(desk, "--queue").document["id"]
    desk.run("people", "add", "Bob", **KEY)
    for wrong in (("--quantity", "nan"), ("--quantity", "3", "--limit", "inf")):
        done = desk.run("paper", "plan", run, "buy", *wrong, "--by", "Ada", "--reason", "news", "--json", **KEY)
        assert (done.code, "write a number that ends" in done.document["error"]["message"]) == (2, True)
    done = desk.run(
        "paper", "plan", run, "cancel", "--quantity", "1.5", "--by", "Ada", "--reason", "news", "--json", **KEY
    )
    assert (done.code, "by its number" in done.document["error"]["message"]) == (2, True)
    plan = desk.run(
        "paper", "plan", run, "buy", "--quantity", "3", "--by", "Ada", "--reason", "news", "--json", **KEY
    ).document

    def edited(statement):
        database = sqlite3.connect(desk.home / "trigate.db")
        with database:
            database.execute(statement)
        database.close()

    edited("UPDATE paper_plan SET request = replace(request, '3', '9')")
    answered = desk.run("paper", "approve", plan["id"], "--by", "Bob", "--json", **KEY)
    assert (answered.code, answered.document["code"]) == (1, 403)
    assert (
        "its request is '0 buy quantity=9.0' in the store and '0 buy quantity=3.0' in the audit log"
        in answered.document["message"]
    )
    edited("UPDATE paper_plan SET status = 'perhaps'")
    edited("UPDATE paper_run SET status = 'perhaps'")
    for words in (("list",), ("resume",), ("resume", run), ("status", run), ("stop", run, "--by", "Ada")):
        done = desk.run("paper", *words, "--json", **KEY)
        assert (done.code, done.document["code"]) == (1, 409), words
        assert "is not as it was written ('perhaps' is not a valid RunStatus)" in done.document["message"]


def test_a_hook_that_does_not_agree_keeps_a_step_from_happening():
    assert run_hooks([("true",), ("cat",)], "plan", {"a": 1}) is None
    assert run_hooks([("true",), ("false",)], "plan", {}) == "hook 'false' ended with 1"
    assert "No such file" in run_hooks([("/nowhere/hook",)], "plan", {})
    secret = run_hooks([("sh", "-c", "env >&2; exit 3")], "plan", {})
    assert "ended with 3" in secret
    assert "TRIGATE" not in secret
    assert run_hooks([("printf", r"\377")], "plan", {}) is None
    assert r"\xff" in run_hooks([("sh", "-c", r"printf '\377'; exit 3")], "plan", {})


def test_a_hook_has_a_time_limit_and_what_it_started_dies_with_it(tmp_path):
    """A grandchild that holds the output open must hold nobody up."""
    lives = tmp_path / "lives"
    started = f"(sleep 600; touch {lives}) & echo $! > {tmp_path / 'pid'}; wait"
    assert run_hooks([("sh", "-c", started)], "plan", {}, 0.5) == "hook 'sh' was killed after 0.5 s"
    stat = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    deadline = time.monotonic() + 60
    while not _is_dead(stat) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _is_dead(stat)
    assert run_hooks([("sh", "-c", "yes | head -c 3000000; exit 4")], "plan", {}).startswith(
        "hook 'sh' ended with 4: y y y"
    )


def _is_dead(stat):
    """Gone, or a zombie that nobody has waited for yet."""
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_the_story_tells_what_a_hook_had_against_an_exit():
    body = {"ts": "2026-11-30T22:00:00+00:00", "fills": [], "refused": [], "decisions": [], "locks": [], "equity": 1.0, "cash": 1.0,
            "position": 0.0, "notes": [{"what": "hook", "ts": 1, "detail": "broken; it only reduces"}]}  # fmt: skip
    line = json.dumps({"sequence": 1, "at": "2026-11-30T22:00:00.000000Z", "run": "t-1", "what": "bar", "body": body})
    assert any(told.endswith("broken; it only reduces") for told in tell([line]))


def test_the_story_leaves_out_other_runs():
    line = json.dumps(
        {"sequence": 1, "at": "2026-11-30T22:00:00.000000Z", "run": "t-1", "what": "stop", "body": {"by": "Ann"}}
    )
    assert tell([line], "t-1") == ["1 2026-11-30T22:00:00Z t-1 stop: by Ann"]  # a line of another version: its facts
    assert tell([line], "t-2") == []


def test_the_story_tells_what_is_no_plain_value():
    body = {"notes": [{"what": "late", "ts": 1}], "count": 0, "left": None, "empty": ""}
    line = json.dumps({"sequence": 1, "at": "2026-11-30T22:00:00.000000Z", "run": "t-1", "what": "feed", "body": body})
    assert tell([line]) == ['1 2026-11-30T22:00:00Z t-1 feed: notes [{"what": "late", "ts": 1}], count 0']


GUARDS = '{"exposure":1.05,"market_hours":true}'
STORIES = [
    ("deploy", {"deployment": "d-1", "entry": "p-1", "by": "Ada", "text": "e560", "key": "80a3"}, "by Ada, entry p-1 as d-1"),
    ("revoke", {"deployment": "d-1", "by": "Ada", "reason": "enough"}, "by Ada, d-1, reason enough"),
    (
        "start",
        {"deployment": "d-1", "account": "ada", "symbol": "X", "by": "Ada", "guards": GUARDS, "unguarded_by": None,
         "feed": '{"data": "bars", "from": 1230768000, "kind": "replay"}'},
        "by Ada, X for account ada, deployment d-1; bars of bars from 2009-01-01T00:00Z, replayed; guards exposure 1.05, market hours true",
    ),
    (
        "start",
        {"deployment": "d-1", "account": "ada", "symbol": "X", "by": "Ada", "guards": None, "unguarded_by": "Ada",
         "feed": '{"feed": "crypto", "kind": "live"}'},
        "by Ada, X for account ada, deployment d-1; live bars of feed crypto; no risk guard, Ada answers for it",
    ),
    ("warm-up", {"bars": 250, "chain": "4de8"}, "on 250 bars before the first one that may be traded"),
    (
        "plan",
        {"plan": "t-1-h1", "request": "0 sell quantity=2.5 limit=9.0", "maker": "Ada", "kind": "model", "reason": "news",
         "expires": "2026-12-01T14:54:01.536240Z", "verdict": "allow"},
        "by a model that Ada ran, [sell 2.5, limit 9.0], reason news; allowed beforehand; plan t-1-h1",
    ),
    ("answer", {"plan": "t-1-h1", "by": "Bob", "status": "rejected", "signature": "c01d"}, "by Bob, rejected; plan t-1-h1"),
    ("stop", {"by": "Ada", "over": False}, "by Ada, at its next look"),
    ("stop", {"by": "Ada", "over": True}, "by Ada, at once, since nobody ran it"),
    ("reopen", {"by": "Ada"}, "by Ada, who lets it go on"),
    (
        "resume",
        {"bars": 66, "fills": 2, "equity": 98851.533, "by": "host:7"},
        "by host:7, the same again up to bar 66: 2 fills, equity 98851.53",
    ),
    (
        "end",
        {"status": "finished", "reason": "its time was over", "bars": 406, "chain": "55a9", "last": 1249516800},
        "finished, its time was over; 406 bars, the last one 2009-08-06T00:00Z",
    ),
    ("end", {"status": "failed", "reason": "no bars", "bars": 0, "chain": ""}, "failed, no bars"),
    ("clock", {"jumped_s": -3600.0}, "it jumped by -3600 s"),
    ("feed", {"notes": [{"what": "late", "ts": 0, "detail": "left out"}]}, "late bar at 1970-01-01T00:00Z, left out"),
    ("hook", {"request": "2 close", "complaint": "broken"}, "[close] broken"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "body", "words"), STORIES)
def test_each_thing_in_the_log_is_told_in_a_sentence_without_what_only_a_machine_can_check(what, body, words):
    line = json.dumps({"sequence": 1, "at": "2026-11-30T22:00:00.000000Z", "run": "t-1", "what": what, "body": body})
    assert tell([line]) == [f"1 2026-11-30T22:00:00Z t-1 {what}: {words}"]


def test_the_words_of_a_strategy_cannot_pose_as_ours():
    """A tag is free text: what looks like a price in it stays within its quotes."""
    assert request_words("1 buy quantity=1.0 tag='x stop_loss=9 tag=y'") == "buy 1, tag 'x stop_loss=9 tag=y'"
    assert request_words("1 buy quantity='many' limit='9'") == "buy quantity='many' limit='9'"
    assert request_words("what is this") == "what is this"


def test_the_story_of_a_run_that_is_not_there_is_refused(desk):
    """A slip in the id must not read as a log that is whole and empty."""
    done = desk.run("paper", "audit", "t-20261201-000000")
    assert (done.code, "whole" in done.out) == (1, False)
    assert "no line of a paper run 't-20261201-000000'; trigate paper list shows them" in done.out


def test_what_somebody_asked_to_stop_does_not_keep_the_others_from_going_on(desk):
    """Its runner died before it looked: the run still counts as running, and resume without a name leaves it alone."""
    stopping = start(desk, "--queue").document["id"]
    other = start(desk, "--queue", "--symbol", "PLANT-B").document["id"]
    with sqlite3.connect(desk.home / "trigate.db") as database:
        database.execute(
            "INSERT INTO paper_lease (run, holder, epoch, expires) VALUES (?, 'gone:1', 1, '2999-01-01T00:00:00.000000Z')",
            (stopping,),
        )
    asked = desk.run("paper", "stop", stopping, "--by", "Ada", **KEY)
    assert asked.out == f"{stopping} stops at its next look, within seconds\n"
    assert "Ada asked it to stop" in desk.run("paper", "list").out
    named = desk.run("paper", "resume", stopping)
    assert (named.code, "was asked to stop by Ada; --by NAME lets it go on" in named.err) == (2, True)
    resumed = desk.run("paper", "resume")
    assert (resumed.code, resumed.out) == (0, f"{other} is finished: the feed has no further bars\n")


def test_a_slip_in_a_name_is_named_before_a_new_person_is_offered(desk):
    run = start(desk, "--queue").document["id"]
    done = desk.run("paper", "stop", run, "--by", "Adda", **KEY)
    assert (done.code, "did you mean 'Ada'? trigate people add 'Adda' makes one" in done.err) == (2, True)
    code = desk.run("people", "code", "p-0001", "--decision", "promote", "--by", "Adda", **KEY)
    assert "did you mean 'Ada'?" in code.out
    promoted = desk.run("pool", "promote", "p-0001", "--by", "Adda", "--reason", "steady", **KEY)
    assert promoted.code == 1
