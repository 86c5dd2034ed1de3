"""``trigate people``: who may decide here, and with which key they sign."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import ConfigFile, Json
from flows.listing import Listing
from flows.output import plain, print_json, table

if TYPE_CHECKING:
    from evolution.pool import IssuedCode, Person

app = typer.Typer(cls=Listing, no_args_is_help=True, help="People who decide, and their signing keys.")


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As it will stand under every decision.")],
    json: Json = False,
) -> int:
    """Enrol somebody with a signing key, sealed under a passphrase (asked for, or from TRIGATE_PASSPHRASE)."""
    from flows.commands.pool import open_pool
    from flows.commands.signing import enrol, new_passphrase
    from flows.settings import home_folder

    pool = open_pool()
    person = enrol(pool.people, home_folder(), name, new_passphrase(name))
    if json:
        print_json(_document(person))
    else:
        print(f"{plain(person.name)} is enrolled; decisions of others are refused until they are, too")
    return 0


@app.command("code")
def code(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="Id of an entry (p-0007).")],
    decision: Annotated[str, typer.Option("--decision", metavar="promote|decline", help="What it will decide.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Whose decision it is.")],
    minutes: Annotated[int, typer.Option(min=1, max=60, help="How long it can be shown.")] = 15,
    json: Json = False,
) -> int:
    """A one-time code for the form of a review: one decision on one entry, for minutes, once."""
    from datetime import timedelta

    from evolution.ledger import UnknownIdError
    from evolution.pool import Choice, CodeRefused
    from flows.commands.pool import open_pool
    from flows.commands.signing import NotSigned, signer_for_code
    from flows.problems import UsageProblem
    from flows.settings import home_folder

    known = [each.value for each in Choice]
    if decision not in known:
        raise UsageProblem(f"--decision {decision}: write {' or '.join(known)}")
    pool = open_pool()
    try:
        found = pool.get(entry)
    except UnknownIdError as error:
        raise UsageProblem(str(error)) from None
    signer = signer_for_code(pool.people, home_folder(), by)
    issued: IssuedCode | CodeRefused = (
        CodeRefused(reason=signer.reason)
        if isinstance(signer, NotSigned)
        else pool.codes.issue(found.number, Choice(decision), by=by, signer=signer, lifetime=timedelta(minutes=minutes))
    )
    if isinstance(issued, CodeRefused):
        if json:
            print_json({"id": found.id, "verdict": "refused", "message": issued.reason})
        else:
            print(plain(issued.reason))
        return 1
    if json:
        document = {"id": issued.entry, "decision": issued.choice.value, "by": issued.by, "code": issued.text}
        print_json(document | {"verdict": "issued", "expires": issued.expires.isoformat()})
    else:
        print(issued.text)
        print(
            f"decides to {issued.choice.value} {issued.entry} in the name of {plain(issued.by)}, once, until "
            f"{issued.expires:%H:%M:%S} UTC",
            file=sys.stderr,
        )
    return 0


@app.command("list")
def list_people(config: ConfigFile = None, json: Json = False) -> int:
    """Everybody who is enrolled, in order."""
    from flows.commands.pool import open_pool
    from flows.settings import home_folder, load_settings

    people = open_pool().people.list()
    is_alone = load_settings(config, home_folder()).single_operator
    if json:
        print_json([_document(person) for person in people])
    elif not people:
        print("nobody is enrolled yet; the first promotion enrols its author, or: trigate people add NAME")
    else:
        rows = [
            (
                person.name,
                "none: decided before there were keys" if person.public_key is None else person.public_key[:16],
                f"{person.created:%Y-%m-%d %H:%M}",
            )
            for person in people
        ]
        table("", ("name", "key", "enrolled (UTC)"), rows)
    if is_alone and not json:
        print("single_operator = true: one person may approve what they proposed, and it is stamped self-approved")
    return 0


def _document(person: Person) -> dict[str, Any]:
    return {
        "name": person.name,
        "public_key": person.public_key,
        "created": person.created.isoformat(),
        "keyed": None if person.keyed is None else person.keyed.isoformat(),
    }
