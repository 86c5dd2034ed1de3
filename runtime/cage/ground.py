"""What the zygote does once, before its first fork, and every child inherits.

Part of it only protects the zygote from a bad start (no second thread, no shared writable memory), part of it is a
layer of its own: an environment that was never filled, no new privileges, no core dumps, a root directory with nothing
in it and a network with nobody on it. Doing it here instead of in each child costs a night nothing: making and tearing
down a network namespace per candidate takes longer than running many of them.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import sys
from importlib.machinery import BuiltinImporter
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cage.layers import Layer
from runtime.cage.lockdown import FIRST_FREE_FD
from runtime.cage.syscalls import (
    PR_SET_DUMPABLE,
    PR_SET_MDWE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    call,
    prctl,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_STACK_BYTES = 8 << 20
_MDWE_REFUSE_EXEC_GAIN = 1

# <linux/sched.h>. No CLONE_NEWPID: it only takes effect for later children, and a caged child can have none.
_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x40000000,
)
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000
_MNT_DETACH = 2

# Codecs and helpers that Python imports on first use; in a child that use would end in a forbidden system call.
_LATE_MODULES = (
    "_strptime",
    "encodings.ascii",
    "encodings.cp1252",
    "encodings.cp437",
    "encodings.idna",
    "encodings.latin_1",
    "encodings.punycode",
    "encodings.raw_unicode_escape",
    "encodings.unicode_escape",
    "encodings.utf_16",
    "encodings.utf_16_be",
    "encodings.utf_16_le",
    "encodings.utf_32",
    "encodings.utf_8_sig",
    "stringprep",
    "unicodedata",
)


class UnfitZygoteError(RuntimeError):
    """The entry left the zygote in a state that no child may inherit."""


def follow_host(host_pid: int) -> None:
    """End this process with its host, and only then.

    PDEATHSIG fires when the parent *thread* ends, and a cage may well be opened from a worker thread that does not live
    as long as the host. So the signal is one that we handle: a look at who our parent is tells a dead host from a
    finished thread. While serving, the host's pidfd and the control socket say the same without a signal; this covers
    the seconds of importing before that.
    """

    def check_host(_signal: int, _frame: FrameType | None) -> None:
        if os.getppid() != host_pid:
            os._exit(0)

    signal.signal(signal.SIGTERM, check_host)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    check_host(signal.SIGTERM, None)


def adopt_control(descriptor: int) -> socket.socket:
    """The control socket on a high number, with every low one taken.

    Whatever is opened or received from here on gets a number above the few fixed ones, so a child can put its pipes
    there without looking.
    """
    control = socket.socket(fileno=fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for low in range(FIRST_FREE_FD):
        if low != null:
            os.dup2(null, low, inheritable=False)
    return control


def preload_late_modules() -> None:
    """Import what Python would import on first use, then make any later import fail without touching a file."""
    for name in _LATE_MODULES:
        __import__(name)
    sys.path.clear()
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [BuiltinImporter]


def check_fitness() -> None:
    """Refuse a zygote whose children could not be safe.

    Raises:
        UnfitZygoteError: it has a second thread, or memory that is shared and writable or writable and executable.
    """
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    if threads != 1:
        raise UnfitZygoteError(f"the entry left {threads} threads where a fork needs one: it copies locks, not threads")
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        rights = line.split()[1]
        if "w" in rights and ("x" in rights or "s" in rights):
            raise UnfitZygoteError(f"the entry left memory that children could share or execute: {line}")


def harden(*, skip: int) -> int:
    """Put up every layer that fork hands down.

    Args:
        skip: mask of layers to leave out, for tests of single layers.

    Returns:
        The mask of the layers that should be up and are not.
    """
    steps: dict[Layer, Callable[[], object]] = {
        Layer.NAMESPACES: _leave_the_world,
        Layer.NO_NEW_PRIVS: lambda: prctl(PR_SET_NO_NEW_PRIVS, 1),
        Layer.DUMPABLE: lambda: prctl(PR_SET_DUMPABLE, 0),
        Layer.WRITE_XOR_EXECUTE: lambda: prctl(PR_SET_MDWE, _MDWE_REFUSE_EXEC_GAIN),
    }
    _volunteer_for_the_oom_killer()
    _limit_for_good()
    missing = 0
    for layer, step in steps.items():
        if not skip & layer.bit:
            try:
                step()
            except OSError:
                missing |= layer.bit
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # entering a user namespace is a change of credentials and disarms it
    return missing


def _volunteer_for_the_oom_killer() -> None:
    """When the machine itself runs out of memory, a candidate goes before the host or a database."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return  # a courtesy to the machine, not a layer


def _limit_for_good() -> None:
    for name in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        resource.setrlimit(name, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    stack = _STACK_BYTES if hard == resource.RLIM_INFINITY else min(hard, _STACK_BYTES)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))


def _leave_the_world() -> None:
    """Enter namespaces of our own: an empty read-only root, a network without interfaces, no shared memory segments.

    Root does it directly; anybody else needs a user namespace, which many systems refuse.
    """
    flags = _CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    call("unshare", flags if os.geteuid() == 0 else flags | _CLONE_NEWUSER)
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
    # Any directory will do as the place of the new root; /proc is one that exists and that we need no longer.
    _mount("none", "/proc", "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "size=4k,nr_inodes=1,mode=555")
    os.chdir("/proc")
    here = ctypes.create_string_buffer(b".")
    call("pivot_root", ctypes.addressof(here), ctypes.addressof(here))
    call("umount2", ctypes.addressof(here), _MNT_DETACH)
    os.chdir("/")


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None) -> None:
    texts = [text if text is None else ctypes.create_string_buffer(text.encode()) for text in (source, target, kind)]
    data = None if options is None else ctypes.create_string_buffer(options.encode())
    addresses = [0 if text is None else ctypes.addressof(text) for text in texts]
    call("mount", *addresses, flags, 0 if data is None else ctypes.addressof(data))
