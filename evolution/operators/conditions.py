"""Conditions: which are guards, which are signals, and which statement they decide about.

A *guard* keeps a strategy in order (am I flat? is there enough history? is this None, or a zero to divide by?); no
operator touches it. A *signal* is an opinion about the market; that is what varies.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from evolution.operators.anatomy import called_method, number, own_attribute
from evolution.operators.scales import local_values
from gates.walks import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.operators.anatomy import Anatomy

ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
"""Comparisons that can be turned around; equality and identity are guards."""

REVERSED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}

CROSSINGS = {"crossed_above": "crossed_below", "crossed_below": "crossed_above"}

_STATE = frozenset({"flat", "long", "short", "position", "open_orders", "bar_count"})
_SIZES = frozenset({"len", "isinstance", "any", "all"})


class Role(Enum):
    """What the body of a condition does."""

    ENTRY = "entry"
    EXIT = "exit"


_SIDES = {"BUY": Role.ENTRY, "SELL": Role.EXIT}


@dataclass(frozen=True, slots=True)
class Decision:
    """An ``if`` that directly holds an order."""

    role: Role
    statement: ast.If
    method: ast.FunctionDef
    guards: list[ast.expr]
    signals: list[ast.expr]

    def decide(self, signal: list[ast.expr]) -> None:
        """Replace the signals, keep the guards."""
        parts = [*self.guards, *signal]
        self.statement.test = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)


def decisions(anatomy: Anatomy) -> list[Decision]:
    """All decisions of a strategy in source order."""
    found = []
    for method in anatomy.deciding_methods():
        for node in walk(method):
            if isinstance(node, ast.If) and (role := direct_role(node.body)):
                guards, signals = split(node.test, method)
                found.append(Decision(role, node, method, guards, signals))
    return found


def split(test: ast.expr, method: ast.FunctionDef) -> tuple[list[ast.expr], list[ast.expr]]:
    """The guards and the signals of a test, each in source order."""
    conjunction = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    parts = test.values if conjunction and isinstance(test, ast.BoolOp) else [test]
    guards = [part for part in parts if is_guard(part, method)]
    return guards, [part for part in parts if not any(part is guard for guard in guards)]


def is_guard(condition: ast.expr, method: ast.FunctionDef) -> bool:
    """Whether a condition protects the strategy rather than judging the market."""
    bare = condition.operand if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not) else condition
    if isinstance(bare, ast.Name):
        values = list(local_values(method, bare.id))
        return not values or not all(isinstance(v, (ast.Compare, ast.BoolOp)) or crossing(v) for v in values)
    if isinstance(bare, (ast.Attribute, ast.Constant)):
        return True
    return any(_guards(node, method) for node in walk(condition))


def crossing(node: ast.AST) -> str | None:
    """``crossed_above`` or ``crossed_below`` when the node calls it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CROSSINGS:
        return node.func.id
    return None


def comparisons(root: ast.AST, method: ast.FunctionDef) -> list[ast.Compare]:
    """Comparisons under a node that judge the market and have exactly two sides."""
    looping = {id(inner) for node in walk(root) if isinstance(node, ast.While) for inner in walk(node.test)}
    divisors = _divisors(method)
    return [
        node
        for node in walk(root)
        if isinstance(node, ast.Compare)
        and id(node) not in looping
        and len(node.ops) == 1
        and isinstance(node.ops[0], ORDERED)
        and not is_guard(node, method)
        and not (_is_zero_check(node) and any(_is_in(side, divisors) for side in (node.left, *node.comparators)))
    ]


def direct_role(block: list[ast.stmt]) -> Role | None:
    """What the orders among the statements of a block do, not looking into nested blocks; None when mixed or none."""
    calls = [node for statement in block if not hasattr(statement, "body") for node in walk(statement)]
    return _one_role(calls)


def role_of(block: list[ast.stmt]) -> Role | None:
    """What the orders anywhere under a block do; None when there are none or they disagree."""
    return _one_role([node for statement in block for node in walk(statement)])


def orders(root: ast.AST) -> Iterator[ast.Call]:
    """Calls of ``buy``, ``sell``, ``target``, ``close`` and ``submit`` under a node."""
    for node in walk(root):
        if isinstance(node, ast.Call) and called_method(node) in {"buy", "sell", "target", "close", "submit"}:
            yield node


def order_role(call: ast.Call) -> Role | None:
    """Whether an order opens or closes; None for a ``submit`` that does not name its side."""
    match called_method(call):
        case "buy":
            return Role.ENTRY
        case "sell" | "close":
            return Role.EXIT
        case "target":
            weight = number(call.args[0]) if call.args else None
            return Role.EXIT if weight == 0 else Role.ENTRY
        case "submit":
            sides = [node.attr for node in walk(call) if isinstance(node, ast.Attribute) and node.attr in _SIDES]
            return _SIDES[sides[0]] if len(sides) == 1 else None
    return None


def _one_role(nodes: list[ast.AST]) -> Role | None:
    roles = [order_role(call) for node in nodes for call in ([node] if isinstance(node, ast.Call) else [])]
    distinct = {role for role in roles if role is not None}
    return distinct.pop() if len(distinct) == 1 else None


def _guards(node: ast.AST, method: ast.FunctionDef) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in _SIZES
        case ast.Attribute():
            return own_attribute(node) in _STATE
        case ast.Compare(ops=operations):
            return not all(isinstance(operation, ORDERED) for operation in operations)
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return any(_counts(value) for value in local_values(method, name))
    return False


def _counts(value: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in _SIZES for n in walk(value))


def _divisors(method: ast.FunctionDef) -> list[str]:
    return [
        ast.dump(node.right)
        for node in walk(method)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod))
    ]


def _is_zero_check(node: ast.Compare) -> bool:
    return any(number(side) is not None and abs(number(side) or 0) < 1e-3 for side in (node.left, *node.comparators))


def _is_in(side: ast.expr, divisors: list[str]) -> bool:
    return number(side) is None and any(ast.dump(side) in divisor for divisor in divisors)
