"""How commands print: one JSON document for programs, escaped text and tables for people."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console


_NARROWEST = 60
"""Columns of a terminal below which a table would be a heap of fragments."""

ORIGINS = {
    "real": "real bars",
    "synthetic": "synthetic bars",
    "file": "bars from a file",
    "feed": "bars from a feed",
}
"""Where a data set's bars come from, in words, by its label."""


def print_json(document: Any) -> None:
    """Print ``document`` as the only thing on stdout. NaN and infinity are our bug, never output."""
    print(json.dumps(document, allow_nan=False, ensure_ascii=True))


def console(*, stderr: bool = False) -> Console:
    """A console that never reads markup out of data: candidates and models wrote some of what we print."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def plain(text: str) -> str:
    """Text from outside, safe for a terminal: control, format and bidirectional characters become escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table that fits the terminal; on a narrow one a line per cell; without one, columns separated by tabs."""
    out = console()
    if not out.is_terminal:
        print("\t".join(columns))
        for row in rows:
            print("\t".join(plain(figure(cell)) for cell in row))
        return
    if out.width < _NARROWEST and len(columns) > 2:
        for row in rows:
            for name, cell in zip(columns, row, strict=True):
                print(f"{name or '-'}: {plain(figure(cell))}")
            print()
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for number, name in enumerate(columns):
        grid.add_column(name, overflow="fold", no_wrap=number == 0)
    for row in rows:
        grid.add_row(*(Text(plain(figure(cell))) for cell in row))
    out.print(grid)


def figure(value: object) -> str:
    """A value as people read it: three decimals, a dash for what is undefined.

    >>> figure(None), figure(1.23456), figure(12), figure(True)
    ('-', '1.235', '12', 'yes')
    """
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3f}"
        case _:
            return str(value)
