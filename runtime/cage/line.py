"""The child's end of a conversation: what the entry module's ``converse`` is given."""

from __future__ import annotations

import os

from runtime.cage.seccomp import REQUEST_FD, RESULT_FD
from runtime.cage.wire import REQUEST_HEAD_BYTES, FrameKind, frame_parts, write_all


class Line:
    """Receive requests, send messages. The only way in or out of a conversing child."""

    __slots__ = ("_read", "_write")

    def __init__(self) -> None:
        """Bind the two calls before untrusted code runs."""
        self._read = os.read
        self._write = os.write

    def receive(self) -> bytes | None:
        """The next request; waits for it. None when the host has hung up."""
        head = self._read_exactly(REQUEST_HEAD_BYTES)
        return None if head is None else self._read_exactly(int.from_bytes(head, "little"))

    def send(self, message: bytes) -> None:
        """Send one message to the host."""
        for part in frame_parts(FrameKind.MESSAGE, message):
            write_all(self._write, RESULT_FD, part)

    def _read_exactly(self, count: int) -> bytes | None:
        chunks = []
        while count:
            chunk = self._read(REQUEST_FD, count)
            if not chunk:
                return None
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks)
