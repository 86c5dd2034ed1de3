from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cage.wire import (
    FRAME_OVERHEAD,
    Frame,
    FrameKind,
    FrameReader,
    Order,
    OrderKind,
    Report,
    ReportKind,
    WireError,
    decode_preamble,
    encode_preamble,
    encode_request,
    frame_parts,
    write_all,
)

CAP = 1 << 16


def encode(kind: FrameKind, payload: bytes) -> bytes:
    return b"".join(frame_parts(kind, payload))


@given(
    st.lists(st.tuples(st.sampled_from(FrameKind), st.binary(max_size=200)), max_size=5),
    st.lists(st.integers(0, 300), max_size=20),
)
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(
    frames: list[tuple[FrameKind, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(encode(kind, payload) for kind, payload in frames)
    reader = FrameReader(most_bytes=CAP)
    read = []
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(stream)], strict=True):
        reader.feed(stream[start:end])
        while (frame := reader.next_frame()) is not None:
            read.append(frame)
    assert read == [Frame(kind=kind, payload=payload) for kind, payload in frames]
    assert reader.pending == 0
    assert not reader.flooded


@given(st.binary(min_size=1, max_size=60), st.data())
def test_a_frame_with_any_byte_changed_is_never_taken_for_another_result(payload: bytes, data: st.DataObject) -> None:
    whole = bytearray(encode(FrameKind.RESULT, payload))
    index = data.draw(st.integers(0, len(whole) - 1))
    whole[index] ^= data.draw(st.integers(1, 255))
    reader = FrameReader(most_bytes=CAP)
    try:
        reader.feed(bytes(whole))
        frame = reader.next_frame()
    except WireError:
        return
    assert frame is None, "a changed length at most leaves the reader waiting, or flooded"


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_make_a_frame(data: bytes) -> None:
    reader = FrameReader(most_bytes=CAP)
    with contextlib.suppress(WireError):
        reader.feed(data)
        assert reader.next_frame() is None


def test_a_frame_may_be_as_long_as_the_cap_and_not_a_byte_longer() -> None:
    reader = FrameReader(most_bytes=10)
    reader.feed(encode(FrameKind.RESULT, b"x" * 10))
    assert reader.next_frame() == Frame(kind=FrameKind.RESULT, payload=b"x" * 10)
    reader.feed(encode(FrameKind.RESULT, b"x" * 11)[:13])
    assert reader.flooded
    assert reader.next_frame() is None


def test_the_overhead_of_a_frame_is_what_it_says() -> None:
    assert len(encode(FrameKind.ERROR, b"12345")) == FRAME_OVERHEAD + 5


def test_a_preamble_carries_the_missing_layers() -> None:
    assert decode_preamble(encode_preamble(0b1010)) == 0b1010
    for junk in (b"", b"TGL1", b"xxxx\0\0\0\0", encode_preamble(0) + b"x"):
        with pytest.raises(WireError):
            decode_preamble(junk)


def test_orders_and_reports_survive_the_journey() -> None:
    order = Order(kind=OrderKind.CONVERSE, cpu_s=5, memory_bytes=1 << 30, skip=3)
    assert Order.decode(order.encode()) == order
    report = Report(kind=ReportKind.ENDED, value=139, cpu_s=1.25)
    assert Report.decode(report.encode()) == report


@pytest.mark.parametrize("junk", [b"", b"TGO1", b"x" * 25, b"TGS1"])
def test_what_is_no_order_and_no_report_is_refused(junk: bytes) -> None:
    with pytest.raises(WireError):
        Order.decode(junk)
    with pytest.raises(WireError):
        Report.decode(junk)


def test_a_request_is_its_length_and_its_bytes() -> None:
    assert encode_request(b"abc") == b"\x03\0\0\0\0\0\0\0abc"


def test_everything_is_written_also_in_short_writes() -> None:
    written = bytearray()

    def write_three(descriptor: int, data: memoryview) -> int:
        assert descriptor == 3
        written.extend(data[:3])
        return min(3, len(data))

    write_all(write_three, 3, b"0123456789")
    assert written == b"0123456789"
