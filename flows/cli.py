"""The command line. Each command lives in ``flows.commands`` and imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from flows.commands import backtest, check, data, doctor, evolve, pool, runs
from flows.exits import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="trigate",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Evolve trading strategies overnight: gates and a cage decide if they run, evidence decides if they matter, "
    "you decide if they trade (on paper).",
)
app.command("evolve")(evolve.evolve)
app.command("check")(check.check)
app.command("backtest")(backtest.backtest)
app.add_typer(runs.app, name="runs")
app.command("report")(runs.report)
app.add_typer(pool.app, name="pool")
app.add_typer(data.app, name="data")
app.command("doctor")(doctor.doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code (DESIGN.md, section command line)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(lambda: app(words, prog_name="trigate", standalone_mode=False), as_json="--json" in words)


if __name__ == "__main__":
    sys.exit(main())
