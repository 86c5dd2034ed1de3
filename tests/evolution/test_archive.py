"""One place per way of trading, for the best that keeps to the limits, whatever the order of telling."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from evolution.archive import Archive, way_of


def test_ways_differ_by_frequency_holding_and_exposure(told):
    usual = way_of(told().scorecard)
    assert way_of(told(trades=400).scorecard).frequency > usual.frequency
    assert way_of(told(held=60.0).scorecard).holding > usual.holding
    assert way_of(told(exposure=0.95).scorecard).exposure > usual.exposure
    assert way_of(told(sharpe=3.0, calmar=2.0, turnover=1.0).scorecard) == usual


@pytest.mark.parametrize(
    ("shares", "direction"), [((0.0, 0.3), 0), ((0.5, 0.4), 1), ((0.9, 0.8), 2), ((None, None), 0)]
)
def test_long_and_short_are_different_ways(told, shares, direction):
    """Cells that were stored before there was a direction count as long: nothing else was tried then."""
    trial = told()
    cells = tuple(
        replace(cell, trading=replace(cell.trading, short_share=share))
        for cell, share in zip(trial.scorecard.cells, shares, strict=True)
    )
    assert way_of(replace(trial.scorecard, cells=cells)).direction == direction


def test_the_best_of_each_way_stays(told):
    slow, worse, better = told(0, held=60.0, sharpe=0.1), told(1, sharpe=0.5), told(2, sharpe=0.9)
    archive = Archive().grown([slow, worse]).grown([better])
    assert sorted(each.candidate.index for each in archive.elites) == [0, 2]


def test_of_equals_the_earlier_one_stays(told):
    first, second = told(0), told(1)
    assert Archive().grown([second, first]).elites == (first,)


def test_what_breaks_a_limit_does_not_come_in(told):
    assert Archive().grown([told(violation=0.1)]).elites == ()


def test_the_order_of_telling_leaves_no_trace(told):
    rng = random.Random(5)
    trials = [told(n, trades=rng.randrange(1, 300), held=rng.uniform(0, 90), sharpe=rng.random()) for n in range(60)]
    straight = Archive().grown(trials)
    rng.shuffle(trials)
    assert Archive().grown(trials[:30]).grown(trials[30:]).elites == straight.elites
    assert len(straight.elites) > 8
