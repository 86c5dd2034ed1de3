"""Compiles checks into a candidate's code where its text alone cannot tell: whose object ``self`` is, what a text shows.

Gate one allows ``self._x`` in a method because ``self`` is the candidate's own object there. Whether it is shows only when
the method runs: ``Helper.peek(bar)`` is a call like any other. So each method that leans on its ``self`` asks first, each
store through another name asks whose object it is, and what goes into f-strings, ``%`` and ``format`` passes a check for
addresses. The checks cost nanoseconds; lines and columns stay as they were.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeVar

from gates.allowed import CHANCE_ATTRIBUTES, CLOCK_ATTRIBUTES
from gates.guards import OWN, OWN_INSTANCE, SHOWN, SHOWN_EACH, SHOWN_OPERAND, SURVIVABLE, TIMELESS
from gates.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_THE_MACHINE = CLOCK_ATTRIBUTES | CHANCE_ATTRIBUTES

Node = TypeVar("Node", bound=ast.AST)


def weave(tree: ast.Module) -> ast.Module:
    """Compile the checks into ``tree``, in place."""
    reading = Reading(tree, [])
    for node in reading.nodes:
        for kind, change in _CHANGES.items():
            if isinstance(node, kind):
                change(reading, node)
    return tree


def _guard_self(reading: Reading, function: ast.FunctionDef) -> None:
    """First thing in a method that uses what is private on self, or sets it: is it an object of this file?"""
    if not reading.is_method(function) or id(function) not in reading.methods_that_trust_self:
        return
    first = function.body[0]
    is_docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    check = ast.Expr(_call(OWN_INSTANCE, _at(ast.Name("self", ast.Load()), first), first))
    function.body.insert(1 if is_docstring else 0, _at(check, first))


def _guard_attribute(reading: Reading, node: ast.Attribute) -> None:
    if not isinstance(node.ctx, ast.Load):
        if not reading.is_own_self(node.value):
            node.value = _call(OWN, node.value, node)
    elif node.attr in _OF_THE_MACHINE:
        node.value = _call(TIMELESS, node.value, node)


def _guard_handler(_reading: Reading, handler: ast.ExceptHandler) -> None:
    handler.body.insert(0, _survivable(handler.body[0]))


def _guard_finally(_reading: Reading, block: ast.Try) -> None:
    if block.finalbody:
        block.finalbody.insert(0, _survivable(block.finalbody[0]))


def _survivable(place: ast.stmt) -> ast.stmt:
    function = _at(ast.Name(SURVIVABLE, ast.Load()), place)
    return _at(ast.Expr(_at(ast.Call(function, [], []), place)), place)


def _guard_field(_reading: Reading, field: ast.FormattedValue) -> None:
    if not isinstance(field.value, ast.Constant):
        field.value = _call(SHOWN, field.value, field)


def _guard_remainder(_reading: Reading, operation: ast.BinOp) -> None:
    if isinstance(operation.op, ast.Mod) and not _is_number(operation.left) and not _is_number(operation.right):
        operation.right = _call(SHOWN_OPERAND, operation.right, operation)


def _guard_own_remainder(_reading: Reading, operation: ast.AugAssign) -> None:
    if isinstance(operation.op, ast.Mod) and not _is_number(operation.value):
        operation.value = _call(SHOWN_OPERAND, operation.value, operation)


def _guard_format(_reading: Reading, call: ast.Call) -> None:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "format"):
        return
    if isinstance(call.func.value, ast.Name) and call.func.value.id == "self":
        return  # a method of the file
    for number, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            argument.value = _call(SHOWN_EACH, argument.value, argument)
        else:
            call.args[number] = _call(SHOWN, argument, argument)
    for keyword in call.keywords:
        keyword.value = _call(SHOWN if keyword.arg else SHOWN_EACH, keyword.value, keyword.value)


_CHANGES: dict[type[ast.AST], Callable[[Reading, ast.AST], None]] = {
    ast.FunctionDef: _guard_self,  # type: ignore[dict-item]  # each function takes the type that is its key
    ast.Attribute: _guard_attribute,  # type: ignore[dict-item]  # same
    ast.ExceptHandler: _guard_handler,  # type: ignore[dict-item]  # same
    ast.Try: _guard_finally,  # type: ignore[dict-item]  # same
    ast.FormattedValue: _guard_field,  # type: ignore[dict-item]  # same
    ast.BinOp: _guard_remainder,  # type: ignore[dict-item]  # same
    ast.AugAssign: _guard_own_remainder,  # type: ignore[dict-item]  # same
    ast.Call: _guard_format,  # type: ignore[dict-item]  # same
}


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _call(name: str, argument: ast.expr, place: ast.AST) -> ast.expr:
    function = _at(ast.Name(name, ast.Load()), place)
    call: ast.expr = _at(ast.Call(function, [argument], []), place)
    return call


def _at(node: Node, place: ast.AST) -> Node:
    return ast.copy_location(node, place)
