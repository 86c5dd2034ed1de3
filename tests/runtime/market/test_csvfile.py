"""Files are read as they are, or refused with one sentence that says where and why."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.market import DataError, check_file, read_file
from runtime.market.calendar import DAY_S
from runtime.market.files import table_from_bytes
from runtime.market.table import Reading, one
from runtime.model import Timeframe

HEADER = "timestamp,open,high,low,close,volume\n"
GOOD = HEADER + "2024-01-01,1,2,0.5,1.5,10\n2024-01-02,1.5,2,1,1.2,0\n2024-01-03,1.2,1.3,1.1,1.3,7\n"


@pytest.fixture
def save(tmp_path):
    def save(text, name="prices.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return save


def test_what_was_written_is_read_back_to_the_last_bit(make_bars, write_csv):
    bars = make_bars(300)
    read = read_file(write_csv(bars))
    assert read.sha256 == bars.sha256
    assert read.instrument.symbol == "prices"
    assert read.instrument.bars_per_year == 365
    assert str(read.timeframe) == "1d"


def test_headers_may_have_any_case_order_and_spaces_and_other_columns_are_ignored(save):
    text = (
        "\ufeff Volume ,CLOSE, low ,High,Open,note, Timestamp\r\n"
        '10,1.5,0.5,2,1,"a, b\r\nc",2024-01-01\r\n\r\n'
        "0,1.2,1,2,1.5,, 2024-01-02 \r\n"
        "7,1.3,1.1,1.3,1.2,,2024-01-03\r\n"
    )
    assert read_file(save(text)).sha256 == read_file(save(GOOD, "other.csv")).sha256


def test_dates_datetimes_zones_and_epochs_mean_the_same(save):
    columns = [row.split(",", 1)[1] for row in GOOD.splitlines()[1:]]
    for stamps in (
        ("2024-01-01T00:00", "2024-01-02 00:00:00", "2024-01-03T00:00:00Z"),
        ("2024-01-01T02:00+02:00", "2024-01-02T02:00+02:00", "2024-01-03T02:00+02:00"),
        ("1704067200", "1704153600", "1704240000"),
        ("1704067200000", "1704153600000", "1704240000000"),
    ):
        text = HEADER + "\n".join(f"{stamp},{rest}" for stamp, rest in zip(stamps, columns, strict=True))
        assert read_file(save(text)).sha256 == read_file(save(GOOD, "other.csv")).sha256


def test_the_timeframe_may_be_stated_and_must_fit(save):
    assert read_file(save(GOOD), timeframe=Timeframe.parse("1d")).timeframe.seconds == DAY_S
    with pytest.raises(DataError, match=r"'prices.csv': timeframe 1h: the bars are 1 day apart"):
        read_file(save(GOOD), timeframe=Timeframe.parse("1h"))


def test_a_symbol_names_the_instrument_of_a_file_without_symbols(save):
    assert read_file(save(GOOD), symbol="BTC/USD").instrument.symbol == "BTC/USD"
    assert read_file(save(GOOD, "my file (1).v2.csv")).instrument.symbol == "my-file-1"
    assert read_file(save(GOOD, "-.csv")).instrument.symbol == "FILE"


def test_one_symbol_of_several_is_chosen_by_name(make_bars, write_csv):
    first, second = make_bars(40, symbol="AAA"), make_bars(50, symbol="BBB", seed=2)
    path = write_csv(first, second, symbols=True)
    assert read_file(path, symbol="AAA").sha256 == first.sha256
    assert read_file(path, symbol="BBB").sha256 == second.sha256
    with pytest.raises(DataError, match=r"'prices.csv' holds 2 symbols \(AAA, BBB\); choose one with --symbol"):
        read_file(path)
    with pytest.raises(DataError, match=r"'prices.csv' has no symbol 'CCC'; it holds AAA, BBB"):
        read_file(path, symbol="CCC")


def test_a_file_with_one_symbol_needs_no_choice(make_bars, write_csv):
    path = write_csv(make_bars(40, symbol="AAA"), symbols=True)
    assert read_file(path).instrument.symbol == "AAA"


def test_a_long_list_of_symbols_is_cut(save):
    rows = "".join(f"2024-01-0{day},1,1,1,1,1,S{symbol:03}\n" for symbol in range(40) for day in (1, 2))
    path = save("timestamp,open,high,low,close,volume,symbol\n" + rows)
    with pytest.raises(DataError, match=r"holds 40 symbols \(S000, .*, S011 and 28 more\)"):
        read_file(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is empty; a data file has a header and at least two bars"),
        (b"\xef\xbb\xbf \n\n", "is empty"),
        (HEADER, "has a header and no bars"),
        (HEADER + "2024-01-01,1,2,0.5,1.5,10\n", "only one bar; two are the least"),
        (b"\xff\xfe\x00\x01", r"is not UTF-8 text \(byte 0\)"),
        (gzip.compress(GOOD.encode(), mtime=0), "is not UTF-8 text"),
        ("a\x00b\x07\n1\n", r"no column timestamp, open, .* in 'a\\x00b\\x07'"),
        (GOOD.replace(",volume", ",vol"), "line 1: no column volume in 'timestamp, open, high, low, close, vol'"),
        (GOOD.replace(",", ";"), "separated by commas"),
        (GOOD.replace("volume", "Open"), "line 1: column open is there twice"),
        (GOOD.replace("1.5,10", "1.5"), "line 2: 5 cells where the header has 6"),
        (GOOD.replace("1.5,10", "1.5,10,11"), "line 2: 7 cells where the header has 6"),
        (GOOD.replace(",1.2,0", ",abc,0"), "line 3, column close: 'abc' is not a number"),
        (GOOD.replace(",1.2,0", ",,0"), "line 3, column close: '' is not a number"),
        (GOOD.replace(",1.2,0", ",1_2,0"), "line 3, column close: '1_2' is not a number"),
        (GOOD.replace(",1.2,0", ',"1,2",0'), "line 3, column close: '1,2' is not a number"),
        (GOOD.replace(",1.2,0", ",nan,0"), "line 3: close is nan"),
        (GOOD.replace(",1.2,0", ",1e999,0"), "line 3: close is inf"),
        (GOOD.replace(",1.2,0", ",9,0"), "line 3: open is 1.5, high is 2, low is 1, close is 9"),
        (GOOD.replace(",1.2,0", ",1.2,-1"), "line 3: volume is -1"),
        (GOOD.replace("2024-01-02", "02.01.2024"), "line 3, column timestamp: '02.01.2024' is not a date"),
        (GOOD.replace("2024-01-02", "2024-01-03"), "line 4: 2024-01-03 is there twice"),
        (GOOD.replace("2024-01-02", "2023-12-30"), "line 3: 2023-12-30 comes after 2024-01-01"),
        (GOOD + '2024-01-04,"1', "line 5: not valid CSV"),
        (GOOD + "2024-01-04," + "1" * 200_000, "line 5: not valid CSV"),
        (
            GOOD.replace("volume\n", "volume,symbol\n").replace("10\n", "10,a b\n"),
            r"line 2: symbol 'a b'; a symbol has",
        ),
    ],
)
def test_a_bad_file_is_refused_with_place_and_rule(save, text, words):
    with pytest.raises(DataError, match=words) as caught:
        read_file(save(text))
    message = str(caught.value)
    assert message.startswith("'prices.csv'")
    assert "\n" not in message
    assert len(message) < 400


def test_lines_are_counted_as_an_editor_does(save):
    """Blank lines and cells with line breaks count."""
    text = GOOD.replace("volume\n", "volume,note\n").replace("10\n", '10,"a\nb"\n\n').replace(",0\n", ",x,\n")
    text = text.replace(",7\n", ",7,\n")
    assert text.splitlines()[4].startswith("2024-01-02")
    with pytest.raises(DataError, match=r"line 5, column volume: 'x' is not a number"):
        read_file(save(text))


def test_several_kinds_of_error_are_announced_and_all_shown_by_the_check(save):
    text = GOOD.replace(",1.2,0", ",1.2,-1").replace("1.2,1.3,1.1,1.3", "1.2,1.3,1.1,9")
    with pytest.raises(DataError, match=r"line 4: .*\(1 more kinds of error\); correct the file"):
        read_file(save(text))
    report = check_file(save(text))["prices"]
    assert {issue.rule: issue.places for issue in report.errors} == {"high-low": (4,), "negative-volume": (3,)}


def test_the_check_shows_warnings_of_a_usable_file_by_line(save):
    report = check_file(save(GOOD))["prices"]
    assert report.usable
    assert [(issue.rule, issue.places) for issue in report.warnings if issue.rule == "zero-volume"] == [
        ("zero-volume", (3,))
    ]


@pytest.mark.parametrize("symbol", ["", "a b", "x" * 33, "\x1b[31m", "-x"])
def test_a_symbol_that_is_no_plain_name_is_refused(save, symbol):
    with pytest.raises(DataError, match=r"a symbol has 1 to 32 letters"):
        read_file(save(GOOD), symbol=symbol)


def test_a_path_that_is_no_readable_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, words in (
        ("absent.csv", "there is no file"),
        (".", "is a folder"),
        ("pipe", "is not a regular file"),
        ("loop", "cannot be read"),
        ("a\0b", "cannot be read|there is no file"),
        ("x" * 300, "cannot be read"),
    ):
        with pytest.raises(DataError, match=words):
            read_file(tmp_path / name)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: (HEADER + text).encode("utf-8", "replace")))
def test_no_content_makes_the_reader_raise_anything_but_a_data_error(data):
    try:
        bars = one(table_from_bytes(data, "x"), None, Reading())
    except DataError:
        return
    assert np.all(np.diff(bars.ts) > 0)
