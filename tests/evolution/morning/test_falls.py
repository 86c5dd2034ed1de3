"""The funnel counts everybody once per stage, and gives reasons by kind."""

from __future__ import annotations

from itertools import pairwise

from evolution.morning.falls import funnel_stages
from evolution.trial import TrialOutcome


def test_everybody_who_came_fell_or_went_on(full_night):
    stages = funnel_stages(full_night.trials)
    assert stages[0].came == len(full_night.trials)
    for stage, following in pairwise(stages):
        assert stage.came - stage.fell == following.came
    scored = sum(trial.outcome is TrialOutcome.SCORED for trial in full_night.trials)
    assert stages[-1].came - stages[-1].fell == scored


def test_reasons_that_differ_in_their_figures_are_one_kind(full_night):
    *_, limits = funnel_stages(full_night.trials)
    assert [(reason.candidates, reason.words) for reason in limits.reasons] == [
        (2, "maximum drawdown 31.00% in train-1 (limit 30.00%)")
    ]


def test_findings_of_one_rule_are_one_kind_whatever_they_quote(full_night):
    _, gate_one, *_ = funnel_stages(full_night.trials)
    (reason,) = gate_one.reasons
    assert (reason.candidates, reason.example) == (2, "g001-c001")
    assert reason.words == "import-not-allowed: import of os"


def test_kinds_beyond_the_most_frequent_are_counted(make):
    trials = [
        make.trial(0, index, outcome=TrialOutcome.FAILED, reason=f"{'ab'[index % 2] * (index + 1)} failed")
        for index in range(12)
    ]
    failed = funnel_stages(trials)[5]
    assert (failed.fell, len(failed.reasons), failed.other) == (12, 8, 4)


def test_a_night_without_candidates_has_an_empty_funnel():
    assert all(stage.came == stage.fell == 0 for stage in funnel_stages(()))
