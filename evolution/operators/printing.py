"""Trees to text, the same text on every supported Python.

``ast.unparse`` does that for everything but f-strings: 3.12 and later reuse the outer quotes inside of the braces,
which older Pythons, and gate one, cannot read; 3.11 raises where a brace would need a backslash. So f-strings are
written here, with quotes that 3.11 accepts, and put where ``ast.unparse`` leaves room for them.
"""

from __future__ import annotations

import ast
import re

from evolution.operators.anatomy import all_names, clone
from gates.walks import walk

_QUOTES = ("'", '"', "'''", '"""')
_LOOSE = (ast.Lambda, ast.IfExp, ast.Yield, ast.YieldFrom, ast.NamedExpr)


class UnprintableError(ValueError):
    """An f-string that only newer Pythons could write: more kinds of quotes inside its braces than there are outside."""


def print_tree(tree: ast.AST) -> str:
    """The text of a tree that gate one has admitted, or that was made from one; a whole module ends with a line break.

    Statements of the tree that stand in no line get line 0.

    Raises:
        UnprintableError: some f-string cannot be written for Python 3.11.
    """
    has_f_strings = False
    for node in walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "lineno"):
            node.lineno = 0  # ``ast.unparse`` asks for it, to look up comments that there are none of
        has_f_strings |= type(node) is ast.JoinedStr
    if has_f_strings:
        gaps = _Gaps(_mark(tree))
        text = ast.unparse(ast.fix_missing_locations(gaps.visit(clone(tree))))
        text = re.sub(rf"{gaps.mark}(\d+)_", lambda found: gaps.texts[int(found[1])], text)
    else:
        text = ast.unparse(tree)
    return f"{text}\n" if isinstance(tree, ast.Module) else text


class _Gaps(ast.NodeTransformer):
    """Puts a name in the place of each f-string, and keeps the f-string's text."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.texts: list[str] = []

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Name:
        self.texts.append(_f_string(node))
        return ast.Name(f"{self.mark}{len(self.texts) - 1}_", ast.Load())


def _mark(tree: ast.AST) -> str:
    """A beginning of names that occurs nowhere in the tree."""
    mark = "f_string_gap_"
    words = all_names(tree)
    words.update(node.value for node in walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    while any(mark in word for word in words):
        mark += "x_"
    return mark


def _f_string(node: ast.JoinedStr) -> str:
    fields = [part for part in walk(node) if isinstance(part, ast.FormattedValue)]
    inside = [_expression(field.value) for field in fields]
    if any("\\" in text for text in inside):
        raise UnprintableError("a backslash inside the braces of an f-string")
    for quote in _QUOTES:
        if not any(quote in text for text in inside):
            return f"f{quote}{_parts(node, quote)}{quote}"
    raise UnprintableError("all kinds of quotes inside the braces of an f-string")


def _parts(node: ast.JoinedStr, quote: str) -> str:
    return "".join(
        _field(part, quote) if isinstance(part, ast.FormattedValue) else _plain(part, quote) for part in node.values
    )


def _field(node: ast.FormattedValue, quote: str) -> str:
    conversion = "" if node.conversion == -1 else f"!{chr(node.conversion)}"
    spec = f":{_parts(node.format_spec, quote)}" if isinstance(node.format_spec, ast.JoinedStr) else ""
    return f"{{{_expression(node.value)}{conversion}{spec}}}"


def _plain(node: ast.expr, quote: str) -> str:
    text = str(node.value) if isinstance(node, ast.Constant) else ""
    return "".join(_letter(letter, quote) for letter in text)


def _letter(letter: str, quote: str) -> str:
    if letter in "{}":
        return letter * 2
    if letter == quote[0]:
        return f"\\{letter}"
    return letter if letter.isprintable() and letter != "\\" else repr(letter)[1:-1]


def _expression(node: ast.expr) -> str:
    text = print_tree(node)
    if isinstance(node, _LOOSE):
        return f"({text})"
    return f" {text}" if text.startswith("{") else text
