"""An entry for the tests of the cage: each job is a short Python program, run with everything at hand.

Nothing here is restricted on purpose: these programs stand for a candidate that has got past every gate.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import mmap
import os
import platform
import random
import resource
import signal
import socket
import statistics  # noqa: F401 - part of what candidates may import, so the zygote has it
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from runtime.cage import lockdown

if TYPE_CHECKING:
    from runtime.cage.line import Line

PREPARED: list[object] = []
NAMES = {
    module.__name__: module for module in (ctypes, mmap, os, resource, signal, socket, subprocess, sys, threading, time)
}

# push rbx; mov eax, edi; mov ebx, esi; mov ecx, edx; int 0x80; pop rbx; ret
_COMPATIBILITY_CALL = bytes.fromhex("53 89 f8 89 f3 89 d1 cd 80 5b c3")


def prepare(blob: bytes) -> None:
    PREPARED.append(blob)
    match blob:
        case b"fail":
            raise ValueError("no such data")
        case b"thread":
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        case b"shared":
            PREPARED.append(mmap.mmap(-1, mmap.PAGESIZE))
        case b"exit":
            os._exit(7)
        case b"numpy":
            NAMES["np"] = numpy = importlib.import_module("numpy")
            numpy.linalg.inv(numpy.eye(3))
            numpy.random.default_rng(0)
        case b"no landlock":
            lockdown.create_denying_ruleset = _refuse
        case b"no fork":
            os.fork = _refuse
        case b"no lockdown":
            random.seed = lambda *_: os._exit(5)  # what a child calls first
        case b"native code" if platform.machine() == "x86_64":
            NAMES["compatibility_call"] = _place_native_code(_COMPATIBILITY_CALL)


def _refuse() -> int:
    raise OSError(errno.EAGAIN, "Resource temporarily unavailable")


def run(job: bytes) -> bytes:
    """Run the program; what it leaves in ``result`` is the answer."""
    return _execute(job, {})


def converse(job: bytes, line: Line) -> bytes:
    """Run the program with a line to the host; an empty one comes over the line."""
    return _execute(job or line.receive() or b"", {"line": line})


def _execute(job: bytes, more: dict[str, object]) -> bytes:
    scope = {**more, "PREPARED": PREPARED, "result": b"done", **NAMES}
    exec(job.decode(), scope)
    result = scope["result"]
    return result if type(result) is bytes else repr(result).encode()


def _place_native_code(code: bytes) -> object:
    """Machine code that children inherit: the test's stand-in for an exploited library."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    PREPARED.append(memory)
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(address)
