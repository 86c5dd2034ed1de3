"""The branches of ``on_bar`` that open and close positions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.operators.anatomy import own_attribute
from evolution.operators.conditions import Role, orders, role_of

if TYPE_CHECKING:
    from evolution.operators.anatomy import Anatomy

_POSITION = frozenset({"flat", "long", "short", "position"})


@dataclass(frozen=True, slots=True)
class Arm:
    """One branch of an ``if`` chain that stands directly in ``on_bar`` and holds orders."""

    role: Role | None
    """None when its orders both open and close."""
    test: ast.expr | None
    """None when the branch is an ``else`` whose condition cannot be put into one word."""
    body: list[ast.stmt]
    chain: ast.If
    """The statement in ``on_bar`` that it belongs to."""


def find_arms(anatomy: Anatomy) -> list[Arm]:
    """All arms in source order. Branches without orders are no arms, unless their chain has others."""
    found = []
    for statement in anatomy.on_bar.body if anatomy.on_bar else ():
        if isinstance(statement, ast.If) and any(orders(statement)):
            found += _chain(statement)
    return found


def rebuild(branches: list[Arm]) -> ast.If:
    """One ``if`` / ``elif`` chain from arms with tests, in order."""
    first, *rest = branches
    test = first.test if first.test is not None else ast.Constant(value=True)
    return ast.If(test, first.body, [rebuild(rest)] if rest else [])


def _chain(start: ast.If) -> list[Arm]:
    arms: list[Arm] = []
    tests: list[ast.expr] = []
    node = start
    while True:
        arms.append(Arm(_role(node.test, node.body), node.test, node.body, start))
        tests.append(node.test)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            continue
        if node.orelse:
            alone = len(tests) == 1 and _position_role(tests[0]) is not None
            test = ast.UnaryOp(ast.Not(), tests[0]) if alone and _is_bare(tests[0]) else None
            arms.append(Arm(_role(test, node.orelse), test, node.orelse, start))
        return arms


def _role(test: ast.expr | None, body: list[ast.stmt]) -> Role | None:
    held = _position_role(test) if test is not None else None
    does = role_of(body)
    if held is Role.EXIT and does is Role.ENTRY and not _mentions(test, "short"):
        return None
    return held if held is not None and any(orders(ast.Module(body, []))) else does


def _position_role(test: ast.expr | None) -> Role | None:
    """What a test on the position allows: opening when flat, closing when not."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        negated = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
        bare = part.operand if isinstance(part, ast.UnaryOp) and negated else part
        name = own_attribute(bare) if bare is not None else None
        if name in _POSITION:
            return Role.ENTRY if (name == "flat") != negated else Role.EXIT
    return None


def _is_bare(test: ast.expr) -> bool:
    return own_attribute(test.operand if isinstance(test, ast.UnaryOp) else test) is not None


def _mentions(test: ast.expr | None, name: str) -> bool:
    return test is not None and any(own_attribute(node) == name for node in ast.walk(test))
