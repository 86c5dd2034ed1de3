"""A curve is what the cells made of 1, chained over folds, and thinning loses no fall."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evolution.bench import CellBench
from evolution.morning import Curve, curve_of
from runtime.kernel import RunConfig, run_strategy
from runtime.market import open_dataset
from runtime.strategy import Strategy


class Half(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.target(0.5)


class Never(Strategy):
    def on_bar(self, bar):
        pass


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    dataset = open_dataset("us-large-caps", tmp_path_factory.mktemp("home"))
    return CellBench.build(dataset.train_bars(), dataset.train_cells(), RunConfig())


def reports(bench, strategy):
    return [run_strategy(strategy, each.bars, each.config) for each in bench.cells]


def test_growth_is_the_mean_over_symbols_chained_over_folds(bench):
    runs = reports(bench, Half)
    expected = 1.0
    for fold in dict.fromkeys(each.cell.fold for each in bench.cells):
        own = [
            report.equity[-1] / 100_000
            for each, report in zip(bench.cells, runs, strict=True)
            if each.cell.fold == fold
        ]
        expected *= np.mean(own)
    curve = curve_of(bench.cells, runs)
    assert curve.strategy[0] == curve.benchmark[0] == 1.0
    assert curve.strategy[-1] == pytest.approx(expected, rel=1e-5)
    assert [name for name, _ in curve.folds] == ["train-1", "train-2", "train-3", "train-4"]


def test_who_never_trades_stays_at_one_beside_buy_and_hold(bench):
    curve = curve_of(bench.cells, reports(bench, Never))
    assert set(curve.strategy) == {1.0}
    assert curve.deepest[0] == 0.0
    held = np.prod(
        [
            np.mean([1 + each.buy_and_hold.total_return for each in bench.cells if each.cell.fold == fold])
            for fold in dict.fromkeys(each.cell.fold for each in bench.cells)
        ]
    )
    assert curve.benchmark[-1] == pytest.approx(held, rel=1e-5)


def test_thinning_keeps_the_deepest_fall_and_both_ends(bench):
    curve = curve_of(bench.cells, reports(bench, Half))
    bars = len({int(stamp) for each in bench.cells for stamp in each.bars.ts[each.config.start :]})
    assert len(curve.stamps) < bars
    assert max(curve.strategy_fall) == pytest.approx(curve.deepest[0], abs=1e-6)
    assert list(curve.stamps) == sorted(set(curve.stamps))


def test_no_bar_after_train_is_in_it(bench, tmp_path):
    dataset = open_dataset("us-large-caps", tmp_path)
    curve = curve_of(bench.cells, reports(bench, Half))
    assert curve.stamps[-1] < dataset.split.train_stop


def test_a_curve_survives_a_file(make):
    curve = make.curve()
    assert Curve.of_document(json.loads(json.dumps(curve.document()))) == curve


@pytest.mark.parametrize(
    "change",
    [
        {"strategy": [1.0]},
        {"strategy": [float("nan")] * 120},
        {"folds": []},
        {"stamps": []},
        {"deepest": [0.1]},
        {"stamps": None},
    ],
)
def test_a_damaged_file_is_no_curve(make, change):
    with pytest.raises((ValueError, TypeError, KeyError)):
        Curve.of_document(make.curve().document() | change)


def test_cells_without_bars_have_no_curve():
    assert curve_of([], []) is None
