"""The branches of ``on_bar`` that open and close positions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.operators.anatomy import own_attribute
from evolution.operators.conditions import Role, is_guard, orders, role_of
from gates.walks import walk

if TYPE_CHECKING:
    from evolution.operators.anatomy import Anatomy

_POSITION = frozenset({"flat", "long", "short", "position"})


@dataclass(frozen=True, slots=True)
class Arm:
    """One branch of an ``if`` chain that stands directly in ``on_bar`` and holds orders."""

    role: Role | None
    """None when it has no orders, or both kinds."""
    test: ast.expr | None
    """None for an ``else``."""
    alone: ast.expr | None
    """What it has to be tested for outside of its chain: its own test and the guards in front of it failing; None for an
    ``else`` behind a test of the market."""
    body: list[ast.stmt]
    chain: ast.If
    """The statement in ``on_bar`` that it belongs to."""

    @property
    def has_orders(self) -> bool:
        """Whether it asks for anything."""
        return any(order for statement in self.body for order in orders(statement))


def find_arms(anatomy: Anatomy) -> list[Arm]:
    """All branches of the chains that hold orders, in source order."""
    found = []
    for statement in anatomy.on_bar.body if anatomy.on_bar else ():
        if isinstance(statement, ast.If) and any(orders(statement)) and anatomy.on_bar:
            found += _chain(statement, anatomy.on_bar)
    return found


def rebuild(arms: list[Arm]) -> list[ast.stmt]:
    """One ``if`` / ``elif`` / ``else`` chain of arms in order, as a block. Only the last may be an ``else``."""
    if not arms:
        return []
    first, *rest = arms
    if first.test is None:
        return first.body
    return [ast.If(first.test, first.body, rebuild(rest))]


def _chain(start: ast.If, method: ast.FunctionDef) -> list[Arm]:
    arms: list[Arm] = []
    before: list[ast.expr] = []
    node = start
    while True:
        arms.append(_arm(node.test, node.body, before, start, method))
        before.append(node.test)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            continue
        if node.orelse:
            arms.append(_arm(None, node.orelse, before, start, method))
        return arms


def _arm(
    test: ast.expr | None, body: list[ast.stmt], before: list[ast.expr], chain: ast.If, method: ast.FunctionDef
) -> Arm:
    failed: list[ast.expr] = [ast.UnaryOp(ast.Not(), other) for other in before if is_guard(other, method)]
    alone = test
    if test is None:
        alone = _all(failed) if failed and len(failed) == len(before) else None
    elif failed and position_role(test) is None:
        alone = _all([*failed, test])
    return Arm(_role(alone, body), test, alone, body, chain)


def _all(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)


def _role(test: ast.expr | None, body: list[ast.stmt]) -> Role | None:
    does = role_of(body)
    if not any(order for statement in body for order in orders(statement)):
        return None
    held = position_role(test) if test is not None else None
    if held is Role.EXIT and does is Role.ENTRY:
        # Buying while something is held: covering a short is an exit, adding to a long is neither.
        return Role.EXIT if any(own_attribute(node) == "short" for node in walk(test or ast.Pass())) else None
    return held or does


def position_role(test: ast.expr) -> Role | None:
    """What a test on the position allows: opening when flat, closing when not."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        bare, flat = part, True
        while isinstance(bare, ast.UnaryOp) and isinstance(bare.op, ast.Not):
            bare, flat = bare.operand, not flat
        name = own_attribute(bare)
        if name in _POSITION:
            return Role.ENTRY if (name == "flat") == flat else Role.EXIT
    return None
