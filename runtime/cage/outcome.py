"""What a cage is told and what it answers: limits in, an outcome out, never an exception for the candidate's sake."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class CageLimits:
    """What one caged child may use. Kills go by CPU first, so that a busy machine does not change verdicts."""

    cpu_s: float = 5.0
    """CPU seconds; the kernel counts whole seconds, so it is rounded up."""
    wall_s: float = 30.0
    """Wall seconds, measured and enforced from outside. Time in which the child is ready and waits for a processor does
    not count, up to nine times as much again."""
    memory_mib: int = 256
    """Address space on top of what the child starts with."""
    result_bytes: int = 8 * 1024 * 1024
    """Most bytes that the child may send back."""

    def __post_init__(self) -> None:
        for name in ("cpu_s", "wall_s", "memory_mib", "result_bytes"):
            if not getattr(self, name) > 0:
                raise ValueError(f"cage limit {name} = {getattr(self, name)}: must be above 0")


class CageEnd(Enum):
    """How a caged job ended. The value is the stable name (JSON, database); ``describe`` is for people."""

    FINISHED = "finished"
    TIMED_OUT = "timed_out"
    CPU_EXCEEDED = "cpu_exceeded"
    OUT_OF_MEMORY = "out_of_memory"
    FLOODED = "flooded"
    FORBIDDEN = "forbidden"
    CRASHED = "crashed"
    KILLED = "killed"
    BROKEN_RESULT = "broken_result"

    def describe(self, limits: CageLimits) -> str:
        """One clause that says what happened, with the limit that it ran into."""
        return {
            CageEnd.FINISHED: "finished",
            CageEnd.TIMED_OUT: f"ran past {limits.wall_s:g} s of wall time",
            CageEnd.CPU_EXCEEDED: f"used more than {limits.cpu_s:g} s of CPU",
            CageEnd.OUT_OF_MEMORY: f"asked for more than {limits.memory_mib} MiB",
            CageEnd.FLOODED: f"sent more than {limits.result_bytes} bytes",
            CageEnd.FORBIDDEN: "made a system call that the cage forbids",
            CageEnd.CRASHED: "ended without a result",
            CageEnd.KILLED: "was killed by a signal",
            CageEnd.BROKEN_RESULT: "sent a result that does not follow the protocol",
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class CageOutcome:
    """The end of one job. Only ``FINISHED`` carries a payload, and the payload is still only a claim."""

    end: CageEnd
    reason: str
    """One clause for people, from ``CageEnd.describe`` plus what is known (signal, exit status)."""
    payload: bytes | None = None
    """What the entry function returned; None unless finished."""
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def __post_init__(self) -> None:
        if (self.payload is not None) != (self.end is CageEnd.FINISHED):
            raise ValueError("a payload goes with a finished job, and only with one")
