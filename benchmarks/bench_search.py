"""Does evolution earn its keep? The same operators and the same budget, with and without selection, on markets with a known edge.

Each world is a made-up market with an edge of a stated strength (``evolution.worlds``). On it the search runs twice from the same
starters: once as it is, and once as the control arm, which breeds from the starting generation only and so learns nothing: best of
N random draws of the same operators. Both are compared by the hypervolume of their feasible fronts on train, evaluation by
evaluation, and, after both have stopped, by what their fronts are worth on validation bars.

    make bench-search
    make bench-search ARGS="--worlds 12 --generations 20 --population 40"

Evaluations are counted, not seconds: a slow machine gives the same table.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evolution.bench import CellBench
from evolution.breed import Barren, breed_offline, plant, relatives_of
from evolution.cascade import Cascade
from evolution.evaluate import CageEvaluator, run_trial
from evolution.operators import canonical_hash
from evolution.plan import SearchPlan
from evolution.search import Search
from evolution.seeds import seed_sources
from evolution.selection import hypervolume
from evolution.trial import TrialOutcome
from evolution.worlds import PlantedMarket, bars_for_vault, find_edge
from gates import open_gate_cage
from runtime.kernel import RunConfig
from runtime.market.split import make_split, train_cells, validation_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evolution.proposal import Proposal
    from evolution.trial import Trial
    from fitness.card import Scorecard
    from runtime.market import Bars

ARMS = ("evolution", "control")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """What one arm made of one world."""

    world: int
    arm: str
    hypervolumes: tuple[float, ...]
    """Of the feasible front on train after so many evaluations, the first after one."""
    validation_hypervolume: float
    """Of the feasible members of that front on validation, measured after the arm had stopped."""
    best_score: float | None
    """Highest seed score on train."""
    best_on_validation: float | None
    """Seed score of that candidate on validation."""
    outcomes: dict[str, int]

    @property
    def final(self) -> float:
        """Hypervolume at the end."""
        return self.hypervolumes[-1]

    def evaluations_to(self, volume: float) -> int | None:
        """How many evaluations it took to reach a hypervolume; None when it never did."""
        return next((count for count, each in enumerate(self.hypervolumes, start=1) if each >= volume), None)


def run_arm(world: int, arm: str, plan: SearchPlan, bars: Mapping[str, Bars], *, is_cascaded: bool = True) -> ArmResult:
    """One search on one market, start to end, in this process; candidates run in a cage that holds train only."""
    split, config = make_split(bars), RunConfig()
    train = {symbol: one.between(0, int(np.searchsorted(one.ts, split.train_stop))) for symbol, one in bars.items()}
    bench = CellBench.build(train, train_cells(split, train), config)
    search = Search(plan, run_id=arm, seed=world, starters=len(seed_sources()))
    probes: dict[str, str] = {}
    trials: dict[str, Trial] = {}
    known: set[str] = set()
    volumes: list[float] = []
    with open_gate_cage(train) as cage:
        evaluator = CageEvaluator(cage=cage, bench=bench)
        while proposals := search.ask():
            for proposal in proposals:
                cascade = Cascade(known=dict(probes), is_full=search.is_full_for(proposal)) if is_cascaded else None
                trials[proposal.id] = _trial(proposal, trials, known, evaluator, bench, cascade)
            for proposal in proposals:
                probes.setdefault(trials[proposal.id].probe or proposal.id, proposal.id)
            search.tell([trials[proposal.id] for proposal in proposals])
            volumes += _volumes(search.front, [trials[proposal.id] for proposal in proposals], volumes)
    best = _best(trials.values())
    return ArmResult(
        world=world,
        arm=arm,
        hypervolumes=tuple(volumes),
        best_score=best.scorecard.score if best and best.scorecard else None,
        outcomes=dict(Counter(trial.outcome.value for trial in trials.values())),
        **_validated(search.front, best, bars),
    )


def _trial(  # noqa: PLR0913, PLR0917 - what a trial takes
    proposal: Proposal,
    trials: Mapping[str, Trial],
    known: set[str],
    evaluator: CageEvaluator,
    bench: CellBench,
    cascade: Cascade | None,
) -> Trial:
    if proposal.parents:
        parents = [trials[parent].candidate.source for parent in proposal.parents]
        made = breed_offline(proposal, parents, known, relatives_of(proposal, trials))
    else:
        made = plant(proposal, seed_sources(), known)
    if isinstance(made, Barren):
        return made.as_trial()
    known.add(canonical_hash(made.source))
    return run_trial(made, evaluator, bench, cascade=cascade)


def _volumes(front: Sequence[Trial], told: Sequence[Trial], before: Sequence[float]) -> list[float]:
    """After each evaluation of a generation: the front before it, and what the front took in of it so far."""
    fresh = {trial.candidate.id for trial in told}
    kept = [trial for trial in front if trial.candidate.id not in fresh]
    volumes, last = [], before[-1] if before else 0.0
    on_front = {trial.candidate.id for trial in front}
    for trial in told:
        if trial.candidate.id in on_front:
            kept.append(trial)
            last = max(last, _volume([each.scorecard for each in kept]))
        volumes.append(last)
    return volumes


def _volume(cards: Sequence[Scorecard | None]) -> float:
    return hypervolume([card.objectives for card in cards if card is not None and card.objectives is not None])


def _best(trials: Iterable[Trial]) -> Trial | None:
    scored = [
        (trial.scorecard.score, trial.candidate.id, trial)
        for trial in trials
        if trial.outcome is TrialOutcome.SCORED and trial.scorecard and trial.scorecard.score is not None
    ]
    return max(scored)[2] if scored else None  # ids differ, so no two trials are compared


def _validated(front: Sequence[Trial], best: Trial | None, bars: Mapping[str, Bars]) -> dict[str, float | None]:
    split = make_split(bars)
    cells = validation_cells(split, bars)
    shown = {
        symbol: one.between(0, int(np.searchsorted(one.ts, split.validation_stop))) for symbol, one in bars.items()
    }
    bench = CellBench.build(shown, cells, RunConfig())
    with open_gate_cage(shown) as cage:
        evaluator = CageEvaluator(cage=cage, bench=bench)
        judged = {
            trial.candidate.id: run_trial(trial.candidate, evaluator, bench).scorecard
            for trial in (*front, *([best] if best else []))
        }
    of_best = judged[best.candidate.id] if best else None
    return {
        "validation_hypervolume": _volume([judged[trial.candidate.id] for trial in front]),
        "best_on_validation": of_best.score if of_best else None,
    }


# The table


def compare(results: Sequence[ArmResult]) -> list[str]:
    """The table that people read."""
    lines = [
        "world  hypervolume evolution/control   evaluations to half the better one   validation hv   validation score"
    ]
    ratios, wins = [], Counter[str]()
    for world in sorted({result.world for result in results}):
        mine, other = (next(r for r in results if r.world == world and r.arm == arm) for arm in ARMS)
        goal = max(mine.final, other.final) / 2.0
        reached = (mine.evaluations_to(goal), other.evaluations_to(goal))
        # Who never got there counts as having got there with the next try: the least that can be said.
        needed = [
            len(arm.hypervolumes) + 1 if count is None else count
            for arm, count in zip((mine, other), reached, strict=True)
        ]
        ratios.append(needed[1] / needed[0])
        wins["train"] += mine.final > other.final
        wins["speed"] += needed[0] < needed[1]
        wins["validation"] += mine.validation_hypervolume > other.validation_hypervolume
        wins["score"] += (mine.best_on_validation or -9.0) > (other.best_on_validation or -9.0)
        lines.append(
            f"{world:5}  {mine.final:9.3f} {other.final:9.3f}   {reached[0] or 'never':>5} {reached[1] or 'never':>5}   "
            f"{mine.validation_hypervolume:9.3f} {other.validation_hypervolume:9.3f}   "
            f"{_shown(mine.best_on_validation)} {_shown(other.best_on_validation)}"
        )
    count = len(ratios)
    lines.append(
        f"evolution ahead: {wins['train']} of {count} by hypervolume on train, {wins['speed']} of {count} by evaluations, "
        f"{wins['validation']} of {count} on validation, {wins['score']} of {count} by the best one's score there"
    )
    lines.append(
        f"the control needs at least {statistics.median(ratios):.2f} times as many evaluations (median; geometric mean "
        f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}) to half the hypervolume of the better front"
    )
    return lines


def _shown(score: float | None) -> str:
    return "  none" if score is None else f"{score:6.2f}"


def main() -> int:
    """Run the worlds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=6)
    parser.add_argument("--first-world", type=int, default=1)
    parser.add_argument("--generations", type=int, default=12)
    parser.add_argument("--population", type=int, default=24)
    parser.add_argument(
        "--active-sharpe", type=float, default=1.5, help="of the best simple rule, both symbols together"
    )
    parser.add_argument("--years", type=float, default=3.0, help="of the vault; train is 5/3 of it")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a field of the search plan")
    parser.add_argument("--table", type=Path, help="only print the table of arms that were kept with --out")
    parser.add_argument("--arm", action="append", choices=ARMS, help="only this one; no table then")
    parser.add_argument("--no-cascade", action="store_true", help="run every fold of everybody")
    parser.add_argument("--out", type=Path, help="keep each arm as a line of JSON")
    arguments = parser.parse_args()
    if arguments.table is not None:
        kept = [ArmResult(**json.loads(line)) for line in arguments.table.read_text().splitlines()]
        print("\n".join(compare(kept)))
        return 0
    market = PlantedMarket(edge=find_edge(PlantedMarket(), arguments.active_sharpe, years=100).edge)
    choices = {name: json.loads(value) for name, value in (each.split("=", 1) for each in arguments.set)}
    results = []
    for world in range(arguments.first_world, arguments.first_world + arguments.worlds):
        bars = market.bars(bars_for_vault(arguments.years), np.random.default_rng([20_261_201, world]))
        for arm in arguments.arm or ARMS:
            plan = SearchPlan(
                generations=arguments.generations,
                population=arguments.population,
                is_control=arm == "control",
                **({"archive_rate": 0.2, "tune_rate": 0.3} | choices if arm == "evolution" else {}),
            )
            results.append(run_arm(world, arm, plan, bars, is_cascaded=not arguments.no_cascade))
            print(f"world {world} {arm}: hypervolume {results[-1].final:.3f} {results[-1].outcomes}", flush=True)
            if arguments.out is not None:
                with arguments.out.open("a") as lines:
                    lines.write(json.dumps(asdict(results[-1])) + "\n")
    if not arguments.arm:
        print("\n".join(compare(results)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
