"""Who defines and who uses a strategy's own names: what must travel when a piece of code moves to another strategy."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from evolution.operators.anatomy import API_ATTRIBUTES, HOOKS, own_attribute
from evolution.operators.arms import Arm, find_arms
from evolution.operators.canonical import shape
from evolution.operators.conditions import Role
from gates.walks import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.operators.anatomy import Anatomy


class Kind(Enum):
    """Where a name lives."""

    OWN = "attribute of self"
    LOCAL = "local of on_bar"
    MODULE = "module"


class Symbol(NamedTuple):
    """One of a strategy's own names."""

    kind: Kind
    name: str


class Place(Enum):
    """Where a defining statement stands, and where it goes in another strategy."""

    MODULE = "module"
    CLASS = "class body"
    METHOD = "own method"
    OPENING = "on_start or __init__"
    FILL = "on_fill"
    BAR = "on_bar, before the decisions"
    ENTRY = "inside an entry"
    EXIT = "inside an exit"
    ELSEWHERE = "where it cannot be moved from"


ARM_PLACES = {Role.ENTRY: Place.ENTRY, Role.EXIT: Place.EXIT}


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A statement that gives a symbol its value, or changes it."""

    place: Place
    statement: ast.stmt
    symbols: frozenset[Symbol]
    """What it defines."""


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """All definitions of one strategy in source order, and what its code refers to."""

    anatomy: Anatomy
    arms: tuple[Arm, ...]
    definitions: tuple[Definition, ...]

    def of(self, symbol: Symbol) -> list[Definition]:
        """The definitions of a symbol in source order."""
        return [definition for definition in self.definitions if symbol in definition.symbols]

    def references(self, node: ast.AST, *, in_on_bar: bool) -> list[Symbol]:
        """The strategy's own names that occur under a node, each once, in source order."""
        found: dict[Symbol, None] = {}
        bound = set() if in_on_bar else bound_names(node)
        for inner in walk(node):
            name = own_attribute(inner)
            if name is not None and name not in API_ATTRIBUTES and name not in HOOKS:
                found[Symbol(Kind.OWN, name)] = None
            elif isinstance(inner, ast.Name) and inner.id not in {"self", self.anatomy.bar}:
                for kind in (Kind.LOCAL, Kind.MODULE) if in_on_bar else (Kind.MODULE,):
                    symbol = Symbol(kind, inner.id)
                    if inner.id not in bound and self.of(symbol):
                        found[symbol] = None
                        break
        return list(found)

    def fingerprint(self, symbol: Symbol) -> list[tuple[Place, str]]:
        """The definitions of a symbol as text: equal texts mean the same meaning, if what they use is the same too."""
        return [(definition.place, shape(definition.statement)) for definition in self.of(symbol)]


def symbol_table(anatomy: Anatomy) -> SymbolTable:
    """Index a strategy."""
    arms = find_arms(anatomy)
    return SymbolTable(anatomy, tuple(arms), tuple(_definitions(anatomy, arms)))


def _definitions(anatomy: Anatomy, arms: list[Arm]) -> Iterator[Definition]:
    for statement in anatomy.tree.body:
        if statement is not anatomy.body:
            names = _module_names(statement)
            yield Definition(Place.MODULE, statement, frozenset(Symbol(Kind.MODULE, name) for name in names))
    for statement in anatomy.body.body:
        if isinstance(statement, ast.FunctionDef) and statement.name not in HOOKS:
            # State that a helper keeps travels with the helper.
            own = {Symbol(Kind.OWN, statement.name), *_stores(statement)}
            yield Definition(Place.METHOD, statement, frozenset(own))
        elif not isinstance(statement, ast.FunctionDef):
            names = stored_names(statement)
            yield Definition(Place.CLASS, statement, frozenset(Symbol(Kind.OWN, name) for name in names))
    for hook, place in (
        ("__init__", Place.OPENING),
        ("on_start", Place.OPENING),
        ("on_fill", Place.FILL),
        ("on_stop", Place.ELSEWHERE),
    ):
        for statement in anatomy.methods[hook].body if hook in anatomy.methods else ():
            yield Definition(place, statement, frozenset(_stores(statement)))
    chains = {id(arm.chain) for arm in arms}
    local = frozenset(stored_names(anatomy.on_bar)) if anatomy.on_bar else frozenset()
    for statement in anatomy.on_bar.body if anatomy.on_bar else ():
        if id(statement) not in chains:
            yield Definition(Place.BAR, statement, frozenset(_stores(statement, local)))
    for arm in arms:
        place = ARM_PLACES[arm.role] if arm.role else Place.ELSEWHERE
        for statement in arm.body:
            stored = frozenset(_stores(statement))
            simple = not hasattr(statement, "body")
            yield Definition(place if simple else Place.ELSEWHERE, statement, stored)


def _stores(root: ast.AST, local: frozenset[str] = frozenset()) -> Iterator[Symbol]:
    """What a statement sets or changes in place, also through ``self.x.y = ...``, ``self.x[0] = ...``, ``self.x.add()``."""
    for node in walk(root):
        if _is_store(node):
            changed: ast.AST = node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value
        else:
            continue
        while isinstance(changed, (ast.Attribute, ast.Subscript)) and own_attribute(changed) is None:
            changed = changed.value
        name = own_attribute(changed)
        if name is not None:
            yield Symbol(Kind.OWN, name)
        elif isinstance(changed, ast.Name) and changed.id in local:
            yield Symbol(Kind.LOCAL, changed.id)


def _is_store(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _module_names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases]
    return stored_names(statement)


def stored_names(root: ast.AST) -> list[str]:
    """Plain names that are set under a node."""
    return [node.id for node in walk(root) if isinstance(node, ast.Name) and _is_store(node)]


def bound_names(node: ast.AST) -> set[str]:
    """Names that a function binds for itself."""
    arguments = {inner.arg for inner in walk(node) if isinstance(inner, ast.arg)}
    return arguments.union(stored_names(node))
