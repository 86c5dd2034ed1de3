"""People: who may decide, and what stands behind a decision.

While nobody has a signing key, whoever decides is enrolled by deciding, and the decision says that it is unsigned. From the first key
on, only people with keys decide. A machine is never a person: it proposes, and somebody else answers.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import select
from sqlmodel import col

from evolution.pool.keys import name_key
from evolution.tables import PersonRow
from runtime.store import reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session


# Ad for Ada, Ane for Anne; not Ben for Bob.
_ALIKE = 0.7


class Attestation(Enum):
    """What stands behind a decision. The value is the stable name in database, JSON and the hash chain."""

    SIGNED = "signed"
    """A signature over the decision's hash, by the person's enrolled key."""
    CODE = "signed by one-time code"
    """A signature over the decision's hash by a one-time code, which the person's enrolled key had signed for exactly this."""
    FIRST_USE = "unsigned, first use"
    """Nobody had a key, and this was the person's first decision: the name is what was typed."""
    UNSIGNED = "unsigned"
    """Nobody had a key, and the person had decided before."""


class PersonError(ValueError):
    """Somebody cannot be enrolled; the text is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who is enrolled."""

    name: str
    public_key: str | None
    """Ed25519, hex; None for somebody who decided before anybody had a key."""
    created: datetime
    keyed: datetime | None
    """When the key was enrolled."""


class Signer(Protocol):
    """An opened key (``evolution.pool.keys.SigningKey``)."""

    @property
    def public_key(self) -> str:
        """Hex."""
        ...

    def sign(self, message: bytes) -> str:
        """Signature as hex."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Somebody who may decide now."""

    name: str
    """As enrolled."""
    attestation: Attestation
    signer: Signer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAuthority:
    """Somebody who may not."""

    reason: str
    """One sentence with the way out."""


@dataclass(frozen=True, slots=True)
class People:
    """The people of one store."""

    engine: Engine
    now: Callable[[], datetime]

    def list(self) -> tuple[Person, ...]:
        """Everybody, in order of enrolment."""
        with reading(self.engine) as session:
            return tuple(map(_person, _rows(session)))

    def find(self, name: str) -> Person | None:
        """The person of that name, in any spelling."""
        return next((person for person in self.list() if name_key(person.name) == name_key(name)), None)

    def enrol(self, name: str, public_key: str) -> Person:
        """Add somebody with a key, or give a key to somebody who has none.

        Raises:
            PersonError: the person has another key, or the key belongs to somebody else.
        """
        with writing(self.engine, durable=True) as session:
            rows, at = _rows(session), self.now()
            owner = next((row for row in rows if row.public_key == public_key), None)
            if owner is not None:
                raise PersonError(f"this key belongs to {owner.name} already; one key stands for one person")
            row = next((row for row in rows if row.name_key == name_key(name)), None)
            if row is None:
                row = PersonRow(name=name, name_key=name_key(name), created=at)
            if row.public_key is not None:
                raise PersonError(
                    f"{row.name} has a signing key already, and signatures hang on it; choose another name"
                )
            row.public_key, row.keyed = public_key, at
            session.add(row)
            session.flush()
            return _person(row)


def authorise(session: Session, by: str, signer: Signer | None) -> Authority | NoAuthority:
    """Whether somebody may decide.

    Args:
        session: of the store.
        by: the name that was given, checked for form.
        signer: the person's opened key; None when there is none.
    """
    rows = _rows(session)
    person = next((row for row in rows if row.name_key == name_key(by)), None)
    if signer is not None:
        if person is None or person.public_key != signer.public_key:
            return NoAuthority(reason=f"this key is not the one that {by} is enrolled with; see trigate people list")
        return Authority(name=person.name, attestation=Attestation.SIGNED, signer=signer)
    if any(row.public_key is not None for row in rows):
        if person is None:
            return NoAuthority(
                reason=f"nobody called {by} is enrolled; {way_in(by, [row.name for row in rows], 'enrols them with a key')}"
            )
        if person.public_key is None:
            return NoAuthority(
                reason=f"{person.name} has no signing key, and decisions are signed here; trigate people add {person.name!r} makes one"
            )
        return NoAuthority(reason=f"{person.name} has a signing key: this decision needs its passphrase")
    if person is None:
        return Authority(name=by, attestation=Attestation.FIRST_USE)
    # Without a key, somebody is only known from deciding before.
    return Authority(name=person.name, attestation=Attestation.UNSIGNED)


def way_in(name: str, known: Sequence[str], gain: str) -> str:
    """What somebody can do whose name has no key: a slip of the finger is named before a new person is offered.

    >>> way_in("Ad", ["Ada", "Ben"], "makes one")
    "did you mean 'Ada'? trigate people add 'Ad' makes one"
    >>> way_in("Eve", ["Ada", "Ben"], "makes one")
    "trigate people add 'Eve' makes one"
    """
    near = difflib.get_close_matches(name.casefold(), [each.casefold() for each in known], n=1, cutoff=_ALIKE)
    meant = next((each for each in known if near and each.casefold() == near[0] and each != name), None)
    return f"{'' if meant is None else f'did you mean {meant!r}? '}trigate people add {name!r} {gain}"


def enrol_unsigned(session: Session, name: str, at: datetime) -> None:
    """Remember somebody who decided without a key, in the caller's transaction."""
    if not any(row.name_key == name_key(name) for row in _rows(session)):
        session.add(PersonRow(name=name, name_key=name_key(name), created=at))
        session.flush()


def keys_of(session: Session) -> dict[str, str]:
    """Public key by name, of everybody who has one."""
    return {row.name: row.public_key for row in _rows(session) if row.public_key is not None}


class Approval(Enum):
    """How the one who approves stands to the one who proposed."""

    SECOND_PARTY = "approved by a second party"
    SELF_APPROVED = "self-approved"
    """A person approved what they had proposed themselves, as ``single_operator`` allows. Stamped on what was approved."""


def approve(proposed_by: str | None, by: str, *, single_operator: bool) -> Approval | NoAuthority:
    """Whether somebody may approve a proposal.

    Args:
        proposed_by: the person who proposed it; None for a machine, which is always another party.
        by: the person who approves.
        single_operator: set by a person in the configuration of this machine: one person may do both.
    """
    if proposed_by is None or name_key(proposed_by) != name_key(by):
        return Approval.SECOND_PARTY
    if single_operator:
        return Approval.SELF_APPROVED
    return NoAuthority(
        reason=f"{by} proposed this, and somebody else has to approve it; single_operator = true in trigate.toml lets one person do both"
    )


def _rows(session: Session) -> Sequence[PersonRow]:
    return session.scalars(select(PersonRow).order_by(col(PersonRow.number))).all()


def _person(row: PersonRow) -> Person:
    return Person(name=row.name, public_key=row.public_key, created=row.created, keyed=row.keyed)
