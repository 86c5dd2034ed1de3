"""The audit log: lines that are only ever added, each signed, each holding the hash of the one before.

A line is the text of a document: sequence, moment, run, what happened, the hash of the line before, and the runner's signature over
all of that. The head (sequence and hash of the last line) is kept apart from the lines and moves in the same transaction, so a tail
that was cut is noticed. Whoever has the database alone can cut both: so the newest head is also kept in a file beside the runner's key
(``runtime.paper.witness``), and nothing is added to a log that lost lines. Heads are published in daily summaries and events besides.

What it does not stop: whoever has the runner's key and file *and* the database can write another history and a head to it. Only heads
that were published before tell the two apart.

AuditBroken    the log lost lines that were there before; nothing is written on it
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import event, select
from sqlmodel import col

from runtime.paper.canon import encode, sha256, stamp
from runtime.paper.signing import is_signed
from runtime.paper.tables import AuditHeadRow, AuditRow
from runtime.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from runtime.paper.signing import RunnerKey
    from runtime.paper.witness import HeadFile

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


class AuditBroken(StoreError):  # noqa: N818  # a state of the store, said to a person as it is
    """The log ends before a line that this home has seen. Nothing was written; restore the database that has the line."""


@dataclass(frozen=True, slots=True)
class Auditor:
    """Writes the log, with the runner's key and clock."""

    key: RunnerKey
    now: Callable[[], datetime]
    witness: HeadFile | None = None
    """Where the newest head is kept outside of the database; None keeps it nowhere else."""
    turn: Lock = field(default_factory=Lock, compare=False, repr=False)
    """Held while a run of this process writes. The store has one writer at a time anyway; waiting for each other here is fair and
    wakes at once, where SQLite's own waiting sleeps and tries again."""

    def append(self, session: Session, run: str, what: str, body: Mapping[str, Any]) -> Head:
        """Add a line and move the head, in the caller's transaction.

        Raises:
            AuditBroken: the log ends before a line that this home has seen.
        """
        row = session.get(AuditHeadRow, _HEAD_ID)
        if row is None:
            row = AuditHeadRow(id=_HEAD_ID, sequence=EMPTY.sequence, hash=EMPTY.hash)
        self._refuse_a_cut_log(row)
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
        head = Head(row.sequence, row.hash)
        if self.witness is not None:
            witness = self.witness
            event.listen(session, "after_commit", lambda _: witness.advance(*head), once=True)
        return head

    def seen(self) -> Head:
        """The newest head that this home has seen, whatever the database says."""
        return EMPTY if self.witness is None else Head(*(self.witness.read() or EMPTY))

    def _refuse_a_cut_log(self, row: AuditHeadRow) -> None:
        seen = self.seen()
        if seen.sequence > row.sequence or (seen.sequence == row.sequence and seen.hash != row.hash):
            raise AuditBroken(
                f"the audit log ends with line {row.sequence}, and this home has seen {seen.sequence} lines: its tail was cut or "
                f"replaced, so nothing is written; restore the database that has them, or, if they are lost for good, remove the file "
                f"paper/head in the home, which heads that were published will tell"
            )


def steady(engine: Engine) -> Engine:
    """The same database for readers that compare several reads: nothing changes between them. SQLite's transactions are like that anyway."""
    if engine.dialect.name == "sqlite":
        return engine
    return engine.execution_options(isolation_level="REPEATABLE READ")


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


def verify(
    lines: Iterable[str], head: Head, public_key: str, *, seen: Head = EMPTY, after: Head = EMPTY
) -> AuditReport:
    """Follow the lines from the first, check form, order, hashes and signatures, and hold the end against the head.

    Args:
        lines: the texts, in order.
        head: where they must lead.
        public_key: the runner's.
        seen: a head of before, kept elsewhere; the lines must lead past it.
        after: where the lines before these were followed to; the first ones when they begin there.
    """
    reached, count, problem = after, 0, None
    for line in lines:
        count += 1
        problem = _problem(line, reached, public_key)
        if problem is not None:
            break
        reached = Head(reached.sequence + 1, sha256(line))
        if reached.sequence == seen.sequence and reached.hash != seen.hash:
            problem = f"line {reached.sequence} is not the one that this home has seen"
            break
    if problem is None and reached != head:
        problem = _end_problem(reached, head)
    if problem is None and reached.sequence < seen.sequence:
        problem = f"the log ends with line {reached.sequence}, and this home has seen {seen.sequence}: its tail was cut"
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
