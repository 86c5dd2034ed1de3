"""Families follow from how candidates were made, in order of id."""

from __future__ import annotations

from evolution.families import MOST, Families


def numeric(told, index, parent, generation=1):
    return told(index, generation=generation, parents=(parent,), operator="offline/param_jitter")


def test_children_with_other_numbers_belong_to_the_family_of_their_parent(told):
    families = Families()
    families.take_in([told(0, operator="seed/trend"), told(1, operator="seed/breakout")])
    families.take_in([numeric(told, 0, "g000-c000"), numeric(told, 1, "g000-c001"), numeric(told, 2, "g000-c000")])
    families.take_in([numeric(told, 0, "g001-c002", generation=2)])
    own = ("g000-c000", "g001-c000", "g001-c002", "g002-c000")
    assert families.relatives("g002-c000") == families.relatives("g000-c000") == own
    assert families.relatives("g001-c001") == ("g000-c001", "g001-c001")


def test_a_child_of_another_form_founds_a_family_of_its_own(told):
    families = Families()
    families.take_in([told(0, operator="seed/trend")])
    families.take_in([told(1, generation=1, parents=("g000-c000",), operator="offline/condition_insert")])
    families.take_in([numeric(told, index, "g001-c001", generation=2) for index in range(2)])
    assert families.relatives("g001-c001") == ("g001-c001", "g002-c000", "g002-c001")
    assert families.relatives("g000-c000") == ("g000-c000",)


def test_only_what_has_objectives_is_told_of_and_the_newest_count(told):
    families = Families()
    broken = numeric(told, 0, "g000-c000")
    object.__setattr__(broken.scorecard, "objectives", None)
    families.take_in([told(0), broken, *(numeric(told, index, "g000-c000") for index in range(1, 60))])
    relatives = families.relatives("g000-c000")
    assert len(relatives) == MOST
    assert relatives[-1] == "g001-c059"
    assert broken.candidate.id not in relatives


def test_nobody_knows_a_stranger():
    assert Families().relatives("g009-c009") == ()
