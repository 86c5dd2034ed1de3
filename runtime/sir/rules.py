"""Planned rules, evaluated twice: on one bar after the other, and on whole columns.

The two must agree on every bar (a property test holds them together). What is undefined, NaN, makes every comparison false, ``!=`` too:
a rule that cannot be judged does not fire. A crossing compares the bar with the one before, and like the strategy API's
``crossed_above`` it allows equality there: from at or below to above.
"""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.model import Bar
from runtime.sir.plan import Constant, IndicatorRef, PriceRef
from runtime.sir.vocabulary import Operator, PriceField

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from runtime.desk import Moment
    from runtime.market.bars import Bars
    from runtime.sir.plan import PlannedOperand, PlannedRule, RuleGroups
    from runtime.sir.zone import Zone

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


_COMPARE: Mapping[Operator, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        Operator.ABOVE: operator.gt,
        Operator.AT_LEAST: operator.ge,
        Operator.BELOW: operator.lt,
        Operator.AT_MOST: operator.le,
        Operator.EQUAL: operator.eq,
        Operator.UNEQUAL: operator.ne,
        Operator.CROSSES_ABOVE: operator.gt,
        Operator.CROSSES_BELOW: operator.lt,
    }
)
_BEFORE: Mapping[Operator, Callable[[Any, Any], Any]] = MappingProxyType(
    {Operator.CROSSES_ABOVE: operator.le, Operator.CROSSES_BELOW: operator.ge}
)

# Where the values of declared series begin in a moment.
_FIRST_COLUMN = 2
_FIELDS = MappingProxyType({field: Bar._fields.index(field.value) for field in PriceField})


# Bar by bar ------------------------------------------------------------------------------------------------------


def holds(groups: RuleGroups, now: Moment, before: Moment, zone: Zone) -> bool:
    """Whether the rules fire on a bar.

    Args:
        groups: the rules.
        now: the bar, with the values of the declared series.
        before: the bar before it; the bar itself where there is none, so that nothing crosses.
        zone: where minutes are counted.
    """
    return any(all(_holds(rule, now, before, zone) for rule in group) for group in groups)


def _holds(rule: PlannedRule, now: Moment, before: Moment, zone: Zone) -> bool:
    left, right = _value(rule.left, now, zone), _value(rule.right, now, zone)
    if left != left or right != right or not _COMPARE[rule.operator](left, right):  # noqa: PLR0124 - the test for NaN
        return False
    earlier = _BEFORE.get(rule.operator)
    # A comparison with NaN is false, so a value that was undefined has not been crossed.
    return earlier is None or earlier(_value(rule.left, before, zone), _value(rule.right, before, zone))


def _value(operand: PlannedOperand, moment: Moment, zone: Zone) -> float:
    if type(operand) is IndicatorRef:
        return moment[_FIRST_COLUMN + operand.index]  # type: ignore[return-value]  # a value of a series
    if type(operand) is Constant:
        return operand.value
    if type(operand) is PriceRef:
        return moment[0][_FIELDS[operand.field]]  # type: ignore[return-value]  # not the stamp
    return float(zone.minute(moment[0].ts))


# Whole columns ---------------------------------------------------------------------------------------------------


def fires(groups: RuleGroups, bars: Bars, series: Sequence[Floats], zone: Zone) -> Flags:
    """On which bars the rules fire, shape ``(n_bars,)``; never on the first when they look at the bar before.

    Args:
        groups: the rules.
        bars: the bars.
        series: values of the declared series over all bars, each of shape ``(n_bars,)``.
        zone: where minutes are counted.
    """
    out = np.zeros(len(bars), dtype=np.bool_)
    for group in groups:
        held = fired(group[0], bars, series, zone)
        for rule in group[1:]:
            held &= fired(rule, bars, series, zone)
        out |= held
    return out


def fired(rule: PlannedRule, bars: Bars, series: Sequence[Floats], zone: Zone) -> Flags:
    """On which bars one rule holds; the arguments are those of ``fires``."""
    columns = _Columns(bars, series, zone)
    left, right = columns.of(rule.left), columns.of(rule.right)
    out: Flags = _COMPARE[rule.operator](left, right)
    if np.ndim(out) == 0:
        out = np.full(len(bars), out)
    if rule.operator is Operator.UNEQUAL:
        # The one comparison that NaN makes true.
        out &= (left == left) & (right == right)  # noqa: PLR0124 - the test for NaN
    earlier = _BEFORE.get(rule.operator)
    if earlier is not None and len(out):
        out[1:] &= earlier(_but_last(left), _but_last(right))
        out[0] = False
    return out


class _Columns:
    """Operands as columns, or as one number."""

    def __init__(self, bars: Bars, series: Sequence[Floats], zone: Zone) -> None:
        self._bars, self._series, self._zone = bars, series, zone

    def of(self, operand: PlannedOperand) -> Floats | float:
        if type(operand) is IndicatorRef:
            return self._series[operand.index]
        if type(operand) is Constant:
            return operand.value
        if type(operand) is PriceRef:
            column: Floats = getattr(self._bars, operand.field.value)
            return column
        return self._zone.minutes(self._bars.ts).astype(np.float64)


def _but_last(values: Floats | float) -> Floats | float:
    return values if isinstance(values, float) else values[:-1]
