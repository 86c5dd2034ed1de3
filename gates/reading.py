"""What the rules need to know about a tree before they judge it: parents, scopes, imports, and whose attribute is whose."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gates.allowed import EXPORTS, FORBIDDEN_ATTRIBUTE_PREFIXES, FORBIDDEN_ATTRIBUTES, FROM_ONLY_EXPORTS
from gates.rules import finding
from gates.scopes import FunctionNode, Scope, ScopeKind, Scopes
from gates.walks import children

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gates.findings import Finding

Node = TypeVar("Node", bound=ast.AST)

# Named, because a union that is written where it is used is made anew for each node.
_IMPORTS = (ast.Import, ast.ImportFrom)
_TRAILERS = (ast.Attribute, ast.Subscript)


@dataclass(frozen=True, slots=True)
class Chain:
    """A target like ``root.a.b[i].c``, taken apart."""

    root: ast.expr
    attributes: tuple[str, ...]
    """From left to right; subscripts are left out."""


class Reading:
    """One tree and everything that was worked out about it. Built once per source, then only read."""

    def __init__(self, tree: ast.Module, lines: list[str], steps: list[Step] | None = None) -> None:
        self.tree = tree
        self._lines = lines
        self.steps = list(in_source_order(tree)) if steps is None else steps
        self.nodes = [step.node for step in self.steps]
        self._by_kind: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.nodes:
            self._by_kind.setdefault(type(node), []).append(node)
        self._parents = {id(step.node): step.parent for step in self.steps}
        self.scopes = Scopes.of(tree)
        self.bound = self.scopes.bound_anywhere()
        self._binding_counts = Counter(binding.name for binding in self.scopes.bindings)
        self.modules = dict(self._imported_modules())
        """Local name of each imported module -> the module."""
        self.imported = dict(self._imported_names())
        """Local name of each ``from`` import -> its full name."""
        self.ambiguous_imports = list(self._ambiguous_imports())
        """Imports under a local name that another import gave to something else."""
        self.classes = frozenset(node.name for node in self.of(ast.ClassDef))
        self._is_method_by_id: dict[int, bool] = {}
        self._definitions: dict[str, list[ast.ClassDef | None]] = {}
        self._class_names: dict[int, set[str]] = {}
        for binding in self.scopes.bindings:
            is_class = isinstance(binding.node, ast.ClassDef)
            self._definitions.setdefault(binding.name, []).append(
                binding.node if is_class else None  # type: ignore[arg-type]  # checked on the line before
            )
            if binding.scope.kind is ScopeKind.CLASS:
                self._class_names.setdefault(id(binding.scope.node), set()).add(binding.name)
        self._literals = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.own_attributes = frozenset(self._own_attributes())
        """Attributes that this file's classes give their own instances."""
        self.methods_that_trust_self = frozenset(self._methods_that_trust_self())
        """By ``id``: methods that do to self what is only allowed on objects of the file. ``gates.weave`` checks them."""

    def of(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of exactly this type, in source order."""
        return self._by_kind.get(kind, ())  # type: ignore[return-value]  # what is filed under a type is of it

    def among(self, kinds: tuple[type[ast.AST], ...]) -> Iterator[ast.AST]:
        """All nodes of exactly these types, in source order."""
        return (node for node in self.nodes if type(node) in kinds)

    def parent(self, node: ast.AST) -> ast.AST:
        """The node around this one; the module has itself."""
        return self._parents.get(id(node), self.tree)

    def scope(self, node: ast.AST) -> Scope:
        """Where the node is evaluated."""
        return self.scopes.of_node.get(id(node), self.scopes.module)

    def finding(self, rule: str, message: str, node: ast.AST, hint: str | None = None) -> Finding:
        """A finding that points at a node (or at the nearest one around it that has a place)."""
        line, column = self.place(node)
        return finding(rule, message, line=line, column=column, hint=hint)

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Line and column of a node, both from 1, the column in characters (``ast`` counts bytes)."""
        while not hasattr(node, "lineno") and node is not self.tree:
            node = self.parent(node)
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        if isinstance(node, ast.Attribute) and node.end_lineno and node.end_col_offset:
            line, offset = node.end_lineno, max(node.end_col_offset - len(node.attr), 0)  # the word after the dot
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return line, len(text.encode()[:offset].decode("utf-8", "ignore")) + 1

    # -- names --

    def full_name(self, node: ast.expr) -> str | None:
        """``dataclasses.dataclass`` for whatever way it was imported; the plain name of a builtin or injected one.

        None when the name was given another meaning anywhere in the file, or the expression is no name.
        """
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self.modules.get(node.value.id)
            return f"{module}.{node.attr}" if module and self._binding_counts[node.value.id] == 1 else None
        if not isinstance(node, ast.Name):
            return None
        if node.id in self.imported:
            return self.imported[node.id] if self._binding_counts[node.id] == 1 else None
        return None if node.id in self.bound else node.id

    def is_own_self(self, node: ast.AST) -> bool:
        """Whether a node is the ``self`` of a method: its first parameter, never bound to anything else."""
        if not (isinstance(node, ast.Name) and node.id == "self"):
            return False
        home = self.scope(node).resolve("self")
        return home is not None and home.names["self"] == 1 and self.is_method(home.node)

    def is_in_strategy(self, node: ast.AST) -> bool:
        """Whether a node is inside a class that inherits ``Strategy`` and does not define the attribute itself."""
        attribute = getattr(node, "attr", None)
        while node is not self.tree:
            node = self.parent(node)
            if isinstance(node, ast.ClassDef):
                inherits = any(isinstance(base, ast.Name) and base.id == "Strategy" for base in node.bases)
                return inherits and attribute not in self._class_names.get(id(node), ())
        return False

    def is_first_parameter_of_classmethod(self, node: ast.Name) -> bool:
        """Whether a name is the class that a class method got."""
        home = self.scope(node).resolve(node.id)
        function = home.node if home else None
        return (
            isinstance(function, ast.FunctionDef)
            and any(self.full_name(decorator) == "classmethod" for decorator in function.decorator_list)
            and _first_parameter(function) == node.id
        )

    def is_class_of_file(self, name: str) -> bool:
        """Whether a name means a class statement of this file wherever it is used: it never gets another meaning."""
        return name in self.classes and None not in self._definitions[name]

    def is_generic_class_of_file(self, name: str) -> bool:
        """Whether such a class takes types in brackets."""
        return self.is_class_of_file(name) and all(
            any(isinstance(base, ast.Subscript) for base in node.bases)
            for node in self._definitions[name]
            if node is not None
        )

    def class_data(self, name: str) -> frozenset[str]:
        """The names that the bodies of a class of this file give values to; no methods, no classes."""
        found: set[str] = set()
        if self.is_class_of_file(name):
            bodies = {id(node) for node in self._definitions[name]}
            for binding in self.scopes.bindings:
                if id(binding.scope.node) in bodies and isinstance(binding.node, ast.Name):
                    found.add(binding.name)
        return frozenset(found)

    def constant(self, name: ast.Name) -> object:
        """The literal that a name of the module always stands for; None when there is no such literal."""
        home = self.scope(name).resolve(name.id)
        if home is not self.scopes.module or self._binding_counts[name.id] != 1:
            return None
        return self._literals.get(name.id)

    def is_method(self, function: ast.AST) -> bool:
        """Whether a function is a method whose first parameter is ``self``."""
        known = self._is_method_by_id.get(id(function))
        if known is None:
            known = self._is_method_by_id[id(function)] = self._looks_like_method(function)
        return known

    def _looks_like_method(self, function: ast.AST) -> bool:
        return (
            isinstance(function, ast.FunctionDef)
            and self.scope(function).kind is ScopeKind.CLASS
            and _first_parameter(function) == "self"
            and not any(
                self.full_name(decorator) in {"staticmethod", "classmethod"} for decorator in function.decorator_list
            )
        )

    def chain(self, node: ast.expr) -> Chain:
        """Take a store target apart, down to what it starts from."""
        attributes: list[str] = []
        while isinstance(node, _TRAILERS):
            if isinstance(node, ast.Attribute):
                attributes.append(node.attr)
            node = node.value
        return Chain(node, tuple(reversed(attributes)))

    # -- facts --

    def _imported_modules(self) -> Iterator[tuple[str, str]]:
        for node in self.of(ast.Import):
            for alias in node.names:
                if alias.name in EXPORTS:
                    yield alias.asname or alias.name, alias.name

    def _imported_names(self) -> Iterator[tuple[str, str]]:
        for node in self.of(ast.ImportFrom):
            if node.module in EXPORTS or node.module in FROM_ONLY_EXPORTS:
                for alias in node.names:
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"

    def _ambiguous_imports(self) -> Iterator[ast.alias]:
        first: dict[str, str] = {}
        for node in self.among(_IMPORTS):
            for alias in node.names:  # type: ignore[attr-defined]  # both have them
                full = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                if first.setdefault(alias.asname or alias.name, full) != full:
                    yield alias

    def _own_attributes(self) -> Iterator[str]:
        for node in self.of(ast.Attribute):
            if isinstance(node.ctx, ast.Store) and self.is_own_self(node.value):
                yield node.attr
        for names in self._class_names.values():
            yield from names

    def _methods_that_trust_self(self) -> Iterator[int]:
        for node in self.of(ast.Attribute):
            if isinstance(node.ctx, ast.Load) and not is_restricted(node.attr):
                continue
            if self.is_own_self(node.value):
                home = self.scope(node.value).resolve("self")
                if home is not None:
                    yield id(home.node)


def is_restricted(attribute: str) -> bool:
    """Whether an attribute may be read on objects of the file only.

    >>> [is_restricted(name) for name in ("_x", "f_back", "close")]
    [True, True, False]
    """
    return attribute.startswith(("_", *FORBIDDEN_ATTRIBUTE_PREFIXES)) or attribute in FORBIDDEN_ATTRIBUTES


class Step(NamedTuple):
    """One node on a walk over a tree."""

    node: ast.AST
    parent: ast.AST
    """The node around it; the root has itself. (A map by identity would not do: operators and contexts are shared.)"""
    depth: int


def in_source_order(tree: ast.AST) -> Iterator[Step]:
    """All nodes, parents before children, without recursion."""
    waiting = [Step(tree, tree, 0)]
    while waiting:
        step = waiting.pop()
        yield step
        node, _, depth = step
        below = children(node)
        if below:
            below.reverse()
            waiting += [Step(child, node, depth + 1) for child in below]


def _first_parameter(function: FunctionNode) -> str | None:
    parameters = [*function.args.posonlyargs, *function.args.args]
    return parameters[0].arg if parameters else None
