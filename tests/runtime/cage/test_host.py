from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cage_arena import ENTRY, QUICK, Arena, open_descriptors, wait_until_gone

from runtime.cage import (
    CageClosed,
    CageEnd,
    CageError,
    CageLimits,
    CageMode,
    CageUnavailable,
    EntryFailed,
    job,
    launch,
    open_cage,
)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_children(pid: int, count: int) -> list[int]:
    deadline = time.monotonic() + 60
    while len(children := children_of(pid)) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(children) == count
    return children


def test_a_job_gets_its_bytes_and_what_was_prepared_and_its_answer_comes_back(arena: Arena) -> None:
    outcome = arena.run("result = PREPARED[0] + b' and the job'")
    assert outcome.end is CageEnd.FINISHED
    assert outcome.payload == b"bars and the job"
    assert outcome.cpu_s > 0
    assert outcome.wall_s > 0


@pytest.mark.parametrize("size", [0, 1, 65_536, 5_000_000])
def test_jobs_and_results_of_any_size_arrive_whole(arena: Arena, size: int) -> None:
    program = f"# {'x' * size}\nresult = bytes(range(256)) * ({size} // 256) + b'end'"
    outcome = arena.cage.run(program.encode(), CageLimits(memory_mib=256))
    assert outcome.payload == bytes(range(256)) * (size // 256) + b"end"


def test_nothing_of_one_candidate_reaches_the_next(arena: Arena) -> None:
    arena.run("sys.modules['poison'] = 1; os.environ['POISON'] = '1'; PREPARED.append('poison')")
    assert arena.run("result = ('poison' in sys.modules, 'POISON' in os.environ, len(PREPARED))").payload == (
        b"(False, False, 1)"
    )


def test_every_child_of_every_zygote_computes_the_same(arena: Arena) -> None:
    """Hash order and unseeded random numbers included: a candidate must not depend on the process that it got."""
    program = """
    import random, statistics
    result = (hash("a"), list({"alpha", "beta", "gamma", "delta"}), random.random(),
              statistics.NormalDist().samples(2))
    """
    first = arena.run(program)
    with open_cage(ENTRY) as cage:
        second = Arena(cage).run(program)
    assert first.payload is not None
    assert first.payload == second.payload == arena.run(program).payload


def test_eight_candidates_at_once_do_not_harm_each_other(arena: Arena) -> None:
    good = "result = sum(i * i for i in range(200_000))"
    bad = ["os._exit(3)", "os.fork()", "b'x' * 10**10", "ctypes.string_at(0)"]
    ends = [CageEnd.CRASHED, CageEnd.FORBIDDEN, CageEnd.OUT_OF_MEMORY, CageEnd.CRASHED]
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(
            pool.map(arena.run, [program for pair in zip(bad, [good] * 4, strict=True) for program in pair])
        )
    assert [outcome.end for outcome in outcomes[::2]] == ends
    assert {outcome.payload for outcome in outcomes[1::2]} == {str(sum(i * i for i in range(200_000))).encode()}


def test_two_hundred_runs_leave_no_descriptor_and_no_process(arena: Arena) -> None:
    programs = ["result = 1", "os._exit(0)", "os.fork()", "1/0", "os.write(3, b'junk')"]
    arena.assert_unharmed()

    def count() -> int:
        return len(open_descriptors()) + len(descriptors_of(arena.zygote_pid))

    before = count()  # perhaps with one that the zygote is just letting go of
    for index in range(200):
        arena.run(programs[index % len(programs)])
    deadline = time.monotonic() + 60
    while (after := count()) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert after <= before
    assert children_of(arena.zygote_pid) == []


def descriptors_of(pid: int) -> set[str]:
    """Of a zygote, which is not dumpable, only root sees them; anybody else compares nothing with nothing."""
    try:
        return {entry.name for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except PermissionError:
        return set()


def test_a_killed_zygote_takes_its_jobs_along_and_is_replaced() -> None:
    with open_cage(ENTRY) as cage, ThreadPoolExecutor(2) as pool:
        arena = Arena(cage)
        running = [pool.submit(arena.run, "time.sleep(60)") for _ in range(2)]
        first = arena.zygote_pid
        children = wait_for_children(first, 2)
        arena.assert_unharmed()  # one order at a time: the host has been told that those two were started
        os.kill(first, signal.SIGKILL)
        for outcome in (future.result() for future in running):
            assert outcome.end is CageEnd.KILLED
            assert "the zygote ended by signal 9" in outcome.reason
        assert wait_until_gone(children) == []
        arena.assert_unharmed()
        assert arena.zygote_pid != first


def test_a_zygote_that_dies_between_jobs_is_replaced_without_a_word() -> None:
    with open_cage(ENTRY) as cage:
        arena = Arena(cage)
        for _ in range(2):
            os.kill(arena.zygote_pid, signal.SIGKILL)
            arena.assert_unharmed()


def test_closing_ends_running_jobs_and_leaves_nothing_behind() -> None:
    before = open_descriptors()
    with ThreadPoolExecutor(1) as pool:
        with open_cage(ENTRY) as cage:
            arena = Arena(cage)
            running = pool.submit(arena.run, "time.sleep(60)")
            pids = [arena.zygote_pid, *wait_for_children(arena.zygote_pid, 1)]
        assert running.result().end is CageEnd.KILLED
    assert wait_until_gone(pids) == []
    assert open_descriptors() == before


def test_a_closed_cage_says_so_and_closes_twice() -> None:
    cage = open_cage(ENTRY)
    cage.close()
    cage.close()
    with pytest.raises(CageClosed, match=ENTRY):
        cage.run(b"")


def test_a_forgotten_cage_ends_its_zygote() -> None:
    cage = open_cage(ENTRY)
    pid = Arena(cage).zygote_pid
    del cage
    gc.collect()
    assert wait_until_gone([pid]) == []


def test_the_thread_that_opened_a_cage_may_end() -> None:
    """The kernel's parent-death signal fires when a thread ends; a worker pool's threads do."""
    opened: list[Arena] = []
    thread = threading.Thread(target=lambda: opened.append(Arena(open_cage(ENTRY))))
    thread.start()
    thread.join()
    arena = opened[0]
    pid = arena.zygote_pid
    with arena.cage:
        arena.assert_unharmed()
        assert arena.zygote_pid == pid


def test_an_interrupted_caller_leaves_no_child() -> None:
    """Ctrl-C in the host while a job runs: the child must not go on."""
    with open_cage(ENTRY) as cage:
        arena = Arena(cage)

        is_over = threading.Event()

        def interrupt() -> None:
            wait_for_children(arena.zygote_pid, 1)
            os.kill(os.getpid(), signal.SIGINT)
            while not is_over.wait(10):  # as a person does when the first one met the interpreter in a finalizer
                os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            arena.run("time.sleep(60)")
        is_over.set()
        arena.assert_unharmed()
        assert wait_until_gone(children_of(arena.zygote_pid)) == []


HOST = """
    import sys, threading, time
    sys.path[:0] = {path!r}
    from runtime.cage import open_cage
    cage = open_cage({entry!r})
    for _ in range(3):
        threading.Thread(target=cage.run, args=(b"time.sleep(60)",), daemon=True).start()
    print(cage._zygote.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_host_leaves_no_process(end: signal.Signals) -> None:
    program = textwrap.dedent(HOST).format(path=sys.path, entry=ENTRY)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        zygote = int(host.stdout.readline())
        pids = [zygote, *wait_for_children(zygote, 3)]
        host.send_signal(end)
    assert wait_until_gone(pids) == []


def test_a_fork_of_the_host_can_neither_use_nor_end_its_cage(arena: Arena) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            arena.cage.run(b"")
        except CageClosed:
            os.write(writer, b"refused")
        finally:
            arena.cage.close()
            os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    assert select.select([reader], [], [], 20)[0]
    assert os.read(reader, 100) == b"refused"
    os.close(reader)
    arena.assert_unharmed()


@pytest.mark.parametrize(
    ("entry", "blob", "message"),
    [
        ("no_such_package.module:run", b"", "no_such_package"),
        ("cage_entries:no_such_function", b"", "no_such_function"),
        ("cage_entries.nothing:run", b"", "cage_entries"),
        (ENTRY, b"fail", "ValueError: no such data"),
        (ENTRY, b"thread", "left 2 threads"),
        (ENTRY, b"shared", "memory that children could share"),
    ],
)
def test_an_entry_that_cannot_be_loaded_is_named_with_its_reason(entry: str, blob: bytes, message: str) -> None:
    with pytest.raises(EntryFailed, match=message):
        open_cage(entry, blob)


def test_a_zygote_that_ends_while_loading_is_reported() -> None:
    with pytest.raises(CageError, match="ended with status 7"):
        open_cage(ENTRY, b"exit")


def test_a_child_that_ends_before_it_is_locked_down_is_no_fault_of_the_candidate() -> None:
    """Nothing of the job ran, so there is no outcome to hold against anyone: the caller hears of a broken cage."""
    with open_cage(ENTRY, b"no lockdown") as cage, pytest.raises(CageError, match="ended before it was locked down"):
        Arena(cage).run("result = 1")


def test_a_child_that_cannot_be_locked_down_runs_nothing() -> None:
    """The self-test holds, and then a layer fails in the child: the child refuses by itself."""
    with open_cage(ENTRY, b"no landlock") as cage, pytest.raises(CageUnavailable, match="landlock"):
        Arena(cage).run("result = 1")
    with open_cage(ENTRY, b"no landlock", mode=CageMode.REDUCED) as cage:
        assert Arena(cage).run("result = 1").payload == b"1"


def test_a_machine_that_cannot_fork_is_no_fault_of_the_candidate() -> None:
    with open_cage(ENTRY, b"no fork") as cage, pytest.raises(CageError, match="cannot fork: Resource temporarily"):
        Arena(cage).run("result = 1")


def test_a_zygote_that_hangs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_REAP_S", 0.2)
    monkeypatch.setattr(job, "_START_S", 1.5)
    monkeypatch.setattr(launch, "_STOP_S", 0.2)
    with open_cage(ENTRY) as cage, ThreadPoolExecutor(1) as pool:
        arena = Arena(cage)
        running = pool.submit(arena.run, "time.sleep(60)", CageLimits(cpu_s=1, wall_s=2))
        children = wait_for_children(arena.zygote_pid, 1)
        arena.assert_unharmed()
        os.kill(arena.zygote_pid, signal.SIGSTOP)
        outcome = running.result()
        assert outcome.end is CageEnd.TIMED_OUT
        assert "did not report" in outcome.reason
        assert wait_until_gone(children) == []
        monkeypatch.undo()
        arena.assert_unharmed()
        os.kill(arena.zygote_pid, signal.SIGSTOP)
        monkeypatch.setattr(job, "_START_S", 1.5)
        monkeypatch.setattr(launch, "_STOP_S", 0.2)
        assert arena.run("result = 1").payload == b"1"


def test_a_cage_opens_without_a_home_and_without_an_environment() -> None:
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}; from runtime.cage import open_cage\n"
        f"with open_cage({ENTRY!r}) as cage: print(cage.run(b'result = sorted(os.environ)').payload.decode())"
    )
    done = subprocess.run([sys.executable, "-c", program], env={}, capture_output=True, text=True, check=True)
    assert "HOME" not in done.stdout
    assert "PYTHONHASHSEED" in done.stdout


def test_no_secret_of_the_host_is_in_the_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIGATE_TEST_SECRET", "sesame")
    with open_cage(ENTRY) as cage:
        outcome = Arena(cage).run("result = dict(os.environ)", QUICK)
    assert outcome.payload is not None
    assert b"sesame" not in outcome.payload
    assert b"SECRET" not in outcome.payload


def test_numpy_computes_in_the_cage() -> None:
    """BLAS, large arrays, sorting, random numbers with a seed: what a kernel of ours may use."""
    program = """
    a = np.arange(250_000, dtype=np.float64).reshape(500, 500)
    b = np.linalg.inv(a + np.eye(500) * 1e6)
    c = np.sort(np.random.default_rng(7).normal(size=2_000_000))
    result = (round(float((a @ b).sum()), 6), round(float(c.std()), 3), float(np.nanmax(c)) == float(c[-1]))
    """
    with open_cage(ENTRY, b"numpy") as cage:
        outcome = Arena(cage).run(program, CageLimits(memory_mib=256))
    assert outcome.end is CageEnd.FINISHED, outcome
    assert outcome.payload is not None
    assert outcome.payload.endswith(b"1.0, True)")


def test_a_package_of_the_same_name_elsewhere_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of our packages exist on the public index, and a person's folder may hold anything."""
    impostor = tmp_path / "runtime"
    impostor.mkdir()
    (impostor / "__init__.py").write_text("raise SystemExit('an impostor was imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with open_cage(ENTRY) as cage:
        Arena(cage).assert_unharmed()
