"""Axes have ticks where people expect them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evolution.morning.scales import Scale, even_ticks, growth_ticks, is_wide, time_ticks


def stamp(*date):
    return int(datetime(*date, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("low", "high", "most", "labels"),
    [
        (0.0, 1.0, 5, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.0, 0.09, 4, ["0.000", "0.025", "0.050", "0.075"]),
        (-3.0, 3.0, 4, ["-2", "0", "2"]),
        (950.0, 1_050.0, 5, ["960", "980", "1000", "1020", "1040"]),
    ],
)
def test_even_ticks_are_round_numbers(low, high, most, labels):
    assert [tick.label for tick in even_ticks(low, high, most)] == labels


def test_a_range_of_one_value_has_one_tick():
    assert [tick.value for tick in even_ticks(2.0, 2.0, 5)] == [2.0]


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e9), st.integers(2, 10))
def test_even_ticks_lie_inside_and_are_few(low, width, most):
    ticks = even_ticks(low, low + width, most)
    assert len(ticks) <= most + 1
    assert all(low - width * 1e-6 <= tick.value <= low + width * (1 + 1e-6) for tick in ticks)


def test_growth_over_a_wide_range_gets_a_logarithmic_axis_and_its_ticks():
    assert is_wide(0.5, 20.0)
    assert not is_wide(0.9, 1.4)
    assert not is_wide(0.0, 20.0)  # ruin: no logarithm goes there
    assert [tick.label for tick in growth_ticks(0.9, 30.0, 6)] == ["1", "2", "5", "10", "20"]


@given(st.floats(1e-3, 1.0), st.floats(1.0, 1e6), st.integers(3, 8))
@example(low=1.0, factor=1 + 2e-16, most=3)
@example(low=0.999, factor=1 + 1e-15, most=6)
def test_growth_ticks_are_few_whatever_the_range(low, factor, most):
    assert len(growth_ticks(low, low * factor, most)) <= most + 1


@pytest.mark.parametrize(
    ("begin", "end", "labels"),
    [
        ((2001, 3, 5), (2006, 11, 2), ["2002", "2003", "2004", "2005", "2006"]),
        ((2020, 1, 1), (2020, 6, 1), ["Jan 2020", "Feb 2020", "Mar 2020", "Apr 2020", "May 2020", "Jun 2020"]),
        ((1960, 1, 1), (2020, 6, 1), ["1960", "1970", "1980", "1990", "2000", "2010", "2020"]),
        ((2020, 1, 3), (2020, 1, 20), ["03 Jan 2020", "20 Jan 2020"]),
        ((2020, 1, 3, 9), (2020, 1, 3, 17), ["03 Jan 09:00", "03 Jan 17:00"]),
    ],
)
def test_time_ticks_are_first_days_of_years_or_months(begin, end, labels):
    assert [tick.label for tick in time_ticks(stamp(*begin), stamp(*end), 8)] == labels


def test_a_scale_maps_its_ends_and_a_logarithmic_one_its_middle():
    plain = Scale(low=0.0, high=10.0, begin=100.0, end=0.0)
    assert (plain(0.0), plain(5.0), plain(10.0)) == (100.0, 50.0, 0.0)
    logarithmic = Scale(low=1.0, high=100.0, begin=0.0, end=50.0, is_logarithmic=True)
    assert math.isclose(logarithmic(10.0), 25.0)
    assert Scale(low=1.0, high=1.0, begin=0.0, end=50.0)(1.0) == 25.0
