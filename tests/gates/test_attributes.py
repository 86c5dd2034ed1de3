"""The static findings about attributes: what models guess wrong, and what must not be taken for a mistake."""

from __future__ import annotations

import pytest
from gate_corpus import text

from gates import Rejected, allowed
from gates.scan import judge_contract, scan
from runtime.model import Bar
from runtime.strategy import Strategy

SMA = 'def on_start(self): self.sma = self.indicator("SMA", timeperiod=5)'


def findings(source):
    scanned = scan(source)
    assert not isinstance(scanned, Rejected), scanned.reason
    rejected = judge_contract(scanned)
    return rejected.findings if rejected else ()


@pytest.mark.parametrize(
    ("body", "rule", "message", "hint"),
    [
        ("if self.is_flat: self.buy()", "unknown-attribute", "self.is_flat does not exist", "use self.flat"),
        ("self.portfolio.cash", "unknown-attribute", "self.portfolio does not exist", "self.cash"),
        ("self.positon", "unknown-attribute", "self.positon does not exist", "did you mean self.position?"),
        (
            "self.position.quantity",
            "unknown-attribute",
            "self.position is a plain value and has no quantity",
            "position",
        ),
        ("self.position()", "unknown-attribute", "self.position is a value, not a method", "write self.position"),
        ("bar.timestamp", "unknown-attribute", "bar.timestamp does not exist", "ts, open, high, low, close and volume"),
        ("self.sma.value", "unknown-attribute", "self.sma is a series and has no value", "self.sma[-1]"),
        ("self.sma > bar.close", "series-as-number", "self.sma is a series, not a number", "self.sma[-1]"),
        ("self.sma - 1", "series-as-number", "self.sma is a series, not a number", "self.sma[-1]"),
    ],
)
def test_a_wrong_guess_is_named_with_what_was_meant(body, rule, message, hint):
    (found, *_) = findings(text(body, inside=SMA))
    assert (found.gate, found.rule, found.message) == (3, rule, message)
    assert hint in found.hint


@pytest.mark.parametrize(
    ("body", "inside"),
    [
        ("self.x = 1\nself.x", ""),
        ("self.helper()", "def helper(self): return self.name"),
        ("self.level", "level = param(1, low=0, high=2)"),
        ("self.sma[-1] > bar.close", SMA),
        ("self.sma = 3\nself.sma > bar.close", SMA),
        ("self.position.is_integer()", ""),
        ("(lambda self: self.nope)", ""),
        ("bar = [1]\nbar.nothing", ""),
        ("len(self.sma)", SMA),
    ],
)
def test_what_may_be_right_is_left_alone(body, inside):
    assert findings(text(body, inside=inside)) == ()


def test_the_attributes_are_those_of_the_strategy_class():
    public = {name for name in dir(Strategy) if not name.startswith("_")}
    assert public | {"name", "clock", "bus", "instrument", "timeframe"} == allowed.STRATEGY_ATTRIBUTES
    assert set(Bar._fields) <= allowed.BAR_ATTRIBUTES
