"""Gate three: is it a strategy? First on the syntax tree, then on the loaded class, then on the smoke bars.

This module holds the first two; the dry run is driven by ``gates.inside``, in the cage.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from gates.attributes import judge_attributes
from gates.rules import finding
from gates.walks import children, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gates.findings import Finding

ENGINE_ARGUMENTS: Final = ("name", "clock", "bus", "instrument", "timeframe")
"""What the engine passes to the constructor, by keyword."""


def strategy_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """The classes at the top level that inherit ``Strategy``, directly or through classes of the same file."""
    found: list[ast.ClassDef] = []
    names = {"Strategy"}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and _inherits(node, names):
            found.append(node)
            names.add(node.name)
    return found


def judge_tree(tree: ast.Module) -> list[Finding]:
    """Everything that the text alone says against the contract, in source order."""
    found, nodes = strategy_classes(tree), list(walk(tree))
    findings = list(_nested(tree, nodes, found))
    if not found:
        findings += [] if findings else [finding("one-strategy", "no class inherits Strategy")]
    for extra in found[1:]:
        findings.append(_at("one-strategy", f"{extra.name} is a second class that inherits Strategy", extra))
    if len(found) == 1:
        findings += _judge_class(found[0])
        findings += judge_attributes(nodes, found[0])
    return sorted(findings, key=lambda one: (one.line, one.column))


def judge_loaded(value: object, class_name: str, base: type) -> Finding | None:
    """Whether what the file left under the class's name is the class that its text defines."""
    if not isinstance(value, type) or not issubclass(value, base) or value is base:
        return finding("loaded-class", f"after loading, {class_name} is not a class that inherits Strategy")
    own = vars(value)
    if value.__name__ != class_name or not _is_function(own.get("on_bar")):
        return finding("loaded-class", f"after loading, {class_name} has no on_bar of its own")
    if "__init__" in own and not _is_function(own["__init__"]):
        return finding("loaded-class", f"after loading, the __init__ of {class_name} is not a function")
    return None


def _is_function(value: object) -> bool:
    return type(value) is type(judge_loaded)


def _inherits(node: ast.ClassDef, names: set[str]) -> bool:
    return any(isinstance(base, ast.Name) and base.id in names for base in node.bases)


def _nested(tree: ast.Module, nodes: list[ast.AST], found: list[ast.ClassDef]) -> Iterator[Finding]:
    names = {"Strategy", *(node.name for node in found)}
    top = {id(node) for node in tree.body}
    for node in nodes:
        if isinstance(node, ast.ClassDef) and id(node) not in top and _inherits(node, names):
            yield _at("nested-strategy", f"{node.name} inherits Strategy, but not at the top level", node)


def _judge_class(node: ast.ClassDef) -> Iterator[Finding]:
    yield from _judge_on_bar(node)
    yield from _judge_constructor(node)


def _judge_on_bar(node: ast.ClassDef) -> Iterator[Finding]:
    last = _last_meaning(node, "on_bar")
    if last is None:
        yield _at("on-bar", f"{node.name} has no on_bar of its own", node)
    elif not isinstance(last, ast.FunctionDef):
        yield _at("on-bar", f"on_bar of {node.name} is not a method", last)
    elif last.decorator_list:
        yield _at("on-bar", f"on_bar of {node.name} has a decorator", last)
    elif not _takes_one_bar(last.args):
        yield _at("on-bar", f"on_bar of {node.name} does not take (self, bar)", last)
    elif _is_generator(last):
        message = f"on_bar of {node.name} has a yield, so calling it runs nothing"
        yield finding("on-bar", message, line=last.lineno, column=last.col_offset + 1, hint="yield in a helper method")


def _takes_one_bar(arguments: ast.arguments) -> bool:
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    needs_keywords = any(default is None for default in arguments.kw_defaults)
    has_room = len(positional) >= 2 or (len(positional) == 1 and arguments.vararg is not None)
    return required <= 2 and has_room and not needs_keywords


def _judge_constructor(node: ast.ClassDef) -> Iterator[Finding]:
    last = _last_meaning(node, "__init__")
    if last is None:
        return
    if not isinstance(last, ast.FunctionDef) or last.decorator_list:
        yield _at("constructor", f"__init__ of {node.name} is not a plain method", last)
        return
    arguments = last.args
    by_keyword = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
    missing = [] if arguments.kwarg else [name for name in ENGINE_ARGUMENTS if name not in by_keyword]
    if missing:
        yield _at("constructor", f"__init__ of {node.name} does not accept {', '.join(missing)}", last)
    extra = [name for name in _required(arguments) if name not in ENGINE_ARGUMENTS]
    if extra:
        yield _at(
            "constructor", f"__init__ of {node.name} requires {', '.join(extra)}, which the engine does not pass", last
        )
    if _is_generator(last):
        yield _at("constructor", f"__init__ of {node.name} has a yield", last)


def _required(arguments: ast.arguments) -> list[str]:
    """Parameters without a default, except self, and all positional-only ones: the engine passes keywords."""
    positional = [*arguments.posonlyargs, *arguments.args]
    required = [argument.arg for argument in positional[: len(positional) - len(arguments.defaults)]][1:]
    required += [
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    return required


def _last_meaning(node: ast.ClassDef, name: str) -> ast.stmt | None:
    """The last statement of the class body, at any depth of its blocks, that gives ``name`` a meaning."""
    last = None
    for statement in node.body:
        for inner in _own_nodes(statement):
            if _binds(inner, name):
                last = inner if inner is statement else statement
    return last


def _own_nodes(node: ast.AST) -> list[ast.AST]:
    """A node and what is below it, without entering functions and classes."""
    found = [node]
    for inner in found:  # grows while it is read
        if not isinstance(inner, _ENTERED_ALONE):
            found += children(inner)
    return found


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, _NAMED):
        return node.name == name
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


_NAMED = (ast.FunctionDef, ast.ClassDef)
_YIELDS = (ast.Yield, ast.YieldFrom)
_ENTERED_ALONE = (ast.FunctionDef, ast.ClassDef, ast.Lambda)


def _is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(inner, _YIELDS) for statement in function.body for inner in _own_nodes(statement))


def _at(rule: str, message: str, node: ast.stmt) -> Finding:
    return finding(rule, message, line=node.lineno, column=node.col_offset + 1)
