"""Takes out what nothing uses any more, so that lineages do not grow: parameters, declarations, locals, helpers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from evolution.operators.anatomy import HOOKS, called_method, own_attribute
from gates.walks import walk

if TYPE_CHECKING:
    from collections.abc import Callable


def prune(tree: ast.Module, class_name: str) -> bool:
    """Remove dead parts of the tree in place, until none is left; say whether there were any.

    Only what cannot act is removed: a value with a call in it stays, unless the call is ``param`` or
    ``self.indicator``. Removing a declaration can shorten the warm-up.
    """
    changed = _prune_once(tree, class_name)
    while changed and _prune_once(tree, class_name):
        pass
    return changed


def _prune_once(tree: ast.Module, class_name: str) -> bool:
    loaded = {node.id for node in walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    attributes = {
        node.attr for node in walk(tree) if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store)
    }
    changed = _filter(tree, lambda node: not _dead_at_top(node, loaded | {class_name}))
    for body in tree.body:
        if isinstance(body, ast.ClassDef) and body.name == class_name:
            changed |= _filter(body, lambda node: not _dead_member(node, loaded | attributes))
            for method in [node for node in body.body if isinstance(node, ast.FunctionDef)]:
                changed |= _prune_method(method, attributes)
    return changed


def _prune_method(method: ast.FunctionDef, attributes: set[str]) -> bool:
    used = {node.id for node in walk(method) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}

    def alive(statement: ast.stmt) -> bool:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return name in used or _acts(value)
            case (
                ast.Assign(targets=[ast.Attribute() as target], value=value)
                | ast.AugAssign(target=ast.Attribute() as target, value=value)
            ):
                return own_attribute(target) is None or target.attr in attributes or _acts(value)
            case ast.If(test=test, body=[] | [ast.Pass()], orelse=[]):
                return _acts(test)
        return True

    changed = False
    for node in walk(method):
        for name in ("body", "orelse"):
            if isinstance(getattr(node, name, None), list):
                changed |= _filter(node, alive, name)
    for node in walk(method):
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]  # the line above found the attribute
    return changed


def _filter(node: ast.AST, keep: Callable[[ast.stmt], bool], name: str = "body") -> bool:
    block: list[ast.stmt] = getattr(node, name)
    kept = [statement for statement in block if keep(statement)]
    setattr(node, name, kept)
    return len(kept) < len(block)


def _dead_at_top(statement: ast.stmt, loaded: set[str]) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name not in loaded and not _acts(value)
        case ast.FunctionDef(name=name):
            return name not in loaded
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return all((alias.asname or alias.name) not in loaded for alias in names)
    return False


def _dead_member(statement: ast.stmt, used: set[str]) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name not in used and not _acts(value)
        case ast.FunctionDef(name=name, body=body) if name in HOOKS:
            return name not in {"on_bar", "__init__"} and all(isinstance(inner, ast.Pass) for inner in body)
        case ast.FunctionDef(name=name):
            return name not in used
    return False


def _acts(value: ast.expr) -> bool:
    """Whether evaluating a value may do something besides giving a value."""
    calls = [node for node in walk(value) if isinstance(node, ast.Call)]
    return any(
        called_method(call) != "indicator" and not (isinstance(call.func, ast.Name) and call.func.id == "param")
        for call in calls
    )
