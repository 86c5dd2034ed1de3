"""Rules about names: what a file may read, bind and import, and what may stand behind a module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gates import allowed
from gates.form_rules import called, decorators_of
from gates.hooks import is_hook, shown
from gates.scopes import ScopeKind
from gates.spelling import Spelling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gates.findings import Finding
    from gates.reading import Reading

_IMPORTS = (ast.Import, ast.ImportFrom)


def dunder_names(reading: Reading) -> Iterator[Finding]:
    """Names with two leading underscores, or framed by single ones (the hooks of enums), in any field that holds a name.

    Fields are found by type, not by a list: a field that a later Python adds is covered.
    """
    for node in reading.nodes:
        if isinstance(node, ast.Constant):
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            for name in value if isinstance(value, list) else (value,):
                if not isinstance(name, str) or field == "type_comment" or not is_hook(name):
                    continue
                if not _is_allowed_hook(reading, node, name):
                    hint = allowed.NAME_OF_MODULE_HINT if name == "__name__" else None
                    yield reading.finding("dunder-name", f"the name {shown(name)}", node, hint)


def _is_allowed_hook(reading: Reading, node: ast.AST, name: str) -> bool:
    """Defining ``__init__`` in a class, and ``super().__init__(...)``; ``from __future__ import annotations``."""
    if isinstance(node, ast.ImportFrom):
        return name == "__future__"
    if name not in allowed.ALLOWED_DUNDER_METHODS:
        return False
    if isinstance(node, ast.FunctionDef):
        return reading.scope(node).kind is ScopeKind.CLASS
    return isinstance(node, ast.Attribute) and _is_super_call(reading, node)


def _is_super_call(reading: Reading, node: ast.Attribute) -> bool:
    parent = reading.parent(node)
    return (
        isinstance(parent, ast.Call)
        and parent.func is node
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "super"
        and not node.value.args
        and not node.value.keywords
    )


def names(reading: Reading) -> Iterator[Finding]:
    """Names that are read: allowed builtins, injected ones, and what the file itself defines."""
    known = allowed.ALLOWED_BUILTINS | allowed.INJECTED_NAMES | reading.bound
    spelling = Spelling(known, cutoff=0.75)
    for node in reading.of(ast.Name):
        if not isinstance(node.ctx, ast.Load) or is_hook(node.id):
            continue
        if node.id in allowed.FORBIDDEN_NAMES:
            home = reading.scope(node).resolve(node.id)
            if node.id in allowed.LOCAL_NAMES and home is not None and home.kind is ScopeKind.FUNCTION:
                continue
            yield reading.finding("forbidden-name", f"the name {node.id}", node, allowed.NAME_HINTS.get(node.id))
        elif node.id not in known:
            close = spelling.nearest(node.id)
            hint = f"did you mean {close}?" if close else None
            yield reading.finding("unknown-name", f"the name {shown(node.id)} is not defined", node, hint)


def bindings(reading: Reading) -> Iterator[Finding]:
    """Names that are given a meaning: not the refused builtins, not what was imported or injected."""
    decorators = {part.id for decorator in decorators_of(reading) if isinstance(part := called(decorator), ast.Name)}
    for name, node, scope in reading.scopes.bindings:
        is_import = isinstance(node, ast.alias)
        if name in allowed.FORBIDDEN_NAMES:
            if name not in allowed.LOCAL_NAMES or scope.kind is ScopeKind.MODULE:
                yield reading.finding("forbidden-name", f"the name {name}", node, "choose another name")
        elif name in allowed.UNSHADOWED_NAMES:
            yield reading.finding("rebinding", f"{name} gets another meaning", node)
        elif name in reading.modules and not is_import:
            yield reading.finding("rebinding", f"the module {name} gets another meaning", node)
        elif name in allowed.INJECTED_NAMES and (is_import or scope.kind is not ScopeKind.FUNCTION):
            yield reading.finding("rebinding", f"the injected name {name} gets another meaning", node)
        elif name in allowed.PRIVATE_NAMES_OF_STRATEGY and scope.kind is ScopeKind.CLASS:
            yield reading.finding("rebinding", f"{name} belongs to Strategy", node)
        elif name in allowed.CLASS_HOOKS and scope.kind is ScopeKind.CLASS:
            yield reading.finding("rebinding", f"the standard library listens to {name} in a class", node)
        elif name in decorators and not is_import and scope.kind is ScopeKind.MODULE:
            yield reading.finding("rebinding", f"the decorator {name} gets another meaning", node)


def imports(reading: Reading) -> Iterator[Finding]:
    """The seven modules, whole or by listed names."""
    for node in reading.among(_IMPORTS):
        if not isinstance(node, _IMPORTS):
            continue
        if reading.scope(node).kind is ScopeKind.CLASS:
            yield reading.finding("import-form", "an import inside a class", node)
        if isinstance(node, ast.Import):
            yield from _plain_imports(reading, node)
            yield from _aliases(reading, [alias for alias in node.names if alias.name in allowed.EXPORTS])
        else:
            yield from _from_imports(reading, node)
            yield from _aliases(reading, node.names)


def _plain_imports(reading: Reading, node: ast.Import) -> Iterator[Finding]:
    for alias in node.names:
        if alias.name in allowed.EXPORTS:
            continue
        if alias.name.partition(".")[0] in allowed.EXPORTS:
            yield reading.finding("import-form", f"import of {shown(alias.name)}", alias)
        else:
            hint = allowed.MODULE_HINTS.get(alias.name.partition(".")[0])
            yield reading.finding("import-not-allowed", f"import of {shown(alias.name)}", alias, hint)


def _from_imports(reading: Reading, node: ast.ImportFrom) -> Iterator[Finding]:
    module = node.module or ""
    if node.level:
        yield reading.finding("import-form", "a relative import", node)
        return
    exports = allowed.EXPORTS.get(module) or allowed.FROM_ONLY_EXPORTS.get(module)
    if exports is None:
        is_inside = module.partition(".")[0] in allowed.EXPORTS
        rule = "import-form" if is_inside else "import-not-allowed"
        hint = None if is_inside else allowed.MODULE_HINTS.get(module.partition(".")[0])
        yield reading.finding(rule, f"import of {shown(module)}", node, hint)
        return
    for alias in node.names:
        if alias.name == "*":
            yield reading.finding("import-form", f"import of everything in {module}", alias)
        elif alias.name not in exports:
            yield reading.finding("module-attribute", f"{module} does not give out {shown(alias.name)}", alias)


def _aliases(reading: Reading, aliases: list[ast.alias]) -> Iterator[Finding]:
    for alias in aliases:
        is_another = alias.asname in allowed.MISLEADING_ALIASES or alias.asname in allowed.EXPORTS
        if alias.asname is not None and is_another and alias.asname != alias.name:
            yield reading.finding("misleading-alias", f"{shown(alias.name)} imported as {alias.asname}", alias)


def modules(reading: Reading) -> Iterator[Finding]:
    """An imported module has one name of its own, stands before a dot, and after the dot stands a listed name."""
    for alias in reading.ambiguous_imports:
        yield reading.finding("rebinding", f"{shown(alias.asname or alias.name)} stands for two imports", alias)
    for node in reading.of(ast.Name):
        if not (node.id in reading.modules and isinstance(node.ctx, ast.Load)):
            continue
        module, parent = reading.modules[node.id], reading.parent(node)
        if not isinstance(parent, ast.Attribute):
            yield reading.finding("module-as-value", f"the module {node.id} is used as a value", node)
        elif parent.attr not in allowed.EXPORTS[module] and not is_hook(parent.attr):
            message = f"{module} does not give out {shown(parent.attr)}"
            exports = ", ".join(sorted(allowed.EXPORTS[module]))
            yield reading.finding("module-attribute", message, parent, f"use one of {exports}")
