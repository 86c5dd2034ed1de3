"""The registry: what it offers, that it is causal, and that it says what is wrong."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import talib

from runtime.desk import StrategyError
from runtime.indicators import LEFT_OUT, REGISTRY, SOURCES, check, compute, lookback

N = 330


@pytest.fixture(scope="module")
def columns():
    """Bars that move in every way: trends, gaps, flat stretches, days without volume."""
    rng = np.random.default_rng(42)
    close = 50 * np.exp(np.cumsum(rng.normal(0, 0.03, N)))
    close[100:120] = close[100]
    open_ = np.concatenate([[50.0], close[:-1]]) * np.exp(rng.normal(0, 0.01, N))
    open_[100:120] = close[100]
    spread = np.abs(rng.normal(0, 0.012, (2, N)))
    spread[:, 100:120] = 0.0
    volume = rng.integers(0, 4, N) * 1000.0
    return {
        "open": open_,
        "high": np.maximum(open_, close) * (1 + spread[0]),
        "low": np.minimum(open_, close) * (1 - spread[1]),
        "close": close,
        "volume": volume,
    }


SPECS = {spec.name: spec for spec in REGISTRY.values()}


def variants(spec):
    """Parameter sets: the defaults, and each parameter moved to its lower end and up a bit."""
    yield {}
    for name, param in spec.params.items():
        if param.kind is int:
            top = param.high if name.endswith("matype") else 40
            yield {name: min(max(param.low, 0), top)}
            yield {name: min(param.default + 7, top)}
        elif param.default * 1.5 <= param.high:
            yield {name: param.default * 1.5}


def test_every_function_of_the_library_is_offered_or_left_out_with_a_reason():
    functions = {spec.function for spec in REGISTRY.values()}
    assert functions | set(LEFT_OUT) == set(talib.get_functions()) | set(LEFT_OUT)
    assert not functions & set(LEFT_OUT)
    assert all(LEFT_OUT.values())


@pytest.mark.parametrize("name", sorted(SPECS))
def test_an_indicator_is_causal_bit_for_bit(name, columns):
    """The values of a prefix are a prefix of the values: nothing later changes anything earlier."""
    spec = SPECS[name]
    for params in variants(spec):
        whole = compute(name, columns, "close", params)
        assert whole.shape == (N,)
        for cut in (1, 2, 31, 64, 105, 117, 200, 287, N - 1):
            prefix = compute(name, {key: column[:cut] for key, column in columns.items()}, "close", params)
            np.testing.assert_array_equal(prefix, whole[:cut], err_msg=f"{params} cut at {cut}")


@pytest.mark.parametrize("name", sorted(SPECS))
def test_the_lookback_is_where_the_values_begin(name, columns):
    for params in variants(SPECS[name]):
        first = lookback(name, {**{k: p.default for k, p in SPECS[name].params.items()}, **params})
        values = compute(name, columns, "close", params)
        assert np.isnan(values[:first]).all()
        assert not np.isinf(values).any()
        if first < 100:
            assert np.isfinite(values[first:]).any()


def test_values_are_the_librarys(columns):
    np.testing.assert_array_equal(compute("SMA", columns, "close", {"timeperiod": 9}), talib.SMA(columns["close"], 9))
    upper, _, lower = talib.BBANDS(columns["high"], 12, 1.5, 2.5)
    params = {"timeperiod": 12, "nbdevup": 1.5, "nbdevdn": 2.5}
    np.testing.assert_array_equal(compute("BBANDS.upper", columns, "high", params), upper)
    np.testing.assert_array_equal(compute("BBANDS.lowerband", columns, "high", params), lower)
    np.testing.assert_array_equal(
        compute("ATR", columns, "close", {}), talib.ATR(columns["high"], columns["low"], columns["close"])
    )


def test_sources_are_columns_or_plain_means_of_them(columns):
    for name, expected in {
        "volume": columns["volume"],
        "hl2": (columns["high"] + columns["low"]) / 2,
        "typical": talib.TYPPRICE(columns["high"], columns["low"], columns["close"]),
        "hlc3": talib.TYPPRICE(columns["high"], columns["low"], columns["close"]),
        "ohlc4": talib.AVGPRICE(columns["open"], columns["high"], columns["low"], columns["close"]),
    }.items():
        np.testing.assert_allclose(SOURCES[name](columns), expected, rtol=1e-15)


def test_undefined_integer_outputs_are_nan_and_not_zero(columns):
    values = compute("CDLHAMMER", columns, "close", {})
    first = lookback("CDLHAMMER", {})
    assert first > 0
    assert np.isnan(values[:first]).all()
    assert set(values[first:].tolist()) <= {-100.0, 0.0, 100.0}


def test_a_result_that_is_not_finite_is_nan(columns):
    values = compute("LN", columns, "volume", {})
    assert np.isnan(values[columns["volume"] == 0.0]).all()


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("BBANDS.upper", "BBANDS.upperband"),
        ("BBANDS.middle", "BBANDS.middleband"),
        ("MACD.macd", "MACD.macd"),
        ("MACD.signal", "MACD.macdsignal"),
        ("MACDEXT.hist", "MACDEXT.macdhist"),
        ("STOCH.k", "STOCH.slowk"),
        ("STOCHF.d", "STOCHF.fastd"),
        ("AROON.up", "AROON.aroonup"),
    ],
)
def test_outputs_have_their_own_and_a_short_name(short, full):
    assert check(short, "close", {}) == check(full, "close", {})


def test_a_declaration_in_canonical_form_names_every_parameter():
    call = check("BBANDS.upper", "high", {"nbdevup": 3})
    assert (call.name, call.source) == ("BBANDS.upperband", "high")
    assert dict(call.params) == {"timeperiod": 20, "nbdevup": 3.0, "nbdevdn": 2.0, "matype": 0}
    assert type(dict(call.params)["nbdevup"]) is float


@pytest.mark.parametrize(
    ("name", "source", "params", "rule", "says"),
    [
        ("SMMA", "close", {}, "indicator-name", "did you mean"),
        ("sma", "close", {}, "indicator-name", "SMA"),
        ("STOCH", "close", {}, "indicator-name", "STOCH.slowk, STOCH.k"),
        ("BBANDS.top", "close", {}, "indicator-name", "BBANDS."),
        ("MAVP", "close", {}, "indicator-name", "needs a second series"),
        ("x" * 9999, "close", {}, "indicator-name", "unknown indicator"),
        ("\ud800\n", "close", {}, "indicator-name", "\\\\ud800"),
        (None, "close", {}, "indicator-name", "takes a text"),
        ("SMA", "Close", {}, "indicator-source", "open, high, low, close"),
        ("CDLDOJI", "open", {}, "indicator-source", "takes no source"),
        ("SMA", "close", {"length": 5}, "indicator-param", "it has timeperiod"),
        ("SMA", "close", {"timeperiod": 0}, "indicator-range", "a whole number from 1 to 100000"),
        ("SMA", "close", {"timeperiod": -(2**31)}, "indicator-range", "a whole number from 1"),
        ("RSI", "close", {"timeperiod": 1}, "indicator-range", "a whole number from 2 to 100000"),
        ("RSI", "close", {"timeperiod": 14.0}, "indicator-range", "whole number"),
        ("RSI", "close", {"timeperiod": np.int64(14)}, "indicator-range", "whole number"),
        ("BBANDS.upper", "close", {"matype": 99}, "indicator-range", "a whole number from 0"),
        ("BBANDS.upper", "close", {"nbdevup": math.nan}, "indicator-range", "a number from"),
        ("BBANDS.upper", "close", {"nbdevup": math.inf}, "indicator-range", "a number from"),
        ("MAMA.mama", "close", {"fastlimit": 1.5}, "indicator-range", "a number from 0.01 to 0.99"),
        ("T3", "close", {"vfactor": "0.7"}, "indicator-range", "a number from 0 to 1"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(name, source, params, rule, says):
    with pytest.raises(StrategyError, match=says) as error:
        check(name, source, params)
    assert error.value.rule == rule
    assert error.value.message.isprintable()
    assert len(error.value.message) < 400


def test_ranges_are_the_librarys_own():
    spec = REGISTRY["MACD.macd"]
    for name, param in spec.params.items():
        for value, allowed in ((param.low, True), (param.low - 1, False), (param.high, True), (param.high + 1, False)):
            handle = talib.abstract.Function("MACD", **{name: value})
            assert (handle.lookback >= 0) is allowed


def test_importing_the_registry_brings_no_data_frames_and_hides_none():
    """TA-Lib looks for pandas by itself; afterwards pandas must still be there for whoever wants it."""
    code = (
        "import sys, runtime.indicators\n"
        "assert not {'pandas', 'polars'} & set(sys.modules), 'dragged in'\n"
        "import pandas\n"
        "assert pandas.Series([1.0]).sum() == 1.0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
