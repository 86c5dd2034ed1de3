"""What one candidate costs the parent process, whatever the size of the population and however long the run.

A whole night without Prefect, with everything but the candidate's own run: breeding, memory, selection, ledger, files. What judges a
source is made up from its digest; the cage and the replay of order logs have a bench of their own (``make bench-cage``). A real
night, smaller, is measured beside it: its parent also replays and scores. Processor time of this process, not wall time.

    make bench-search
    python benchmarks/bench_search_scaling.py --candidates 10000
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from evolution.candidate import Candidate, Provenance
from evolution.interval import BarInterval
from evolution.plan import SearchPlan
from evolution.record import ActiveRecord
from evolution.search import Search
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Objectives, Scorecard
from flows import night as nights
from flows.order import Order
from flows.settings import Settings
from flows.start import open_night
from flows.watch import SilentWatch
from runtime.source import StrategySource

if TYPE_CHECKING:
    from evolution.bench import CellBench
    from evolution.proposal import Proposal


# What a trial leaves for the statistics: five years of daily bars.
_BARS = 1_260
_BEGAN = datetime(2015, 1, 1, tzinfo=UTC)


def judged(candidate: Candidate, _evaluator: object, bench: CellBench | _Narrow, **_options: object) -> Trial:
    """A trial that follows from the source alone, with a scorecard of full size."""
    rng = random.Random(candidate.source.sha256)
    cells = tuple(_cell(each.cell.symbol, each.cell.fold, rng) for each in bench.cells)
    violation = rng.uniform(0.1, 1.0) if rng.random() < 0.3 else 0.0
    card = Scorecard(
        cells=cells,
        objectives=Objectives(
            sharpe=rng.gauss(0.3, 0.4), calmar=rng.gauss(0.2, 0.3), turnover=rng.lognormvariate(2.5, 0.6)
        ),
        violation=violation,
        vetoes=("too deep",) if violation else (),
        score=rng.gauss(0.3, 0.3),
        benchmark_score=0.4,
        beats_buy_and_hold=False,
        trades=sum(cell.metrics.trades for cell in cells),
        max_drawdown=0.2,
    )
    return Trial(
        candidate=candidate,
        outcome=TrialOutcome.VETOED if violation else TrialOutcome.SCORED,
        reason="made up",
        scorecard=card,
        behaviour=candidate.source.sha256,
        probe=candidate.source.sha256,
        rhythm=rng.randbytes(256),
        record=ActiveRecord(
            intervals=(BarInterval(symbol="A", timeframe="1d", start=_BEGAN, end=_BEGAN + timedelta(days=1826)),),
            sample=None,
            returns=rng.randbytes(4 * _BARS),
        ),
        cpu_s=0.1,
        wall_s=0.1,
    )


def _cell(symbol: str, fold: str, rng: random.Random) -> CellResult:
    metrics = Metrics(
        total_return=rng.gauss(0.1, 0.2),
        cagr=rng.gauss(0.1, 0.1),
        sharpe=rng.gauss(0.3, 0.5),
        sortino=rng.gauss(0.4, 0.6),
        calmar=rng.gauss(0.3, 0.4),
        max_drawdown=rng.uniform(0.05, 0.3),
        turnover=rng.uniform(1, 60),
        exposure=rng.random(),
        trades=rng.randrange(3, 60),
        fees=rng.uniform(10, 1e4),
        final_equity=rng.uniform(8e4, 2e5),
        seed_score=rng.gauss(0.3, 0.4),
    )
    return CellResult(symbol=symbol, fold=fold, metrics=metrics, buy_and_hold=metrics, ruined=False)


class Cost(NamedTuple):
    """Processor time per candidate, in milliseconds."""

    first: float
    """Over the second generation and those after it, up to a thousand candidates: the first one is mostly copies of seeds."""
    last: float
    """Over the last thousand."""
    mean: float
    peak_mib: float
    """Largest resident size of this process so far."""


def run(population: int, generations: int) -> Cost:
    """One night."""
    costs: list[float] = []
    with tempfile.TemporaryDirectory(prefix="trigate-scaling-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        settings = Settings.model_validate({"workers": 1})
        order = Order(
            data=settings.data,
            generations=generations,
            population=population,
            crossover_rate=0.3,
            llm_share=0.0,
            seed=1,
            archive_rate=settings.search.archive_rate,
            tune_rate=settings.search.tune_rate,
        )
        with open_night(settings, home, SilentWatch(), order) as night:
            while night.search.end is None:
                began = time.process_time()
                for candidate in night.breed():
                    night.try_candidate(candidate)
                night.close_generation()
                costs += [(time.process_time() - began) / population * 1000.0] * population
    later = costs[population:]
    most = min(1000, len(later))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(sum(later[:most]) / most, sum(later[-most:]) / most, sum(later) / len(later), peak)


def search_alone(population: int, generations: int) -> Cost:
    """Ask and tell, without breeding and without a store: what selection, niches, archive and families cost."""
    plan = SearchPlan(generations=generations, population=population, archive_rate=0.2, tune_rate=0.3)
    search = Search(plan, run_id="r1", seed=1, starters=6)
    costs: list[float] = []
    while proposals := search.ask():
        trials = [judged(_candidate(each), None, _NARROW) for each in proposals]
        began = time.process_time()
        search.tell(trials)
        search.ask()
        costs += [(time.process_time() - began) / population * 1000.0] * population
    later = costs[population:]
    most = min(1000, len(later))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(sum(later[:most]) / most, sum(later[-most:]) / most, sum(later) / len(later), peak)


def _candidate(proposal: Proposal) -> Candidate:
    """Every third child has other numbers only, so that families grow."""
    operator = "offline/param_jitter" if proposal.index % 3 == 0 else proposal.kind.value
    return Candidate(
        id=proposal.id,
        run_id=proposal.run_id,
        generation=proposal.generation,
        index=proposal.index,
        source=StrategySource(proposal.id.encode()),
        provenance=Provenance(operator=operator, parents=proposal.parents, seed=proposal.seed),
    )


class _Narrow(NamedTuple):
    cells: tuple[SimpleNamespace, ...]


# Three symbols, four folds.
_NARROW = _Narrow(
    tuple(
        SimpleNamespace(cell=SimpleNamespace(symbol=symbol, fold=f"train-{fold}"))
        for fold in range(1, 5)
        for symbol in "ABC"
    )
)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=4_000, help="of the long run, 40 a generation")
    parser.add_argument("--populations", type=int, nargs=2, default=(200, 2_000))
    parser.add_argument(
        "--real", type=int, default=200, help="candidates of the night that is really run, 40 a generation; 0 for none"
    )
    parser.add_argument("--search-only", action="store_true", help="only ask and tell")
    arguments = parser.parse_args()
    narrow, wide = (search_alone(population, 4) for population in arguments.populations)
    print(
        f"search alone: {narrow.mean:.3f} ms a candidate at {arguments.populations[0]}, {wide.mean:.3f} at {arguments.populations[1]}"
    )
    long = search_alone(40, arguments.candidates // 40)
    print(
        f"search alone, {arguments.candidates} candidates, 40 a generation: first thousand {long.first:.3f} ms, last {long.last:.3f}; "
        f"peak {long.peak_mib:.0f} MiB"
    )
    if arguments.search_only:
        return 0
    if arguments.real:
        real = run(40, arguments.real // 40)
        print(f"{arguments.real} candidates really run: {real.mean:.2f} ms a candidate; peak {real.peak_mib:.0f} MiB")
    nights.run_trial = judged  # type: ignore[assignment]  # everything else is the real thing
    small, large = (run(population, 3) for population in arguments.populations)
    for population, cost in zip(arguments.populations, (small, large), strict=True):
        print(f"population {population:5}: {cost.mean:6.2f} ms a candidate")
    print(f"ratio: {large.mean / small.mean:.2f}")
    long = run(40, arguments.candidates // 40)
    print(
        f"{arguments.candidates} candidates, 40 a generation: {long.mean:.2f} ms a candidate; first thousand {long.first:.2f}, "
        f"last {long.last:.2f} (ratio {long.last / long.first:.2f}); peak {long.peak_mib:.0f} MiB"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
