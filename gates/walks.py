"""Walking over syntax trees, faster than ``ast`` does it: the gates walk over each source a dozen times, operators more often."""

from __future__ import annotations

import ast
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# Fields that hold text or a plain value and never a node. Any other field is looked into, one that a later Python adds too.
_PLAIN = {
    ast.Name: frozenset(("id",)),
    ast.Attribute: frozenset(("attr",)),
    ast.Constant: frozenset(("value", "kind")),
    ast.arg: frozenset(("arg", "type_comment")),
    ast.keyword: frozenset(("arg",)),
    ast.FunctionDef: frozenset(("name", "type_comment")),
    ast.Assign: frozenset(("type_comment",)),
    ast.For: frozenset(("type_comment",)),
    ast.ClassDef: frozenset(("name",)),
    ast.AnnAssign: frozenset(("simple",)),
}
_looked_into: dict[type[ast.AST], Callable[[ast.AST], tuple[object, ...]]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """What ``ast.iter_child_nodes`` yields, in a quarter of its time."""
    kind = type(node)
    values = _looked_into.get(kind) or _remember(kind)
    found: list[ast.AST] = []
    try:
        below = values(node)
    except AttributeError:  # a node that was made without some of its fields
        below = tuple([getattr(node, name, None) for name in kind._fields])
    for value in below:
        if type(value) is list:
            for item in value:
                if isinstance(item, ast.AST):
                    found.append(item)  # noqa: PERF401 - a comprehension is a call, for a handful of items
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def _remember(kind: type[ast.AST]) -> Callable[[ast.AST], tuple[object, ...]]:
    """Make and keep what reads the fields of a kind of node that may hold nodes, all of them in one call."""
    names = [name for name in kind._fields if name not in _PLAIN.get(kind, ())]
    read = attrgetter(*names) if names else None
    values: Callable[[ast.AST], tuple[object, ...]] = (
        (lambda _node: ()) if read is None else (lambda node: (read(node),)) if len(names) == 1 else read
    )
    _looked_into[kind] = values
    return values


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """``ast.walk`` over ``children``: level by level, without recursion."""
    found = [tree]
    for node in found:  # grows while it is read
        found += children(node)
        yield node
