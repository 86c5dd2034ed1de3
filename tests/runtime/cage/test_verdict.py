from __future__ import annotations

import signal

import pytest

from runtime.cage.outcome import CageEnd, CageLimits
from runtime.cage.verdict import Evidence, judge
from runtime.cage.wire import Frame, FrameKind

LIMITS = CageLimits(cpu_s=1.5, wall_s=10)
RESULT = Frame(kind=FrameKind.RESULT, payload=b"42")


def seen(status: int | None = 0, **facts: object) -> Evidence:
    return Evidence(status=status, **({"cpu_s": 0.1, "wall_s": 0.2} | facts))  # type: ignore[arg-type]


def exited(code: int) -> int:
    return code << 8


@pytest.mark.parametrize(
    ("evidence", "end", "detail"),
    [
        (seen(last_frame=RESULT), CageEnd.FINISHED, ""),
        (seen(), CageEnd.CRASHED, "exit status 0"),
        (seen(exited(3)), CageEnd.CRASHED, "exit status 3"),
        (seen(exited(3), last_frame=RESULT), CageEnd.CRASHED, "exit status 3"),
        (seen(last_frame=Frame(kind=FrameKind.OUT_OF_MEMORY, payload=b"")), CageEnd.OUT_OF_MEMORY, "256 MiB"),
        (seen(last_frame=Frame(kind=FrameKind.ERROR, payload=b"KeyError")), CageEnd.CRASHED, "KeyError"),
        (seen(last_frame=Frame(kind=FrameKind.ERROR, payload=b"print")), CageEnd.CRASHED, "without a known name"),
        (seen(last_frame=Frame(kind=FrameKind.ERROR, payload=b"\xff")), CageEnd.CRASHED, "without a known name"),
        (seen(is_partial=True), CageEnd.BROKEN_RESULT, "in the middle"),
        (seen(last_frame=RESULT, fault="bytes after the result"), CageEnd.BROKEN_RESULT, "bytes after"),
        (seen(signal.SIGKILL, fault="junk"), CageEnd.BROKEN_RESULT, "junk"),
        (seen(signal.SIGKILL, flooded=True), CageEnd.FLOODED, "8388608 bytes"),
        (seen(signal.SIGXCPU), CageEnd.CPU_EXCEEDED, "1.5 s of CPU"),
        (seen(signal.SIGKILL, cpu_s=2.0), CageEnd.CPU_EXCEEDED, ""),
        (seen(signal.SIGKILL, cpu_s=1.6), CageEnd.KILLED, "SIGKILL"),
        (seen(signal.SIGKILL, cpu_s=2.0, timed_out=True), CageEnd.CPU_EXCEEDED, ""),
        (seen(signal.SIGKILL, timed_out=True), CageEnd.TIMED_OUT, "10 s of wall time"),
        (seen(timed_out=True, last_frame=RESULT), CageEnd.FINISHED, ""),
        (seen(signal.SIGKILL), CageEnd.KILLED, "SIGKILL"),
        (seen(signal.SIGTERM), CageEnd.KILLED, "SIGTERM"),
        (seen(40), CageEnd.KILLED, "signal 40"),
        (seen(signal.SIGSYS, last_frame=RESULT), CageEnd.FORBIDDEN, ""),
        (seen(signal.SIGSEGV, is_partial=True), CageEnd.CRASHED, "SIGSEGV"),
        (seen(signal.SIGBUS), CageEnd.CRASHED, "SIGBUS"),
        (seen(None, abandoned="the zygote ended by signal 9"), CageEnd.KILLED, "the zygote ended by signal 9"),
        (seen(None), CageEnd.KILLED, "nobody saw"),
    ],
)
def test_an_end_is_read_from_the_evidence(evidence: Evidence, end: CageEnd, detail: str) -> None:
    outcome = judge(evidence, LIMITS)
    assert outcome.end is end
    assert detail in outcome.reason
    assert outcome.payload == (b"42" if end is CageEnd.FINISHED else None)
    assert (outcome.cpu_s, outcome.wall_s) == (evidence.cpu_s, evidence.wall_s)
