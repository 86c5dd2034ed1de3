"""Children through the real gates, the real cage and the real kernel: they load, run, differ and trade."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from evolution.operators import Relative, Variation, tune, vary
from fitness.card import Objectives
from gates import Admitted, CellJob, evaluate, open_gate_cage
from runtime.kernel import RunConfig, RunEnd
from runtime.market import WARMUP_BARS, open_dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runtime.source import StrategySource

CHILDREN = 150


class Life(NamedTuple):
    """What a strategy did over the cells."""

    behaviour: str
    trades: int


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[StrategySource], Life | None]]:
    """Runs a source over train cells of the real set; None when it was refused or did not finish."""
    data = open_dataset("us-large-caps", tmp_path_factory.mktemp("home"))
    # Every other cell: enough to tell behaviours apart, in half the time.
    cells = [
        CellJob(key=cell.symbol, start=cell.start, stop=cell.stop, warmup=WARMUP_BARS)
        for cell in data.train_cells()[::2]
    ]
    with open_gate_cage(data.train_bars()) as cage:

        def run(source: StrategySource) -> Life | None:
            result = evaluate(source, cage, cells, RunConfig())
            if not isinstance(result.verdict, Admitted) or not result.reports:
                return None
            if any(report.end is not RunEnd.FINISHED for report in result.reports):
                return None
            log = repr([[(entry.row, entry.action) for entry in report.order_log] for report in result.reports])
            return Life(hashlib.sha256(log.encode()).hexdigest(), sum(len(report.trades) for report in result.reports))

        yield run


def evidence(parent: StrategySource, rng: random.Random) -> list[Relative]:
    """A family of the parent, with results that lead anywhere."""
    family = [parent, *(child.source for _ in range(4) if isinstance(child := tune(parent, (), rng), Variation))]
    return [
        Relative(
            source=source,
            objectives=Objectives(sharpe=rng.gauss(0, 1), calmar=rng.gauss(0, 1), turnover=rng.uniform(1, 50)),
            violation=rng.choice((0.0, 0.0, 0.5)),
        )
        for source in family
    ]


@pytest.mark.slow
def test_children_run_and_most_of_them_trade_in_their_own_way(
    live: Callable[[StrategySource], Life | None], seeds: list[StrategySource]
) -> None:
    """Every operator in its share, constant optimisation included."""
    known = {seed.sha256: live(seed) for seed in seeds}
    assert None not in known.values()
    alive = own_way = 0
    for number in range(CHILDREN):
        rng = random.Random(number)
        crossover = rng.random() < 0.25
        parents = rng.sample(seeds, 2 if crossover else 1)
        is_tuned = not crossover and number % 5 == 0
        child = (
            tune(parents[0], evidence(parents[0], rng), rng) if is_tuned else vary(parents, rng, crossover=crossover)
        )
        assert isinstance(child, Variation)
        life = live(child.source)
        if life is None:
            continue
        alive += 1
        ancestors = {before.behaviour for parent in parents if (before := known[parent.sha256])}
        own_way += life.behaviour not in ancestors and life.trades >= 3
    assert alive >= 0.99 * CHILDREN
    assert own_way >= 0.8 * CHILDREN


@pytest.mark.slow
def test_children_of_free_form_parents_run(
    live: Callable[[StrategySource], Life | None], seeds: list[StrategySource], free_form: list[StrategySource]
) -> None:
    """Strategies that a model writes keep state by hand; moving or cutting in the wrong place would raise."""
    born = alive = 0
    for number in range(40):
        rng = random.Random(number)
        crossover = rng.random() < 0.5
        parents = [rng.choice(free_form), rng.choice([*seeds, *free_form])]
        rng.shuffle(parents)
        child = vary(parents, rng, crossover=crossover)
        if isinstance(child, Variation):
            born += 1
            alive += live(child.source) is not None
    assert born >= 25
    assert alive >= 0.97 * born
