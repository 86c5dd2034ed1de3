"""Market data from CSV: one reader for people's files and for the built-in set, and the writer that it reads back.

A file has the columns ``timestamp, open, high, low, close, volume``, and ``symbol`` where it holds several
instruments; other columns are ignored. The timestamp is the bar's open, UTC unless it names a zone. Lines are counted
as an editor does: the header is line 1. Nothing is sorted, filled or corrected.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from runtime.market.bars import PRICE_COLUMNS
from runtime.market.calendar import parse_stamp
from runtime.market.errors import DataError, quoted
from runtime.market.table import SYMBOL_RULE, RawBars, Table, is_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.market.bars import Bars

REQUIRED_COLUMNS = ("timestamp", *PRICE_COLUMNS)


@dataclass(slots=True)
class _Cells:
    """The text of one symbol's rows, by column, and the line that each row ends on."""

    name: str
    lines: list[int]
    columns: dict[str, list[str]]

    def parse(self) -> RawBars:
        ts = np.array(_stamps(self), dtype=np.int64)
        columns = {column: np.array(_numbers(self, column), dtype=np.float64) for column in PRICE_COLUMNS}
        return RawBars(places=self.lines, ts=ts, columns=columns)


def table_from_csv(data: bytes, name: str) -> Table:
    """The rows in a file's content; ``name`` stands for the file in messages.

    Raises:
        DataError: it is no CSV of bars; names the line.
    """
    return Table(name=name, unit="line", symbols=_split_symbols(_decode(data, name), name))


def csv_text(bars: Mapping[str, Bars]) -> str:
    """Bars as a file's content, with a symbol column; read again they are the same to the last bit."""
    lines = [",".join((*REQUIRED_COLUMNS, "symbol"))]
    for symbol, one in bars.items():
        stamps = (datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for ts in one.ts.tolist())
        columns = (map(repr, getattr(one, name).tolist()) for name in PRICE_COLUMNS)
        lines += [",".join((*row, symbol)) for row in zip(stamps, *columns, strict=True)]
    return "\n".join(lines) + "\n"


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
            if symbol_place is not None and not is_symbol(symbol):
                raise DataError(f"{quoted(name)}, line {reader.line_num}: symbol {quoted(symbol)}; {SYMBOL_RULE}")
            cells = found.get(symbol)
            if cells is None:
                cells = found[symbol] = _Cells(name, [], {column: [] for column in places})
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


def _stamps(cells: _Cells) -> list[int]:
    stamps: list[int] = []
    for line, cell in zip(cells.lines, cells.columns["timestamp"], strict=True):
        try:
            stamps.append(parse_stamp(cell))
        except (ValueError, OverflowError) as error:
            raise DataError(f"{quoted(cells.name)}, line {line}, column timestamp: {error}") from None
    return stamps


def _numbers(cells: _Cells, column: str) -> list[float]:
    texts = cells.columns[column]
    try:
        # float() also reads 1_000, which no spreadsheet writes: refuse what a person might not have meant.
        return [_number(text) for text in texts] if any("_" in text for text in texts) else list(map(float, texts))
    except ValueError:
        line, text = next(pair for pair in zip(cells.lines, texts, strict=True) if not _is_number(pair[1]))
        raise DataError(
            f"{quoted(cells.name)}, line {line}, column {column}: {quoted(text)} is not a number; write it like 1234.5"
        ) from None


def _number(text: str) -> float:
    return float(text.replace("_", "?"))


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True
