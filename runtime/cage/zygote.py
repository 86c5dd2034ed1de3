"""The zygote: a small clean process that loads the entry once and forks a caged child for each job.

It runs only our code and the entry's ``prepare``; a candidate runs in its children alone. It holds no secret (its
environment is a constant, its descriptors are one control socket and the host's pidfd), has no second thread, and ends
when its host does.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import warnings
from typing import NamedTuple

from runtime.cage import ground
from runtime.cage.child import Assignment, Entry, live
from runtime.cage.launch import ENVIRONMENT
from runtime.cage.layers import REQUIRED, CageMode, Layer, mask_of
from runtime.cage.lockdown import Allowance, Lockdown
from runtime.cage.wire import READY, Order, OrderKind, Report, ReportKind, WireError

_MOST_CONTROL_BYTES = 1 << 16
_MOST_DESCRIPTORS = 4
_DESCRIPTORS = {OrderKind.RUN: 3, OrderKind.CONVERSE: 4}


class _Child(NamedTuple):
    pid: int
    pidfd: int
    status: socket.socket


def main(control_fd: int, host_pid: int) -> None:
    """Serve the host on ``control_fd`` until it is gone. Started by ``runtime.cage.launch``."""
    ground.follow_host(host_pid)
    control = ground.adopt_control(control_fd)
    host = os.pidfd_open(host_pid)
    for name in ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"):
        setattr(sys, name, None)  # print and warnings then do nothing at all
    try:
        zygote = _prepare(control, host)
    except BaseException as error:  # noqa: BLE001 - the boundary of the process: the host has to learn why
        control.send(json.dumps({"type": type(error).__name__, "message": str(error)[:4000]}).encode())
        os._exit(1)
    control.send(READY)
    zygote.serve()
    os._exit(0)


def _prepare(control: socket.socket, host: int) -> _Zygote:
    message, descriptors, _, _ = socket.recv_fds(control, _MOST_CONTROL_BYTES, 1)
    settings = json.loads(message)
    with os.fdopen(descriptors[0], "rb") as stream:
        blob = stream.read()
    warnings.simplefilter("ignore")  # nobody would see them, and formatting one reads source files
    module_name, _, function_name = settings["entry"].partition(":")
    module = importlib.import_module(module_name)
    _check_origin(module_name.partition(".")[0], settings["origin"])
    if hasattr(module, "prepare"):
        module.prepare(blob)
    ground.preload_late_modules()
    ground.check_fitness()
    entry = Entry(run=getattr(module, function_name), converse=getattr(module, "converse", None))
    return _Zygote(control, host, entry, mode=CageMode(settings["mode"]), skip=settings["skip"])


def _check_origin(package: str, expected: str | None) -> None:
    """The names of our packages exist on the public index: load the code that the host meant, or none."""
    found = getattr(sys.modules[package].__spec__, "origin", None)
    if found != expected:
        raise ImportError(f"{package} was loaded from {found}, and the host means the one at {expected}")


class _Zygote:
    """The serving half: one loop over the control socket, the host's pidfd and one pidfd per living child."""

    def __init__(self, control: socket.socket, host: int, entry: Entry, *, mode: CageMode, skip: int) -> None:
        self._control = control
        self._host = host
        self._entry = entry
        self._children: dict[int, _Child] = {}
        self._poll = select.poll()
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)  # /proc is gone once we harden
        self._lockdown = Lockdown(os.getpid())
        self._missing = ground.harden(skip=skip) | (0 if os.environ == ENVIRONMENT else Layer.ENVIRONMENT.bit)
        self._required = mask_of(REQUIRED[mode])
        self._skip = skip

    def serve(self) -> None:
        """Fork, reap and report until the host closes its end or dies; then end every child."""
        self._poll.register(self._control, select.POLLIN)
        self._poll.register(self._host, select.POLLIN)
        gc.collect()
        gc.freeze()  # children share the zygote's objects: a collection would touch, and so copy, all of them
        while self._serve_once():
            pass
        for child in self._children.values():
            _kill(child)
            os.waitpid(child.pid, 0)

    def _serve_once(self) -> bool:
        # One event at a time: closing a descriptor may give its number to the next one, and a second event of the same
        # batch would then be taken for news of the wrong child.
        descriptor, _ = self._poll.poll()[0]
        if descriptor == self._host:
            return False
        if descriptor == self._control.fileno():
            return self._take_order()
        if descriptor in self._children:
            self._reap(self._children[descriptor])
        else:
            self._give_up(descriptor)
        return True

    def _take_order(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, _MOST_CONTROL_BYTES, _MOST_DESCRIPTORS)
        if not message:
            return False
        order = Order.decode(message)
        if len(descriptors) != _DESCRIPTORS[order.kind]:
            raise WireError(f"an order with {len(descriptors)} descriptors")
        self._fork(order, descriptors)
        return True

    def _fork(self, order: Order, descriptors: list[int]) -> None:
        job, result, status, *request = descriptors
        assignment = Assignment(
            job=job,
            result=result,
            request=request[0] if request else None,
            allowance=self._allowance(order, os.fstat(job).st_size),
            skip=order.skip | self._skip,
            required=self._required,
            missing=self._missing,
        )
        report, pidfds = self._try_fork(assignment)
        for descriptor in (job, result, *request):
            os.close(descriptor)
        channel = socket.socket(fileno=status)
        _tell(channel, report, pidfds)
        if report.kind is ReportKind.NOT_STARTED:
            channel.close()
            return
        self._children[pidfds[0]] = _Child(report.value, pidfds[0], channel)
        self._poll.register(pidfds[0], select.POLLIN)
        self._poll.register(channel, 0)  # only tells that the host has closed its end

    def _try_fork(self, assignment: Assignment) -> tuple[Report, list[int]]:
        try:
            pid = os.fork()
        except OSError as error:
            return Report(kind=ReportKind.NOT_STARTED, value=error.errno or 0), []
        if pid == 0:
            live(assignment, self._lockdown, self._entry)
        return Report(kind=ReportKind.STARTED, value=pid), [os.pidfd_open(pid)]

    def _allowance(self, order: Order, job_bytes: int) -> Allowance:
        pages = [int(field) for field in os.pread(self._statm, 200, 0).split()]
        page = resource.getpagesize()
        extra = order.memory_bytes + job_bytes
        return Allowance(address_space=pages[0] * page + extra, data=pages[5] * page + extra, cpu_s=order.cpu_s)

    def _reap(self, child: _Child) -> None:
        del self._children[child.pidfd]
        self._poll.unregister(child.pidfd)
        with contextlib.suppress(KeyError):  # the host may have closed its end already
            self._poll.unregister(child.status)
        os.close(child.pidfd)
        _, status, usage = os.wait4(child.pid, 0)
        _tell(child.status, Report(kind=ReportKind.ENDED, value=status, cpu_s=usage.ru_utime + usage.ru_stime), [])
        child.status.close()

    def _give_up(self, channel: int) -> None:
        """The host no longer asks about a job: end it. It is reaped like any other."""
        self._poll.unregister(channel)
        for child in self._children.values():
            if child.status.fileno() == channel:
                _kill(child)


def _kill(child: _Child) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)


def _tell(channel: socket.socket, report: Report, descriptors: list[int]) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the host no longer asks about this job
        socket.send_fds(channel, [report.encode()], descriptors)
