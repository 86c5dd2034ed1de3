"""Programs that want out, with everything Python and ctypes offer: what they get, and what they do not reach.

These run without any gate in front, in the full cage. Each is judged by its effect outside, not by how it ends alone.
"""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cage_arena import ENTRY, QUICK, Arena, open_broken_cage

from runtime.cage import CageEnd, CageLimits, CageOutcome, open_cage
from runtime.cage.job import Job
from runtime.cage.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "the canary sings"
FORBIDDEN = {
    "read a file": "result = open({canary!r}).read()",
    "read its own environment": "result = open('/proc/self/environ').read()",
    "read the host's memory map": "result = open('/proc/{host}/maps').read()",
    "write a file": "open({loot!r}, 'w').write('x')",
    "append to a file": "open({canary!r}, 'a').write('x')",
    "truncate a file": "os.truncate({canary!r}, 0)",
    "remove a file": "os.remove({canary!r})",
    "rename a file": "os.rename({canary!r}, {loot!r})",
    "change a mode": "os.chmod({canary!r}, 0o777)",
    "make a folder": "os.mkdir({loot!r})",
    "make a link": "os.symlink({canary!r}, {loot!r})",
    "list a folder": "result = os.listdir('/')",
    "look at a file": "result = os.stat({canary!r}).st_size",
    "change its folder": "os.chdir('/')",
    "change its root": "os.chroot('/')",
    "open a memory file": "os.memfd_create('x')",
    "make a pipe": "os.pipe()",
    "copy a descriptor": "os.dup(3)",
    "connect by TCP": "socket.create_connection(('127.0.0.1', {tcp_port}))",
    "send by UDP": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp_port}))",
    "open a unix socket": "socket.socket(socket.AF_UNIX).connect('\\0trigate')",
    "open a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "resolve a name": "socket.getaddrinfo('localhost', 80)",
    "fork": "os.fork()",
    "fork again and again": "while True: os.fork()",
    "start a program": "subprocess.run(['/bin/true'])",
    "start a shell": "os.system('true')",
    "replace itself": "os.execv('/bin/true', ['true'])",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {{}})",
    "start a thread": "import _thread; _thread.start_new_thread(print, ())",
    "start many threads": "[threading.Thread(target=time.sleep, args=(9,)).start() for _ in range(999)]",
    "leave its session": "os.setsid()",
    "join another group": "os.setpgid(0, 0)",
    "kill its host": "os.kill({host}, 9)",
    "kill its zygote": "os.kill(os.getppid(), 9)",
    "kill everything": "os.kill(-1, 9)",
    "kill its group": "os.killpg(0, 9)",
    "kill itself": "os.kill(os.getpid(), 9)",
    "stop itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "set an alarm": "signal.alarm(1)",
    "raise its limits": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "become root": "os.setuid(0)",
    "change its priority": "os.nice(-5)",
    "lock memory": "libc.mlockall(3)",
    "map executable memory": "mmap.mmap(-1, 4096, prot=mmap.PROT_EXEC)",
    "make memory executable": "libc.mprotect(libc_address(), 4096, 7)",
    "trace its parent": "libc.ptrace(16, os.getppid(), 0, 0)",
    "ask to be traced": "libc.ptrace(0, 0, 0, 0)",
    "read its parent's memory": "libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0)",
    "change its dumpability": "libc.prctl(4, 1, 0, 0, 0)",
    "unshare": "libc.unshare(0x10000000)",
    "mount": "libc.mount(b'none', b'/', b'tmpfs', 0, None)",
    "load a filter of its own": "libc.prctl(22, 2, 0, 0, 0)",
    "use io_uring": "libc.syscall(425, 8, 0)",
    "use bpf": "libc.syscall(321, 0, 0, 0)",
    "use clone3": "libc.syscall(435, 0, 0)",
    "use userfaultfd": "libc.syscall(323, 0)",
    "use keyctl": "libc.syscall(250, 0, 0)",
    "use pidfd_open": "libc.syscall(434, os.getpid(), 0)",
    "share memory": "libc.shmget(0, 4096, 0o1600)",
    "write to a descriptor it has not": "os.write(7, b'x')",
    "read from the result pipe": "os.read(3, 1)",
    "read from its input": "os.read(0, 1)",
    "ask for real randomness": "os.urandom(8)",
    "requeue a futex": "libc.syscall(202 if {x86} else 98, libc_address(), 3, 0, 0, 0, 0)",
}
PRELUDE = """
libc = ctypes.CDLL(None)
libc_address = lambda: ctypes.c_void_p(ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095)
"""


class Surroundings:
    """What lies around the cage for a candidate to reach for."""

    def __init__(self, folder: Path) -> None:
        self.canary = folder / "canary"
        self.canary.write_text(SECRET)
        self.canary.chmod(0o666)
        folder.chmod(0o777)
        self.loot = folder / "loot"
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(type=socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))

    def fill(self, program: str) -> str:
        return PRELUDE + program.format(
            canary=str(self.canary),
            loot=str(self.loot),
            host=os.getpid(),
            tcp_port=self.tcp.getsockname()[1],
            udp_port=self.udp.getsockname()[1],
            x86=platform.machine() == "x86_64",
        )

    def assert_untouched(self, outcome: CageOutcome) -> None:
        assert SECRET.encode() not in (outcome.payload or b"")
        assert self.canary.read_text() == SECRET
        assert self.canary.stat().st_mode & 0o777 == 0o666
        assert not self.loot.exists()
        for listener in (self.tcp, self.udp):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept() if listener is self.tcp else listener.recv(1)

    def close(self) -> None:
        self.tcp.close()
        self.udp.close()


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    folder = tmp_path_factory.mktemp("around")
    for parent in folder.parents:  # everybody may come in: only the cage is to keep the candidate out
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o111)
    around = Surroundings(folder)
    yield around
    around.close()


@pytest.mark.parametrize("program", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_what_is_not_computing_is_forbidden(arena: Arena, surroundings: Surroundings, program: str) -> None:
    zygote = arena.zygote_pid
    outcome = arena.run(surroundings.fill(program))
    assert outcome.end is CageEnd.FORBIDDEN, outcome.reason
    surroundings.assert_untouched(outcome)
    arena.assert_unharmed()
    assert arena.zygote_pid == zygote


def test_a_conversing_child_is_held_in_the_same_way(arena: Arena, surroundings: Surroundings) -> None:
    """Every evaluation and every proof run is a conversation, whose filter lets through one read more."""
    ends = {}
    for name, program in FORBIDDEN.items():
        with arena.cage.converse(surroundings.fill(program).encode(), QUICK) as talk:
            outcome = talk.receive()
            assert isinstance(outcome, CageOutcome)
            surroundings.assert_untouched(outcome)
            ends[name] = outcome.end
    assert set(ends.values()) == {CageEnd.FORBIDDEN}, ends
    arena.assert_unharmed()


LANDLOCK_HOLDS = ["read a file", "write a file", "append to a file", "truncate a file", "remove a file", "rename a file",
                  "make a folder", "make a link", "list a folder", "connect by TCP", "kill its host", "kill its zygote"]  # fmt: skip


@pytest.mark.parametrize("name", LANDLOCK_HOLDS)
def test_landlock_holds_where_seccomp_is_gone(surroundings: Surroundings, bare_arena: Arena, name: str) -> None:
    """The second lock on the same door: without the filter, the empty root and the ban on new descriptors."""
    gone = (Layer.SECCOMP, Layer.NEW_DESCRIPTORS)
    outcome = bare_arena.run_without(surroundings.fill(FORBIDDEN[name]), *gone)
    assert outcome.end is CageEnd.CRASHED
    assert "PermissionError" in outcome.reason
    surroundings.assert_untouched(outcome)


@pytest.fixture(scope="module")
def bare_arena() -> Iterator[Arena]:
    with open_broken_cage(Layer.NAMESPACES) as cage:
        yield Arena(cage)


def test_without_its_locks_the_door_is_open(surroundings: Surroundings, bare_arena: Arena) -> None:
    """The proof that the tests above test something: the same programs get through where nothing holds them."""
    gone = (Layer.SECCOMP, Layer.NEW_DESCRIPTORS, Layer.LANDLOCK)
    outcome = bare_arena.run_without(surroundings.fill(FORBIDDEN["read a file"]), *gone)
    assert SECRET.encode() in (outcome.payload or b"")
    outcome = bare_arena.run_without(surroundings.fill(FORBIDDEN["send by UDP"]), *gone)
    assert outcome.end is CageEnd.FINISHED
    surroundings.udp.settimeout(20)
    assert surroundings.udp.recv(1) == b"x"
    outcome = bare_arena.run_without(surroundings.fill("result = os.fork() > 0 or os._exit(0)"), *gone)
    assert outcome.payload == b"True"


def test_without_a_filter_the_root_is_still_empty(arena: Arena, surroundings: Surroundings) -> None:
    gone = (Layer.SECCOMP, Layer.NEW_DESCRIPTORS, Layer.LANDLOCK)
    if arena.run_without("result = os.listdir('/')", *gone).payload != b"[]":
        pytest.skip("this system does not let us have namespaces, which are a bonus")
    outcome = arena.run_without(surroundings.fill(FORBIDDEN["read a file"]), *gone)
    assert "FileNotFoundError" in outcome.reason
    outcome = arena.run_without(surroundings.fill(FORBIDDEN["send by UDP"]), *gone)
    assert outcome.end is CageEnd.CRASHED
    surroundings.assert_untouched(outcome)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other interfaces to the kernel exist on x86-64 only")
def test_the_other_interfaces_of_the_kernel_are_forbidden(arena: Arena) -> None:
    """x32 numbers and 32-bit ``int 0x80`` mean other calls than the filter's numbers do."""
    for number in (39, 59, 520, 1):
        program = f"ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | {number}), 3, 0, 0)"
        assert arena.run(program).end is CageEnd.FORBIDDEN
    with open_cage(ENTRY, b"native code") as cage:
        native = Arena(cage)
        for number in (20, 4, 11):  # getpid, write, execve: the 64-bit numbers of other, allowed calls
            assert native.run(f"compatibility_call({number}, 3, 0)").end is CageEnd.FORBIDDEN
        assert native.run_without("result = compatibility_call(20, 0, 0) == os.getpid()", Layer.SECCOMP).end in {
            CageEnd.FINISHED,
            CageEnd.CRASHED,  # a kernel without 32-bit support
        }


SPENDERS = {
    "a loop": "while True: pass",
    "one long operation": "10 ** 10 ** 8",
    "a loop inside C": "any(map(abs, iter(int, 1)))",
    "a blocked SIGXCPU": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXCPU])\nwhile True: pass",
}


@pytest.mark.slow
def test_cpu_is_limited_whatever_spends_it(arena: Arena) -> None:
    with ThreadPoolExecutor(len(SPENDERS)) as pool:
        outcomes = dict(zip(SPENDERS, pool.map(arena.run, SPENDERS.values()), strict=True))
    for name, outcome in outcomes.items():
        assert outcome.end is CageEnd.CPU_EXCEEDED, (name, outcome)
        assert 0.5 <= outcome.cpu_s <= 2.5, name  # the kernel enforces by its tick and reports by its clock
        assert "1 s of CPU" in outcome.reason
    arena.assert_unharmed()


def test_a_handler_for_the_cpu_signal_cannot_be_installed(arena: Arena) -> None:
    assert "PermissionError" in arena.run("signal.signal(signal.SIGXCPU, signal.SIG_IGN)").reason


@pytest.mark.parametrize("program", ["time.sleep(60)", "l = threading.Lock(); l.acquire(); l.acquire()"])
def test_waiting_ends_at_the_wall_timer(arena: Arena, program: str) -> None:
    outcome = arena.run(program, CageLimits(cpu_s=1, wall_s=0.3))
    assert outcome.end is CageEnd.TIMED_OUT
    assert "0.3 s of wall time" in outcome.reason
    assert outcome.wall_s >= 0.3


def test_waiting_for_a_processor_does_not_count(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not turn a slow candidate into a timed-out one; yet even the busiest has an end."""
    monkeypatch.setattr(Job, "_waited_s", lambda _: 1e9)
    assert arena.run("time.sleep(1)", CageLimits(cpu_s=1, wall_s=0.5)).end is CageEnd.FINISHED
    outcome = arena.run("time.sleep(60)", CageLimits(cpu_s=1, wall_s=0.2))
    assert outcome.end is CageEnd.TIMED_OUT
    assert outcome.wall_s >= 2


@pytest.mark.parametrize(
    "program",
    [
        "b'x' * 10**10",
        "'x' * 10**8",
        "x = []\nwhile True: x.append(bytes(100_000))",
        "x = []\nwhile True: x.append(object())",
        "x = 'y'\nwhile True: x += x",
        "mmap.mmap(-1, 1 << 30)\nraise MemoryError",
        "x = [None]\nwhile True: x *= 2",
    ],
)
def test_memory_is_limited_in_large_and_in_small_steps(arena: Arena, program: str) -> None:
    outcome = arena.run(program)
    assert outcome.end in {CageEnd.OUT_OF_MEMORY, CageEnd.CRASHED}, outcome
    if outcome.end is CageEnd.CRASHED:  # the anonymous map is refused with ENOMEM, as an OSError
        assert program.startswith("mmap")
    arena.assert_unharmed()


def test_a_candidate_may_survive_its_own_memory_error(arena: Arena) -> None:
    program = """
    try:
        b"x" * 10**10
    except MemoryError:
        result = b"went on"
    """
    assert arena.run(program).payload == b"went on"


CRASHES = {
    "leaves at once": ("os._exit(0)", "exit status 0"),
    "leaves with a status": ("os._exit(99)", "exit status 99"),
    "raises": ("raise ValueError('a text of its own')", "ValueError"),
    "exits": ("sys.exit(0)", "SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "raises a class of its own": ("class Harmless(LookupError): pass\nraise Harmless('x')", "LookupError"),
    "recurses": ("f = lambda: f()\nf()", "RecursionError"),
    "recurses in C": ("x = ()\nfor _ in range(3 * 10**5): x = (x,)\nhash(x)", "SIGSEGV"),
    "dereferences null": ("ctypes.string_at(0)", "SIGSEGV"),
    "aborts": ("os.abort()", "SIG"),
    "aborts in malloc": ("libc.free(ctypes.c_void_p(ctypes.addressof(ctypes.create_string_buffer(64)) + 8))", "SIG"),
    "aborts the interpreter": ("ctypes.pythonapi.Py_FatalError(b'over')", "SIG"),
    "answers with something else": ("class B(bytes): pass\nresult = B()\n__builtins__['repr'] = lambda _: None", ""),
    "imports something new": ("import sqlite3", "ModuleNotFoundError"),
    "uses an unknown codec": ("'x'.encode('ebcdic')", "LookupError"),
    "closes its result": ("os.close(3)", "OSError"),
}


@pytest.mark.parametrize(("program", "reason"), CRASHES.values(), ids=CRASHES.keys())
def test_a_crash_is_a_crash_with_its_reason(arena: Arena, program: str, reason: str) -> None:
    outcome = arena.run(PRELUDE + program)
    assert outcome.end is CageEnd.CRASHED, outcome
    assert reason in outcome.reason
    assert "a text of its own" not in outcome.reason
    arena.assert_unharmed()


def test_what_a_candidate_prints_goes_nowhere(arena: Arena, capfd: pytest.CaptureFixture[str]) -> None:
    program = "print('hello')\nprint('hello', file=sys.__stderr__)\nimport warnings; warnings.warn('hello')"
    assert arena.run(program).payload == b"done"
    with pytest.MonkeyPatch.context():
        arena.run("os.write(1, b'hello')")
        arena.run("os.write(2, b'hello')")
    assert capfd.readouterr() == ("", "")


HEAD = "import struct, zlib\nhead = struct.pack('<4sBQ', b'TGF1', {kind}, {length})\n"
TAIL = "tail = struct.pack('<I4s', zlib.crc32(b'forged', zlib.crc32(head)), b'TGF.')\n"
FORGERIES = {
    "junk": ("os.write(3, b'junk')", CageEnd.BROKEN_RESULT),
    "nothing but a head": (HEAD + "os.write(3, head); os._exit(0)", CageEnd.BROKEN_RESULT),
    "half a head": (HEAD + "os.write(3, head[:7]); os._exit(0)", CageEnd.BROKEN_RESULT),
    "a huge length": (HEAD.replace("{length}", "2**63") + "os.write(3, head)", CageEnd.FLOODED),
    "an endless stream": ("while True: os.write(3, bytes(65536))", CageEnd.BROKEN_RESULT),
    "an endless payload": (
        HEAD.replace("{length}", "2**20") + "os.write(3, head)\nwhile True: os.write(3, bytes(65536))",
        CageEnd.BROKEN_RESULT,
    ),
    "an unknown kind": (HEAD.replace("{kind}", "77") + "os.write(3, head)", CageEnd.BROKEN_RESULT),
    "a message": (HEAD.replace("{kind}", "4") + TAIL + "os.write(3, head + b'forged' + tail)", CageEnd.BROKEN_RESULT),
    "a wrong checksum": (HEAD + TAIL + "os.write(3, head + b'forget' + tail)", CageEnd.BROKEN_RESULT),
    "two results": (HEAD + TAIL + "os.write(3, head + b'forged' + tail)", CageEnd.BROKEN_RESULT),
    "a result and a byte": (HEAD + TAIL + "os.write(3, head + b'forged' + tail + b'x')", CageEnd.BROKEN_RESULT),
    "a result and a crash": (HEAD + TAIL + "os.write(3, head + b'forged' + tail); os._exit(1)", CageEnd.CRASHED),
    "a result and a sleep": (HEAD + TAIL + "os.write(3, head + b'forged' + tail); time.sleep(60)", CageEnd.TIMED_OUT),
    "too long a result": ("result = b'x' * (2**20 + 1)", CageEnd.FLOODED),
    "a claim to be out of memory": ("raise MemoryError", CageEnd.OUT_OF_MEMORY),
}


@pytest.mark.parametrize(("program", "end"), FORGERIES.values(), ids=FORGERIES.keys())
def test_what_breaks_the_protocol_is_no_result(arena: Arena, program: str, end: CageEnd) -> None:
    filled = program.replace("{kind}", "1").replace("{length}", "6")
    outcome = arena.run(filled, CageLimits(cpu_s=1, wall_s=1.5, memory_mib=64, result_bytes=1 << 20))
    assert outcome.end is end, outcome
    arena.assert_unharmed()


def test_a_candidate_with_native_control_can_forge_its_own_result_and_no_other(arena: Arena) -> None:
    """The limit of the cage, on purpose in the tests: what comes out is a claim, and the proof run is there for it."""
    forge = (HEAD + TAIL).replace("{kind}", "1").replace("{length}", "6")
    outcome = arena.run(forge + "os.write(3, head + b'forged' + tail); os._exit(0)")
    assert outcome.payload == b"forged"
    arena.assert_unharmed()


def test_an_error_name_that_is_no_error_is_not_repeated(arena: Arena) -> None:
    program = """
    import struct, zlib
    name = b"\\x1b[31mprint"
    head = struct.pack("<4sBQ", b"TGF1", 3, len(name))
    os.write(3, head + name + struct.pack("<I4s", zlib.crc32(name, zlib.crc32(head)), b"TGF."))
    os._exit(0)
    """
    outcome = arena.run(program)
    assert outcome.end is CageEnd.CRASHED
    assert "print" not in outcome.reason


def test_the_child_never_returns_into_the_zygote(arena: Arena) -> None:
    """Even one that has replaced the way out."""
    program = "os._exit = lambda status: None\nos.write = lambda *_: 0\nraise SystemExit"
    before = arena.zygote_pid
    assert arena.run(program).end is CageEnd.CRASHED
    arena.assert_unharmed()
    assert arena.zygote_pid == before


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="already an ordinary user")
def test_it_holds_for_an_ordinary_user_too(tmp_path: Path) -> None:
    """The whole file again under another uid; without the right to read the interpreter, that one right is lent."""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o111)
    lend = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    done = subprocess.run(
        [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *lend,
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", "not cpu_is_limited", f"--basetemp={tmp_path / 'inner'}", __file__,
        ],
        env={"PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ.get("PATH", "")},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
