"""Brackets and weights change within sensible limits; other orders are left alone."""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING

import pytest

from evolution.operators.anatomy import clone, dissect
from evolution.operators.conditions import orders
from evolution.operators.orders import BRACKETS, NARROWEST, WEIGHTS, WIDEST, ExitEdit, SizeEdit

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy
    from evolution.operators.operator import Operator


def _results(
    look: Callable[[str], Anatomy], operator: Operator, order: str, exit_order: str = "self.close()"
) -> set[str]:
    parent = look(f"""
        weight = param(0.5, low=0.1, high=1.0)

        def on_bar(self, bar):
            if self.flat and bar.close > self.weight:
                {order}
            elif self.long and bar.close < bar.open:
                {exit_order}
    """)
    found = set()
    for seed in range(100):
        child = dissect(clone(parent.tree), parent.body.name)
        assert child is not None
        assert child.on_bar is not None
        if operator.vary([child], random.Random(seed)) is not None:
            found.add(ast.unparse(next(orders(child.on_bar))))
    return found


def test_a_bracket_is_added_to_an_entry(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ExitEdit(), "self.target(1.0)")
    assert found == {f"self.target(1.0, {name}={value})" for name, values in BRACKETS.items() for value in values}


def test_a_bracket_moves_within_limits_or_goes(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ExitEdit(), "self.buy(stop_loss=0.58)")
    assert "self.buy()" in found
    moved = [call.keywords[0] for text in found if len((call := _call(text)).keywords) == 1]
    assert len(moved) > 10
    assert all(word.arg == "stop_loss" and NARROWEST <= ast.literal_eval(word.value) <= WIDEST for word in moved)


def test_the_only_way_out_is_never_removed(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ExitEdit(), "self.buy(stop_loss=0.1)", "self.log('hold')")
    assert "self.buy()" not in found


def test_a_bracket_from_a_parameter_is_left_to_the_parameter(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, ExitEdit(), "self.buy(stop_loss=self.weight)")
    assert {text for text in found if "trail" not in text and "take_profit" not in text} == {"self.buy()"}


def test_weights_come_from_a_short_list(look: Callable[[str], Anatomy]) -> None:
    assert _results(look, SizeEdit(), "self.target(0.5, tag='x')") == {
        f"self.target({weight}, tag='x')" for weight in WEIGHTS if weight != 0.5
    }


def test_a_short_stays_short(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, SizeEdit(), "self.target(-0.5)")
    assert found == {f"self.target(-{weight})" for weight in WEIGHTS if weight != 0.5}


def test_buying_everything_becomes_a_target(look: Callable[[str], Anatomy]) -> None:
    found = _results(look, SizeEdit(), "self.buy(stop_loss=0.1)")
    assert found == {f"self.target({weight}, stop_loss=0.1)" for weight in WEIGHTS if weight != 1.0}


@pytest.mark.parametrize(
    "order", ["self.buy(10)", "self.buy(limit=bar.low)", "self.target(self.weight)", "self.submit(bar)"]
)
def test_what_is_computed_or_special_keeps_its_size(look: Callable[[str], Anatomy], order: str) -> None:
    assert _results(look, SizeEdit(), order) == set()


def test_general_orders_get_no_keywords_that_they_do_not_know(look: Callable[[str], Anatomy]) -> None:
    assert _results(look, ExitEdit(), "self.submit(Order(side=Side.BUY))") == set()


def _call(text: str) -> ast.Call:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    return call
