"""The decision log: rows are only added, and each one's hash covers the row before.

Whoever changes, removes or inserts a decision in the middle, or an entry's status, breaks the chain or contradicts it,
and ``verify`` says where. What it does not stop: somebody who can write to the database can cut off the end of the log,
or compute a whole new chain. Note the last hash elsewhere if that matters.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import col

from evolution.pool.entry import Binding, Decision, DecisionKind, EntryStatus, entry_id
from evolution.tables import DecisionRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.orm import Session

    from evolution.tables import PoolEntryRow

GENESIS = "0" * 64
"""What the first decision has in place of a previous hash."""
# Long enough for any name and any reason worth reading.
_MAX_NAME, _MAX_REASON = 100, 2_000


class DecisionError(ValueError):
    """A decision without a person or a reason that can stand in the log; the text is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What became of the decision log."""

    decisions: int
    head: str
    """Hash of the last decision; 64 zeros when there is none."""
    problem: str | None
    """The first thing that is wrong, in one sentence; None when all is well."""


def checked_person(by: str) -> str:
    """A name that can answer for a decision.

    Raises:
        DecisionError: It is empty, too long, or holds characters that do not show.
    """
    return _checked(by, "the name of the person who decides (--by)", _MAX_NAME)


def checked_reason(reason: str) -> str:
    """A reason that can be read later.

    Raises:
        DecisionError: It is empty, too long, or holds characters that do not show.
    """
    return _checked(reason, "the reason (--reason)", _MAX_REASON)


def _checked(text: str, what: str, longest: int) -> str:
    stripped = text.strip(" ")
    if not stripped or stripped.isspace():
        raise DecisionError(f"{what} is empty; say who decides and why, it is kept for ever")
    # Control characters, and also the invisible ones that reorder or hide text.
    if not stripped.isprintable():
        raise DecisionError(f"{what} holds a character that does not show; use plain text on one line")
    if len(stripped) > longest:
        raise DecisionError(f"{what} has {len(stripped)} characters; at most {longest} are kept")
    return stripped


def append(  # noqa: PLR0913 - these are the columns of the log
    session: Session,
    entry: PoolEntryRow,
    kind: DecisionKind,
    *,
    by: str,
    reason: str,
    at: datetime,
    look: int | None = None,
) -> Decision:
    """Add a decision and move its entry to the status that follows, in the caller's transaction.

    Two processes that append at once cannot fork the chain: a hash is followed once only (a constraint of the schema).
    """
    assert entry.number is not None  # it was read from the store
    last = session.scalars(select(DecisionRow).order_by(col(DecisionRow.number).desc()).limit(1)).first()
    row = DecisionRow(
        number=1 if last is None else last.number + 1,
        entry=entry.number,
        decision=kind.value,
        by=by,
        reason=reason,
        at=at,
        source_sha256=entry.source_sha256,
        dataset_sha256=entry.dataset_sha256,
        config_hash=entry.config_hash,
        engine_version=entry.engine_version,
        look=look,
        previous_hash=GENESIS if last is None else last.hash,
        hash="",
    )
    row.hash = _digest(row)
    session.add(row)
    entry.status = kind.status.value
    session.add(entry)
    session.flush()
    return decision_value(row, entry.dataset)


def verify(rows: Sequence[DecisionRow], statuses: Mapping[int, str]) -> ChainReport:
    """Follow the chain from its beginning, and compare where it leads with the entries' statuses.

    Args:
        rows: All decisions, by number.
        statuses: Status of every pool entry, by number.
    """
    head = GENESIS
    reached = dict.fromkeys(statuses, EntryStatus.CANDIDATE.value)
    problem = None
    for number, row in enumerate(rows, start=1):
        problem = _problem(row, number, head, reached)
        if problem is not None:
            break
        head = row.hash
        reached[row.entry] = DecisionKind(row.decision).status.value
    if problem is None:
        wrong = next((number for number in sorted(statuses) if statuses[number] != reached[number]), None)
        if wrong is not None:
            problem = f"entry {entry_id(wrong)} is {statuses[wrong]}, and the decisions leave it {reached[wrong]}"
    return ChainReport(decisions=len(rows), head=head, problem=problem)


def _problem(row: DecisionRow, number: int, head: str, known: Mapping[int, str]) -> str | None:
    if row.number != number:
        return f"decision {number} is missing"
    if row.previous_hash != head:
        return f"decision {number} does not follow the one before"
    if row.hash != _digest(row):
        return f"decision {number} was changed after it was made"
    if row.entry not in known:
        return f"decision {number} is about an entry that is gone"
    return None


def decision_value(row: DecisionRow, dataset: str) -> Decision:
    """A row as a decision; the data set's name comes from the entry."""
    return Decision(
        number=row.number,
        entry=row.entry,
        kind=DecisionKind(row.decision),
        by=row.by,
        reason=row.reason,
        at=row.at,
        source_sha256=row.source_sha256,
        binding=Binding(
            dataset=dataset,
            dataset_sha256=row.dataset_sha256,
            config_hash=row.config_hash,
            engine_version=row.engine_version,
        ),
        look=row.look,
        previous_hash=row.previous_hash,
        hash=row.hash,
    )


def _digest(row: DecisionRow) -> str:
    """SHA-256 of the fields as compact ASCII JSON, in the order written here."""
    fields = [
        "trigate-decision/1",
        row.number,
        row.entry,
        row.decision,
        row.by,
        row.reason,
        row.at.isoformat(timespec="microseconds"),
        row.source_sha256,
        row.dataset_sha256,
        row.config_hash,
        row.engine_version,
        row.look,
        row.previous_hash,
    ]
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()
