"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration (default: trigate.toml).")
]
DataSet = Annotated[str | None, typer.Option("--data", metavar="SET|FILE", help="A data set's name, or a CSV file.")]
Symbol = Annotated[str | None, typer.Option("--symbol", help="One symbol of the data.")]
TimeframeText = Annotated[
    str | None, typer.Option("--timeframe", metavar="T", help="15m, 4h, 1d ... (default: inferred).")
]
CageChoice = Annotated[
    str | None, typer.Option("--cage", metavar="full|reduced", help="The reduced cage needs no Landlock and seccomp.")
]
