"""Gate three, on the text: attributes that do not exist. Models guess names from other engines; the answer names ours.

Only what is certain is reported: ``self`` in the strategy class, the bar of ``on_bar``, the account's numbers, and names on
self that are set nowhere but from ``self.indicator``.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, NamedTuple

from gates import allowed
from gates.rules import finding
from gates.spelling import Spelling
from gates.walks import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gates.findings import Finding

_MAX_FINDINGS: Final = 10
# Names that every object has are not worth a finding here: gate one decides about them.
_PLAIN_BASES: Final = frozenset(("Strategy", "object"))


class _Facts(NamedTuple):
    """What the file says about names on self."""

    known: frozenset[str]
    """Everything that something in the file is given as an attribute, and what strategies inherit."""
    series: frozenset[str]
    """Set on self from ``self.indicator(...)`` and in no other way."""


# Named, because a union that is written where it is used is made anew for each node.
_INNER = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def judge_attributes(nodes: Sequence[ast.AST], strategy: ast.ClassDef) -> Iterator[Finding]:
    """Findings about reads in the methods of the strategy class; ``nodes`` are those of the file."""
    if any(not (isinstance(base, ast.Name) and base.id in _PLAIN_BASES) for base in strategy.bases):
        return  # another base may bring anything
    facts = _facts_of(nodes)
    left, spelling = _MAX_FINDINGS, Spelling(facts.known, cutoff=0.7)
    for method in strategy.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        inside = list(walk(method))
        if not _is_self(method, inside):
            continue
        bar = _bar_of(method, inside)
        for node in inside:
            found = _judge(node, facts, bar, spelling)
            if found is not None:
                yield found
                left -= 1
                if not left:
                    return


def _is_self(method: ast.FunctionDef, inside: Sequence[ast.AST]) -> bool:
    """Whether ``self`` is the strategy in all of the method."""
    parameters = [*method.args.posonlyargs, *method.args.args]
    return bool(parameters) and parameters[0].arg == "self" and not method.decorator_list and _stays(inside, "self")


def _stays(inside: Sequence[ast.AST], name: str) -> bool:
    """Whether a parameter is never given another meaning inside the method, which is the first node."""
    for node in inside:
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, _INNER) and node is not inside[0]:
            if isinstance(node, ast.ClassDef):
                return False
            inner = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if any(parameter.arg == name for parameter in inner):
                return False
    return True


def _bar_of(method: ast.FunctionDef, inside: Sequence[ast.AST]) -> str | None:
    parameters = [*method.args.posonlyargs, *method.args.args]
    if method.name != "on_bar" or len(parameters) < 2 or not _stays(inside, parameters[1].arg):
        return None
    return parameters[1].arg


def _facts_of(nodes: Sequence[ast.AST]) -> _Facts:
    known = set(allowed.STRATEGY_ATTRIBUTES | allowed.PRIVATE_NAMES_OF_STRATEGY)
    from_indicator: set[str] = set()
    from_elsewhere: set[str] = set()
    plain_stores: set[int] = set()
    for node in nodes:
        if isinstance(node, _ASSIGNMENTS):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and (name := _name_on_self(targets[0])) and _is_indicator(node.value):
                from_indicator.add(name)
                plain_stores.add(id(targets[0]))
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            known.add(node.attr)
            if id(node) not in plain_stores:
                from_elsewhere.add(node.attr)
        if isinstance(node, ast.ClassDef):
            in_body = set(_bound_in_body(node))
            known |= in_body
            from_elsewhere |= in_body
    return _Facts(frozenset(known), frozenset(from_indicator - from_elsewhere))


def _bound_in_body(node: ast.ClassDef) -> Iterator[str]:
    for inner in walk(node):
        if isinstance(inner, _DEFINITIONS):
            yield inner.name
        elif isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            yield inner.id
        elif isinstance(inner, ast.alias):
            yield inner.asname or inner.name


def _name_on_self(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return None


def _is_indicator(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and _name_on_self(node.func) == "indicator"


def _judge(node: ast.AST, facts: _Facts, bar: str | None, spelling: Spelling) -> Finding | None:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and not node.attr.startswith("__"):
        return _judge_read(node, facts, bar, spelling)
    if isinstance(node, ast.Compare):
        operators = ast.Gt | ast.GtE | ast.Lt | ast.LtE
        if all(isinstance(operator, operators) for operator in node.ops):
            return _judge_operands([node.left, *node.comparators], facts)
    if isinstance(node, ast.BinOp):
        return _judge_operands([node.left, node.right], facts)
    if isinstance(node, ast.Call) and (name := _name_on_self(node.func)) in allowed.READ_ONLY_STATE:
        return _at("unknown-attribute", f"self.{name} is a value, not a method", node.func, f"write self.{name}")
    return None


def _judge_read(node: ast.Attribute, facts: _Facts, bar: str | None, spelling: Spelling) -> Finding | None:
    name = node.attr
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        if name in facts.known:
            return None
        hint = allowed.ATTRIBUTE_HINTS.get(name) or _nearest(name, spelling)
        return _at("unknown-attribute", f"self.{_short(name)} does not exist", node, hint)
    if isinstance(node.value, ast.Name) and node.value.id == bar:
        if name in allowed.BAR_ATTRIBUTES:
            return None
        hint = "a bar has ts, open, high, low, close and volume"
        return _at("unknown-attribute", f"{bar}.{_short(name)} does not exist", node, hint)
    holder = _name_on_self(node.value)
    if holder in allowed.NUMBERS_OF_STRATEGY and name not in allowed.NUMBER_ATTRIBUTES:
        message = f"self.{holder} is a plain value and has no {_short(name)}"
        return _at(
            "unknown-attribute", message, node, "there are self.position, self.entry_price, self.cash, self.equity"
        )
    if holder in facts.series:
        message = f"self.{_short(str(holder))} is a series and has no {_short(name)}"
        return _at("unknown-attribute", message, node, f"write self.{_short(str(holder))}[-1] for the current value")
    return None


def _judge_operands(operands: list[ast.expr], facts: _Facts) -> Finding | None:
    for operand in operands:
        name = _name_on_self(operand)
        if name in facts.series:
            message = f"self.{_short(str(name))} is a series, not a number"
            return _at(
                "series-as-number", message, operand, f"write self.{_short(str(name))}[-1] for the current value"
            )
    return None


def _nearest(name: str, spelling: Spelling) -> str:
    close = spelling.nearest(name)
    if close:
        return f"did you mean self.{close}?"
    return f"set it in on_start, or use one of {', '.join(sorted(allowed.STRATEGY_ATTRIBUTES))}"


def _short(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "..."


def _at(rule: str, message: str, node: ast.expr, hint: str) -> Finding:
    return finding(rule, message, line=node.lineno, column=node.col_offset + 1, hint=hint)
