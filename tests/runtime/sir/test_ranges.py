"""Tables of extremes answer what a look at every row would."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.sir.ranges import Minima

COLUMNS = st.lists(st.integers(0, 6), min_size=1, max_size=40).map(lambda values: np.array(values, dtype=np.float64))


@given(COLUMNS, st.data())
def test_the_minimum_of_a_stretch_is_that_of_its_rows(column: np.ndarray, data: st.DataObject) -> None:
    longest = data.draw(st.integers(1, len(column)))
    start = data.draw(st.integers(0, len(column) - 1))
    stop = data.draw(st.integers(start, min(start + longest, len(column))))
    found = Minima(column, longest).of(np.array([start]), np.array([stop]))
    assert found[0] == min(column[start:stop], default=np.inf)


@given(COLUMNS, st.data())
def test_the_first_row_at_or_below_a_level_is_found_as_far_as_the_longest_stretch(column, data) -> None:
    longest = data.draw(st.integers(1, len(column)))
    start = data.draw(st.integers(0, len(column)))
    level = data.draw(st.integers(-1, 6))
    found = int(Minima(column, longest).first(np.array([start]), np.array([float(level)]))[0])
    rows = [row for row in range(start, len(column)) if column[row] <= level]
    within = [row for row in rows if row - start < longest]
    if within:
        assert found == within[0]
    else:
        assert found - start >= min(longest, len(column) - start)
