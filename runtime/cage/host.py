"""The cage as its users see it: open it with an entry, run jobs in it, close it."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TypeVar

from runtime.cage.conversation import Conversation
from runtime.cage.faults import CageClosed, CageError
from runtime.cage.job import Job, Task
from runtime.cage.launch import NotStarted, ZygoteGone, ZygoteProcess, ZygoteSpec, start_zygote
from runtime.cage.layers import REQUIRED, CageMode, mask_of
from runtime.cage.outcome import CageLimits, CageOutcome
from runtime.cage.selftest import require_full_cage
from runtime.cage.wire import OrderKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_T = TypeVar("_T")

# A zygote that was killed, or a machine short of processes, is worth another try; three failures in a row are not luck.
_ATTEMPTS = 3
_PAUSE_S = 0.2


class Cage:
    """A zygote with one entry loaded, which runs each job in a locked-down child of its own.

    Thread-safe: several ``run`` at once are several children at once, and none can tell that the others exist. A
    zygote that dies is replaced by the next ``run``. Belongs to the process that opened it; close it, or use ``with``.
    """

    def __init__(self, spec: ZygoteSpec) -> None:
        """Start the zygote. Use ``open_cage``, which also makes sure that the cage holds."""
        self._spec = spec
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._zygote: ZygoteProcess | None = None
        self._standby: Conversation | None = None
        self._is_closed = False
        self._ready_zygote()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def run(self, job: bytes, limits: CageLimits | None = None) -> CageOutcome:
        """Call the entry function with ``job`` in a fresh caged child, and say how that ended.

        Args:
            job: passed to the entry function as it is.
            limits: what the child may use; the defaults of ``CageLimits`` when None.

        Raises:
            CageClosed: this cage is closed.
            CageUnavailable: a required layer does not hold; the job was not run.
            CageError: the machine could not start the job, several times over; the job was not run.
        """
        return self._run(job, limits or CageLimits())

    def converse(self, job: bytes, limits: CageLimits | None = None) -> Conversation:
        """Call ``converse(job, line)`` of the entry's module in a fresh caged child, and talk to it.

        Args:
            job: passed to it as it is; ``line`` is a ``runtime.cage.line.Line``.
            limits: what the child may use; see ``Conversation`` for what they mean there.

        Raises:
            CageClosed, CageUnavailable, CageError: as ``run``.
        """
        limits = limits or CageLimits()
        task = self._task(job, limits, OrderKind.CONVERSE)

        def start(zygote: ZygoteProcess) -> Conversation:
            with ExitStack() as stack:
                conversing = stack.enter_context(Job(zygote, task))
                conversing.await_lockdown()
                stack.pop_all()
            return Conversation(conversing, limits)

        return self._attempt(start)

    def stand_by(self, limits: CageLimits | None = None) -> None:
        """Start a child for the next ``converse_soon``, unless one waits already. Best effort: a fault shows there.

        For the moment when there is nothing to do but to wait for another child: forking and locking down then cost
        nobody any time.
        """
        if not self._needs_standby():
            return
        with contextlib.suppress(
            CageError, OSError
        ):  # OSError: out of descriptors or memory; nobody waits for this child
            started = self.converse(b"", limits)
            if not self._keep(started):
                started.close()

    def _needs_standby(self) -> bool:
        with self._lock:
            return self._standby is None and not self._is_closed

    def _keep(self, started: Conversation) -> bool:
        with self._lock:
            if self._standby is not None or self._is_closed:
                return False
            self._standby = started
            return True

    def _take_standby(self) -> Conversation | None:
        if os.getpid() != self._owner:  # a fork of the host has no business with the host's children
            return None
        with self._lock:
            waiting, self._standby = self._standby, None
        return waiting

    def converse_soon(self, job: bytes, limits: CageLimits | None = None) -> Conversation:
        """``converse``, with the child that ``stand_by`` has started where there is one.

        Such a child was started with b"" and is sent ``job`` as its first message; any other has it from the start, and has
        then no reason to prepare for one.

        Raises:
            CageClosed, CageUnavailable, CageError: as ``run``.
        """
        waiting = self._take_standby()
        if waiting is not None:
            if waiting.limits == (limits or CageLimits()) and waiting.is_silent:
                waiting.begin()
                waiting.send(job)
                return waiting
            waiting.close()
        return self.converse(job, limits)

    def close(self) -> None:
        """End the zygote and every child in it. Jobs that run in other threads end as killed. May be called twice."""
        with self._lock:
            self._is_closed = True
            zygote, self._zygote = self._zygote, None
        waiting = self._take_standby()
        if waiting is not None:
            waiting.close()
        if zygote is not None:
            self._stop_when_forgotten()

    def _run(self, job: bytes, limits: CageLimits, *, skip: int = 0) -> CageOutcome:
        task = self._task(job, limits, OrderKind.RUN, skip=skip)

        def run_once(zygote: ZygoteProcess) -> CageOutcome:
            with Job(zygote, task) as running:
                return running.finish()

        return self._attempt(run_once)

    def _task(self, job: bytes, limits: CageLimits, kind: OrderKind, *, skip: int = 0) -> Task:
        skip |= self._spec.skip
        required = mask_of(REQUIRED[self._spec.mode]) & ~skip
        return Task(content=job, limits=limits, required=required, kind=kind, skip=skip)

    def _attempt(self, start: Callable[[ZygoteProcess], _T]) -> _T:
        """Try a few times what may fail before anything untrusted has run."""
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(attempt * _PAUSE_S)
            zygote = self._ready_zygote()
            try:
                return start(zygote)
            except ZygoteGone as error:
                reason = str(error)
                self._discard(zygote)
            except NotStarted as error:
                reason = str(error)
        raise CageError(f"a job of {self._spec.entry} could not be started in {_ATTEMPTS} attempts: {reason}")

    def _ready_zygote(self) -> ZygoteProcess:
        with self._lock:
            if self._is_closed or os.getpid() != self._owner:
                raise CageClosed(f"the cage for {self._spec.entry} is closed, or belongs to another process")
            if self._zygote is None:
                self._zygote = start_zygote(self._spec)
                self._stop_when_forgotten = weakref.finalize(self, self._zygote.stop)
            return self._zygote

    def _discard(self, zygote: ZygoteProcess) -> None:
        with self._lock:
            if self._zygote is zygote:
                self._zygote = None
                self._stop_when_forgotten.detach()
        zygote.stop()


def open_cage(entry: str, prepare: bytes = b"", *, mode: CageMode = CageMode.FULL) -> Cage:
    """A cage whose zygote has imported ``entry`` and called its module's ``prepare``.

    >>> with open_cage("runtime.cage.probes:run") as cage:
    ...     print(cage.run(b"fork").reason)
    made a system call that the cage forbids

    Args:
        entry: ``package.module:function``; the function takes the job's bytes and returns the result's. The module is
            imported in the zygote only, never in this process. Whatever ``prepare`` leaves in memory can be read by
            every candidate.
        prepare: passed to ``prepare(blob)`` of that module, where it has one.
        mode: ``FULL`` refuses to open when a required layer does not hold.

    Raises:
        CageUnavailable: a required layer is missing, or let a probe through.
        EntryFailed: the entry cannot be loaded.
        CageError: the zygote could not be started.
    """
    if mode is CageMode.FULL:
        require_full_cage()
    return Cage(ZygoteSpec(entry=entry, blob=prepare, mode=mode))
