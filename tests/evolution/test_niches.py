"""Who earns at the same times, told by correlation, exactly and whatever the number of bars."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.niches import ALIKE, BLOCKS, alike, are_alike, rhythm_of


def mixed(rng, base, share):
    """Returns that correlate with ``base`` by about ``share``."""
    other = rng.normal(size=len(base))
    return (share * base + np.sqrt(1 - share**2) * other).astype(np.float32)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8, 0.97, 0.99])
def test_near_copies_are_those_whose_blocks_of_returns_correlate(share):
    rng = np.random.default_rng(5)
    base = rng.standard_t(4, size=5 * BLOCKS).astype(np.float32)
    other = mixed(rng, base, share)
    blocks = [each.reshape(BLOCKS, 5).sum(axis=1) for each in (base, other)]
    correlation = np.corrcoef(blocks)[0, 1]
    assert abs(correlation - ALIKE) > 0.005  # what a byte per block rounds away
    assert are_alike(rhythm_of(base), rhythm_of(other)) == (correlation > ALIKE)


@pytest.mark.parametrize("bars", [1, 40, BLOCKS, 1_000, 50_000])
def test_a_rhythm_has_the_same_size_for_any_number_of_bars(bars):
    assert len(rhythm_of(np.random.default_rng(1).normal(size=bars).astype(np.float32))) == BLOCKS


def test_size_and_a_constant_gain_do_not_matter():
    returns = np.random.default_rng(2).normal(size=1_000).astype(np.float32)
    assert rhythm_of(returns) == rhythm_of(returns * np.float32(4.0))
    assert are_alike(rhythm_of(returns), rhythm_of(returns + np.float32(0.01)))
    assert not are_alike(rhythm_of(returns), rhythm_of(-returns))


@pytest.mark.parametrize("returns", [np.zeros(900), np.full(900, 0.01), np.zeros(0)])
def test_returns_that_never_change_are_like_nobody_s(returns):
    flat = rhythm_of(returns.astype(np.float32))
    assert flat == bytes(BLOCKS)
    assert not alike([flat, flat, None]).any()


@settings(max_examples=10)
@given(seed=st.integers(0, 1_000), count=st.integers(1, 20))
def test_who_is_alike_does_not_depend_on_the_company_or_its_order(seed, count):
    """Across the blocks in which the table is made, too."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=BLOCKS)
    rhythms = [rhythm_of(mixed(rng, base, share)) for share in rng.uniform(0.9, 1.0, size=count)]
    padded = [*rhythms, *[None] * 600, *rhythms]
    table = alike(padded)
    assert (table == table.T).all()
    for one in range(count):
        for other in range(count):
            expected = are_alike(rhythms[one], rhythms[other])
            assert table[one, other] == table[one, 600 + count + other] == expected
