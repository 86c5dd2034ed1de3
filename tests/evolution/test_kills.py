"""What the machine may have done is told from what the source did."""

from __future__ import annotations

from evolution.kills import KILL_RULES, is_kill
from gates import RULES
from gates.rules import finding


def test_the_rules_are_rules_of_the_gates_and_all_that_speak_of_a_kill():
    assert {rule.id for rule in RULES if rule.id.startswith("killed-")} == KILL_RULES


def test_only_those_rules_make_a_kill():
    assert is_kill([finding("killed-in-load", "loading was killed")])
    assert not is_kill([])
