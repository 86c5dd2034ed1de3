"""Operators with two parents: one gives the entry and the other the exit, or one lends the other a signal."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evolution.operators.anatomy import dissect
from evolution.operators.arms import Arm, rebuild
from evolution.operators.conditions import Role, crossing, decisions, is_guard
from evolution.operators.printing import print_tree
from evolution.operators.prune import prune
from evolution.operators.signals import insert_at
from evolution.operators.symbols import SymbolTable, symbol_table
from evolution.operators.transplant import transplant
from gates.walks import walk

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evolution.operators.anatomy import Anatomy
    from evolution.operators.conditions import Decision


@dataclass(frozen=True, slots=True)
class LinkedCrossover:
    """Replaces the entries (or the exits) of the first parent by those of the second, with all that they depend on."""

    name: str = "linked_crossover"
    arity: int = 2

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        host, donor = (symbol_table(parent) for parent in parents[:2])
        role = rng.choice((Role.ENTRY, Role.EXIT))
        given = [arm for arm in donor.arms if arm.role is role]
        kept = any(arm.role not in {None, role} for arm in host.arms)
        if not given or not kept or not (_is_separable(host) and _is_separable(donor)) or _leaves_early(host):
            return None
        bare = _without(host, role)
        moved = _move(bare, donor, given) if bare else None
        if bare is None or moved is None:
            return None
        _add(bare, moved, role)
        return f"{role.value} of the second parent: {_summary(moved)}"


@dataclass(frozen=True, slots=True)
class SignalGraft:
    """Joins one signal of the second parent to a decision of the first that has the same role."""

    name: str = "signal_graft"
    arity: int = 2

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        host, donor = parents[0], parents[1]
        offers = [
            (site.role, atom)
            for site in decisions(donor)
            if site.method is donor.on_bar
            for signal in site.signals
            for atom in _atoms(signal, site)
        ]
        if not offers or host.on_bar is None:
            return None
        role, atom = rng.choice(offers)
        sites = [site for site in decisions(host) if site.role is role and site.method is host.on_bar]
        if not sites:
            return None
        site = rng.choice(sites)
        moved = transplant(symbol_table(host), symbol_table(donor), [atom])
        return insert_at(site, moved[0], rng) if moved else None


def _atoms(signal: ast.expr, site: Decision) -> list[ast.expr]:
    if isinstance(signal, ast.BoolOp):
        parts = [] if any(is_guard(value, site.method) for value in signal.values) else signal.values
        return [atom for part in parts for atom in _atoms(part, site)]
    return [signal] if isinstance(signal, (ast.Compare, ast.Name)) or crossing(signal) else []


def _is_separable(table: SymbolTable) -> bool:
    """Whether every branch with orders either opens or closes."""
    return all(arm.role is not None or not arm.has_orders for arm in table.arms)


def _leaves_early(table: SymbolTable) -> bool:
    """Whether ``on_bar`` returns on the state of the position before it decides: a new arm would never be reached."""
    chains = {id(arm.chain) for arm in table.arms}
    words = {"flat", "long", "short", "position"}
    return any(
        isinstance(statement, ast.If)
        and id(statement) not in chains
        and any(isinstance(node, ast.Return) for node in walk(statement))
        and any(isinstance(node, ast.Attribute) and node.attr in words for node in walk(statement.test))
        for statement in (table.anatomy.on_bar.body if table.anatomy.on_bar else ())
    )


def _move(host: SymbolTable, donor: SymbolTable, given: list[Arm]) -> list[Arm] | None:
    tests = [arm.alone for arm in given if arm.alone is not None]
    if len(tests) < len(given):
        return None
    pieces = [ast.If(test, arm.body, []) for test, arm in zip(tests, given, strict=True)]
    moved = transplant(host, donor, pieces)
    if moved is None:
        return None
    return [Arm(arm.role, new.test, new.test, new.body, new) for arm, new in zip(given, moved, strict=True)]


def _without(host: SymbolTable, role: Role) -> SymbolTable | None:
    """The host after its arms of a role, and what only they used, were taken out of its tree."""
    body = host.anatomy.on_bar.body if host.anatomy.on_bar else []
    for chain in {id(arm.chain): arm.chain for arm in host.arms}.values():
        kept = [arm for arm in host.arms if arm.chain is chain and arm.role is not role]
        row = next(row for row, node in enumerate(body) if node is chain)
        body[row : row + 1] = rebuild(_closed(kept))
    prune(host.anatomy.tree, host.anatomy.body.name)
    anatomy = dissect(host.anatomy.tree, host.anatomy.body.name)
    return symbol_table(anatomy) if anatomy else None


def _add(host: SymbolTable, moved: list[Arm], role: Role) -> None:
    """Put arms into the host's last chain with orders: entries in front, exits behind."""
    body = host.anatomy.on_bar.body if host.anatomy.on_bar else []
    chain = host.arms[-1].chain
    kept = [arm for arm in host.arms if arm.chain is chain]
    row = next(row for row, node in enumerate(body) if node is chain)
    body[row : row + 1] = rebuild([*moved, *kept] if role is Role.ENTRY else [*_closed(kept), *moved])


def _closed(arms: list[Arm]) -> list[Arm]:
    """The same arms with an ``else`` written as a test, so that others may be taken away or come behind."""
    return [replace(arm, test=arm.alone or ast.Constant(value=True)) if arm.test is None else arm for arm in arms]


def _summary(arms: list[Arm]) -> str:
    text = " / ".join(print_tree(arm.test) for arm in arms if arm.test is not None)
    return text if len(text) <= 160 else f"{text[:157]}..."
