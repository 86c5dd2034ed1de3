"""Notes tell what no check depends on, say what to hold it against, and raise an alarm where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evolution.census import Census
from evolution.pool.exhibits import Exhibits, Variants
from evolution.pool.notes import evidence_notes, night_luck
from evolution.pool.segment import Measured, SegmentFailure, SegmentFigures
from evolution.record import PooledRun
from fitness import StampedReturns, sharpe_sample
from fitness.overfitting import EffectiveTrials

BARS = 1_500
TS = 86_400 * np.arange(BARS)


def make_base(edge, seed=1):
    rng = np.random.default_rng(seed)
    market = rng.normal(0.0002, 0.01, BARS)
    active = rng.normal(0.0, 0.006, BARS)
    active += edge - active.mean()
    pooled = PooledRun(
        active=StampedReturns(TS, active),
        raw=StampedReturns(TS, active + 0.5 * market),
        market=StampedReturns(TS, market),
    )
    sample = sharpe_sample(active)
    figures = SegmentFigures(
        bars=BARS, trades=60, max_drawdown=0.1, active_sharpe=sample.sharpe * np.sqrt(252), psr=0.99
    )
    return Measured(figures=figures, pooled=pooled, sample=sample, bars_per_year=252.0)


def make_exhibits(house, edge=0.0008):
    census = Census(
        runs=2,
        trials=300,
        distinct=200,
        effective=EffectiveTrials(trials=200, clusters=30, rank=20.0, average=90.0),
        variance=0.0009,
    )
    train = house.add_trial().scorecard
    return Exhibits(
        train=train,
        train_bars=BARS,
        base=make_base(edge),
        census=census,
        neighbours=Variants(active_sharpes=(1.0, -0.2, 1.2), asked=4),
        jitter=Variants(active_sharpes=(1.0, 0.9, 1.1, 1.0, 0.95), asked=5),
    )


def named(exhibits, trials):
    return {note.name: note for note in evidence_notes(exhibits, night_luck(trials))}


@pytest.fixture
def night():
    """Active returns of forty trials without skill."""
    return np.random.default_rng(3).normal(0, 0.006, (BARS, 40))


def test_a_card_holds_all_of_the_evidence_and_reads_the_same_twice(house, night):
    exhibits = make_exhibits(house)
    notes = named(exhibits, night)
    assert list(notes) == [
        "active-sharpe",
        "interval",
        "standard-error",
        "track-record",
        "alpha",
        "trials",
        "deflated-by-spread",
        "haircut",
        "backtest-length",
        "overfitting",
        "superior-ability",
        "regimes",
        "worst-neighbour",
        "worst-jitter",
    ]
    assert evidence_notes(exhibits, night_luck(night)) == tuple(notes.values())
    assert all(np.isfinite(note.figure) for note in notes.values())


def test_figures_are_annual_and_say_what_they_are_held_against(house, night):
    notes = named(make_exhibits(house), night)
    assert notes["active-sharpe"].figure == pytest.approx(0.0008 / 0.006 * np.sqrt(252), rel=0.05)
    assert notes["active-sharpe"].sentence.startswith("active Sharpe ratio on train: 2.")
    assert notes["interval"].sentence.startswith("95% interval of the active Sharpe ratio on train by block bootstrap")
    assert "train has 6.0" in notes["track-record"].sentence
    assert notes["alpha"].figure > 3
    assert "(beta 0.48)" in notes["alpha"].sentence
    assert "200 in 2 runs; independent ones: 30 by clusters" in notes["trials"].sentence


def test_every_note_says_what_it_is_about_when_it_is_read_alone(house, night):
    """Alarms are shown without the notes that they followed, so nothing may lean on a neighbour."""
    for note in named(make_exhibits(house), night).values():
        words = note.sentence.replace("so far", "").split()
        assert not {"it", "its", "them", "they", "those", "so"} & set(words), note.sentence
    assert "200 different trials" in named(make_exhibits(house), night)["haircut"].sentence


def test_noise_raises_alarms_and_an_edge_does_not(house, night):
    good, bad = named(make_exhibits(house), night), named(make_exhibits(house, edge=0.00002), night)
    for name in ("interval", "track-record", "haircut", "backtest-length"):
        assert not good[name].is_alarming
        assert bad[name].is_alarming
    # The night is the same noise for both.
    assert good["overfitting"].is_alarming
    assert good["superior-ability"].is_alarming


def test_a_night_in_which_one_trial_stands_out_is_not_overfit(house, night):
    night[:, 0] += 0.001
    notes = named(make_exhibits(house), night)
    assert not notes["overfitting"].is_alarming
    assert not notes["superior-ability"].is_alarming


def test_a_cliff_beside_the_strategy_is_shown(house, night):
    notes = named(make_exhibits(house), night)
    assert (notes["worst-neighbour"].figure, notes["worst-neighbour"].is_alarming) == (-0.2, True)
    assert "1 of 4 did not run to a figure" in notes["worst-neighbour"].sentence
    assert not notes["worst-jitter"].is_alarming


def test_without_a_run_or_trials_there_is_less_to_say(house):
    exhibits = make_exhibits(house)
    failed = replace(exhibits, base=SegmentFailure(reason="killed", is_repeatable=False))
    assert evidence_notes(failed, night_luck(np.empty((0, 0)))) == ()
    alone = {note.name for note in evidence_notes(replace(exhibits, census=None), night_luck(np.empty((0, 0))))}
    assert {"overfitting", "superior-ability", "trials"}.isdisjoint(alone)


@pytest.mark.parametrize(
    ("ratios", "asked", "median"),
    [
        ((1.0, 3.0, 2.0), 3, 2.0),
        ((1.0, 3.0), 2, 2.0),
        ((1.0, 3.0), 4, None),
        ((1.0, 3.0, 2.0), 5, 1.0),
        ((1.0, 3.0, 2.0), 4, 1.5),
        ((), 0, None),
        ((), 3, None),
    ],
)
def test_versions_that_failed_count_as_the_worst_ones(ratios, asked, median):
    assert Variants(active_sharpes=ratios, asked=asked).median == median
