"""Market data from CSV: one reader for people's files and for the built-in set.

A file has the columns ``timestamp, open, high, low, close, volume``, and ``symbol`` where it holds several
instruments; other columns are ignored. The timestamp is the bar's open, UTC unless it names a zone. Lines are counted
as an editor does: the header is line 1. Nothing is sorted, filled or corrected.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runtime.market.bars import PRICE_COLUMNS, Bars
from runtime.market.calendar import bars_per_year, check_timeframe, infer_timeframe, parse_stamp
from runtime.market.errors import DataError, quoted
from runtime.market.quality import QualityReport, check_quality
from runtime.model import Instrument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from runtime.model import Timeframe

REQUIRED_COLUMNS = ("timestamp", *PRICE_COLUMNS)
# Symbols appear in tables, folder names and messages, so they are short and plain.
_SYMBOL = re.compile(r"[A-Za-z0-9^][A-Za-z0-9^._:/=@-]{0,31}")
_SYMBOL_RULE = "a symbol has 1 to 32 letters, digits and . _ : / = @ ^ -"
_NOT_SYMBOL = re.compile(r"[^A-Za-z0-9^._=@-]+")
# How many names a message lists.
_LISTED = 12


@dataclass(slots=True)
class _Cells:
    """The text of one symbol's rows, by column, and the line that each row ends on."""

    lines: list[int]
    columns: dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBars:
    """Bars with the lines they came from, not yet judged."""

    bars: Bars
    lines: tuple[int, ...]


def read_csv(path: Path, *, symbol: str | None = None, timeframe: Timeframe | None = None) -> Bars:
    """Read one instrument's bars from a file and refuse what ``check_quality`` calls an error.

    Args:
        path: The file.
        symbol: Which symbol of a file that holds several; the name of the instrument where the file has no such
            column (the file's own name by default).
        timeframe: Step between bars; inferred from the stamps by default.

    Raises:
        DataError: the file cannot be read or used, in one sentence.
    """
    data = read_bytes(path)
    return bars_from_bytes(data, name=path.name, symbol=symbol, timeframe=timeframe)


def check_csv(path: Path, *, symbol: str | None = None, timeframe: Timeframe | None = None) -> QualityReport:
    """All quality issues of a file that can be read as bars, errors included; arguments as in ``read_csv``.

    Raises:
        DataError: the file cannot be read as bars at all.
    """
    read = _read(read_bytes(path), name=path.name, symbol=symbol, timeframe=timeframe)
    return check_quality(read.bars, lines=read.lines)


def read_bytes(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    name = quoted(str(path))
    try:
        if path.is_dir():
            raise DataError(f"{name} is a folder; give the path of one CSV file")
        if path.exists() and not path.is_file():
            raise DataError(f"{name} is not a regular file; save the data as a CSV file first")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {name}; give the path of a CSV file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(f"{name} cannot be read: {reason}; give a CSV file that you may read") from error


def bars_from_bytes(data: bytes, *, name: str, symbol: str | None, timeframe: Timeframe | None) -> Bars:
    """The bars in a file's content, judged; ``name`` stands for the file in messages.

    Raises:
        DataError: as for ``read_csv``.
    """
    return _judged(_read(data, name=name, symbol=symbol, timeframe=timeframe), name)


def all_bars_from_bytes(data: bytes, *, name: str, timeframe: Timeframe | None = None) -> dict[str, Bars]:
    """The bars of every symbol in the content of a file with a symbol column, judged.

    Raises:
        DataError: as for ``read_csv``.
    """
    found = _split_symbols(_decode(data, name), name)
    return {symbol: _judged(_to_bars(cells, symbol, name, timeframe), name) for symbol, cells in found.items()}


def _judged(read: ReadBars, name: str) -> Bars:
    report = check_quality(read.bars, lines=read.lines)
    if report.errors:
        more = f" ({len(report.errors) - 1} more kinds of error)" if len(report.errors) > 1 else ""
        raise DataError(f"{quoted(name)}, {report.errors[0].message}{more}; correct the file, nothing is repaired here")
    return read.bars


def _read(data: bytes, *, name: str, symbol: str | None, timeframe: Timeframe | None) -> ReadBars:
    found = _split_symbols(_decode(data, name), name)
    chosen = _choose(found, name=name, symbol=symbol)
    return _to_bars(found.get(chosen) or found[""], chosen, name, timeframe)


def _to_bars(cells: _Cells, symbol: str, name: str, timeframe: Timeframe | None) -> ReadBars:
    ts = np.array(_stamps(cells, name), dtype=np.int64)
    columns = {column: np.array(_numbers(cells, column, name), dtype=np.float64) for column in PRICE_COLUMNS}
    try:
        if timeframe is None:
            timeframe = infer_timeframe(ts)
        else:
            check_timeframe(ts, timeframe)
    except DataError as error:
        raise DataError(f"{quoted(name)}: {error}") from None
    instrument = Instrument(symbol=symbol, bars_per_year=bars_per_year(np.unique(ts), timeframe))
    bars = Bars(instrument=instrument, timeframe=timeframe, ts=ts, **columns)
    return ReadBars(bars=bars, lines=tuple(cells.lines))


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{quoted(name)} is not UTF-8 text (byte {error.start}); a data file is CSV in UTF-8, so unpack or convert it"
        ) from None
    if not text.strip():
        raise DataError(f"{quoted(name)} is empty; a data file has a header and at least two bars")
    return text


def _split_symbols(text: str, name: str) -> dict[str, _Cells]:
    """Rows by symbol, in order of appearance; the symbol is "" where the file has no such column."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: dict[str, _Cells] = {}
    try:
        header = [cell.strip().lower() for cell in next(reader)]
        places = _places(header, name)
        symbol_place = places.pop("symbol", None)
        for row in reader:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if len(row) != len(header):
                raise DataError(
                    f"{quoted(name)}, line {reader.line_num}: {len(row)} cells where the header has {len(header)}; "
                    f"every row needs one cell per column"
                )
            symbol = "" if symbol_place is None else row[symbol_place].strip()
            if symbol_place is not None and not _SYMBOL.fullmatch(symbol):
                raise DataError(f"{quoted(name)}, line {reader.line_num}: symbol {quoted(symbol)}; {_SYMBOL_RULE}")
            cells = found.get(symbol)
            if cells is None:
                cells = found[symbol] = _Cells([], {column: [] for column in places})
            cells.lines.append(reader.line_num)
            for column, place in places.items():
                cells.columns[column].append(row[place])
    except csv.Error as error:
        raise DataError(f"{quoted(name)}, line {reader.line_num}: not valid CSV ({error}); correct the file") from None
    if not found:
        raise DataError(f"{quoted(name)} has a header and no bars; a data file has at least two bars")
    return found


def _places(header: Sequence[str], name: str) -> dict[str, int]:
    wanted = (*REQUIRED_COLUMNS, "symbol")
    for column in wanted:
        if header.count(column) > 1:
            raise DataError(f"{quoted(name)}, line 1: column {column} is there twice; keep one")
    missing = [column for column in REQUIRED_COLUMNS if column not in header]
    if missing:
        raise DataError(
            f"{quoted(name)}, line 1: no column {', '.join(missing)} in {quoted(', '.join(header))}; the header names "
            f"{', '.join(REQUIRED_COLUMNS)} (and symbol where there are several), separated by commas"
        )
    return {column: header.index(column) for column in wanted if column in header}


def _choose(found: Mapping[str, _Cells], *, name: str, symbol: str | None) -> str:
    if symbol is not None and not _SYMBOL.fullmatch(symbol):
        raise DataError(f"symbol {quoted(symbol)}: {_SYMBOL_RULE}")
    if "" in found:
        return symbol or _symbol_from(name)
    if symbol is None and len(found) == 1:
        symbol = next(iter(found))
    if symbol is None:
        raise DataError(f"{quoted(name)} holds {len(found)} symbols ({_listed(found)}); choose one with --symbol")
    if symbol not in found:
        raise DataError(f"{quoted(name)} has no symbol {quoted(symbol)}; it holds {_listed(found)}")
    return symbol


def _symbol_from(name: str) -> str:
    """An instrument's name from a file's: what is before the first dot, unusual characters as dashes."""
    plain = _NOT_SYMBOL.sub("-", name.split(".", maxsplit=1)[0]).strip("-._=@")[:32]
    return plain if _SYMBOL.fullmatch(plain) else "FILE"


def _listed(found: Mapping[str, _Cells]) -> str:
    names = sorted(found)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _stamps(cells: _Cells, name: str) -> list[int]:
    stamps: list[int] = []
    for line, cell in zip(cells.lines, cells.columns["timestamp"], strict=True):
        try:
            stamps.append(parse_stamp(cell))
        except (ValueError, OverflowError) as error:
            raise DataError(f"{quoted(name)}, line {line}, column timestamp: {error}") from None
    return stamps


def _numbers(cells: _Cells, column: str, name: str) -> list[float]:
    texts = cells.columns[column]
    try:
        # float() also reads 1_000, which no spreadsheet writes: refuse what a person might not have meant.
        return [_number(text) for text in texts] if any("_" in text for text in texts) else list(map(float, texts))
    except ValueError:
        line, text = next(pair for pair in zip(cells.lines, texts, strict=True) if not _is_number(pair[1]))
        raise DataError(
            f"{quoted(name)}, line {line}, column {column}: {quoted(text)} is not a number; write it like 1234.5"
        ) from None


def _number(text: str) -> float:
    return float(text.replace("_", "?"))


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True
