"""``trigate store``: a copy of everything that is remembered, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.commands.options import Json
from flows.listing import Listing
from flows.output import plain, print_json
from flows.problems import UsageProblem

app = typer.Typer(cls=Listing, no_args_is_help=True, help="Back up what is remembered, and restore it.")


@app.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    json: Json = False,
) -> int:
    """Copy the store to a file and check the copy; a run may go on meanwhile. Keys and data sets are not in it."""
    from evolution.safekeeping import SafekeepingError
    from evolution.safekeeping import backup as make
    from flows.settings import home_folder

    _require_file_store()
    try:
        kept = make(home_folder(), file)
    except SafekeepingError as error:
        raise UsageProblem(str(error)) from None
    if json:
        print_json({"file": str(file), "bytes": kept.size, "holds": kept.counts})
        return 0
    print(f"{plain(str(file))}: {in_mib(kept.size)}, whole; holds {_told(kept.counts)}")
    print("not in it: the sealed keys in people/ and the data sets in data/ of the home; copy those folders, too")
    return 0


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="From trigate store backup.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where there is a store; that one is moved aside.")
    ] = False,
    json: Json = False,
) -> int:
    """Put a backup in the place of the store. Refused where the store knows something counted that the backup does not."""
    from evolution.safekeeping import SafekeepingError
    from evolution.safekeeping import restore as put
    from flows import standing
    from flows.retention import working_runs
    from flows.settings import home_folder

    _require_file_store()
    home = home_folder()
    if standing.is_up(home):
        raise UsageProblem(f"a server and a worker are up in {home}: trigate down first")
    busy = working_runs(home)
    if busy:
        raise UsageProblem(f"run {busy[0]} is being worked on in {home}: wait for it, or stop it first")
    try:
        kept = put(home, file, replace=replace)
    except SafekeepingError as error:
        raise UsageProblem(str(error)) from None
    if json:
        print_json({"home": str(home), "bytes": kept.size, "holds": kept.counts})
    else:
        print(f"{plain(str(home))}: restored; holds {_told(kept.counts)}")
    return 0


def in_mib(size: int) -> str:
    """Bytes as people read them.

    >>> in_mib(1_572_864)
    '1.5 MiB'
    """
    return f"{size / 2**20:.1f} MiB"


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _require_file_store() -> None:
    from flows.settings import database_url

    if database_url() is not None:
        raise UsageProblem("the store is on a database server (TRIGATE_DATABASE_URL): use its own tools, like pg_dump")
