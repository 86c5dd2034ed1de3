"""Rules about values: what may stand behind a dot, be compared by identity, be handed around and be changed."""

from __future__ import annotations

import ast
import string
from typing import TYPE_CHECKING

from gates import allowed
from gates.hooks import is_hook, shown
from gates.reading import is_restricted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gates.findings import Finding
    from gates.reading import Reading

# Named, because a union that is written where it is used is made anew for each node.
_IDENTITY = (ast.Is, ast.IsNot)
_NAMERS = (ast.Attribute, ast.ClassDef, ast.Compare)
_TARGETS = (ast.Attribute, ast.Subscript)


def attributes(reading: Reading) -> Iterator[Finding]:
    """What may stand after a dot, whatever the object is."""
    for node in reading.of(ast.Attribute):
        if is_hook(node.attr):
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
            message = f"the attribute {shown(node.attr)}: names like it show the interpreter's frames"
            yield reading.finding("forbidden-attribute", message, node, "choose a name that starts differently")
        elif node.attr in allowed.CLOCK_ATTRIBUTES:
            if not _is_own_clock(reading, node):
                yield reading.finding("not-repeatable", f"{node.attr} of something else than self.clock", node)
        elif node.attr in allowed.CHANCE_ATTRIBUTES and node.attr not in reading.own_attributes:
            yield reading.finding("not-repeatable", f"{node.attr} draws random numbers", node)
        elif _is_bus(node.value) and node.attr not in allowed.BUS_ATTRIBUTES:
            yield reading.finding("bus-attribute", f"the attribute {shown(node.attr)} of the message bus", node)


def _private_attribute(reading: Reading, node: ast.Attribute) -> Iterator[Finding]:
    if node.attr in allowed.PRIVATE_ATTRIBUTES:
        return
    if not reading.is_own_self(node.value):
        message = f"the private attribute {shown(node.attr)} of something else than self"
        yield reading.finding("private-attribute", message, node)
    elif node.attr in allowed.PRIVATE_NAMES_OF_STRATEGY:
        yield reading.finding("private-attribute", f"{node.attr} belongs to Strategy", node, "choose another name")
    elif node.attr not in reading.own_attributes:
        message = f"the private attribute {shown(node.attr)}, which no class of this file sets"
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
    for node in reading.of(ast.Compare):
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(operator, _IDENTITY) and not (_exists_once(reading, left) or _exists_once(reading, right)):
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
    for node in reading.of(ast.Name):
        if not (node.id in allowed.INJECTED_CLASSES and isinstance(node.ctx, ast.Load)):
            continue
        home = reading.scope(node).resolve(node.id)
        if home is None and not _is_named_in_place(reading, node):
            yield reading.finding("injected-as-value", f"the class {node.id} is used as a value", node)


def _is_named_in_place(reading: Reading, node: ast.Name) -> bool:
    parent: ast.AST = reading.parent(node)
    if isinstance(parent, ast.Call):
        return parent.func is node or _is_type_test(parent, node)
    if isinstance(parent, _NAMERS):
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
    for node in reading.among(_TARGETS):
        if not isinstance(node, _TARGETS) or isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Del) and not _is_own_attribute(reading, node):
            yield reading.finding("foreign-store", f"del of the attribute {shown(node.attr)}", node, "set it to None")
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
            return f"a change through {shown(name)}, which no class of this file defines"
    return None


def _is_class_data(reading: Reading, target: ast.Attribute | ast.Subscript) -> bool:
    """``Name.count = ...`` on a class of the file whose body gives ``count`` a value. Classes are made anew by each load."""
    if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
        return False
    return target.attr not in allowed.READ_ONLY_STATE and target.attr in reading.class_data(target.value.id)
