"""One job, from the host's side: order the child, watch its pipes, its status and the clock, collect the evidence."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from runtime.cage.faults import CageUnavailable
from runtime.cage.launch import NotStarted, ZygoteGone, ZygoteProcess, hold_in_memory
from runtime.cage.layers import layers_of
from runtime.cage.verdict import Evidence, judge
from runtime.cage.wire import (
    EMPTY_MESSAGE,
    FRAME_OVERHEAD,
    PREAMBLE_BYTES,
    Frame,
    FrameKind,
    FrameReader,
    Order,
    OrderKind,
    Report,
    ReportKind,
    WireError,
    decode_preamble,
    encode_request,
)

if TYPE_CHECKING:
    from types import TracebackType

    from runtime.cage.outcome import CageLimits, CageOutcome

_READ_BYTES = 1 << 16
_STATUS_BYTES = 256

# A fork takes milliseconds; a zygote that has not managed one in this time is stopped or broken.
_START_S = 60.0
# From a kill to the zygote's report of it.
_REAP_S = 20.0
# The wall timer stands still while the child waits for a processor, so that a busy machine does not turn a slow
# candidate into a timed-out one; but not for ever.
_MOST_WALL = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one child is to do."""

    content: bytes
    """Passed to the entry function."""
    limits: CageLimits
    required: int
    """Mask of the layers without which nothing may run."""
    kind: OrderKind = OrderKind.RUN
    skip: int = 0
    """Mask of layers to leave out. Only the self-test and the tests of single layers set it."""


class Job:
    """A child that was ordered, and everything the host holds for it.

    A context manager: leaving it kills the child and closes every descriptor. Used by one thread at a time.
    """

    def __init__(self, zygote: ZygoteProcess, task: Task) -> None:
        """Order the child and wait until it is forked.

        Raises:
            NotStarted: it was not.
        """
        self._task = task
        self._zygote = zygote
        self._reader = FrameReader(most_bytes=task.limits.result_bytes)
        self._preamble = bytearray()
        self._messages: deque[bytes] = deque()
        self._unread_bytes = 0
        self._last_frame: Frame | None = None
        self._fault: str | None = None
        self._end: Report | None = None
        self._abandoned: str | None = None
        self._is_reading = True
        self._flooded = False
        self._timed_out = False
        self._killed_at: float | None = None
        self._pid = 0
        self._pidfd: int | None = None
        self._request: int | None = None
        self._unsent = bytearray()
        self._is_blocked = False
        """The request pipe is full, and ``_poll`` waits for room in it."""
        self._poll = select.poll()
        self._open = contextlib.ExitStack()
        try:
            self._order()
            self._await_start()
        except BaseException:
            self.close()
            raise
        self._started = time.monotonic()
        self._poll.register(self._status, select.POLLIN)
        self._poll.register(self._result, select.POLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._pid

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to take in: no message, and no end."""
        return self._end is None and self._abandoned is None and not self._messages and not self._poll.poll(0)

    def begin(self) -> None:
        """Count wall time from now on."""
        self._started = time.monotonic()

    def close(self) -> None:
        """Kill the child if it lives, and let go of every descriptor. May be called twice."""
        self._kill()
        self._pidfd = None
        self._hang_up()
        self._open.close()

    def finish(self, *, deadline: float | None = None) -> CageOutcome:
        """Wait for the end of the job, which its limits bring about, and say how it ended.

        Args:
            deadline: on the monotonic clock; the wall limit from the start of the job when None.

        Raises:
            NotStarted: the child ended before the lockdown was complete; nothing of the job has run.
            CageUnavailable: a required layer did not go up; nothing of the job has run.
        """
        self._hang_up()
        deadline = self._started + self._task.limits.wall_s if deadline is None else deadline
        while self._watch(deadline):
            pass
        self._check_preamble()
        ended = self._end
        evidence = Evidence(
            status=None if ended is None else ended.value,
            cpu_s=0.0 if ended is None else ended.cpu_s,
            wall_s=time.monotonic() - self._started,
            last_frame=self._last_frame,
            fault=self._fault,
            is_partial=self._reader.pending > 0,
            flooded=self._flooded,
            timed_out=self._timed_out,
            abandoned=self._abandoned,
        )
        return judge(evidence, self._task.limits)

    def stop(self) -> CageOutcome:
        """Kill the child, and say how it ended; its seconds are counted up to there. Raises as ``finish``."""
        self._kill()
        return self.finish()

    def await_lockdown(self) -> None:
        """Wait until the child has said which layers hold it.

        Raises:
            NotStarted, CageUnavailable: as ``finish``.
        """
        deadline = self._started + self._task.limits.wall_s
        while len(self._preamble) < PREAMBLE_BYTES and self._watch(deadline):
            pass
        self._check_preamble()

    def post(self, message: bytes) -> None:
        """Queue one request to a conversing child; ``next_message`` sends what does not fit into the pipe at once."""
        self._unsent += encode_request(message)
        self._send()

    def next_message(self, *, deadline: float) -> bytes | None:
        """The child's next message; None when the job is over, by its own doing or because the deadline passed."""
        while not self._messages and self._watch(deadline):
            pass
        if not self._messages:
            return None
        message = self._messages.popleft()
        self._unread_bytes -= len(message) + FRAME_OVERHEAD
        return message

    def _order(self) -> None:
        """Make the descriptors, hand the child's ends to the zygote, keep ours."""
        limits = self._task.limits
        with contextlib.ExitStack() as theirs:
            content = hold_in_memory(self._task.content)
            theirs.callback(os.close, content)
            self._result, answer = os.pipe2(os.O_CLOEXEC)
            self._open.callback(os.close, self._result)
            theirs.callback(os.close, answer)
            self._status, report = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._open.callback(self._status.close)
            theirs.callback(report.close)
            os.set_blocking(self._result, False)
            descriptors = [content, answer, report.fileno()]
            if self._task.kind is OrderKind.CONVERSE:
                question, self._request = os.pipe2(os.O_CLOEXEC)
                theirs.callback(os.close, question)
                os.set_blocking(self._request, False)
                descriptors.append(question)
            order = Order(
                kind=self._task.kind,
                cpu_s=math.ceil(limits.cpu_s),
                memory_bytes=limits.memory_mib << 20,
                skip=self._task.skip,
            )
            self._zygote.send(order, descriptors)

    def _await_start(self) -> None:
        self._status.settimeout(_START_S)
        try:
            message, descriptors, _, _ = socket.recv_fds(self._status, _STATUS_BYTES, 1)
        except TimeoutError:
            raise ZygoteGone(f"the zygote did not fork within {_START_S:g} s") from None
        except ConnectionResetError:
            message, descriptors = b"", []
        if not message:
            raise ZygoteGone(self._zygote.describe_end())
        report = Report.decode(message)
        if report.kind is ReportKind.NOT_STARTED:
            raise NotStarted(f"the zygote cannot fork: {os.strerror(report.value)}")
        self._pid = report.value
        self._pidfd = descriptors[0]
        self._open.callback(os.close, self._pidfd)
        self._status.settimeout(None)

    def _watch(self, deadline: float) -> bool:
        """Take in what happens next; False when the job is over."""
        if self._end is not None or self._abandoned is not None:
            return False
        if self._killed_at is not None:
            deadline = self._killed_at + _REAP_S
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0 and self._killed_at is None:
            most_s = (_MOST_WALL - 1) * self._task.limits.wall_s
            remaining_s += min(self._waited_s(), most_s)
        if remaining_s > 0:
            for descriptor, _ in self._poll.poll(math.ceil(remaining_s * 1000)):
                if descriptor == self._result:
                    self._read_result()
                elif descriptor == self._request:
                    self._send()
                else:
                    self._read_status()
        elif self._killed_at is None:
            self._timed_out = True
            self._kill()
        else:
            self._abandoned = "the zygote did not report its end"
            self._zygote.kill()  # it is stopped or broken: let the next job start another one
        return True

    def _waited_s(self) -> float:
        """Seconds that the child was ready to run and had no processor; 0 where the kernel does not tell."""
        try:
            return int(Path(f"/proc/{self._pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0

    def _read_status(self) -> None:
        try:
            message = self._status.recv(_STATUS_BYTES)
        except ConnectionResetError:
            message = b""
        if message:
            self._end = Report.decode(message)
            while self._read_result():  # what the dead child left in the pipe
                pass
        else:
            self._kill()
            if self._pidfd is not None:
                select.select([self._pidfd], [], [], _REAP_S)
            self._abandoned = self._zygote.describe_end()

    def _read_result(self) -> bool:
        """Read once; False when there is nothing now, or ever again."""
        if not self._is_reading:
            return False
        try:
            data = os.read(self._result, _READ_BYTES)
        except BlockingIOError:
            return False
        try:
            self._digest(data)
        except WireError as error:
            self._fault = str(error)
        if self._flooded or self._fault is not None:
            self._kill()
        if not data or self._killed_at is not None:
            self._is_reading = False
            self._poll.unregister(self._result)
        return self._is_reading

    def _digest(self, data: bytes) -> None:
        missing = PREAMBLE_BYTES - len(self._preamble)
        if missing:
            self._preamble += data[:missing]
            data = data[missing:]
        if data == EMPTY_MESSAGE and not self._reader.pending and self._last_frame is None:
            self._keep(b"")  # what a proof run hears on nearly every bar
            return
        self._reader.feed(data)
        while (frame := self._reader.next_frame()) is not None:
            if self._last_frame is not None:
                raise WireError("a frame after the result")
            if frame.kind is FrameKind.MESSAGE:
                self._keep(frame.payload)
            else:
                self._last_frame = frame
        self._flooded |= self._reader.flooded
        if self._last_frame is not None and self._reader.pending:
            raise WireError("bytes after the result")

    def _keep(self, message: bytes) -> None:
        if self._task.kind is not OrderKind.CONVERSE:
            raise WireError("a message in a job that is no conversation")
        self._messages.append(message)
        self._unread_bytes += len(message) + FRAME_OVERHEAD  # an empty message takes memory too
        self._flooded |= self._unread_bytes > self._task.limits.result_bytes + FRAME_OVERHEAD

    def _check_preamble(self) -> None:
        """A child says which layers hold it before anything of the job runs, so its word for that can be taken."""
        if len(self._preamble) < PREAMBLE_BYTES:
            if self._abandoned is None:
                raise NotStarted("the child ended before it was locked down")
            return
        missing = layers_of(decode_preamble(bytes(self._preamble)) & self._task.required)
        if missing:
            raise CageUnavailable(missing[0].value, "a child could not put it up")

    def _send(self) -> None:
        """Write what fits; a child that no longer listens shows in its end."""
        if self._request is None:
            self._unsent.clear()
            return
        try:
            while self._unsent:
                del self._unsent[: os.write(self._request, self._unsent)]
        except BlockingIOError:
            self._poll.register(self._request, select.POLLOUT)
            self._is_blocked = True
            return
        except BrokenPipeError:
            self._unsent.clear()
        self._forget_blocked(self._request)

    def _forget_blocked(self, request: int) -> None:
        if self._is_blocked:
            self._poll.unregister(request)
            self._is_blocked = False

    def _hang_up(self) -> None:
        if self._request is not None:
            self._forget_blocked(self._request)
            os.close(self._request)
            self._request = None

    def _kill(self) -> None:
        if self._pidfd is not None and self._killed_at is None:
            self._killed_at = time.monotonic()
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
