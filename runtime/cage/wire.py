"""The bytes between host, zygote and child: fixed headers, capped lengths, checked by hand, never pickle.

What comes from a child is untrusted: a ``FrameReader`` believes nothing that it has not checked, and never holds more
than the cap. What a hostile child can do is forge *its own* result; nothing here can tell.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class WireError(ValueError):
    """The bytes do not follow the protocol; the message says where."""


class FrameKind(IntEnum):
    """What one frame from a child says."""

    RESULT = 1
    """The payload is what the entry function returned. Always the last frame."""
    OUT_OF_MEMORY = 2
    """A MemoryError left the entry function. The last frame."""
    ERROR = 3
    """Any other exception left it; the payload is the name of its built-in type. The last frame."""
    MESSAGE = 4
    """One message of a conversation; more may follow."""


_FRAME_HEAD = struct.Struct("<4sBQ")
_FRAME_TAIL = struct.Struct("<I4s")
_FRAME_MAGIC = b"TGF1"
_FRAME_END = b"TGF."

FRAME_OVERHEAD = _FRAME_HEAD.size + _FRAME_TAIL.size


_KINDS = {kind.value: kind for kind in FrameKind}


class Frame(NamedTuple):
    """One checked frame. A named tuple, because a proof run makes one per bar."""

    kind: FrameKind
    payload: bytes


def frame_parts(kind: FrameKind, payload: bytes) -> tuple[bytes, bytes, bytes]:
    """Head, payload and tail of a frame, apart, so that a large payload is not copied in a child short of memory."""
    head = _FRAME_HEAD.pack(_FRAME_MAGIC, kind, len(payload))
    return head, payload, _FRAME_TAIL.pack(zlib.crc32(payload, zlib.crc32(head)), _FRAME_END)


EMPTY_MESSAGE = b"".join(frame_parts(FrameKind.MESSAGE, b""))
"""The whole frame of a message of no bytes."""


class FrameReader:
    """Cuts a byte stream from a child into frames.

    Feed it what arrives; it yields each frame as soon as that frame is whole.
    """

    def __init__(self, *, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._buffer = bytearray()
        self._wanted: int | None = None
        """Payload length that the head in the buffer announces; None while there is no whole head."""

    @property
    def flooded(self) -> bool:
        """Whether the current frame announces more than the cap."""
        return self._wanted is not None and self._wanted > self._most_bytes

    @property
    def pending(self) -> int:
        """Bytes that belong to no whole frame yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add what arrived.

        Raises:
            WireError: it is not the start of a frame.
        """
        self._buffer += data
        self._read_head()

    def next_frame(self) -> Frame | None:
        """The next whole frame, or None while it is still on its way.

        Raises:
            WireError: its end marker or checksum is wrong, or its kind unknown.
        """
        if self._wanted is None or self.flooded or len(self._buffer) < self._wanted + FRAME_OVERHEAD:
            return None
        end = _FRAME_HEAD.size + self._wanted
        payload = bytes(self._buffer[_FRAME_HEAD.size : end])
        checksum, marker = _FRAME_TAIL.unpack_from(self._buffer, end)
        if marker != _FRAME_END or checksum != zlib.crc32(payload, zlib.crc32(self._buffer[: _FRAME_HEAD.size])):
            raise WireError("a frame whose end marker or checksum is wrong")
        kind = _KINDS[self._buffer[4]]
        del self._buffer[: end + _FRAME_TAIL.size]
        self._wanted = None
        self._read_head()
        return Frame(kind=kind, payload=payload)

    def _read_head(self) -> None:
        if self._wanted is not None or not self._buffer:
            return
        if not _FRAME_MAGIC.startswith(bytes(self._buffer[: len(_FRAME_MAGIC)])):
            raise WireError("bytes that do not start a frame")
        if len(self._buffer) < _FRAME_HEAD.size:
            return
        _, kind, length = _FRAME_HEAD.unpack_from(self._buffer)
        if kind not in _KINDS:
            raise WireError(f"a frame of unknown kind {kind}")
        self._wanted = length


_PREAMBLE = struct.Struct("<4sI")
_PREAMBLE_MAGIC = b"TGL1"
PREAMBLE_BYTES = _PREAMBLE.size


def encode_preamble(missing_layers: int) -> bytes:
    """A child's first words, before any untrusted code runs: the mask of the layers that did not go up."""
    return _PREAMBLE.pack(_PREAMBLE_MAGIC, missing_layers)


def decode_preamble(data: bytes) -> int:
    """The mask of missing layers.

    Raises:
        WireError: these are not a child's first words.
    """
    if len(data) != _PREAMBLE.size or not data.startswith(_PREAMBLE_MAGIC):
        raise WireError("a child that does not say which layers hold it")
    mask: int = _PREAMBLE.unpack(data)[1]
    return mask


class OrderKind(IntEnum):
    """What the zygote is asked to fork."""

    RUN = 1
    """One call of the entry function. Descriptors: job, result pipe, status socket."""
    CONVERSE = 2
    """One conversation. Descriptors: job, result pipe, status socket, request pipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Host to zygote: fork one child under these limits. The descriptors travel beside it."""

    kind: OrderKind
    cpu_s: int
    memory_bytes: int
    skip: int = 0
    """Mask of layers to leave out. Only the self-test and the tests of single layers set it."""

    def encode(self) -> bytes:
        """The bytes of one control message."""
        return _ORDER.pack(_ORDER_MAGIC, self.kind, self.cpu_s, self.memory_bytes, self.skip)

    @classmethod
    def decode(cls, data: bytes) -> Order:
        """Read one control message.

        Raises:
            WireError: it is not an order.
        """
        if len(data) != _ORDER.size or not data.startswith(_ORDER_MAGIC):
            raise WireError("a control message that is no order")
        _, kind, cpu_s, memory_bytes, skip = _ORDER.unpack(data)
        return cls(kind=OrderKind(kind), cpu_s=cpu_s, memory_bytes=memory_bytes, skip=skip)


_ORDER = struct.Struct("<4sBQQI")
_ORDER_MAGIC = b"TGO1"


class ReportKind(IntEnum):
    """What the zygote says about a job."""

    STARTED = 1
    """The child lives; ``value`` is its pid, and its pidfd travels beside the report."""
    ENDED = 2
    """The child is gone; ``value`` is its wait status."""
    NOT_STARTED = 3
    """fork failed; ``value`` is the errno."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Zygote to host, on the status socket of one job."""

    kind: ReportKind
    value: int
    cpu_s: float = 0.0

    def encode(self) -> bytes:
        """The bytes of one status message."""
        return _REPORT.pack(_REPORT_MAGIC, self.kind, self.value, self.cpu_s)

    @classmethod
    def decode(cls, data: bytes) -> Report:
        """Read one status message.

        Raises:
            WireError: it is not a report.
        """
        if len(data) != _REPORT.size or not data.startswith(_REPORT_MAGIC):
            raise WireError("a status message that is no report")
        _, kind, value, cpu_s = _REPORT.unpack(data)
        return cls(kind=ReportKind(kind), value=value, cpu_s=cpu_s)


_REPORT = struct.Struct("<4sBid")
_REPORT_MAGIC = b"TGS1"

REQUEST_HEAD_BYTES = 8
"""A request to a conversing child is its length, little-endian, and its bytes: this direction is trusted."""


def encode_request(message: bytes) -> bytes:
    """The bytes of one request."""
    return len(message).to_bytes(REQUEST_HEAD_BYTES, "little") + message


READY = b"ready"
"""What a zygote says once it has loaded its entry."""

_CHUNK = 1 << 20


def write_all(write: Callable[[int, memoryview], int], descriptor: int, data: bytes) -> None:
    """Write all of ``data``; ``write`` is passed in because a child uses the one it bound before untrusted code ran."""
    view = memoryview(data)
    while view:
        view = view[write(descriptor, view[:_CHUNK]) :]
