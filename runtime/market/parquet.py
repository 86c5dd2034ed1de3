"""Market data from and to Parquet, through pyarrow, which is an extra: nothing else in the program needs it.

The columns are those of a CSV file. Timestamps are Arrow timestamps or dates (UTC unless they carry a zone), integers
(seconds or milliseconds since 1970) or text as in CSV. Numbers must be numbers: text in a price column is refused. Rows
are counted from 1, as a viewer of the file does.
"""

from __future__ import annotations

import importlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.market.bars import PRICE_COLUMNS
from runtime.market.calendar import parse_stamp
from runtime.market.csvfile import REQUIRED_COLUMNS
from runtime.market.errors import DataError, quoted
from runtime.market.table import SYMBOL_RULE, RawBars, Table, is_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from runtime.market.bars import Bars

MAGIC = b"PAR1"
"""The first and the last bytes of every Parquet file."""
_MS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """One symbol's rows as columns of Arrow values."""

    name: str
    places: NDArray[np.int64]
    ts: Any
    columns: Mapping[str, Any]

    def parse(self) -> RawBars:
        columns = {column: _floats(self, column) for column in PRICE_COLUMNS}
        return RawBars(places=self.places.tolist(), ts=_seconds(self), columns=columns)


def table_from_parquet(data: bytes, name: str) -> Table:
    """The rows in a file's content; ``name`` stands for the file in messages.

    Raises:
        DataError: pyarrow is not installed, or the content is no Parquet file of bars.
    """
    arrow, parquet = _pyarrow(f"{quoted(name)} is a Parquet file")
    try:
        table = parquet.read_table(io.BytesIO(data))
    except (arrow.ArrowException, OSError) as error:
        raise DataError(
            f"{quoted(name)} is not a readable Parquet file ({quoted(str(error))}); write it again"
        ) from None
    places = _places([str(column).strip().lower() for column in table.column_names], name)
    columns = {column: table.column(place) for column, place in places.items()}
    if not table.num_rows:
        raise DataError(f"{quoted(name)} has no rows; a data file has at least two bars")
    names = _symbols(columns.pop("symbol", None), table.num_rows, name)
    found: dict[str, Any] = {}
    for symbol in dict.fromkeys(names.tolist()):
        rows = np.flatnonzero(names == symbol)
        taken = {column: values.take(arrow.array(rows)) for column, values in columns.items()}
        found[symbol] = _Rows(name, rows.astype(np.int64) + 1, taken.pop("timestamp"), taken)
    return Table(name=name, unit="row", symbols=found)


def parquet_bytes(bars: Mapping[str, Bars]) -> bytes:
    """Bars as a Parquet file's content, with a symbol column; read again they are the same to the last bit.

    Raises:
        DataError: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow("a Parquet file cannot be written")
    ts = np.concatenate([one.ts for one in bars.values()]) * _MS
    columns = {"timestamp": arrow.array(ts.tolist(), type=arrow.timestamp("ms", tz="UTC"))}
    columns |= {name: np.concatenate([getattr(one, name) for one in bars.values()]) for name in PRICE_COLUMNS}
    columns["symbol"] = arrow.array([symbol for symbol, one in bars.items() for _ in range(len(one))])
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(columns), buffer)
    return buffer.getvalue()


def _pyarrow(what: str) -> tuple[ModuleType, ModuleType]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(
            f"{what} and pyarrow is not installed; install it beside Trigate (its extra is called 'parquet') or use CSV"
        ) from None


def _places(header: Sequence[str], name: str) -> dict[str, int]:
    missing = [column for column in REQUIRED_COLUMNS if column not in header]
    doubled = [column for column in (*REQUIRED_COLUMNS, "symbol") if header.count(column) > 1]
    if missing or doubled:
        fault = f"no column {', '.join(missing)}" if missing else f"column {doubled[0]} twice"
        raise DataError(
            f"{quoted(name)} has {fault} among {quoted(', '.join(header))}; a data file has "
            f"{', '.join(REQUIRED_COLUMNS)} (and symbol where there are several)"
        )
    return {column: header.index(column) for column in (*REQUIRED_COLUMNS, "symbol") if column in header}


def _symbols(column: Any, rows: int, name: str) -> NDArray[np.object_]:
    """The symbol of each row, "" where there is no such column."""
    if column is None:
        return np.full(rows, "", dtype=np.object_)
    names = np.array([str(value).strip() for value in column.to_pylist()], dtype=np.object_)
    for symbol in dict.fromkeys(names.tolist()):
        if not is_symbol(symbol):
            row = int(np.flatnonzero(names == symbol)[0]) + 1
            raise DataError(f"{quoted(name)}, row {row}: symbol {quoted(symbol)}; {SYMBOL_RULE}")
    return names


def _seconds(rows: _Rows) -> NDArray[np.int64]:
    values = rows.ts.to_pylist()
    found: list[int] = []
    for place, value in zip(rows.places.tolist(), values, strict=True):
        try:
            # Dates and datetimes read like their text; a nanosecond stamp of pandas' has the same text.
            found.append(parse_stamp(value.isoformat() if hasattr(value, "isoformat") else str(value)))
        except (ValueError, OverflowError) as error:
            raise DataError(f"{quoted(rows.name)}, row {place}, column timestamp: {error}") from None
    return np.array(found, dtype=np.int64)


def _floats(rows: _Rows, column: str) -> NDArray[np.float64]:
    found: list[float] = []
    for place, value in zip(rows.places.tolist(), rows.columns[column].to_pylist(), strict=True):
        if isinstance(value, bool) or not (isinstance(value, int | float) or type(value).__name__ == "Decimal"):
            raise DataError(
                f"{quoted(rows.name)}, row {place}, column {column}: {quoted(str(value))} is not a number; store prices and "
                f"volumes as numbers"
            )
        found.append(float(value))
    return np.array(found, dtype=np.float64)
