"""What the page of a large run costs: processor time and bytes, for a store of its own with as many candidates as asked for.

The run is made up, the way to the page is the product's: stored trials with scorecards of twelve cells, findings, parents and code,
read back, gathered and rendered. The curves come from the shelf, as after a night that ended.

    make bench-report ARGS="--candidates 2000"
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.ledger import TrialLedger
from evolution.morning import LARGEST_PAGE, Curve, morning_of, read_stored, render_page
from evolution.pool import Pool
from evolution.run import GenerationSummary, RunFacts, RunStatus
from evolution.seeds import seed_sources
from evolution.tables import RefusalRow
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Objectives, Scorecard
from gates.findings import Finding
from runtime.source import StrategySource
from runtime.store import open_engine, writing

START = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)
GOAL_S = 5.0
POPULATION = 40


def metrics(draw: random.Random) -> Metrics:
    """Figures of one cell, drawn."""
    return Metrics(
        total_return=draw.gauss(0.1, 0.2),
        cagr=draw.gauss(0.05, 0.1),
        sharpe=draw.gauss(0.4, 0.6),
        sortino=draw.gauss(0.5, 0.6),
        calmar=draw.gauss(0.3, 0.4),
        max_drawdown=draw.uniform(0.05, 0.4),
        turnover=draw.uniform(1, 20),
        exposure=draw.random(),
        trades=draw.randrange(40),
        fees=draw.uniform(0, 900),
        final_equity=draw.uniform(80_000, 160_000),
        seed_score=draw.gauss(0.5, 0.3),
    )


def scorecard(draw: random.Random, *, is_vetoed: bool) -> Scorecard:
    """Four folds of three symbols, as on the built-in set."""
    cells = tuple(
        CellResult(symbol=symbol, fold=f"train-{fold}", metrics=metrics(draw), buy_and_hold=metrics(draw), ruined=False)
        for fold in range(1, 5)
        for symbol in ("AAPL", "IBM", "MSFT")
    )
    score = draw.gauss(0.5, 0.2)
    return Scorecard(
        cells=cells,
        objectives=Objectives(sharpe=draw.random(), calmar=draw.random(), turnover=draw.uniform(1, 20)),
        violation=0.1 if is_vetoed else 0.0,
        vetoes=(f"maximum drawdown {draw.uniform(30, 60):.2f}% in train-1 (limit 30.00%)",) if is_vetoed else (),
        score=score,
        benchmark_score=0.6,
        beats_buy_and_hold=score > 0.6,
        trades=draw.randrange(30, 200),
        max_drawdown=draw.uniform(0.05, 0.3),
    )


def trials(run_id: str, count: int, draw: random.Random) -> list[Trial]:
    """A run in which a third is refused, a fifth is vetoed, and everybody has two parents."""
    sources = [source.text for _, source in seed_sources()]
    made: list[Trial] = []
    for place in range(count):
        generation, index = divmod(place, POPULATION)
        parents = tuple(candidate_id(generation - 1, draw.randrange(POPULATION)) for _ in range(2) if generation)
        text = f"{draw.choice(sources)}\n# {place}\n"
        outcome = draw.choices((TrialOutcome.REJECTED, TrialOutcome.VETOED, TrialOutcome.SCORED), weights=(3, 2, 5))[0]
        findings = ()
        if outcome is TrialOutcome.REJECTED:
            findings = (
                Finding(
                    gate=1, rule=f"rule-{draw.randrange(30)}", line=3, column=1, message=f"name x{place}", hint="h"
                ),
            )
        has_card = outcome is not TrialOutcome.REJECTED
        made.append(
            Trial(
                candidate=Candidate(
                    id=candidate_id(generation, index),
                    run_id=run_id,
                    generation=generation,
                    index=index,
                    source=StrategySource.from_text(text),
                    provenance=Provenance(
                        operator=f"offline/operator_{draw.randrange(9)}",
                        parents=parents,
                        seed=place,
                        detail="window: 5 -> 7",
                    ),
                ),
                outcome=outcome,
                reason="gate 1: a name that is not allowed" if not has_card else "Sharpe 0.5, Calmar 0.4",
                gate=None if has_card else 1,
                findings=findings,
                scorecard=scorecard(draw, is_vetoed=outcome is TrialOutcome.VETOED) if has_card else None,
                behaviour=f"{place:064x}" if has_card else None,
                cpu_s=0.3,
                wall_s=0.5,
            )
        )
    return made


def curve() -> Curve:
    """As many points as a thinned one has."""
    steps = tuple(range(360))
    level = tuple(1.0 + step / 400 for step in steps)
    fall = tuple((step % 17) / 100 for step in steps)
    return Curve(
        stamps=tuple(1_000_000_000 + 400_000 * step for step in steps),
        strategy=level,
        benchmark=level[::-1],
        strategy_fall=fall,
        benchmark_fall=fall,
        folds=(("train-1", 1_000_000_000),),
        deepest=(0.16, 0.16),
    )


def fill(home: Path, count: int) -> tuple[TrialLedger, Pool, str]:
    """A store with one finished run of so many candidates."""
    engine = open_engine(home, None)
    clock = iter(range(10**9))
    ledger = TrialLedger(engine, now=lambda: START + timedelta(seconds=next(clock)))
    facts = RunFacts(
        seed=7, plan={}, dataset="us-large-caps", dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="2"
    )
    run_id = ledger.start_run(facts).id
    made = trials(run_id, count, random.Random(7))
    ledger.add_trials(made)
    for generation in range(max(trial.candidate.generation for trial in made) + 1):
        ledger.add_generation(
            run_id, GenerationSummary(generation=generation, hypervolume=2.0 + generation, counts={"scored": 20})
        )
    ledger.finish_run(run_id, RunStatus.FINISHED)
    refused = [trial for trial in made if trial.scorecard is not None and trial.scorecard.beats_buy_and_hold][:20]
    with writing(engine) as session:
        session.add_all(
            RefusalRow(
                run_id=run_id,
                candidate_id=trial.candidate.id,
                check="deflated-sharpe",
                figure=0.05,
                limit=0.1,
                sentence="probability 0.05; must be above 0.10",
                created=START,
            )
            for trial in refused
        )
    return ledger, Pool(engine, now=lambda: START), run_id


def main() -> int:
    """Measure, print one JSON document, and fail where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="keep the page there")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledger, pool, run_id = fill(Path(folder), chosen.candidates)
        rounds = []
        for _ in range(chosen.rounds):
            begun = time.process_time()
            stored = read_stored(ledger, pool, run_id)
            read = time.process_time()
            values = morning_of(stored, {trial.candidate.id: curve() for trial in stored.shown}, made=START)
            gathered = time.process_time()
            page = render_page(values)
            rounds.append((read - begun, gathered - read, time.process_time() - gathered))
        unlisted = replace(values, generations={})
    best = min(rounds, key=sum)
    figures = {
        "candidates": chosen.candidates,
        "cpu_s": {name: round(value, 3) for name, value in zip(("read", "gather", "render"), best, strict=True)},
        "cpu_s_in_all": round(sum(best), 3),
        "goal_s": GOAL_S,
        "bytes": len(page.encode()),
        "bytes_without_the_list": len(render_page(unlisted).encode()),
        "largest_allowed": LARGEST_PAGE,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    if chosen.out:
        chosen.out.write_text(page, encoding="utf-8")
    print(json.dumps(figures, indent=2))
    return 0 if figures["cpu_s_in_all"] <= GOAL_S and figures["bytes"] < LARGEST_PAGE else 1


if __name__ == "__main__":
    sys.exit(main())
