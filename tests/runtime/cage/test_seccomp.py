"""The filter's program is run here by a small interpreter, so that both architectures are tested on either."""

from __future__ import annotations

import errno
import struct

import pytest

from runtime.cage.seccomp import ALLOW, KILL, READ_REQUESTS, RULES, Rule, assemble, failing
from runtime.cage.syscalls import AARCH64, ARCHITECTURES, X86_64, Architecture


def decide(program: bytes, *, audit: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """What the kernel would do: the reference semantics of the few BPF instructions that we use."""
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, audit, 0, *(argument & (1 << 64) - 1 for argument in padded))
    instructions = list(struct.iter_unpack("=HBBI", program))
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x54:
                accumulator &= value
            case 0x15:
                position += if_true if accumulator == value else if_false
            case 0x35:
                position += if_true if accumulator >= value else if_false
            case 0x06:
                return value
            case _:
                raise AssertionError(f"instruction {code:#x}")


@pytest.fixture(params=ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def architecture(request: pytest.FixtureRequest) -> Architecture:
    chosen: Architecture = request.param
    return chosen


def ask(architecture: Architecture, call: str, *arguments: int, rules: tuple[Rule, ...] = RULES) -> int:
    program = assemble(architecture, rules)
    return decide(program, audit=architecture.audit, number=architecture.numbers[call], arguments=arguments)


def test_every_number_without_a_rule_is_killed(architecture: Architecture) -> None:
    program = assemble(architecture, RULES)
    listed = {architecture.numbers[rule.call] for rule in RULES if rule.call in architecture.numbers}
    for number in [*range(700), 0x3FFFFFFF, 0x80000000, 0xFFFFFFFF]:
        if number not in listed:
            assert decide(program, audit=architecture.audit, number=number) == KILL, number


def test_every_interface_but_the_native_one_is_killed(architecture: Architecture) -> None:
    program = assemble(architecture, RULES)
    allowed = architecture.numbers["getpid"]
    assert decide(program, audit=architecture.audit, number=allowed) == ALLOW
    for audit in (
        0x40000003,
        0x40000028,
        0,
        *(other.audit for other in ARCHITECTURES.values() if other != architecture),
    ):
        assert decide(program, audit=audit, number=allowed) == KILL


def test_x32_calls_are_killed_whatever_their_number() -> None:
    program = assemble(X86_64, RULES)
    for number in X86_64.numbers.values():
        assert decide(program, audit=X86_64.audit, number=0x40000000 | number) == KILL


def test_only_the_result_may_be_written(architecture: Architecture) -> None:
    assert ask(architecture, "write", 3) == ALLOW
    assert ask(architecture, "write", 1) == ask(architecture, "write", 2) == failing(errno.EBADF)
    for descriptor in (0, 4, 5, 10, -1, 3 + (1 << 16)):
        assert ask(architecture, "write", descriptor) == KILL
    # The kernel cuts a descriptor to 32 bits before it looks at it, and so does the filter.
    assert ask(architecture, "write", 3 + (1 << 32)) == ALLOW


def test_nothing_may_be_read_except_the_requests_of_a_conversation(architecture: Architecture) -> None:
    assert ask(architecture, "read", 4) == KILL
    assert ask(architecture, "read", 4, rules=(READ_REQUESTS, *RULES)) == ALLOW
    assert ask(architecture, "read", 3, rules=(READ_REQUESTS, *RULES)) == KILL


@pytest.mark.parametrize("call", ["mmap", "mprotect"])
def test_memory_is_never_executable(architecture: Architecture, call: str) -> None:
    for rights in (0, 1, 2, 3):
        assert ask(architecture, call, 0, 4096, rights) == ALLOW
    for rights in (4, 5, 6, 7, 4 | 1 << 24):
        assert ask(architecture, call, 0, 4096, rights) == KILL


def test_futexes_are_for_waiting_and_waking(architecture: Architecture) -> None:
    private = 128
    for operation in (0, 1, 9, 10):
        assert ask(architecture, "futex", 0, operation | private) == ALLOW
        assert ask(architecture, "futex", 0, operation | private | 256) == ALLOW
    for operation in (3, 4, 5, 6, 7, 8, 11, 12, 13):
        assert ask(architecture, "futex", 0, operation | private) == KILL


@pytest.mark.parametrize(
    "call", ["socket", "clone", "clone3", "execve", "openat", "ptrace", "prctl", "unshare", "memfd_create"]
)
def test_nothing_is_opened_started_or_changed(architecture: Architecture, call: str) -> None:
    assert ask(architecture, call) == KILL


@pytest.mark.parametrize(
    ("call", "code"), [("rt_sigaction", errno.EPERM), ("tgkill", errno.EPERM), ("close", errno.EBADF)]
)
def test_what_a_crash_needs_fails_without_being_done(architecture: Architecture, call: str, code: int) -> None:
    assert ask(architecture, call, 3) == failing(code)


def test_each_rule_gives_its_reason_and_each_call_has_one_rule() -> None:
    assert all(rule.why for rule in RULES)
    assert len({rule.call for rule in RULES}) == len(RULES)


def test_the_tables_of_both_architectures_name_the_same_calls_but_for_the_oldest() -> None:
    assert set(X86_64.numbers) - set(AARCH64.numbers) == {"fork", "time"}
    assert set(AARCH64.numbers) <= set(X86_64.numbers)
    for architecture in ARCHITECTURES.values():
        assert len(set(architecture.numbers.values())) == len(architecture.numbers)
