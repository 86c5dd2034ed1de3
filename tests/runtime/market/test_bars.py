"""``Bars`` are frozen columns with an identity."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from runtime.model import Instrument, Timeframe


def test_columns_are_copied_and_cannot_be_written(make_bars):
    closes = np.linspace(100, 101, 5)
    bars = make_bars(5, close=closes)
    closes[0] = 7
    assert bars.close[0] == 100
    with pytest.raises(ValueError, match="read-only"):
        bars.close[0] = 7


def test_columns_of_different_length_are_refused(make_bars):
    with pytest.raises(ValueError, match=r"column close: shape \(4,\), expected \(5,\)"):
        make_bars(5, close=np.ones(4))


def test_the_digest_depends_on_the_data_and_not_on_the_name(make_bars):
    bars = make_bars(5)
    renamed = replace(bars, instrument=Instrument(symbol="OTHER", bars_per_year=1))
    assert renamed.sha256 == bars.sha256
    for changed in (
        replace(bars, close=bars.close + 1e-12),
        replace(bars, ts=bars.ts + 1),
        replace(bars, timeframe=Timeframe.parse("1w")),
        replace(bars, open=bars.low, low=bars.open),
    ):
        assert changed.sha256 != bars.sha256


def test_a_part_is_clipped_to_what_exists_and_has_its_own_digest(make_bars):
    bars = make_bars(10)
    assert bars.between(-5, 3).ts.tolist() == bars.ts[:3].tolist()
    assert bars.between(8, 99).close.tolist() == bars.close[8:].tolist()
    assert len(bars.between(5, 2)) == 0
    assert bars.between(0, 10).sha256 == bars.sha256 != bars.between(0, 9).sha256


def test_rows_are_the_columns_with_aware_stamps(make_bars):
    bars = make_bars(3)
    rows = bars.rows()
    assert rows[0].ts == datetime.fromtimestamp(10_000 * 86_400, UTC)
    assert [row.close for row in rows] == bars.close.tolist()
    assert [row.volume for row in rows] == [1_000.0] * 3
