"""Two texts of the same strategy are the same strategy: the normal form of a syntax tree, its hash and its text.

The form leaves out what cannot change behaviour: positions, formatting, comments, docstrings and the name of the
class. It is spelled out here rather than taken from ``ast.dump``, whose output differs between Python versions.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

from evolution.operators.anatomy import clone
from evolution.operators.documents import meaning
from evolution.operators.printing import UnprintableError, print_tree
from gates.scan import Scanned, scanned_once
from gates.walks import walk
from runtime.source import Language

if TYPE_CHECKING:
    from runtime.source import StrategySource

CLASS_NAME = "Candidate"
"""What every strategy class is called in the normal form."""

# A scan costs more than everything else that an operator does, and digests are small.
_DIGESTS_REMEMBERED = 4_096

_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


@lru_cache(maxsize=_DIGESTS_REMEMBERED)
def canonical_hash(source: StrategySource) -> str:
    r"""Hex digest of the normal form; equal for texts that differ only in formatting, comments or class name.

    Of a document it is that of its meaning: layout and name do not count. A source that gate one refuses has no tree: its digest is that of its bytes, so only exact copies are equal.

    >>> from runtime.source import StrategySource
    >>> plain = StrategySource(b"class S(Strategy):\n    def on_bar(self, bar):\n        self.close()\n")
    >>> noted = StrategySource(b"class T(Strategy):\n    def on_bar(self, bar):  # leave\n        self.close( )\n")
    >>> canonical_hash(plain) == canonical_hash(noted)
    True
    """
    if source.language is Language.SIR:
        return _digest("document", meaning(source).decode("utf-8", "backslashreplace"))
    scanned = scanned_once(source)
    if not isinstance(scanned, Scanned):
        return _digest("bytes", source.sha256)
    has_docstrings = any(isinstance(node, ast.Expr) and _is_text(node) for node in walk(scanned.tree))
    tree = without_docstrings(scanned.tree) if has_docstrings else scanned.tree
    return hash_tree(tree, scanned.class_name)


def canonical_text(source: StrategySource) -> str:
    """The strategy without docstrings and comments, evenly formatted: what prompts show. Keeps the class's own name.

    A source with an f-string that cannot be written evenly is shown as it is.

    Raises:
        ValueError: gate one refuses the source; nothing is unparsed before that gate.
    """
    scanned = scanned_once(source)
    if isinstance(scanned, Scanned):
        try:
            return unparse(without_docstrings(scanned.tree))
        except UnprintableError:
            return source.text
    raise ValueError(f"no canonical text for {source.sha256[:12]}: {scanned.reason}")


def hash_tree(tree: ast.Module, class_name: str) -> str:
    """``canonical_hash`` for a tree at hand that has no docstrings."""
    return _digest("tree", shape(tree, class_name=class_name))


def shape(node: object, *, class_name: str | None = None) -> str:
    """The structure under a node as text; equal texts mean equal structure, on every supported Python."""
    if isinstance(node, list):
        return f"[{','.join([shape(item, class_name=class_name) for item in node])}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    kind = type(node)
    parts = []
    for name in kind._fields:
        value = None if name in _IGNORED_FIELDS else getattr(node, name, None)
        if value is not None and value != []:
            parts.append(f"{name}={shape(value, class_name=class_name)}")
    if (kind is ast.ClassDef and node.name == class_name) or (  # type: ignore[attr-defined]  # has one
        kind is ast.Name and node.id == class_name  # type: ignore[attr-defined]  # has one
    ):
        parts[0] = CLASS_NAME
    return f"{kind.__name__}({','.join(parts)})"


def without_docstrings(tree: ast.Module) -> ast.Module:
    """A copy of the tree in which no statement is a lone string."""
    stripped = clone(tree)
    strip_docstrings(stripped)
    return stripped


def strip_docstrings(tree: ast.Module) -> None:
    """Take every statement that is a lone string out of a tree."""
    for node in walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                kept = [statement for statement in block if not _is_text(statement)]
                needs_body = name == "body" and not kept and not isinstance(node, ast.Module)
                setattr(node, name, [ast.Pass()] if needs_body else kept)


def unparse(tree: ast.Module) -> str:
    """The text of a tree that gate one has admitted, for those who change it before they show it.

    Raises:
        UnprintableError: see ``evolution.operators.printing``.
    """
    return print_tree(tree)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _digest(kind: str, text: str) -> str:
    return hashlib.sha256(f"strategy-{kind}/1 {text}".encode("utf-8", "surrogatepass")).hexdigest()
