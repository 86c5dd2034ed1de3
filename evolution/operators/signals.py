"""Operators on conditions: turn, negate, rejoin, add and drop signals. Guards stay as they are."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.operators.atoms import draw_atom
from evolution.operators.conditions import (
    CROSSINGS,
    REVERSED,
    Decision,
    Role,
    comparisons,
    crossing,
    decisions,
    is_guard,
)
from evolution.operators.printing import print_tree
from gates.walks import walk

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evolution.operators.anatomy import Anatomy

MAX_SIGNALS = 5
"""Atoms in one decision; beyond that nobody can say why a trade happened."""

LOOSER = {Role.ENTRY: 0.2, Role.EXIT: 0.5}
"""Chance that a new signal is joined by ``or``: most entries gain by being stricter, exits go either way."""


@dataclass(frozen=True, slots=True)
class ComparatorFlip:
    """Turns one comparison or crossing around. Strictness is left alone: it hardly ever changes a trade."""

    name: str = "comparator_flip"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        sites: list[ast.Compare | ast.Call] = []
        for method in parents[0].deciding_methods():
            sites += comparisons(method, method)
            sites += [node for node in walk(method) if isinstance(node, ast.Call) and crossing(node)]
        if not sites:
            return None
        site = rng.choice(sites)
        before = print_tree(site)
        _turn(site)
        return f"{before} -> {print_tree(site)}"


@dataclass(frozen=True, slots=True)
class SignalFlip:
    """Negates the whole signal of one decision: what followed now fades."""

    name: str = "signal_flip"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        sites = [site for site in decisions(parents[0]) if site.signals and all(map(_can_negate, site.signals))]
        if not sites:
            return None
        site = rng.choice(sites)
        negated = [_negated(signal) for signal in site.signals]
        site.decide([negated[0]] if len(negated) == 1 else [ast.BoolOp(ast.Or(), negated)])
        return f"{site.role.value} signal negated"


@dataclass(frozen=True, slots=True)
class BooleanFlip:
    """Swaps ``and`` and ``or`` between signals."""

    name: str = "boolean_flip"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        joined = [site for site in decisions(parents[0]) if len(site.signals) >= 2]
        pure = [
            node
            for method in parents[0].deciding_methods()
            for node in walk(method)
            if isinstance(node, ast.BoolOp) and not any(is_guard(value, method) for value in node.values)
        ]
        tests = {id(site.statement.test) for site in joined}
        sites: list[Decision | ast.BoolOp] = [*joined, *(node for node in pure if id(node) not in tests)]
        if not sites:
            return None
        site = rng.choice(sites)
        if isinstance(site, Decision):
            site.decide([ast.BoolOp(ast.Or(), site.signals)])
            return f"{site.role.value} signals joined by or"
        site.op = ast.And() if isinstance(site.op, ast.Or) else ast.Or()
        return f"joined by {'and' if isinstance(site.op, ast.And) else 'or'}: {print_tree(site)}"


@dataclass(frozen=True, slots=True)
class ConditionInsert:
    """Adds one well-typed comparison of declared series and bar fields to a decision."""

    name: str = "condition_insert"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        return insert(parents[0], draw_atom(parents[0], rng), rng)


@dataclass(frozen=True, slots=True)
class ConditionDelete:
    """Drops one signal of a decision that has several."""

    name: str = "condition_delete"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        sites: list[tuple[Decision, list[ast.expr]]] = []
        for site in decisions(parents[0]):
            inner = site.signals[0] if len(site.signals) == 1 else None
            if isinstance(inner, ast.BoolOp) and not any(is_guard(value, site.method) for value in inner.values):
                sites.append((site, inner.values))
            elif len(site.signals) >= 2:
                sites.append((site, site.signals))
        if not sites:
            return None
        site, signals = rng.choice(sites)
        dropped = rng.choice(signals)
        kept = [signal for signal in signals if signal is not dropped]
        inner = site.signals[0]
        if isinstance(inner, ast.BoolOp) and signals is inner.values and len(kept) > 1:
            inner.values = kept
        else:
            site.decide(kept)
        return f"{site.role.value} signal dropped: {print_tree(dropped)}"


@dataclass(frozen=True, slots=True)
class ConditionHoist:
    """Lets one part of a decision, from any depth, decide alone: what grew around it goes at once."""

    name: str = "condition_hoist"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        sites = [(site, part) for site in decisions(parents[0]) for part in _parts(site)]
        if not sites:
            return None
        site, part = rng.choice(sites)
        site.decide([part])
        return f"{site.role.value} signal hoisted: {print_tree(part)}"


def insert(anatomy: Anatomy, atom: ast.expr | None, rng: random.Random) -> str | None:
    """Join an atom to the signals of some decision of ``on_bar``."""
    sites = [site for site in decisions(anatomy) if site.method is anatomy.on_bar and _atoms(site) < MAX_SIGNALS]
    if atom is None or not sites:
        return None
    return insert_at(rng.choice(sites), atom, rng)


def insert_at(site: Decision, atom: ast.expr, rng: random.Random) -> str | None:
    """Join an atom to the signals of a decision; None when that has enough of them."""
    if _atoms(site) >= MAX_SIGNALS:
        return None
    looser = bool(site.signals) and rng.random() < LOOSER[site.role]
    if looser:
        signal = site.signals[0] if len(site.signals) == 1 else ast.BoolOp(ast.And(), site.signals)
        values = signal.values if isinstance(signal, ast.BoolOp) and isinstance(signal.op, ast.Or) else [signal]
        site.decide([ast.BoolOp(ast.Or(), [*values, atom])])
    else:
        site.decide([*site.signals, atom])
    return f"{site.role.value} {'or' if looser else 'and'} {print_tree(atom)}"


def _parts(site: Decision) -> list[ast.expr]:
    """Whatever stands beside something else in a decision, at any depth, and is no guard; in source order."""
    parts = list(site.signals) if len(site.signals) > 1 else []
    for signal in site.signals:
        parts += [value for node in walk(signal) if isinstance(node, ast.BoolOp) for value in node.values]
    return [part for part in parts if not is_guard(part, site.method)]


def _atoms(site: Decision) -> int:
    return sum(
        isinstance(node, (ast.Compare, ast.Call)) and (isinstance(node, ast.Compare) or crossing(node) is not None)
        for signal in site.signals
        for node in walk(signal)
    )


def _turn(site: ast.Compare | ast.Call) -> None:
    if isinstance(site, ast.Compare):
        site.ops = [REVERSED[type(site.ops[0])]()]
    elif isinstance(site.func, ast.Name):
        site.func.id = CROSSINGS[site.func.id]


def _can_negate(signal: ast.expr) -> bool:
    return all(
        isinstance(node, (ast.Compare, ast.BoolOp, ast.Name)) or crossing(node) is not None for node in _leaves(signal)
    )


def _leaves(signal: ast.expr) -> list[ast.expr]:
    if isinstance(signal, ast.BoolOp):
        return [leaf for value in signal.values for leaf in _leaves(value)]
    return [signal]


def _negated(signal: ast.expr) -> ast.expr:
    match signal:
        case ast.BoolOp(op=operation, values=values):
            return ast.BoolOp(ast.Or() if isinstance(operation, ast.And) else ast.And(), [_negated(v) for v in values])
        case ast.Compare(left=left, ops=[operation], comparators=comparators) if type(operation) in REVERSED:
            return ast.Compare(left, [REVERSED[type(operation)]()], comparators)
        case ast.Call() if crossing(signal):
            turned = ast.Call(signal.func, signal.args, signal.keywords)
            _turn(turned)
            return turned
    return ast.UnaryOp(ast.Not(), signal)
