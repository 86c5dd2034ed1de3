"""Who may read validation, and whose score is the best."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from evolution.finalists import best_score, finalists
from evolution.trial import TrialOutcome

RISING, FALLING = bytes(range(128)) * 2, bytes(range(127, -1, -1)) * 2


def trial(name, score, *, beats=True, outcome=TrialOutcome.SCORED, rhythm=None):
    card = SimpleNamespace(score=score, beats_buy_and_hold=beats) if outcome is TrialOutcome.SCORED else None
    return SimpleNamespace(candidate=SimpleNamespace(id=name), outcome=outcome, scorecard=card, rhythm=rhythm)


def names(chosen):
    return [each.candidate.id for each in chosen]


def test_the_best_that_beat_buy_and_hold_are_chosen_and_no_more_than_there_are_places():
    trials = [trial("a", 0.1), trial("b", 0.9, beats=False), trial("c", 0.5), trial("d", 0.3), trial("e", None)]
    assert names(finalists(trials, 2)) == ["c", "d"]
    assert names(finalists(trials, 9)) == ["c", "d", "a", "e"]


def test_of_two_that_earn_at_the_same_times_the_better_one_is_chosen():
    trials = [trial("a", 0.1, rhythm=FALLING), trial("b", 0.2, rhythm=RISING), trial("c", 0.3, rhythm=RISING)]
    assert names(finalists(trials, 3)) == ["c", "a"]


@pytest.mark.parametrize("outcome", [TrialOutcome.REJECTED, TrialOutcome.KILLED, TrialOutcome.BARREN])
def test_what_did_not_run_is_never_chosen_and_has_no_score(outcome):
    assert finalists([trial("a", 1.0, outcome=outcome)], 3) == ()
    assert best_score([trial("a", 1.0, outcome=outcome)]) is None
    assert best_score([trial("a", 1.0, outcome=outcome), trial("b", -0.5), trial("c", None)]) == -0.5
