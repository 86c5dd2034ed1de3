from __future__ import annotations

import os
import signal
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from cage_arena import ENTRY, QUICK, Arena, memory_of, open_descriptors, wait_until_gone

from runtime.cage import CageClosed, CageEnd, CageLimits, CageOutcome, open_cage

if TYPE_CHECKING:
    from runtime.cage import Conversation

ECHO = """
result = 0
while (request := line.receive()) is not None:
    line.send(request[::-1])
    result += len(request)
"""


def start(arena: Arena, program: str, limits: CageLimits = QUICK) -> Conversation:
    return arena.cage.converse(dedent(program).encode(), limits)


def test_requests_and_messages_go_back_and_forth_until_the_host_hangs_up(arena: Arena) -> None:
    with start(arena, ECHO) as talk:
        for index in range(500):
            text = f"bar {index}".encode()
            talk.send(text)
            assert talk.receive() == text[::-1]
        outcome = talk.finish()
    assert outcome.end is CageEnd.FINISHED
    assert outcome.payload == str(sum(len(f"bar {index}") for index in range(500))).encode()


def test_messages_larger_than_a_pipe_pass_in_both_directions_at_once(arena: Arena) -> None:
    """Both sides write more than fits before either reads: the host must not block."""
    with start(arena, ECHO) as talk:
        for size in (300_000, 1, 0, 200_000):
            talk.send(bytes(size))
        assert [talk.receive() for _ in range(4)] == [bytes(size) for size in (300_000, 1, 0, 200_000)]


def test_several_conversations_and_jobs_live_side_by_side(arena: Arena) -> None:
    with start(arena, ECHO) as first, start(arena, ECHO) as second:
        arena.assert_unharmed()
        first.send(b"ab")
        second.send(b"cd")
        assert (second.receive(), first.receive()) == (b"dc", b"ba")


def ending(talk: Conversation) -> CageOutcome:
    answer = talk.receive()
    assert isinstance(answer, CageOutcome)
    assert talk.receive() is answer
    talk.send(b"nobody listens")
    assert talk.finish() is answer
    return answer


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("result = b'said nothing'", CageEnd.FINISHED),
        ("os._exit(0)", CageEnd.CRASHED),
        ("line.receive()\nos.fork()", CageEnd.FORBIDDEN),
        ("os.read(3, 1)", CageEnd.FORBIDDEN),
        ("os.read(5, 1)", CageEnd.FORBIDDEN),
        ("os.write(4, b'x')", CageEnd.FORBIDDEN),
        ("while True: pass", CageEnd.CPU_EXCEEDED),
        ("line.send(bytes(2**20 + 1))", CageEnd.FLOODED),
        ("os.write(3, b'junk')\nline.receive()\nline.receive()", CageEnd.BROKEN_RESULT),
        ("b'x' * 10**10", CageEnd.OUT_OF_MEMORY),
    ],
)
def test_a_conversation_ends_as_a_job_does(arena: Arena, program: str, end: CageEnd) -> None:
    with start(arena, program) as talk:
        talk.send(b"go")
        assert ending(talk).end is end
    arena.assert_unharmed()


def test_messages_that_nobody_reads_are_bounded(arena: Arena) -> None:
    with start(arena, "while True: line.send(bytes(100_000))") as talk:
        assert talk.receive() == bytes(100_000)
        assert talk.finish().end is CageEnd.FLOODED


def test_an_answer_that_does_not_come_ends_at_the_wall_timer(arena: Arena) -> None:
    with start(arena, "line.send(line.receive())\ntime.sleep(60)", CageLimits(cpu_s=1, wall_s=0.4)) as talk:
        talk.send(b"first")
        assert talk.receive() == b"first"
        talk.send(b"second")
        assert ending(talk).end is CageEnd.TIMED_OUT


def test_a_child_that_stops_reading_does_not_block_its_host(arena: Arena) -> None:
    with start(arena, "time.sleep(60)", CageLimits(cpu_s=1, wall_s=0.4)) as talk:
        for _ in range(20):
            talk.send(bytes(100_000))
        assert ending(talk).end is CageEnd.TIMED_OUT


def test_leaving_a_conversation_ends_its_child_and_closes_its_descriptors(arena: Arena) -> None:
    before = open_descriptors()
    with start(arena, ECHO) as talk:
        talk.send(b"a")
        assert talk.receive() == b"a"
    assert open_descriptors() == before
    talk.close()


def test_a_dead_zygote_ends_a_conversation_and_the_next_one_works() -> None:
    with open_cage(ENTRY) as cage:
        arena = Arena(cage)
        with start(arena, ECHO) as talk:
            os.kill(arena.zygote_pid, signal.SIGKILL)
            assert ending(talk).end is CageEnd.KILLED
        with start(arena, ECHO) as talk:
            talk.send(b"ab")
            assert talk.receive() == b"ba"


WHO = b"result = os.getpid()"


def answer_of(talk: Conversation) -> CageOutcome:
    with talk:
        return talk.finish()


def test_a_child_that_was_started_ahead_is_used_once() -> None:
    with open_cage(ENTRY) as cage:
        cage.stand_by(QUICK)
        cage.stand_by(QUICK)
        assert cage._standby is not None
        ahead = cage._standby.pid
        assert answer_of(cage.converse_soon(WHO, QUICK)).payload == str(ahead).encode()
        assert answer_of(cage.converse_soon(WHO, QUICK)).payload not in {str(ahead).encode(), None}


def test_one_that_was_started_under_other_limits_is_not_used() -> None:
    with open_cage(ENTRY) as cage:
        cage.stand_by(QUICK)
        assert cage._standby is not None
        ahead = cage._standby.pid
        other = CageLimits(cpu_s=2, wall_s=20)
        assert answer_of(cage.converse_soon(WHO, other)).payload != str(ahead).encode()
        assert wait_until_gone([ahead]) == []


@pytest.mark.parametrize("victim", ["child", "zygote"])
def test_one_that_died_while_it_waited_is_not_used(victim: str) -> None:
    with open_cage(ENTRY) as cage:
        cage.stand_by(QUICK)
        assert cage._standby is not None
        ahead = cage._standby.pid
        os.kill(ahead if victim == "child" else Arena(cage).zygote_pid, signal.SIGKILL)
        assert wait_until_gone([ahead]) == []
        outcome = answer_of(cage.converse_soon(WHO, QUICK))
        assert outcome.end is CageEnd.FINISHED
        assert outcome.payload != str(ahead).encode()


def test_closing_a_cage_ends_the_one_that_waits() -> None:
    before = open_descriptors()
    with open_cage(ENTRY) as cage:
        cage.stand_by(QUICK)
        assert cage._standby is not None
        ahead = cage._standby.pid
    assert wait_until_gone([ahead]) == []
    assert open_descriptors() == before
    cage.stand_by(QUICK)
    with pytest.raises(CageClosed):
        cage.converse_soon(WHO, QUICK)


def test_a_fork_of_the_host_leaves_the_one_that_waits_alone() -> None:
    with open_cage(ENTRY) as cage:
        cage.stand_by(QUICK)
        fork = os.fork()
        if fork == 0:
            try:
                cage.converse_soon(WHO, QUICK)
            except CageClosed:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 7
        assert cage._standby is not None
        ahead = cage._standby.pid
        assert answer_of(cage.converse_soon(WHO, QUICK)).payload == str(ahead).encode()


def test_an_entry_without_converse_says_so() -> None:
    with open_cage("runtime.cage.probes:run") as cage, cage.converse(b"", QUICK) as talk:
        outcome = ending(talk)
    assert outcome.end is CageEnd.CRASHED
    assert "NotImplementedError" in outcome.reason


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into a caged child")
def test_a_conversing_child_knows_only_what_it_was_sent(arena: Arena) -> None:
    """What the host still holds is nowhere in the child's memory: the promise that a proof run stands on."""
    past, future = os.urandom(16), os.urandom(16)
    with start(arena, "kept = []\nwhile True:\n    kept.append(line.receive())\n    line.send(b'ok')") as talk:
        talk.send(past)
        assert talk.receive() == b"ok"
        memory = memory_of(talk.pid)
        assert past in memory
        assert future not in memory
