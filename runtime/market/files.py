"""Data files, whatever their format: read, checked, written. Parquet is told from CSV by its first bytes."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from runtime.market import parquet
from runtime.market.csvfile import csv_text, table_from_csv
from runtime.market.errors import DataError, quoted
from runtime.market.table import Reading, Table, one, reports

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runtime.market.bars import Bars
    from runtime.market.quality import QualityReport
    from runtime.market.sessions import Calendar
    from runtime.model import Timeframe

CSV_SUFFIX = ".csv"
PARQUET_SUFFIX = ".parquet"
SUFFIXES = (CSV_SUFFIX, PARQUET_SUFFIX)
"""What a data file's name ends with."""


def read_file(
    path: Path, *, symbol: str | None = None, timeframe: Timeframe | None = None, calendar: Calendar | None = None
) -> Bars:
    """Read one instrument's bars from a file and refuse what ``check_quality`` calls an error.

    Args:
        path: A CSV file, or a Parquet file where pyarrow is installed.
        symbol: Which symbol of a file that holds several; the name of the instrument where the file has no such
            column (the file's own name by default).
        timeframe: Step between bars; inferred from the stamps by default.
        calendar: The market's calendar; bars per year are inferred by default.

    Raises:
        DataError: the file cannot be read or used, in one sentence.
    """
    return one(read_table(path), symbol, Reading(timeframe=timeframe, calendar=calendar))


def check_file(
    path: Path, *, symbol: str | None = None, timeframe: Timeframe | None = None
) -> dict[str, QualityReport]:
    """All quality issues of a file that can be read as bars, errors included, by symbol; arguments as in ``read_file``.

    Raises:
        DataError: the file cannot be read as bars at all.
    """
    return reports(read_table(path), symbol, Reading(timeframe=timeframe))


def write_file(path: Path, bars: Mapping[str, Bars]) -> None:
    """Write bars to a new file, CSV or Parquet by its name. A file that is there already is never replaced.

    Raises:
        DataError: the name has another ending, there is such a file, or it cannot be written.
    """
    name = quoted(str(path))
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"{name}: a data file's name ends with {' or '.join(SUFFIXES)}")
    content = csv_text(bars).encode() if path.suffix.lower() == CSV_SUFFIX else parquet.parquet_bytes(bars)
    try:
        with path.open("xb") as stream:
            _fill(stream, path, content)
    except FileExistsError:
        raise DataError(f"there is already a file {name}; choose another name or remove it first") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(f"{name} cannot be written: {reason}; choose another place") from error


def read_table(path: Path) -> Table:
    """The rows of a file.

    Raises:
        DataError: it cannot be read, or is no data file.
    """
    return table_from_bytes(read_bytes(path), path.name)


def table_from_bytes(data: bytes, name: str) -> Table:
    """The rows in a file's content; ``name`` stands for the file in messages.

    Raises:
        DataError: it is no data file.
    """
    return parquet.table_from_parquet(data, name) if data.startswith(parquet.MAGIC) else table_from_csv(data, name)


def read_bytes(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    name = quoted(str(path))
    try:
        if path.is_dir():
            raise DataError(f"{name} is a folder; give the path of one data file")
        if path.exists() and not path.is_file():
            raise DataError(f"{name} is not a regular file; save the data as a CSV file first")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {name}; give the path of a CSV file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(f"{name} cannot be read: {reason}; give a data file that you may read") from error


def _fill(stream: BinaryIO, path: Path, content: bytes) -> None:
    """All of it or no file: half a file of bars looks like a whole one."""
    try:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
