"""A batch in which three of ten candidates misbehave as badly as they can: the others must not notice."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gate_corpus import benign_files, text
from ungated_entries import SIDE_DOOR

from evolution.seeds import seed_sources
from gates import Admitted, evaluate
from gates.admit import _ask, _bars_of
from gates.wire import Job, encode_bars
from runtime.cage import CageEnd, CageLimits, open_cage
from runtime.kernel import RunConfig
from runtime.source import StrategySource

pytestmark = pytest.mark.slow

WORKERS = 4
LIMITS = CageLimits(cpu_s=1, wall_s=10, memory_mib=64, result_bytes=1 << 20)
BAD = {
    "loops": text("while True: pass"),
    "loops in load": text("pass", above="while True: pass"),
    "eats memory": text("x = []\nwhile True: x.append([0] * 100_000)"),
    "asks for too much": text("while True: self.buy(1)"),
    "forks": b"import os\nwhile True: os.fork()",
    "forks once and goes on": b"import os\nos.fork()\nwhile True: pass",
    "eats memory behind C's back": b"import mmap\nx = []\nwhile True: x.append(mmap.mmap(-1, 1 << 20)); x[-1].write(bytes(1 << 20))",
    "floods its output": b"while True: line.send(bytes(100_000))",
    "floods its output in one piece": b"line.send(bytes(1 << 24))",
    "kills itself": b"import os\nos.kill(os.getpid(), 9)",
    "kills everybody": b"import os\nos.kill(-1, 9)",
    "crashes": b"import ctypes\nctypes.string_at(0)",
    "sleeps": b"import time\ntime.sleep(3600)",
    "leaves without a word": b"import os\nos._exit(0)",
}  # fmt: skip


@pytest.fixture(scope="module")
def open_side_door(smoke, canary):
    assert canary.is_dir()
    with open_cage("ungated_entries:run", encode_bars({"smoke": smoke})) as cage:
        _bars_of[cage] = {"smoke": smoke}
        yield cage


def result_of(evaluation):
    """All that a score is made of, to the last bit."""
    (report,) = evaluation.reports
    return report.equity.tobytes(), report.order_log, report.fills, report.trades, report.log, report.first_tradable_bar


def test_good_candidates_get_in_company_what_they_get_alone(open_side_door, smoke_cell):
    cage = open_side_door
    good = dict([*seed_sources(), *benign_files()][:30])

    def score(source):
        return evaluate(source, cage, [smoke_cell], RunConfig(), LIMITS)

    def misbehave(source):
        if isinstance(source, StrategySource):
            return score(source).outcome
        return _ask(cage, Job(source=SIDE_DOOR + source, class_name="S"), [], LIMITS).outcome

    alone = {name: result_of(score(source)) for name, source in good.items()}
    assert len(set(alone.values())) > 20, "the results tell them apart"
    batch = [(name, score, source) for name, source in good.items()]
    batch += [(name, misbehave, source) for name, source in BAD.items()]
    assert len(BAD) / len(batch) >= 0.3
    random.Random(3).shuffle(batch)

    zygote, began = cage._zygote.pid, time.monotonic()
    with ThreadPoolExecutor(WORKERS) as workers:
        found = dict(workers.map(lambda one: (one[0], one[1](one[2])), batch))
    elapsed_s = time.monotonic() - began

    for name in good:
        assert isinstance(found[name].verdict, Admitted), name
        assert result_of(found[name]) == alone[name], name
    ends = {name: found[name].end for name in BAD}
    # A MemoryError of a candidate's own is caught at its hook, and the child lives to say so.
    assert [name for name, end in ends.items() if end is CageEnd.FINISHED] in ([], ["eats memory"]), ends
    assert ends["kills itself"] is CageEnd.FORBIDDEN
    assert ends["floods its output in one piece"] is CageEnd.FLOODED
    assert cage._zygote.pid == zygote, "and nobody had to start again"
    assert elapsed_s <= len(batch) * LIMITS.wall_s / WORKERS


def test_the_cpu_that_a_bad_candidate_burns_is_its_own_limit(open_side_door):
    """Not twice or three times: nobody asks again to find out where it was."""
    spent = [
        _ask(open_side_door, Job(source=source.data, class_name="S"), [], LIMITS).outcome.cpu_s
        for source in (BAD["loops"], BAD["loops in load"])
    ]
    assert np.all(np.array(spent) < 1 + 1.5)  # the kernel kills a second after the limit at the latest
