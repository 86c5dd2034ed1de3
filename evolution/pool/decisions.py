"""The decision log: rows are only added, and each one's hash covers the row before.

Whoever changes, removes or inserts a decision in the middle, or an entry's status, breaks the chain or contradicts it,
and ``verify`` says where. Signatures are over the hashes, so a signed log cannot be computed anew without the keys. What it does
not stop: somebody who can write to the database can cut off the end of the log together with the looks that it speaks of, or enrol a
key of their own under a new name. Note the last hash elsewhere if that matters.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import col

from evolution.pool.codes import code_problem, decides
from evolution.pool.entry import Binding, Decision, DecisionKind, EntryStatus, entry_id
from evolution.pool.keys import is_signed
from evolution.pool.people import Attestation, enrol_unsigned
from evolution.tables import DecisionRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.orm import Session

    from evolution.pool.people import Authority
    from evolution.tables import DecisionCodeRow, PoolEntryRow

GENESIS = "0" * 64
"""What the first decision has in place of a previous hash."""
# Long enough for any name and any reason worth reading.
_MAX_NAME, _MAX_REASON = 100, 2_000
# Printable for Python, and yet nothing is seen: joiner of graphemes, fillers, vowels without a shape, blank of Braille.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
# Alphabets that share the shapes of half their letters.
_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
_PASSED = frozenset({DecisionKind.PROMOTED.value, DecisionKind.RESCORED.value})
_WITH_SIGNATURE = frozenset({Attestation.SIGNED.value, Attestation.CODE.value})


class DecisionError(ValueError):
    """A decision without a person or a reason that can stand in the log; the text is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What became of the decision log."""

    decisions: int
    signed: int
    """How many of them carry a valid signature, up to the first problem."""
    head: str
    """Hash of the last decision; 64 zeros when there is none."""
    problem: str | None
    """The first thing that is wrong, in one sentence; None when all is well."""


def checked_person(by: str) -> str:
    """A name that can answer for a decision.

    Raises:
        DecisionError: It is empty, too long, holds characters that do not show, or letters that look like others.
    """
    what = "the name of the person who decides (--by)"
    name = _checked(by, what, _MAX_NAME)
    if any(unicodedata.name(each, "").startswith("VARIATION SELECTOR") or each in _BLANK for each in name):
        raise DecisionError(f"{what} holds a character that does not show; use plain text on one line")
    for word in name.split():
        scripts = {unicodedata.name(each, "").split(" ")[0] for each in word if each.isalpha()}
        if len(scripts & _ALIKE) > 1:
            raise DecisionError(
                f"{what} has {' and '.join(sorted(scripts & _ALIKE)).title()} letters in one word, which look like another person's; "
                f"write it in one alphabet"
            )
    return name


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
    reason: str,
    at: datetime,
    authority: Authority,
    look: int | None = None,
) -> Decision:
    """Add a decision, signed where its author has a key, and move its entry to the status that follows.

    All in the caller's transaction.

    Two processes that append at once cannot fork the chain: a hash is followed once only (a constraint of the schema).
    """
    assert entry.number is not None  # it was read from the store
    last = session.scalars(select(DecisionRow).order_by(col(DecisionRow.number).desc()).limit(1)).first()
    row = DecisionRow(
        number=1 if last is None else last.number + 1,
        entry=entry.number,
        decision=kind.value,
        by=authority.name,
        reason=reason,
        at=at,
        source_sha256=entry.source_sha256,
        dataset_sha256=entry.dataset_sha256,
        config_hash=entry.config_hash,
        engine_version=entry.engine_version,
        look=look,
        previous_hash=GENESIS if last is None else last.hash,
        hash="",
        attestation=authority.attestation.value,
        public_key=None if authority.signer is None else authority.signer.public_key,
    )
    row.hash = _digest(row)
    if authority.signer is None:
        enrol_unsigned(session, authority.name, at)
    else:
        row.signature = authority.signer.sign(row.hash.encode())
    session.add(row)
    entry.status = kind.status.value
    session.add(entry)
    session.flush()
    return decision_value(row, entry.dataset)


def verify(
    rows: Sequence[DecisionRow],
    statuses: Mapping[int, str],
    keys: dict[str, str],
    codes: Mapping[str, DecisionCodeRow],
    looks: Mapping[int, bool | None],
) -> ChainReport:
    """Follow the chain from its beginning, check the signatures, and compare where it leads with the entries' statuses.

    Args:
        rows: All decisions, by number.
        statuses: Status of every pool entry, by number.
        keys: Public key by name, of everybody who is enrolled with one.
        codes: One-time codes that were given out, by their public halves.
        looks: Whether each look at a vault was passed, by number; None for one that was not settled.
    """
    chain = _Chain(head=GENESIS, reached=dict.fromkeys(statuses, EntryStatus.CANDIDATE.value), keys=keys, codes=codes)
    problem = None
    for number, row in enumerate(rows, start=1):
        problem = chain.problem(row, number)
        if problem is not None:
            break
        chain.follow(row)
    if problem is None:
        wrong = next((number for number in sorted(statuses) if statuses[number] != chain.reached[number]), None)
        if wrong is not None:
            problem = f"entry {entry_id(wrong)} is {statuses[wrong]}, and the decisions leave it {chain.reached[wrong]}"
    if problem is None:
        problem = _look_problem(rows, looks)
    return ChainReport(decisions=len(rows), signed=chain.signed, head=chain.head, problem=problem)


def _look_problem(rows: Sequence[DecisionRow], looks: Mapping[int, bool | None]) -> str | None:
    """A look is settled in one transaction with its decision, so neither is there without the other."""
    told = {row.look: row for row in rows if row.look is not None}
    for number, passed in sorted(looks.items()):
        if passed is not None and number not in told:
            return f"look {number} was settled, and its decision is gone"
    for number, row in sorted(told.items()):
        if looks.get(number) is not (row.decision in _PASSED):
            return f"decision {row.number} is not what its look {number} came to"
    return None


@dataclass(slots=True)
class _Chain:
    """The log up to some decision."""

    head: str
    reached: dict[int, str]
    """Status of every entry so far."""
    keys: dict[str, str]
    codes: Mapping[str, DecisionCodeRow]
    used: set[str] = field(default_factory=set)
    """Public halves of the codes that have decided so far."""
    signed: int = 0
    is_attested: bool = False
    """A decision with an attestation was met: one without cannot follow."""

    def problem(self, row: DecisionRow, number: int) -> str | None:
        """What is wrong with the next decision; None when nothing is."""
        if row.number != number:
            return f"decision {number} is missing"
        if row.previous_hash != self.head:
            return f"decision {number} does not follow the one before"
        if row.hash != _digest(row):
            return f"decision {number} was changed after it was made"
        if row.entry not in self.reached:
            return f"decision {number} is about an entry that is gone"
        return self._signature_problem(row, number)

    def _signature_problem(self, row: DecisionRow, number: int) -> str | None:
        if row.attestation not in _WITH_SIGNATURE:
            if row.public_key is not None or row.signature is not None:
                return f"decision {number} has a signature that it does not own up to"
            if self.signed or (self.is_attested and row.attestation is None):
                return f"decision {number} is unsigned, and there were signatures before it"
            return None
        if row.public_key is None or row.signature is None:
            return f"decision {number} should be signed and is not"
        if row.attestation == Attestation.CODE.value:
            problem = self._code_problem(row, row.public_key, number)
            if problem is not None:
                return problem
        elif self.keys.get(row.by) != row.public_key:
            return f"decision {number} is signed with a key that {row.by} is not enrolled with"
        if not is_signed(row.public_key, row.hash.encode(), row.signature):
            return f"the signature of decision {number} is not valid"
        return None

    def _code_problem(self, row: DecisionRow, code_key: str, number: int) -> str | None:
        code = self.codes.get(code_key)
        if code is None:
            return f"decision {number} was made with a code that nobody was given"
        if code_key in self.used:
            return f"decision {number} was made with a code that had decided before"
        if not decides(code, row):
            return f"decision {number} is not what its code was given out for"
        problem = code_problem(code, self.keys)
        return None if problem is None else f"decision {number}: {problem}"

    def follow(self, row: DecisionRow) -> None:
        """Take in a decision without a problem."""
        self.head = row.hash
        self.reached[row.entry] = DecisionKind(row.decision).status.value
        if row.attestation in _WITH_SIGNATURE and row.public_key is not None:
            self.signed += 1
            self.used.add(row.public_key)
        self.is_attested = self.is_attested or row.attestation is not None


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
        attestation=row.attestation,
        public_key=row.public_key,
        signature=row.signature,
    )


def _digest(row: DecisionRow) -> str:
    """SHA-256 of the fields as compact ASCII JSON, in the order written here. A signature is over this hash, so not in it."""
    fields = [
        # Decisions from before there were people have no attestation, and keep the hash that they were made with.
        "trigate-decision/1" if row.attestation is None else "trigate-decision/2",
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
        *(() if row.attestation is None else (row.attestation, row.public_key)),
    ]
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()
