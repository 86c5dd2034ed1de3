"""Operators that move numbers: declared parameters inside their ranges, and constants near their values."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.operators.anatomy import literal, number
from evolution.operators.conditions import comparisons, orders
from evolution.operators.scales import Scale, scale_of
from gates.walks import walk

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evolution.operators.anatomy import Anatomy, Parameter

SPREAD = 0.35
"""Standard deviation of the logarithm of a step: two steps in three stay between 0.7 and 1.4 times the old value."""

JUMP = 0.15
"""Chance of a parameter to land anywhere in its range instead of near its value."""

ZERO_STEPS = {Scale.PERCENT: 2.0, Scale.SWING: 15.0}
"""Standard deviation of a step away from 0, by the scale of the other side."""


@dataclass(frozen=True, slots=True)
class ParameterJitter:
    """Moves the default of one or two declared parameters; a jump to anywhere in the range now and then."""

    name: str = "param_jitter"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        movable = [parameter for parameter in parents[0].parameters.values() if parameter.low < parameter.high]
        if not movable:
            return None
        chosen = rng.sample(movable, k=min(len(movable), rng.choice((1, 1, 2))))
        changes = [change for parameter in chosen if (change := _move(parameter, rng))]
        return ", ".join(changes) or None


@dataclass(frozen=True, slots=True)
class ConstantJitter:
    """Moves one number that is written into a condition, a formula or a declaration."""

    name: str = "constant_jitter"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        sites = list(constants(parents[0]))
        if not sites:
            return None
        site = rng.choice(sites)
        old = number(site.node) or 0
        new = _moved_zero(site.scale, rng) if old == 0 else stepped(old, rng)
        if new is None or new == old:
            return None
        if site.scale is Scale.LEVEL and not 1 <= new <= 99:
            return None
        site.node.value = new
        return f"{site.place}: {old} -> {new}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that is written into a strategy."""

    node: ast.Constant
    scale: Scale | None
    """Of what it is compared with; None where that is not known."""
    place: str
    """For people."""


def stepped(value: float, rng: random.Random) -> float:
    """A value of the same kind (int or float) and sign near another one; ints move by at least 1 and stay >= 1."""
    factor = math.exp(rng.gauss(0.0, SPREAD))
    if isinstance(value, int):
        moved = round(value * factor)
        return max(1, moved if moved != value else value + (1 if factor > 1 else -1))
    return tidy(value * factor)


def tidy(value: float) -> float:
    """A float with three significant digits: candidates are read by people."""
    return float(f"{value:.3g}")


def _move(parameter: Parameter, rng: random.Random) -> str | None:
    old, low, high = parameter.default, parameter.low, parameter.high
    if isinstance(old, int):
        low, high = math.ceil(low), math.floor(high)
    if old == 0 or rng.random() < JUMP:
        moved = (
            rng.randint(low, high) if isinstance(low, int) and isinstance(high, int) else tidy(rng.uniform(low, high))
        )
    else:
        moved = stepped(old, rng)
    new = min(max(moved, low), high)
    new = int(new) if isinstance(old, int) else float(new)
    if new == old:
        return None
    parameter.call.args[0] = literal(new)
    return f"{parameter.name} {old} -> {new}"


def _moved_zero(scale: Scale | None, rng: random.Random) -> float | None:
    spread = ZERO_STEPS.get(scale) if scale else None
    return None if spread is None else tidy(rng.gauss(0.0, spread))


def constants(anatomy: Anatomy) -> Iterator[Constant]:
    """Numbers that may be moved without a change of form, in source order; declared parameters left out."""
    for declaration in anatomy.declarations.values():
        for option, value in declaration.options.items():
            if isinstance(value, ast.Constant) and number(value) and "matype" not in option:
                yield Constant(value, None, f"{declaration.attribute}.{option}")
    for method in anatomy.deciding_methods():
        yield from _compared(anatomy, method)
        yield from _factors(anatomy, method)


def _compared(anatomy: Anatomy, method: ast.FunctionDef) -> Iterator[Constant]:
    for comparison in comparisons(method, method):
        sides = (comparison.left, comparison.comparators[0])
        for side, other in (sides, sides[::-1]):
            constant = side.operand if isinstance(side, ast.UnaryOp) else side
            if isinstance(constant, ast.Constant) and number(constant) is not None:
                yield Constant(constant, scale_of(other, anatomy, method), f"threshold in {method.name}")


def _factors(anatomy: Anatomy, method: ast.FunctionDef) -> Iterator[Constant]:
    """Floats in products: whole numbers there tend to be counts, and sums tend to hold tiny safeguards."""
    ordered = {id(node) for call in orders(method) for node in walk(call)}
    for node in walk(method):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and id(node) not in ordered:
            for side in (node.left, node.right):
                if isinstance(side, ast.Constant) and isinstance(side.value, float) and abs(side.value) > 1e-3:
                    yield Constant(side, None, f"factor in {method.name}")
    if method.name == "on_bar":
        for statement in anatomy.body.body:
            yield from _class_constant(statement)


def _class_constant(statement: ast.stmt) -> Iterator[Constant]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=float() as value) as node) if value:
            yield Constant(node, None, name)
