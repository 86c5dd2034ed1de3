"""Gate one, last step: the rules about the syntax tree. Each check is a function of a ``Reading`` that yields findings.

The checks allow what is listed in ``gates.allowed`` and refuse the rest. They are about kinds, not about known attacks: a
name is refused for being a name of that kind in any field of any node, an attribute for what it could be on any object.
"""

from __future__ import annotations

import ast
import string
from typing import TYPE_CHECKING, Final

from gates import allowed
from gates.reading import is_restricted
from gates.scopes import ScopeKind
from gates.spelling import Spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gates.findings import Finding
    from gates.reading import Reading

    Check = Callable[[Reading], Iterable[Finding]]


def syntax(reading: Reading) -> Iterator[Finding]:
    """Only node types on the list; the outermost refused node of a construct speaks for all of it."""
    for node, parent, _ in reading.steps:
        name, around = type(node).__name__, type(parent).__name__
        if name not in allowed.ALLOWED_NODES and (around in allowed.ALLOWED_NODES or node is reading.tree):
            place = node if hasattr(node, "lineno") else parent
            yield reading.finding("syntax-not-allowed", f"{name} is not allowed", place, allowed.NODE_HINTS.get(name))


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
                    yield reading.finding("dunder-name", f"the name {_shown(name)}", node, hint)


def is_hook(name: str) -> bool:
    """Whether the interpreter or a standard class could be listening to this name.

    >>> [is_hook(name) for name in ("__init__", "_missing_", "_own", "_")]
    [True, True, False, False]
    """
    if "_" not in name:
        return False
    if any(part.startswith("__") for part in name.split(".")):
        return True
    return len(name) > 2 and name.startswith("_") and name.endswith("_")


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
    for node in reading.nodes:
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)) or is_hook(node.id):
            continue
        if node.id in allowed.FORBIDDEN_NAMES:
            home = reading.scope(node).resolve(node.id)
            if node.id in allowed.LOCAL_NAMES and home is not None and home.kind is ScopeKind.FUNCTION:
                continue
            yield reading.finding("forbidden-name", f"the name {node.id}", node, allowed.NAME_HINTS.get(node.id))
        elif node.id not in known:
            close = spelling.nearest(node.id)
            hint = f"did you mean {close}?" if close else None
            yield reading.finding("unknown-name", f"the name {_shown(node.id)} is not defined", node, hint)


def bindings(reading: Reading) -> Iterator[Finding]:
    """Names that are given a meaning: not the refused builtins, not what was imported or injected."""
    decorators = {part.id for decorator in _decorators(reading) if isinstance(part := _called(decorator), ast.Name)}
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
    for node in reading.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
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
            yield reading.finding("import-form", f"import of {_shown(alias.name)}", alias)
        else:
            hint = allowed.MODULE_HINTS.get(alias.name.partition(".")[0])
            yield reading.finding("import-not-allowed", f"import of {_shown(alias.name)}", alias, hint)


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
        yield reading.finding(rule, f"import of {_shown(module)}", node, hint)
        return
    for alias in node.names:
        if alias.name == "*":
            yield reading.finding("import-form", f"import of everything in {module}", alias)
        elif alias.name not in exports:
            yield reading.finding("module-attribute", f"{module} does not give out {_shown(alias.name)}", alias)


def _aliases(reading: Reading, aliases: list[ast.alias]) -> Iterator[Finding]:
    for alias in aliases:
        is_another = alias.asname in allowed.MISLEADING_ALIASES or alias.asname in allowed.EXPORTS
        if alias.asname is not None and is_another and alias.asname != alias.name:
            yield reading.finding("misleading-alias", f"{_shown(alias.name)} imported as {alias.asname}", alias)


def modules(reading: Reading) -> Iterator[Finding]:
    """An imported module has one name of its own, stands before a dot, and after the dot stands a listed name."""
    for alias in reading.ambiguous_imports:
        yield reading.finding("rebinding", f"{_shown(alias.asname or alias.name)} stands for two imports", alias)
    for node in reading.nodes:
        if not (isinstance(node, ast.Name) and node.id in reading.modules and isinstance(node.ctx, ast.Load)):
            continue
        module, parent = reading.modules[node.id], reading.parent(node)
        if not isinstance(parent, ast.Attribute):
            yield reading.finding("module-as-value", f"the module {node.id} is used as a value", node)
        elif parent.attr not in allowed.EXPORTS[module] and not is_hook(parent.attr):
            message = f"{module} does not give out {_shown(parent.attr)}"
            exports = ", ".join(sorted(allowed.EXPORTS[module]))
            yield reading.finding("module-attribute", message, parent, f"use one of {exports}")


def attributes(reading: Reading) -> Iterator[Finding]:
    """What may stand after a dot, whatever the object is."""
    for node in reading.nodes:
        if not isinstance(node, ast.Attribute) or is_hook(node.attr):
            continue
        if node.attr.startswith("_"):
            yield from _private_attribute(reading, node)
        elif is_restricted(node.attr) and _is_own_attribute(reading, node):
            continue
        elif node.attr in allowed.FORBIDDEN_ATTRIBUTES:
            if not _is_plain_format(reading, node):
                why = allowed.FORBIDDEN_ATTRIBUTES[node.attr]
                hint = "write an f-string" if node.attr.startswith("format") else None
                yield reading.finding("forbidden-attribute", f"the attribute {node.attr}: {why}", node, hint)
        elif node.attr.startswith(allowed.FORBIDDEN_ATTRIBUTE_PREFIXES):
            message = f"the attribute {_shown(node.attr)}: names like it show the interpreter's frames"
            yield reading.finding("forbidden-attribute", message, node, "choose a name that starts differently")
        elif node.attr in allowed.CLOCK_ATTRIBUTES:
            if not _is_own_clock(reading, node):
                yield reading.finding("not-repeatable", f"{node.attr} of something else than self.clock", node)
        elif node.attr in allowed.CHANCE_ATTRIBUTES and node.attr not in reading.own_attributes:
            yield reading.finding("not-repeatable", f"{node.attr} draws random numbers", node)
        elif _is_bus(node.value) and node.attr not in allowed.BUS_ATTRIBUTES:
            yield reading.finding("bus-attribute", f"the attribute {_shown(node.attr)} of the message bus", node)


def _private_attribute(reading: Reading, node: ast.Attribute) -> Iterator[Finding]:
    if node.attr in allowed.PRIVATE_ATTRIBUTES:
        return
    if not reading.is_own_self(node.value):
        message = f"the private attribute {_shown(node.attr)} of something else than self"
        yield reading.finding("private-attribute", message, node)
    elif node.attr in allowed.PRIVATE_NAMES_OF_STRATEGY:
        yield reading.finding("private-attribute", f"{node.attr} belongs to Strategy", node, "choose another name")
    elif node.attr not in reading.own_attributes:
        message = f"the private attribute {_shown(node.attr)}, which no class of this file sets"
        yield reading.finding("private-attribute", message, node, "set it in __init__ or on_start, or correct its name")


def _is_own_attribute(reading: Reading, node: ast.Attribute) -> bool:
    """An attribute of self that the file itself gives a meaning to: an ordinary word there, whatever it is elsewhere."""
    return node.attr in reading.own_attributes and reading.is_own_self(node.value)


def _is_own_clock(reading: Reading, node: ast.Attribute) -> bool:
    """``self.clock.now``, or a ``self.now`` that the class itself defines."""
    if reading.is_own_self(node.value):
        return node.attr in reading.own_attributes
    holder = node.value
    return isinstance(holder, ast.Attribute) and holder.attr == "clock" and reading.is_own_self(holder.value)


def _is_bus(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "bus") or (isinstance(node, ast.Name) and node.id == "bus")


def _is_plain_format(reading: Reading, node: ast.Attribute) -> bool:
    """``"{} {name:.2f}".format(...)``: called at once, on a text in sight, whose fields name values only."""
    parent = reading.parent(node)
    if not (node.attr == "format" and isinstance(parent, ast.Call) and parent.func is node):
        return False
    holder = node.value
    template: object = None
    if isinstance(holder, ast.Constant):
        template = holder.value
    elif isinstance(holder, ast.Name):
        template = reading.constant(holder)
    return isinstance(template, str) and has_plain_fields(template)


def has_plain_fields(template: str, *, nested: bool = True) -> bool:
    """Whether the fields of a format text are numbers and names only, without dots and brackets.

    >>> has_plain_fields("{:.2f} {name:>{width}}"), has_plain_fields("{0.real}"), has_plain_fields("{0[a]}")
    (True, False, False)
    """
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError:
        return False
    for _, field, spec, _ in parts:
        if field is None:
            continue
        if field and not (field.isascii() and field.isalnum()) and not (field.isidentifier() and not is_hook(field)):
            return False
        if spec and ("{" in spec or "}" in spec) and not (nested and has_plain_fields(spec, nested=False)):
            return False
    return True


def identity(reading: Reading) -> Iterator[Finding]:
    """``is`` asks for one of the few values that exist once, wherever the code runs."""
    for node in reading.nodes:
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(operator, ast.Is | ast.IsNot) and not (
                _exists_once(reading, left) or _exists_once(reading, right)
            ):
                yield reading.finding("identity", "is between two values", node)


def _exists_once(reading: Reading, node: ast.expr) -> bool:
    """None, True, False and ``...``; a member of an enum; a class, a function or another name of the module."""
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is ... or isinstance(node.value, bool)
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and _exists_once(reading, node.value)
    if not isinstance(node, ast.Name):
        return False
    home = reading.scope(node).resolve(node.id)
    return home is None or home is reading.scopes.module


def injected_values(reading: Reading) -> Iterator[Finding]:
    """Engine classes are called, read from, named in types; never handed around, where stores could not be followed."""
    for node in reading.nodes:
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in allowed.INJECTED_CLASSES):
            continue
        home = reading.scope(node).resolve(node.id)
        if home is None and not _is_named_in_place(reading, node):
            yield reading.finding("injected-as-value", f"the class {node.id} is used as a value", node)


def _is_named_in_place(reading: Reading, node: ast.Name) -> bool:
    parent: ast.AST = reading.parent(node)
    if isinstance(parent, ast.Call):
        return parent.func is node or _is_type_test(parent, node)
    if isinstance(parent, ast.Attribute | ast.ClassDef | ast.Compare):
        return True
    child: ast.AST = node
    while isinstance(child, ast.expr):
        parent = reading.parent(child)
        if isinstance(parent, ast.Subscript) and parent.slice is child:
            return True
        if child in (getattr(parent, "annotation", None), getattr(parent, "returns", None)):
            return True
        if isinstance(parent, ast.Call):
            return _is_type_test(parent, child)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr):
            return True
        child = parent
    return False


def _is_type_test(call: ast.Call, argument: ast.AST) -> bool:
    is_test = isinstance(call.func, ast.Name) and call.func.id in {"isinstance", "issubclass"}
    return is_test and len(call.args) == 2 and call.args[1] is argument


def stores(reading: Reading) -> Iterator[Finding]:
    """Attributes are set on self, or on objects of classes of this file; items in containers of one's own."""
    for node in reading.nodes:
        if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Del) and not _is_own_attribute(reading, node):
            yield reading.finding("foreign-store", f"del of the attribute {_shown(node.attr)}", node, "set it to None")
        elif isinstance(node, ast.Attribute) and reading.is_own_self(node.value):
            yield from _engine_store(reading, node)
        elif (why := _foreign(reading, node)) is not None:
            yield reading.finding("foreign-store", why, node)


def _engine_store(reading: Reading, node: ast.Attribute) -> Iterator[Finding]:
    """What a strategy may not even set on itself."""
    if node.attr in allowed.ENGINE_OWN:
        hint = "call super().__init__(name, clock, bus, instrument, timeframe)"
        yield reading.finding("foreign-store", f"self.{node.attr} is the engine's", node, hint)
    elif node.attr in allowed.READ_ONLY_STATE and reading.is_in_strategy(node):
        hint = "ask for orders; keep figures of your own under another name"
        yield reading.finding("foreign-store", f"self.{node.attr} shows the account and is read-only", node, hint)


def _foreign(reading: Reading, target: ast.Attribute | ast.Subscript) -> str | None:
    """Why a target is not the candidate's own, as far as its text shows; None when it may be."""
    chain = reading.chain(target)
    root, attributes_ = chain.root, chain.attributes
    if not isinstance(root, ast.Name):
        return "a change to the result of an expression"
    if root.id in reading.modules:
        return f"a change to the module {root.id}"
    if root.id in allowed.INJECTED_NAMES or root.id in reading.imported:
        return f"a change to {root.id}"
    if _is_class_data(reading, target):
        return None
    if root.id in reading.classes or reading.is_first_parameter_of_classmethod(root):
        return f"a change to the class {root.id}"
    inner = attributes_[:-1] if isinstance(target, ast.Attribute) else attributes_
    for name in inner:
        if name in allowed.ENGINE_ATTRIBUTES:
            return f"a change below {name}, which is the engine's"
    for name in attributes_:
        if name not in reading.own_attributes:
            return f"a change through {_shown(name)}, which no class of this file defines"
    return None


def _is_class_data(reading: Reading, target: ast.Attribute | ast.Subscript) -> bool:
    """``Name.count = ...`` on a class of the file whose body gives ``count`` a value. Classes are made anew by each load."""
    if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
        return False
    return target.attr not in allowed.READ_ONLY_STATE and target.attr in reading.class_data(target.value.id)


def classes(reading: Reading) -> Iterator[Finding]:
    """Bases from the list, no keywords."""
    for node in reading.nodes:
        if not isinstance(node, ast.ClassDef):
            continue
        for base in node.bases:
            is_own = (
                reading.is_generic_class_of_file(base.value.id)
                if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name)
                else isinstance(base, ast.Name) and reading.is_class_of_file(base.id)
            )
            name = base.value if isinstance(base, ast.Subscript) else base
            if not is_own and reading.full_name(name) not in allowed.CLASS_BASES:
                yield reading.finding("class-base", f"class {node.name} inherits from something not on the list", base)
        for keyword in node.keywords:
            yield reading.finding("class-keyword", f"a keyword in the line of class {node.name}", keyword)


def decorators(reading: Reading) -> Iterator[Finding]:
    """Few decorators, and from the list; ``dataclass`` may take constant options."""
    for node in reading.nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and len(node.decorator_list) > allowed.MAX_DECORATORS:
            message = f"more than {allowed.MAX_DECORATORS} decorators"
            yield reading.finding("decorator", message, node, "remove those that change nothing")
    for decorator in _decorators(reading):
        name = reading.full_name(_called(decorator))
        is_fine = name in allowed.DECORATORS
        if isinstance(decorator, ast.Call):
            options = [keyword.value for keyword in decorator.keywords]
            is_fine = name == "dataclasses.dataclass" and not decorator.args
            is_fine = is_fine and all(isinstance(option, ast.Constant) for option in options)
        if not is_fine:
            is_setter = isinstance(decorator, ast.Attribute) and decorator.attr in {"setter", "deleter"}
            hint = "write a method that sets the value" if is_setter else None
            yield reading.finding("decorator", "a decorator that is not on the list", decorator, hint)


def _decorators(reading: Reading) -> Iterator[ast.expr]:
    for node in reading.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from node.decorator_list


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def handlers(reading: Reading) -> Iterator[Finding]:
    """Every ``except`` names what it expects."""
    for node in reading.nodes:
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield reading.finding("bare-except", "except without a type", node)


def literals(reading: Reading) -> Iterator[Finding]:
    """Texts that are not docstrings (or other texts that stand alone as a statement) are short."""
    for node in reading.nodes:
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            continue
        if isinstance(reading.parent(node), ast.Expr):
            continue
        line_ends = node.value.count("\n") if isinstance(node.value, str) else node.value.count(b"\n")
        if len(node.value) > allowed.MAX_STRING_CHARACTERS or line_ends >= allowed.MAX_STRING_LINES:
            message = f"a text of {len(node.value)} characters in {line_ends + 1} lines"
            yield reading.finding("string-literal", message, node)


CHECKS: Final[tuple[Check, ...]] = (
    syntax,
    dunder_names,
    names,
    bindings,
    imports,
    modules,
    attributes,
    identity,
    injected_values,
    stores,
    classes,
    decorators,
    handlers,
    literals,
)
"""Every rule about the tree. All of them always run: a candidate gets all its findings at once."""


def _shown(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "..."
