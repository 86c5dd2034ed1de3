"""``trigate data``: what there is to search on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.commands.options import Json, Symbol, TimeframeText
from flows.output import plain, print_json, table

app = typer.Typer(no_args_is_help=True, help="Data sets: built-in ones and files that were registered.")


@app.command("list")
def list_sets(json: Json = False) -> int:
    """Data sets with their symbols, length and origin."""
    from flows.opening import known_sets
    from flows.settings import home_folder

    sets = known_sets(home_folder())
    if json:
        print_json(
            [
                {
                    "name": each.name,
                    "label": each.label,
                    "symbols": list(each.symbols),
                    "timeframe": str(each.timeframe),
                    "bars": each.bars,
                    "first": each.first.isoformat(),
                    "last": each.last.isoformat(),
                    "train_stop": each.train_stop.isoformat(),
                    "validation_start": each.validation_start.isoformat(),
                    "validation_stop": each.validation_stop.isoformat(),
                    "vault_start": each.vault_start.isoformat(),
                }
                for each in sets
            ]
        )
        return 0
    rows = [
        (
            each.name,
            each.label,
            " ".join(map(plain, each.symbols)),
            str(each.timeframe),
            each.bars,
            f"{each.first:%Y-%m-%d}",
            f"{each.last:%Y-%m-%d}",
            f"{each.vault_start:%Y-%m-%d}",
        )
        for each in sets
    ]
    table("", ("name", "label", "symbols", "step", "bars", "first", "last", "vault from"), rows)
    return 0


@app.command("check")
def check_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file of bars.")],
    symbol: Symbol = None,
    timeframe: TimeframeText = None,
) -> int:
    """Read a file of bars, and say what is wrong or suspicious, line by line."""
    from flows.opening import checked_file

    report = checked_file(file, symbol=symbol, timeframe=timeframe)
    for issue in report.errors:
        print(f"{plain(str(file))}: error: {plain(str(issue))}")
    for issue in report.warnings:
        print(f"{plain(str(file))}: warning: {plain(str(issue))}")
    print(f"{plain(str(file))}: {'nothing forbids its use' if report.usable else 'cannot be used'}")
    return 0 if report.usable else 1
