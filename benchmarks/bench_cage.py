"""What a candidate costs in the cage: `python benchmarks/bench_cage.py [--rounds N]`.

Each round times every line once, so that a busy machine moves the absolute figures more than the ratios; medians over the
rounds and over the six seeds are printed, beside the CPU time that does not depend on what else runs.

- *candidate*: a warm candidate through the gates, the fast cage and 2,500 bars of the built-in set with the planted edge: text
  to checked report.
- *buy and hold*: the benchmark on the same bars, which a night runs once per cell.
- *bare child*: order, fork, full lockdown, nothing, exit. What no candidate can be cheaper than.
- *fresh interpreter*: the same candidate in a new Python that imports numpy and TA-Lib first, with no cage.
- *proof host*: the same run with the books in this process, one pipe round trip per bar.
- *memory*: what a live child has to itself, half-way through its bars. Only root can look.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from evolution.seeds import seed_sources
from gates import CellJob, Evaluation, evaluate, open_gate_cage, open_proof_cage, prove, same_orders
from gates.admit import judge_text
from gates.wire import Job, Seat, encode_bars, encode_job, encode_seat
from runtime.cage import CageEnd, CageLimits
from runtime.kernel import RemoteHost, RunConfig, RunLimits, buy_and_hold, run_host
from runtime.market import open_dataset
from runtime.source import StrategySource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runtime.cage import Cage
    from runtime.desk import Moment, Request
    from runtime.kernel import Account, Failure
    from runtime.market import Bars
    from runtime.model import Fill

WARM_UP, BARS = 250, 2_500
CELL = CellJob(key="X", start=WARM_UP, stop=WARM_UP + BARS, warmup=WARM_UP)
LIMITS = CageLimits(cpu_s=10, wall_s=60)
FRESH = """
import sys
from pathlib import Path
import numpy
import runtime.indicators
from gates import inside
from gates.admit import judge_text
from gates.wire import decode_bars, decode_job
from runtime.kernel import decode_report
from runtime.source import StrategySource
blob, job = (Path(name).read_bytes() for name in sys.argv[1:3])
inside._WARM_UPS = 0
inside.prepare(blob)
order, said = decode_job(job), []
judge_text(StrategySource(order.source))
inside._judge(order, said.append)
(cell,) = order.cells
decode_report(said[2], cell.bars(decode_bars(blob)[cell.key]), order.config.__class__(start=cell.warmup))
"""


@dataclass
class Line:
    """The times of one thing, in seconds."""

    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Of this process and of the child."""

    def add(self, action: Callable[[], float]) -> None:
        """Time ``action``, which gives the CPU seconds of its child."""
        own, start = time.process_time(), time.perf_counter()
        child = action()
        self.wall.append(time.perf_counter() - start)
        self.cpu.append(time.process_time() - own + child)

    def show(self) -> str:
        """One row of the table, in milliseconds."""
        wall, cpu = statistics.median(self.wall) * 1e3, statistics.median(self.cpu) * 1e3
        return f"{self.name:42s} {wall:9.2f} ms wall {min(self.wall) * 1e3:9.2f} at best {cpu:9.2f} ms CPU"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as home:
        dataset = open_dataset("planted-edge", Path(home))
        bars = next(iter(dataset.bars.values()))
        large = dict(open_dataset("us-large-caps", Path(home)).train_bars())
    with open_gate_cage({CELL.key: bars}) as cage, open_proof_cage() as proof_cage:
        lines = measure(cage, proof_cage, bars, rounds)
        print(*(line.show() for line in lines.values()), sep="\n")
        print_ratios(lines)
        print(f"a child's own memory, proof host {memory_in_proof(proof_cage, bars)}")
    with open_gate_cage(large) as cage:
        print(f"a child's own memory, fast host with the built-in bars {memory_in_run(cage, large)}")


def measure(cage: Cage, proof_cage: Cage, bars: Bars, rounds: int) -> dict[str, Line]:
    """All lines, one after the other in each round."""
    names = (
        "candidate",
        "buy and hold",
        "bare child",
        "fresh interpreter",
        "proof host",
        "bare pipe, 2,500 round trips",
    )
    lines = {name: Line(name) for name in names}
    run, cell_bars, sources = RunConfig(), CELL.bars(bars), [source for _, source in seed_sources()]
    rows, blob = cell_bars.rows(), encode_bars({CELL.key: bars})

    def candidate(source: StrategySource) -> float:
        evaluation = evaluate(source, cage, [CELL], run, LIMITS)
        assert len(evaluation.reports) == 1, evaluation.outcome
        return cpu_of(evaluation)

    def proven(source: StrategySource) -> float:
        return cpu_of(prove(source, proof_cage, {CELL.key: bars}, [CELL], run, limits=LIMITS))

    def benchmark() -> float:
        buy_and_hold(cell_bars, RunConfig(start=WARM_UP), first_tradable_bar=WARM_UP, rows=rows)
        return 0.0

    check_equal(cage, proof_cage, bars, sources)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            source = sources[number % len(sources)]
            candidate(source)  # the lines of the round before have left the caches cold: a night does not
            for each in sources:
                # Another text each time: a verdict on the same one is remembered.
                lines["candidate"].add(partial(candidate, StrategySource(each.data + b"\n# round %d\n" % number)))
            lines["buy and hold"].add(benchmark)
            for _ in sources:
                lines["bare child"].add(partial(bare, proof_cage))
            lines["bare pipe, 2,500 round trips"].add(partial(bare_pipe, BARS))
            lines["proof host"].add(partial(proven, source))
            lines["fresh interpreter"].add(partial(fresh, source, blob, folder))
    return lines


def check_equal(cage: Cage, proof_cage: Cage, bars: Bars, sources: Iterable[StrategySource]) -> None:
    """Both hosts do the same, or none of the figures means anything."""
    for source in sources:
        fast = evaluate(source, cage, [CELL], RunConfig(), LIMITS)
        proof = prove(source, proof_cage, {CELL.key: bars}, [CELL], RunConfig(), limits=LIMITS)
        assert same_orders(fast.reports[0], proof.reports[0]) is None


def cpu_of(evaluation: Evaluation) -> float:
    """CPU seconds of its children."""
    assert evaluation.outcome is not None
    return evaluation.outcome.cpu_s


def bare(cage: Cage) -> float:
    """A child that is asked to take a seat and is hung up on: its job is read, and nothing of it run."""
    with cage.converse(b"\0\0\0\0", LIMITS) as talk:
        outcome = talk.finish()
    assert outcome.end is CageEnd.CRASHED, outcome  # there is no job in it
    return outcome.cpu_s


def fresh(source: StrategySource, blob: bytes, folder: str) -> float:
    """The same work in a new interpreter; its CPU seconds."""
    names = [Path(folder, name) for name in ("bars", "job")]
    job = Job(source=source.data, class_name=str(judge_text(source)), cells=(CELL,))
    for path, content in zip(names, (blob, encode_job(job)), strict=True):
        path.write_bytes(content)
    before = os.times()
    subprocess.run([sys.executable, "-c", FRESH, *names], check=True, cwd=Path(__file__).parents[1])
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def bare_pipe(count: int) -> float:
    """The least that a bar can cost in another process: so many bytes there, one byte back."""
    down, up = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(down[1])
        while os.read(down[0], 128):
            os.write(up[1], b"x")
        os._exit(0)
    for _ in range(count):
        os.write(down[1], bytes(80))
        os.read(up[0], 1)
    for descriptor in (*down, *up):
        os.close(descriptor)
    os.wait()
    return 0.0


def print_ratios(lines: dict[str, Line]) -> None:
    """What is asked for, each beside its target."""
    wall = {name: statistics.median(line.wall) * 1e3 for name, line in lines.items()}
    cpu = {name: statistics.median(line.cpu) * 1e3 for name, line in lines.items()}
    best = {name: min(line.wall) * 1e3 for name, line in lines.items()}
    fresh_name, pipe = "fresh interpreter", "bare pipe, 2,500 round trips"
    print(
        f"candidate in bare children: {wall['candidate'] / wall['bare child']:.1f} "
        "(the target is 15 ms where a bare child takes 5 to 7)"
    )
    print(
        f"fresh interpreter in candidates: {wall[fresh_name] / wall['candidate']:.0f} by wall, "
        f"{best[fresh_name] / best['candidate']:.0f} at best, {cpu[fresh_name] / cpu['candidate']:.0f} by CPU "
        "(the target is 20)"
    )
    print(
        f"proof host over fast host, per bar: {(wall['proof host'] - wall['candidate']) / BARS * 1e3:.1f} us, "
        f"{(best['proof host'] - best['candidate']) / BARS * 1e3:.1f} at best (the target is 60; "
        f"a bare round trip takes {wall[pipe] / BARS * 1e3:.1f} here)"
    )


def memory_in_proof(cage: Cage, bars: Bars) -> str:
    """A proof child's private memory half-way through the bars, with the median seed's worth of series."""
    source = dict(seed_sources())["trend"]
    seat = Seat(
        source=source.data, class_name=str(judge_text(source)), instrument=bars.instrument, timeframe=bars.timeframe
    )
    found: list[str] = []

    class Watching(RemoteHost):
        def decide(self, moment: Moment, account: Account | None, fills: Sequence[Fill]) -> Sequence[Request] | Failure:
            if moment[1] == BARS // 2:
                found.append(private_of(talk.pid))
            return super().decide(moment, account, fills)

    with cage.converse(encode_seat(seat), LIMITS) as talk:
        run_host(Watching(talk, RunLimits()), CELL.bars(bars), RunConfig(start=WARM_UP))
        talk.finish()
    return found[0]


def memory_in_run(cage: Cage, bars: dict[str, Bars]) -> str:
    """A fast child's private memory near the end of its cells: it stops there and spins, so that it can be looked at."""
    text = dict(seed_sources())["trend"].data.decode()
    spin = "    def on_stop(self):\n        while self.cash != 100000 and self.bar_count > 300: pass\n"
    source = StrategySource.from_text(text.rstrip() + "\n\n" + spin)
    cells = [CellJob(key=key, start=WARM_UP, stop=len(each), warmup=WARM_UP) for key, each in bars.items()]
    limits = CageLimits(cpu_s=2, wall_s=60)
    run = Thread(target=evaluate, args=(source, cage, cells, RunConfig(), limits))
    run.start()
    sizes: list[str] = []
    while run.is_alive():
        zygote = cage._zygote.pid  # type: ignore[union-attr]  # noqa: SLF001 - it is open; to measure, not to meddle
        sizes += [private_of(pid) for pid in children_of(zygote)]
        time.sleep(0.02)  # often enough to meet each child, seldom enough to leave it the processor
    run.join()
    seen = [size for size in sizes if size.endswith("MiB")]
    return max(seen, key=lambda size: float(size.split()[1])) if seen else (sizes or ["not seen"])[-1]


def children_of(pid: int) -> Iterable[int]:
    """Pids of the children that live now."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            yield int(stat.parent.name)


def private_of(pid: int) -> str:
    """What a process has to itself."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    except PermissionError:
        return "(only root may look into a caged child)"
    except OSError:
        return "(gone)"
    sizes = {line.split()[0].rstrip(":"): int(line.split()[1]) for line in lines if "kB" in line}
    return f"private {(sizes['Private_Clean'] + sizes['Private_Dirty']) / 1024:.1f} MiB"


if __name__ == "__main__":
    main()
