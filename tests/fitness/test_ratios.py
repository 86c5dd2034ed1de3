"""Formulas against published or independently computed reference values."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitness.evidence import probabilistic_sharpe, sharpe_sample
from fitness.ratios import (
    annual_growth,
    calmar_ratio,
    drawdowns,
    is_constant,
    kurtosis,
    max_drawdown,
    sharpe_per_bar,
    sharpe_ratio,
    simple_returns,
    skewness,
    sortino_ratio,
    tail_ratio,
    ulcer_index,
)
from runtime.market.builtin import find_builtin

# Twelve monthly returns; the expected figures agree between two public libraries wherever those define the same thing.
TWELVE = np.array([0.02, -0.01, 0.015, 0.03, -0.02, 0.005, 0.01, -0.005, 0.025, -0.015, 0.01, 0.02])
CURVE = np.concatenate(([1.0], np.cumprod(1 + TWELVE)))

returns_lists = st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=60).map(np.array)


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (sharpe_per_bar(TWELVE), 0.4345360432),
        (sharpe_ratio(TWELVE, 12), 1.5052770090),
        (skewness(TWELVE), -0.3233769848),
        (kurtosis(TWELVE), 1.8554055585),
        (max_drawdown(CURVE), 0.02),
        (annual_growth(CURVE, 1.0), 0.0868181103),
        (calmar_ratio(0.0868181103, 0.02), 4.3409055163),
        (sortino_ratio(TWELVE, 12), 3.1037611592),
        (ulcer_index(CURVE), 0.0096248416),
        (tail_ratio(TWELVE), 1.5797101449),
    ],
    ids=["sharpe", "annual-sharpe", "skew", "kurtosis", "drawdown", "growth", "calmar", "sortino", "ulcer", "tail"],
)
def test_the_twelve_month_fixture_gives_the_reference_figures(figure, expected):
    assert figure == pytest.approx(expected, rel=1e-8)


# Figures of the shipped daily bars (3,269 returns each, 252 a year), made with pandas and scipy from the definitions; our
# functions also give those of the NASDAQ Composite 1999-2018 that other libraries agree on (Sharpe ratio .3442152694, drawdown
# .7793238629, Calmar ratio .0727188748), whose bars are not here because nobody states a licence for them.
SHARES = {
    "AAPL": (0.6784016442, 0.8180179795, 0.2215395714, 0.2708248192, 0.9549721623, 0.4290268201, 1.1001008262, -1.7196273889, 37.1420630348, 0.9903581936),
    "IBM": (0.3785099252, 0.5831391208, 0.0691002041, 0.1184969447, 0.5519180103, 0.2463013194, 0.9808378629, 0.1938895833, 10.1785023975, 0.9139264081),
    "MSFT": (0.1175994806, 0.6746454815, -0.0154908736, -0.0229615020, 0.1701072129, 0.4485053872, 1.0717400109, 0.2811047566, 12.6067128922, 0.6641808987),
}  # fmt: skip
SHARES_FIGURES = "sharpe drawdown growth calmar sortino ulcer tail skew kurtosis psr".split()  # noqa: SIM905 - a row as above


@pytest.mark.parametrize("symbol", SHARES)
def test_thirteen_years_of_a_share_give_the_reference_figures(symbol):
    close = find_builtin("us-large-caps").load()[symbol].close
    returns = simple_returns(close)
    growth = annual_growth(close, len(returns) / 252)
    figures = (
        sharpe_ratio(returns, 252), max_drawdown(close), growth, calmar_ratio(growth, max_drawdown(close)),
        sortino_ratio(returns, 252), ulcer_index(close), tail_ratio(returns), skewness(returns), kurtosis(returns),
        probabilistic_sharpe(sharpe_sample(returns)),
    )  # fmt: skip
    assert dict(zip(SHARES_FIGURES, figures, strict=True)) == pytest.approx(
        dict(zip(SHARES_FIGURES, SHARES[symbol], strict=True)), abs=1e-9
    )


def test_simple_returns_invert_a_compounded_curve():
    assert simple_returns(CURVE) == pytest.approx(TWELVE, abs=1e-15)


def test_returns_end_with_a_total_loss_at_the_bar_of_the_ruin():
    """A change computed through zero would be infinite, or a gain out of nothing."""
    assert simple_returns(np.array([100.0, 50.0, -10.0, -10.0, 30.0])).tolist() == [-0.5, -1.0]


def test_a_loss_on_the_first_bar_is_a_drawdown_from_the_starting_cash():
    assert max_drawdown(np.array([1.0, 0.5, 0.55, 0.605])) == 0.5


def test_drawdown_of_a_ruined_curve_is_total_and_not_more():
    assert max_drawdown(np.array([1.0, 2.0, -1.0])) == 1.0


@pytest.mark.parametrize("value", [0.0, 0.01, -0.003, 1e-6])
def test_returns_that_differ_by_rounding_noise_only_have_no_ratio(value):
    """Their standard deviation is about 1e-18, which would make a Sharpe ratio of 1e16."""
    curve = 100_000 * np.cumprod(np.full(400, 1 + value))
    returns = simple_returns(curve)
    assert is_constant(returns)
    assert sharpe_per_bar(returns) is None
    assert skewness(returns) is None
    assert kurtosis(returns) is None
    assert tail_ratio(returns) is None


def test_small_but_real_dispersion_has_a_ratio():
    assert sharpe_per_bar(np.array([1e-9, 2e-9, 3e-9])) == pytest.approx(2.0)


def test_a_curve_that_never_falls_has_neither_calmar_nor_sortino():
    rising = np.array([1.0, 1.1, 1.1, 1.3])
    assert max_drawdown(rising) == 0.0
    assert calmar_ratio(0.3, max_drawdown(rising)) is None
    assert sortino_ratio(simple_returns(rising), 252) is None


def test_ratios_of_nothing_are_undefined():
    nothing = np.array([])
    assert sharpe_per_bar(nothing) is None
    assert sortino_ratio(nothing, 252) is None
    assert ulcer_index(np.array([1.0])) == 0.0


def test_growth_after_losing_everything_is_minus_one():
    assert annual_growth(np.array([1.0, 0.0]), 3.0) == -1.0


@settings(deadline=None)
@given(returns=returns_lists)
def test_sharpe_equals_the_plain_definition(returns):
    sharpe = sharpe_per_bar(returns)
    if sharpe is not None:
        expected = statistics.fmean(returns.tolist()) / statistics.stdev(returns.tolist())
        assert math.isclose(sharpe, expected, rel_tol=1e-9, abs_tol=1e-9)


@settings(deadline=None)
@given(returns=returns_lists)
def test_drawdowns_equal_a_slow_loop(returns):
    curve = np.concatenate(([1.0], np.cumprod(1 + returns)))
    peak, expected = curve[0], []
    for value in curve:
        peak = max(peak, value)
        expected.append(1 - value / peak)
    assert drawdowns(curve) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(returns=returns_lists, scale=st.floats(1e-3, 1e6))
def test_scaling_the_money_changes_no_ratio(returns, scale):
    curve = np.concatenate(([1.0], np.cumprod(1 + returns)))
    assert max_drawdown(scale * curve) == pytest.approx(max_drawdown(curve), abs=1e-12)
    assert ulcer_index(scale * curve) == pytest.approx(ulcer_index(curve), abs=1e-12)
    assert annual_growth(scale * curve, 1.0) == pytest.approx(annual_growth(curve, 1.0), abs=1e-12)


@settings(deadline=None)
@given(returns=returns_lists)
def test_every_figure_is_finite_or_none(returns):
    curve = np.concatenate(([1.0], np.cumprod(1 + returns)))
    figures = [
        sharpe_ratio(returns, 252),
        sortino_ratio(returns, 252),
        skewness(returns),
        kurtosis(returns),
        tail_ratio(returns),
        max_drawdown(curve),
        ulcer_index(curve),
    ]
    assert all(figure is None or math.isfinite(figure) for figure in figures)
