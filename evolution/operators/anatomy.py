"""What a strategy is made of, as far as operators are concerned: parameters, indicator declarations, methods, bars.

An ``Anatomy`` is a view of one syntax tree; operators change that tree in place, through the nodes found here, and
look again (``dissect``) when they need a fresh view. Only plain forms are recognised (``self.x = ...`` with one
target, literal bounds, the receiver called ``self``): what is written in another way is left alone.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gates.walks import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

Node = TypeVar("Node", bound=ast.AST)

API_ATTRIBUTES = frozenset({
    "indicator", "need", "history", "buy", "sell", "close", "target", "cancel", "submit", "open_orders", "log",
    "flat", "long", "short", "position", "entry_price", "cash", "equity", "bar_count",
    "name", "clock", "bus", "instrument", "timeframe",
})  # fmt: skip
"""What ``self`` has by the strategy contract; everything else is the strategy's own."""

HOOKS = ("__init__", "on_start", "on_bar", "on_fill", "on_stop")

PRICE_FIELDS = ("open", "high", "low", "close")


@dataclass(frozen=True, slots=True)
class Parameter:
    """``name = param(default, low=..., high=...)`` in the class body."""

    name: str
    statement: ast.Assign
    call: ast.Call
    default: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Declaration:
    """``self.attribute = self.indicator("NAME", ...)``."""

    attribute: str
    statement: ast.Assign
    call: ast.Call
    indicator: str
    source: str | None
    """The ``source`` argument; None where it is left out."""

    @property
    def options(self) -> dict[str, ast.expr]:
        """The indicator's own parameters, in the order in which they are written."""
        return {word.arg: word.value for word in self.call.keywords if word.arg and word.arg != "source"}


@dataclass(frozen=True, slots=True)
class Anatomy:
    """One strategy class and the parts that operators can take hold of, in source order."""

    tree: ast.Module
    body: ast.ClassDef
    methods: dict[str, ast.FunctionDef]
    parameters: dict[str, Parameter]
    declarations: dict[str, Declaration]

    @property
    def on_bar(self) -> ast.FunctionDef | None:
        """The method that decides; None where the class has none of its own."""
        return self.methods.get("on_bar")

    @property
    def bar(self) -> str | None:
        """What ``on_bar`` calls its bar."""
        arguments = self.on_bar.args.args if self.on_bar else []
        return arguments[1].arg if len(arguments) == 2 else None

    def deciding_methods(self) -> Iterator[ast.FunctionDef]:
        """Every method in which conditions and sizes may vary: all but construction and declaration."""
        return (method for name, method in self.methods.items() if name not in {"__init__", "on_start"})


def dissect(tree: ast.Module, class_name: str) -> Anatomy | None:
    """The anatomy of a class of the tree; None when the tree has no such class."""
    body = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name), None)
    if body is None:
        return None
    methods = {node.name: node for node in body.body if isinstance(node, ast.FunctionDef)}
    parameters = {found.name: found for found in map(_parameter, body.body) if found}
    openings = [methods[name] for name in ("__init__", "on_start") if name in methods]
    statements = [statement for method in openings for statement in method.body]
    declarations = {found.attribute: found for found in map(_declaration, statements) if found}
    return Anatomy(tree, body, methods, parameters, declarations)


def own_attribute(node: ast.AST) -> str | None:
    """``x`` of ``self.x``; None for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return None


def called_method(node: ast.AST) -> str | None:
    """``x`` of ``self.x(...)``; None for anything else."""
    return own_attribute(node.func) if isinstance(node, ast.Call) else None


def number(node: ast.AST | None) -> float | None:
    """The value of a literal number, signed or not, as the int or float that is written; None for anything else."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            size = number(operand)
            return None if size is None else -size
    return None


def literal(value: float | str) -> ast.expr:
    """The node that a parser would make of this value."""
    if isinstance(value, (int, float)) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """A keyword argument of a call."""
    return next((word for word in call.keywords if word.arg == name), None)


def clone(node: Node) -> Node:
    """A deep copy without positions. ``copy.deepcopy`` would need three times the stack for a tree at the depth limit.

    What has no fields (``Load``, ``Add``) is shared, as the parser shares it, and values go straight into the copy: its constructor
    would look at each of them first.
    """
    kind = type(node)
    if not kind._fields:
        return node
    twin = kind.__new__(kind)
    held = twin.__dict__
    for name in kind._fields:
        value = getattr(node, name, _ABSENT)
        if isinstance(value, ast.AST):
            held[name] = clone(value)
        elif type(value) is list:
            held[name] = [clone(item) if isinstance(item, ast.AST) else item for item in value]
        elif value is not _ABSENT:
            held[name] = value
    return twin


_ABSENT = object()


def fresh_name(wanted: str, taken: set[str]) -> str:
    """The wanted name, or the first of ``wanted_2``, ``wanted_3``, ... that is not taken.

    >>> fresh_name("upper", {"upper", "upper_2"})
    'upper_3'
    """
    stem = wanted.rsplit("_", 1)[0] if wanted.rsplit("_", 1)[-1].isdigit() and "_" in wanted else wanted
    name, count = wanted, 2
    while name in taken:
        name, count = f"{stem}_{count}", count + 1
    return name


def all_names(tree: ast.AST) -> set[str]:
    """Every identifier that occurs in a tree, in whatever role."""
    names: set[str] = set()
    for node in walk(tree):
        for field in ("id", "attr", "arg", "name", "asname"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                names.add(value)
    return names


def _parameter(statement: ast.stmt) -> Parameter | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="param")) as call):
            low, high = (keyword(call, bound) for bound in ("low", "high"))
            default = number(call.args[0]) if call.args else None
            bounds = [number(word.value) if word else None for word in (low, high)]
            if default is not None and bounds[0] is not None and bounds[1] is not None:
                return Parameter(name, statement, call, default, bounds[0], bounds[1])
    return None


def _declaration(statement: ast.stmt) -> Declaration | None:
    match statement:
        case ast.Assign(targets=[target], value=ast.Call(args=[ast.Constant(value=str() as indicator)]) as call):
            attribute = own_attribute(target)
            if (
                attribute is None
                or called_method(call) != "indicator"
                or any(word.arg is None for word in call.keywords)
            ):
                return None
            source = keyword(call, "source")
            if source is None:
                return Declaration(attribute, statement, call, indicator, None)
            if isinstance(source.value, ast.Constant) and isinstance(source.value.value, str):
                return Declaration(attribute, statement, call, indicator, source.value.value)
    return None
