"""The record of a trial: which bars it was scored on, and its active returns on them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from evolution.bench import CellBench
from evolution.record import active_record, pooled_run
from runtime.kernel import RunConfig, buy_and_hold
from runtime.market import open_dataset

CONFIG = RunConfig()


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Buy and hold as if it were a candidate, on all train cells of the made-up set."""
    dataset = open_dataset("planted-edge", tmp_path_factory.mktemp("home"))
    bench = CellBench.build(dataset.train_bars(), dataset.train_cells(), CONFIG)
    reports = [buy_and_hold(each.bars, each.config, first_tradable_bar=each.config.start) for each in bench.cells]
    return dataset, bench, reports


def test_intervals_span_all_folds_of_a_symbol(played):
    dataset, bench, reports = played
    record = active_record(bench.cells, reports)
    assert [each.symbol for each in record.intervals] == list(dataset.symbols)
    edges = dataset.split.fold_edges
    for each in record.intervals:
        assert int(each.start.timestamp()) == edges[0]
        assert int(each.end.timestamp()) <= edges[-1] + 3 * 86_400


def test_the_series_is_the_pooled_one_to_single_precision(played):
    _, bench, reports = played
    record = active_record(bench.cells, reports)
    active = pooled_run(bench.cells, reports).active
    assert record.series() == pytest.approx(active.returns, abs=1e-7)
    assert record.sample.length == len(active.returns)
    assert np.abs(record.series()).max() > 0


def test_a_run_that_ended_early_leaves_zeros_so_that_all_trials_stand_on_one_axis(played):
    _, bench, reports = played
    (cell, report) = bench.cells[0], reports[0]
    equity = report.equity.copy()
    equity[cell.config.start + 11 :] = 0.0
    ruined = SimpleNamespace(equity=equity, position=report.position, first_tradable_bar=report.first_tradable_bar)
    record = active_record([cell], [ruined])
    assert len(record.series()) == len(cell.bars) - cell.config.start
    assert record.series()[10] < -0.5
    assert not record.series()[11:].any()


def test_raw_returns_and_the_market_stand_on_the_same_bars(played):
    _, bench, reports = played
    pooled = pooled_run(bench.cells, reports)
    assert np.array_equal(pooled.raw.ts, pooled.active.ts)
    assert np.array_equal(pooled.market.ts, pooled.active.ts)
    assert np.corrcoef(pooled.raw.returns, pooled.market.returns)[0, 1] > 0.9
