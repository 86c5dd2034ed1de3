"""Sampling theory of Sharpe ratios against figures of the papers, and active returns against their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitness import (
    SharpeSample,
    StampedReturns,
    active_returns,
    active_run_returns,
    deflated_sharpe,
    expected_maximum,
    minimum_backtest_years,
    minimum_track_record,
    pooled_active_returns,
    probabilistic_sharpe,
    sharpe_sample,
)
from fitness.evidence import (
    hac_standard_error,
    lo_scaling,
    lo_standard_error,
    market_alpha,
    mertens_standard_error,
)
from runtime.kernel.report import RunConfig

TWELVE = np.array([0.02, -0.01, 0.015, 0.03, -0.02, 0.005, 0.01, -0.005, 0.025, -0.015, 0.01, 0.02])
# The worked example of "The Deflated Sharpe Ratio": annual 2.5 on 1250 days, annual variance of the trials 1/2.
FAT = SharpeSample(2.5 / math.sqrt(250), 1250, -3.0, 10.0)
NORMAL = SharpeSample(2.5 / math.sqrt(250), 1250)


def test_probabilistic_sharpe_of_the_twelve_month_fixture():
    sample = sharpe_sample(TWELVE)
    assert probabilistic_sharpe(sample) == pytest.approx(0.9076167085, rel=1e-9)
    assert minimum_track_record(sample) == pytest.approx(17.9205919127, rel=1e-9)


@pytest.mark.parametrize(("moments", "published"), [((0.0, 3.0), 0.9817), ((-2.448, 10.164), 0.9134)])
def test_probabilistic_sharpe_gives_the_papers_hedge_fund_example(moments, published):
    assert probabilistic_sharpe(SharpeSample(0.458, 24, *moments)) == pytest.approx(published, abs=5e-5)


@pytest.mark.parametrize(
    ("trials", "expected"), [(1, 0.0), (10, 1.574598), (45, 2.2356), (100, 2.530603), (1000, 3.255122)]
)
def test_expected_maximum_of_normals(trials, expected):
    assert expected_maximum(trials) == pytest.approx(expected, abs=5e-5)


def test_the_maximum_of_no_trials_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        expected_maximum(0)


@pytest.mark.parametrize(
    ("sample", "trials", "expected"),
    [(FAT, 100, 0.9003968), (FAT, 46, 0.9505017), (NORMAL, 88, 0.9504908), (NORMAL, 100, 0.9427706)],
)
def test_deflated_sharpe_gives_the_papers_example(sample, trials, expected):
    assert deflated_sharpe(sample, trials=trials, variance=0.5 / 250) == pytest.approx(expected, abs=5e-8)


def test_one_trial_is_not_deflated():
    assert deflated_sharpe(FAT, trials=1, variance=0.5 / 250) == probabilistic_sharpe(FAT)


@pytest.mark.parametrize(
    ("periods", "moments", "years"),
    [(252, (0.0, 3.0), 2.7310), (52, (0.0, 3.0), 2.8288), (12, (0.0, 3.0), 3.2398), (12, (-0.72, 5.78), 4.9913)],
)
def test_minimum_track_record_gives_the_papers_years(periods, moments, years):
    sample = SharpeSample(2 / math.sqrt(periods), 100, *moments)
    length = minimum_track_record(sample, benchmark=1 / math.sqrt(periods))
    assert length / periods == pytest.approx(years, abs=5e-5)


def test_no_record_is_long_enough_for_a_ratio_below_its_benchmark():
    assert minimum_track_record(SharpeSample(0.1, 100), benchmark=0.1) is None


@pytest.mark.parametrize(("trials", "years"), [(45, 4.998), (100, 6.404), (1000, 10.596), (2000, 11.884)])
def test_minimum_backtest_length_gives_the_papers_years(trials, years):
    assert minimum_backtest_years(trials) == pytest.approx(years, abs=5e-4)


@pytest.mark.parametrize(("sharpe", "expected"), [(0.5, 0.1369), (1, 0.1581), (1.5, 0.1882), (2, 0.2236), (3, 0.3028)])
def test_lo_standard_error_gives_the_papers_table(sharpe, expected):
    assert lo_standard_error(SharpeSample(sharpe, 60)) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("rho", "expected"),
    [(-0.2, 4.1708), (-0.1, 3.7979), (0.0, 3.4641), (0.1, 3.1601), (0.2, 2.8788), (0.5, 2.1213)],
)
def test_lo_scaling_gives_the_papers_table(rho, expected):
    assert lo_scaling(12, rho) == pytest.approx(expected, abs=5e-5)


def test_mertens_error_of_normal_moments_is_lo_error_with_one_return_less():
    sample = SharpeSample(0.5, 61)
    assert mertens_standard_error(sample) == pytest.approx(lo_standard_error(SharpeSample(0.5, 60)))


def test_without_lags_the_robust_error_is_the_one_for_independent_returns():
    returns = np.random.default_rng(5).normal(0.001, 0.01, 5000)
    robust, independent = hac_standard_error(returns, lags=0), mertens_standard_error(sharpe_sample(returns))
    assert robust == pytest.approx(independent, rel=1e-3)


def test_the_robust_error_grows_with_positive_autocorrelation():
    noise = np.random.default_rng(5).normal(0, 0.01, 5001)
    smooth = 0.001 + noise[1:] + 0.8 * noise[:-1]
    assert hac_standard_error(smooth) > 1.2 * hac_standard_error(smooth, lags=0)


def test_constant_returns_have_no_evidence():
    assert sharpe_sample(np.full(100, 0.01)) is None
    assert probabilistic_sharpe(None) is None
    assert hac_standard_error(np.full(100, 0.01)) is None


@pytest.mark.parametrize("sample", [SharpeSample(0.5, 1), SharpeSample(1.0, 100, 3.0, 1.0)])
def test_no_error_is_given_for_one_return_or_for_moments_that_no_distribution_has(sample):
    assert mertens_standard_error(sample) is None
    assert probabilistic_sharpe(sample) is None


def test_no_returns_have_no_active_returns():
    assert len(active_returns(np.array([]), np.array([]), np.array([]))) == 0


def test_active_returns_take_the_mean_exposure_out():
    returns, weights, market = np.array([0.01, 0.0, -0.02]), np.array([1.0, 0.0, 0.5]), np.array([0.01, 0.03, -0.04])
    assert active_returns(returns, weights, market) == pytest.approx(returns - 0.5 * market)


def test_positions_without_information_have_active_mean_zero():
    """Raw returns of the same positions earn the market's premium and look like skill."""
    rng = np.random.default_rng(11)
    market = rng.normal(0.002, 0.01, 200_000)
    weights = rng.integers(0, 2, len(market)).astype(float)
    active = active_returns(weights * market, weights, market)
    error = np.std(active) / math.sqrt(len(active))
    assert abs(np.mean(active)) < 4 * error
    assert np.mean(weights * market) > 40 * error


def test_active_returns_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match="must be equal"):
        active_returns(np.zeros(3), np.zeros(2), np.zeros(3))


def test_a_held_position_has_active_return_zero_while_it_is_held(make_bars, make_report):
    """Fully invested from the first close on: the equity is the market."""
    closes = [100.0, 110.0, 99.0, 120.0]
    report = make_report([1000.0, *(10 * close for close in closes)], position=[10.0] * 4, first=1)
    active = active_run_returns(report, make_bars(closes), RunConfig(cash=1000.0))
    assert active.returns == pytest.approx(np.zeros(3), abs=1e-15)
    assert active.ts.tolist() == make_bars(closes).ts[1:].tolist()


def test_a_ruined_run_has_active_returns_up_to_its_ruin(make_bars, make_report):
    report = make_report([1000.0, 1000.0, 500.0, 0.0, 0.0], ruined=True)
    active = active_run_returns(report, make_bars([100.0] * 4), RunConfig(cash=1000.0))
    assert active.returns.tolist() == [0.0, -0.5, -1.0]


def test_pooling_averages_what_exists_at_each_stamp():
    one = StampedReturns(np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3]))
    two = StampedReturns(np.array([2, 3, 4]), np.array([0.4, 0.5, 0.6]))
    pooled = pooled_active_returns([one, two])
    assert pooled.ts.tolist() == [1, 2, 3, 4]
    assert pooled.returns == pytest.approx([0.1, 0.3, 0.4, 0.6])


def test_pooling_nothing_gives_an_empty_series():
    assert len(pooled_active_returns([]).returns) == 0


@settings(deadline=None)
@given(
    sharpe=st.floats(-2, 2),
    length=st.integers(2, 5000),
    skew=st.floats(-3, 3),
    excess=st.floats(0, 20),
    trials=st.integers(1, 100_000),
)
def test_probabilities_are_probabilities_and_fall_with_the_number_of_trials(sharpe, length, skew, excess, trials):
    # No distribution has a kurtosis below 1 + skewness squared.
    sample = SharpeSample(sharpe, length, skew, 1 + skew**2 + excess)
    alone, deflated = probabilistic_sharpe(sample), deflated_sharpe(sample, trials=trials, variance=0.01)
    if alone is not None:
        assert 0 <= deflated <= alone <= 1


def test_the_regression_on_the_market_finds_what_was_put_in():
    rng = np.random.default_rng(8)
    market = rng.normal(0.0003, 0.01, 4_000)
    found = market_alpha(0.0005 + 0.6 * market + rng.normal(0, 0.004, 4_000), market)
    assert found.beta == pytest.approx(0.6, abs=0.02)
    assert found.alpha == pytest.approx(0.0005, abs=3 * 0.004 / math.sqrt(4_000))
    assert found.t_statistic == pytest.approx(found.alpha / (0.004 / math.sqrt(4_000)), rel=0.05)


def test_the_regression_equals_the_normal_equations():
    market, returns = TWELVE, np.roll(TWELVE, 3) + 0.5 * TWELVE
    design = np.column_stack((np.ones(12), market))
    (alpha, beta), residual, *_ = np.linalg.lstsq(design, returns, rcond=None)
    error = math.sqrt(residual[0] / 10 * np.linalg.inv(design.T @ design)[0, 0])
    assert market_alpha(returns, market) == pytest.approx((alpha, beta, alpha / error))


def test_a_market_that_stands_still_or_explains_all_leaves_no_alpha():
    assert market_alpha(TWELVE, np.full(12, 0.01)) is None
    assert market_alpha(2 * TWELVE, TWELVE) is None
    assert market_alpha(TWELVE[:2], TWELVE[:2]) is None
    with pytest.raises(ValueError, match="must be equal"):
        market_alpha(TWELVE, TWELVE[:5])
