"""The strategy language: compiling, the vector adapter beside vectorbt, and documents a second on the built-in bars.

Run with ``make bench-sir``. All figures are processor time after imports, of the best round, since others on the machine can only make
a round slower. vectorbt runs in an environment of its own (``make bench-kernel`` installs it); where there is none, a line says so.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_peers import CASH, FAST, FEE, SLOW, random_walk
from sir_peer import FIRST, HIGH, LOW, PERIOD

from evolution.operators.documents import vary_document
from evolution.seeds import document_sources
from runtime import indicators
from runtime.desk import Action, Request
from runtime.kernel import Costs, RunConfig
from runtime.market.bars import Bars
from runtime.market.builtin import find_builtin
from runtime.market.split import make_split, rows_before
from runtime.model import Instrument, Timeframe
from runtime.sir.build import build
from runtime.sir.compile import Compiled, compile_document
from runtime.sir.digest import document_sha256
from runtime.sir.known import Known
from runtime.sir.plan import Constant, IndicatorRef, PlannedRule
from runtime.sir.program import Program
from runtime.sir.read import read
from runtime.sir.vector import run_vector
from runtime.sir.vocabulary import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.desk import IndicatorCall
    from runtime.sir.plan import PlannedOperand
    from runtime.source import StrategySource

GOLDEN = Path(__file__).parents[1] / "tests" / "sir_golden" / "plans"
PEER_FILE = Path(__file__).parent / "sir_peer.py"
ROUNDS, CALLS = 15, 50
LIMIT_MS = 2.0
BARS, TIMES, CENT = 100_000, 10.0, 0.01
DATA, DOCUMENTS, PER_SECOND = "us-large-caps", 300, 1_000


def best_s(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of processor time of one call, in the best of the rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def best_ms(work: Callable[[], object]) -> float:
    """Milliseconds of one of many calls."""
    return best_s(lambda: [work() for _ in range(CALLS)]) / CALLS * 1e3


def compiling() -> None:
    """Print one line per golden document."""
    worst = 0.0
    print("document\tbytes\tfirst ms\tcompile and hash ms\thash alone ms")
    for path in sorted(path for path in GOLDEN.glob("*.json") if not path.name.endswith(".plan.json")):
        data = path.read_bytes()
        start = time.process_time()
        if not isinstance(compile_document(data), Compiled):
            raise SystemExit(f"{path.name} does not compile")
        first = (time.process_time() - start) * 1e3
        both = best_ms(lambda data=data: compile_document(data))  # type: ignore[misc]  # mypy cannot type a lambda with a default; the default keeps this round's value
        alone = best_ms(lambda data=data: document_sha256(read(data)))  # type: ignore[misc]  # mypy cannot type a lambda with a default; the default keeps this round's value
        worst = max(worst, both)
        print(f"{path.stem}\t{len(data)}\t{first:.3f}\t{both:.3f}\t{alone:.3f}")
    print(f"slowest: {worst:.3f} ms (goal: under {LIMIT_MS:g})")


# Against vectorbt ----------------------------------------------------------------------------------------------------


def crossing(calls: tuple[IndicatorCall, ...], *levels: PlannedOperand) -> Program:
    """All in when the first series crosses above the first level, out when it crosses below the second."""
    operators = (Operator.CROSSES_ABOVE, Operator.CROSSES_BELOW)
    enter, leave = (
        ((PlannedRule(left=IndicatorRef(0), operator=operator, right=level),),)
        for operator, level in zip(operators, levels, strict=True)
    )
    return Program(calls=calls, need=2, enter=enter, leave=leave, entry=Request(0, Action.TARGET, None, 1.0))


def programs() -> dict[str, Program]:
    """The rules of ``sir_peer.py``."""
    averages = tuple(indicators.check("SMA", "close", {"timeperiod": period}) for period in (FAST, SLOW))
    strength = (indicators.check("RSI", "close", {"timeperiod": PERIOD}),)
    return {
        "RSI": crossing(strength, Constant(LOW), Constant(HIGH)),
        "SMA": crossing(averages, IndicatorRef(1), IndicatorRef(1)),
    }


def walk(rows: int) -> Bars:
    """The bars that the peer makes for itself."""
    market = random_walk(rows)
    columns = {name: getattr(market, name) for name in ("ts", "open", "high", "low", "close", "volume")}
    return Bars(instrument=Instrument(symbol="WALK", bars_per_year=8_760), timeframe=Timeframe(3_600), **columns)


def against_vectorbt(python: Path) -> bool:
    """Print one line per rule; False when the two end with different equity."""
    bars = walk(BARS)
    config = RunConfig(cash=CASH, costs=Costs(fee_bps=FEE * 10_000.0), start=FIRST)
    agreed = True
    print(f"rule on {BARS:,} bars\tfills\tours ms\tvectorbt ms\ttimes (goal: {TIMES:g})\tfinal equity")
    for name, program in programs().items():
        run = run_vector(program, bars, config)
        ours = best_s(lambda program=program: run_vector(program, bars, config).final_equity)  # type: ignore[misc]  # mypy cannot type a lambda with a default; the default keeps this round's value
        line = f"{name}\t{len(run.fills)}\t{ours * 1e3:.2f}"
        if not python.exists():
            print(f"{line}\tvectorbt is not there: {python} does not exist; make bench-kernel installs it")
            continue
        command = [str(python), str(PEER_FILE), name, str(BARS), str(ROUNDS)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        same = abs(told["equity"] - run.final_equity) < CENT
        agreed &= same
        verdict = "same to the cent" if same else f"DIFFERS: {told['equity']:,.2f}"
        peer = f"{told['cpu_s'] * 1e3:.2f}\t{told['cpu_s'] / ours:.1f}"
        print(f"{line}\t{peer}\t{run.final_equity:,.2f} {verdict}")
    return agreed


# Documents a second --------------------------------------------------------------------------------------------------


def bred(count: int, step: Timeframe) -> Sequence[StrategySource]:
    """The seeds and their descendants, as a search makes them."""
    rng = random.Random(1)
    sources = [source for _, source in document_sources(step)]
    while len(sources) < count:
        parents = rng.sample(sources, 2)
        child = vary_document(parents, rng, crossover=rng.random() < 0.3)
        if child is not None:
            sources.append(child.source)
    return sources


def documents() -> None:
    """Print how many documents a second run on all symbols of the built-in bars before the vault, compiled beforehand.

    One document counts once, whatever the number of symbols that it runs on.
    """
    builtin = find_builtin(DATA)
    if builtin is None:
        raise SystemExit(f"there is no data set {DATA}")
    loaded = builtin.load()
    split = make_split(loaded)
    markets = [bars.between(0, rows_before(bars, split.vault_start)) for bars in loaded.values()]
    compiled = (compile_document(source.data) for source in bred(DOCUMENTS, markets[0].timeframe))
    runs = [build(each.plan) for each in compiled if isinstance(each, Compiled)]
    config, kept = RunConfig(), [Known(bars) for bars in markets]

    def each(memories: Sequence[Known | None]) -> None:
        for program in runs:
            for bars, known in zip(markets, memories, strict=True):
                _ = run_vector(program, bars, config, known=known).final_equity

    fills = sum(len(run_vector(program, bars, config).fills) for program in runs for bars in markets)
    of_each = f"{len(markets)} symbols of {len(markets[0]):,} bars, {fills / len(runs):.0f} fills a document"
    print(f"{len(runs)} bred documents on {of_each}")
    for name, memories in (("nothing remembered", [None] * len(markets)), ("series and rules remembered", kept)):
        each(memories)
        rate = len(runs) / best_s(lambda memories=memories: each(memories), 5)  # type: ignore[misc]  # mypy cannot type a lambda with a default; the default keeps this round's value
        told = f"{rate:,.0f} documents/s (goal: {PER_SECOND:,}), each on {len(markets)} symbols"
        print(f"{name}\t{told}: {rate * len(markets):,.0f} runs of one symbol/s")


def main() -> int:
    """Print the tables; 1 when vectorbt ends with another equity."""
    parser = argparse.ArgumentParser(description="The strategy language: compile, vector adapter, documents a second.")
    parser.add_argument("--peers", type=Path, default=Path(".venv-bench"), help="folder of the engines' environments")
    wanted = parser.parse_args()
    compiling()
    agreed = against_vectorbt(wanted.peers / "vectorbt" / "bin" / "python")
    documents()
    return 0 if agreed else 1


if __name__ == "__main__":
    raise SystemExit(main())
