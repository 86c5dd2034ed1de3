"""Permuted bars keep what a bar is and lose what came before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fitness.permutation import permute_bars


@pytest.fixture
def market(make_bars):
    """Two symbols that share half of their moves."""
    rng = np.random.default_rng(1)
    common = rng.normal(0, 0.01, 600)

    def one(seed):
        own = np.random.default_rng(seed)
        closes = 100 * np.exp(np.cumsum(common + own.normal(0, 0.01, 600)))
        opens = np.append(closes[0], closes[:-1]) * np.exp(own.normal(0, 0.004, 600))
        bars = make_bars(closes)
        return replace(
            bars,
            open=opens,
            high=np.maximum(opens, closes) * np.exp(np.abs(own.normal(0, 0.003, 600))),
            low=np.minimum(opens, closes) * np.exp(-np.abs(own.normal(0, 0.003, 600))),
            volume=own.integers(1, 10_000, 600).astype(float),
        )

    return {"A": one(2), "B": one(3)}


def shapes(bars, start=0):
    rows = slice(start + 1, None)
    columns = [np.log(getattr(bars, name)[rows] / bars.open[rows]) for name in ("high", "low", "close")]
    return np.column_stack([*columns, bars.volume[rows]])


def gaps(bars, start=0):
    return np.log(bars.open[start + 1 :] / bars.close[start:-1])


def test_the_same_shapes_and_gaps_come_back_in_another_order(market):
    permuted = permute_bars(market, np.random.default_rng(9))
    for symbol, before in market.items():
        after = permuted[symbol]
        assert not np.allclose(before.close[1:], after.close[1:])
        by_rise = [np.lexsort(shapes(each).round(9).T) for each in (before, after)]
        assert shapes(after)[by_rise[1]] == pytest.approx(shapes(before)[by_rise[0]], abs=1e-9)
        assert np.sort(gaps(after)) == pytest.approx(np.sort(gaps(before)), abs=1e-9)
        assert after.close[-1] == pytest.approx(before.close[-1])
        assert (after.high >= np.maximum(after.open, after.close)).all()
        assert (after.low <= np.minimum(after.open, after.close)).all()
        assert np.array_equal(after.ts, before.ts)


def test_symbols_move_together_as_before(market):
    permuted = permute_bars(market, np.random.default_rng(9))

    def correlation(bars):
        return np.corrcoef(*[np.diff(np.log(one.close)) for one in bars.values()])[0, 1]

    # Shape and gap of a bar part company, so only what they share inside a bar stays: nearly all of it here.
    assert correlation(permuted) == pytest.approx(correlation(market), abs=0.08)


def test_rows_before_the_start_stay_as_they_are(market):
    permuted = permute_bars(market, np.random.default_rng(9), start=250)
    for symbol, before in market.items():
        for name in ("open", "high", "low", "close", "volume"):
            assert np.array_equal(getattr(permuted[symbol], name)[:251], getattr(before, name)[:251])
        assert np.sort(gaps(permuted[symbol], 250)) == pytest.approx(np.sort(gaps(before, 250)), abs=1e-9)


def test_a_trend_has_no_memory_afterwards(make_bars):
    rng, drift = np.random.default_rng(5), 0.0
    moves = []
    for _ in range(3_000):
        drift = 0.95 * drift + rng.normal(0, 0.003)
        moves.append(drift + rng.normal(0, 0.01))
    bars = {"A": make_bars(100 * np.exp(np.cumsum(moves)))}

    def memory(one):
        steps = np.diff(np.log(one.close))
        return np.corrcoef(steps[1:], steps[:-1])[0, 1]

    assert memory(bars["A"]) > 0.2
    assert abs(memory(permute_bars(bars, rng)["A"])) < 0.06


def test_symbols_on_different_stamps_are_refused(market):
    other = market["B"].between(0, 500)
    with pytest.raises(ValueError, match="same stamps"):
        permute_bars({"A": market["A"], "B": other}, np.random.default_rng(1))
    with pytest.raises(ValueError, match="nothing to permute"):
        permute_bars(market, np.random.default_rng(1), start=598)
