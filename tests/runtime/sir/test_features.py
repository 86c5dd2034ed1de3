"""Features against the registry that Python strategies use."""

import numpy as np
import pytest

from runtime.indicators import REGISTRY, check, compute
from runtime.sir.features import registry_name

PATTERNS = sorted(name for name in REGISTRY if f"{name}.any" in REGISTRY)


def columns(rows=600):
    dice = np.random.default_rng(3)
    close = 100 * np.exp(np.cumsum(dice.normal(0, 0.02, rows)))
    open_ = close * np.exp(dice.normal(0, 0.01, rows))
    top, low = np.maximum(open_, close) * 1.004, np.minimum(open_, close) * 0.996
    return {"open": open_, "high": top, "low": low, "close": close, "volume": dice.uniform(1, 9, rows)}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_a_series_of_true_and_false_beside_the_librarys_numbers(name):
    bars = columns()
    signed = compute(name, bars, "close", {})
    told = ~np.isnan(signed)
    for reading, holds in (("any", signed != 0), ("bullish", signed > 0), ("bearish", signed < 0)):
        series = compute(f"{name}.{reading}", bars, "close", {})
        assert set(np.unique(series[told])) <= {0.0, 1.0}
        np.testing.assert_array_equal(series[told] == 1.0, holds[told])
        assert np.isnan(series[~told]).all()


def test_a_document_names_a_pattern_plainly_and_means_either_way():
    assert registry_name("CDLHAMMER") == "CDLHAMMER.any"
    assert registry_name("CDLHAMMER.bullish") == "CDLHAMMER.bullish"
    assert registry_name("RSI") == "RSI"


def test_each_output_is_a_series_of_its_own():
    assert check("BBANDS.upper", "close", {}).name == check("BBANDS.upperband", "close", {}).name == "BBANDS.upperband"
