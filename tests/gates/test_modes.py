"""The hostile corpus in four modes: everything on, the gates alone, the cage alone, and the cage with one layer gone.

No mode may show an effect: a canary file, the secret in anything that comes out, a datagram, a process that outlives its
job, or another answer of an ordinary candidate. The whole file runs again as an ordinary user.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from bare_entries import tell
from gate_corpus import hostile_files
from gate_entries import ask
from victims import SECRET, VICTIM

from gates import Rejected, evaluate
from gates.admit import _bars_of
from gates.wire import encode_bars
from runtime.cage import Cage, CageEnd, CageLimits, CageMode, CageUnavailable
from runtime.cage.launch import ZygoteSpec
from runtime.cage.layers import Layer, mask_of
from runtime.kernel import RunConfig

pytestmark = pytest.mark.slow

# Those that only spend time and memory have no other effect to look for; ``test_corpus`` has them.
HOSTILE = [each for each in hostile_files() if each.expected != "cage"]
LIMITS = CageLimits(cpu_s=1, wall_s=10, result_bytes=1 << 20)

# What is left when the gates stand alone: an ordinary process of an ordinary user, with limits so that it ends.
ORDINARY = frozenset({Layer.UID, Layer.PARENT_DEATH, Layer.MEMORY, Layer.CPU, Layer.WALL})
NO_CAGE = frozenset(Layer) - ORDINARY

# How those end in a full cage that reach for something.
ENDS_OF_ATTEMPTS = {CageEnd.FORBIDDEN, CageEnd.CRASHED}


class Surroundings:
    """What a candidate could have an effect on."""

    def __init__(self, folder, listener):
        self.folder = folder
        self._listener = listener

    @property
    def environment(self):
        return {"CANARY_DIR": str(self.folder), "CANARY_SECRET": SECRET}

    def effects(self, said: bytes) -> list[str]:
        found = [f"wrote {path.name}" for path in self.folder.iterdir()]
        found += [f"said {word!r}" for word in (SECRET.encode(), b"UDP-SENT", b"SHM") if word in said]
        if self._listener is not None:
            with contextlib.suppress(BlockingIOError):
                found.append(f"sent {self._listener.recv(100)!r}")
        return found


@pytest.fixture(scope="module")
def around():
    # Not one of pytest's own folders, which nobody but us may enter: only gates and cage are to keep the candidate out.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield from _surroundings(folder)


def _surroundings(folder):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.setblocking(False)
        try:
            listener.bind(("127.0.0.1", 9))  # where the corpus sends
        except OSError:
            yield Surroundings(folder, None)
        else:
            yield Surroundings(folder, listener)


def processes_of(cage):
    """Whatever lives beside a cage's zygote and the child that waits for the next job: nothing, after a job.

    A zygote's children and grandchildren have the command line of their ancestor.
    """
    expected = {cage._zygote.pid} | ({cage._standby.pid} if cage._standby else set())
    return set(processes_like(cage._zygote.pid)) - expected


def processes_like(pid):
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes() == command:
                found.append(int(folder.name))
    return found


def said_by(evaluation) -> bytes:
    """All words that come out of an evaluation."""
    verdict = evaluation.verdict
    words = [found.message + found.hint for found in verdict.findings] if isinstance(verdict, Rejected) else []
    words += [evaluation.outcome.reason] if evaluation.outcome else []
    for report in evaluation.reports:
        words += [*report.log, *(entry.action for entry in report.order_log), repr(report.failure)]
        words += [refusal.reason for refusal in report.refused]
    return "\n".join(words).encode()


def through_the_gates(cage, around, cell):
    """Run the corpus; all effects by file, and what an ordinary candidate does before and after."""

    def victim():
        (report,) = evaluate(VICTIM, cage, [cell], RunConfig()).reports
        return report.order_log, report.log, tuple(report.equity)

    before, found = victim(), {}
    for hostile in HOSTILE:
        effects = around.effects(said_by(evaluate(hostile.source, cage, [cell], RunConfig(), LIMITS)))
        if effects:
            found[hostile.id] = effects
    assert victim() == before
    assert processes_of(cage) == set()
    return found


def test_everything_on(cage, around, smoke_cell):
    assert through_the_gates(cage, around, smoke_cell) == {}


def test_the_gates_alone(around, smoke, smoke_cell):
    blob = tell(around.environment, encode_bars({"smoke": smoke}))
    spec = ZygoteSpec(entry="bare_entries:run", blob=blob, mode=CageMode.FULL, skip=mask_of(NO_CAGE))
    with Cage(spec) as cage:
        _bars_of[cage] = {"smoke": smoke}
        assert through_the_gates(cage, around, smoke_cell) == {}


def attempt(cage, around, hostile):
    """Run one file with no gate in front; how it ended, and its effects."""
    outcome = cage.run(ask(hostile.source.data, str(around.folder)), LIMITS)
    return outcome.end, around.effects(outcome.payload or b"")


@pytest.fixture(scope="module")
def open_gates():
    """A cage whose children run any text with real builtins and real modules."""
    with Cage(ZygoteSpec(entry="gate_entries:run", blob=b"", mode=CageMode.FULL)) as cage:
        yield cage


@pytest.fixture(scope="module")
def cage_alone(open_gates, around):
    return {hostile.id: attempt(open_gates, around, hostile) for hostile in HOSTILE}


def test_the_cage_alone(cage_alone, open_gates):
    assert {name: effects for name, (_, effects) in cage_alone.items() if effects} == {}
    assert processes_of(open_gates) == set()
    ends = [end for end, _ in cage_alone.values()]
    assert ends.count(CageEnd.FINISHED) > 200, "it runs what is harmless"
    assert ends.count(CageEnd.FORBIDDEN) >= 20


@pytest.mark.parametrize("layer", [layer for layer in Layer if layer is not Layer.NO_NEW_PRIVS], ids=lambda x: x.value)
def test_the_cage_with_one_layer_gone(layer, cage_alone, around):
    """Behind every layer there is another one."""
    attempts = [hostile for hostile in HOSTILE if cage_alone[hostile.id][0] in ENDS_OF_ATTEMPTS]
    assert len(attempts) >= 25
    spec = ZygoteSpec(entry="gate_entries:run", blob=b"", mode=CageMode.FULL, skip=mask_of([layer]))
    with Cage(spec) as cage:
        found = {hostile.id: attempt(cage, around, hostile) for hostile in attempts}
        assert {name: effects for name, (_, effects) in found.items() if effects} == {}
        assert processes_of(cage) == set()
    if layer is Layer.SECCOMP:
        assert CageEnd.FORBIDDEN not in {end for end, _ in found.values()}, "so it was others that held them"


def test_without_the_one_that_all_others_stand_on_nothing_is_run(around):
    spec = ZygoteSpec(entry="gate_entries:run", blob=b"", mode=CageMode.FULL, skip=mask_of([Layer.NO_NEW_PRIVS]))
    with Cage(spec) as cage, pytest.raises(CageUnavailable, match="landlock"):
        attempt(cage, around, HOSTILE[0])


WRITES = b"""
class S(Strategy):
    def on_bar(self, bar):
        import os
        open(os.environ["CANARY_DIR"] + "/proof", "w").close()
        self.log(os.environ.get("CANARY_SECRET", ""))
"""


def test_an_effect_would_be_seen(around):
    """The same kind of program, where neither gates nor cage are in the way."""
    spec = ZygoteSpec(entry="gate_entries:run", blob=b"", mode=CageMode.FULL, skip=mask_of(NO_CAGE))
    with Cage(spec) as cage:
        outcome = cage.run(ask(WRITES, str(around.folder)), LIMITS)
        assert outcome.end is CageEnd.FINISHED
    assert around.effects(SECRET.encode() + outcome.payload) == ["wrote proof", f"said {SECRET.encode()!r}"]
    (around.folder / "proof").unlink()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="already an ordinary user")
def test_the_same_as_an_ordinary_user(tmp_path):
    """The whole file again under another uid; without the right to read the interpreter, that one right is lent."""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o111)
    lend = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    done = subprocess.run(
        [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *lend,
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'inner'}", __file__,
        ],
        env={"PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ.get("PATH", "")},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
