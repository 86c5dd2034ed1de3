"""Series on longer bars know what is over, no more, and never change their mind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import indicators
from runtime.desk import IndicatorCall, Longer
from runtime.longer import rows_before, values
from runtime.market.bars import Bars
from runtime.market.resample import resample
from runtime.model import Instrument, Timeframe

HOUR, DAY = 3_600, 86_400
MONDAY = 1_704_067_200
"""2024-01-01 00:00 UTC."""


def make(ts: np.ndarray, step: int, seed: int = 1) -> Bars:
    rng = np.random.default_rng(seed)
    close = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, len(ts))))
    open_ = np.concatenate(([50.0], close[:-1]))[: len(ts)]
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(step),
        ts=ts,
        open=open_,
        high=np.maximum(open_, close) * 1.01,
        low=np.minimum(open_, close) * 0.99,
        close=close,
        volume=rng.uniform(1.0, 9.0, len(ts)),
    )


def of(call: IndicatorCall, bars: Bars) -> np.ndarray:
    return values(call, bars.ts, {name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")})


def declared(name: str, longer_s: int, step: int, source: str = "close", **params: float) -> IndicatorCall:
    return indicators.check(name, source, params)._replace(longer=Longer(longer_s, longer_s // step))


@st.composite
def gappy(draw: st.DrawFn) -> tuple[Bars, int]:
    """Bars with holes and odd openings, some of which lie across the edge of a longer bar; and a longer step."""
    step, times = draw(st.sampled_from([(HOUR, 4), (HOUR, 24), (DAY, 7), (DAY, 3), (900, 4)]))
    moves = draw(st.lists(st.sampled_from([1.0, 1.0, 1.0, 1.25, 2.0, 5.0]), min_size=1, max_size=120))
    start = MONDAY + draw(st.sampled_from([0, 0, step // 2, 3 * step]))
    ts = start + (np.cumsum([0.0, *moves]) * step).astype(np.int64)
    return make(ts, step, draw(st.integers(0, 99))), step * times


CALLS = st.sampled_from(
    [
        ("SMA", "close", {"timeperiod": 2}),
        ("RSI", "hl2", {"timeperiod": 3}),
        ("MAX", "high", {"timeperiod": 2}),
        ("ATR", "close", {"timeperiod": 2}),
        ("OBV", "close", {}),
        ("SMA", "volume", {"timeperiod": 3}),
    ]
)


@given(gappy(), CALLS)
def test_no_later_bar_ever_changes_a_value(world: tuple[Bars, int], call: tuple[str, str, dict[str, float]]) -> None:
    """Look-ahead would show as a value on a row that the same bars, cut after that row, do not have."""
    bars, longer_s = world
    name, source, params = call
    series = declared(name, longer_s, bars.timeframe.seconds, source, **params)
    whole = of(series, bars)
    for rows in range(1, len(bars) + 1):
        assert np.array_equal(of(series, bars.between(0, rows)), whole[:rows], equal_nan=True)


@given(gappy(), CALLS)
def test_the_declared_warm_up_is_enough_whatever_is_missing(world, call) -> None:
    bars, longer_s = world
    name, source, params = call
    series = declared(name, longer_s, bars.timeframe.seconds, source, **params)
    finite = np.isfinite(of(series, bars))
    assert finite[rows_before(series) :].all()


def test_a_value_comes_with_the_close_of_its_bar_and_stays_until_the_next_one() -> None:
    bars = make(MONDAY + HOUR * np.arange(12), HOUR)
    got = of(declared("SMA", 4 * HOUR, HOUR, timeperiod=2), bars)
    closes = bars.close[[3, 7, 11]]
    assert np.isnan(got[:7]).all()
    assert got[7:11].tolist() == [(closes[0] + closes[1]) / 2.0] * 4
    assert got[11] == pytest.approx((closes[1] + closes[2]) / 2.0)


def test_a_week_of_five_days_counts_from_the_monday_after_it() -> None:
    days = np.array([day for day in range(21) if day % 7 < 5])
    bars = make(MONDAY + DAY * days, DAY)
    got = of(declared("MAX", 7 * DAY, DAY, source="high", timeperiod=2), bars)
    assert np.isnan(got[:10]).all()
    assert got[10:].tolist() == [bars.high[:10].max()] * 5


def test_a_longer_bar_that_the_data_only_end_in_is_left_out() -> None:
    whole = make(MONDAY + HOUR * np.arange(48), HOUR)
    cut = whole.between(1, 48)
    series = declared("SMA", 4 * HOUR, HOUR, timeperiod=2)
    assert np.isfinite(of(series, whole)).argmax() == 7
    assert np.isfinite(of(series, cut)).argmax() == 10


@pytest.mark.parametrize(("step", "longer"), [(HOUR, 4 * HOUR), (HOUR, DAY), (DAY, 7 * DAY)])
@pytest.mark.parametrize("name", ["SMA", "ATR", "OBV"])
def test_longer_bars_are_those_that_resampling_makes(step: int, longer: int, name: str) -> None:
    bars = make(MONDAY + step * np.arange(400), step)
    params = {} if name == "OBV" else {"timeperiod": 3}
    series = declared(name, longer, step, **params)
    joined = resample(bars, Timeframe(longer)).bars
    own = of(series._replace(longer=None), joined)
    rows = longer // step
    np.testing.assert_allclose(of(series, bars)[rows - 1 :: rows][: len(own)], own, rtol=1e-12)


def test_no_bars_have_no_values() -> None:
    assert len(of(declared("SMA", 4 * HOUR, HOUR, timeperiod=2), make(np.zeros(0, dtype=np.int64), HOUR))) == 0
