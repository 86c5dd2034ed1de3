"""The gates in a process that knows the secret and the canary's folder: what they hold back when nothing else does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gates import inside
from gates.wire import pack, unpack

if TYPE_CHECKING:
    from runtime.cage.line import Line

ENVIRONMENT: dict[str, str] = {}


def tell(environment: dict[str, str], bars: bytes) -> bytes:
    """What ``prepare`` is given, for the host's side."""
    return pack({"environment": environment}, [bars])


def prepare(blob: bytes) -> None:
    header, (bars,) = unpack(blob)
    ENVIRONMENT.update(header["environment"])
    inside.prepare(bars)


def run(job: bytes) -> bytes:
    os.environ.update(ENVIRONMENT)  # in the child: the zygote itself is still held to a clean one
    return inside.run(job)


def converse(job: bytes, line: Line) -> bytes:
    os.environ.update(ENVIRONMENT)
    return inside.converse(job, line)
