"""The bytes between a session and a strategy in another process: exact on the way out, believed in nothing on the way back."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.desk import Action, IndicatorCall, OpenOrder, Request
from runtime.indicators import REGISTRY, check
from runtime.kernel import AccountKind, Declaration, Failure, RunConfig, RunLimits
from runtime.kernel.dialogue import (
    MAX_SERIES,
    NOTHING,
    DialogueError,
    MomentCodec,
    decode_declaration,
    decode_farewell,
    decode_news,
    decode_requests,
    encode_declaration,
    encode_farewell,
    encode_news,
    encode_requests,
)
from runtime.kernel.session import Account
from runtime.kernel.tickets import OrderRefused, canonical, judge
from runtime.model import Bar, Fill, Instrument, OrderType, Side

LIMITS = RunLimits()
WHEN = datetime(2020, 2, 29, 23, 59, tzinfo=UTC)
FAILURE = Failure(hook="on_bar", exception="KeyError", line=7, message="on_bar raised KeyError at line 7")
any_float = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(any_float, min_size=5, max_size=5), st.integers(0, 2**40), st.lists(any_float, max_size=4))
def test_a_moment_arrives_bit_for_bit(prices, count, values):
    codec = MomentCodec(len(values))
    (ts, *arrived), number, *series = codec.unpack(codec.pack((Bar(WHEN, *prices), count, *values)))
    assert (ts, ts.tzinfo, number) == (WHEN, UTC, count)
    assert np.array(arrived).tobytes() == np.array(prices).tobytes()
    assert np.array(series).tobytes() == np.array(values).tobytes()


def test_moments_one_after_the_other_arrive_in_order():
    codec = MomentCodec(1)
    moments = [(Bar(WHEN, *map(float, range(i, i + 5))), 0, i / 7) for i in range(30)]
    assert codec.unpack_all(b"W" + b"".join(map(codec.pack, moments))) == moments


def test_the_books_arrive_as_they_are():
    orders = (
        OpenOrder(id=3, side=Side.SELL, type=OrderType.STOP_LIMIT, limit=1 / 3, stop=0.1, tag="é'\""),
        OpenOrder(id=4, side=Side.BUY, quantity=2.5, type=OrderType.TRAILING_STOP, trail=0.05, stop_loss=0.1, take_profit=3.0),
    )  # fmt: skip
    account = Account(1e5 / 3, -0.1, 101.7, orders)
    fills = [Fill(ts=WHEN, side=Side.BUY, quantity=1 / 7, price=99.9, fee=0.01, tag="t", order_id=2)]
    assert decode_news(encode_news(account, fills)) == (account, tuple(fills))
    assert decode_news(encode_news(None, fills)) == (None, tuple(fills))
    flat = Account(5.0, 0.0, None, ())
    assert decode_news(encode_news(flat, ())) == (flat, ())


class Text(str):
    __slots__ = ()


values = st.one_of(
    st.none(), st.booleans(), any_float, st.integers(-(10**20), 10**20), st.text(max_size=100),
    st.sampled_from([
        10**400, -(10**400), 2**128, 2**128 - 1, "\udc80", b"x", 1j, [1], (1,), {1: 2}, {1}, object(), Text("x"), np.float64(1.0),
        OrderType.STOP, Side.BUY, Action.BUY, float, len, 5e-324, -0.0, True,
    ]),
)  # fmt: skip
requests = st.builds(
    Request,
    st.just(0),
    st.sampled_from([*Action, None, "buy", 1, Side.BUY]),
    st.sampled_from([None, *OrderType, "market", 3]),
    *([values] * 8),
)


def fate(request, config):
    try:
        return judge(request, config, Instrument(symbol="X", bars_per_year=252.0))
    except OrderRefused as refusal:
        return str(refusal)


@given(requests, st.sampled_from(AccountKind))
def test_whatever_was_asked_for_is_judged_and_logged_as_if_it_had_been_asked_here(request, account):
    (arrived,) = decode_requests(encode_requests([request], LIMITS), LIMITS)
    config = RunConfig(account=account)
    assert canonical(arrived) == canonical(request)
    assert fate(arrived, config) == fate(request, config)


def test_one_request_too_many_travels_and_not_two():
    limits = RunLimits(orders_per_bar=3)
    asked = [Request(0, Action.BUY)] * 3
    assert decode_requests(encode_requests(asked, limits), limits) == asked
    assert len(decode_requests(encode_requests(asked * 3, limits), limits)) == 4
    assert encode_requests((), limits) == NOTHING


def test_failures_and_the_last_words_arrive():
    assert decode_requests(encode_requests(FAILURE, LIMITS), LIMITS) == FAILURE
    assert decode_declaration(encode_declaration(FAILURE), LIMITS) == FAILURE
    assert decode_farewell(encode_farewell(FAILURE, ("a", "é")), LIMITS) == (FAILURE, ("a", "é"))
    assert decode_farewell(encode_farewell(None, ()), LIMITS) == (None, ())


def test_every_entry_of_the_registry_can_be_declared_over_a_line():
    calls = tuple(dict.fromkeys(check(name, "close", {}) for name in REGISTRY))
    for start in range(0, len(calls), MAX_SERIES):
        declared = Declaration(calls[start : start + MAX_SERIES], 12, 3)
        assert decode_declaration(encode_declaration(declared), LIMITS) == declared


SMA = ["SMA", "close", [["timeperiod", 10]]]


@pytest.mark.parametrize(
    "answer",
    [
        [], None, 5, {}, {"calls": []}, {"calls": {}, "need": 0, "early": 0}, {"calls": [], "need": -1, "early": 0},
        {"calls": [], "need": 251, "early": 0}, {"calls": [], "need": True, "early": 0}, {"calls": [], "need": 0, "early": 10**9},
        {"calls": [], "need": 0, "early": 0, "more": 0}, {"calls": [SMA] * (MAX_SERIES + 1), "need": 0, "early": 0},
        *({"calls": [call], "need": 0, "early": 0} for call in (
            None, [], ["SMA"], ["NOPE", "close", []], [["SMA"], "close", []], ["SMA", "nope", []], ["SMA", [], []], ["SMA", "close", 3],
            ["SMA", "close", []], ["SMA", "close", [["timeperiod", 1.5]]], ["SMA", "close", [["timeperiod", 251]]], ["SMA", "close", [["timeperiod", -1]]],
            ["SMA", "close", [["timeperiod", 10], ["nope", 1]]], ["SMA", "close", [["timeperiod", None]]], ["SMA", "close", [["timeperiod", True]]],
            ["SMA", "close", [["timeperiod", float("nan")]]], ["SMA", "close", [["timeperiod"]]], ["SMA", "close", [[1, 10]]], ["SMA", "close", [SMA]],
            ["BBANDS.upper", "close", [["timeperiod", 5]]], ["ATR", "open", [["timeperiod", 14]]],
        )),
    ],
)  # fmt: skip
def test_a_declaration_that_could_not_have_been_made_is_refused(answer):
    with pytest.raises(DialogueError):
        decode_declaration(json.dumps(answer).encode(), LIMITS)


BUY = ["buy", None, *[None] * 7, ""]


@pytest.mark.parametrize(
    "answer",
    [
        [], None, 5, {}, [None], [[]], [BUY[:-1]], [[*BUY, 1]], [BUY] * 102, [["hold", *BUY[1:]]], [[1, *BUY[1:]]], [["buy", "nope", *BUY[2:]]],
        [["buy", 3, *BUY[2:]]], [["buy", None, 2**129, *BUY[3:]]], [["buy", None, [], *BUY[3:]]], [["buy", None, ["nope"], *BUY[3:]]],
        [["buy", None, [["list"]], *BUY[3:]]], [["buy", None, {}, *BUY[3:]]], [["buy", None, "x" * 65, *BUY[3:]]], {"failure": None},
        {"failure": ["on_bar", "KeyError", 1]}, {"failure": ["elsewhere", "KeyError", 1, "x"]}, {"failure": ["on_bar", "K\n", 1, "x"]},
        {"failure": ["on_bar", "KeyError", -1, "x"]}, {"failure": ["on_bar", "KeyError", 1, "x" * 501]}, {"failure": ["on_bar", "KeyError", 1, 5]},
    ],
)  # fmt: skip
def test_requests_that_could_not_have_been_made_are_refused(answer):
    with pytest.raises(DialogueError):
        decode_requests(json.dumps(answer).encode(), LIMITS)


@pytest.mark.parametrize(
    "answer",
    [
        [], {"failure": None}, {"failure": None, "log": {}}, {"failure": None, "log": [1]}, {"failure": None, "log": ["x"] * 201},
        {"failure": None, "log": ["a\nb"]}, {"failure": None, "log": ["\x1b[31m"]}, {"failure": None, "log": ["x" * 10_001]}, {"failure": 1, "log": []},
    ],
)  # fmt: skip
def test_last_words_that_could_not_have_been_said_are_refused(answer):
    with pytest.raises(DialogueError):
        decode_farewell(json.dumps(answer).encode(), LIMITS)


DECODERS = (decode_declaration, decode_requests, decode_farewell)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"9" * 5_000, b"\xff", b"{", b'"\\ud800', b"[" + b"1," * 200_000 + b"1]"]
)
@pytest.mark.parametrize("decode", DECODERS)
def test_bytes_that_are_no_answer_are_refused(decode, data):
    with pytest.raises(DialogueError):
        decode(data, LIMITS)


answers = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), any_float, st.text(max_size=9), st.sampled_from(["buy", "cancel", "SMA", "on_bar", "list"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=11),
        st.dictionaries(st.sampled_from(["failure", "calls", "need", "early", "log", "x"]), inner, max_size=4),
    ),
    max_leaves=40,
)  # fmt: skip


@given(
    st.one_of(st.binary(max_size=200), answers.map(lambda answer: json.dumps(answer).encode())),
    st.sampled_from(DECODERS),
)
def test_no_answer_raises_anything_else(data, decode):
    with contextlib.suppress(DialogueError):
        decode(data, LIMITS)


def test_a_series_that_was_declared_is_the_same_call():
    call = check("SMA", "close", {"timeperiod": 10})
    assert decode_declaration(encode_declaration(Declaration((call,), 0, 0)), LIMITS).calls == (
        IndicatorCall("SMA", "close", (("timeperiod", 10),)),
    )
