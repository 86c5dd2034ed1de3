"""An entry whose conversations are programs of the test: what a candidate could do that got past every gate."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from gates.wire import decode_job

if TYPE_CHECKING:
    from runtime.cage.line import Line

START = b'{"calls":[],"need":0,"early":0}'


def run(job: bytes) -> bytes:
    return job


def converse(job: bytes, line: Line) -> bytes:
    """Do what stands in the last line of the source, which is a comment to everybody else."""
    program = decode_job(job).source.decode().rpartition("# ")[2]
    scope = {"line": line, "os": os, "time": time, "START": START, "result": b""}
    exec(program.replace(";; ", "\n"), scope)
    return scope["result"]
