"""A data set shows a search what it may see, and has one identity."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtime.market import DataError, DataSet
from runtime.market.split import make_split


@pytest.fixture
def dataset(make_bars):
    bars = {"A": make_bars(2_000, symbol="A"), "B": make_bars(1_950, symbol="B", seed=2, first_day=10_050)}
    split = make_split(bars)
    search = {symbol: one.between(0, int((one.ts < split.validation_stop).sum())) for symbol, one in bars.items()}
    return DataSet(name="two", label="file", timeframe=bars["A"].timeframe, split=split, bars=search)


def test_train_bars_end_where_the_last_fold_ends(dataset):
    train = dataset.train_bars()
    for cell in dataset.train_cells():
        assert cell.stop <= len(train[cell.symbol])
        assert train[cell.symbol].ts[cell.start] == dataset.bars[cell.symbol].ts[cell.start]
    assert all(one.ts[-1] < dataset.split.train_stop for one in train.values())
    assert len(train["A"]) == 1000
    assert [cell.stop for cell in dataset.train_cells() if cell.fold == "train-4"] == [len(train["A"]), len(train["B"])]


def test_validation_cells_end_with_the_bars(dataset):
    cells = dataset.validation_cells()
    assert [(cell.symbol, cell.fold) for cell in cells] == [("A", "validation"), ("B", "validation")]
    assert [cell.stop for cell in cells] == [len(one) for one in dataset.bars.values()]
    assert cells[0].start == 1_020


def test_one_symbol_keeps_the_split_of_the_set(dataset):
    only = dataset.only("B")
    assert only.symbols == ("B",)
    assert only.split == dataset.split
    assert only.train_cells() == tuple(cell for cell in dataset.train_cells() if cell.symbol == "B")
    assert only.sha256 != dataset.sha256
    with pytest.raises(DataError, match=r"data set two has no symbol 'C'; it holds A, B"):
        dataset.only("C")


def test_the_digest_covers_bars_symbols_calendar_and_split_but_not_the_name(dataset):
    assert replace(dataset, name="other").sha256 == dataset.sha256
    reordered = replace(dataset, bars=dict(reversed(dataset.bars.items())))
    assert reordered.sha256 == dataset.sha256
    first = dataset.bars["A"]
    shifted = replace(dataset.split, validation_start=dataset.split.validation_start + 1)
    faster = replace(first, instrument=replace(first.instrument, bars_per_year=1.0))
    for changed in (
        replace(dataset, split=shifted),
        replace(dataset, bars={**dataset.bars, "A": faster}),
        replace(dataset, bars={**dataset.bars, "A": replace(first, close=first.close + 1e-9)}),
        replace(dataset, bars={"A": dataset.bars["B"], "B": first}),
    ):
        assert changed.sha256 != dataset.sha256


def test_the_bars_of_a_set_cannot_be_exchanged(dataset):
    with pytest.raises(TypeError, match=r"does not support item assignment"):
        dataset.bars["A"] = dataset.bars["B"]
