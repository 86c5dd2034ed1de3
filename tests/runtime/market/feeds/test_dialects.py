"""Replies are read as their protocol says, or refused with the row; requests hold what was asked for."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.market import DataError
from runtime.market.calendar import HOUR_S
from runtime.market.feeds import JsonRows, Klines, PageStyle, Stamps
from runtime.market.feeds.dialect import number_from, page_of
from runtime.market.feeds.exchange import UnreadableError
from runtime.market.feeds.jsonrows import picked
from runtime.market.feeds.paging import NumberPaging, Page, Place, TimePaging, TokenPaging, Want, WindowPaging
from runtime.model import Timeframe

START = 1_704_067_200
WANT = Want(symbol="BTC/USD", timeframe=Timeframe(HOUR_S), start=START, stop=START + 10 * HOUR_S)
ROW = [START * 1000, "1.5", "2", "1", "1.75", "10.0", START * 1000 + HOUR_S * 1000 - 1, "0", 3, "0", "0", "0"]


def moved(row, hours):
    return [row[0] + hours * HOUR_S * 1000, *row[1:6], row[6] + hours * HOUR_S * 1000, *row[7:]]


def body(document):
    return json.dumps(document).encode()


def page(*hours):
    return Page(ts=START + np.array(hours, dtype=np.int64) * HOUR_S, columns=np.ones((5, len(hours))))


def test_a_klines_request_asks_for_the_page_in_milliseconds_with_the_end_included():
    request = Klines(page_bars=500).request(WANT, Place(START, START + 36_000))
    assert request.path == "/api/v3/klines"
    assert dict(request.query) == {
        "symbol": "BTC/USD",
        "interval": "1h",
        "startTime": "1704067200000",
        "endTime": "1704103199999",
        "limit": "500",
    }


def test_a_timeframe_that_klines_lack_is_refused_with_the_way_out():
    with pytest.raises(
        DataError, match=r"timeframe 10m: a klines feed has 1m, .*fetch a shorter one and add --resample 10m"
    ):
        Klines().request(replace(WANT, timeframe=Timeframe(600)), Place(START, START))


def test_klines_are_read():
    read = Klines().read(WANT, body([ROW, moved(ROW, 1)]))
    assert read.ts.tolist() == [START, START + HOUR_S]
    assert read.columns[:, 0].tolist() == [1.5, 2.0, 1.0, 1.75, 10.0]
    assert len(Klines().read(WANT, b"[]").ts) == 0


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"code": -1}, r"a reply is \"\{'code': -1\}\", and a klines feed answers with an array"),
        ([{"t": 1}], r"row 0 of a reply is .*, and a kline is an array of 12 fields"),
        ([ROW[:11]], "12 fields"),
        (
            [[str(ROW[0]), *ROW[1:]]],
            "row 0 of a reply: open time '1704067200000' is not a whole second in milliseconds",
        ),
        ([[ROW[0] + 1, *ROW[1:]]], "is not a whole second"),
        ([[True, *ROW[1:]]], "is not a whole second"),
        (
            [[*ROW[:6], ROW[6] + 1, *ROW[7:]]],
            r"row 0 of a reply \(2024-01-01\): the bar closes at .*, which is not a bar of 1h",
        ),
        (
            [ROW, [*moved(ROW, 1)[:4], "NaN", *moved(ROW, 1)[5:]]],
            r"row 1 of a reply \(2024-01-01T01:00Z\): close is 'NaN'",
        ),
        ([[ROW[0], float("inf"), *ROW[2:]]], "open is 'inf', and every price and volume must be a finite number"),
        ([[*ROW[:5], None, *ROW[6:]]], "volume is 'None'"),
        ([[*ROW[:5], True, *ROW[6:]]], "volume is 'True'"),
        ([[*ROW[:5], "1_0", *ROW[6:]]], "volume is '1_0'"),
        ([[*ROW[:5], [], *ROW[6:]]], r"volume is '\[\]'"),
        (
            [moved(ROW, 1), ROW],
            "row 1 of a reply: 2024-01-01 comes after 2024-01-01T01:00Z, and a feed's bars must be in time",
        ),
        ([ROW, ROW], "row 1 of a reply: 2024-01-01 is there twice"),
    ],
)
def test_klines_of_another_form_are_refused_with_the_row(document, words):
    with pytest.raises(DataError, match=words):
        Klines().read(WANT, body(document))


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.0163", 0.0163), ("1e3", 1000.0), ("-0", 0.0), (3, 3.0), (2.5, 2.5), ("", None), (" 1", None), ("1e999", None)]
    + [(text, None) for text in ("nan", "Infinity", "0x1", "1,5", "\u0661", "+1", None, True, {}, "1" * 50, 10**400)],
)
def test_only_finite_decimal_numbers_are_numbers(text, number):
    assert number_from(text) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_survives_its_text(value):
    assert number_from(repr(value)) == value
    assert number_from(json.loads(json.dumps(value))) == value


@given(
    st.binary(max_size=60)
    | st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists).map(body)
)
def test_no_reply_makes_a_dialect_raise_anything_but_its_two_errors(content):
    for dialect in (Klines(), JsonRows(path="/", query={}), JsonRows(path="/", query={}, rows="0", stamps=Stamps.ISO)):
        try:
            read = dialect.read(WANT, content)
        except (DataError, UnreadableError):
            continue
        assert np.isfinite(read.columns).all()


JSON = JsonRows(
    path="/v1/{symbol}/bars",
    query={
        "step": "{timeframe}",
        "from": "{start}",
        "to": "{stop}",
        "n": "{limit}",
        "fixed": "yes",
        "after": "{token}",
    },
    rows="data.bars",
    fields={"timestamp": "t", "open": "p.0", "high": "p.1", "low": "p.2", "close": "p.3", "volume": "v"},
    stamps=Stamps.ISO,
    style=PageStyle.TOKEN,
    next="meta.next",
    page_bars=50,
    timeframes={"1h": "60"},
)


def test_a_json_request_fills_its_templates_and_quotes_the_path():
    request = JSON.request(WANT, Place(START, START + HOUR_S))
    assert request.path == "/v1/BTC%2FUSD/bars"
    assert dict(request.query) == {
        "step": "60",
        "from": "2024-01-01T00:00:00Z",
        "to": "2024-01-01T01:00:00Z",
        "n": "50",
        "fixed": "yes",
    }
    assert dict(JSON.request(WANT, Place(START, START, token="abc")).query)["after"] == "abc"
    milliseconds = replace(JSON, stamps=Stamps.MILLISECONDS).request(WANT, Place(START, START))
    assert dict(milliseconds.query)["from"] == "1704067200000"


def test_a_timeframe_that_the_feed_does_not_name_is_refused():
    with pytest.raises(DataError, match="timeframe 1d: the feed has 1h; fetch a shorter one and add --resample 1d"):
        JSON.request(replace(WANT, timeframe=Timeframe(86_400)), Place(START, START))


def test_json_rows_are_found_by_their_paths():
    rows = [{"t": f"2024-01-01T0{hour}:00:00+00:00", "p": [1, 2, "0.5", 1.5], "v": 7, "x": None} for hour in (0, 1)]
    read = JSON.read(WANT, body({"data": {"bars": rows}, "meta": {"next": 17}}))
    assert read.ts.tolist() == [START, START + HOUR_S]
    assert read.columns[:, 1].tolist() == [1, 2, 0.5, 1.5, 7]
    assert read.token == "17"
    backwards = replace(JSON, newest_first=True).read(WANT, body({"data": {"bars": rows[::-1]}}))
    assert backwards.ts.tolist() == read.ts.tolist()
    assert backwards.token is None
    with pytest.raises(DataError, match="comes after"):
        replace(JSON, newest_first=True).read(WANT, body({"data": {"bars": rows}}))


def test_json_lists_of_lists_are_read_by_place():
    dialect = JsonRows(
        path="/",
        query={},
        stamps=Stamps.MILLISECONDS,
        fields=dict(zip(("timestamp", "open", "high", "low", "close", "volume"), "012345", strict=True)),
    )
    read = dialect.read(WANT, body([[START * 1000, 1, 2, 0.5, 1.5, 3]]))
    assert (read.ts.tolist(), read.columns[:, 0].tolist()) == ([START], [1, 2, 0.5, 1.5, 3])


@pytest.mark.parametrize(
    ("dialect", "document", "words"),
    [
        (JSON, {"data": {}}, r"a reply has no list of bars at 'data.bars': .*; correct rows in the feed's section"),
        (JSON, [], "no list of bars at 'data.bars'"),
        (JsonRows(path="/", query={}), {}, "no list of bars at its top"),
        (
            JSON,
            {"data": {"bars": [{"t": START}]}},
            f"row 0 of a reply: timestamp '{START}' is not a whole second written as 'iso'",
        ),
        (JSON, {"data": {"bars": [{"t": str(START)}]}}, "written as 'iso'"),
        (JSON, {"data": {"bars": [{}]}}, "timestamp 'None'"),
        (JSON, {"data": {"bars": [7]}}, "timestamp 'None'"),
        (JsonRows(path="/", query={}), [{"timestamp": "2024-01-01"}], "written as 's'"),
        (JsonRows(path="/", query={}), [{"timestamp": START + 0.5}], "written as 's'"),
        (JsonRows(path="/", query={}), [{"timestamp": START * 1000}], "written as 's'"),
        (
            JsonRows(path="/", query={}),
            [{"timestamp": START, "open": 1}],
            r"row 0 of a reply \(2024-01-01\): high is 'None'",
        ),
    ],
)
def test_json_of_another_form_is_refused(dialect, document, words):
    with pytest.raises(DataError, match=words):
        dialect.read(WANT, body(document))


def test_a_path_that_leads_nowhere_gives_none():
    assert picked({"a": [{"b": 1}]}, "a.0.b") == 1
    for path in ("a.1", "a.b", "a.0.c", "a.0.b.c", "z"):
        assert picked({"a": [{"b": 1}]}, path) is None
    assert picked(5, "") == 5


def test_identities_tell_configurations_apart():
    assert (
        len({JSON.identity, replace(JSON, page_bars=51).identity, Klines().identity, Klines(path="/x").identity}) == 4
    )


def test_time_paging_goes_on_from_the_last_bar_until_nothing_is_new():
    paging = TimePaging()
    assert paging.first(WANT) == str(START)
    assert paging.place(WANT, "5").start == 5
    assert paging.after(WANT, str(START), page(0, 1, 2), None) == str(START + 2 * HOUR_S)
    assert paging.after(WANT, str(START + 2 * HOUR_S), page(2), None) is None
    assert paging.after(WANT, str(START), page(), None) is None
    assert paging.after(WANT, str(START), page(7, 8, 9), None) is None


def test_windows_pass_over_what_is_empty_and_end_at_the_end():
    paging, cursor, starts = WindowPaging(5), str(START), []
    while cursor is not None:
        place = paging.place(WANT, cursor)
        starts.append(((place.start - START) // HOUR_S, (place.stop - START) // HOUR_S))
        cursor = paging.after(WANT, cursor, page(), None)
    assert starts == [(0, 4), (4, 8), (8, 10)]


def test_numbered_pages_end_with_one_that_brings_nothing_newer():
    paging = NumberPaging()
    assert paging.first(WANT) == "1"
    assert paging.place(WANT, "3").number == 3
    assert paging.after(WANT, "1", page(0, 1), None) == "2"
    assert paging.after(WANT, "2", page(0, 1), START + HOUR_S) is None
    assert paging.after(WANT, "2", page(), START) is None
    assert paging.after(WANT, "2", page(9, 10), START) is None
    assert paging.at(START) is None


def test_tokens_are_followed_until_there_is_none_or_it_stands_still():
    paging = TokenPaging()
    assert paging.place(WANT, paging.first(WANT)).token == ""
    assert paging.after(WANT, "", replace(page(0), token="a"), None) == "a"
    assert paging.after(WANT, "a", replace(page(0), token="a"), None) is None
    assert paging.after(WANT, "a", page(0), None) is None
    assert paging.at(START) is None


def test_a_page_of_no_rows_is_a_page():
    assert page_of([], []).columns.shape == (5, 0)
    assert not math.isnan(page_of([[1, 1, 1, 1, 0]], [START]).columns.sum())
