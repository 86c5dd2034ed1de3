"""What the self-test tries inside a caged child: real attempts at what each layer forbids.

An attempt that is stopped the way its layer stops it answers ``held: ...``; one that gets through, or fails for another
reason (which proves nothing), answers ``open: ...``. Attempts at what seccomp forbids do not come back at all.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cage.landlock import running_abi
from runtime.cage.launch import ENVIRONMENT
from runtime.cage.seccomp import RESULT_FD
from runtime.cage.syscalls import (
    PR_GET_DUMPABLE,
    PR_GET_MDWE,
    PR_GET_NO_NEW_PRIVS,
    PR_GET_PDEATHSIG,
    call,
    prctl,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DESCRIPTORS_TO_TRY = 4096
_PTRACE_ATTACH = 16
_ABI_WITH_TCP = 4
_ABI_WITH_SIGNALS = 6
_DISCARD = ("127.0.0.1", 9)


def run(job: bytes) -> bytes:
    """Make the attempt that ``job`` names."""
    held, what = _ATTEMPTS[job.decode("ascii")]()
    return f"{'held' if held else 'open'}: {what}".encode()


def _fails(code: int, what: str, attempt: Callable[[], object]) -> tuple[bool, str]:
    """Whether ``attempt`` is stopped by exactly the error that its layer gives."""
    try:
        attempt()
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, str(error))
        return error.errno == code, f"{what}: {name}"
    return False, f"{what}: got through"


def _read_file() -> tuple[bool, str]:
    return _fails(errno.EACCES, "reading /dev/null", lambda: os.open("/dev/null", os.O_RDONLY))


def _write_file() -> tuple[bool, str]:
    return _fails(errno.EACCES, "writing /dev/null", lambda: os.open("/dev/null", os.O_WRONLY))


def _list_directory() -> tuple[bool, str]:
    return _fails(errno.EACCES, "listing /", lambda: list(Path("/").iterdir()))


def _connect_tcp() -> tuple[bool, str]:
    if running_abi() < _ABI_WITH_TCP:
        return True, "TCP: left to seccomp by this kernel's Landlock"
    return _fails(errno.EACCES, "TCP to 127.0.0.1", lambda: socket.create_connection(_DISCARD, timeout=1))


def _signal_parent() -> tuple[bool, str]:
    if running_abi() < _ABI_WITH_SIGNALS:
        return True, "signals: left to seccomp by this kernel's Landlock"
    return _fails(errno.EPERM, "signal to the parent", lambda: os.kill(os.getppid(), 0))


def _send_udp() -> tuple[bool, str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"probe", _DISCARD)
    return False, "UDP to 127.0.0.1: sent"


def _fork() -> tuple[bool, str]:
    if os.fork() == 0:
        os._exit(0)
    return False, "fork: got through"


def _execute() -> tuple[bool, str]:
    with contextlib.suppress(OSError):
        os.execv("/nonexistent", ["probe"])  # noqa: S606 - an attempt that must fail
    return False, "exec: the kernel looked for the program"


def _map_executable() -> tuple[bool, str]:
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    return False, "executable memory: got it"


def _make_executable() -> tuple[bool, str]:
    if prctl(PR_GET_MDWE) == 0:
        return False, "the kernel does not refuse to make memory executable"
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    rights = mmap.PROT_READ | mmap.PROT_EXEC
    return _fails(errno.EACCES, "making memory executable", lambda: call("mprotect", address, mmap.PAGESIZE, rights))


def _create_memfd() -> tuple[bool, str]:
    os.memfd_create("probe")
    return False, "memfd: got it"


def _trace_parent() -> tuple[bool, str]:
    with contextlib.suppress(OSError):
        call("ptrace", _PTRACE_ATTACH, os.getppid())
    return False, "ptrace: the kernel considered it"


def _read_parent_memory() -> tuple[bool, str]:
    with contextlib.suppress(OSError):
        call("process_vm_readv", os.getppid())
    return False, "process_vm_readv: the kernel considered it"


def _count_descriptors() -> tuple[bool, str]:
    found = []
    for descriptor in range(_DESCRIPTORS_TO_TRY):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            found.append(descriptor)
    return found == [RESULT_FD], f"open descriptors: {found}"


def _open_pipe() -> tuple[bool, str]:
    return _fails(errno.EMFILE, "a new pipe", os.pipe)


def _show_uid() -> tuple[bool, str]:
    uids = os.getresuid()
    return 0 not in uids, f"uid {uids[0]}"


def _show_capabilities() -> tuple[bool, str]:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    call("capget", ctypes.addressof(header), ctypes.addressof(sets))
    return not any(sets), "no capability" if not any(sets) else f"capabilities {[hex(part) for part in sets]}"


def _show_parent_death() -> tuple[bool, str]:
    number = ctypes.c_int()
    prctl(PR_GET_PDEATHSIG, ctypes.addressof(number))
    return number.value == signal.SIGKILL, f"signal {number.value} when the zygote ends"


def _show_no_new_privs() -> tuple[bool, str]:
    value = prctl(PR_GET_NO_NEW_PRIVS)
    return value == 1, f"no_new_privs is {value}"


def _show_dumpable() -> tuple[bool, str]:
    value = prctl(PR_GET_DUMPABLE)
    return value == 0, f"dumpable is {value}"


def _show_environment() -> tuple[bool, str]:
    return os.environ == ENVIRONMENT, f"environment: {json.dumps(sorted(os.environ))}"


def _look_around() -> tuple[bool, str]:
    names = list(Path("/").iterdir())
    if names:
        return False, f"/ holds {len(names)} entries"
    held, what = _fails(errno.ENETUNREACH, "/ is empty; UDP to 127.0.0.1", _send_udp)
    return held, what


def _grow() -> tuple[bool, str]:
    bytearray(64 << 20)
    return False, "64 MiB: got them"


def _show_cpu_limit() -> tuple[bool, str]:
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    return (soft, hard) == (1, 2), f"CPU limit {soft} s, then {hard} s"


def _spin() -> tuple[bool, str]:
    end = time.process_time() + 5
    while time.process_time() < end:
        pass
    return False, "5 s of CPU: got them"


def _sleep() -> tuple[bool, str]:
    time.sleep(5)
    return False, "5 s of sleep: got them"


_ATTEMPTS: Mapping[str, Callable[[], tuple[bool, str]]] = {
    attempt.__name__.removeprefix("_"): attempt
    for attempt in (
        _read_file,
        _write_file,
        _list_directory,
        _connect_tcp,
        _signal_parent,
        _send_udp,
        _fork,
        _execute,
        _map_executable,
        _make_executable,
        _create_memfd,
        _trace_parent,
        _read_parent_memory,
        _count_descriptors,
        _open_pipe,
        _show_uid,
        _show_capabilities,
        _show_parent_death,
        _show_no_new_privs,
        _show_dumpable,
        _show_environment,
        _look_around,
        _grow,
        _show_cpu_limit,
        _spin,
        _sleep,
    )
}
