"""The names of the cage's layers, and which of them a full cage insists on."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class CageMode(Enum):
    """How much a cage insists on."""

    FULL = "full"
    """Every required layer, or nothing runs."""
    REDUCED = "reduced"
    """Limits, wall timer and a clean zygote; Landlock and seccomp where the kernel has them. Not a boundary against
    hostile native code."""


class Layer(Enum):
    """One thing that holds a child back. The value is the stable name (``trigate doctor``, error messages)."""

    ENVIRONMENT = "environment"
    NO_NEW_PRIVS = "no-new-privileges"
    DUMPABLE = "not-dumpable"
    WRITE_XOR_EXECUTE = "write-xor-execute"
    NAMESPACES = "namespaces"
    DESCRIPTORS = "descriptors"
    UID = "uid"
    CAPABILITIES = "capabilities"
    PARENT_DEATH = "parent-death"
    MEMORY = "memory-limit"
    CPU = "cpu-limit"
    LANDLOCK = "landlock"
    NEW_DESCRIPTORS = "no-new-descriptors"
    SECCOMP = "seccomp"
    WALL = "wall-timer"

    @property
    def bit(self) -> int:
        """This layer's bit in the masks that travel between processes."""
        return 1 << _ORDER.index(self)


_ORDER = tuple(Layer)

BONUS = frozenset({Layer.WRITE_XOR_EXECUTE, Layer.NAMESPACES, Layer.UID})
"""Used where the kernel allows them, never required: user namespaces are often switched off, MDWE needs Linux 6.3, and
a container's root may lack the right to change its uid (it then has no other right either, see ``CAPABILITIES``)."""

REQUIRED = {
    CageMode.FULL: frozenset(Layer) - BONUS,
    CageMode.REDUCED: frozenset(Layer) - BONUS - {Layer.LANDLOCK, Layer.SECCOMP},
}


def mask_of(layers: Iterable[Layer]) -> int:
    """The bit mask that stands for ``layers``."""
    mask = 0
    for layer in layers:
        mask |= layer.bit
    return mask


def layers_of(mask: int) -> tuple[Layer, ...]:
    """The layers that ``mask`` stands for, in the order of ``Layer``; unknown bits are ignored."""
    return tuple(layer for layer in _ORDER if mask & layer.bit)
