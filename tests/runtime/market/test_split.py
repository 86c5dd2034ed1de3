"""The split cuts by date, leaves embargoes, and refuses what is too short."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.market import EMBARGO_BARS, MIN_BARS, WARMUP_BARS, DataError, Split
from runtime.market.split import MIN_CELL_BARS, TRAIN_FOLDS, make_split, train_cells, validation_cells, vault_cells


def all_cells(split, bars):
    return (*train_cells(split, bars), *validation_cells(split, bars), *vault_cells(split, bars))


def test_a_set_is_cut_at_half_and_seven_tenths_with_embargoes(make_bars):
    bars = {"X": make_bars(2_000)}
    split = make_split(bars)
    cells = [(cell.fold, cell.start, cell.stop) for cell in all_cells(split, bars)]
    assert cells == [
        ("train-1", 250, 437),
        ("train-2", 437, 625),
        ("train-3", 625, 812),
        ("train-4", 812, 1000),
        ("validation", 1020, 1400),
        ("vault", 1420, 2000),
    ]
    ts = bars["X"].ts
    assert (split.train_stop, split.validation_stop) == (ts[1000], ts[1400])


@given(count=st.integers(MIN_BARS, 6_000))
def test_any_long_enough_set_is_split_without_overlap(count):
    """Built from plain stamps, because hypothesis and function fixtures do not mix."""
    bars = {"X": _Stamps(np.arange(count, dtype=np.int64) * 86_400)}
    cells = all_cells(make_split(bars), bars)
    assert all(cell.stop - cell.start >= MIN_CELL_BARS for cell in cells)
    assert cells[0].start == WARMUP_BARS
    gaps = [right.start - left.stop for left, right in pairwise(cells)]
    assert gaps == [0] * (TRAIN_FOLDS - 1) + [EMBARGO_BARS] * 2
    assert cells[-1].stop == count
    assert abs((cells[-1].start - EMBARGO_BARS) / count - 0.7) < 0.001


class _Stamps:
    """As much of ``Bars`` as the split needs."""

    def __init__(self, ts):
        self.ts = ts

    def __len__(self):
        return len(self.ts)


def test_one_bar_less_than_the_minimum_is_refused_with_both_figures(make_bars):
    with pytest.raises(DataError, match=f"{MIN_BARS - 1} bars are too few .* need {MIN_BARS}"):
        make_split({"X": make_bars(MIN_BARS - 1)})
    assert make_split({"X": make_bars(MIN_BARS)})


def test_all_symbols_are_cut_on_the_same_dates(make_bars):
    long, short = make_bars(2_000), make_bars(1_900, symbol="Y", first_day=10_100)
    bars = {"X": long, "Y": short}
    split = make_split(bars)
    by_fold = {}
    for cell in all_cells(split, bars):
        by_fold.setdefault(cell.fold, []).append(bars[cell.symbol].ts[[cell.start, cell.stop - 1]].tolist())
    assert all(left == right for left, right in by_fold.values())
    assert train_cells(split, bars)[4].start == WARMUP_BARS
    assert train_cells(split, bars)[0].start == WARMUP_BARS + 100


def test_a_symbol_that_begins_too_late_is_named(make_bars):
    with pytest.raises(
        DataError, match=r"LATE begins on 1999-04-19, so its warm-up .* leaves 50 bars of train and 256"
    ):
        make_split({"X": make_bars(2_000), "LATE": make_bars(1_300, symbol="LATE", first_day=10_700)})
    with pytest.raises(DataError, match=r"TINY has 200 bars and the warm-up alone needs 250"):
        make_split({"X": make_bars(2_000), "TINY": make_bars(200, symbol="TINY")})


def test_a_symbol_that_ends_too_early_is_named_with_the_cell(make_bars):
    with pytest.raises(DataError, match=r"GONE has 30 bars in vault, and 64 are needed"):
        make_split({"X": make_bars(2_000), "GONE": make_bars(1_450, symbol="GONE")})


def test_a_split_whose_dates_are_out_of_order_cannot_exist():
    with pytest.raises(ValueError, match=r"must follow each other"):
        Split(fold_edges=(1, 2, 3, 4, 5), validation_start=5, validation_stop=8, vault_start=9)
    with pytest.raises(ValueError, match=r"4 train folds"):
        Split(fold_edges=(1, 2, 3), validation_start=5, validation_stop=8, vault_start=9)
