"""A strategy as a prompt may show it: what it does, without a word that somebody could have planted in it.

Docstrings and comments are gone by construction. String literals survive only where they are words of the API or names
that the code itself uses; the others (tags, log lines, the text of a ``raise``) become ``text1``, ``text2``, ..., equal
ones alike. What this does not stop: a sentence written as an identifier. The structural guard is that a model's output
reaches the gates and nothing else.
"""

from __future__ import annotations

import ast
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


class _Masking(ast.NodeTransformer):
    def __init__(self, words: Collection[str]) -> None:
        self._words = words
        self._placeholders: dict[str | bytes, str] = {}

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = node.value
        if not isinstance(value, str | bytes) or value in self._words:
            return node
        placeholder = self._placeholders.setdefault(value, f"text{len(self._placeholders) + 1}")
        masked = placeholder if isinstance(value, str) else placeholder.encode()
        return ast.copy_location(ast.Constant(masked), node)


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
