"""Block bootstraps: what a draw is, block lengths that another implementation gives too, and tests of the best of many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fitness.resampling import (
    draw_indices,
    draw_weights,
    optimal_block,
    sharpe_interval,
    superior_ability,
)


def noise(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def autoregressive(rho, count, seed):
    shocks, series = noise(seed, count), np.zeros(count)
    for row in range(1, count):
        series[row] = rho * series[row - 1] + shocks[row]
    return series


def test_a_draw_is_made_of_blocks_that_run_over_the_end():
    indices = draw_indices(100, 400, 10.0, np.random.default_rng(1))
    assert indices.min() >= 0
    assert indices.max() < 100
    follows = np.diff(indices, axis=1) % 100 == 1
    # A block goes on with probability 0.9; by chance a new one may begin where the old one would have gone on.
    assert np.mean(follows) == pytest.approx(0.9 + 0.1 / 100, abs=0.01)


def test_weights_count_the_rows_of_each_draw():
    indices = draw_indices(30, 5, 4.0, np.random.default_rng(2))
    weights = draw_weights(30, 5, 4.0, np.random.default_rng(2))
    assert weights.tolist() == [[row.tolist().count(bar) for bar in range(30)] for row in indices]
    assert (weights.sum(axis=1) == 30).all()


def test_blocks_below_one_bar_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        draw_indices(10, 1, 0.5, np.random.default_rng(1))


def test_block_length_of_noise_is_the_one_of_another_implementation():
    """arch 8.0 gives 1.5333132435 for the same numbers."""
    assert optimal_block(autoregressive(0.0, 3000, 3)) == pytest.approx(1.5333132435, rel=1e-9)


@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_block_length_comes_near_its_theory(rho):
    """For AR(1): ``(2 rho / (1 - rho^2))^(2/3) T^(1/3)``."""
    lengths = [optimal_block(autoregressive(rho, 20_000, seed)) for seed in range(5)]
    assert np.median(lengths) == pytest.approx((2 * rho / (1 - rho**2)) ** (2 / 3) * 20_000 ** (1 / 3), rel=0.15)


def test_series_too_short_or_constant_have_blocks_of_one_bar():
    assert optimal_block(np.array([0.1, 0.2])) == 1.0
    assert optimal_block(np.full(50, 0.1)) == 1.0


def test_an_interval_has_the_width_of_the_standard_error():
    returns = 0.0005 + 0.01 * noise(4, 2500)
    interval = sharpe_interval(returns, np.random.default_rng(5), draws=4_000)
    middle = float(np.mean(returns) / np.std(returns, ddof=1))
    assert interval.low < middle < interval.high
    assert (interval.high - interval.low) / 2 == pytest.approx(1.96 / math.sqrt(2500), rel=0.1)


def test_constant_returns_have_no_interval():
    assert sharpe_interval(np.full(50, 0.01), np.random.default_rng(1)) is None


def test_the_best_of_fifty_noises_is_no_surprise_and_a_real_edge_is():
    """The matrix of the facts: arch gives .374/.561/.570 for the noise and 0 for the edge, by its own estimate of the spread."""
    null = np.random.default_rng(7).standard_normal((1000, 50)) * 0.01
    edge = null + np.where(np.arange(50) == 0, 0.0015, 0.0)
    luck = superior_ability(null, np.random.default_rng(1), block=5, draws=2_000)
    assert luck.lower <= luck.consistent <= luck.upper
    assert luck.consistent == pytest.approx(0.64, abs=0.05)
    skill = superior_ability(edge, np.random.default_rng(1), block=5, draws=2_000)
    assert skill.upper <= 0.002


def test_the_test_of_the_best_rejects_noise_as_often_as_it_says():
    rejections = [
        superior_ability(0.01 * noise(seed, 300, 8), np.random.default_rng(seed), block=1, draws=300).upper <= 0.1
        for seed in range(200)
    ]
    # 10% of 200, and three standard deviations.
    assert 0.1 - 0.065 <= np.mean(rejections) <= 0.1 + 0.065


def test_losers_only_and_no_candidates_at_all():
    losers = -0.01 + 0.001 * noise(1, 200, 3)
    assert superior_ability(losers, np.random.default_rng(1)).consistent == 1.0
    assert superior_ability(np.zeros((200, 3)), np.random.default_rng(1)) is None
    assert superior_ability(np.empty((0, 0)), np.random.default_rng(1)) is None
