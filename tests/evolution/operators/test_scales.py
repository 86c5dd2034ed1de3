"""Only like is compared with like."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from evolution.operators.scales import FAMILIES, Scale, declared_scale, family_of, scale_of
from runtime.indicators import REGISTRY, lookback

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy


BODY = """
    level = param(30.0, low=10.0, high=50.0)

    def on_start(self):
        self.average = self.indicator("SMA", timeperiod=20)
        self.flow = self.indicator("SMA", source="volume", timeperiod=20)
        self.band = self.indicator("BBANDS.upper", timeperiod=20)
        self.heat = self.indicator("RSI")
        self.spread = self.indicator("ATR")
        self.hammer = self.indicator("CDLHAMMER")
        self.odd = self.indicator("HT_DCPHASE")

    def on_bar(self, bar):
        once = self.average[-1] + 2.0 * self.spread[-1]
        twice = 1
        twice = bar.close
        x = {expression}
        self.log(f"{{once}} {{twice}} {{x}} {{self.level}}")
"""

EXPRESSIONS = {
    "bar.close": Scale.PRICE,
    "bar.volume": Scale.VOLUME,
    "bar.ts": None,
    "self.average[-1]": Scale.PRICE,
    "self.flow[-2]": Scale.VOLUME,
    "self.band[-1] * 1.01": Scale.PRICE,
    "self.heat[-1]": Scale.LEVEL,
    "self.hammer[-1]": Scale.PATTERN,
    "self.odd[-1]": None,
    "once": Scale.PRICE,
    "twice": None,
    "bar.close - self.average[-1]": Scale.CHANGE,
    "bar.close / self.average[-1]": Scale.NUMBER,
    "self.spread[-1] - bar.close": None,
    "self.level": Scale.NUMBER,
    "self.entry_price * 0.9": Scale.PRICE,
    "bar.close * self.heat[-1]": None,
    "-3": Scale.NUMBER,
}


@pytest.mark.parametrize(("expression", "scale"), EXPRESSIONS.items(), ids=EXPRESSIONS)
def test_the_scale_of_an_expression_follows_its_parts(
    look: Callable[[str], Anatomy], expression: str, scale: Scale | None
) -> None:
    anatomy = look(BODY.format(expression=expression))
    on_bar = anatomy.on_bar
    assert on_bar is not None
    assigned = next(s for s in on_bar.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "x")
    assert scale_of(assigned.value, anatomy, on_bar) is scale


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_members_of_a_family_exist_under_their_canonical_names_and_start_soon(family: object) -> None:
    for member in family.members:
        assert REGISTRY[member].name == member
        assert lookback(member, {}) < 100


def test_no_indicator_is_in_two_families() -> None:
    members = [member for family in FAMILIES for member in family.members]
    assert len(members) == len(set(members))


def test_families_know_the_short_output_names() -> None:
    assert family_of("BBANDS.upper") is family_of("BBANDS.upperband") is not None


def test_an_average_of_volumes_is_a_volume_and_an_oscillator_of_volumes_stays_a_level(
    look: Callable[[str], Anatomy],
) -> None:
    anatomy = look("""
        def on_start(self):
            self.a = self.indicator("EMA", source="volume", timeperiod=9)
            self.b = self.indicator("STDDEV", source="volume", timeperiod=9)
            self.c = self.indicator("RSI", source="volume", timeperiod=9)
            self.d = self.indicator("NO_SUCH_THING")

        def on_bar(self, bar):
            self.log(str(self.a[-1] + self.b[-1] + self.c[-1] + self.d[-1]))
    """)
    found = {name: declared_scale(one) for name, one in anatomy.declarations.items()}
    assert found == {"a": Scale.VOLUME, "b": None, "c": Scale.LEVEL, "d": None}
