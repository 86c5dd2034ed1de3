from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.sir.pricing import Right, delta, listed, price, realised_volatility, strike_of_delta, usual_step

SPOTS = st.floats(1.0, 10_000.0)
MONEYNESS = st.floats(0.5, 2.0)
YEARS = st.floats(1 / 365, 3.0)
VOLATILITIES = st.floats(0.05, 1.5)


def test_the_textbook_values() -> None:
    # J. Hull, Options, Futures, and Other Derivatives: S 42, K 40, r 10%, sigma 20%, T 0.5 gives 4.76 and 0.81. Without a rate the
    # same formula applies to the discounted strike.
    discounted = 40.0 * math.exp(-0.1 * 0.5)
    assert price(Right.CALL, 42.0, discounted, 0.5, 0.2) == pytest.approx(4.76, abs=0.005)
    assert price(Right.PUT, 42.0, discounted, 0.5, 0.2) == pytest.approx(0.81, abs=0.005)


@given(SPOTS, MONEYNESS, YEARS, VOLATILITIES)
def test_call_less_put_is_spot_less_strike(spot: float, moneyness: float, years: float, volatility: float) -> None:
    strike = spot * moneyness
    call = price(Right.CALL, spot, strike, years, volatility)
    put = price(Right.PUT, spot, strike, years, volatility)
    assert call - put == pytest.approx(spot - strike, abs=1e-9 * spot)


@given(SPOTS, MONEYNESS, YEARS, VOLATILITIES)
def test_delta_is_the_slope_of_the_price(spot: float, moneyness: float, years: float, volatility: float) -> None:
    strike, step = spot * moneyness, spot * 1e-5
    for right in Right:
        up = price(right, spot + step, strike, years, volatility)
        down = price(right, spot - step, strike, years, volatility)
        assert delta(right, spot, strike, years, volatility) == pytest.approx((up - down) / (2 * step), abs=1e-4)


@given(SPOTS, st.floats(0.02, 0.98), YEARS, VOLATILITIES)
def test_the_strike_of_a_delta_has_that_delta(spot: float, size: float, years: float, volatility: float) -> None:
    for right in Right:
        strike = strike_of_delta(right, spot, size, years, volatility)
        assert abs(delta(right, spot, strike, years, volatility)) == pytest.approx(size, abs=1e-9)


def test_at_expiry_an_option_is_worth_what_it_pays() -> None:
    assert price(Right.CALL, 105.0, 100.0, 0.0, 0.2) == 5.0
    assert price(Right.PUT, 105.0, 100.0, 0.0, 0.2) == 0.0
    assert [delta(right, 105.0, 100.0, 0.0, 0.2) for right in Right] == [1.0, 0.0]


def test_realised_volatility_of_a_known_walk() -> None:
    close = 100.0 * np.exp(np.cumsum(np.where(np.arange(400) % 2 == 0, 0.01, -0.01)))
    assert realised_volatility(close, 60, 252.0) == pytest.approx(0.01 * math.sqrt(252.0), rel=1e-12)


def test_realised_volatility_sees_only_the_bars_it_is_asked_for() -> None:
    calm = 100.0 * 1.001 ** (np.arange(300) % 2)
    wild = np.concatenate([calm[:100] * 1.5 ** (np.arange(100) % 2), calm])
    assert realised_volatility(wild, 60, 252.0) == realised_volatility(calm, 60, 252.0)
    assert realised_volatility(wild, 1, 252.0) == realised_volatility(wild, 20, 252.0)


def test_a_market_that_never_moved_still_has_strikes() -> None:
    flat = np.full(50, 100.0)
    volatility = realised_volatility(flat, 20, 252.0)
    assert volatility > 0.0
    assert math.isfinite(strike_of_delta(Right.CALL, 100.0, 0.25, 0.1, volatility))


@given(st.floats(0.05, 1e6))
def test_a_usual_step_is_near_one_percent_of_the_spot(spot: float) -> None:
    assert 0.5 < usual_step(spot) / (spot / 100.0) < 2.0
    assert listed(spot, usual_step(spot)) == pytest.approx(spot, rel=0.011)
