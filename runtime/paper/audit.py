"""The audit log: lines that are only ever added, each signed, each holding the hash of the one before.

A line is the text of a document: sequence, moment, run, what happened, the hash of the line before, and the runner's signature over
all of that. The head (sequence and hash of the last line) is kept apart from the lines and moves in the same transaction, so a tail
that was cut is noticed; it is published in daily summaries and events, for the one who can cut both.

What it does not stop: whoever has the runner's key *and* the database can write another history and a head to it. Only heads that
were published before tell the two apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select
from sqlmodel import col

from runtime.paper.canon import encode, sha256, stamp
from runtime.paper.signing import is_signed
from runtime.paper.tables import AuditHeadRow, AuditRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.orm import Session

    from runtime.paper.signing import RunnerKey

GENESIS = "0" * 64
_HEAD_ID = 1
_FIELDS = {"sequence", "at", "run", "what", "body", "previous", "signature"}


class Head(NamedTuple):
    """Where a log ends."""

    sequence: int
    """Number of the last line; 0 when there is none."""
    hash: str
    """Of the last line's text; 64 zeros when there is none."""


EMPTY = Head(0, GENESIS)


@dataclass(frozen=True, slots=True)
class Auditor:
    """Writes the log, with the runner's key and clock."""

    key: RunnerKey
    now: Callable[[], datetime]
    turn: Lock = field(default_factory=Lock, compare=False, repr=False)
    """Held while a run of this process writes. The store has one writer at a time anyway; waiting for each other here is fair and
    wakes at once, where SQLite's own waiting sleeps and tries again."""

    def append(self, session: Session, run: str, what: str, body: Mapping[str, Any]) -> Head:
        """Add a line and move the head, in the caller's transaction."""
        row = session.get(AuditHeadRow, _HEAD_ID)
        if row is None:
            row = AuditHeadRow(id=_HEAD_ID, sequence=EMPTY.sequence, hash=EMPTY.hash)
        document = {
            "sequence": row.sequence + 1,
            "at": stamp(self.now()),
            "run": run,
            "what": what,
            "body": dict(body),
            "previous": row.hash,
        }
        line = encode({**document, "signature": self.key.sign(encode(document))})
        row.sequence, row.hash = row.sequence + 1, sha256(line)
        session.add(AuditRow(sequence=row.sequence, line=line))
        session.add(row)
        session.flush()
        return Head(row.sequence, row.hash)


def read_head(session: Session) -> Head:
    """Where the log ends, by what is kept apart from it."""
    row = session.get(AuditHeadRow, _HEAD_ID)
    return EMPTY if row is None else Head(row.sequence, row.hash)


def read_lines(session: Session) -> Sequence[str]:
    """All lines in order."""
    return session.scalars(select(col(AuditRow.line)).order_by(col(AuditRow.sequence))).all()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What following the log came to."""

    lines: int
    head: Head
    """Where the lines lead, up to the problem if there is one."""
    problem: str | None
    """The first thing that is wrong, as one clause; None when the log is whole."""


def verify(lines: Iterable[str], head: Head, public_key: str) -> AuditReport:
    """Follow the lines from the first, check form, order, hashes and signatures, and hold the end against the head.

    Args:
        lines: the texts, in order.
        head: where they must lead.
        public_key: the runner's.
    """
    reached, count, problem = EMPTY, 0, None
    for line in lines:
        count += 1
        problem = _problem(line, reached, public_key)
        if problem is not None:
            break
        reached = Head(count, sha256(line))
    if problem is None and reached != head:
        problem = _end_problem(reached, head)
    return AuditReport(lines=count, head=reached, problem=problem)


def _problem(line: str, reached: Head, public_key: str) -> str | None:
    number = reached.sequence + 1
    try:
        document = json.loads(line)
        is_ours = isinstance(document, dict) and document.keys() == _FIELDS and encode(document) == line
    except (ValueError, RecursionError):
        is_ours = False
    if not is_ours:
        return f"line {number} is not as it was written"
    if document["sequence"] != number:
        return f"line {number} is missing or out of order: line {document['sequence']} stands there"
    if document["previous"] != reached.hash:
        return f"line {number} does not follow the one before"
    signature = document.pop("signature")
    if not isinstance(signature, str) or not is_signed(public_key, encode(document), signature):
        return f"line {number} was changed after it was signed, or signed with another key"
    return None


def _end_problem(reached: Head, head: Head) -> str:
    if reached.sequence < head.sequence:
        return f"the log ends with line {reached.sequence}, and there were {head.sequence}: its tail was cut"
    if reached.sequence > head.sequence:
        return f"the log has {reached.sequence} lines, and its head knows {head.sequence}"
    return f"the last line, {reached.sequence}, is not the one that the head knows"
