"""Gate three on the text: one strategy at the top level, with its on_bar and a constructor that the engine can call."""

from __future__ import annotations

import ast

import pytest

from gates.contract import judge_loaded, judge_tree
from runtime.strategy import Strategy

BAR = "    def on_bar(self, bar): pass\n"


def rules_of(text):
    return [found.rule for found in judge_tree(ast.parse(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class S(Strategy):\n" + BAR, []),
        ("class M: pass\nclass S(M, Strategy):\n" + BAR, []),
        ("", ["one-strategy"]),
        ("class S:\n" + BAR, ["one-strategy"]),
        ("class S(Strategy):\n" + BAR + "class T(Strategy):\n" + BAR, ["one-strategy"]),
        ("class S(Strategy):\n" + BAR + "class T(S): pass", ["one-strategy"]),
        ("if 1:\n  class S(Strategy):\n    def on_bar(self, bar): pass", ["nested-strategy"]),
        ("class S(Strategy):\n" + BAR + "def f():\n  class T(S): pass", ["nested-strategy"]),
        ("class S(Strategy): pass", ["on-bar"]),
        ("class B:\n" + BAR + "class S(B, Strategy): pass", ["on-bar"]),
        ("class S(Strategy):\n    on_bar = 5", ["on-bar"]),
        ("class S(Strategy):\n    on_bar = lambda self, bar: None", ["on-bar"]),
        ("class S(Strategy):\n" + BAR + "    on_bar = None", ["on-bar"]),
        ("class S(Strategy):\n    on_bar = None\n" + BAR, []),
        ("class S(Strategy):\n    if 1:\n        def on_bar(self, bar): pass", ["on-bar"]),
        ("class S(Strategy):\n" + BAR + "    for on_bar in (1,): pass", ["on-bar"]),
        ("class S(Strategy):\n" + BAR + "    def other(self):\n        on_bar = 1", []),
        ("class S(Strategy):\n    def on_bar(self): pass", ["on-bar"]),
        ("class S(Strategy):\n    def on_bar(self, bar, more): pass", ["on-bar"]),
        ("class S(Strategy):\n    def on_bar(self, bar, *, more): pass", ["on-bar"]),
        ("class S(Strategy):\n    def on_bar(self, bar, more=1, *a, b=2, **k): pass", []),
        ("class S(Strategy):\n    def on_bar(self, *bars): pass", []),
        ("class S(Strategy):\n    @staticmethod\n    def on_bar(bar, x): pass", ["on-bar"]),
        ("class S(Strategy):\n    @property\n    def on_bar(self): pass", ["on-bar"]),
        ("class S(Strategy):\n    def on_bar(self, bar):\n        yield 1", ["on-bar"]),
        ("class S(Strategy):\n    def on_bar(self, bar):\n        def g(): yield 1", []),
        ("class S(Strategy):\n    def on_bar(self, bar):\n        return lambda: (yield)", []),
    ],
)
def test_the_text_decides(text, expected):
    assert rules_of(text) == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("self, name, clock, bus, instrument, timeframe", None),
        ("self, **kwargs", None),
        ("self, *args, **kwargs", None),
        ("self, name, clock, bus, instrument, timeframe='1d', window=20, *, fast=5", None),
        ("self, timeframe, instrument, bus, clock, name", None),
        ("self, *, name, clock, bus, instrument, timeframe", None),
        ("self", "__init__ of S does not accept name, clock, bus, instrument, timeframe"),
        ("self, *args", "__init__ of S does not accept name, clock, bus, instrument, timeframe"),
        ("self, name, instrument, timeframe", "__init__ of S does not accept clock, bus"),
        ("self, window, **kwargs", "__init__ of S requires window, which the engine does not pass"),
        ("self, *, window, **kwargs", "__init__ of S requires window, which the engine does not pass"),
        ("self, window, /, **kwargs", "__init__ of S requires window, which the engine does not pass"),
        ("", "__init__ of S does not accept name, clock, bus, instrument, timeframe"),
    ],
)
def test_the_constructor_takes_what_the_engine_passes(arguments, said):
    text = f"class S(Strategy):\n    def __init__({arguments}): pass\n{BAR}"
    assert [found.message for found in judge_tree(ast.parse(text))] == ([said] if said else [])


def test_findings_point_at_the_definition():
    (found,) = judge_tree(ast.parse("x = 1\nclass S(Strategy):\n    def on_bar(self): pass"))
    assert (found.gate, found.line, found.column) == (3, 3, 5)


def test_the_loaded_class_is_the_one_in_the_text():
    class S(Strategy):
        def on_bar(self, bar):
            pass

    class Bare(Strategy):
        pass

    class Odd(Strategy):
        __init__ = print

        def on_bar(self, bar):
            pass

    assert judge_loaded(S, "S", Strategy) is None
    for value, name in (
        (None, "S"),
        (5, "S"),
        (int, "S"),
        (Strategy, "Strategy"),
        (S, "T"),
        (Bare, "Bare"),
        (Odd, "Odd"),
    ):
        assert judge_loaded(value, name, Strategy).rule == "loaded-class"
