"""The shipped data are what their provenance note says."""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.util
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from runtime.market import builtin_names, check_quality
from runtime.market.builtin import find_builtin
from runtime.market.calendar import DAY_S, parse_stamp

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_builtin", ROOT / "scripts" / "make_builtin.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source_rows(script):
    with gzip.open(script.source_path(), "rt", newline="") as stream:
        return {(row["Ticker"], row["Date"]): row for row in csv.DictReader(stream)}


@pytest.fixture(scope="module")
def large_caps():
    return find_builtin("us-large-caps").load()


def shipped_text() -> bytes:
    return gzip.decompress(files("runtime.market.builtin").joinpath("us-large-caps.csv.gz").read_bytes())


def row_of(bars, date: str) -> int:
    return int(np.searchsorted(bars.ts, parse_stamp(date)))


def test_the_default_set_comes_first():
    assert builtin_names() == ("us-large-caps", "planted-edge")
    assert [find_builtin(name).label for name in builtin_names()] == ["real", "synthetic"]
    assert find_builtin("nasdaq") is None


def test_the_shipped_file_is_what_the_script_makes_of_the_source(script):
    made = script.build(script.source_path().read_bytes()).encode()
    assert hashlib.sha256(made).hexdigest() == hashlib.sha256(shipped_text()).hexdigest()


def test_the_script_refuses_another_source(script):
    with pytest.raises(ValueError, match="another version of the data"):
        script.build(gzip.compress(b"Ticker,Date\n"))


def test_the_provenance_note_names_the_digests_of_source_and_result(script):
    note = files("runtime.market.builtin").joinpath("PROVENANCE.md").read_text()
    assert hashlib.sha256(script.source_path().read_bytes()).hexdigest() in note
    assert hashlib.sha256(shipped_text()).hexdigest() in note


@pytest.mark.parametrize(
    ("symbol", "date"),
    [
        ("AAPL", "2000-03-01"),
        ("AAPL", "2000-06-20"),
        ("AAPL", "2005-02-28"),
        ("IBM", "2008-10-10"),
        ("MSFT", "2003-02-14"),
        ("MSFT", "2013-03-01"),
    ],
)
def test_prices_are_the_source_prices_times_its_adjustment(large_caps, source_rows, symbol, date):
    source = source_rows[symbol, date]
    factor = float(source["Adj Close"]) / float(source["Close"])
    bars = large_caps[symbol]
    row = row_of(bars, date)
    for column in ("open", "high", "low", "close"):
        assert getattr(bars, column)[row] == pytest.approx(float(source[column.title()]) * factor, abs=5e-7)


def test_the_known_figures_of_the_first_apple_bar():
    """By hand from the source row 118.56, 132.06, 118.5, 130.31, 9616100, 4.186662803811; two splits of 2 follow."""
    assert shipped_text().splitlines()[1] == b"2000-03-01,AAPL,3.809153,4.242888,3.807225,4.186663,38464400"


@pytest.mark.parametrize(
    ("symbol", "before", "after", "splits_before"),
    [
        ("AAPL", "2000-06-20", "2000-06-21", 4),
        ("AAPL", "2005-02-25", "2005-02-28", 2),
        ("MSFT", "2003-02-14", "2003-02-18", 2),
        ("MSFT", "2004-11-12", "2004-11-15", 1),
        ("IBM", "2000-03-01", "2000-03-02", 1),
    ],
)
def test_volume_is_adjusted_for_splits_and_not_for_dividends(
    large_caps, source_rows, symbol, before, after, splits_before
):
    bars = large_caps[symbol]
    splits_after = max(splits_before // 2, 1)
    for date, splits in ((before, splits_before), (after, splits_after)):
        assert bars.volume[row_of(bars, date)] == float(source_rows[symbol, date]["Volume"]) * splits


def test_no_bar_of_the_adjusted_series_looks_like_a_split(large_caps):
    assert tuple(large_caps) == ("AAPL", "IBM", "MSFT")
    for symbol, bars in large_caps.items():
        report = check_quality(bars)
        assert report.usable, symbol
        assert [issue.rule for issue in report.warnings] == ["gap"], symbol
        assert "2001-09-10 and 2001-09-17" in report.warnings[0].message


def test_the_bars_are_daily_from_midnight_utc_on_a_calendar_of_252_days(large_caps):
    for bars in large_caps.values():
        assert len(bars) == 3270
        assert (bars.ts[0], bars.ts[-1]) == (parse_stamp("2000-03-01"), parse_stamp("2013-03-01"))
        assert not np.any(bars.ts % DAY_S)
        assert bars.instrument.bars_per_year == 252


def test_loading_needs_neither_the_source_package_nor_pandas():
    """The set must work where only the runtime dependencies are installed, and in a caged child."""
    code = (
        "import sys; import runtime.market; from runtime.market.builtin import BUILTINS; "
        "[one.load() for one in BUILTINS]; "
        "heavy = {'pandas', 'bokeh_sampledata', 'scipy', 'talib', 'pydantic', 'sqlmodel', 'prefect', 'httpx', 'deap'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
