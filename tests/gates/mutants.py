"""Breeds hostile candidates: ordinary files with pieces of the hostile ones grafted in, and names exchanged."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from gate_corpus import benign_files, hostile_files

from evolution.seeds import seed_sources
from gates import allowed
from gates.reading import in_source_order

if TYPE_CHECKING:
    import random

NAMES = [
    "self", "bar", "open", "type", "object", "math", "json", "typing", "statistics", "enum", "collections", "dataclasses",
    "super", "print", "Strategy", "Order", "Bar", "Side", "Clock", "param", "Exception", "__builtins__", "getattr", "eval",
    "vars", "os", "sys", "property", "str", "bytes", "list", "map", "iter", "isinstance", "Timeframe", "MessageBus",
]  # fmt: skip
ATTRIBUTES = [
    "close", "clock", "bus", "ts", "now", "history", "submit", "log", "name", "value", "instrument", "format", "mro",
    "gi_frame", "f_back", "__class__", "__globals__", "_desk", "_ask", "_evaluate", "_make", "_replace", "register", "obj",
    "with_traceback", "encode", "decode", "samples", "args", "throw", "send", "fget", "default_factory", "type", "strftime",
    "fromtimestamp", "astimezone", "publish", "subscribe", "maps", "copy", "update", "fromkeys", "modules", "_member_map_",
    "sys", "codecs", "random", "_sys", "builtins", "get_type_hints", "make_dataclass", "to_bytes", "from_bytes", "tzinfo",
]  # fmt: skip


def _parsed(data: bytes) -> ast.Module | None:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return tree if max(step.depth for step in in_source_order(tree)) < 40 else None


HOSTS = [ast.parse(source.data) for _, source in (*benign_files(), *seed_sources())]
DONORS = [tree for each in hostile_files() if (tree := _parsed(each.source.data)) is not None]
EXPRESSIONS = [
    node
    for tree in DONORS
    for node in ast.walk(tree)
    if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
]
# No loops and classes: endless ones would only cost time, and a second strategy is refused at once.
STATEMENTS = [
    node
    for tree in DONORS
    for node in ast.walk(tree)
    if isinstance(node, ast.stmt) and not isinstance(node, ast.While | ast.ClassDef | ast.For)
]


class _Grafter(ast.NodeTransformer):
    """Walks a tree and, at a few places, exchanges what it finds."""

    def __init__(self, rng: random.Random, chance: float) -> None:
        self._rng = rng
        self._chance = chance

    def _hits(self) -> bool:
        return self._rng.random() < self._chance

    def visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and self._hits():
            return self._exchange(node)
        if isinstance(node, ast.Attribute) and self._hits():
            node.attr = self._rng.choice(ATTRIBUTES)
        if isinstance(node, ast.FunctionDef) and self._hits():
            node.body.insert(self._rng.randrange(len(node.body) + 1), copy.deepcopy(self._rng.choice(STATEMENTS)))
        if isinstance(node, ast.keyword | ast.arg) and self._hits():
            node.arg = self._rng.choice([*NAMES, *ATTRIBUTES])
        return node

    def _exchange(self, node: ast.expr) -> ast.expr:
        rng = self._rng
        match rng.randrange(6):
            case 0:
                return copy.deepcopy(rng.choice(EXPRESSIONS))
            case 1:
                return ast.Name(rng.choice(NAMES), ast.Load())
            case 2:
                return ast.Attribute(node, rng.choice(ATTRIBUTES), ast.Load())
            case 3:
                return ast.Call(node, [copy.deepcopy(rng.choice(EXPRESSIONS))] * rng.randrange(3), [])
            case 4:
                module = rng.choice(list(allowed.EXPORTS))
                return ast.Attribute(
                    ast.Name(module, ast.Load()), rng.choice(sorted(allowed.EXPORTS[module])), ast.Load()
                )
            case _:
                return ast.Subscript(node, copy.deepcopy(rng.choice(EXPRESSIONS)), ast.Load())


def mutant(rng: random.Random) -> str | None:
    """One hostile child of an ordinary file; None when it cannot be written down."""
    tree = copy.deepcopy(rng.choice(HOSTS))
    tree = _Grafter(rng, rng.choice((0.005, 0.01, 0.03))).visit(tree)
    if rng.random() < 0.5:
        tree.body.insert(0, ast.parse(f"import {', '.join(rng.sample(sorted(allowed.EXPORTS), 3))}").body[0])
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
        text.encode()
    except (ValueError, RecursionError, AttributeError, TypeError):
        return None
    return text
