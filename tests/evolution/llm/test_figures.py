"""A model sees how a parent did, and not on what, when, or with how much money."""

import re
from dataclasses import replace

import pytest

from evolution.llm.figures import figures


def test_each_train_fold_is_a_line_beside_buy_and_hold(make_card):
    lines = figures(make_card()).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["train-1", "train-2"]
    assert "0.63/0.80" in lines[1]
    assert "0.21/0.44" in lines[1]
    assert " 28 " in lines[1]  # closed round trips of both instruments
    assert "score 0.61 against 0.72 of buy and hold" in lines[3]
    assert lines[4] == "beats buy and hold: no"


def test_there_is_no_symbol_no_money_and_no_long_number(make_card):
    text = figures(make_card())
    assert "CORP" not in text
    assert not re.search(r"\d\.\d{3}|\d{4}", text)


@pytest.mark.parametrize("fold", ["validation", "vault", "test-1", ""])
def test_a_figure_of_any_other_fold_is_an_error(make_card, fold):
    with pytest.raises(ValueError, match="only train folds"):
        figures(make_card(folds=("train-1", fold)))


def test_undefined_figures_are_left_out_of_a_mean_and_said_where_there_is_no_other(make_card):
    card = make_card(folds=("train-1",))
    first, second = card.cells
    half = replace(card, cells=(replace(first, metrics=replace(first.metrics, sharpe=None)), second))
    none = replace(
        card, score=None, cells=tuple(replace(cell, metrics=replace(cell.metrics, sharpe=None)) for cell in card.cells)
    )
    assert "0.63/0.80" in figures(half)
    assert "none/0.80" in figures(none)
    assert "score none against" in figures(none)
