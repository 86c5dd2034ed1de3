"""Groups of rules that can never hold, found without data.

What is reported cannot happen on any bars, but for an indicator that rounding takes out of its range by a unit in the last
place; much that cannot happen is not found. Three kinds: bounds on one series that leave nothing, the same two
sides compared in ways that exclude each other, and a price beyond the extreme of prices that it is part of.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from runtime.indicators import REGISTRY
from runtime.sir.plan import Constant, IndicatorRef, MinuteOfDay, PriceRef
from runtime.sir.vocabulary import Operator, PriceField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.sir.plan import PlannedIndicator, PlannedOperand, PlannedRule

# Ranges that follow from the formulas.
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("RSI", "MFI", "ADX", "ADXR", "DX", "PLUS_DI", "MINUS_DI", "IMI", "STOCHRSI", "ULTOSC"), (0.0, 100.0)),
    **dict.fromkeys(("AROON", "STOCH", "STOCHF"), (0.0, 100.0)),
    **dict.fromkeys(("AROONOSC", "CMO"), (-100.0, 100.0)),
    "WILLR": (-100.0, 0.0),
    "BOP": (-1.0, 1.0),
    **dict.fromkeys(("ATR", "NATR", "TRANGE", "STDDEV", "VAR"), (0.0, math.inf)),
}  # fmt: skip
_MIRRORED = {
    Operator.ABOVE: Operator.BELOW,
    Operator.AT_LEAST: Operator.AT_MOST,
    Operator.BELOW: Operator.ABOVE,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.EQUAL: Operator.EQUAL,
    Operator.UNEQUAL: Operator.UNEQUAL,
    Operator.CROSSES_ABOVE: Operator.CROSSES_BELOW,
    Operator.CROSSES_BELOW: Operator.CROSSES_ABOVE,
}
# How the sides may lie now: below, equal, above.
_SIGNS = {
    Operator.ABOVE: {1},
    Operator.AT_LEAST: {0, 1},
    Operator.BELOW: {-1},
    Operator.AT_MOST: {-1, 0},
    Operator.EQUAL: {0},
    Operator.UNEQUAL: {-1, 1},
    Operator.CROSSES_ABOVE: {1},
    Operator.CROSSES_BELOW: {-1},
}


class Interval(NamedTuple):
    """What a value may be."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is no such value."""
        return self.low > self.high or (self.low == self.high and (self.open_low or self.open_high))

    def above(self, value: float, *, strictly: bool) -> Interval:
        """The part above a value."""
        if value < self.low or (value == self.low and (self.open_low or not strictly)):
            return self
        return self._replace(low=value, open_low=strictly)

    def below(self, value: float, *, strictly: bool) -> Interval:
        """The part below a value."""
        if value > self.high or (value == self.high and (self.open_high or not strictly)):
            return self
        return self._replace(high=value, open_high=strictly)


def why_never(group: Sequence[PlannedRule], indicators: Sequence[PlannedIndicator]) -> str | None:
    """Why the rules can never hold together, in one clause; None when nothing speaks against it."""
    sides: dict[tuple[PlannedOperand, PlannedOperand], set[int]] = {}
    bounds: dict[PlannedOperand, Interval] = {}
    for rule in map(_upright, group):
        pair = (rule.left, rule.right)
        sides[pair] = sides.get(pair, {-1, 0, 1}) & _SIGNS[rule.operator]
        if not sides[pair]:
            return (
                f"{_name(rule.left, indicators)} would have to be above and not above {_name(rule.right, indicators)}"
            )
        reason = _beyond_itself(rule, indicators)
        if reason is not None:
            return reason
        if isinstance(rule.right, Constant):
            before = bounds.get(rule.left) or _natural(rule.left, indicators)
            after = _bounded(before, rule.operator, rule.right.value)
            if after.is_empty:
                return _nothing_left(rule, before, indicators)
            bounds[rule.left] = after
    return None


def _upright(rule: PlannedRule) -> PlannedRule:
    """The rule with its constant, else its later-named side, on the right."""
    if isinstance(rule.left, Constant) or (not isinstance(rule.right, Constant) and repr(rule.left) > repr(rule.right)):
        return type(rule)(left=rule.right, operator=_MIRRORED[rule.operator], right=rule.left)
    return rule


def _natural(operand: PlannedOperand, indicators: Sequence[PlannedIndicator]) -> Interval:
    match operand:
        case IndicatorRef(index):
            indicator = indicators[index]
            if indicator.is_boolean:
                return Interval(0.0, 1.0)
            low, high = _RANGES.get(REGISTRY[indicator.name].function, (-math.inf, math.inf))
            return Interval(low, high)
        case MinuteOfDay():
            return Interval(0.0, 1439.0)
        case PriceRef(field):
            return Interval(0.0, math.inf, open_low=field is not PriceField.VOLUME)
        case _:
            return Interval(-math.inf, math.inf)


def _bounded(interval: Interval, operator: Operator, value: float) -> Interval:
    match operator:
        case Operator.ABOVE:
            return interval.above(value, strictly=True)
        case Operator.CROSSES_ABOVE:
            # It must also have been at or below the value before.
            return interval.above(value, strictly=True) if value >= interval.low else _EMPTY
        case Operator.AT_LEAST:
            return interval.above(value, strictly=False)
        case Operator.BELOW:
            return interval.below(value, strictly=True)
        case Operator.CROSSES_BELOW:
            return interval.below(value, strictly=True) if value <= interval.high else _EMPTY
        case Operator.AT_MOST:
            return interval.below(value, strictly=False)
        case Operator.EQUAL:
            return interval.above(value, strictly=False).below(value, strictly=False)
        case Operator.UNEQUAL:
            return _EMPTY if interval.low == interval.high == value else interval


_EMPTY = Interval(1.0, 0.0)


def _nothing_left(rule: PlannedRule, before: Interval, indicators: Sequence[PlannedIndicator]) -> str:
    low, high = (f"{round(value, 3):g}" for value in (before.low, before.high))
    return f"{_name(rule.left, indicators)} {rule.operator.value} {_name(rule.right, indicators)}, and it is from {low} to {high} there"


def _beyond_itself(rule: PlannedRule, indicators: Sequence[PlannedIndicator]) -> str | None:
    for price, operator, extreme in (
        (rule.left, rule.operator, rule.right),
        (rule.right, _MIRRORED[rule.operator], rule.left),
    ):
        if not (isinstance(price, PriceRef) and isinstance(extreme, IndicatorRef)):
            continue
        indicator, field = indicators[extreme.index], price.field.value
        if indicator.timeframe_s is not None:  # the bar may lie beyond all that is over
            continue
        is_bar_price = field != "volume"
        above = _SIGNS[operator] == {1} and indicator.name == "MAX"
        below = _SIGNS[operator] == {-1} and indicator.name == "MIN"
        covers = indicator.source == field or (is_bar_price and indicator.source == ("high" if above else "low"))
        if (above or below) and covers:
            return f"{indicator.id} includes the current bar, so {field} is never {'above' if above else 'below'} it"
    return None


def _name(operand: PlannedOperand, indicators: Sequence[PlannedIndicator]) -> str:
    match operand:
        case IndicatorRef(index):
            return indicators[index].id
        case PriceRef(field):
            return field.value
        case Constant(value):
            return f"{value:g}"
        case _:
            return "the time of day"
