"""How fast the kernel is: against the least that any Python engine must do, and against other engines.

    python benchmarks/bench_kernel.py [--bars N ...] [--rounds N] [--peers FOLDER] [--engines NAME ...] [--only least|peers|memory]

The bare loop calls one ``on_bar`` method per bar, which reads two list items and compares them. The kernel runs the
same decision with two declared moving averages (their computation included), then with orders. The other engines run
one strategy natively (``kernel_peers``), each in a process and a virtual environment of its own, in turns with ours,
and all of them must end with the equity of a plain numpy reference, to the cent. Everything is CPU time, and ratios are
taken round by round before their median, so that a busy machine moves the absolute figures much more than the ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from kernel_peers import OURS, PEERS, random_walk, reference

from runtime.kernel import RunConfig, buy_and_hold, decode_report, encode_report, run_strategy
from runtime.market.bars import Bars
from runtime.model import Bar, Instrument, Timeframe
from runtime.strategy import Strategy, crossed_above, crossed_below

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 9
SIZES = (2_500, 100_000)
MEMORY_BARS = 1_000_000
CENT = 0.005
# What the kernel is meant to reach on 100,000 bars: how many times the CPU time of a run of ours each engine takes.
GOALS = {"backtesting": 10.0, "backtrader": 60.0, "nautilus_trader": 50.0, "vectorbt": 0.4}
MEMORY_GOAL_MIB = 600.0
PEERS_FILE = Path(__file__).with_name("kernel_peers.py")


# Against the least --------------------------------------------------------------------------------------------------


class Bare:
    """The loop without an engine."""

    def __init__(self, fast: list[float], slow: list[float]) -> None:
        self.fast, self.slow, self.above = fast, slow, 0

    def on_bar(self, bar: Bar) -> None:  # noqa: ARG002 - what an engine would pass
        """Two reads and a comparison."""
        if self.fast[-1] > self.slow[-1]:
            self.above += 1


class Watches(Strategy):
    """The same decision in the kernel, without orders."""

    def on_start(self) -> None:
        """Declare two averages."""
        self.fast = self.indicator("SMA", timeperiod=10)
        self.slow = self.indicator("SMA", timeperiod=30)
        self.above = 0

    def on_bar(self, bar: Bar) -> None:  # noqa: ARG002 - the hook's signature
        """Two reads and a comparison."""
        if self.fast[-1] > self.slow[-1]:
            self.above += 1


class Trades(Watches):
    """The textbook cross with a stop."""

    def on_bar(self, bar: Bar) -> None:  # noqa: ARG002 - the hook's signature
        """In on a cross above, out on a cross below."""
        if self.flat:
            if crossed_above(self.fast, self.slow):
                self.target(1.0, stop_loss=0.05, trail=0.08)
        elif crossed_below(self.fast, self.slow):
            self.close()


def make_bars(n: int) -> Bars:
    """Hourly bars of a random walk."""
    random = np.random.default_rng(1)
    close = 100 * np.exp(np.cumsum(random.normal(0, 0.005, n)))
    open_ = np.concatenate([[100.0], close[:-1]])
    return Bars(
        instrument=Instrument(symbol="WALK", bars_per_year=8760),
        timeframe=Timeframe(3600),
        ts=np.arange(n) * 3600,
        open=open_,
        high=np.maximum(open_, close) * 1.001,
        low=np.minimum(open_, close) * 0.999,
        close=close,
        volume=np.ones(n),
    )


def cpu_s(action: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def against_the_least(n: int, rounds: int) -> None:
    """Print one line per case: bars a second, and how many times the bare loop."""
    bars, config = make_bars(n), RunConfig()
    rows = bars.rows()
    values = bars.close.tolist()

    def bare() -> None:
        on_bar = Bare(values, values).on_bar
        for row in rows:
            on_bar(row)

    report = run_strategy(Trades, bars, config, rows=rows)
    data = encode_report(report)
    cases: dict[str, Callable[[], object]] = {
        "two averages, no orders": lambda: run_strategy(Watches, bars, config, rows=rows),
        f"cross with stop and trail, {len(report.fills)} fills": lambda: run_strategy(Trades, bars, config, rows=rows),
        "buy and hold": lambda: buy_and_hold(bars, config, first_tradable_bar=30, rows=rows),
        f"encode {len(data)} bytes": lambda: encode_report(report),
        "decode and audit": lambda: decode_report(data, bars, config, rows=rows),
    }
    say(f"{n:,} bars, against a bare loop of one call and two reads per bar")
    for name, action in cases.items():
        measured = [(cpu_s(bare), cpu_s(action)) for _ in range(rounds)]
        rate = n / statistics.median(seconds for _, seconds in measured)
        ratio = statistics.median(seconds / floor for floor, seconds in measured)
        say(f"  {name:42s} {rate:14,.0f} bars/s {ratio:8.2f} x bare")


# Against other engines ----------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """One run of one engine."""

    cpu_s: float
    equity: float


class Engine:
    """An engine in a process of its own, ready to run."""

    def __init__(self, python: Path | str, name: str, bars: int) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [str(python), str(PEERS_FILE), name, str(bars)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def answer(self) -> dict[str, Any]:
        """The next line that it tells; when it died instead, the last line of its trace under ``error``."""
        line = self._process.stdout.readline()  # type: ignore[union-attr]  # a pipe
        if line:
            told: dict[str, Any] = json.loads(line)
            return told
        _, trace = self._process.communicate()
        return {"error": (trace.strip().splitlines() or ["it ended without a word"])[-1]}

    def run(self) -> Sample:
        """One whole backtest."""
        self._process.stdin.write("run\n")  # type: ignore[union-attr]  # a pipe
        self._process.stdin.flush()  # type: ignore[union-attr]  # same
        told = self.answer()
        if "error" in told:
            raise RuntimeError(f"{self.name}: {told['error']}")
        return Sample(told["cpu_s"], told["equity"])


def why_missing(folder: Path, name: str, error: str) -> str:
    """Why an engine is not there: what its installation said last, or its own import."""
    log = folder / f"{name}.log"
    said = [line for line in log.read_text().splitlines() if line.startswith("ERROR")] if log.exists() else []
    return said[-1] if said else error


def against_peers(n: int, rounds: int, folder: Path, engines: list[str]) -> bool:
    """Print one line per engine; False when one of them ends with another equity than the reference."""
    expected = reference(random_walk(n))
    say(f"{n:,} bars, SMA 10/30 all in, 10 bps, fills at the next open; numpy reference ends with {expected:,.2f}")
    say(f"  {'engine':17s} {'CPU s':>9s} {'x ours':>8s} {'goal':>6s}  final equity")
    agreed = True
    with Engine(sys.executable, OURS, n) as ours:
        if "error" in (told := ours.answer()):
            raise RuntimeError(told["error"])
        sample = ours.run()
        agreed &= abs(sample.equity - expected) < CENT
        own = statistics.median(ours.run().cpu_s for _ in range(rounds))
        say(f"  {OURS:17s} {own:9.4f} {1.0:8.2f} {'':6s}  {verdict(sample.equity, expected)}")
        for name in engines:
            python = folder / name / "bin" / "python"
            if not python.exists():
                say(f"  {name:17s} not there: {why_missing(folder, name, f'{python} does not exist')}")
                continue
            with Engine(python, name, n) as peer:
                told = peer.answer()
                if "error" in told:
                    say(f"  {name:17s} not there: {why_missing(folder, name, told['error'])}")
                    continue
                pairs = [(ours.run(), peer.run()) for _ in range(rounds)]
            ratio = statistics.median(theirs.cpu_s / mine.cpu_s for mine, theirs in pairs)
            seconds = statistics.median(theirs.cpu_s for _, theirs in pairs)
            equity = pairs[0][1].equity
            agreed &= abs(equity - expected) < CENT
            say(f"  {name:17s} {seconds:9.4f} {ratio:8.2f} {GOALS[name]:6.1f}  {verdict(equity, expected)}")
    return agreed


def verdict(equity: float, expected: float) -> str:
    """The equity, and whether it is the reference's to the cent."""
    same = "same to the cent" if abs(equity - expected) < CENT else f"DIFFERS by {equity - expected:,.2f}"
    return f"{equity:16,.2f}  {same}"


def memory(n: int) -> None:
    """Print the peak resident memory of one run in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(PEERS_FILE), "memory", str(n)], check=True, capture_output=True, text=True
    )
    told = json.loads(done.stdout)
    say(f"{n:,} bars: peak resident memory {told['peak_mib']:.0f} MiB (goal: under {MEMORY_GOAL_MIB:.0f})")


def say(line: str) -> None:
    """A line of the table, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Print the tables; 1 when an engine ends with another equity than the reference."""
    parser = argparse.ArgumentParser(description="The kernel against a bare loop and against other engines.")
    parser.add_argument("--bars", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each measurement; slow engines get a third")
    parser.add_argument("--peers", type=Path, default=Path(".venv-bench"), help="folder of the engines' environments")
    parser.add_argument("--engines", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--only", choices=["least", "peers", "memory"])
    wanted = parser.parse_args()
    agreed = True
    if wanted.only in {None, "least"}:
        against_the_least(max(wanted.bars), wanted.rounds)
    if wanted.only in {None, "peers"}:
        for n in wanted.bars:
            rounds = wanted.rounds if n <= min(SIZES) else max(wanted.rounds // 3, 1)
            agreed &= against_peers(n, rounds, wanted.peers, wanted.engines)
    if wanted.only in {None, "memory"}:
        memory(MEMORY_BARS)
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
