"""Starting a zygote: a new interpreter, by exec, with nothing of the host in it.

The interpreter runs with ``-P -s -B`` instead of ``-I``. That is isolated mode without ``-E``: isolated mode ignores
*every* ``PYTHON*`` variable, and with it the one that fixes string hashes. Since the environment is a constant of ours,
there is nothing to be isolated from.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cage.faults import CageError, EntryFailed
from runtime.cage.wire import READY, Order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.cage.layers import CageMode

ENVIRONMENT: Mapping[str, str] = {
    # String hashes, and with them the order of sets, are the same in every child of every night.
    "PYTHONHASHSEED": "0",
    # A second thread would make fork unsafe and user namespaces impossible; each BLAS reads its own variable.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}
"""The whole environment of a zygote: nothing of the host's own."""

_BOOTSTRAP = """
import sys
roots = [root for root in sys.argv[3:] if root not in sys.path]
first_site = next((i for i, path in enumerate(sys.path) if path.endswith("-packages")), len(sys.path))
sys.path[first_site:first_site] = roots  # before any distribution of the same name, after the standard library
from runtime.cage.zygote import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""

# Importing numpy and TA-Lib takes up to 3 s on a busy machine; a cold disk and eight zygotes at once are allowed for.
_START_S = 120.0
# A zygote that is told to end kills its children first; one that does not answer is killed, and they with it.
_STOP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZygoteSpec:
    """What a zygote is started with; kept, so that a dead one can be replaced."""

    entry: str
    """``package.module:function``."""
    blob: bytes
    """Passed to the module's ``prepare``, if it has one."""
    mode: CageMode
    skip: int = 0
    """Mask of layers to leave out. Only the self-test and the tests of single layers set it."""


class NotStarted(Exception):  # noqa: N818 - a fact that the cage acts on, never raised to a caller
    """Nothing of a job has run, so it may be tried again; the message says why."""


class ZygoteGone(NotStarted):
    """...because the zygote ended, or no longer answers. Try again with another one."""


class ZygoteProcess:
    """One running zygote, from the host's side. Orders may be sent from any thread."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._told_to_end = False
        self._owner = os.getpid()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, order: Order, descriptors: list[int]) -> None:
        """Place one order with its descriptors, which the caller may close afterwards.

        Raises:
            ZygoteGone: nobody listens.
        """
        try:
            socket.send_fds(self._control, [order.encode()], descriptors)
        except OSError as error:
            raise ZygoteGone(str(error)) from error

    def describe_end(self) -> str:
        """How it ended, for people."""
        if self._told_to_end:
            return "its zygote was ended"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        code = self._process.returncode
        if code is None:
            return "the zygote does not answer"
        return f"the zygote ended by signal {-code}" if code < 0 else f"the zygote ended with status {code}"

    def kill(self) -> None:
        """End it at once, if it has not ended; ``stop`` is still to be called."""
        self._process.kill()

    def stop(self) -> None:
        """End it and all its children, and leave no descriptor behind. May be called twice."""
        if os.getpid() != self._owner:  # in a fork of the host, whose exit must not end the host's zygote
            self._control.close()
            return
        self._told_to_end = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start_zygote(spec: ZygoteSpec) -> ZygoteProcess:
    """Start a zygote and wait until it has loaded its entry.

    Raises:
        EntryFailed: the entry cannot be imported, or its ``prepare`` raised.
        CageError: the process could not be started, or did not get ready in time.
    """
    package = spec.entry.partition(":")[0].partition(".")[0]
    roots = {_root_of("runtime"), _root_of(package)}
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        command = [sys.executable, "-P", "-s", "-B", "-c", _BOOTSTRAP, str(its.fileno()), str(os.getpid())]
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own arguments
                [*command, *sorted(roots)],
                env=dict(ENVIRONMENT),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,  # Ctrl-C in a terminal is for the host, which then ends the zygote
            )
        except OSError as error:
            ours.close()
            raise CageError(f"{sys.executable} cannot be started as a zygote: {error}") from error
    zygote = ZygoteProcess(process, ours)
    try:
        _introduce(ours, spec, _origin_of(package))
        _await_ready(ours, zygote, spec)
    except BaseException:
        zygote.stop()
        raise
    return zygote


def _introduce(control: socket.socket, spec: ZygoteSpec, origin: str | None) -> None:
    settings = {"entry": spec.entry, "origin": origin, "mode": spec.mode.value, "skip": spec.skip}
    blob = hold_in_memory(spec.blob)
    try:
        socket.send_fds(control, [json.dumps(settings).encode()], [blob])
    except OSError as error:
        raise CageError(f"the zygote did not start: {error}") from error
    finally:
        os.close(blob)


def _await_ready(control: socket.socket, zygote: ZygoteProcess, spec: ZygoteSpec) -> None:
    control.settimeout(_START_S)
    try:
        answer = control.recv(1 << 16)
    except TimeoutError:
        raise CageError(f"the zygote for {spec.entry} was not ready after {_START_S:g} s") from None
    except OSError as error:
        raise CageError(f"the zygote for {spec.entry} did not start: {error}") from error
    control.settimeout(None)
    if answer == READY:
        return
    if not answer:
        raise CageError(f"the zygote for {spec.entry} did not start: {zygote.describe_end()}")
    fault = json.loads(answer)
    raise EntryFailed(f"the cage entry {spec.entry!r} cannot be loaded: {fault['type']}: {fault['message']}")


def hold_in_memory(data: bytes) -> int:
    """A descriptor of an unnamed file that holds ``data``, at offset 0. The caller owns it."""
    descriptor = os.memfd_create("trigate")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _origin_of(package: str) -> str | None:
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise EntryFailed(f"the cage entry names the package {package!r}, and there is none of that name")
    return spec.origin


def _root_of(package: str) -> str:
    """The folder to import ``package`` from, as this process would: it may be an editable install, or no install."""
    origin = _origin_of(package)
    if origin is None:
        raise EntryFailed(f"the cage entry names {package!r}, which is a folder without __init__.py: give it one")
    path = Path(origin)
    return str(path.parents[1] if path.name == "__init__.py" else path.parent)
