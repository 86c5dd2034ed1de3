"""Which name means what: the scopes of a module, without running it.

Python decides at compile time whether a name in a function is a local variable; the rules about names, ``self`` and
imports need the same decision. One difference: ``global`` and ``nonlocal`` are left out, because they are refused.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from gates.walks import children

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class ScopeKind(Enum):
    """How names resolve inside."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    """Also lambdas and comprehensions."""


@dataclass(slots=True, eq=False)
class Scope:
    """One region of text with names of its own."""

    kind: ScopeKind
    node: ast.AST
    parent: Scope | None
    names: dict[str, int] = field(default_factory=dict)
    """How often each name is given a meaning here."""

    def bind(self, name: str) -> None:
        """Count one more binding of ``name``."""
        self.names[name] = self.names.get(name, 0) + 1

    def resolve(self, name: str) -> Scope | None:
        """The scope whose ``name`` is read from here; None when only a builtin or an injected name can be meant."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or scope.kind is not ScopeKind.CLASS):
                return scope
            scope = scope.parent
        return None


class Binding(NamedTuple):
    """A place where a name gets a meaning."""

    name: str
    node: ast.AST
    """Where to point; an ``ast.alias`` for imports."""
    scope: Scope


@dataclass(slots=True)
class Scopes:
    """The scopes of a module, the scope of every node in it, and every binding."""

    module: Scope
    of_node: dict[int, Scope] = field(default_factory=dict)
    """By ``id`` of the node: the scope in which the node is evaluated."""
    bindings: list[Binding] = field(default_factory=list)

    @classmethod
    def of(cls, tree: ast.Module) -> Scopes:
        """Work out all scopes of a tree whose depth has been checked."""
        scopes = cls(Scope(ScopeKind.MODULE, tree, None))
        for statement in tree.body:
            scopes._visit(statement, scopes.module)
        return scopes

    def bound_anywhere(self) -> frozenset[str]:
        """Every name that the text gives a meaning to, in any scope."""
        return frozenset(binding.name for binding in self.bindings)

    def _bind(self, name: str, node: ast.AST, scope: Scope) -> None:
        scope.bind(name)
        self.bindings.append(Binding(name, node, scope))

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        self.of_node[id(node)] = scope
        if isinstance(node, _FUNCTIONS):
            self._visit_function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self._visit_class(node, scope)
        elif isinstance(node, _COMPREHENSIONS):
            self._visit_comprehension(node, scope)
        elif isinstance(node, ast.NamedExpr):
            self._visit_walrus(node, scope)
        else:
            self._bind_here(node, scope)
            for child in children(node):
                self._visit(child, scope)

    def _bind_here(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._bind(node.id, node, scope)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self._bind(node.name, node, scope)
        elif isinstance(node, ast.alias):
            self._bind(node.asname or node.name.partition(".")[0], node, scope)

    def _visit_function(self, node: FunctionNode, scope: Scope) -> None:
        arguments = node.args
        parameters = [
            *arguments.posonlyargs,
            *arguments.args,
            *([arguments.vararg] if arguments.vararg else []),
            *arguments.kwonlyargs,
            *([arguments.kwarg] if arguments.kwarg else []),
        ]
        outside: list[ast.AST | None] = [*arguments.defaults, *arguments.kw_defaults]
        outside += [parameter.annotation for parameter in parameters]
        if not isinstance(node, ast.Lambda):
            outside += [*node.decorator_list, node.returns]
            self._bind(node.name, node, scope)
        for child in outside:
            if child is not None:
                self._visit(child, scope)
        inner = Scope(ScopeKind.FUNCTION, node, scope)
        self.of_node[id(arguments)] = inner
        for parameter in parameters:
            self.of_node[id(parameter)] = inner
            self._bind(parameter.arg, parameter, inner)
        for statement in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self._visit(statement, inner)
        self._visit_unknown_fields(node, inner)

    def _visit_class(self, node: ast.ClassDef, scope: Scope) -> None:
        self._bind(node.name, node, scope)
        for child in (*node.decorator_list, *node.bases, *node.keywords):
            self._visit(child, scope)
        inner = Scope(ScopeKind.CLASS, node, scope)
        for statement in node.body:
            self._visit(statement, inner)
        self._visit_unknown_fields(node, inner)

    def _visit_comprehension(self, node: ast.AST, scope: Scope) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]  # the four types have it
        inner = Scope(ScopeKind.FUNCTION, node, scope)
        for number, generator in enumerate(generators):
            self.of_node[id(generator)] = inner
            self._visit(generator.iter, inner if number else scope)
            self._visit(generator.target, inner)
            for condition in generator.ifs:
                self._visit(condition, inner)
        for child in children(node):
            if not isinstance(child, ast.comprehension):
                self._visit(child, inner)

    def _visit_walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self._visit(node.value, scope)
        outer = scope
        while isinstance(outer.node, _COMPREHENSIONS) and outer.parent is not None:
            outer = outer.parent  # a target inside a comprehension belongs to the function around it
        self.of_node[id(node.target)] = scope
        self._bind(node.target.id, node.target, outer)

    def _visit_unknown_fields(self, node: ast.AST, scope: Scope) -> None:
        """Type parameters and whatever a later Python adds: refused anyway, but every node gets a scope."""
        for child in children(node):
            if id(child) not in self.of_node:
                self._visit(child, scope)
