"""A run ends early only for what later folds cannot mend, and never by a guess."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evolution.cascade import Cascade
from evolution.trial import TrialOutcome


@pytest.fixture
def cells(told):
    return told().scorecard.cells


@pytest.fixture
def deep(told):
    return told(drawdown=0.31).scorecard.cells


def test_who_orders_the_same_as_an_earlier_one_is_a_duplicate(cells):
    halt = Cascade(known={"p1": "g001-c003"}).halt("p1", cells)
    assert halt.outcome is TrialOutcome.DUPLICATE
    assert "g001-c003" in halt.reason


@pytest.mark.parametrize("probe", ["p2", None])
def test_other_orders_and_none_at_all_prove_nothing(cells, probe):
    assert Cascade(known={"p1": "g001-c003"}, is_full=True).halt(probe, cells) is None


def test_a_broken_limit_ends_a_run_only_when_every_place_is_taken(deep):
    assert Cascade().halt(None, deep) is None
    halt = Cascade(is_full=True).halt(None, deep)
    assert halt.outcome is TrialOutcome.STOPPED
    assert "31.00%" in halt.reason


def test_ruin_ends_a_run_whatever_its_drawdown(cells):
    ruined = [replace(cells[0], ruined=True), *cells[1:]]
    assert Cascade(is_full=True).halt(None, ruined).outcome is TrialOutcome.STOPPED


def test_a_weak_fold_is_no_reason(told):
    assert Cascade(is_full=True).halt(None, told(sharpe=-3.0, score=-3.0).scorecard.cells) is None
