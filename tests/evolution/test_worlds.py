"""Made-up markets hold what they say: no memory at all, or an edge of the stated strength."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evolution.worlds import (
    BARS_PER_YEAR,
    PlantedMarket,
    bars_for_vault,
    find_edge,
    luck_of_a_life,
    null_bars,
    power_of,
)
from runtime.market import check_quality
from runtime.market.builtin import find_builtin
from runtime.market.split import make_split, vault_cells


@pytest.fixture(scope="module")
def real():
    return find_builtin("us-large-caps").load()


def memory(bars, lag=1):
    steps = np.diff(np.log(bars.close))
    return float(np.corrcoef(steps[lag:], steps[:-lag])[0, 1])


@pytest.mark.parametrize("years", [2.0, 3.0])
def test_the_vault_has_the_length_that_was_asked_for(years):
    bars = PlantedMarket().bars(bars_for_vault(years), np.random.default_rng(1))
    for cell in vault_cells(make_split(bars), bars):
        assert (cell.stop - cell.start) / BARS_PER_YEAR == pytest.approx(years, abs=0.01)


@pytest.mark.parametrize("keeps_drift", [True, False])
def test_a_null_market_is_the_real_one_without_a_past(real, keeps_drift):
    bars = null_bars(real, 2_500, np.random.default_rng(3), keeps_drift=keeps_drift)
    assert len(bars) == 2
    for one in bars.values():
        assert check_quality(one).usable
        steps = np.diff(np.log(one.close))
        assert np.std(steps) == pytest.approx(0.01, rel=0.1)
        # Fat tails stay: that is what makes real bars the better null.
        assert np.mean((steps - steps.mean()) ** 4) / np.var(steps) ** 2 > 4
        assert all(abs(memory(one, lag)) < 4 / math.sqrt(2_500) for lag in (1, 2, 5, 20))
        total = math.log(one.close[-1] / one.close[0])
        assert (abs(total) > 0.2) == keeps_drift
    first, second = bars.values()
    assert np.corrcoef(np.diff(np.log(first.close)), np.diff(np.log(second.close)))[0, 1] > 0.25


def test_too_few_real_bars_are_refused(real):
    with pytest.raises(ValueError, match="are needed for a null"):
        null_bars(real, 100_000, np.random.default_rng(1))


def test_planted_bars_are_sound_and_follow_their_seed():
    market = PlantedMarket(edge=0.2)
    bars = market.bars(1_200, np.random.default_rng(5))
    again = market.bars(1_200, np.random.default_rng(5))
    for symbol, one in bars.items():
        assert check_quality(one).usable
        assert one.sha256 == again[symbol].sha256
        assert np.std(np.diff(np.log(one.close))) == pytest.approx(0.0102, rel=0.1)


def test_a_planted_drift_persists_for_its_half_life():
    drift, noise = PlantedMarket(edge=1.0, half_life=20, drift=0.0).log_returns(200_000, np.random.default_rng(2))
    assert np.corrcoef(drift[20:], drift[:-20])[0, 1] == pytest.approx(0.5, abs=0.03)
    assert np.std(drift) == pytest.approx(np.std(noise), rel=0.05)
    # It is as strong in one stretch as in the next: only its sign changes.
    assert np.unique(np.abs(drift)).size == 1


def test_a_half_life_too_short_to_act_on_is_refused():
    with pytest.raises(ValueError, match="at least 10"):
        PlantedMarket(half_life=5)


def test_the_edge_that_is_found_makes_the_best_rule_as_good_as_asked_for():
    strong, weak = (find_edge(PlantedMarket(), target, years=120) for target in (2.0, 1.0))
    assert strong.active_sharpe == pytest.approx(2.0, abs=0.02)
    assert weak.active_sharpe == pytest.approx(1.0, abs=0.02)
    assert 0 < weak.edge < strong.edge < 0.4
    assert "average" in strong.rule or "bars ago" in strong.rule
    # More symbols need less of an edge each.
    four = find_edge(PlantedMarket(symbols=("A", "B", "C", "D")), 2.0, years=120)
    assert four.edge < strong.edge


def test_strength_is_what_a_look_measures_and_one_mean_for_the_whole_path_flatters():
    found = find_edge(PlantedMarket(), 2.0, years=120)
    assert found.whole_path > found.active_sharpe + 0.1
    # With a vault as long as the path there is nothing to tell apart.
    whole = find_edge(PlantedMarket(), 2.0, years=120, stretch_years=120)
    assert whole.whole_path == whole.active_sharpe
    assert whole.edge < found.edge


def test_a_rule_passes_its_look_as_often_as_there_is_something_to_see():
    rule = "close above its average of 30"
    luck, skill = (power_of(rule, PlantedMarket(edge=edge), years=3.0, alpha=0.05, vaults=300) for edge in (0.0, 0.27))
    # Three standard deviations above 5%; fees push a rule without skill below it.
    assert luck <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
    assert 0.8 < skill < 1.0


def test_over_the_life_of_a_vault_luck_passes_as_often_as_the_budget_says_and_costs_make_it_rarer():
    free = luck_of_a_life(years=3.0, alpha=0.02, budget=0.1, vaults=200, fee_bps=0.0)
    assert 8 <= free <= 36  # about 19 are expected; beyond these lie less than 1% on either side
    assert luck_of_a_life(years=3.0, alpha=0.02, budget=0.1, vaults=200) < free
    assert (
        luck_of_a_life(years=3.0, alpha=0.02, budget=0.02, vaults=200, fee_bps=0.0) < free
    )  # one look instead of five
