"""The command line. Each command lives in ``flows.commands`` and imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.backtest import backtest
from flows.commands.check import check
from flows.commands.data import app as data
from flows.commands.doctor import doctor
from flows.commands.evolve import evolve
from flows.commands.paper import app as paper
from flows.commands.people import app as people
from flows.commands.pool import app as pool
from flows.commands.runs import app as runs
from flows.commands.runs import report
from flows.commands.sir import app as sir
from flows.commands.sir_runs import backtest as sir_backtest
from flows.commands.sir_runs import screen as sir_screen
from flows.commands.station import down, up
from flows.commands.store import app as store
from flows.commands.work import work
from flows.exits import guarded
from flows.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="trigate",
    cls=Listing,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Evolve trading strategies overnight: gates and a cage decide if they run, evidence decides if they matter, "
    "you decide if they trade (on paper).",
)
app.command("evolve")(evolve)
app.command("work")(work)
app.command("check")(check)
app.command("backtest")(backtest)
app.add_typer(runs, name="runs")
app.command("report")(report)
app.add_typer(pool, name="pool")
app.add_typer(paper, name="paper")
app.add_typer(people, name="people")
app.add_typer(data, name="data")
app.add_typer(store, name="store")
sir.command("backtest")(sir_backtest)
sir.command("screen")(sir_screen)
app.add_typer(sir, name="sir")
app.command("up")(up)
app.command("down")(down)
app.command("doctor")(doctor)


def _say_version(is_asked: bool) -> None:  # noqa: FBT001 - Typer's way to call it
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"trigate {version('trigate')}")
        raise typer.Exit


@app.callback()
def _everywhere(
    *,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version and end.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code (DESIGN.md, section command line)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(lambda: app(words, prog_name="trigate", standalone_mode=False), as_json="--json" in words)


if __name__ == "__main__":
    sys.exit(main())
