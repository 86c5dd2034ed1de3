"""Files of both formats, written and read back; Parquet where pyarrow is installed, one sentence where it is not."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest

from runtime.market import DataError, check_file, read_file, write_file
from runtime.market.calendar import HOUR_S
from runtime.market.csvfile import csv_text, table_from_csv
from runtime.market.files import table_from_bytes
from runtime.market.table import Reading, every

needs_pyarrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="the extra 'parquet' is not installed"
)


@pytest.fixture
def no_pyarrow(monkeypatch):
    for name in [each for each in sys.modules if each.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(importlib, "import_module", _refusing(importlib.import_module))


def _refusing(real):
    def load(name, *arguments):
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *arguments)

    return load


@pytest.mark.parametrize("step_s", [HOUR_S, 86_400])
def test_exported_csv_is_read_back_to_the_last_bit(make_bars, tmp_path, step_s):
    bars = {name: make_bars(300, symbol=name, seed=seed, step_s=step_s) for seed, name in enumerate(("AAA", "BTC/USD"))}
    write_file(tmp_path / "out.csv", bars)
    for name, one in bars.items():
        assert read_file(tmp_path / "out.csv", symbol=name).sha256 == one.sha256
    assert {
        each: one.sha256 for each, one in every(table_from_csv(csv_text(bars).encode(), "x"), Reading()).items()
    } == {each: one.sha256 for each, one in bars.items()}


def test_an_existing_file_is_never_replaced(make_bars, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("precious")
    with pytest.raises(DataError, match=r"there is already a file '.*"):
        write_file(path, {"X": make_bars(5)})
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("out.txt", "a data file's name ends with .csv or .parquet"),
        ("none/out.csv", "cannot be written: No such file"),
        ("a\0.csv", "cannot be written"),
    ],
)
def test_a_file_that_cannot_be_is_refused(make_bars, tmp_path, name, words):
    with pytest.raises(DataError, match=words):
        write_file(tmp_path / name, {"X": make_bars(5)})


def test_half_a_file_is_no_file(make_bars, tmp_path, monkeypatch):
    import os

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        write_file(tmp_path / "out.csv", {"X": make_bars(5)})
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_several_symbols_is_checked_symbol_by_symbol(make_bars, write_csv):
    first, second = make_bars(60, symbol="AAA"), make_bars(60, symbol="BBB", volume=np.zeros(60))
    path = write_csv(first, second, symbols=True)
    reports = check_file(path)
    assert {symbol: [issue.rule for issue in report.warnings] for symbol, report in reports.items()} == {
        "AAA": [],
        "BBB": ["zero-volume"],
    }
    assert reports["BBB"].warnings[0].places[0] == 62
    assert list(check_file(path, symbol="BBB")) == ["BBB"]
    with pytest.raises(DataError, match="has no symbol 'CCC'"):
        check_file(path, symbol="CCC")
    assert list(check_file(write_csv(first, name="plain.csv"), symbol="MY")) == ["MY"]


@pytest.mark.usefixtures("no_pyarrow")
def test_without_pyarrow_a_parquet_file_gets_one_sentence(make_bars, tmp_path):
    path = tmp_path / "prices.parquet"
    path.write_bytes(b"PAR1 and more PAR1")
    with pytest.raises(
        DataError, match=r"'prices.parquet' is a Parquet file and pyarrow is not installed; install it beside Trigate"
    ):
        read_file(path)
    with pytest.raises(DataError, match="a Parquet file cannot be written and pyarrow is not installed"):
        write_file(tmp_path / "out.parquet", {"X": make_bars(5)})
    assert not (tmp_path / "out.parquet").exists()


def test_the_market_is_imported_without_pyarrow_pandas_and_httpx():
    import subprocess

    code = "import sys, runtime.market, runtime.market.feeds; print([m for m in ('pyarrow','pandas','httpx','pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture
def save(tmp_path):
    """``save(**columns)``: a Parquet file with those columns over the usual ones."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def write(**columns):
        usual = {
            "timestamp": arrow.array(
                [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)], arrow.timestamp("us", tz="UTC")
            ),
            "Open": [1.0, 1.5, 1.2],
            "high": [2.0, 2.0, 1.3],
            "low": [0.5, 1.0, 1.1],
            "close": [1.5, 1.2, 1.3],
            "volume": [10, 0, 7],
        }
        path = tmp_path / "prices.parquet"
        parquet.write_table(
            arrow.table({name: each for name, each in (usual | columns).items() if each is not None}), path
        )
        return path

    return write


@needs_pyarrow
def test_exported_parquet_is_read_back_to_the_last_bit(make_bars, tmp_path):
    bars = {name: make_bars(300, symbol=name, seed=seed, step_s=HOUR_S) for seed, name in enumerate(("AAA", "BBB"))}
    write_file(tmp_path / "out.parquet", bars)
    for name, one in bars.items():
        assert read_file(tmp_path / "out.parquet", symbol=name).sha256 == one.sha256


@needs_pyarrow
def test_symbols_of_one_parquet_file_are_told_apart_by_name_and_row(make_bars, tmp_path):
    quiet = make_bars(60, symbol="BBB", volume=np.where(np.arange(60) == 7, 0.0, 5.0))
    path = tmp_path / "out.parquet"
    write_file(path, {"AAA": make_bars(40, symbol="AAA"), "BBB": quiet})
    reports = check_file(path)
    assert {symbol: [issue.rule for issue in report.warnings] for symbol, report in reports.items()} == {
        "AAA": [],
        "BBB": ["zero-volume"],
    }
    assert reports["BBB"].warnings[0].places == (48,)
    assert reports["BBB"].warnings[0].message.startswith("row 48: ")
    with pytest.raises(DataError, match=r"holds 2 symbols \(AAA, BBB\)"):
        read_file(path)


@needs_pyarrow
@pytest.mark.parametrize(
    "stamps",
    [
        [datetime(2024, 1, day) for day in (1, 2, 3)],  # noqa: DTZ001 - a file may hold stamps without a zone
        [date(2024, 1, day) for day in (1, 2, 3)],
        [1_704_067_200 + day * 86_400 for day in range(3)],
        [(1_704_067_200 + day * 86_400) * 1_000 for day in range(3)],
        ["2024-01-01", "2024-01-02T00:00Z", "2024-01-03"],
    ],
)
def test_stamps_of_every_type_mean_the_same(save, stamps):
    expected = read_file(save()).sha256
    assert read_file(save(timestamp=stamps)).sha256 == expected


@needs_pyarrow
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"volume": None}, "has no column volume among"),
        ({"OPEN": [1.0, 1.0, 1.0]}, "has column open twice among"),
        ({"close": ["1", "x", "2"]}, "row 1, column close: '1' is not a number; store prices and volumes as numbers"),
        ({"close": [1.5, None, 1.3]}, "row 2, column close: 'None' is not a number"),
        ({"close": [1.5, float("nan"), 1.3]}, "row 2: close is nan"),
        ({"close": [True, False, True]}, "row 1, column close: 'True'"),
        ({"timestamp": ["2024-01-01", "x", "2024-01-03"]}, "row 2, column timestamp: 'x' is not a date"),
        ({"timestamp": [None, None, None]}, "row 1, column timestamp: 'None'"),
        ({"symbol": ["A", "a b", "A"]}, "row 2: symbol 'a b'; a symbol has"),
    ],
)
def test_a_bad_parquet_file_is_refused_with_its_row(save, columns, words):
    with pytest.raises(DataError, match=words):
        read_file(save(**columns))


@needs_pyarrow
def test_decimals_are_numbers(save):
    assert read_file(save(close=[Decimal("1.5"), Decimal("1.2"), Decimal("1.3")])).close.tolist() == [1.5, 1.2, 1.3]


@needs_pyarrow
def test_no_rows_and_no_parquet_are_refused(save, tmp_path):
    with pytest.raises(DataError, match="is not a readable Parquet file"):
        table_from_bytes(b"PAR1 nonsense", "x")
    empty = {name: [] for name in ("timestamp", "Open", "high", "low", "close", "volume")}
    with pytest.raises(DataError, match="has no rows"):
        read_file(save(**empty))
