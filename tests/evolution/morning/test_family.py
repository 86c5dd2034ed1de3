"""A candidate's ancestry is drawn whole, or says how much of it is left out."""

from __future__ import annotations

from evolution.morning.diff import Mark
from evolution.morning.family import family_of


def by_id(*trials):
    return {trial.candidate.id: trial for trial in trials}


def test_both_parents_are_relatives_and_the_first_ones_make_the_line(full_night):
    trials = by_id(*full_night.trials)
    family = family_of(trials["g002-c000"], trials)
    assert [each.id for each in family.relatives] == ["g000-c000", "g000-c001", "g001-c000", "g002-c000"]
    assert [each.id for each in family.relatives if each.is_on_the_line] == ["g000-c000", "g001-c000", "g002-c000"]
    assert [step.id for step in family.steps] == ["g000-c000", "g001-c000", "g002-c000"]
    assert family.steps[1].other_parents == ("g000-c001",)
    assert family.left_out == 0


def test_each_step_shows_what_it_changed(make):
    parent = make.trial(0, 0, code="a\nb\n")
    child = make.trial(1, 0, code="a\nc\n", parents=("g000-c000",))
    _, step = family_of(child, by_id(parent, child)).steps
    assert [line.text for line in step.changes if line.mark is Mark.ADDED] == ["c"]


def test_a_large_family_keeps_its_line_and_counts_the_rest(make):
    crowd = [make.trial(0, index) for index in range(60)]
    middle = [
        make.trial(1, index, parents=[f"g000-c{2 * index:03d}", f"g000-c{2 * index + 1:03d}"]) for index in range(30)
    ]
    top = make.trial(2, 0, parents=[each.candidate.id for each in middle])
    family = family_of(top, by_id(*crowd, *middle, top))
    assert len(family.relatives) == 24
    assert family.left_out == 91 - 24
    assert {"g000-c000", "g001-c000", "g002-c000"} <= {each.id for each in family.relatives}


def test_parents_that_are_not_stored_end_the_search(make):
    lost = make.trial(1, 0, parents=("g000-c099",))
    assert [each.id for each in family_of(lost, by_id(lost)).relatives] == ["g001-c000"]
