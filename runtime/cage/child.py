"""The life of one caged child: read the job, lock down, say so, run, answer, end. It never returns to the zygote."""

from __future__ import annotations

import builtins
import os
import random
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from runtime.cage.line import Line
from runtime.cage.seccomp import REQUEST_FD, RESULT_FD
from runtime.cage.wire import FrameKind, encode_preamble, frame_parts, write_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.cage.lockdown import Allowance, Lockdown

EXIT_DONE = 0
EXIT_NOT_LOCKED = 81
"""A required layer did not go up; nothing was run. The preamble says which."""
EXIT_ESCAPED = 82
"""An exception left the child's own code. A last resort; a candidate can of course choose this status too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What the zygote hands to the child it just forked."""

    job: int
    """Descriptor that holds the job from offset 0 on."""
    result: int
    """Descriptor of the result pipe, to write."""
    request: int | None
    """Descriptor of the request pipe, to read; None unless this is a conversation."""
    allowance: Allowance
    skip: int
    required: int
    """Mask of the layers without which nothing may run."""
    missing: int
    """Mask of the layers that the zygote already knows to be missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The functions of the entry module that a child may be told to call."""

    run: Callable[[bytes], bytes]
    """The function that ``open_cage`` was given."""
    converse: Callable[[bytes, Line], bytes] | None
    """``converse`` of its module, where there is one."""


def live(assignment: Assignment, lockdown: Lockdown, entry: Entry) -> NoReturn:
    """Be the child. Whatever happens, even an exception nobody thought of, ends in ``_exit``."""
    status = EXIT_ESCAPED
    leave = os._exit
    try:
        status = _live(assignment, lockdown, entry)
    finally:
        leave(status)


def _live(assignment: Assignment, lockdown: Lockdown, entry: Entry) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    random.seed(0)  # its fork hook has just seeded it from the system: a candidate's noise would differ per run
    job = os.pread(assignment.job, os.fstat(assignment.job).st_size, 0)
    os.dup2(assignment.result, RESULT_FD, inheritable=False)
    if assignment.request is not None:
        os.dup2(assignment.request, REQUEST_FD, inheritable=False)
    missing = assignment.missing | lockdown.apply(
        assignment.allowance, skip=assignment.skip, conversing=assignment.request is not None
    )
    os.write(RESULT_FD, encode_preamble(missing))
    if missing & assignment.required:
        return EXIT_NOT_LOCKED
    _answer(lambda: _call(entry, job, is_conversation=assignment.request is not None))
    return EXIT_DONE


def _call(entry: Entry, job: bytes, *, is_conversation: bool) -> bytes:
    if not is_conversation:
        return entry.run(job)
    if entry.converse is None:
        raise NotImplementedError("the module of the entry has no converse()")
    return entry.converse(job, Line())


def _answer(call: Callable[[], bytes]) -> None:
    """Call the entry and send what became of it."""
    write = os.write  # bound before untrusted code runs
    last_words = b"".join(frame_parts(FrameKind.OUT_OF_MEMORY, b""))
    try:
        payload = call()
        if type(payload) is not bytes:
            raise TypeError("an entry returns bytes")  # noqa: TRY301 - reported like any other error of the entry
        for part in frame_parts(FrameKind.RESULT, payload):
            write_all(write, RESULT_FD, part)
    except MemoryError:
        write(RESULT_FD, last_words)
    except BaseException as error:  # noqa: BLE001 - the boundary of the child: nothing may pass it
        for part in frame_parts(FrameKind.ERROR, _builtin_name(error).encode("ascii")):
            write_all(write, RESULT_FD, part)


def _builtin_name(error: BaseException) -> str:
    """The name of the closest built-in ancestor; never a text that the candidate wrote."""
    ancestors = type.__dict__["__mro__"].__get__(type(error))  # a class can lie about its __mro__, type cannot
    return next((name for ancestor in ancestors if (name := _BUILTIN_NAMES.get(ancestor))), "BaseException")


_BUILTIN_NAMES = {
    value: name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and value.__name__ == name
}
