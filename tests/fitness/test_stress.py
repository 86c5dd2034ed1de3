"""Stresses change one thing and leave the original alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fitness import STRESSES
from fitness.stress import average_true_range, jitter_bars
from runtime.kernel.report import Costs, RunConfig

CONFIG = RunConfig(cash=5.0, costs=Costs(fee_bps=10, fee_per_unit=0.5, fee_minimum=1.0, slippage_bps=3), start=250)


def stressed(name):
    (stress,) = [each for each in STRESSES if each.name == name]
    return stress.apply(CONFIG)


def test_double_costs_double_every_cost_and_nothing_else():
    costs = Costs(fee_bps=20, fee_per_unit=1.0, fee_minimum=2.0, slippage_bps=6)
    assert stressed("double-costs") == RunConfig(cash=5.0, costs=costs, start=250)


def test_a_late_run_differs_in_its_delay_only():
    assert stressed("one-bar-late") == RunConfig(cash=5.0, costs=CONFIG.costs, start=250, decision_delay=1)


def test_names_are_unique():
    assert len({stress.name for stress in STRESSES}) == len(STRESSES)


@pytest.fixture
def ragged(make_bars):
    rng = np.random.default_rng(1)
    closes = 50 * np.exp(np.cumsum(rng.normal(0, 0.02, 1_000)))
    bars = make_bars(closes)
    opens = np.append(closes[0], closes[:-1])
    return replace(bars, open=opens, high=np.maximum(opens, closes) * 1.01, low=np.minimum(opens, closes) * 0.99)


def test_true_range_by_hand(make_bars):
    bars = replace(make_bars([10.0, 12.0, 11.0]), high=np.array([11.0, 13.0, 11.5]), low=np.array([9.0, 12.0, 10.0]))
    # 11 - 9, then 13 - 10 (from the previous close), then 12 - 10.
    assert average_true_range(bars, 2).tolist() == [2.0, 2.5, 2.5]


def test_jitter_keeps_the_order_inside_a_bar_and_the_size_that_it_says(ragged):
    shaken = jitter_bars(ragged, np.random.default_rng(4))
    assert (shaken.high >= np.maximum(shaken.open, shaken.close)).all()
    assert (shaken.low <= np.minimum(shaken.open, shaken.close)).all()
    moves = np.log(shaken.close / ragged.close) / (average_true_range(ragged) / ragged.close)
    assert np.std(moves) == pytest.approx(0.1, rel=0.1)
    assert abs(np.mean(moves)) < 0.02
    assert np.array_equal(shaken.ts, ragged.ts)
    assert np.array_equal(shaken.volume, ragged.volume)


def test_jitter_follows_its_seed_and_size_zero_changes_nothing(ragged):
    again = [jitter_bars(ragged, np.random.default_rng(4)).sha256 for _ in range(2)]
    assert again[0] == again[1] != jitter_bars(ragged, np.random.default_rng(5)).sha256
    assert jitter_bars(ragged, np.random.default_rng(4), size=0.0).sha256 == ragged.sha256
