"""Does evolution earn its keep? The same operators and the same budget, with and without selection, on markets with a known edge.

Each world is a made-up market with an edge of a stated strength (``evolution.worlds``): its drifts persist, so what follows the trend
earns. On it the search runs twice from the same starters: once as a night runs it, and once as the control arm, which breeds from the
starting generation only and so learns nothing: best of N random draws of the same operators. This is done for two kinds of starters:

- *knowing*: the six seeds, of which five follow trends. The edge is there before the first child.
- *blind*: the one seed that bets on reversals. Whoever has to find the edge has to breed it.

Both arms are compared by the hypervolume of their feasible fronts on train, evaluation by evaluation; and, after both have stopped, by
what their fronts are worth on validation bars and on twenty fresh years of the same market. The fresh years are the truth that no night
ever has: validation is two years, and luck alone moves a ratio there by more than most candidates differ.

    make bench-search
    make bench-search ARGS="--worlds 12 --generations 20 --population 40 --starters blind"

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
from typing import TYPE_CHECKING, Any, NamedTuple

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
from flows.settings import ARCHIVE_RATE, BOX_WIDTH, TUNE_RATE
from gates import open_gate_cage
from runtime.kernel import RunConfig
from runtime.market import WARMUP_BARS, Cell
from runtime.market.split import make_split, train_cells, validation_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evolution.proposal import Proposal
    from evolution.trial import Trial
    from fitness.card import Scorecard
    from runtime.market import Bars
    from runtime.source import StrategySource

ARMS = ("evolution", "control")
STARTERS = ("knowing", "blind")
_BLIND = "mean_reversion"
_FRESH_FOLDS = 16
_TOP = 5
_SEED = 20_261_201


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """What one arm made of one world."""

    world: int
    starters: str
    arm: str
    hypervolumes: tuple[float, ...]
    """Of the feasible front on train after so many evaluations, the first after one."""
    validation_hypervolume: float
    """Of the feasible members of that front on validation, measured after the arm had stopped."""
    best_score: float | None
    """Highest seed score on train."""
    best_on_validation: float | None
    """Seed score of that candidate on validation."""
    best_on_fresh: float | None
    """Seed score of that candidate on fresh years."""
    top_on_fresh: float | None
    """Mean seed score there of the five best on train."""
    outcomes: dict[str, int]

    @property
    def final(self) -> float:
        """Hypervolume at the end."""
        return self.hypervolumes[-1]

    def evaluations_to(self, volume: float) -> int | None:
        """How many evaluations it took to reach a hypervolume, or any above 0; None when it never did."""
        return next(
            (count for count, each in enumerate(self.hypervolumes, start=1) if each >= volume and each > 0), None
        )


class World(NamedTuple):
    """A made-up market, twice."""

    number: int
    bars: Mapping[str, Bars]
    """As a night has them."""
    fresh: Mapping[str, Bars]
    """Another path of the same market, as many folds as ``_FRESH_FOLDS`` behind their warm-up."""

    @classmethod
    def made(cls, number: int, market: PlantedMarket, years: float) -> World:
        """The world of that number; the same on any machine."""
        bars = market.bars(bars_for_vault(years), np.random.default_rng([_SEED, number]))
        length = WARMUP_BARS + _FRESH_FOLDS * _fold_bars(bars)
        return cls(number, bars, market.bars(length, np.random.default_rng([_SEED, number, 1])))

    def fresh_cells(self) -> tuple[Cell, ...]:
        """Folds as long as those of train, so that the same strategy has the same objectives there, but for luck."""
        length = _fold_bars(self.bars)
        starts = [WARMUP_BARS + fold * length for fold in range(_FRESH_FOLDS)]
        return tuple(
            Cell(symbol=symbol, fold=f"fresh-{fold}", start=start, stop=start + length)
            for fold, start in enumerate(starts, start=1)
            for symbol in self.fresh
        )


def _fold_bars(bars: Mapping[str, Bars]) -> int:
    cell = train_cells(make_split(bars), bars)[0]
    return cell.stop - cell.start


def run_arm(world: World, starters: str, arm: str, plan: SearchPlan, *, is_cascaded: bool = True) -> ArmResult:
    """One search on one market, start to end, in this process; candidates run in a cage that holds train only."""
    bars, sources = world.bars, _sources(starters)
    split, config = make_split(bars), RunConfig()
    train = {symbol: one.between(0, int(np.searchsorted(one.ts, split.train_stop))) for symbol, one in bars.items()}
    bench = CellBench.build(train, train_cells(split, train), config)
    search = Search(plan, run_id=arm, seed=world.number, starters=len(sources))
    probes: dict[str, str] = {}
    trials: dict[str, Trial] = {}
    known: set[str] = set()
    volumes: list[float] = []
    with open_gate_cage(train) as cage:
        evaluator = CageEvaluator(cage=cage, bench=bench)
        while proposals := search.ask():
            for proposal in proposals:
                cascade = Cascade(known=dict(probes), is_full=search.is_full_for(proposal)) if is_cascaded else None
                trials[proposal.id] = _trial(proposal, trials, known, evaluator, bench, cascade, sources)
            for proposal in proposals:
                probes.setdefault(trials[proposal.id].probe or proposal.id, proposal.id)
            search.tell([trials[proposal.id] for proposal in proposals])
            volumes += _volumes(trials, [proposal.id for proposal in proposals])
    best = _best(trials.values())
    judged = [*search.front, *best]
    on_validation = _judged(judged, bars, validation_cells(split, bars), split.validation_stop)
    on_fresh = _judged(best, world.fresh, world.fresh_cells())
    return ArmResult(
        world=world.number,
        starters=starters,
        arm=arm,
        hypervolumes=tuple(volumes),
        validation_hypervolume=_volume([on_validation[trial.candidate.id] for trial in search.front]),
        best_score=_mean_score([trial.scorecard for trial in best[:1]]),
        best_on_validation=_mean_score([on_validation[trial.candidate.id] for trial in best[:1]]),
        best_on_fresh=_mean_score([on_fresh[trial.candidate.id] for trial in best[:1]]),
        top_on_fresh=_mean_score([on_fresh[trial.candidate.id] for trial in best]),
        outcomes=dict(Counter(trial.outcome.value for trial in trials.values())),
    )


def _sources(starters: str) -> tuple[tuple[str, StrategySource], ...]:
    return tuple(each for each in seed_sources() if starters == "knowing" or each[0] == _BLIND)


def _trial(  # noqa: PLR0913, PLR0917 - what a trial takes
    proposal: Proposal,
    trials: Mapping[str, Trial],
    known: set[str],
    evaluator: CageEvaluator,
    bench: CellBench,
    cascade: Cascade | None,
    sources: Sequence[tuple[str, StrategySource]],
) -> Trial:
    if proposal.parents:
        parents = [trials[parent].candidate.source for parent in proposal.parents]
        made = breed_offline(proposal, parents, known, relatives_of(proposal, trials))
    else:
        made = plant(proposal, sources, known)
    if isinstance(made, Barren):
        return made.as_trial()
    known.add(canonical_hash(made.source))
    return run_trial(made, evaluator, bench, cascade=cascade)


def _volumes(trials: Mapping[str, Trial], told: Sequence[str]) -> list[float]:
    """Of all that was tried, after each evaluation of a generation."""
    fresh = set(told)
    cards = [trial.scorecard for identity, trial in trials.items() if identity not in fresh]
    volumes = []
    for identity in told:
        cards.append(trials[identity].scorecard)
        volumes.append(_volume([card for card in cards if card is not None and card.violation == 0]))
    return volumes


def _volume(cards: Sequence[Scorecard | None]) -> float:
    return hypervolume([card.objectives for card in cards if card is not None and card.objectives is not None])


def _best(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Those with the best seed scores on train."""
    scored = [
        (-trial.scorecard.score, trial.candidate.id, trial)
        for trial in trials
        if trial.outcome is TrialOutcome.SCORED and trial.scorecard and trial.scorecard.score is not None
    ]
    return tuple(trial for _, _, trial in sorted(scored)[:_TOP])  # ids differ, so no two trials are compared


def _mean_score(cards: Sequence[Scorecard | None]) -> float | None:
    scores = [card.score for card in cards if card is not None and card.score is not None]
    return statistics.fmean(scores) if scores else None


def _judged(
    trials: Sequence[Trial], bars: Mapping[str, Bars], cells: Sequence[Cell], stop: int | None = None
) -> dict[str, Scorecard | None]:
    """What trials are worth on other cells, by candidate id, in a cage that holds bars up to a moment."""
    shown = {
        symbol: one if stop is None else one.between(0, int(np.searchsorted(one.ts, stop)))
        for symbol, one in bars.items()
    }
    bench = CellBench.build(shown, cells, RunConfig())
    with open_gate_cage(shown) as cage:
        evaluator = CageEvaluator(cage=cage, bench=bench)
        return {trial.candidate.id: run_trial(trial.candidate, evaluator, bench).scorecard for trial in trials}


# The table


def compare(results: Sequence[ArmResult]) -> list[str]:
    """The tables that people read, one per kind of starters."""
    lines = []
    for starters in dict.fromkeys(result.starters for result in results):
        own = [result for result in results if result.starters == starters]
        pairs = [
            (mine, other)
            for mine in own
            if mine.arm == "evolution"
            for other in own
            if other.arm == "control" and other.world == mine.world
        ]
        lines += [f"{starters} starters, evolution and control", *_table(pairs), *_verdict(pairs), ""]
    return lines[:-1]


def _table(pairs: Sequence[tuple[ArmResult, ArmResult]]) -> list[str]:
    lines = [
        "world  hypervolume on train  evaluations to control's front  hypervolume on validation  best's score: validation  fresh years"
    ]
    for mine, other in pairs:
        reached = (mine.evaluations_to(other.final), other.evaluations_to(other.final))
        lines.append(
            f"{mine.world:5}  {mine.final:9.1f} {other.final:9.1f}  {reached[0] or 'never':>14} {reached[1] or 'never':>14}  "
            f"{mine.validation_hypervolume:12.1f} {other.validation_hypervolume:12.1f}  "
            f"{_shown(mine.best_on_validation):>12} {_shown(other.best_on_validation):>12} "
            f"{_shown(mine.best_on_fresh)} {_shown(other.best_on_fresh)}"
        )
    return lines


def _verdict(pairs: Sequence[tuple[ArmResult, ArmResult]]) -> list[str]:
    """How often evolution was ahead, and by how much."""
    count = len(pairs)
    ahead = Counter[str]()
    ratios, gains = [], []
    for mine, other in pairs:
        # Who never got there counts as having got there with the next try: the least that can be said.
        needed = [arm.evaluations_to(other.final) or len(arm.hypervolumes) + 1 for arm in (mine, other)]
        ratios.append(needed[1] / needed[0])
        gains.append((mine.top_on_fresh or 0.0) - (other.top_on_fresh or 0.0))
        ahead["train"] += mine.final > other.final
        ahead["level"] += mine.final == other.final
        ahead["speed"] += needed[0] < needed[1]
        ahead["validation"] += mine.validation_hypervolume > other.validation_hypervolume
        ahead["score"] += _or_least(mine.best_on_validation) > _or_least(other.best_on_validation)
        ahead["fresh"] += _or_least(mine.best_on_fresh) > _or_least(other.best_on_fresh)
        ahead["top"] += gains[-1] > 0
    error = statistics.stdev(gains) / math.sqrt(count) if count > 1 else math.nan
    return [
        (
            f"evolution ahead by hypervolume: {ahead['train']} of {count} on train ({ahead['level']} level), {ahead['validation']} on validation; by the best "
            f"one's score: {ahead['score']} of {count} on validation, {ahead['fresh']} on fresh years"
        ),
        (
            f"it came to the control's last front in fewer evaluations in {ahead['speed']} of {count}; the control needed "
            f"{statistics.median(ratios):.2f} times as many (median; geometric mean {statistics.geometric_mean(ratios):.2f})"
        ),
        (
            f"the five best on train score {statistics.fmean(gains):+.2f} more on fresh years than the control's (standard error "
            f"{error:.2f}), ahead in {ahead['top']} of {count}"
        ),
    ]


def _or_least(score: float | None) -> float:
    return -math.inf if score is None else score


def _shown(score: float | None) -> str:
    return "  none" if score is None else f"{score:6.2f}"


def _plan(arm: str, choices: Mapping[str, Any], arguments: argparse.Namespace) -> SearchPlan:
    """As a night runs it, but for what was chosen."""
    sizes = {"generations": arguments.generations, "population": arguments.population}
    if arm == "control":
        return SearchPlan(**sizes, box_width=BOX_WIDTH, is_control=True)
    usual = {"archive_rate": ARCHIVE_RATE, "tune_rate": TUNE_RATE, "box_width": BOX_WIDTH}
    return SearchPlan(**sizes, **(usual | choices))


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
    parser.add_argument("--starters", action="append", choices=STARTERS, help="only these")
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
    for starters in arguments.starters or STARTERS:
        for number in range(arguments.first_world, arguments.first_world + arguments.worlds):
            world = World.made(number, market, arguments.years)
            for arm in arguments.arm or ARMS:
                plan = _plan(arm, choices, arguments)
                results.append(run_arm(world, starters, arm, plan, is_cascaded=not arguments.no_cascade))
                last = results[-1]
                print(f"{starters} {number} {arm}: hypervolume {last.final:.3f} {last.outcomes}", flush=True)
                if arguments.out is not None:
                    with arguments.out.open("a") as lines:
                        lines.write(json.dumps(asdict(last)) + "\n")
    if not arguments.arm:
        print("\n".join(compare(results)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
