"""A strategy as a prompt may show it: what it does, without a word that somebody could have planted in it.

Docstrings and comments are gone by construction. String literals survive only where they are words of the API or names
that the code itself uses; the others (tags, log lines, the text of a ``raise``) become ``text1``, ``text2``, ..., equal
ones alike. What their text decides stays: numbers, single characters, and how a value is to be printed, where nothing can be
written but numbers and marks. What this does not stop: a sentence written as an identifier. The structural guard is that a model's output
reaches the gates and nothing else.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from evolution.operators.canonical import unparse, without_docstrings
from gates.findings import Rejected
from gates.scan import scan

if TYPE_CHECKING:
    from collections.abc import Collection

    from runtime.source import StrategySource


def shown_text(source: StrategySource, words: Collection[str]) -> str:
    """The strategy for a prompt, evenly formatted.

    Args:
        source: One that the gates have admitted.
        words: String literals that mean something to the engine, like indicator and column names.

    Raises:
        ValueError: gate one refuses the source; nothing is unparsed before that gate.
    """
    scanned = scan(source)
    if isinstance(scanned, Rejected):
        refused = f"source {source.sha256[:12]} cannot be shown: {scanned.reason}"
        raise ValueError(refused)  # noqa: TRY004 - the value is wrong, not its type
    tree = without_docstrings(scanned.tree)
    return unparse(ast.Module(_Masking({*words, *_names(tree)}).visit(tree).body, []))


# Width, precision and type, or the parts of a date: no two letters in a row, so no words.
_PRINTED_AS = re.compile(r"(?:[^A-Za-z%]|%[A-Za-z]|%)*[A-Za-z]?", re.ASCII)
_MOST_PRINTED_AS = 24
_CONVERSION = re.compile(r"%(?:\([A-Za-z_]\w{0,39}\))?[-+ #0]{0,5}(?:\d{1,3}|\*)?(?:\.\d{1,3})?[diouxXeEfFgGcrsa%]")
_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?")


class _Masking(ast.NodeTransformer):
    def __init__(self, words: Collection[str]) -> None:
        self._words = words
        self._placeholders: dict[str | bytes, str] = {}

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = node.value
        if not isinstance(value, str | bytes) or self._stays(value):
            return node
        placeholder = self._placeholder(value)
        masked = placeholder if isinstance(value, str) else placeholder.encode()
        return ast.copy_location(ast.Constant(masked), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """``"close %.2f" % price``: the conversions take part in the computation, the words between them do not."""
        match node:
            case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
                kept = " ".join([self._placeholder(text), *(each[0] for each in _CONVERSION.finditer(text))])
                left = ast.copy_location(ast.Constant(kept), node.left)
                return ast.copy_location(ast.BinOp(left, node.op, self.visit(node.right)), node)
            case _:
                return self.generic_visit(node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        """``{price:.2f}``: what follows the colon stays; a sentence there is left out, since a date would print it."""
        node.value = self.visit(node.value)
        if isinstance(node.format_spec, ast.JoinedStr):
            pieces = node.format_spec.values
            texts = [piece.value for piece in pieces if isinstance(piece, ast.Constant)]
            node.format_spec.values = [
                self.visit(each) if isinstance(each, ast.FormattedValue) else each for each in pieces
            ]
            if not all(len(text) <= _MOST_PRINTED_AS and _PRINTED_AS.fullmatch(text) for text in map(str, texts)):
                node.format_spec = None
        return node

    def _stays(self, value: str | bytes) -> bool:
        if value in self._words:
            return True
        return isinstance(value, str) and (len(value) <= 1 or _NUMBER.fullmatch(value.strip()) is not None)

    def _placeholder(self, value: str | bytes) -> str:
        return self._placeholders.setdefault(value, f"text{len(self._placeholders) + 1}")


def _names(tree: ast.Module) -> set[str]:
    """Identifiers that the code uses: a string that equals one says nothing new."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                names.add(name)
            case _:
                pass
    return names
