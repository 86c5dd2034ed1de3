"""``trigate people``: who may decide here, and with which key they sign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import ConfigFile, Json
from flows.output import plain, print_json, table

if TYPE_CHECKING:
    from evolution.pool import Person

app = typer.Typer(no_args_is_help=True, help="People who decide, and their signing keys.")


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
