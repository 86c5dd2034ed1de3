"""From rows that a reader found to bars that may be used; the same for every file format.

A reader gives a ``Table``: rows by symbol, each with its place in the file. ``one`` and ``every`` make bars of it:
timeframe, bars per year, and a judgement of the content, in messages that name the file and the place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from runtime.market.bars import Bars
from runtime.market.calendar import check_timeframe, infer_timeframe
from runtime.market.errors import DataError, quoted
from runtime.market.quality import check_quality
from runtime.market.sessions import bars_per_year
from runtime.model import Instrument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from runtime.market.quality import QualityReport
    from runtime.market.sessions import Calendar
    from runtime.model import Timeframe

# Symbols appear in tables, folder names and messages, so they are short and plain.
_SYMBOL = re.compile(r"[A-Za-z0-9^][A-Za-z0-9^._:/=@-]{0,31}")
SYMBOL_RULE = "a symbol has 1 to 32 letters, digits and . _ : / = @ ^ -"
_NOT_SYMBOL = re.compile(r"[^A-Za-z0-9^._=@-]+")
# How many names a message lists.
_LISTED = 12


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RawBars:
    """One symbol's rows as they were read. Nothing is judged yet."""

    places: Sequence[int]
    """Line or row of the file that each bar came from."""
    ts: NDArray[np.int64]
    """Shape ``(n,)``, seconds since 1970."""
    columns: Mapping[str, NDArray[np.float64]]
    """``PRICE_COLUMNS``, each of shape ``(n,)``."""


class SymbolRows(Protocol):
    """One symbol's rows in a reader's own form, turned into numbers only when they are wanted."""

    def parse(self) -> RawBars:
        """The rows as numbers.

        Raises:
            DataError: a cell is none; names file, place and column.
        """


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Table:
    """What a file holds."""

    name: str
    """Stands for the file in messages."""
    unit: Literal["line", "row"]
    """What ``RawBars.places`` count."""
    symbols: Mapping[str, SymbolRows]
    """In order of appearance, never empty; one with the key "" where the file has no symbol column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read a file: what its owner knows about it."""

    timeframe: Timeframe | None = None
    """Step between bars; None infers it from the stamps."""
    calendar: Calendar | None = None
    """The market's calendar; None infers bars per year from the stamps."""


def is_symbol(text: str) -> bool:
    """Whether ``SYMBOL_RULE`` holds."""
    return _SYMBOL.fullmatch(text) is not None


def one(table: Table, symbol: str | None, reading: Reading) -> Bars:
    """The bars of one symbol, judged.

    Args:
        table: The file.
        symbol: Which one, or its name where the file has no symbol column; None where there is only one.
        reading: What is known about the data.

    Raises:
        DataError: no such symbol, several and no choice, or bars that must not be used.
    """
    chosen = _choose(table, symbol)
    return _judged(table, chosen, table.symbols.get(chosen) or table.symbols[""], reading)


def every(table: Table, reading: Reading) -> dict[str, Bars]:
    """The bars of all symbols, judged; a file without a symbol column holds one that is called like the file.

    Raises:
        DataError: bars that must not be used.
    """
    found = {symbol or symbol_from(table.name): rows for symbol, rows in table.symbols.items()}
    return {symbol: _judged(table, symbol, rows, reading) for symbol, rows in found.items()}


def reports(table: Table, symbol: str | None, reading: Reading) -> dict[str, QualityReport]:
    """All issues of one symbol, or of each, errors included.

    Raises:
        DataError: no such symbol, or rows that cannot be read as bars at all.
    """
    chosen = (
        {_choose(table, symbol)} if symbol is not None else {each or symbol_from(table.name) for each in table.symbols}
    )
    found = {each or symbol or symbol_from(table.name): rows for each, rows in table.symbols.items()}
    return {each: _report(table, each, rows, reading) for each, rows in found.items() if each in chosen}


def symbol_from(name: str) -> str:
    """An instrument's name from a file's: what is before the first dot, unusual characters as dashes."""
    plain = _NOT_SYMBOL.sub("-", name.split(".", maxsplit=1)[0]).strip("-._=@")[:32]
    return plain if is_symbol(plain) else "FILE"


def _judged(table: Table, symbol: str, rows: SymbolRows, reading: Reading) -> Bars:
    raw = rows.parse()
    bars = _assembled(table, symbol, raw, reading)
    report = check_quality(bars, places=raw.places, unit=table.unit)
    if report.errors:
        more = f" ({len(report.errors) - 1} more kinds of error)" if len(report.errors) > 1 else ""
        raise DataError(
            f"{quoted(table.name)}, {report.errors[0].message}{more}; correct the file, nothing is repaired here"
        )
    return bars


def _report(table: Table, symbol: str, rows: SymbolRows, reading: Reading) -> QualityReport:
    raw = rows.parse()
    return check_quality(_assembled(table, symbol, raw, reading), places=raw.places, unit=table.unit)


def _assembled(table: Table, symbol: str, raw: RawBars, reading: Reading) -> Bars:
    timeframe = reading.timeframe
    try:
        if timeframe is None:
            timeframe = infer_timeframe(raw.ts)
        else:
            check_timeframe(raw.ts, timeframe)
        years = bars_per_year(np.unique(raw.ts), timeframe, reading.calendar)
    except DataError as error:
        raise DataError(f"{quoted(table.name)}: {error}") from None
    instrument = Instrument(symbol=symbol, bars_per_year=years)
    return Bars(instrument=instrument, timeframe=timeframe, ts=raw.ts, **raw.columns)


def _choose(table: Table, symbol: str | None) -> str:
    found, name = table.symbols, quoted(table.name)
    if symbol is not None and not is_symbol(symbol):
        raise DataError(f"symbol {quoted(symbol)}: {SYMBOL_RULE}")
    if "" in found:
        return symbol or symbol_from(table.name)
    if symbol is None and len(found) == 1:
        symbol = next(iter(found))
    if symbol is None:
        raise DataError(f"{name} holds {len(found)} symbols ({_listed(found)}); choose one with --symbol")
    if symbol not in found:
        raise DataError(f"{name} has no symbol {quoted(symbol)}; it holds {_listed(found)}")
    return symbol


def _listed(found: Mapping[str, SymbolRows]) -> str:
    names = sorted(found)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
