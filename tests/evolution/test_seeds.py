"""The seeds are ordinary candidates: admitted, readable, easy to vary, and they trade."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from evolution.operators.anatomy import dissect
from evolution.operators.canonical import without_docstrings
from evolution.operators.conditions import Role, decisions
from evolution.operators.indicators import lookbacks_fit
from evolution.seeds import SEED_NAMES, seed_sources
from gates import Admitted, CellJob, Scanned, check, evaluate, open_gate_cage, scan
from runtime.kernel import RunConfig, RunEnd
from runtime.market import WARMUP_BARS, builtin_names, open_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from evolution.operators.anatomy import Anatomy
    from runtime.source import StrategySource

SEEDS = dict(seed_sources())
each_seed = pytest.mark.parametrize("source", SEEDS.values(), ids=SEEDS)


def _anatomy(source: StrategySource) -> Anatomy:
    scanned = scan(source)
    assert isinstance(scanned, Scanned)
    anatomy = dissect(without_docstrings(scanned.tree), scanned.class_name)
    assert anatomy is not None
    return anatomy


def test_there_are_six_in_a_fixed_order() -> None:
    assert tuple(SEEDS) == SEED_NAMES
    assert tuple(SEEDS) == ("trend", "breakout", "mean_reversion", "contraction", "momentum", "atr_channel")


def test_no_seed_file_is_forgotten() -> None:
    shelf = {
        entry.name.removesuffix(".py") for entry in files("evolution.seeds").iterdir() if entry.name.endswith(".py")
    }
    assert shelf - {"__init__", "shelf"} == set(SEED_NAMES)


def test_seeds_are_read_and_never_imported() -> None:
    seed_sources()
    assert not [name for name in sys.modules if name.startswith("evolution.seeds.") and name != "evolution.seeds.shelf"]


@each_seed
def test_a_seed_gives_operators_something_to_hold(source: StrategySource) -> None:
    anatomy = _anatomy(source)
    assert len(anatomy.parameters) >= 2
    assert len(anatomy.declarations) >= 2
    assert {decision.role for decision in decisions(anatomy)} == {Role.ENTRY, Role.EXIT}


@each_seed
def test_a_seed_needs_no_more_history_than_there_is_even_at_the_end_of_its_ranges(source: StrategySource) -> None:
    for bound in ("low", "high"):
        anatomy = _anatomy(source)
        for parameter in anatomy.parameters.values():
            parameter.call.args[0] = next(word.value for word in parameter.call.keywords if word.arg == bound)
        moved = dissect(anatomy.tree, anatomy.body.name)
        assert moved is not None
        assert lookbacks_fit(moved)


@each_seed
def test_a_seed_says_what_it_does(source: StrategySource) -> None:
    assert '"""' in source.text
    assert max(map(len, source.text.splitlines())) <= 120


@pytest.mark.parametrize("name", builtin_names())
def test_every_seed_is_admitted_and_trades_enough_to_be_judged(name: str, tmp_path: Path) -> None:
    data = open_dataset(name, tmp_path)
    cells = [
        CellJob(key=cell.symbol, start=cell.start, stop=cell.stop, warmup=WARMUP_BARS) for cell in data.train_cells()
    ]
    with open_gate_cage(data.train_bars()) as cage:
        for source in SEEDS.values():
            assert isinstance(check(source, cage), Admitted)
            result = evaluate(source, cage, cells, RunConfig())
            assert all(report.end is RunEnd.FINISHED for report in result.reports)
            assert all(report.first_tradable_bar == WARMUP_BARS for report in result.reports)
            assert sum(len(report.trades) for report in result.reports) >= 30
