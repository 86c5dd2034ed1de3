"""The seed score and the comparison with buy and hold."""

from __future__ import annotations

import pytest

from fitness import mean_scores, seed_score


@pytest.mark.parametrize(
    ("sharpe", "calmar", "trades", "bars", "expected"),
    [
        (1.42, 0.71, 82, 5000, 1.469),
        (2.0, 1.0, 10, 1000, 2.2),
        (-0.5, -0.2, 100, 1000, -1.56),
        (1.0, None, 0, 1000, 1.0),
    ],
)
def test_seed_score_gives_the_published_figures(sharpe, calmar, trades, bars, expected):
    assert seed_score(sharpe=sharpe, calmar=calmar, trades=trades, bars=bars) == pytest.approx(expected)


def test_an_undefined_sharpe_has_no_score_instead_of_a_zero():
    assert seed_score(sharpe=None, calmar=3.0, trades=10, bars=100) is None


def test_a_run_without_bars_has_no_score():
    assert seed_score(sharpe=1.0, calmar=1.0, trades=0, bars=0) is None


def test_scores_are_averaged_over_cells(make_cell):
    pair = mean_scores([make_cell(seed_score=1.0, benchmark=0.25), make_cell(seed_score=2.0, benchmark=0.75)])
    assert pair == (1.5, 0.5)
    assert pair.beats


def test_an_equal_score_does_not_beat_buy_and_hold(make_cell):
    assert not mean_scores([make_cell(seed_score=0.5, benchmark=0.5)]).beats


def test_buy_and_hold_is_averaged_over_the_candidates_cells_only(make_cell):
    cells = [make_cell(seed_score=1.0, benchmark=0.5), make_cell(seed_score=None, benchmark=9.0)]
    assert mean_scores(cells) == (1.0, 0.5)


@pytest.mark.parametrize(("candidate", "benchmark"), [(None, 0.5), (5.0, None), (None, None)])
def test_an_undefined_side_never_beats(make_cell, candidate, benchmark):
    assert not mean_scores([make_cell(seed_score=candidate, benchmark=benchmark)]).beats


def test_one_undefined_benchmark_cell_leaves_nothing_to_beat(make_cell):
    cells = [make_cell(seed_score=5.0, benchmark=0.1), make_cell(seed_score=5.0, benchmark=None)]
    pair = mean_scores(cells)
    assert pair.buy_and_hold is None
    assert not pair.beats
