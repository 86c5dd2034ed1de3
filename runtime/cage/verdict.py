"""From what was seen of a child to how its job ended: a pure function, so that every case can be tested by itself."""

from __future__ import annotations

import builtins
import math
import os
import signal
from dataclasses import dataclass

from runtime.cage.outcome import CageEnd, CageLimits, CageOutcome
from runtime.cage.wire import Frame, FrameKind

# The kernel looks at CPU limits on its clock tick, and usage is read a moment later or earlier.
_CPU_SLACK_S = 0.05

_CRASHES = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the host saw of one child."""

    status: int | None
    """Wait status; None when the zygote ended first, so that nobody could tell."""
    cpu_s: float
    wall_s: float
    last_frame: Frame | None = None
    """The frame that ends the job, whole and checked; a claim of the child."""
    fault: str | None = None
    """How the bytes broke the protocol; None while they did not."""
    is_partial: bool = False
    """The last bytes do not make a whole frame."""
    flooded: bool = False
    """It sent, or announced, more than it may."""
    timed_out: bool = False
    """The host's wall timer ran out, and the host killed it."""
    abandoned: str | None = None
    """Why nobody could tell how it ended: the zygote died, the cage was closed."""


def judge(evidence: Evidence, limits: CageLimits) -> CageOutcome:
    """How the job ended.

    CPU comes before wall time: on a busy machine both may run out, and CPU is the one that does not depend on load. A
    result counts only if it is whole, followed by nothing, and its child exited with status 0.
    """
    end, detail = _end_and_detail(evidence, limits)
    finished = end is CageEnd.FINISHED and evidence.last_frame is not None
    clause = end.describe(limits)
    return CageOutcome(
        end=end,
        reason=f"{clause} ({detail})" if detail else clause,
        payload=evidence.last_frame.payload if finished and evidence.last_frame else None,
        cpu_s=evidence.cpu_s,
        wall_s=evidence.wall_s,
    )


def _end_and_detail(evidence: Evidence, limits: CageLimits) -> tuple[CageEnd, str]:
    if evidence.flooded:
        return CageEnd.FLOODED, ""
    if evidence.status is None:
        if evidence.timed_out:
            return CageEnd.TIMED_OUT, evidence.abandoned or ""
        return CageEnd.KILLED, evidence.abandoned or "nobody saw how"
    if os.WIFSIGNALED(evidence.status):
        return _after_signal(os.WTERMSIG(evidence.status), evidence, limits)
    return _after_exit(os.WEXITSTATUS(evidence.status), evidence)


def _after_signal(number: int, evidence: Evidence, limits: CageLimits) -> tuple[CageEnd, str]:
    cpu_is_used_up = evidence.cpu_s >= math.ceil(limits.cpu_s) - _CPU_SLACK_S
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu_is_used_up):
        return CageEnd.CPU_EXCEEDED, ""
    if number == signal.SIGSYS:
        return CageEnd.FORBIDDEN, ""
    if number == signal.SIGKILL and evidence.timed_out:
        return CageEnd.TIMED_OUT, ""
    if evidence.fault is not None:  # the host kills a child that breaks the protocol
        return CageEnd.BROKEN_RESULT, evidence.fault
    return (CageEnd.CRASHED if number in _CRASHES else CageEnd.KILLED), _signal_name(number)


def _after_exit(code: int, evidence: Evidence) -> tuple[CageEnd, str]:
    if evidence.fault is not None:
        return CageEnd.BROKEN_RESULT, evidence.fault
    if evidence.is_partial:
        return CageEnd.BROKEN_RESULT, "a frame that stops in the middle"
    frame = evidence.last_frame
    if frame is None or code != 0:
        return CageEnd.CRASHED, f"exit status {code}"
    if frame.kind is FrameKind.OUT_OF_MEMORY:
        return CageEnd.OUT_OF_MEMORY, ""
    if frame.kind is FrameKind.ERROR:
        return CageEnd.CRASHED, _error_name(frame.payload)
    return CageEnd.FINISHED, ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _error_name(claimed: bytes) -> str:
    """The built-in exception that the child names; anything else it may have written is not repeated."""
    name = claimed.decode("ascii", "replace")
    error = getattr(builtins, name, None) if name.isidentifier() else None
    return name if isinstance(error, type) and issubclass(error, BaseException) else "an exception without a known name"
