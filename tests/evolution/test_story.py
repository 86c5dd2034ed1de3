"""What a run's trials say together."""

from __future__ import annotations

from dataclasses import replace

from evolution.story import lineage_of, memory_of, operators_of
from evolution.trial import TrialOutcome


def test_memory_counts_what_was_not_evaluated_again(told):
    redrawn = told(0)
    redrawn = replace(redrawn, candidate=replace(redrawn.candidate, redraws=3))
    duplicate = told(1, outcome=TrialOutcome.DUPLICATE, scorecard=None)
    counted = memory_of([redrawn, duplicate, told(2, recalled="r0/g000-c001")])
    assert (counted.redrawn, counted.duplicates, counted.recalled) == (3, 1, 1)


def test_operators_are_ranked_by_children_that_beat_every_parent(told):
    seed = told(0, operator="seed/trend", score=0.5)
    other = told(1, operator="seed/momentum", score=0.9)
    trials = [
        seed,
        other,
        told(0, generation=1, operator="offline/swap", parents=("g000-c000",), score=0.6),
        told(1, generation=1, operator="offline/cross", parents=("g000-c000", "g000-c001"), score=0.8),
        told(2, generation=1, operator="offline/cross", parents=("g000-c000",), score=9.0, violation=0.5),
    ]
    swap, cross = operators_of(trials)
    assert swap == ("offline/swap", 1, 1, 1)
    assert cross == ("offline/cross", 2, 1, 0)


def test_a_lineage_leads_from_a_starter_along_the_first_parents(told):
    seed, other = told(0), told(1)
    child = told(0, generation=1, parents=("g000-c000", "g000-c001"))
    grandchild = told(0, generation=2, parents=("g001-c000",))
    trials = {each.candidate.id: each for each in (seed, other, child, grandchild)}
    assert lineage_of(grandchild, trials) == (seed, child, grandchild)
    assert lineage_of(seed, trials) == (seed,)
