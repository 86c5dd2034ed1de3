"""Walking over syntax trees, faster than ``ast`` does it: the gates walk over each source a dozen times."""

from __future__ import annotations

import ast
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


# Fields that hold text or a plain value and never a node. Any other field is looked into, one that a later Python adds too.
_PLAIN = {
    ast.Name: frozenset(("id",)),
    ast.Attribute: frozenset(("attr",)),
    ast.Constant: frozenset(("value", "kind")),
    ast.arg: frozenset(("arg", "type_comment")),
    ast.keyword: frozenset(("arg",)),
    ast.FunctionDef: frozenset(("name", "type_comment")),
    ast.Assign: frozenset(("type_comment",)),
}
_looked_into: dict[type[ast.AST], tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """What ``ast.iter_child_nodes`` yields, in a third of its time."""
    kind = type(node)
    fields = _looked_into.get(kind)
    if fields is None:
        fields = _looked_into[kind] = tuple(name for name in node._fields if name not in _PLAIN.get(kind, ()))
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """``ast.walk`` over ``children``: level by level, without recursion."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        waiting.extend(children(node))
        yield node
