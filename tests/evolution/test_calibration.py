"""The arithmetic of a calibration: exact intervals, and what other checks would have done."""

from __future__ import annotations

from dataclasses import replace

import pytest
from calibration_records import finalist, night

from evolution.calibration import (
    VARIANTS,
    attrition,
    is_promoted,
    promotes_by_score,
    rate,
    rate_of,
    spends_its_vault,
    would_promote,
)
from evolution.pool import CHECKS

GOOD = finalist()
NIGHT = night(kind="planted-2", is_exhaustive=True, outcome="promoted")


def variant(name):
    return next(each for each in VARIANTS if each.name == name)


@pytest.mark.parametrize(
    ("count", "nights", "low", "high", "bound"),
    [
        (0, 200, 0.0, 0.01828, 0.0),
        (3, 200, 0.00310, 0.04321, 0.00410),
        (95, 100, 0.88717, 0.98357, 0.89774),
        (10, 10, 0.69150, 1.0, 0.74113),
    ],
)
def test_intervals_are_those_of_clopper_and_pearson(count, nights, low, high, bound):
    found = rate(count, nights)
    assert (found.low, found.high, found.lower_bound) == pytest.approx((low, high, bound), abs=2e-5)
    assert found.share == count / nights


def test_no_nights_know_nothing():
    assert (rate(0, 0).share, rate(0, 0).low, rate(0, 0).high) == (0.0, 0.0, 1.0)


def test_a_rate_says_its_interval():
    assert str(rate(3, 200)) == "3 of 200 (1.5%; 95% interval 0.3% to 4.3%)"


def test_attrition_loses_a_night_at_the_check_that_refused_its_last_candidate():
    late, early = CHECKS[-1].name, CHECKS[0].name
    lost = replace(NIGHT, finalists=(replace(GOOD, failed=(late,)), replace(GOOD, failed=(early,))), outcome="empty")
    steps = {step.check: step.left.hits for step in attrition([NIGHT, lost])}
    assert steps["any feasible finalist"] == 2
    assert [steps[check.name] for check in CHECKS] == [2] * (len(CHECKS) - 1) + [1]
    assert steps["vault look"] == 1


def test_leaving_a_check_out_lets_its_candidates_to_the_vault():
    refused = replace(NIGHT, finalists=(replace(GOOD, failed=("deflated-sharpe",)),), outcome="empty")
    assert not would_promote(refused, variant("all checks"), alpha=0.05)
    assert would_promote(refused, variant("without deflated-sharpe"), alpha=0.05)
    assert not would_promote(refused, variant("without deflated-sharpe"), alpha=0.005)
    assert would_promote(refused, variant("deflated Sharpe above 0.5 by the spread of all trials"), alpha=0.05)
    by_spread = replace(refused, finalists=(replace(refused.finalists[0], deflated_by_spread=0.1),))
    assert not would_promote(by_spread, variant("deflated Sharpe above 0.5 by the spread of all trials"), alpha=0.05)


def test_only_the_best_on_validation_is_looked_at():
    better = replace(GOOD, figures={"validation-psr": 0.95}, vault_psr=0.5)
    assert not would_promote(replace(NIGHT, finalists=(GOOD, better)), variant("all checks"), alpha=0.05)
    deep = replace(GOOD, vault_drawdown=0.4)
    assert not would_promote(replace(NIGHT, finalists=(deep,)), variant("all checks"), alpha=0.05)


def test_the_seed_score_alone_promotes_whatever_beats_buy_and_hold():
    nights = [
        NIGHT,
        replace(NIGHT, outcome="empty"),
        replace(NIGHT, best_score=-0.1, outcome="failed"),
        replace(NIGHT, best_beats=False, outcome="refused"),
    ]
    assert rate_of(nights, is_promoted).hits == 1
    assert rate_of(nights, promotes_by_score).hits == 2


def test_a_vault_is_spent_by_as_many_looks_as_its_budget_pays_for():
    lucky = replace(GOOD, vault_psr=0.999)
    night = replace(NIGHT, finalists=(*(GOOD,) * 9, lucky))
    assert spends_its_vault(night, alpha=0.005, budget=0.05)
    assert not spends_its_vault(night, alpha=0.005, budget=0.045)
    assert not spends_its_vault(replace(night, finalists=(GOOD,)), alpha=0.005, budget=0.05)
    assert not spends_its_vault(
        replace(night, finalists=(replace(lucky, vault_drawdown=0.4),)), alpha=0.005, budget=0.05
    )
