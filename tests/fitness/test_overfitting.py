"""PBO to the last digit of five other implementations, and clusters that find what is alike."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fitness.overfitting import LARGEST_BATCH, effective_trials, overfitting_probability


def matrix(edge=0.0):
    returns = np.random.default_rng(7).standard_normal((1000, 50)) * 0.01
    returns[:, 0] += edge
    return returns


@pytest.mark.parametrize(
    ("returns", "blocks", "probability", "loss"),
    [
        (matrix(), 10, 0.4920634921, 0.5912698413),
        (matrix(0.0015), 10, 0.0515873016, 0.0674603175),
        (matrix()[:992], 16, 0.5096348096, 0.6004662005),
        (matrix(0.0015)[:992], 16, 0.0750582751, 0.0850815851),
    ],
)
def test_overfitting_of_the_reference_matrix(returns, blocks, probability, loss):
    found = overfitting_probability(returns, blocks=blocks)
    assert found.probability == pytest.approx(probability, abs=5e-11)
    assert found.loss == pytest.approx(loss, abs=5e-11)
    assert found.splits == math.comb(blocks, blocks // 2)


def test_block_sums_give_what_the_definition_gives():
    returns = np.random.default_rng(2).standard_normal((61, 7))
    blocks = returns[:60].reshape(6, 10, 7)
    below, losses, splits = 0, 0, 0
    for inside in itertools.combinations(range(6), 3):
        outside = [block for block in range(6) if block not in inside]
        halves = [np.concatenate([blocks[block] for block in half]) for half in (inside, outside)]
        ratios = [half.mean(axis=0) / half.std(axis=0, ddof=1) for half in halves]
        best = int(np.argmax(ratios[0]))
        rank = int(np.sum(ratios[1] <= ratios[1][best]))
        below += math.log((rank / 8) / (1 - rank / 8)) <= 0
        losses += ratios[1][best] < 0
        splits += 1
    found = overfitting_probability(returns, blocks=6)
    assert (found.probability, found.loss) == (below / splits, losses / splits)


def test_ties_get_their_mean_rank_and_idle_trials_a_ratio_of_zero():
    """Copies of one strategy are all alike out of sample: the middle of the ranks, which counts as overfit."""
    one = np.random.default_rng(1).standard_normal((100, 1))
    assert overfitting_probability(np.repeat(one, 4, axis=1), blocks=4).probability == 1.0
    assert overfitting_probability(np.zeros((100, 3)), blocks=4).loss == 0.0


@pytest.mark.parametrize("level", [0.3, 0.01, -0.01, 1e-5])
def test_a_constant_is_worth_nothing_whatever_its_level(level):
    """A mean of equal squares misses the square of their mean by an ulp: a ratio of a hundred million, chosen in every split."""
    moving = np.random.default_rng(3).standard_normal((40, 2)) * 0.01
    idle = overfitting_probability(np.column_stack((moving, np.zeros(40))), blocks=4)
    assert overfitting_probability(np.column_stack((moving, np.full(40, level))), blocks=4) == idle


def test_too_little_to_split_is_undefined_and_odd_blocks_are_refused():
    assert overfitting_probability(np.zeros((10, 1))) is None
    assert overfitting_probability(np.zeros((10, 5))) is None
    with pytest.raises(ValueError, match="even number"):
        overfitting_probability(matrix(), blocks=5)


def families(groups, copies, own, seed=3):
    rng = np.random.default_rng(seed)
    cores = rng.standard_normal((800, groups))
    return np.repeat(cores, copies, axis=1) + own * rng.standard_normal((800, groups * copies))


def test_near_copies_are_one_trial():
    found = effective_trials(families(12, 10, 0.3))
    assert (found.trials, found.clusters) == (120, 12)
    assert found.rank < 40
    assert found.average > 100


def test_strangers_stay_apart():
    assert effective_trials(np.random.default_rng(4).standard_normal((800, 60))).clusters == 60


def test_what_never_moved_is_no_trial():
    moving = families(3, 2, 0.1)
    assert effective_trials(np.hstack([moving, np.zeros((800, 5))])).trials == 6
    assert effective_trials(np.zeros((800, 5))).clusters == 0
    assert effective_trials(moving[:, :1]).clusters == 1


def test_more_than_a_batch_is_refused():
    with pytest.raises(ValueError, match="at most"):
        effective_trials(np.random.default_rng(1).standard_normal((3, LARGEST_BATCH + 1)))
