"""What a run is measured by, and from which bar on."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitness import measure
from fitness.metrics import count_round_trips
from runtime.kernel.report import RunConfig
from runtime.model import Side

CONFIG = RunConfig(cash=1000.0)
YEAR_DAYS = 365.2425

# Tenths of a percent: dispersion is either none or far above rounding noise.
steps = st.integers(-300, 300).map(lambda value: value / 1000)


def compound(returns, cash=1000.0):
    return [cash, *(cash * np.cumprod(1 + np.array(returns)))]


def wobble(count):
    return [0.02 if row % 2 else -0.01 for row in range(count)]


def test_figures_follow_from_their_definitions(make_bars, make_report, make_fill):
    """One run computed by hand: 400 daily bars, one round trip, half the time in the market."""
    returns = [*[0.0] * 200, *wobble(200)]
    equity = compound(returns)
    fills = [make_fill(Side.BUY, 10, 100.0, fee=1.0), make_fill(Side.SELL, 10, 110.0, fee=1.5)]
    report = make_report(equity, position=[0.0] * 200 + [10.0] * 200, fills=fills)
    metrics = measure(report, make_bars([100.0] * 400), CONFIG)
    years = 400 / YEAR_DAYS
    growth = (equity[-1] / 1000) ** (1 / years) - 1
    assert metrics.total_return == pytest.approx(equity[-1] / 1000 - 1)
    assert metrics.final_equity == equity[-1]
    assert metrics.cagr == pytest.approx(growth)
    assert metrics.sharpe == pytest.approx(np.mean(returns) / np.std(returns, ddof=1) * math.sqrt(252))
    assert metrics.sortino == pytest.approx(np.mean(returns) / math.sqrt(100 * 0.01**2 / 400) * math.sqrt(252))
    assert metrics.max_drawdown == pytest.approx(0.01)
    assert metrics.calmar == pytest.approx(growth / 0.01)
    assert metrics.turnover == pytest.approx(2100 / np.mean(equity[1:]) / years)
    assert metrics.exposure == 0.5
    assert metrics.trades == 1
    assert metrics.fees == 2.5
    assert metrics.seed_score == pytest.approx(metrics.sharpe + 0.3 * metrics.calmar - 0.10 * 100 / 400)


def test_bars_before_the_first_tradable_one_do_not_count(make_bars, make_report):
    returns = wobble(120)
    plain = measure(make_report(compound(returns)), make_bars([100.0] * 120), CONFIG)
    warmed = make_report(compound([*[0.0] * 50, *returns]), first=50)
    assert measure(warmed, make_bars([100.0] * 170), CONFIG) == plain


def test_a_given_first_row_overrules_the_report(make_bars, make_report):
    """A child that claims to have started late must not lose its bad start."""
    equity = compound([*[-0.1] * 3, *wobble(120)])
    bars = make_bars([100.0] * 123)
    honest = measure(make_report(equity, first=0), bars, CONFIG)
    late = make_report(equity, first=3)
    assert measure(late, bars, CONFIG) != honest
    assert measure(late, bars, CONFIG, first=0) == honest


def test_the_first_peak_is_the_starting_cash(make_bars, make_report):
    metrics = measure(make_report(compound([-0.5, 0.1, 0.1])), make_bars([100.0] * 3), CONFIG)
    assert metrics.max_drawdown == pytest.approx(0.5)


def test_a_run_that_never_became_tradable_has_no_ratios(make_bars, make_report):
    metrics = measure(make_report([1000.0] * 101, first=None), make_bars([100.0] * 100), CONFIG)
    undefined = (metrics.cagr, metrics.sharpe, metrics.sortino, metrics.calmar, metrics.seed_score)
    assert undefined == (None,) * 5
    assert (metrics.total_return, metrics.max_drawdown, metrics.exposure, metrics.trades) == (0.0, 0.0, 0.0, 0)


def test_a_run_that_never_trades_has_no_score_rather_than_a_zero(make_bars, make_report):
    """Zero would outrank every strategy that tried and lost a little."""
    metrics = measure(make_report([1000.0] * 401), make_bars([100.0] * 400), CONFIG)
    assert metrics.sharpe is None
    assert metrics.calmar is None
    assert metrics.seed_score is None
    assert metrics.cagr == 0.0


@pytest.mark.parametrize(("count", "defined"), [(29, False), (30, True)])
def test_sharpe_needs_thirty_returns(make_bars, make_report, count, defined):
    metrics = measure(make_report(compound(wobble(count))), make_bars([100.0] * count), CONFIG)
    assert (metrics.sharpe is not None, metrics.sortino is not None) == (defined, defined)


@pytest.mark.parametrize(("count", "defined"), [(89, False), (90, True)])
def test_annual_growth_needs_ninety_days_by_the_stamps(make_bars, make_report, count, defined):
    metrics = measure(make_report(compound(wobble(count))), make_bars([100.0] * count), CONFIG)
    assert (metrics.cagr is not None, metrics.calmar is not None) == (defined, defined)


def test_many_short_bars_do_not_make_ninety_days(make_bars, make_report):
    bars = make_bars([100.0] * 2000, bars_per_year=8760, step=3600)
    metrics = measure(make_report(compound(wobble(2000))), bars, CONFIG)
    assert metrics.cagr is None
    assert metrics.sharpe is not None


def test_ratios_are_annualised_by_the_instruments_calendar(make_bars, make_report):
    report = make_report(compound(wobble(100)))
    stock = measure(report, make_bars([100.0] * 100, bars_per_year=252), CONFIG)
    coin = measure(report, make_bars([100.0] * 100, bars_per_year=365), CONFIG)
    assert coin.sharpe / stock.sharpe == pytest.approx(math.sqrt(365 / 252))


def test_a_ruined_run_has_no_returns_after_its_ruin(make_bars, make_report):
    """The bar of the ruin counts as -100%; the dead bars after it must not dilute it."""
    alive = compound(wobble(60))
    report = make_report([*alive, *[0.0] * 60], ruined=True)
    metrics = measure(report, make_bars([100.0] * 120), CONFIG)
    returns = [*wobble(60), -1.0]
    assert metrics.sharpe == pytest.approx(np.mean(returns) / np.std(returns, ddof=1) * math.sqrt(252))
    assert (metrics.total_return, metrics.max_drawdown, metrics.cagr, metrics.calmar) == (-1.0, 1.0, -1.0, -1.0)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused(make_bars, make_report, broken):
    with pytest.raises(ValueError, match="equity 2 of the report is not finite"):
        measure(make_report([1000.0, 1000.0, broken]), make_bars([100.0] * 2), CONFIG)


def test_a_report_of_other_bars_is_refused(make_bars, make_report):
    with pytest.raises(ValueError, match="3 bars need 3 and 4"):
        measure(make_report([1000.0] * 3), make_bars([100.0] * 3), CONFIG)


@pytest.mark.parametrize(
    ("deltas", "trips"),
    [
        ([], 0),
        ([10], 0),
        ([10, -10], 1),
        ([10, -5], 0),
        ([10, -5, -5], 1),
        ([10, *[-0.1] * 100], 1),
        ([10, -5, 5, -10], 1),
        ([10, -20], 1),
        ([10, -20, 10], 2),
        ([-10, 10, 10, -10], 2),
        ([0.1, 0.2, -0.3], 1),
    ],
)
def test_a_round_trip_is_closed_when_the_position_is_flat_again(make_fill, deltas, trips):
    """Slicing one exit into a hundred orders must not look like a hundred round trips."""
    fills = [make_fill(Side.BUY if step > 0 else Side.SELL, abs(step)) for step in deltas]
    assert count_round_trips(fills) == trips


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(returns=st.lists(steps, min_size=91, max_size=120), scale=st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
def test_scaling_prices_and_cash_leaves_every_ratio(make_bars, make_report, make_fill, returns, scale):
    def run(factor):
        fills = [make_fill(Side.BUY, 3, 100 * factor), make_fill(Side.SELL, 3, 90 * factor)]
        report = make_report(compound(returns, 1000 * factor), position=[1.0] * len(returns), fills=fills)
        bars = make_bars([100.0 * factor] * len(returns))
        return asdict(measure(report, bars, RunConfig(cash=1000 * factor)))

    plain, scaled = run(1.0), run(scale)
    plain["final_equity"] *= scale
    for name, value in plain.items():
        assert scaled[name] == (value if value is None else pytest.approx(value, rel=1e-6, abs=1e-9)), name


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(returns=st.lists(st.floats(-1.0, 0.5), min_size=1, max_size=120), first=st.integers(0, 130))
def test_every_figure_is_finite_or_none(make_bars, make_report, returns, first):
    report = make_report(compound(returns), first=first)
    figures = asdict(measure(report, make_bars([100.0] * len(returns)), CONFIG))
    assert all(value is None or math.isfinite(value) for value in figures.values())
