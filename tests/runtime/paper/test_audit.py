"""Whatever is done to the audit log is found, and named by its line."""

from __future__ import annotations

import json
import random
import re

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from runtime.paper.audit import EMPTY, read_head, read_lines, verify
from runtime.paper.canon import encode, sha256
from runtime.paper.signing import RunnerKey
from runtime.store import reading, writing


@pytest.fixture
def log(desk):
    """A log of 12 lines, its head and the runner's key."""
    with writing(desk.engine) as session:
        for number in range(11):
            desk.auditor.append(session, "t-1", "bar", {"bar": number, "close": 100.0 + number / 7, "fills": []})
    with reading(desk.engine) as session:
        return list(read_lines(session)), read_head(session), desk.auditor.key.public_key


def test_an_untouched_log_is_whole(log):
    lines, head, key = log
    report = verify(lines, head, key)
    assert (report.lines, report.head, report.problem) == (12, head, None)
    assert verify([], EMPTY, key).problem is None


def edited(line, dice):
    """One character of a line changed to another one."""
    place = dice.randrange(len(line))
    return line[:place] + chr((ord(line[place]) - 32 + 1 + dice.randrange(93)) % 95 + 32) + line[place + 1 :]


def forged(line, dice):
    """A whole new line in the right form, with the old signature."""
    document = json.loads(line)
    document["body"] = {"bar": 1, "close": dice.random()}
    return encode(document)


EDITS = {
    "edit": lambda lines, at, dice: [*lines[:at], edited(lines[at], dice), *lines[at + 1 :]],
    "forge": lambda lines, at, dice: [*lines[:at], forged(lines[at], dice), *lines[at + 1 :]],
    "delete": lambda lines, at, dice: [*lines[:at], *lines[at + 1 :]],
    "repeat": lambda lines, at, dice: [*lines[: at + 1], lines[at], *lines[at + 1 :]],
    "swap": lambda lines, at, dice: [*lines[:at], lines[(at + 1) % 12], lines[at], *lines[at + 2 :]],
    "cut": lambda lines, at, dice: lines[:at],
    "move": lambda lines, at, dice: [*lines[:at], *lines[at + 1 :], lines[at]] if at < 11 else [lines[-1], *lines[:-1]],
    "spaces": lambda lines, at, dice: [*lines[:at], lines[at] + " ", *lines[at + 1 :]],
}


def test_a_thousand_edits_are_all_found(log, dice):
    lines, head, key = log
    found = {}
    for number in range(1_000):
        kind = list(EDITS)[number % len(EDITS)]
        at = dice.randrange(12)
        changed = EDITS[kind](lines, at, dice)
        assert changed != lines
        report = verify(changed, head, key)
        assert report.problem is not None, (kind, at)
        assert re.search(r"\d", report.problem)
        found[kind] = found.get(kind, 0) + 1
    assert sum(found.values()) == 1_000


def test_the_line_is_named(log):
    lines, head, key = log
    assert "line 8 is missing" in verify([*lines[:7], *lines[8:]], head, key).problem
    assert "ends with line 9, and there were 12: its tail was cut" in verify(lines[:9], head, key).problem
    assert (
        "line 3 was changed" in verify([*lines[:2], forged(lines[2], random.Random(1)), *lines[3:]], head, key).problem
    )


def test_a_history_written_with_another_key_is_not_believed(log):
    """Hash chain and head alone can be made by anybody; the signatures cannot."""
    lines, _, key = log
    thief = RunnerKey(Ed25519PrivateKey.generate())
    previous, made = EMPTY.hash, []
    for line in lines:
        document = json.loads(line) | {"previous": previous}
        document.pop("signature")
        made.append(encode({**document, "signature": thief.sign(encode(document))}))
        previous = sha256(made[-1])
    report = verify(made, EMPTY._replace(sequence=12, hash=previous), key)
    assert report.problem == "line 1 was changed after it was signed, or signed with another key"


def test_a_head_moves_with_its_line_or_not_at_all(desk):
    with reading(desk.engine) as session:
        before = read_head(session)

    def fail_after_a_line():
        with writing(desk.engine) as session:
            desk.auditor.append(session, "t-1", "bar", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_a_line()
    with reading(desk.engine) as session:
        assert read_head(session) == before
