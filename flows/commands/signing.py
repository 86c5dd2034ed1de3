"""Who signs a decision made at the command line: asks for the passphrase where there is somebody to ask.

The simple path stays simple: while nobody has a key, the first promotion on a terminal offers to make one, and without a terminal it
takes the passphrase from ``TRIGATE_PASSPHRASE`` or goes unsigned and says so.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flows.output import plain
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from pathlib import Path

    from evolution.pool import People, Person
    from evolution.pool.keys import SigningKey

PASSPHRASE = "TRIGATE_PASSPHRASE"  # noqa: S105 - the name of a variable, no secret


@dataclass(frozen=True, slots=True)
class NotSigned:
    """The key could not be opened: the decision is refused."""

    reason: str


def signer_for(people: People, home: Path, name: str, *, offer: bool) -> SigningKey | NotSigned | None:
    """The opened key of somebody who decides; None when the decision goes unsigned, which the pool may still refuse.

    Args:
        people: of the store.
        home: keeps the sealed keys of this machine.
        name: as given with ``--by``.
        offer: make a key for them when nobody has one yet.

    Raises:
        UsageProblem: the name cannot stand in the log, or a passphrase is needed and there is nobody to ask.
    """
    from evolution.pool import DecisionError
    from evolution.pool.decisions import checked_person
    from evolution.pool.keys import KeyFiles, SigningError

    try:
        name = checked_person(name)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None
    person = people.find(name)
    if person is not None and person.public_key is not None:
        try:
            return KeyFiles(home).open(person.name, _passphrase_of(person.name))
        except SigningError as error:
            return NotSigned(str(error))
    if any(each.public_key is not None for each in people.list()):
        return None  # the pool refuses, and says how to enrol
    passphrase = _offered(name) if offer else ""
    if passphrase:
        enrolled = enrol(people, home, name, passphrase)
        print(f"{plain(enrolled.name)} is enrolled with a signing key", file=sys.stderr)
        return KeyFiles(home).open(enrolled.name, passphrase)
    kind = "unsigned, first use" if person is None else "unsigned"
    print(
        f'{plain(name)} decides without a signing key: recorded as "{kind}"; trigate people add makes a key',
        file=sys.stderr,
    )
    return None


def signer_for_code(people: People, home: Path, name: str) -> SigningKey | NotSigned:
    """The opened key of somebody who wants a one-time code; without a key there is none, and nobody is enrolled for it.

    Raises:
        UsageProblem: a passphrase is needed and there is nobody to ask.
    """
    from evolution.pool.keys import KeyFiles, SigningError
    from evolution.pool.people import way_in

    person = people.find(name)
    if person is None or person.public_key is None:
        known = [each.name for each in people.list() if each.public_key is not None]
        return NotSigned(f"{name} has no signing key, and a code is signed with one; {way_in(name, known, 'makes it')}")
    try:
        return KeyFiles(home).open(person.name, _passphrase_of(person.name))
    except SigningError as error:
        return NotSigned(str(error))


def enrol(people: People, home: Path, name: str, passphrase: str) -> Person:
    """Make a key for somebody and enrol them with it.

    Raises:
        UsageProblem: the name or the passphrase is not good, or the person has a key already.
    """
    from evolution.pool import DecisionError, PersonError
    from evolution.pool.decisions import checked_person
    from evolution.pool.keys import KeyFiles, SigningError

    files = KeyFiles(home)
    try:
        name = checked_person(name)
        known = people.find(name)
        if known is not None and known.public_key is not None:
            raise UsageProblem(
                f"{known.name} has a signing key already, and signatures hang on it; choose another name"
            )
        # A key whose enrolment was cut short is taken up.
        key = files.open(name, passphrase) if files.path(name).exists() else files.make(name, passphrase)
        return people.enrol(name, key.public_key)
    except (DecisionError, PersonError, SigningError) as error:
        raise UsageProblem(str(error)) from None


def new_passphrase(name: str) -> str:
    """For a new key: from the environment, or typed twice.

    Raises:
        UsageProblem: there is nobody to ask.
    """
    if PASSPHRASE in os.environ:
        return os.environ[PASSPHRASE]
    if not _is_terminal():
        raise UsageProblem(f"a key for {name!r} needs a passphrase: run this on a terminal, or set {PASSPHRASE}")
    return _ask(f"Passphrase for the key of {plain(name)}", confirm=True)


def _passphrase_of(name: str) -> str:
    if PASSPHRASE in os.environ:
        return os.environ[PASSPHRASE]
    if not _is_terminal():
        raise UsageProblem(
            f"{name} signs with a key, and it needs a passphrase: run this on a terminal, or set {PASSPHRASE}"
        )
    return _ask(f"Passphrase of {plain(name)}", confirm=False)


def _offered(name: str) -> str:
    """What the person wants for a first key; empty for none."""
    if PASSPHRASE in os.environ:
        return os.environ[PASSPHRASE]
    if not _is_terminal():
        return ""
    print(
        "Nobody has a signing key here yet. With one, decisions are signed, and nobody else can decide in your name.",
        file=sys.stderr,
    )
    return _ask(f"Passphrase for a key of {plain(name)} (empty: decide without one)", confirm=True)


def _ask(question: str, *, confirm: bool) -> str:
    import typer

    answer: str = typer.prompt(
        question, default="", show_default=False, hide_input=True, confirmation_prompt=confirm, err=True
    )
    return answer


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
