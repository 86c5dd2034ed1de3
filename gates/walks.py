"""Walking over syntax trees, faster than ``ast`` does it: the gates walk over each source a dozen times."""

from __future__ import annotations

import ast
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def children(node: ast.AST) -> list[ast.AST]:
    """What ``ast.iter_child_nodes`` yields, in half its time."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """``ast.walk`` over ``children``: level by level, without recursion."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        waiting.extend(children(node))
        yield node
