"""One-time codes: a person's word on one entry, carried to where their key is not.

A form in a browser is no place for a passphrase: what is typed there is stored in the clear. So a person asks for a code at a terminal,
where their key is opened, and types the code into the form. A code is 125 random bits, from which a signing key of its own is made; its
public half is signed by the person's key, together with the entry (source, data, configuration, engine), what is decided, and until when.
Whoever shows the code in time decides exactly that, and the decision is signed with the code's key, so the log proves it like any other.

The store keeps the public half only. A code is spent when it is shown, whatever becomes of it, also in the wrong place: what stands in
a form afterwards is worth nothing. One code lives at a time for a person and an entry. Guessing is not limited by counting but by size:
at a million guesses a second one would be found in 10^24 years. What this does not stop: whoever reads a code before it is shown can
show it first, within its minutes and for its one decision, with a reason of their own.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlmodel import col

from evolution.pool.entry import DecisionKind, EntryStatus, entry_id
from evolution.pool.keys import SigningKey, is_signed, key_from_seed
from evolution.pool.people import Attestation, Authority, NoAuthority, authorise, keys_of
from evolution.tables import DecisionCodeRow, DecisionRow, PoolEntryRow
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from evolution.pool.people import Signer

LIFETIME = timedelta(minutes=15)
"""To walk from the terminal to the browser and read the card once more."""
LONGEST_LIFETIME = timedelta(hours=1)
_FORMAT = "trigate-code/1"
# Crockford's alphabet: no I, L, O or U, so that what is read aloud or copied by hand is the same again.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ_AS = str.maketrans({"I": "1", "L": "1", "O": "0"})
_GROUPS, _GROUP = 5, 5
# Clocks of two machines differ by seconds; a clock that was set back differs by more.
_CLOCK_SLACK = timedelta(seconds=60)


class Choice(Enum):
    """What a code decides. The value is the stable name in database, signature and JSON."""

    PROMOTE = "promote"
    DECLINE = "decline"

    @property
    def kinds(self) -> frozenset[DecisionKind]:
        """The lines of the log that this may lead to."""
        return _KINDS[self]


_KINDS = {
    Choice.PROMOTE: frozenset({DecisionKind.PROMOTED, DecisionKind.FAILED_LOOK}),
    Choice.DECLINE: frozenset({DecisionKind.DECLINED}),
}


class _Fate(Enum):
    """Why a code is spent, as it goes on after "it"."""

    SHOWN = "was shown before, and a code works once"
    REPLACED = "was replaced by a later one"
    EXPIRED = "has expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedCode:
    """A code as it is shown to its person, once."""

    text: str
    by: str
    entry: str
    choice: Choice
    expires: datetime

    def __repr__(self) -> str:
        return f"IssuedCode({self.entry}, {self.choice.value})"


class CodeKey(SigningKey):
    """The signing key that is made from a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeemed:
    """A code was good and is spent: its person may decide what it says, with this key."""

    by: str
    signer: CodeKey


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRefused:
    """A code was not good here."""

    reason: str
    """One sentence; it never holds the code."""


@dataclass(frozen=True, slots=True)
class Codes:
    """The one-time codes of one store."""

    engine: Engine
    now: Callable[[], datetime]

    def issue(
        self, number: int, choice: Choice, *, by: str, signer: Signer | None, lifetime: timedelta = LIFETIME
    ) -> IssuedCode | CodeRefused:
        """Give somebody a code for one decision on one entry; an earlier one of theirs for this entry dies.

        Args:
            number: Of the entry.
            choice: What it will decide.
            by: Whose decision it is.
            signer: Their opened key. Without keys there are no codes.
            lifetime: How long it can be shown.
        """
        if not timedelta(0) < lifetime <= LONGEST_LIFETIME:
            return CodeRefused(
                reason=f"a code for {lifetime.total_seconds() / 60:g} minutes: write 1 to {LONGEST_LIFETIME.total_seconds() / 60:g}"
            )
        text = "".join(secrets.choice(_ALPHABET) for _ in range(_GROUPS * _GROUP))
        with writing(self.engine, durable=True) as session:
            authority = authorise(session, by, signer)
            if isinstance(authority, NoAuthority):
                return CodeRefused(reason=authority.reason)
            if authority.signer is None:
                return CodeRefused(
                    reason=f"{authority.name} has no signing key, and a code is signed with one; trigate people add {authority.name!r} makes it"
                )
            entry, at = session.get_one(PoolEntryRow, number), self.now()
            obstacle = _clock_problem(session, at) or _status_problem(entry)
            if obstacle is not None:
                return CodeRefused(reason=obstacle)
            _retire(session, at)
            for earlier in _living(session, number, authority.name):
                earlier.spent, earlier.fate = at, _Fate.REPLACED.name
            row = DecisionCodeRow(
                code_key=_key(text).public_key,
                entry=number,
                choice=choice.value,
                by=authority.name,
                public_key=authority.signer.public_key,
                source_sha256=entry.source_sha256,
                dataset_sha256=entry.dataset_sha256,
                config_hash=entry.config_hash,
                engine_version=entry.engine_version,
                issued=at,
                expires=at + lifetime,
                signature="",
            )
            row.signature = authority.signer.sign(_statement(row))
            session.add(row)
        return IssuedCode(
            text="-".join(text[begin : begin + _GROUP] for begin in range(0, len(text), _GROUP)),
            by=authority.name,
            entry=entry_id(number),
            choice=choice,
            expires=at + lifetime,
        )

    def redeem(self, number: int, choice: Choice, text: str) -> Redeemed | CodeRefused:
        """Show a code for a decision on an entry. It is spent by this, if it is one."""
        key = _key_of(text)
        if key is None:
            return CodeRefused(
                reason=f"this is no code: one has {_GROUPS} groups of {_GROUP} letters and digits; trigate people code makes one"
            )
        with writing(self.engine, durable=True) as session:
            at = self.now()
            backwards = _clock_problem(session, at)
            if backwards is not None:
                return CodeRefused(reason=backwards)
            _retire(session, at)
            row = session.scalars(
                select(DecisionCodeRow).where(col(DecisionCodeRow.code_key) == key.public_key)
            ).one_or_none()
            if row is None:
                return CodeRefused(reason="this code was never given out here; trigate people code makes one")
            if row.spent is not None:
                return CodeRefused(reason=f"this code is spent: it {_Fate[row.fate or 'SHOWN'].value}; ask for another")
            row.spent, row.fate = at, _Fate.SHOWN.name
            entry = session.get_one(PoolEntryRow, number)
            problem = _misuse(row, entry, choice) or code_problem(row, keys_of(session))
            if problem is not None:
                return CodeRefused(reason=f"{problem}; the code is spent, ask for another")
            return Redeemed(by=row.by, signer=key)

    def papers(self, number: int) -> tuple[dict[str, str | int | None], ...]:
        """The codes that were given out for an entry, as documents that a decision's signature can be checked with; no code is in them."""
        with reading(self.engine) as session:
            rows = session.scalars(
                select(DecisionCodeRow)
                .where(col(DecisionCodeRow.entry) == number)
                .order_by(col(DecisionCodeRow.number))
            )
            return tuple(
                {
                    "signed": _statement(row).decode(),
                    "signature": row.signature,
                    "code_key": row.code_key,
                    "spent": None if row.spent is None else row.spent.isoformat(),
                }
                for row in rows
            )


def authority_of(
    session: Session, entry: PoolEntryRow, kind: DecisionKind, by: str, signer: Signer | None
) -> Authority | NoAuthority:
    """Whether somebody may decide this about this entry, with their key, with a code that was shown, or unsigned.

    Args:
        session: Of the store.
        entry: What is decided about.
        kind: What would be decided.
        by: The name that was given, checked for form.
        signer: Their opened key, or the key of a code that was redeemed; None when there is neither.
    """
    if not isinstance(signer, CodeKey):
        return authorise(session, by, signer)
    query = select(DecisionCodeRow).where(col(DecisionCodeRow.code_key) == signer.public_key)
    row = session.scalars(query).one_or_none()
    if row is None or row.spent is None or row.fate != _Fate.SHOWN.name or row.by != by:
        return NoAuthority(reason="this code was not redeemed for this decision")
    problem = _misuse(row, entry, Choice(row.choice)) or code_problem(row, keys_of(session))
    if problem is None and kind not in Choice(row.choice).kinds:
        problem = f"this code is for {row.choice}, and not for what is asked"
    used = select(col(DecisionRow.number)).where(col(DecisionRow.public_key) == row.code_key)
    if problem is None and session.scalar(used.limit(1)) is not None:
        problem = "this code has decided already"
    if problem is not None:
        return NoAuthority(reason=problem)
    return Authority(name=row.by, attestation=Attestation.CODE, signer=signer)


def code_problem(row: DecisionCodeRow, keys: dict[str, str]) -> str | None:
    """What is wrong with a stored code in itself; None when its person's enrolled key has signed what it says, and it was shown in time."""
    if keys.get(row.by) != row.public_key:
        return f"this code was made with a key that {row.by} is not enrolled with"
    if not is_signed(row.public_key, _statement(row), row.signature):
        return "what this code is for was changed after it was signed"
    if row.spent is None or not row.issued <= row.spent <= row.expires:
        return "this code was not shown in its time"
    return None


def decides(row: DecisionCodeRow, decision: DecisionRow) -> bool:
    """Whether a line of the log is what a code was given out for."""
    return (
        DecisionKind(decision.decision) in Choice(row.choice).kinds
        and row.spent is not None
        and row.spent <= decision.at
        and (row.by, row.entry, row.source_sha256, row.dataset_sha256, row.config_hash, row.engine_version)
        == (
            decision.by,
            decision.entry,
            decision.source_sha256,
            decision.dataset_sha256,
            decision.config_hash,
            decision.engine_version,
        )
    )


def stored_codes(session: Session) -> dict[str, DecisionCodeRow]:
    """All codes ever given out, by their public halves."""
    return {row.code_key: row for row in session.scalars(select(DecisionCodeRow))}


def _misuse(row: DecisionCodeRow, entry: PoolEntryRow, choice: Choice) -> str | None:
    if row.entry != entry.number:
        return f"this code is for {entry_id(row.entry)}, not for {entry_id(entry.number or 0)}"
    if row.choice != choice.value:
        return f"this code is for {row.choice}, not for {choice.value}"
    bound = (row.source_sha256, row.dataset_sha256, row.config_hash, row.engine_version)
    if bound != (entry.source_sha256, entry.dataset_sha256, entry.config_hash, entry.engine_version):
        return f"entry {entry_id(row.entry)} is not what it was when the code was made"
    return None


def _status_problem(entry: PoolEntryRow) -> str | None:
    if entry.status == EntryStatus.CANDIDATE.value:
        return None
    return (
        f"entry {entry_id(entry.number or 0)} is {entry.status}; only a candidate is promoted or declined with a code"
    )


def _clock_problem(session: Session, at: datetime) -> str | None:
    """A clock that was set back would let expired codes live again."""
    stamps = (col(DecisionCodeRow.issued), col(DecisionCodeRow.spent), col(DecisionRow.at))
    newest = max(
        (found for stamp in stamps if (found := session.scalar(select(func.max(stamp)))) is not None), default=at
    )
    if at >= newest - _CLOCK_SLACK:
        return None
    return f"the clock of this machine says {at:%Y-%m-%d %H:%M}, and the store was written at {newest:%Y-%m-%d %H:%M} UTC; set the clock right"


def _retire(session: Session, at: datetime) -> None:
    """Expired codes die in the store, so that no clock brings them back."""
    query = select(DecisionCodeRow).where(col(DecisionCodeRow.spent).is_(None), col(DecisionCodeRow.expires) < at)
    for row in session.scalars(query):
        row.spent, row.fate = at, _Fate.EXPIRED.name
    session.flush()


def _living(session: Session, number: int, by: str) -> list[DecisionCodeRow]:
    query = select(DecisionCodeRow).where(col(DecisionCodeRow.entry) == number, col(DecisionCodeRow.spent).is_(None))
    return [row for row in session.scalars(query) if row.by == by]


def _statement(row: DecisionCodeRow) -> bytes:
    """What the person's key signs, as compact ASCII JSON in the order written here."""
    fields = [
        _FORMAT,
        row.entry,
        row.choice,
        row.by,
        row.public_key,
        row.code_key,
        row.source_sha256,
        row.dataset_sha256,
        row.config_hash,
        row.engine_version,
        row.issued.isoformat(timespec="microseconds"),
        row.expires.isoformat(timespec="microseconds"),
    ]
    return json.dumps(fields, separators=(",", ":")).encode()


def _key_of(text: str) -> CodeKey | None:
    """The key of a code as somebody typed it; None for what has not the form of one."""
    if len(text) > 2 * _GROUPS * (_GROUP + 1):
        return None
    bare = text.upper().replace("-", "").replace(" ", "").translate(_READ_AS)
    if len(bare) != _GROUPS * _GROUP or not set(bare) <= set(_ALPHABET):
        return None
    return _key(bare)


def _key(bare: str) -> CodeKey:
    # One hash is enough: what is stretched has 125 bits already, and nobody remembers it.
    return CodeKey(key_from_seed(hashlib.sha256(f"{_FORMAT}:{bare}".encode()).digest()))
