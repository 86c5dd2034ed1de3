"""The child's end of a conversation: what the entry module's ``converse`` is given."""

from __future__ import annotations

import os
import select

from runtime.cage.seccomp import REQUEST_FD, RESULT_FD
from runtime.cage.wire import EMPTY_MESSAGE, FRAME_OVERHEAD, REQUEST_HEAD_BYTES, FrameKind, frame_parts, write_all

# One read for any request that fits into a pipe.
_READ_BYTES = 1 << 16


class Line:
    """Receive requests, send messages. The only way in or out of a conversing child."""

    __slots__ = ("_read", "_unread", "_write")

    def __init__(self) -> None:
        """Bind the two calls before untrusted code runs."""
        self._read = os.read
        self._write = os.write
        self._unread = b""

    def receive(self) -> bytes | None:
        """The next request; waits for it. None when the host has hung up."""
        if not self._unread:
            data = self._read(REQUEST_FD, _READ_BYTES)
            if len(data) == REQUEST_HEAD_BYTES + int.from_bytes(data[:REQUEST_HEAD_BYTES], "little"):
                return data[REQUEST_HEAD_BYTES:]  # one whole request, as nearly always
            self._unread = data
        if not self._fill(REQUEST_HEAD_BYTES):
            return None
        end = REQUEST_HEAD_BYTES + int.from_bytes(self._unread[:REQUEST_HEAD_BYTES], "little")
        if not self._fill(end):
            return None
        request, self._unread = self._unread[REQUEST_HEAD_BYTES:end], self._unread[end:]
        return request

    def send(self, message: bytes) -> None:
        """Send one message to the host."""
        if not message:
            self._write(RESULT_FD, EMPTY_MESSAGE)  # short enough for a pipe to take whole or not at all
            return
        parts = frame_parts(FrameKind.MESSAGE, message)
        # In one piece where that is cheap: each write would wake the host, to find that the message is not whole yet.
        is_short = len(message) <= select.PIPE_BUF - FRAME_OVERHEAD
        for part in (b"".join(parts),) if is_short else parts:
            write_all(self._write, RESULT_FD, part)

    def _fill(self, count: int) -> bool:
        """Read until at least ``count`` bytes are there; False when the host has hung up before that."""
        if len(self._unread) >= count:
            return True
        chunks, missing = [self._unread], count - len(self._unread)
        while missing > 0:
            chunk = self._read(REQUEST_FD, _READ_BYTES)
            if not chunk:
                return False
            chunks.append(chunk)
            missing -= len(chunk)
        self._unread = b"".join(chunks)
        return True
