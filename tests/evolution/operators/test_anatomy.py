"""Operators take hold only of what they recognise for certain."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from evolution.operators.anatomy import dissect, fresh_name, literal, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy


def test_parameters_carry_their_default_and_bounds(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        window = param(40, low=10, high=120)
        drop = param(-0.5, low=-1.0, high=0.0)
        plain = 3
        computed = param(2 * 3, low=1, high=9)

        def on_bar(self, bar):
            self.log(f"{self.window} {self.drop} {self.plain} {self.computed}")
    """)
    found = {name: (one.default, one.low, one.high) for name, one in anatomy.parameters.items()}
    assert found == {"window": (40, 10, 120), "drop": (-0.5, -1.0, 0.0)}


def test_declarations_are_plain_assignments_with_literal_names(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        def on_start(self):
            self.a = self.indicator("SMA", source="hlc3", timeperiod=20)
            self.b = self.indicator("RSI")
            name = "EMA"
            self.c = self.indicator(name)
            self.d, self.e = self.indicator("EMA"), self.indicator("WMA")
            self.f = [self.indicator("SMA", timeperiod=n) for n in (5, 10)]

        def on_bar(self, bar):
            pass
    """)
    found = {name: (one.indicator, one.source, list(one.options)) for name, one in anatomy.declarations.items()}
    assert found == {"a": ("SMA", "hlc3", ["timeperiod"]), "b": ("RSI", None, [])}


def test_the_bar_is_known_by_the_name_that_on_bar_gives_it(look: Callable[[str], Anatomy]) -> None:
    assert look("def on_bar(self, candle):\n    pass").bar == "candle"


def test_a_class_without_on_bar_has_no_bar(look: Callable[[str], Anatomy]) -> None:
    assert look("def on_start(self):\n    pass").bar is None


def test_there_is_no_anatomy_of_a_missing_class() -> None:
    assert dissect(ast.Module([], []), "S") is None


@pytest.mark.parametrize("value", [3, -3, 0.5, -0.5, 0])
def test_numbers_read_back_as_they_were_written(value: float) -> None:
    node = literal(value)
    assert number(node) == value
    assert type(number(node)) is type(value)
    assert ast.dump(node) == ast.dump(ast.parse(repr(value), mode="eval").body)


def test_a_bool_is_no_number() -> None:
    assert number(ast.Constant(value=True)) is None


def test_a_fresh_name_counts_on_instead_of_growing() -> None:
    assert fresh_name("upper", set()) == "upper"
    assert fresh_name("upper_2", {"upper", "upper_2"}) == "upper_3"
