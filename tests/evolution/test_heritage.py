"""The front of earlier nights: taken over, and compared with tonight's."""

from __future__ import annotations

from evolution.heritage import compare, front_of


def test_the_front_of_several_runs_has_no_room_for_the_beaten(told):
    good, beaten = told(0, run="r1", sharpe=1.0), told(0, run="r2", sharpe=0.5)
    other = told(1, run="r2", sharpe=0.2, turnover=1.0, trades=80)
    vetoed = told(2, run="r2", sharpe=9.0, violation=0.5)
    front = front_of([beaten, good, other, vetoed])
    assert {(each.candidate.run_id, each.candidate.id) for each in front} == {("r1", "g000-c000"), ("r2", "g000-c001")}


def test_tonight_dominates_when_everybody_is_beaten_or_matched_and_there_is_more(told):
    earlier = [told(0, sharpe=1.0), told(1, sharpe=0.2, turnover=1.0)]
    better = [told(2, sharpe=1.1), told(3, sharpe=0.2, turnover=1.0)]
    found = compare(earlier, better)
    assert (found.beaten, found.matched, found.dominates) == (1, 1, True)
    assert found.in_words().startswith("tonight's front dominates")


def test_an_equal_front_does_not_dominate(told):
    front = [told(0)]
    assert not compare(front, front).dominates


def test_one_unbeaten_member_is_enough_to_say_no(told):
    earlier = [told(0, sharpe=1.0), told(1, sharpe=0.2, turnover=1.0)]
    found = compare(earlier, [told(2, sharpe=2.0)])
    assert (found.beaten, found.dominates) == (1, False)
    assert "does not dominate" in found.in_words()


def test_nothing_tonight_is_no_comparison_to_fear(told):
    assert not compare([told(0)], []).dominates
