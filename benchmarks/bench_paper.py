"""What paper runs cost: `python benchmarks/bench_paper.py [--runs N] [--bars N] [--pace X]`.

N runs in one process, each with a caged child of its own and a seed strategy, on one-minute bars that close for all of them at the same
moment, X times as fast as real ones. Printed are the seconds from the close of a bar to the committed decision (its fill, ledger,
decision and audit line included), and the memory of the whole family of processes (proportional set size, so shared pages count once).
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from evolution.seeds import seed_sources
from flows.clock import now
from gates import open_proof_cage
from gates.admit import judge_text
from gates.wire import Seat, encode_seat
from runtime.cage import CageLimits
from runtime.kernel import RemoteHost, RunConfig, RunLimits
from runtime.model import Bar, Instrument, Timeframe
from runtime.paper.audit import Auditor
from runtime.paper.deployment import Deployment, SignedDeployment
from runtime.paper.feed import Market
from runtime.paper.limits import RiskLimits
from runtime.paper.runner import RunParts, run_paper
from runtime.paper.runs import RunBook, RunOrder
from runtime.paper.signing import open_runner_key
from runtime.store import open_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from runtime.cage import Cage
    from runtime.paper.driver import Step
    from runtime.paper.journal import Books
    from runtime.source import StrategySource

MINUTE = 60
WARM = 250
FIRST = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())


class PacedClock:
    """Real time, from a moment on, some times as fast. Implements ``RunClock``."""

    def __init__(self, pace: float) -> None:
        self.pace, self.start, self.base = pace, datetime.fromtimestamp(FIRST + WARM * MINUTE, UTC), 0.0

    def now(self) -> datetime:
        """The paced time; it stands still until ``base`` is set."""
        return self.start + timedelta(seconds=(time.monotonic() - self.base) * self.pace if self.base else 0.0)

    def wait(self, until: datetime, look: object) -> None:  # noqa: ARG002 - the protocol's signature; nothing here needs it
        """Sleep as long as it takes at this pace."""
        time.sleep(
            max((until - self.now()).total_seconds() / self.pace, 0.0)
        )  # the clock of the bench: minutes pass as fractions of seconds

    def jump_s(self) -> float:
        """Nobody sets it."""
        return 0.0


class PacedFeed:
    """A walk whose bars appear when the clock has reached their end. Implements ``BarFeed``."""

    def __init__(self, seed: int, bars: int) -> None:
        close = 100.0 * np.cumprod(1.0 + np.random.default_rng(seed).normal(0.0, 0.002, WARM + bars))
        before = np.concatenate(([100.0], close[:-1]))
        self.rows = [
            Bar(datetime.fromtimestamp(FIRST + MINUTE * row, UTC), o, max(o, c) * 1.001, min(o, c) / 1.001, c, 1.0)
            for row, (o, c) in enumerate(zip(before.tolist(), close.tolist(), strict=True))
        ]
        self.is_over = False

    def bars(self, after: int, moment: datetime) -> list[Bar]:
        """What follows, closed or not."""
        del moment
        start = (after - FIRST) // MINUTE + 1
        self.is_over = start >= len(self.rows)
        return self.rows[start : start + 5]

    def clock(self, moment: datetime) -> datetime:
        """The run's own."""
        return moment


@dataclass
class Stopwatch:
    """Seconds from each bar's close to its commit. Implements ``Watch``."""

    clock: PacedClock
    late: list[float] = field(default_factory=list)
    fills: int = 0

    def took(self, run: str, step: Step, books: Books) -> None:  # noqa: ARG002 - the protocol's signature; nothing here needs it
        """Note how late the decision was."""
        closed = step.bar.ts + timedelta(seconds=MINUTE)
        self.late.append((self.clock.now() - closed).total_seconds() / self.clock.pace)
        self.fills += len(step.fills)

    def faulted(self, run: str, reason: str, pause_s: float) -> None:  # noqa: ARG002 - the protocol's signature; nothing here needs it
        """Show it: there should be none."""
        print(f"{run}: {reason}")


def family() -> list[int]:
    """This process and all that came from it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def memory_mib(pids: list[int]) -> float:
    """Proportional set size; a child that root alone may look at counts what it has to itself."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


@dataclass(frozen=True, slots=True)
class Bench:
    """What all runs share."""

    engine: Engine
    auditor: Auditor
    book: RunBook
    cage: Cage
    clock: PacedClock
    watch: Stopwatch
    person: Ed25519PrivateKey

    def parts(self, number: int, source: StrategySource, bars: int) -> RunParts:
        """One run of a seed strategy on a market of its own."""
        instrument = Instrument(symbol=f"S{number}", bars_per_year=525_600.0)
        deployment = Deployment(
            entry=f"p-{number:04d}",
            source_sha256=source.sha256,
            language=source.language.value,
            owner="bench",
            dataset="bench",
            instruments=(instrument,),
            timeframe=Timeframe(MINUTE),
            config=RunConfig(),
            max_notional=1e9,
            engine_version="bench",
            signed=now(),
            expires=now() + timedelta(days=1),
        )
        public = self.person.public_key().public_bytes_raw().hex()
        signature = self.person.sign(deployment.text().encode()).hex()
        self.book.keep(SignedDeployment(deployment=deployment, public_key=public, signature=signature))
        order = RunOrder(
            deployment=deployment.id,
            account="bench",
            symbol=instrument.symbol,
            started_by="bench",
            guards=RiskLimits(),
            feed="bench",
        )
        seat = encode_seat(
            Seat(
                source=source.data,
                class_name=str(judge_text(source)),
                instrument=instrument,
                timeframe=deployment.timeframe,
            )
        )

        @contextmanager
        def host() -> Iterator[RemoteHost]:
            with self.cage.converse(seat, CageLimits(cpu_s=86_400.0, wall_s=10.0)) as talk:
                yield RemoteHost(talk, RunLimits())

        feed = PacedFeed(number, bars)
        return RunParts(
            engine=self.engine,
            auditor=self.auditor,
            run=self.book.open(order),
            holder="bench",
            account="bench",
            symbol=instrument.symbol,
            deployment=deployment,
            guards=order.guards,
            market=Market(timeframe=deployment.timeframe),
            feed=feed,
            warm=feed.rows[:WARM],
            clock=self.clock,
            open_host=host,
            permit=lambda: None,
            watch=self.watch,
        )


def main() -> None:
    """Run them all and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--bars", type=int, default=12)
    parser.add_argument("--pace", type=float, default=10.0)
    wanted = parser.parse_args()
    clock = PacedClock(wanted.pace)
    watch = Stopwatch(clock)
    sources = list(dict(seed_sources()).values())
    with tempfile.TemporaryDirectory() as folder, open_proof_cage() as cage:
        engine = open_engine(Path(folder))
        auditor = Auditor(open_runner_key(Path(folder)), now)
        book = RunBook(engine, auditor, most=wanted.runs)
        bench = Bench(engine, auditor, book, cage, clock, watch, Ed25519PrivateKey.generate())
        parts = [bench.parts(number, sources[number % len(sources)], wanted.bars) for number in range(wanted.runs)]
        with ThreadPoolExecutor(len(parts)) as pool:
            futures = [pool.submit(run_paper, each) for each in parts]
            while sum(each.warm > 0 for each in book.list()) < len(parts):
                time.sleep(0.2)  # the starts are not measured; a busy loop here would take processor time from them
            clock.base, before = time.monotonic(), time.process_time()
            time.sleep(
                MINUTE / wanted.pace * wanted.bars / 2
            )  # half of the run: memory is read while all of them trade
            memory = memory_mib(family())
            endings = [future.result() for future in futures]
        cpu_ms = (time.process_time() - before) / max(len(watch.late), 1) * 1e3
    late = sorted(watch.late)
    print(f"{len(endings)} runs, {len(late)} bars, {watch.fills} fills; {sorted({each.reason for each in endings})}")
    for name, share in (("median", 0.5), ("95%", 0.95), ("largest", 1.0)):
        print(f"close to committed decision, {name}: {late[math.ceil(share * len(late)) - 1]:.3f} s")
    print(f"processor time of the runner per bar and run: {cpu_ms:.1f} ms")
    print(f"memory of all processes: {memory:.0f} MiB")


if __name__ == "__main__":
    main()
