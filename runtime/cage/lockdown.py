"""What a freshly forked child does to itself before it touches a job: one layer after the other, seccomp last.

The zygote has already done, once and for all its children, whatever fork hands down (``runtime.cage.ground``). The
order below is not free:

- the job is read before any of this, and everything but the result pipe is closed first: a child that kept the zygote's
  control socket could order jobs;
- the uid is dropped before PDEATHSIG is armed, because a change of credentials disarms it, and the parent is checked
  after that, because it may have died in between;
- Landlock comes before "no new descriptors": it needs its ruleset descriptor;
- seccomp is last: it forbids everything that the others need.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.cage.landlock import create_denying_ruleset, restrict_self
from runtime.cage.layers import Layer
from runtime.cage.seccomp import READ_REQUESTS, REQUEST_FD, RESULT_FD, RULES, Filter, assemble
from runtime.cage.syscalls import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, call, prctl, running_architecture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOBODY = 65534
"""The uid and gid of a child whose zygote runs as root."""

RULESET_FD = 5
"""Where the zygote keeps its Landlock ruleset, so that closing the rest is one call."""

FIRST_FREE_FD = 10
"""Descriptors below are reserved in the zygote: nothing it receives can collide with the fixed numbers."""

_LAST_FD = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The limits of one child, resolved to what the kernel is told."""

    address_space: int
    """Bytes, what the child starts with included."""
    data: int
    """Bytes of private writable memory, likewise."""
    cpu_s: int
    """Whole CPU seconds until SIGXCPU; SIGKILL follows a second later."""


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class Lockdown:
    """The layers of one zygote, prepared before fork so that a child needs few system calls.

    A layer that cannot be prepared here stays off and is reported by every child; whether that is acceptable is for
    the cage's mode to say, not for this class.
    """

    def __init__(self, zygote_pid: int) -> None:
        self._zygote_pid = zygote_pid
        self._ruleset = _place_ruleset()
        architecture = running_architecture()
        self._filters = (
            None
            if architecture is None
            else {
                False: Filter(assemble(architecture, RULES)),
                True: Filter(assemble(architecture, (READ_REQUESTS, *RULES))),
            }
        )
        self._no_capabilities = (_CapabilityHeader(0x20080522, 0), (ctypes.c_uint32 * 6)())

    def apply(self, allowance: Allowance, *, skip: int, conversing: bool) -> int:
        """Lock the calling process down, for good.

        Args:
            allowance: memory and CPU.
            skip: mask of layers to leave out, for tests of single layers.
            conversing: keep the request descriptor readable.

        Returns:
            The mask of the layers that should be up and are not.
        """
        missing = 0
        for layer, step in self._steps(allowance, conversing=conversing).items():
            if not skip & layer.bit:
                try:
                    step()
                except OSError:
                    missing |= layer.bit
        return missing

    def _steps(self, allowance: Allowance, *, conversing: bool) -> Mapping[Layer, Callable[[], None]]:
        return {
            Layer.DESCRIPTORS: lambda: _close_inherited(REQUEST_FD if conversing else RESULT_FD),
            Layer.UID: _drop_uid,
            Layer.CAPABILITIES: self._drop_capabilities,
            Layer.PARENT_DEATH: self._die_with_zygote,
            Layer.MEMORY: lambda: _limit_memory(allowance),
            Layer.CPU: lambda: _limit(resource.RLIMIT_CPU, allowance.cpu_s, allowance.cpu_s + 1),
            Layer.LANDLOCK: self._enter_landlock,
            Layer.NEW_DESCRIPTORS: lambda: _limit(resource.RLIMIT_NOFILE, 0, 0),
            Layer.SECCOMP: lambda: self._install_filter(conversing=conversing),
        }

    def _drop_capabilities(self) -> None:
        header, sets = self._no_capabilities
        call("capset", ctypes.addressof(header), ctypes.addressof(sets))

    def _die_with_zygote(self) -> None:
        prctl(PR_SET_DUMPABLE, 0)  # a change of uid resets it to fs.suid_dumpable
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self._zygote_pid:
            os.kill(os.getpid(), signal.SIGKILL)

    def _enter_landlock(self) -> None:
        if self._ruleset is None:
            raise OSError("no Landlock")
        restrict_self(self._ruleset)
        os.close(self._ruleset)

    def _install_filter(self, *, conversing: bool) -> None:
        if self._filters is None:
            raise OSError("no table of system calls for this architecture")
        self._filters[conversing].install()


def _place_ruleset() -> int | None:
    try:
        ruleset = create_denying_ruleset()
    except OSError:
        return None
    os.dup2(ruleset, RULESET_FD, inheritable=False)
    os.close(ruleset)
    return RULESET_FD


def _close_inherited(last_kept: int) -> None:
    """Close everything outside result and request descriptor and the ruleset."""
    call("close_range", 0, RESULT_FD - 1, 0)
    if last_kept + 1 < RULESET_FD:
        call("close_range", last_kept + 1, RULESET_FD - 1, 0)
    call("close_range", RULESET_FD + 1, _LAST_FD, 0)


def _drop_uid() -> None:
    if os.geteuid() == 0:
        # A container's root may lack the right to change groups and still be allowed to change its uid.
        with contextlib.suppress(PermissionError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def _limit_memory(allowance: Allowance) -> None:
    _limit(resource.RLIMIT_AS, allowance.address_space, allowance.address_space)
    _limit(resource.RLIMIT_DATA, allowance.data, allowance.data)


def _limit(which: int, soft: int, hard: int) -> None:
    """Set a limit, or keep the one that the host was started with where that is tighter."""
    _, ceiling = resource.getrlimit(which)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(which, (soft, hard))
