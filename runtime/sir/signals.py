"""Signals: operands resolved to places in the plan, and held to what may be compared with what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runtime.sir.document import IndicatorOperand, LiteralOperand, PriceOperand
from runtime.sir.plan import Constant, IndicatorRef, MinuteOfDay, PlannedRule, PriceRef
from runtime.sir.problems import Problem, pointer, senseless

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.sir.document import Group, Operand, Rule
    from runtime.sir.plan import PlannedIndicator, PlannedOperand, RuleGroups
    from runtime.sir.vocabulary import Operator


class Planned(NamedTuple):
    """Groups of rules as far as they make sense, and what is wrong with the rest."""

    groups: RuleGroups
    problems: list[Problem]


class Names(NamedTuple):
    """What a rule may name."""

    places: Mapping[str, int]
    """Place of each resolved feature."""
    indicators: Sequence[PlannedIndicator]
    declared: frozenset[str]
    """All ids of features, also those that could not be resolved."""


def plan_groups(groups: Sequence[Group], where: str, names: Names) -> Planned:
    """Resolve one side of the signals; ``where`` is its pointer."""
    planned, problems = [], []
    for index, group in enumerate(groups):
        at = where + pointer(index)
        if not group.all:
            problems.append(
                senseless(
                    "empty-group",
                    at,
                    "the group has no rule",
                    "it would hold on every bar",
                    "which rules it should have",
                )
            )
        rules = []
        for number, rule in enumerate(group.all):
            found = _plan_rule(rule, at + pointer("all", number), names)
            if isinstance(found, PlannedRule):
                rules.append(found)
            else:
                problems += found
        planned.append(tuple(rules))
    return Planned(tuple(planned), problems)


def minutes(clock: str) -> int:
    """Minutes from midnight.

    >>> minutes("09:30")
    570
    """
    return int(clock[:2]) * 60 + int(clock[3:])


def _plan_rule(rule: Rule, where: str, names: Names) -> PlannedRule | list[Problem]:
    problems: list[Problem] = []
    sides = []
    for side in ("left", "right"):
        operand = getattr(rule, side)
        found = _plan_operand(operand, names)
        if found is not None:
            sides.append(found)
        elif isinstance(operand, IndicatorOperand) and operand.id not in names.declared:
            problems.append(_undefined(operand.id, f"{where}/{side}/id", names))
    problems += _misfits(rule, where, names)
    if problems or len(sides) < 2:
        return problems
    return PlannedRule(left=sides[0], operator=rule.operator, right=sides[1])


def _plan_operand(operand: Operand, names: Names) -> PlannedOperand | None:
    match operand:
        case IndicatorOperand():
            place = names.places.get(operand.id)
            return None if place is None else IndicatorRef(place)
        case PriceOperand():
            return PriceRef(operand.field)
        case LiteralOperand():
            value = operand.value
            return Constant(float(minutes(value) if isinstance(value, str) else value))
        case _:
            return MinuteOfDay()


def _kind(operand: Operand, names: Names) -> str | None:
    """``number``, ``boolean`` or ``time``; None when it is not known."""
    match operand:
        case IndicatorOperand():
            place = names.places.get(operand.id)
            return None if place is None else "boolean" if names.indicators[place].is_boolean else "number"
        case LiteralOperand():
            return (
                "boolean" if isinstance(operand.value, bool) else "time" if isinstance(operand.value, str) else "number"
            )
        case PriceOperand():
            return "number"
        case _:
            return "time"


def _misfits(rule: Rule, where: str, names: Names) -> list[Problem]:
    left, right = _kind(rule.left, names), _kind(rule.right, names)
    if isinstance(rule.left, LiteralOperand) and isinstance(rule.right, LiteralOperand):
        return [senseless("constant-rule", where, "both sides are constants", "it holds always or never",
                         "which indicator or price one side should be")]  # fmt: skip
    if rule.left == rule.right:
        return [
            senseless(
                "same-sides", where, "both sides are the same", "it holds always or never", "what should be compared"
            )
        ]
    if left is None or right is None:
        return []
    if left != right:
        return [senseless("kinds", where, f"a {left} is compared with a {right}",
                         "numbers go with numbers, patterns with true or false, times with HH:MM",
                         "what the comparison should say")]  # fmt: skip
    if left == "boolean" and not _is_equality(rule.operator):
        return [senseless("kinds", f"{where}/operator", f"{rule.operator.value} is used on true or false",
                         "a pattern is there or not: use == or !=; its .bullish and .bearish series tell the way it points",
                         "whether the pattern should be there")]  # fmt: skip
    if left == "time" and rule.operator.crosses:
        return [senseless("kinds", f"{where}/operator", f"{rule.operator.value} is used on a time of day",
                         "a bar may skip over midnight or a break: use >=, <, == and so on",
                         "before or after which time")]  # fmt: skip
    return []


def _is_equality(operator: Operator) -> bool:
    return operator.value in {"==", "!="}


def _undefined(name: str, where: str, names: Names) -> Problem:
    known = f"the features are {', '.join(sorted(names.declared)[:10])}" if names.declared else "there are no features"
    return senseless("undefined-indicator", where, f"no feature has the id {name}", known, f"what {name} should be")
