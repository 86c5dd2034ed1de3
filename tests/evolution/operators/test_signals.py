"""Conditions turn, join, grow and shrink, and their guards survive."""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING

import pytest

from evolution.operators.anatomy import clone, dissect
from evolution.operators.conditions import decisions
from evolution.operators.signals import (
    MAX_SIGNALS,
    BooleanFlip,
    ComparatorFlip,
    ConditionDelete,
    ConditionHoist,
    ConditionInsert,
    SignalFlip,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy
    from evolution.operators.operator import Operator


BODY = """
    def on_start(self):
        self.line = self.indicator("SMA", timeperiod=20)
        self.heat = self.indicator("RSI")

    def on_bar(self, bar):
        if {test}:
            {order}
"""


def _results(look: Callable[[str], Anatomy], operator: Operator, test: str, order: str = "self.buy()") -> set[str]:
    """Every test that the operator makes of this one within a hundred draws."""
    parent = look(BODY.format(test=test, order=order))
    found = set()
    for seed in range(100):
        child = dissect(clone(parent.tree), parent.body.name)
        assert child is not None
        if operator.vary([child], random.Random(seed)) is not None:
            found.add(ast.unparse(decisions(child)[0].statement.test))
    return found


def test_a_comparator_flip_turns_one_comparison_or_crossing(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ComparatorFlip(), "self.flat and bar.close > self.line[-1] and crossed_above(self.heat, 30)")
    assert found == {
        "self.flat and bar.close < self.line[-1] and crossed_above(self.heat, 30)",
        "self.flat and bar.close > self.line[-1] and crossed_below(self.heat, 30)",
    }


def test_a_comparator_flip_finds_conditions_outside_of_ifs(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        def on_bar(self, bar):
            strong = bar.close > bar.open
            if self.flat and strong:
                self.buy()
    """)
    assert ComparatorFlip().vary([anatomy], random.Random(1)) == "bar.close > bar.open -> bar.close < bar.open"


def test_a_signal_flip_negates_all_signals_and_no_guard(look: Callable[[str], Anatomy]) -> None:
    found = _results(
        look, SignalFlip(), "self.flat and bar.close > self.line[-1] and (self.heat[-1] < 30 or bar.open < 9)"
    )
    assert found == {"self.flat and (bar.close < self.line[-1] or (self.heat[-1] > 30 and bar.open > 9))"}


def test_a_boolean_flip_leaves_the_guard_outside(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, BooleanFlip(), "self.flat and bar.close > self.line[-1] and self.heat[-1] < 30")
    assert found == {"self.flat and (bar.close > self.line[-1] or self.heat[-1] < 30)"}


def test_a_boolean_flip_works_both_ways(look: Callable[[str], Anatomy]) -> None:
    found = _results(
        look, BooleanFlip(), "self.long and (bar.close > self.line[-1] or self.heat[-1] < 30)", "self.close()"
    )
    assert found == {"self.long and (bar.close > self.line[-1] and self.heat[-1] < 30)"}


def test_a_deletion_takes_one_signal_of_several(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ConditionDelete(), "self.flat and bar.close > self.line[-1] and self.heat[-1] < 30")
    assert found == {"self.flat and self.heat[-1] < 30", "self.flat and bar.close > self.line[-1]"}


def test_a_deletion_reaches_into_a_disjunction(look: Callable[[str], Anatomy]) -> None:
    test = "self.long and (bar.close > 9 or self.heat[-1] < 30 or bar.open > 8)"
    found = _results(look, ConditionDelete(), test, "self.close()")
    assert "self.long and (bar.close > 9 or bar.open > 8)" in found
    assert len(found) == 3


def test_a_hoist_lets_one_part_of_any_depth_decide_alone(look: Callable[[str], Anatomy]) -> None:
    test = "self.flat and (bar.close > 9 or self.heat[-1] < 30 and bar.open > 8) and bar.low > 7"
    assert _results(look, ConditionHoist(), test) == {
        "self.flat and (bar.close > 9 or (self.heat[-1] < 30 and bar.open > 8))",
        "self.flat and bar.low > 7",
        "self.flat and bar.close > 9",
        "self.flat and (self.heat[-1] < 30 and bar.open > 8)",
        "self.flat and self.heat[-1] < 30",
        "self.flat and bar.open > 8",
    }


def test_a_guard_is_never_hoisted(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ConditionHoist(), "self.flat and (self.bar_count > 20 and bar.close > 9)")
    assert found <= {"self.flat and bar.close > 9"}


@pytest.mark.parametrize(
    "operator", [ConditionDelete(), ConditionHoist(), BooleanFlip()], ids=lambda operator: operator.name
)
def test_the_last_signal_stays(look: Callable[[str], Anatomy], operator: Operator) -> None:
    assert _results(look, operator, "self.flat and bar.close > self.line[-1]") == set()


@pytest.mark.parametrize(
    "operator",
    [ConditionDelete(), ConditionHoist(), BooleanFlip(), SignalFlip(), ComparatorFlip()],
    ids=lambda operator: operator.name,
)
def test_guards_alone_offer_nothing(look: Callable[[str], Anatomy], operator: Operator) -> None:
    assert _results(look, operator, "self.flat and self.bar_count > 20 and self.entry_price is None") == set()


def test_inserted_conditions_are_well_typed(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ConditionInsert(), "self.flat")
    allowed = {"bar.close", "bar.open", "bar.high", "bar.low", "(bar.high + bar.low) / 2"}
    for test in found:
        left, right = test.removeprefix("self.flat and ").replace(" > ", " < ").split(" < ")
        kinds = {"heat" if "heat" in side or side.isdigit() else "price" for side in (left, right)}
        assert len(kinds) == 1, test
        assert all(side in allowed or side.startswith("self.") or side.isdigit() for side in (left, right)), test
    assert len(found) > 10


def test_a_decision_is_full_at_some_point(look: Callable[[str], Anatomy]) -> None:
    full = " and ".join(f"bar.close > {level}" for level in range(MAX_SIGNALS))
    assert _results(look, ConditionInsert(), full) == set()


def test_an_exit_may_get_looser_or_stricter(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ConditionInsert(), "self.long and bar.close > 9", "self.close()")
    assert any(test.startswith("self.long and (bar.close > 9 or ") for test in found)
    assert any(test.startswith("self.long and bar.close > 9 and ") for test in found)
