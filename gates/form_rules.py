"""Rules about form: the kinds of syntax, the bases and decorators of classes, handlers, and the size of texts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gates import allowed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gates.findings import Finding
    from gates.reading import Reading

_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_DECORATED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TEXTS = (str, bytes)


def syntax(reading: Reading) -> Iterator[Finding]:
    """Only node types on the list; the outermost refused node of a construct speaks for all of it."""
    for node, parent, _ in reading.steps:
        name = type(node).__name__
        if name in allowed.ALLOWED_NODES:
            continue
        if type(parent).__name__ in allowed.ALLOWED_NODES or node is reading.tree:
            place = node if hasattr(node, "lineno") else parent
            yield reading.finding("syntax-not-allowed", f"{name} is not allowed", place, allowed.NODE_HINTS.get(name))


def classes(reading: Reading) -> Iterator[Finding]:
    """Bases from the list, no keywords."""
    for node in reading.of(ast.ClassDef):
        for base in node.bases:
            is_own = (
                reading.is_generic_class_of_file(base.value.id)
                if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name)
                else isinstance(base, ast.Name) and reading.is_class_of_file(base.id)
            )
            name = base.value if isinstance(base, ast.Subscript) else base
            if not is_own and reading.full_name(name) not in allowed.CLASS_BASES:
                yield reading.finding("class-base", f"class {node.name} inherits from something not on the list", base)
        for keyword in node.keywords:
            yield reading.finding("class-keyword", f"a keyword in the line of class {node.name}", keyword)


def decorators(reading: Reading) -> Iterator[Finding]:
    """Few decorators, and from the list; ``dataclass`` may take constant options."""
    for node in reading.among(_DECORATED):
        if isinstance(node, _DEFINITIONS) and len(node.decorator_list) > allowed.MAX_DECORATORS:
            message = f"more than {allowed.MAX_DECORATORS} decorators"
            yield reading.finding("decorator", message, node, "remove those that change nothing")
    for decorator in decorators_of(reading):
        name = reading.full_name(called(decorator))
        is_fine = name in allowed.DECORATORS
        if isinstance(decorator, ast.Call):
            options = [keyword.value for keyword in decorator.keywords]
            is_fine = name == "dataclasses.dataclass" and not decorator.args
            is_fine = is_fine and all(isinstance(option, ast.Constant) for option in options)
        if not is_fine:
            is_setter = isinstance(decorator, ast.Attribute) and decorator.attr in {"setter", "deleter"}
            hint = "write a method that sets the value" if is_setter else None
            yield reading.finding("decorator", "a decorator that is not on the list", decorator, hint)


def decorators_of(reading: Reading) -> Iterator[ast.expr]:
    """Every decorator of the file, in the order of its classes and functions."""
    for node in reading.among(_DECORATED):
        if isinstance(node, _DECORATED):
            yield from node.decorator_list


def called(node: ast.expr) -> ast.expr:
    """The decorator itself, without the call that gives it options."""
    return node.func if isinstance(node, ast.Call) else node


def handlers(reading: Reading) -> Iterator[Finding]:
    """Every ``except`` names what it expects."""
    for node in reading.of(ast.ExceptHandler):
        if node.type is None:
            yield reading.finding("bare-except", "except without a type", node)


def literals(reading: Reading) -> Iterator[Finding]:
    """Texts that are not docstrings (or other texts that stand alone as a statement) are short."""
    for node in reading.of(ast.Constant):
        if not isinstance(node.value, _TEXTS):
            continue
        if isinstance(reading.parent(node), ast.Expr):
            continue
        line_ends = node.value.count("\n") if isinstance(node.value, str) else node.value.count(b"\n")
        if len(node.value) > allowed.MAX_STRING_CHARACTERS or line_ends >= allowed.MAX_STRING_LINES:
            message = f"a text of {len(node.value)} characters in {line_ends + 1} lines"
            yield reading.finding("string-literal", message, node)
