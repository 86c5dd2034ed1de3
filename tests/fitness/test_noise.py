"""Standard errors of objectives over folds, beside the slow and clear formula."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import fmean

import pytest

from fitness.card import CellResult, Metrics
from fitness.noise import objective_errors
from fitness.objectives import DEFAULT_RULES, objectives_of

METRICS = Metrics(
    total_return=0.1,
    cagr=0.1,
    sharpe=1.0,
    sortino=None,
    calmar=0.5,
    max_drawdown=0.1,
    turnover=8.0,
    exposure=0.5,
    trades=40,
    fees=1.0,
    final_equity=110.0,
    seed_score=0.5,
)


def cell(fold, symbol="A", **changes):
    metrics = replace(METRICS, **changes)
    return CellResult(symbol=symbol, fold=f"train-{fold}", metrics=metrics, buy_and_hold=METRICS, ruined=False)


def test_the_error_is_that_of_leaving_one_fold_out():
    """All symbols of a fold go together: they share its luck."""
    rng = random.Random(3)
    cells = [
        cell(fold, symbol, sharpe=rng.gauss(1, 1), calmar=rng.gauss(0.5, 1), turnover=rng.uniform(2, 60))
        for fold in range(1, 5)
        for symbol in "AB"
    ]
    left = [
        objectives_of([each for each in cells if each.fold != f"train-{fold}"], DEFAULT_RULES) for fold in range(1, 5)
    ]
    errors = objective_errors(rng.sample(cells, len(cells)))
    for name, scale in (("sharpe", float), ("calmar", float), ("turnover", math.log1p)):
        values = [scale(getattr(goals, name)) for goals in left]
        expected = math.sqrt(3 / 4 * sum((value - fmean(values)) ** 2 for value in values))
        assert getattr(errors, name) == pytest.approx(expected)
        assert expected > 0


def test_what_is_the_same_in_every_fold_has_no_error():
    assert objective_errors([cell(fold) for fold in range(1, 5)]) == (0.0, 0.0, 0.0)


def test_the_mean_of_many_folds_has_the_error_that_theory_gives():
    """Without the spread term an objective is a mean, whose jackknife error is the standard error of a mean."""
    values = [random.Random(fold).gauss(0.0, 0.5) for fold in range(40)]
    cells = [cell(fold, sharpe=value) for fold, value in enumerate(values)]
    found = objective_errors(cells, replace(DEFAULT_RULES, spread_weight=0.0))
    variance = sum((value - fmean(values)) ** 2 for value in values) / (len(values) - 1)
    assert found.sharpe == pytest.approx(math.sqrt(variance / len(values)))


def test_one_fold_tells_no_error():
    assert objective_errors([cell(1, "A"), cell(1, "B", sharpe=3.0)]) is None


def test_an_objective_that_hangs_on_one_fold_tells_no_error():
    cells = [cell(1), cell(2), cell(3), cell(4, sharpe=None)]
    assert objectives_of(cells, DEFAULT_RULES) is not None
    assert objective_errors(cells) is None
