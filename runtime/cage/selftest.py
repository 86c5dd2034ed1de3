"""Does the cage hold here, now? Each layer is tried live, by real attempts in throwaway children.

Where one layer would hide another (seccomp forbids the call before Landlock sees it), the one in front is left out of
the probe's own cage, so that the answer is about the layer in question. No other cage can leave out a layer.
"""

from __future__ import annotations

import functools
import platform
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.cage.faults import CageError, CageUnavailable
from runtime.cage.job import Job, Task
from runtime.cage.launch import NotStarted, ZygoteProcess, ZygoteSpec, start_zygote
from runtime.cage.layers import REQUIRED, CageMode, Layer, mask_of
from runtime.cage.outcome import CageEnd, CageLimits, CageOutcome
from runtime.cage.syscalls import running_architecture

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIMITS = CageLimits(cpu_s=1, wall_s=30, memory_mib=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerProbe:
    """What the self-test found out about one layer."""

    name: str
    required: bool
    """Whether a full cage refuses to open without it."""
    active: bool
    """Whether every attempt against it was stopped by it."""
    probe: str
    """What was tried and what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    layer: Layer
    attempts: tuple[str, ...]
    """Names of attempts in ``runtime.cage.probes``, each in a child of its own."""
    without: frozenset[Layer] = frozenset()
    """Layers that would answer in this one's place."""
    end: CageEnd = CageEnd.FINISHED
    """How a child ends that the layer stopped; FINISHED means that it says so itself."""
    limits: CageLimits = _LIMITS
    quick: bool = True
    """Quick ones are made once by every process that opens a full cage."""


_NO_FILTER = frozenset({Layer.SECCOMP})
_BARE = frozenset({Layer.SECCOMP, Layer.NEW_DESCRIPTORS})

_TRIALS: tuple[_Trial, ...] = (
    _Trial(
        layer=Layer.SECCOMP,
        attempts=(
            "read_file",
            "send_udp",
            "connect_tcp",
            "fork",
            "execute",
            "map_executable",
            "create_memfd",
            "signal_parent",
            "trace_parent",
            "read_parent_memory",
        ),
        end=CageEnd.FORBIDDEN,
    ),
    _Trial(
        layer=Layer.LANDLOCK,
        attempts=("read_file", "write_file", "list_directory", "connect_tcp", "signal_parent"),
        without=_BARE,
    ),
    _Trial(layer=Layer.DESCRIPTORS, attempts=("count_descriptors",), without=_NO_FILTER),
    _Trial(layer=Layer.NEW_DESCRIPTORS, attempts=("open_pipe",), without=_NO_FILTER),
    _Trial(layer=Layer.NO_NEW_PRIVS, attempts=("show_no_new_privs",), without=_NO_FILTER),
    _Trial(layer=Layer.DUMPABLE, attempts=("show_dumpable",), without=_NO_FILTER),
    _Trial(layer=Layer.CAPABILITIES, attempts=("show_capabilities",), without=_NO_FILTER),
    _Trial(layer=Layer.UID, attempts=("show_uid",), without=_NO_FILTER),
    _Trial(layer=Layer.PARENT_DEATH, attempts=("show_parent_death",), without=_NO_FILTER),
    _Trial(layer=Layer.ENVIRONMENT, attempts=("show_environment",)),
    _Trial(layer=Layer.MEMORY, attempts=("grow",), end=CageEnd.OUT_OF_MEMORY),
    _Trial(layer=Layer.CPU, attempts=("show_cpu_limit",), without=_NO_FILTER),
    _Trial(layer=Layer.CPU, attempts=("spin",), end=CageEnd.CPU_EXCEEDED, quick=False),
    _Trial(
        layer=Layer.WALL,
        attempts=("sleep",),
        end=CageEnd.TIMED_OUT,
        limits=CageLimits(cpu_s=1, wall_s=0.2),
        quick=False,
    ),
    _Trial(layer=Layer.WRITE_XOR_EXECUTE, attempts=("make_executable",), without=_BARE, quick=False),
    _Trial(
        layer=Layer.NAMESPACES,
        attempts=("look_around",),
        without=_BARE | {Layer.LANDLOCK},
        quick=False,
    ),
)


def probe_layers() -> tuple[LayerProbe, ...]:
    """Try every layer of the cage on this machine, in the order of ``Layer``. Takes about two seconds.

    Raises:
        CageError: not even a reduced cage can be started here.
    """
    found = _try_all(_TRIALS, broken=frozenset())
    required = REQUIRED[CageMode.FULL]
    probes = []
    for layer in Layer:
        results = [result for tried, result in found if tried is layer]
        probes.append(
            LayerProbe(
                name=layer.value,
                required=layer in required,
                active=all(held for held, _ in results),
                probe="; ".join(text for _, text in results),
            )
        )
    return tuple(probes)


def require_full_cage() -> None:
    """Refuse unless every required layer holds. Tried once per process; later calls use that answer.

    Raises:
        CageUnavailable: the first layer that does not hold, and the way to the reduced cage.
        CageError: the probes could not be run.
    """
    gap = _known_gap()
    if gap is not None:
        raise CageUnavailable(*gap)


@functools.cache
def _known_gap() -> tuple[str, str] | None:
    return find_gap()


def find_gap(*, broken: frozenset[Layer] = frozenset()) -> tuple[str, str] | None:
    """Name and finding of the first required layer that does not hold; None when all do.

    Args:
        broken: layers to leave out, so that a test can see that their absence is noticed.

    Raises:
        CageError: the probes could not be run.
    """
    if sys.platform != "linux":
        return Layer.SECCOMP.value, f"the cage is made of Linux, and this is {sys.platform}"
    if running_architecture() is None:
        return Layer.SECCOMP.value, f"there is no table of system calls for {platform.machine()}"
    quick = [trial for trial in _TRIALS if trial.quick and trial.layer in REQUIRED[CageMode.FULL]]
    for layer, (held, text) in _try_all(quick, broken=broken):
        if not held:
            return layer.value, text
    return None


def _try_all(trials: Iterable[_Trial], *, broken: frozenset[Layer]) -> list[tuple[Layer, tuple[bool, str]]]:
    """Make each attempt in a child of its own. Only the namespaces are probed with their own empty root in place."""
    found = []
    with ExitStack() as started:
        zygotes: dict[bool, ZygoteProcess] = {}
        for trial in trials:
            in_namespaces = trial.layer is Layer.NAMESPACES
            if in_namespaces not in zygotes:
                skip = mask_of(broken if in_namespaces else broken | {Layer.NAMESPACES})
                # The reduced mode, because a missing layer is what the probes are to find, not to stumble over.
                spec = ZygoteSpec(entry="runtime.cage.probes:run", blob=b"", mode=CageMode.REDUCED, skip=skip)
                zygotes[in_namespaces] = start_zygote(spec)
                started.callback(zygotes[in_namespaces].stop)
            found += [(trial.layer, _try_once(zygotes[in_namespaces], trial, attempt)) for attempt in trial.attempts]
    return found


def _try_once(zygote: ZygoteProcess, trial: _Trial, attempt: str) -> tuple[bool, str]:
    task = Task(content=attempt.encode("ascii"), limits=trial.limits, required=0, skip=mask_of(trial.without))
    try:
        with Job(zygote, task) as job:
            outcome = job.finish()
    except NotStarted as error:
        raise CageError(f"the probe {attempt!r} could not be run: {error}") from error
    return _read(outcome, trial, attempt.replace("_", " "))


def _read(outcome: CageOutcome, trial: _Trial, attempt: str) -> tuple[bool, str]:
    if outcome.payload is not None:
        verdict, _, text = outcome.payload.decode("utf-8", "replace").partition(": ")
        return verdict == "held" and trial.end is CageEnd.FINISHED, text
    return outcome.end is trial.end, f"{attempt}: {outcome.reason}"
