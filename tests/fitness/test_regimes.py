"""Slices of the market's weather hold each bar once and know nothing of the bar itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fitness.regimes import regime_slices

STAMPS = np.arange(2_126)


def weather():
    """Calm and rising, then wild and falling."""
    rng = np.random.default_rng(1)
    spread = np.where(STAMPS < 1_063, 0.005, 0.02)
    drift = np.where(STAMPS < 1_063, 0.002, -0.004)
    return drift + spread * rng.standard_normal(len(STAMPS))


def test_every_sorted_bar_is_in_one_slice():
    slices = regime_slices(STAMPS[126:], np.ones(2_000), STAMPS, weather(), 252)
    assert len(slices) == 6
    assert sum(each.bars for each in slices) == 2_000


def test_an_edge_shows_in_the_weather_in_which_it_lives():
    active = 0.01 * np.random.default_rng(2).standard_normal(len(STAMPS)) + np.where(STAMPS < 1_063, 0.002, 0.0)
    named = {each.name: each for each in regime_slices(STAMPS[126:], active[126:], STAMPS, weather(), 252)}
    assert named["calm, rising"].active_sharpe > 2
    assert abs(named["wild, falling"].active_sharpe) < 1.5
    assert named["calm, falling"].active_sharpe is None
    assert named["calm, rising"].bars > 500


def test_a_slice_is_chosen_by_what_was_known_before_its_bar():
    """Changing the market's return of a bar must not move that bar to another slice."""
    market = weather()
    changed = market.copy()
    changed[-1] = 0.5
    active = np.zeros(len(STAMPS))
    active[-1] = 1.0
    before, after = (
        [each.bars for each in regime_slices(STAMPS[126:], active[126:], STAMPS, values, 252)]
        for values in (market, changed)
    )
    assert before == after


def test_bars_without_enough_past_are_left_out():
    assert regime_slices(STAMPS[:100], np.ones(100), STAMPS, weather(), 252) == ()
    few = regime_slices(STAMPS[:176], np.random.default_rng(1).standard_normal(176), STAMPS, weather(), 252)
    assert sum(each.bars for each in few) == 50
    assert all(each.active_sharpe is None for each in few)


def test_ratios_are_annual():
    active = np.where(STAMPS % 2 == 0, 0.02, -0.01)
    found = [each for each in regime_slices(STAMPS[126:], active[126:], STAMPS, weather(), 252) if each.bars > 400]
    assert found
    for each in found:
        assert each.active_sharpe == pytest.approx(0.005 / 0.015 * math.sqrt(252), rel=0.05)
