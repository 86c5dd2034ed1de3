"""Landlock: an empty permission set for files, TCP, outgoing signals and abstract sockets.

A ruleset names the rights it *handles*; whatever is handled and not granted by a rule is denied. We handle everything
the running kernel knows and add no rule. What Landlock does not cover (UDP, stat, memfd, already open descriptors) is
left to seccomp and to closing descriptors.
"""

from __future__ import annotations

import ctypes
import errno
import os

from runtime.cage.syscalls import call

_CREATE_RULESET_VERSION = 1

# Rights by the ABI that introduced them, <linux/landlock.h>: each entry is (ABI, number of rights known from there on).
_FILE_RIGHTS = ((1, 13), (2, 14), (3, 15), (5, 16))
_NETWORK_RIGHTS = ((4, 2),)
_SCOPES = ((6, 2),)


class _Ruleset(ctypes.Structure):
    """struct landlock_ruleset_attr; older kernels accept it as long as the fields they lack are 0."""

    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def running_abi() -> int:
    """The kernel's Landlock ABI, from 1 on; 0 when it has none or it is switched off."""
    try:
        return call("landlock_create_ruleset", 0, 0, _CREATE_RULESET_VERSION)
    except OSError:
        return 0


def create_denying_ruleset() -> int:
    """A ruleset descriptor that denies everything this kernel can deny. The caller owns the descriptor.

    Rights that a newer kernel knows and this module does not are found by asking for them: the kernel answers EINVAL
    for an unknown bit, and a set that only denies can take every bit there is.

    Raises:
        OSError: ENOSYS or EOPNOTSUPP when the kernel has no Landlock.
    """
    abi = running_abi()
    if abi == 0:
        raise OSError(errno.EOPNOTSUPP, "this kernel has no Landlock, or it is not among its active security modules")
    wanted = _Ruleset(_rights(_FILE_RIGHTS, abi), _rights(_NETWORK_RIGHTS, abi), _rights(_SCOPES, abi))
    descriptor = _create(wanted)
    for field in ("handled_access_fs", "handled_access_net", "scoped"):
        descriptor = _widen(descriptor, wanted, field)
    return descriptor


def restrict_self(ruleset: int) -> None:
    """Put the calling thread under ``ruleset``, for good. Needs no_new_privs.

    Raises:
        OSError: as the kernel answers.
    """
    call("landlock_restrict_self", ruleset, 0)


def _rights(history: tuple[tuple[int, int], ...], abi: int) -> int:
    known = [count for since, count in history if since <= abi]
    return (1 << known[-1]) - 1 if known else 0


def _create(ruleset: _Ruleset) -> int:
    return call("landlock_create_ruleset", ctypes.addressof(ruleset), ctypes.sizeof(ruleset), 0)


def _widen(descriptor: int, ruleset: _Ruleset, field: str) -> int:
    """Add rights to ``field`` bit by bit until the kernel knows no further one; the old descriptor is closed."""
    while (rights := getattr(ruleset, field)) < 1 << 63:
        setattr(ruleset, field, rights << 1 | 1)
        try:
            wider = _create(ruleset)
        except OSError:
            setattr(ruleset, field, rights)
            return descriptor
        os.close(descriptor)
        descriptor = wider
    return descriptor
