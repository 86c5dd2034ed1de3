"""Jobs and bars go in, results come out; a result is taken apart as if an enemy had written it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates.rules import finding
from gates.smoke import smoke_bars
from gates.wire import (
    CellJob,
    Job,
    Result,
    Seat,
    WireError,
    decode_bars,
    decode_job,
    decode_result,
    encode_bars,
    encode_job,
    encode_result,
    encode_seat,
    pack,
    unpack,
)
from runtime.kernel import AccountKind, Costs, RunConfig


def test_bars_arrive_as_they_were():
    bars = {"a": smoke_bars(), "b": smoke_bars().between(5, 50)}
    arrived = decode_bars(encode_bars(bars))
    assert list(arrived) == ["a", "b"]
    for key, one in bars.items():
        assert arrived[key].sha256 == one.sha256
        assert arrived[key].instrument == one.instrument
        assert np.array_equal(arrived[key].close, one.close)


def test_a_job_arrives_as_it_was():
    job = Job(
        source=b"\xff\x00 text",
        class_name="S",
        cells=(CellJob(key="a", start=250, stop=300, warmup=250),),
        config=RunConfig(cash=5.0, costs=Costs(fee_bps=1.5), account=AccountKind.MARGIN, decision_delay=1),
    )
    assert decode_job(encode_job(job)) == job
    seat = Seat(
        source=b"\xff\x00 text", class_name="S", instrument=smoke_bars().instrument, timeframe=smoke_bars().timeframe
    )
    assert decode_job(encode_seat(seat)) == seat


@pytest.mark.parametrize("rows", [(-1, 5, 0), (5, 5, 0), (5, 4, 0), (5, 9, 6), (5, 9, -1)])
def test_a_cell_of_impossible_rows_is_refused(rows):
    start, stop, warmup = rows
    with pytest.raises(ValueError, match="do not exist"):
        CellJob(key="a", start=start, stop=stop, warmup=warmup)


def test_a_cell_takes_its_warm_up_along():
    cell = CellJob(key="a", start=100, stop=120, warmup=30)
    assert np.array_equal(cell.bars(smoke_bars()).ts, smoke_bars().ts[70:120])


FINDINGS = (
    finding("raises", "raises ValueError in on_bar", line=3),
    finding("order-flood", "it asked for more", line=9),
)


def test_results_arrive_as_they_were():
    for said in (Result("S", ()), Result(None, FINDINGS)):
        assert decode_result(encode_result(said), class_name="S") == said


def claim(**changes):
    header = {"class_name": None, "findings": [["raises", 1, 1, "raises ValueError in on_bar"]]}
    return pack({**header, **changes}, changes.pop("parts", ()))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x00\x00\x02{}",
        b"\xff\xff\xff\xff{}",
        b"\x00\x00\x00\x02[]",
        b'\x00\x00\x00\x0f{"_parts":[-1]}',
        pack({}),
        pack({"class_name": "S", "findings": [], "more": 1}),
        pack({"class_name": "T", "findings": []}),
        pack({"class_name": None, "findings": []}),
        pack({"class_name": ["S"], "findings": []}),
        pack({"class_name": "S", "findings": []}, [b""]),
        pack({"class_name": "S", "findings": []}) + b"x",
        pack({"class_name": "S", "findings": [["raises", 1, 1, "x"]]}),
        pack({"class_name": None, "findings": [["raises", 1, 1, "x"]]}, [b""]),
        claim(findings={}),
        claim(findings=[1]),
        claim(findings=[["raises", 1, 1]]),
        claim(findings=[["no-such-rule", 1, 1, "x"]]),
        claim(findings=[["forbidden-name", 1, 1, "gate one is not the child's to say"]]),
        claim(findings=[[["raises"], 1, 1, "x"]]),
        claim(findings=[["raises", 0, 1, "x"]]),
        claim(findings=[["raises", True, 1, "x"]]),
        claim(findings=[["raises", 1.0, 1, "x"]]),
        claim(findings=[["raises", 10**9, 1, "x"]]),
        claim(findings=[["raises", 1, 1, ""]]),
        claim(findings=[["raises", 1, 1, None]]),
        claim(findings=[["raises", 1, 1, "x" * 501]]),
        claim(findings=[["raises", 1, 1, "two\nlines"]]),
        claim(findings=[["raises", 1, 1, "\u202e"]]),
        claim(findings=[["raises", 1, 1, "x"]] * 101),
        claim(findings=[["raises", 1, 1, "x"], ["load-raises", 1, 1, "x"]]),
    ],
)
def test_what_an_honest_child_could_not_say_is_refused(data):
    with pytest.raises(WireError):
        decode_result(data, class_name="S")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_result_or_a_wire_error(data):
    with pytest.raises(WireError):
        decode_result(data, class_name="S")


@given(st.data())
def test_a_damaged_result_is_a_result_or_a_wire_error(data):
    sent = bytearray(encode_result(Result("S", ())))
    for _ in range(data.draw(st.integers(1, 4))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    try:
        result = decode_result(bytes(sent), class_name="S")
    except WireError:
        return
    assert result == ("S", ())


def test_the_hint_is_always_ours():
    (found,) = decode_result(claim(), class_name="S").findings
    assert found.hint == finding("raises", "x").hint


@given(st.dictionaries(st.text(), st.integers() | st.text()), st.lists(st.binary()))
def test_packing_round_trips(header, parts):
    header.pop("_parts", None)
    assert unpack(pack(header, parts)) == (header, parts)
