"""Raw system calls through ctypes, for what Python's own modules do not offer. Linux on x86-64 and aarch64.

Only the zygote and its children import this: the host process needs none of it.
"""

from __future__ import annotations

import ctypes
import os
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What differs between the processors that the cage knows."""

    machine: str
    """As ``platform.machine()`` spells it."""
    audit: int
    """AUDIT_ARCH_* of <linux/audit.h>: how seccomp tells a native call from a compatibility one (``int 0x80``)."""
    x32_bit: int | None
    """The bit that marks a call of the x32 interface, which shares x86-64's audit value; None where there is none."""
    numbers: Mapping[str, int]
    """System call numbers by name, from the kernel's unistd tables: those that the cage makes, those that it allows, and
    some that it must never allow, for its tests."""


# Numbers from 424 on are the same on every architecture; Linux stopped keeping separate tables there.
_COMMON = {
    "clone3": 435,
    "close_range": 436,
    "landlock_create_ruleset": 444,
    "landlock_restrict_self": 446,
}

X86_64 = Architecture(
    machine="x86_64",
    audit=0xC000003E,
    x32_bit=0x40000000,
    numbers=_COMMON
    | {
        "read": 0,
        "write": 1,
        "close": 3,
        "mmap": 9,
        "mprotect": 10,
        "munmap": 11,
        "brk": 12,
        "rt_sigaction": 13,
        "rt_sigprocmask": 14,
        "writev": 20,
        "sched_yield": 24,
        "mremap": 25,
        "madvise": 28,
        "nanosleep": 35,
        "getpid": 39,
        "socket": 41,
        "clone": 56,
        "fork": 57,
        "execve": 59,
        "exit": 60,
        "gettimeofday": 96,
        "ptrace": 101,
        "capget": 125,
        "capset": 126,
        "pivot_root": 155,
        "prctl": 157,
        "mount": 165,
        "umount2": 166,
        "gettid": 186,
        "time": 201,
        "futex": 202,
        "restart_syscall": 219,
        "clock_gettime": 228,
        "clock_getres": 229,
        "clock_nanosleep": 230,
        "exit_group": 231,
        "tgkill": 234,
        "openat": 257,
        "unshare": 272,
        "process_vm_readv": 310,
        "memfd_create": 319,
    },
)

AARCH64 = Architecture(
    machine="aarch64",
    audit=0xC00000B7,
    x32_bit=None,
    numbers=_COMMON
    | {
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "openat": 56,
        "close": 57,
        "read": 63,
        "write": 64,
        "writev": 66,
        "capget": 90,
        "capset": 91,
        "exit": 93,
        "exit_group": 94,
        "unshare": 97,
        "futex": 98,
        "nanosleep": 101,
        "clock_gettime": 113,
        "clock_getres": 114,
        "clock_nanosleep": 115,
        "ptrace": 117,
        "sched_yield": 124,
        "restart_syscall": 128,
        "tgkill": 131,
        "rt_sigaction": 134,
        "rt_sigprocmask": 135,
        "prctl": 167,
        "gettimeofday": 169,
        "getpid": 172,
        "gettid": 178,
        "socket": 198,
        "brk": 214,
        "munmap": 215,
        "mremap": 216,
        "clone": 220,
        "execve": 221,
        "mmap": 222,
        "mprotect": 226,
        "madvise": 233,
        "process_vm_readv": 270,
        "memfd_create": 279,
    },
)

ARCHITECTURES = {architecture.machine: architecture for architecture in (X86_64, AARCH64)}


def running_architecture() -> Architecture | None:
    """The architecture of this process; None when the cage has no table for it (a 32-bit Python counts as unknown)."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    return ARCHITECTURES.get(platform.machine())


# Fixed argument types: without them ctypes passes Python ints as 32-bit C ints and cuts pointers in half.
_libc_syscall = ctypes.CDLL(None, use_errno=True).syscall
_libc_syscall.restype = ctypes.c_long
_libc_syscall.argtypes = [ctypes.c_long] * 7


def raw_call(number: int, *arguments: int) -> int:
    """Make system call ``number``; missing arguments are 0.

    Raises:
        OSError: as the kernel answers.
    """
    result: int = _libc_syscall(number, *arguments, *(0,) * (6 - len(arguments)))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def call(name: str, *arguments: int) -> int:
    """Make the system call called ``name`` on this architecture.

    Raises:
        OSError: as the kernel answers; ENOSYS when the architecture or the call is not in our tables.
    """
    architecture = running_architecture()
    number = (architecture.numbers if architecture else _COMMON).get(name)
    if number is None:
        raise OSError(38, f"no number is known for {name} on {platform.machine()}")
    return raw_call(number, *arguments)


# prctl(2) operations, <linux/prctl.h>.
PR_SET_PDEATHSIG = 1
PR_GET_PDEATHSIG = 2
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39
PR_SET_MDWE = 65
PR_GET_MDWE = 66


def prctl(operation: int, *arguments: int) -> int:
    """Change or ask for an attribute of this process, through libc's wrapper, which exists on every architecture.

    Raises:
        OSError: as the kernel answers.
    """
    result: int = _libc_prctl(operation, *arguments, *(0,) * (4 - len(arguments)))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_libc_prctl = ctypes.CDLL(None, use_errno=True).prctl
_libc_prctl.restype = ctypes.c_int
_libc_prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
