"""Moves a piece of one strategy's ``on_bar`` into another, with everything that the piece depends on.

The closure of a piece is what it refers to, directly or not: parameters, declarations, state and the statements that
keep it, locals, helpers, module constants. Names that both strategies use are shared when they mean the same thing in
both, down to the last dependency, and renamed in the moved code otherwise.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from evolution.operators.anatomy import HOOKS, all_names, clone, fresh_name, own_attribute
from evolution.operators.conditions import orders
from evolution.operators.symbols import (
    ARM_PLACES,
    Definition,
    Kind,
    Place,
    Symbol,
    SymbolTable,
    bound_names,
    stored_names,
)
from gates.walks import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.operators.anatomy import Anatomy

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Closure:
    """What has to move besides the piece itself."""

    symbols: dict[Symbol, None] = field(default_factory=dict)
    definitions: dict[Definition, None] = field(default_factory=dict)


def transplant(host: SymbolTable, donor: SymbolTable, pieces: Sequence[Node]) -> list[Node] | None:
    """Add the closure of some pieces of the donor's ``on_bar`` to the host's tree.

    The donor's tree is left as it is.

    Returns:
        Copies of the pieces in the host's names, to be put into the host's ``on_bar`` by the caller; None when
        something that they need cannot be moved (the host's tree is then untouched).
    """
    closure = _closure(donor, pieces)
    if closure is None or host.anatomy.on_bar is None or not _has_room(host, donor, closure):
        return None
    shared = _shared(host, donor, closure)
    names = _renamed(host, donor, closure, shared)
    rename = _Rename(names, {donor.anatomy.bar or "": host.anatomy.bar or ""})
    for definition in donor.definitions:  # in source order, so that locals are set before they are used
        if definition in closure.definitions and not (definition.symbols and definition.symbols <= shared):
            _place(host, donor, definition, rename)
    return [rename.in_on_bar(piece) for piece in pieces]


def _closure(donor: SymbolTable, pieces: Sequence[ast.AST]) -> Closure | None:
    own_locals = [Symbol(Kind.LOCAL, name) for piece in pieces for name in stored_names(piece)]
    closure = Closure(symbols=dict.fromkeys(own_locals))
    inside = {id(node) for piece in pieces for node in walk(piece)}
    queue = [(piece, "on_bar") for piece in pieces]
    while queue:
        node, hook = queue.pop(0)
        if not _is_self_contained(donor, node, hook):
            return None
        for symbol in donor.references(node, in_on_bar=hook == "on_bar"):
            if symbol in closure.symbols and symbol not in own_locals:
                continue
            found = [definition for definition in donor.of(symbol) if id(definition.statement) not in inside]
            if any(definition.place is Place.ELSEWHERE for definition in found):
                return None
            if not found and not any(id(definition.statement) in inside for definition in donor.of(symbol)):
                return None
            closure.symbols[symbol] = None
            for definition in found:
                if definition not in closure.definitions:
                    closure.definitions[definition] = None
                    queue.append((definition.statement, _hook(donor, definition)))
        if not queue:
            queue += _warm_up_guards(donor, closure)
    return closure


def _has_room(host: SymbolTable, donor: SymbolTable, closure: Closure) -> bool:
    """Whether the host has a place for everything, and gives no other meaning to an imported name."""
    places = {ARM_PLACES[arm.role] for arm in host.arms if arm.role is not None}
    homeless = any(found.place in ARM_PLACES.values() and found.place not in places for found in closure.definitions)
    bound = bound_names(host.anatomy.tree)
    return not homeless and not any(_is_import(donor, symbol) and symbol.name in bound for symbol in closure.symbols)


def _warm_up_guards(donor: SymbolTable, closure: Closure) -> list[tuple[ast.AST, str]]:
    """``if len(closes) < 20: return`` comes along with ``closes``."""
    guards: list[tuple[ast.AST, str]] = []
    for definition in donor.definitions:
        statement = definition.statement
        if definition.place is not Place.BAR or definition in closure.definitions or not isinstance(statement, ast.If):
            continue
        needs = donor.references(statement.test, in_on_bar=True)
        waits = any(
            symbol in closure.symbols and any(found.place is Place.BAR for found in donor.of(symbol))
            for symbol in needs
        )
        if waits and any(isinstance(node, ast.Return) for node in statement.body):
            closure.definitions[definition] = None
            guards.append((statement, "on_bar"))
    return guards


def _hook(donor: SymbolTable, definition: Definition) -> str:
    if definition.place in {Place.BAR, *ARM_PLACES.values()}:
        return "on_bar"
    for name in HOOKS:
        if name in donor.anatomy.methods and any(s is definition.statement for s in donor.anatomy.methods[name].body):
            return name
    return ""


def _is_self_contained(donor: SymbolTable, node: ast.AST, hook: str) -> bool:
    """Whether all that a node uses can be seen: no local that is set elsewhere, no ``self`` handed to somebody."""
    named = {id(inner.value) for inner in walk(node) if isinstance(inner, ast.Attribute)}
    if any(isinstance(inner, ast.Name) and inner.id == "self" and id(inner) not in named for inner in walk(node)):
        return False
    method = donor.anatomy.methods.get(hook)
    if method is None:
        return True
    given = {"self", donor.anatomy.bar} if hook == "on_bar" else {"self", *_arguments(method)[1:2]}
    outer = (bound_names(method) - given) - bound_names(node)
    if hook == "__init__":
        outer |= set(_arguments(method)) - {"self"}
    used = {inner.id for inner in walk(node) if isinstance(inner, ast.Name)}
    known = {symbol.name for symbol in donor.references(node, in_on_bar=True) if symbol.kind is Kind.LOCAL}
    return not used & outer - (known if hook == "on_bar" else set())


def _shared(host: SymbolTable, donor: SymbolTable, closure: Closure) -> frozenset[Symbol]:
    """The symbols that mean the same in both strategies: the largest set that is closed under reference."""
    shared = {
        symbol
        for symbol in closure.symbols
        if host.of(symbol) and host.fingerprint(symbol) == donor.fingerprint(symbol)
    }
    while True:
        broken = {
            symbol
            for symbol in shared
            for definition in donor.of(symbol)
            for needed in donor.references(definition.statement, in_on_bar=_hook(donor, definition) == "on_bar")
            if needed not in shared
        }
        if not broken:
            return frozenset(shared)
        shared -= broken


def _renamed(host: SymbolTable, donor: SymbolTable, closure: Closure, shared: frozenset[Symbol]) -> dict[Symbol, str]:
    taken = all_names(host.anatomy.tree)
    avoid = taken | all_names(donor.anatomy.tree)
    names = {}
    for symbol in closure.symbols:
        if symbol not in shared and symbol.name in taken and not _is_import(donor, symbol):
            names[symbol] = fresh_name(symbol.name, avoid)
            avoid.add(names[symbol])
    return names


def _is_import(donor: SymbolTable, symbol: Symbol) -> bool:
    """Imports keep their names: the same seven modules mean the same everywhere."""
    return symbol.kind is Kind.MODULE and all(
        isinstance(definition.statement, (ast.Import, ast.ImportFrom)) for definition in donor.of(symbol)
    )


@dataclass(frozen=True, slots=True)
class _Rename:
    names: dict[Symbol, str]
    arguments: dict[str, str]
    """The donor's names for the bar, and what the host calls it."""

    def in_on_bar(self, node: Node) -> Node:
        """A copy for ``on_bar``: locals, the bar, own attributes and module names."""
        words = {symbol.name: name for symbol, name in self.names.items() if symbol.kind is not Kind.OWN}
        return self._copy(node, {**words, **self.arguments})

    def elsewhere(self, node: Node, arguments: dict[str, str]) -> Node:
        """A copy for another place: own attributes, and module names that are not bound there."""
        bound = bound_names(node) if isinstance(node, ast.FunctionDef) else set()
        words = {
            symbol.name: name
            for symbol, name in self.names.items()
            if symbol.kind is Kind.MODULE and symbol.name not in bound
        }
        return self._copy(node, {**words, **arguments})

    def _copy(self, node: Node, words: dict[str, str]) -> Node:
        attributes = {symbol.name: name for symbol, name in self.names.items() if symbol.kind is Kind.OWN}
        twin = clone(node)
        for inner in walk(twin):
            name = own_attribute(inner)
            if isinstance(inner, ast.Attribute) and name is not None:
                inner.attr = attributes.get(name, name)
            elif isinstance(inner, ast.Name):
                inner.id = words.get(inner.id, inner.id)
            elif isinstance(inner, ast.arg) and not isinstance(node, ast.FunctionDef):
                inner.arg = words.get(inner.arg, inner.arg)
        return twin

    def defined(self, statement: ast.stmt, kind: Kind) -> ast.stmt:
        """A copy of a class-level or module-level definition, under its new name."""
        attributes = {symbol.name: name for symbol, name in self.names.items() if symbol.kind is kind}
        twin = self.elsewhere(statement, attributes if not isinstance(statement, ast.FunctionDef) else {})
        if isinstance(twin, (ast.FunctionDef, ast.ClassDef)):
            twin.name = attributes.get(twin.name, twin.name)
        return twin


def _place(host: SymbolTable, donor: SymbolTable, definition: Definition, rename: _Rename) -> None:
    anatomy, statement = host.anatomy, definition.statement
    match definition.place:
        case Place.MODULE:
            anatomy.tree.body.insert(anatomy.tree.body.index(anatomy.body), rename.defined(statement, Kind.MODULE))
        case Place.CLASS:
            anatomy.body.body.insert(_end_of_fields(anatomy), rename.defined(statement, Kind.OWN))
        case Place.METHOD:
            anatomy.body.body.append(rename.defined(statement, Kind.OWN))
        case Place.OPENING:
            _append(hook_of(anatomy, "on_start", ["self"]), rename.elsewhere(statement, {}))
        case Place.FILL:
            given = _arguments(donor.anatomy.methods["on_fill"])
            method = hook_of(anatomy, "on_fill", given)
            _append(method, rename.elsewhere(statement, dict(zip(given, _arguments(method), strict=False))))
        case Place.BAR:
            body = anatomy.on_bar.body if anatomy.on_bar else []
            first = next((row for row, node in enumerate(body) if any(orders(node))), len(body))
            body.insert(first, rename.in_on_bar(statement))
        case Place.ENTRY | Place.EXIT:
            for arm in host.arms:
                if arm.role is not None and ARM_PLACES[arm.role] is definition.place:
                    arm.body.insert(0, rename.in_on_bar(statement))


def hook_of(anatomy: Anatomy, name: str, arguments: list[str]) -> ast.FunctionDef:
    """A hook of the class; a new empty one before ``on_bar`` where it has none."""
    if name not in anatomy.methods:
        signature = ast.arguments([], [ast.arg(argument) for argument in arguments], None, [], [], None, [])
        method = ast.FunctionDef(name, signature, [], [])
        row = anatomy.body.body.index(anatomy.on_bar) if anatomy.on_bar else len(anatomy.body.body)
        anatomy.body.body.insert(row, method)
        anatomy.methods[name] = method
    return anatomy.methods[name]


def _append(method: ast.FunctionDef, statement: ast.stmt) -> None:
    ends = bool(method.body) and isinstance(method.body[-1], ast.Return)
    method.body.insert(len(method.body) - ends, statement)


def _end_of_fields(anatomy: Anatomy) -> int:
    rows = [row for row, node in enumerate(anatomy.body.body) if isinstance(node, ast.FunctionDef)]
    return rows[0] if rows else len(anatomy.body.body)


def _arguments(method: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in method.args.args]
