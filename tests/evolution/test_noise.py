"""Boxes follow from what a run has measured, whoever is asked first."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from evolution.noise import LEAST, measured_boxes


@pytest.fixture
def noisy(told):
    """A trial whose folds differ from each other."""

    def make(index, spread=0.5):
        rng = random.Random(index)
        trial = told(index, folds=4)
        cells = tuple(
            replace(
                cell,
                metrics=replace(
                    cell.metrics,
                    sharpe=rng.gauss(1, spread),
                    calmar=rng.gauss(0.5, spread),
                    turnover=10 * rng.lognormvariate(0, spread / 5),
                ),
            )
            for cell in trial.scorecard.cells
        )
        return replace(trial, scorecard=replace(trial.scorecard, cells=cells))

    return make


def test_boxes_are_as_wide_as_asked_in_units_of_the_noise(noisy):
    trials = [noisy(index) for index in range(30)]
    one, two = measured_boxes(trials, 1.0), measured_boxes(trials, 2.0)
    assert two.sharpe == pytest.approx(2 * one.sharpe)
    # Mean of four, and half a deviation off: about the standard error of the mean, 0.25.
    assert 0.15 < one.sharpe < 0.4
    assert one.turnover < one.sharpe


def test_louder_folds_make_wider_boxes(noisy):
    quiet = measured_boxes([noisy(index, 0.2) for index in range(30)], 1.0)
    loud = measured_boxes([noisy(index, 1.0) for index in range(30)], 1.0)
    assert (quiet.sharpe, quiet.calmar, quiet.turnover) < (loud.sharpe, loud.calmar, loud.turnover)


def test_the_order_of_trials_leaves_no_trace(noisy):
    trials = [noisy(index) for index in range(11)]
    assert measured_boxes(trials, 0.5) == measured_boxes(trials[::-1], 0.5)


def test_too_few_candidates_tell_nothing_and_objectives_are_compared_as_they_are(noisy, told):
    assert measured_boxes([noisy(index) for index in range(LEAST - 1)], 0.5) is None
    assert measured_boxes([told(index, folds=1) for index in range(30)], 0.5) is None


def test_folds_that_are_all_the_same_still_give_boxes(told):
    boxes = measured_boxes([told(index, folds=4) for index in range(LEAST)], 0.5)
    assert 0 < boxes.sharpe < 1e-3
