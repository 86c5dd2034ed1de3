"""From cells to a scorecard: bounds over cells, vetoes with figure and limit, nothing that is not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitness import ScoreRules, score_cells


def four(make_cell, **by_name):
    """Four train cells; each keyword holds four values."""
    return [make_cell(f"train-{i + 1}", **{name: values[i] for name, values in by_name.items()}) for i in range(4)]


def test_objectives_hold_half_a_deviation_against_the_candidate(make_cell):
    sharpes, calmars, turnovers = [1.0, 2.0, 0.0, 1.0], [0.5, 0.1, 0.3, 0.9], [10.0, 20.0, 30.0, 40.0]
    card = score_cells(four(make_cell, sharpe=sharpes, calmar=calmars, turnover=turnovers))
    assert card.objectives.sharpe == pytest.approx(np.mean(sharpes) - 0.5 * np.std(sharpes))
    assert card.objectives.calmar == pytest.approx(np.mean(calmars) - 0.5 * np.std(calmars))
    assert card.objectives.turnover == pytest.approx(np.mean(turnovers) + 0.5 * np.std(turnovers))


def test_a_single_cell_has_no_spread(make_cell):
    assert score_cells([make_cell(sharpe=1.5, trades=40)]).objectives.sharpe == 1.5


def test_each_cell_is_clipped_before_it_is_averaged(make_cell):
    card = score_cells(four(make_cell, sharpe=[50.0, 5.0, 5.0, 5.0], calmar=[-99.0, -5.0, -5.0, -5.0]))
    assert (card.objectives.sharpe, card.objectives.calmar) == (5.0, -5.0)


def test_a_clean_candidate_is_feasible(make_cell):
    card = score_cells(four(make_cell, trades=[10] * 4))
    assert (card.violation, card.vetoes, card.trades) == (0.0, (), 40)


def test_a_deep_drawdown_in_one_cell_is_a_veto_that_names_figure_and_limit(make_cell):
    card = score_cells(four(make_cell, max_drawdown=[0.1, 0.45, 0.1, 0.1]))
    assert card.vetoes == ("maximum drawdown 45.00% in train-2 (limit 30.00%)",)
    assert card.violation == pytest.approx(0.5)
    assert card.max_drawdown == 0.45
    assert card.objectives is not None, "a veto leaves the real figures in place"


def test_a_drawdown_at_the_limit_is_allowed(make_cell):
    assert score_cells(four(make_cell, max_drawdown=[0.30] * 4)).vetoes == ()


def test_round_trips_are_summed_over_cells(make_cell):
    assert score_cells(four(make_cell, trades=[7, 8, 7, 8])).vetoes == ()
    card = score_cells(four(make_cell, trades=[7, 8, 7, 7]))
    assert card.vetoes == ("closed round trips over all cells: 29 (at least 30 needed)",)
    assert card.violation == pytest.approx(1 / 30)


def test_ruin_is_a_veto_even_without_a_deep_drawdown(make_cell):
    card = score_cells([make_cell("train-1", ruined=True, trades=40), make_cell("train-2")])
    assert card.vetoes == ("ruined in 1 of 2 cells (limit 0)",)
    assert card.violation == 1.0


def test_three_quarters_of_the_cells_are_enough(make_cell):
    card = score_cells(four(make_cell, sharpe=[1.0, 1.0, 1.0, None], trades=[10] * 4))
    assert card.vetoes == ()
    assert card.objectives.sharpe == 1.0


def test_too_few_defined_cells_leave_no_objectives(make_cell):
    card = score_cells(four(make_cell, calmar=[1.0, 1.0, None, None], trades=[10] * 4))
    assert card.objectives is None
    assert card.vetoes == ("Sharpe and Calmar are defined in 2 of 4 cells (at least 3 needed)",)


def test_vetoes_add_up(make_cell):
    card = score_cells(four(make_cell, trades=[0] * 4, max_drawdown=[0.6] * 4))
    assert len(card.vetoes) == 2
    assert card.violation == pytest.approx(1.0 + 1.0)


def test_vetoes_name_no_symbol(make_cell):
    """They may stand in a prompt, and a model that reads a symbol remembers its chart."""
    cells = [make_cell("train-1", "AAPL", max_drawdown=0.9, trades=1, sharpe=None, ruined=True)]
    assert "AAPL" not in " ".join(score_cells(cells).vetoes)


def test_the_drawdown_veto_does_not_apply_to_the_benchmark(make_cell, make_metrics):
    from dataclasses import replace

    crash = make_metrics(max_drawdown=0.8, seed_score=0.1)
    card = score_cells([replace(cell, buy_and_hold=crash) for cell in four(make_cell)])
    assert card.vetoes == ()
    assert card.beats_buy_and_hold


@pytest.mark.parametrize("name", ["sharpe", "calmar", "turnover", "max_drawdown", "seed_score"])
@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_metric_that_is_not_finite_is_refused(make_cell, name, broken):
    with pytest.raises(ValueError, match=f"{name} of train-1 TEST"):
        score_cells([make_cell(**{name: broken})])


def test_a_scorecard_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one cell"):
        score_cells([])


@pytest.mark.parametrize(
    "rule",
    [{"max_drawdown": 0.0}, {"min_trades": 0}, {"min_defined": 1.5}, {"spread_weight": -1.0}, {"clip": math.inf}],
)
def test_rules_out_of_range_are_refused(rule):
    with pytest.raises(ValueError, match=next(iter(rule))):
        ScoreRules(**rule)


ratio = st.none() | st.floats(-1e6, 1e6)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(
    figures=st.lists(
        st.tuples(ratio, ratio, st.floats(0, 1e6), st.floats(0, 1), st.integers(0, 50), st.booleans(), ratio),
        min_size=1,
        max_size=8,
    ),
    shuffle=st.randoms(use_true_random=False),
)
def test_cards_are_finite_and_do_not_depend_on_the_order_of_cells(make_cell, figures, shuffle):
    cells = [
        make_cell(
            f"train-{i}",
            sharpe=sharpe,
            calmar=calmar,
            turnover=turnover,
            max_drawdown=drawdown,
            trades=trades,
            ruined=ruined,
            seed_score=score,
        )
        for i, (sharpe, calmar, turnover, drawdown, trades, ruined, score) in enumerate(figures)
    ]
    card = score_cells(cells)
    shuffled = list(cells)
    shuffle.shuffle(shuffled)
    again = score_cells(shuffled)
    assert math.isfinite(card.violation)
    assert (card.violation > 0) == bool(card.vetoes)
    assert card.score is None or math.isfinite(card.score)
    if card.objectives is not None:
        goals = card.objectives
        assert all(map(math.isfinite, (goals.sharpe, goals.calmar, goals.turnover)))
    unordered = (card.objectives, card.violation, card.vetoes, card.score, card.beats_buy_and_hold, card.trades)
    assert unordered == (
        again.objectives,
        again.violation,
        again.vetoes,
        again.score,
        again.beats_buy_and_hold,
        again.trades,
    )
