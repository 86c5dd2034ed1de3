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


def test_the_way_it_traded_is_told_in_ratios_with_its_three_worst_round_trips(make_card):
    from dataclasses import replace

    from fitness.trades import TradeDigest, TradeGlimpse

    def digest(worst):
        glimpse = TradeGlimpse(net_return=worst, bars=12, mae=0.11, mfe=0.02, exit_reason="stop_loss")
        return TradeDigest(count=10, win_rate=0.4, mean_win=0.05, mean_loss=-0.03, median_bars=7.0, fee_share=0.08,
                           exits={"signal": 6, "stop_loss": 4}, worst=glimpse)  # fmt: skip

    card = make_card()
    cells = tuple(replace(cell, trading=digest(-0.01 * number)) for number, cell in enumerate(card.cells, 5))
    lines = figures(replace(card, cells=cells)).splitlines()
    (habits,) = [line for line in lines if line.startswith("round trips: ")]
    assert habits == (
        "round trips: 40% gain, 0.05 on average, and the others -0.03; held 7.00 bars; fees take 0.08 of the gains before "
        "fees; ended 24 by signal, 16 by stop_loss"
    )
    worst = [line for line in lines if line.startswith("a worst round trip: ")]
    assert [line.split()[4] for line in worst] == ["-8.0%", "-7.0%", "-6.0%"]
    assert worst[0].endswith("over 12 bars, at worst -11.0% and at best +2.0% on the way, ended by stop_loss")


def test_without_round_trips_nothing_is_said_of_them(make_card):
    assert "round trip:" not in figures(make_card())
