"""The system calls that a caged child may make: an allow-list as data, and its translation into a BPF program.

The default is to kill the process. A call is listed because computing in Python or numpy needs it; the few that fail
instead of killing are there so that a crash inside libc is seen as the crash that it is. What the filter cannot do:
look behind pointers, or limit how often a permitted call is made (CPU, memory and wall limits do that).
"""

from __future__ import annotations

import ctypes
import errno
import struct
from dataclasses import dataclass

from runtime.cage.syscalls import PR_SET_SECCOMP, Architecture, prctl

RESULT_FD = 3
"""The descriptor on which a child answers: the only one that it may write to."""
REQUEST_FD = 4
"""The descriptor on which a conversing child is asked: the only one that it may read from."""

KILL = 0x80000000
ALLOW = 0x7FFF0000
_ERRNO = 0x00050000

_WORD = 0xFFFFFFFF
_PROT_EXEC = 4
_FUTEX_OPERATION = 0x7F & _WORD
_FUTEX_WAIT, _FUTEX_WAKE, _FUTEX_WAIT_BITSET, _FUTEX_WAKE_BITSET = 0, 1, 9, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """``action`` when ``args[argument] & mask == value``, looking at the low 32 bits.

    The low half decides for every argument we compare: descriptors, futex operations are ints to the kernel, and the
    protection bits of mmap and mprotect all lie there.
    """

    argument: int
    mask: int
    value: int
    action: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What happens to one system call: the first clause that matches, else ``otherwise``."""

    call: str
    clauses: tuple[Clause, ...] = ()
    otherwise: int = ALLOW
    why: str


def failing(code: int) -> int:
    """The action that makes a call return ``code`` as its errno without being made."""
    return _ERRNO | code


def _on_descriptor(descriptor: int, action: int = ALLOW) -> Clause:
    return Clause(argument=0, mask=_WORD, value=descriptor, action=action)


def _futex(operation: int) -> Clause:
    return Clause(argument=1, mask=_FUTEX_OPERATION, value=operation, action=ALLOW)


_NOT_EXECUTABLE = Clause(argument=2, mask=_PROT_EXEC, value=0, action=ALLOW)
_CLOSED = failing(errno.EBADF)

RULES: tuple[Rule, ...] = (
    Rule(
        call="write",
        clauses=(_on_descriptor(RESULT_FD), _on_descriptor(1, _CLOSED), _on_descriptor(2, _CLOSED)),
        otherwise=KILL,
        why="the result; libc and Python print to a closed stderr before they abort, which must stay a crash",
    ),
    Rule(call="writev", clauses=(_on_descriptor(2, _CLOSED),), otherwise=KILL, why="libc's last words before abort"),
    Rule(call="close", otherwise=_CLOSED, why="finalisers of objects whose descriptor the lockdown has closed"),
    Rule(call="mmap", clauses=(_NOT_EXECUTABLE,), otherwise=KILL, why="memory, never executable"),
    Rule(call="mprotect", clauses=(_NOT_EXECUTABLE,), otherwise=KILL, why="malloc grows its arenas with it"),
    Rule(call="munmap", why="memory"),
    Rule(call="mremap", why="realloc of large arrays"),
    Rule(call="brk", why="memory"),
    Rule(call="madvise", why="numpy asks for huge pages"),
    Rule(
        call="futex",
        clauses=tuple(map(_futex, (_FUTEX_WAIT, _FUTEX_WAKE, _FUTEX_WAIT_BITSET, _FUTEX_WAKE_BITSET))),
        otherwise=KILL,
        why="locks; without priority inheritance and requeueing, which are a way into the kernel",
    ),
    Rule(call="clock_gettime", why="clocks, where the vDSO cannot answer"),
    Rule(call="clock_getres", why="clocks"),
    Rule(call="gettimeofday", why="clocks"),
    Rule(call="time", why="clocks"),
    Rule(call="clock_nanosleep", why="time.sleep: harmless under a wall timer, and the reason stays a true one"),
    Rule(call="nanosleep", why="as clock_nanosleep"),
    Rule(call="restart_syscall", why="a sleep that a debugger or SIGSTOP interrupted"),
    Rule(call="sched_yield", why="spinning locks"),
    Rule(call="getpid", why="abort; harmless"),
    Rule(call="gettid", why="abort; harmless"),
    Rule(call="rt_sigprocmask", why="abort; a blocked SIGXCPU is followed by SIGKILL a second later"),
    Rule(call="rt_sigaction", otherwise=failing(errno.EPERM), why="abort; no handler may be installed"),
    Rule(
        call="tgkill",
        otherwise=failing(errno.EPERM),
        why="abort falls through to a trapping instruction; no signal is sent to anyone",
    ),
    Rule(call="exit_group", why="the end"),
    Rule(call="exit", why="the end"),
)

READ_REQUESTS = Rule(
    call="read", clauses=(_on_descriptor(REQUEST_FD),), otherwise=KILL, why="the next request of a conversation"
)

_LOAD_WORD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_INSTRUCTION = struct.Struct("=HBBI")
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16  # struct seccomp_data


def assemble(architecture: Architecture, rules: tuple[Rule, ...]) -> bytes:
    """The BPF program that applies ``rules`` on ``architecture`` and kills everything else.

    A call that came through another interface (32-bit ``int 0x80``, x32) has other numbers and is killed before they
    are looked at. Rules for calls that the architecture does not have (``time`` on aarch64) vanish.
    """
    program = [
        (_LOAD_WORD, 0, 0, _ARCH_OFFSET),
        (_JUMP_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, KILL),
        (_LOAD_WORD, 0, 0, _NUMBER_OFFSET),
    ]
    if architecture.x32_bit is not None:
        program += [(_JUMP_AT_LEAST, 0, 1, architecture.x32_bit), (_RETURN, 0, 0, KILL)]
    for rule in rules:
        number = architecture.numbers.get(rule.call)
        if number is not None:
            body = _assemble_body(rule)
            program += [(_JUMP_EQUAL, 0, len(body), number), *body]
    program.append((_RETURN, 0, 0, KILL))
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in program)


def _assemble_body(rule: Rule) -> list[tuple[int, int, int, int]]:
    body = []
    for clause in rule.clauses:
        body += [
            (_LOAD_WORD, 0, 0, _ARGUMENTS_OFFSET + 8 * clause.argument),  # both architectures are little-endian
            (_AND, 0, 0, clause.mask),
            (_JUMP_EQUAL, 0, 1, clause.value),
            (_RETURN, 0, 0, clause.action),
        ]
    return [*body, (_RETURN, 0, 0, rule.otherwise)]


class Filter:
    """An assembled program in memory, ready to be installed by a single call after fork."""

    _MODE_FILTER = 2

    class _Program(ctypes.Structure):
        """struct sock_fprog."""

        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    def __init__(self, program: bytes) -> None:
        self._instructions = ctypes.create_string_buffer(program, len(program))
        self._program = self._Program(len(program) // _INSTRUCTION.size, ctypes.addressof(self._instructions))

    def install(self) -> None:
        """Filter the calling process from here on, for good. Needs no_new_privs.

        Raises:
            OSError: as the kernel answers.
        """
        prctl(PR_SET_SECCOMP, self._MODE_FILTER, ctypes.addressof(self._program))
