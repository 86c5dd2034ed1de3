"""Deciding at the command line: the simple path for a newcomer, and keys once somebody has one."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import termios
import time
from pathlib import Path

import pytest

from flows.identity import config_hash
from flows.settings import Settings

pytestmark = pytest.mark.slow

KEY = {"TRIGATE_PASSPHRASE": "correct horse"}


def promote(house, *, by="Ada", environment=None, entry="p-0001"):
    return house.run(
        "pool", "promote", entry, "--by", by, "--reason", "steady on every fold", "--json", **(environment or {})
    )


def people_of(house):
    return [(each["name"], each["public_key"] is not None) for each in house.run("people", "list", "--json").document]


def test_a_newcomer_promotes_without_any_ceremony_and_is_told_that_it_is_unsigned(house):
    done = promote(house)
    assert done.code == 0, done.out + done.err
    assert done.document["verdict"] == "promoted"
    assert done.document["decision"]["attestation"] == "unsigned, first use"
    assert done.err.count("\n") == 1
    assert 'Ada decides without a signing key: recorded as "unsigned, first use"' in done.err
    assert people_of(house) == [("Ada", False)]
    shown = house.run("pool", "show", "p-0001")
    assert "promoted by Ada (unsigned, first use): steady on every fold" in shown.out
    assert "cannot be trusted" not in shown.out


def test_a_passphrase_in_the_environment_makes_a_key_and_a_signed_decision(house):
    done = promote(house, environment=KEY)
    assert done.code == 0, done.out + done.err
    assert done.document["decision"]["attestation"] == "signed"
    assert people_of(house) == [("Ada", True)]
    assert "correct horse" not in done.out + done.err


def test_once_there_is_a_key_others_are_refused_and_a_wrong_passphrase_too(house):
    added = house.run("people", "add", "Ada", **KEY)
    assert (added.code, added.err) == (0, "")
    unknown = promote(house, by="Eve", environment=KEY)
    assert (unknown.code, unknown.document["verdict"]) == (1, "refused")
    assert (
        unknown.document["message"] == "nobody called Eve is enrolled; trigate people add 'Eve' enrols them with a key"
    )
    wrong = promote(house, environment={"TRIGATE_PASSPHRASE": "correct house"})
    assert (wrong.code, wrong.document["verdict"]) == (1, "refused")
    assert "does not open the key of 'Ada'" in wrong.document["message"]
    nobody = promote(house)
    assert nobody.code == 2
    assert "set TRIGATE_PASSPHRASE" in nobody.document["error"]["message"]
    declined = house.run("pool", "decline", "p-0001", "--by", "Eve", "--reason", "no", "--json")
    assert (declined.code, declined.document["verdict"]) == (1, "refused")
    assert house.run("pool", "list", "--json").document[0]["status"] == "candidate"
    done = promote(house, by="ada", environment=KEY)
    assert (done.code, done.document["decision"]["by"]) == (0, "Ada")


def test_a_refused_promotion_enrols_nobody(house):
    """Whoever asks first for what cannot be must not become the only one who may decide."""
    home = house.home / "trigate.toml"
    home.write_text("[run]\nfee_bps = 11\n")
    refused = promote(house, environment=KEY)
    assert (refused.code, refused.document["verdict"], refused.err) == (1, "refused", "")
    assert "config hash was" in refused.document["message"]
    assert people_of(house) == []


def test_every_decision_has_the_same_shape_and_looks_left_are_told(house):
    shape = {"id", "status", "verdict", "message", "decision"}
    assert house.run("pool", "show", "p-0001", "--json").document["looks_left"] == 10
    assert "looks left at the vault of planted-edge: 10" in house.run("pool", "show", "p-0001").out
    retired = house.run("pool", "retire", "p-0001", "--by", "Ada", "--reason", "early", "--json")
    assert (retired.code, set(retired.document), retired.document["verdict"]) == (1, shape, "refused")
    assert retired.document["decision"] is None
    done = promote(house)
    assert (set(done.document), done.document["status"], done.document["verdict"]) == (shape, "promoted", "promoted")
    again = promote(house)
    assert (set(again.document), again.document["status"], again.document["verdict"]) == (shape, "promoted", "refused")
    said = house.run("pool", "promote", "p-0001", "--by", "Ada", "--reason", "again").out
    assert "entry p-0001 is promoted; only a candidate can be promoted" in said
    assert house.run("pool", "show", "p-0001", "--json").document["looks_left"] == 9
    retired = house.run("pool", "retire", "p-0001", "--by", "Ada", "--reason", "over", "--json")
    assert (set(retired.document), retired.document["status"], retired.document["verdict"]) == (
        shape,
        "retired",
        "retired",
    )
    assert retired.document["decision"]["decision"] == "retired"


def test_adding_people_needs_a_passphrase_and_happens_once(house):
    assert house.run("people", "list").out.startswith("nobody is enrolled yet")
    asked = house.run("people", "add", "Ada")
    assert asked.code == 2
    assert "set TRIGATE_PASSPHRASE" in asked.err
    short = house.run("people", "add", "Ada", TRIGATE_PASSPHRASE="short")
    assert (short.code, "at least 8" in short.err) == (2, True)
    assert house.run("people", "add", "Ada", **KEY).code == 0
    again = house.run("people", "add", "ADA", **KEY)
    assert (again.code, "Ada has a signing key already" in again.err) == (2, True)
    assert house.run("people", "add", "Bob\x1b[2J", **KEY).code == 2
    listed = house.run("people", "list").out
    assert "Ada" in listed


def test_on_a_terminal_the_first_promotion_offers_a_key(house):
    answers = ["correct horse\n", "correct horse\n"]
    code, screen = on_terminal(house, answers, "pool", "promote", "p-0001", "--by", "Ada", "--reason", "steady")
    assert code == 0, screen
    assert "Nobody has a signing key here yet" in screen
    assert "p-0001 is promoted" in screen
    assert "correct horse" not in screen
    assert people_of(house) == [("Ada", True)]


def test_on_a_terminal_an_empty_answer_goes_unsigned(house):
    code, screen = on_terminal(house, ["\n", "\n"], "pool", "promote", "p-0001", "--by", "Ada", "--reason", "steady")
    assert code == 0, screen
    assert 'recorded as "unsigned, first use"' in screen


def on_terminal(house, answers, *words):
    """Run a command on a terminal of its own and type an answer at each question."""
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(
        house.command(*words),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=house.environment,
        cwd=house.home.parent,
        start_new_session=True,
    )
    os.close(terminal)
    screen, waiting = b"", list(answers)
    while True:
        if not select.select([keyboard], [], [], 5)[0] and not termios.tcgetattr(keyboard)[3] & termios.ECHO:
            # It waits, and so do we: what was typed before the question was flushed, or the question came in two pieces.
            os.write(keyboard, (waiting.pop(0) if waiting else answers[-1]).encode())
            continue
        try:
            got = os.read(keyboard, 65_536)
        except OSError:  # the other side is closed
            break
        if not got:
            break
        screen += got
        if waiting and screen.rstrip().endswith(b":"):
            while (
                termios.tcgetattr(keyboard)[3] & termios.ECHO
            ):  # it is turned off, and the input flushed, after the question
                time.sleep(0.01)
            os.write(keyboard, waiting.pop(0).encode())
            screen += b" "
    os.close(keyboard)
    return process.wait(300), screen.decode(errors="replace")


def test_an_edited_candidate_file_is_not_promoted(house):
    path = Path(house.home, "runs", "r-20261130-001", "candidates", "g000-c000.py")
    path.write_bytes(path.read_bytes() + b"# better\n")
    refused = promote(house)
    assert (refused.code, refused.document["verdict"]) == (1, "refused")
    assert "it was edited" in refused.document["message"]
    assert people_of(house) == []


def test_that_one_person_may_do_both_is_written_down_by_a_person_and_shown(house, tmp_path):
    assert "single_operator" not in house.run("people", "list").out
    config = tmp_path / "alone.toml"
    config.write_text("single_operator = true\n")
    shown = house.run("people", "list", "--config", config)
    assert (shown.code, "stamped self-approved" in shown.out) == (0, True)
    assert Settings.model_validate({}).single_operator is False
    # It changes no figure of a trial, so results before and after compare.
    assert config_hash(Settings(single_operator=True)) == config_hash(Settings())


def test_an_unknown_entry_or_an_empty_reason_asks_nobody_for_anything(house):
    assert promote(house, entry="p-0099", environment=KEY).code == 2
    empty = house.run("pool", "promote", "p-0001", "--by", "Ada", "--reason", " ", **KEY)
    assert empty.code == 2
    assert people_of(house) == []


def test_the_evidence_card_shows_every_check_and_what_else_to_know(house):
    shown = " ".join(house.run("pool", "show", "p-0001").out.split())
    document = house.run("pool", "show", "p-0001", "--json").document
    assert document["sha256"] in shown
    assert all(each["sentence"] in shown for each in (*document["checks"], *document["notes"]))
    assert "What this cannot say" in shown
    assert "class Breakout(Strategy):" in shown
    assert {"checks", "notes"} <= set(document)
    assert all(check["passed"] for check in document["checks"])
    assert json.dumps(document["notes"])


def test_a_candidate_is_not_scored_again(house):
    refused = house.run("pool", "rescore", "p-0001", "--by", "Ada", "--reason", "a year later", "--json")
    assert (refused.code, refused.document["verdict"]) == (1, "refused")
    assert "only what is promoted can be scored again" in refused.document["message"]
