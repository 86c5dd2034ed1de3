"""Declarations change within their family, and never ask for more than the engine gives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from evolution.operators.anatomy import clone, dissect
from evolution.operators.indicators import (
    MAX_DECLARATIONS,
    TEMPLATES,
    IndicatorInsert,
    IndicatorSwap,
    SourceSwap,
    lookbacks_fit,
)
from evolution.operators.printing import print_tree
from evolution.operators.scales import declared_scale, family_of
from runtime.indicators import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy
    from evolution.operators.operator import Operator


BODY = """
    window = param({window}, low=2, high=240)

    def on_start(self):
        self.x = {declaration}

    def on_bar(self, bar):
        if self.flat and bar.close > self.x[-1] * self.window:
            self.buy()
"""


def _children(look: Callable[[str], Anatomy], operator: Operator, declaration: str, window: int = 20) -> list[Anatomy]:
    parent = look(BODY.format(window=window, declaration=declaration))
    children = []
    for seed in range(60):
        child = dissect(clone(parent.tree), parent.body.name)
        assert child is not None
        if operator.vary([child], random.Random(seed)) is not None:
            child = dissect(child.tree, child.body.name)
            assert child is not None
            children.append(child)
    return children


@pytest.mark.parametrize("name", ["EMA", "MAX", "BBANDS.lower", "RSI", "ADX", "ROC", "MACD.hist", "ATR", "CCI", "OBV"])
def test_a_swap_stays_in_the_family_and_uses_only_known_parameters(look: Callable[[str], Anatomy], name: str) -> None:
    option = "timeperiod=self.window" if "timeperiod" in REGISTRY[name].params else ""
    children = _children(look, IndicatorSwap(), f"self.indicator({name!r}, {option})")
    assert children
    for child in children:
        new = child.declarations["x"]
        assert family_of(new.indicator) is family_of(name)
        assert REGISTRY[new.indicator].name != REGISTRY[name].name
        assert set(new.options) <= set(REGISTRY[new.indicator].params)
        assert new.source is None or REGISTRY[new.indicator].takes_source


def test_a_swap_carries_the_main_period_and_the_source(look: Callable[[str], Anatomy]) -> None:
    for child in _children(look, IndicatorSwap(), "self.indicator('EMA', source='hlc3', timeperiod=self.window)"):
        new = child.declarations["x"]
        assert new.source == "hlc3"
        assert list(new.options) == ["timeperiod"]


def test_an_average_of_volume_is_only_swapped_for_one_that_reads_volume(look: Callable[[str], Anatomy]) -> None:
    for child in _children(look, IndicatorSwap(), "self.indicator('MAX', source='volume', timeperiod=9)"):
        assert child.declarations["x"].source == "volume"


def test_an_indicator_without_family_is_not_swapped(look: Callable[[str], Anatomy]) -> None:
    assert _children(look, IndicatorSwap(), "self.indicator('CDLHAMMER')") == []


def test_prices_are_swapped_for_prices(look: Callable[[str], Anatomy]) -> None:
    sources = {c.declarations["x"].source for c in _children(look, SourceSwap(), "self.indicator('SMA', timeperiod=9)")}
    assert sources == {None, "open", "high", "low", "hl2", "hlc3"}


def test_volume_is_not_swapped_for_a_price(look: Callable[[str], Anatomy]) -> None:
    children = _children(look, SourceSwap(), "self.indicator('SMA', source='volume', timeperiod=9)")
    assert {child.declarations["x"].source for child in children} == {"volume"}


def test_an_added_indicator_has_a_parameter_a_declaration_and_a_say(look: Callable[[str], Anatomy]) -> None:
    for child in _children(look, IndicatorInsert(), "self.indicator('SMA', timeperiod=self.window)"):
        (new,) = set(child.declarations) - {"x"}
        assert new + "_window" in child.parameters
        assert f"self.{new}[-" in _text(child)
        assert lookbacks_fit(child)


def test_on_start_is_made_where_there_is_none(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("def on_bar(self, bar):\n    if self.flat and bar.close > 3:\n        self.buy()")
    assert IndicatorInsert().vary([anatomy], random.Random(2))
    assert list(anatomy.methods) == ["on_bar", "on_start"]
    assert _text(anatomy).index("def on_start") < _text(anatomy).index("def on_bar")


def test_indicators_are_not_piled_up(look: Callable[[str], Anatomy]) -> None:
    lines = "\n".join(f"    self.x{n} = self.indicator('WMA', timeperiod={n + 2})" for n in range(MAX_DECLARATIONS))
    total = " + ".join(f"self.x{n}[-1]" for n in range(MAX_DECLARATIONS))
    anatomy = look(
        f"def on_start(self):\n{lines}\n\ndef on_bar(self, bar):\n    if bar.close > {total}:\n        self.buy()"
    )
    assert IndicatorInsert().vary([anatomy], random.Random(1)) is None


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.attribute)
def test_templates_are_valid_over_their_whole_range(look: Callable[[str], Anatomy], template: object) -> None:
    spec = REGISTRY[template.indicator]
    assert template.option in spec.params
    assert (template.source is None) != spec.takes_source
    for window in (template.low, template.default, template.high):
        source = "" if template.source is None else f"source={template.source!r}, "
        declared = f"self.indicator({template.indicator!r}, {source}{template.option}=self.window)"
        anatomy = look(BODY.format(window=window, declaration=declared))
        assert lookbacks_fit(anatomy)
        assert declared_scale(anatomy.declarations["x"]) is not None


@pytest.mark.parametrize(
    ("declaration", "window", "fits"),
    [
        ("self.indicator('SMA', timeperiod=self.window)", 240, True),
        ("self.indicator('TEMA', timeperiod=self.window)", 83, True),
        ("self.indicator('TEMA', timeperiod=self.window)", 85, False),
        ("self.indicator('SMA', timeperiod=251)", 20, False),
        ("self.indicator('SMA', timeperiod=0)", 20, False),
        ("self.indicator('SMA', timeperiod=9 + 999)", 20, True),
        ("self.indicator('NO_SUCH', timeperiod=9999)", 20, True),
    ],
)
def test_lookbacks_are_checked_as_far_as_they_can_be_read(
    look: Callable[[str], Anatomy], declaration: str, window: int, fits: bool
) -> None:
    assert lookbacks_fit(look(BODY.format(window=window, declaration=declaration))) is fits


def _text(anatomy: Anatomy) -> str:
    return print_tree(anatomy.tree)
