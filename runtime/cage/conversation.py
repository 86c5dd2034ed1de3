"""A conversation: a longer-lived caged child that is asked one thing at a time.

The child has two descriptors, one to read requests from and one to answer on, and nothing else; all other layers are
those of a job. It only ever knows what it has been sent, which is what a host needs that must not show the future.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from runtime.cage.job import Job
    from runtime.cage.outcome import CageLimits, CageOutcome


class Conversation:
    """The host's end. Used by one thread; a context manager that ends the child.

    The limits are those of a job, with two differences that a long life asks for: ``wall_s`` bounds each answer, not
    the whole, and ``result_bytes`` bounds each message and what is unread. ``cpu_s`` is for the whole life.
    """

    def __init__(self, job: Job, limits: CageLimits) -> None:
        """Take over a child that is locked down. Use ``Cage.converse``."""
        self._job = job
        self._limits = limits
        self._outcome: CageOutcome | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The child's process id, for measuring; it may belong to somebody else once the child has ended."""
        return self._job.pid

    @property
    def limits(self) -> CageLimits:
        """What the child may use."""
        return self._limits

    @property
    def is_silent(self) -> bool:
        """Whether the child lives and has said nothing that was not received."""
        return self._outcome is None and self._job.is_silent

    def begin(self) -> None:
        """Count wall time from now: the child has only waited until here."""
        self._job.begin()

    def send(self, message: bytes) -> None:
        """Send one message. Never blocks, and never fails: that nobody listens any more shows in ``receive``."""
        if self._outcome is None:
            self._job.post(message)

    def receive(self) -> bytes | CageOutcome:
        """The child's next message, or how it ended instead; after the end, that same outcome again."""
        if self._outcome is None:
            message = self._job.next_message(deadline=self._deadline())
            if message is not None:
                return message
            self._outcome = self._job.finish(deadline=self._deadline())
        return self._outcome

    def finish(self) -> CageOutcome:
        """Hang up, so that the child's ``receive`` gives None, and wait for its end; unread messages are dropped."""
        if self._outcome is None:
            self._outcome = self._job.finish(deadline=self._deadline())
        return self._outcome

    def stop(self) -> CageOutcome:
        """Kill the child because enough was heard, and say how it ended; after the end, how it had ended."""
        if self._outcome is None:
            self._outcome = self._job.stop()
        return self._outcome

    def close(self) -> None:
        """Kill the child if it lives. May be called twice."""
        self._job.close()

    def _deadline(self) -> float:
        return time.monotonic() + self._limits.wall_s
