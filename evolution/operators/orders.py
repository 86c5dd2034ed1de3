"""Operators that change how much is bought and how a position is protected: weights, stops, targets, trails."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.operators.anatomy import called_method, keyword, literal, number
from evolution.operators.conditions import Role, order_role, orders
from evolution.operators.jitter import stepped, tidy

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evolution.operators.anatomy import Anatomy

BRACKETS: dict[str, tuple[float, ...]] = {
    "stop_loss": (0.03, 0.05, 0.08, 0.12, 0.2),
    "take_profit": (0.05, 0.1, 0.15, 0.25, 0.4),
    "trail": (0.04, 0.07, 0.1, 0.15, 0.2),
}
"""What a new bracket may start from, as fractions of a price."""

NARROWEST, WIDEST = 0.005, 0.6
"""A bracket inside half a per cent is hit by noise, one beyond 60 per cent never protects."""

WEIGHTS = (0.25, 0.4, 0.5, 0.65, 0.8, 0.95, 1.0)
"""Target weights, as shares of equity."""


@dataclass(frozen=True, slots=True)
class ExitEdit:
    """Adds, moves or drops a bracket (``stop_loss``, ``take_profit``, ``trail``) of an entry order."""

    name: str = "exit_edit"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        child = parents[0]
        calls = _entries(child)
        if not calls:
            return None
        call = rng.choice(calls)
        bracket = rng.choice(tuple(BRACKETS))
        word = keyword(call, bracket)
        if word is None:
            fraction = rng.choice(BRACKETS[bracket])
            call.keywords.append(ast.keyword(bracket, literal(fraction)))
            return f"{bracket} added: {fraction}"
        old = number(word.value)
        if old is None or rng.random() < 0.3:
            if not _has_other_exit(child, call, bracket):
                return None
            call.keywords.remove(word)
            return f"{bracket} dropped"
        new = tidy(min(max(stepped(float(old), rng), NARROWEST), WIDEST))
        word.value = literal(new)
        return f"{bracket} {old} -> {new}"


@dataclass(frozen=True, slots=True)
class SizeEdit:
    """Changes the share of equity that an entry asks for; a plain ``buy()`` of everything becomes a ``target``."""

    name: str = "size_edit"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        calls = [call for call in _entries(parents[0]) if _weight(call) is not None]
        if not calls:
            return None
        call = rng.choice(calls)
        old = _weight(call) or 1.0
        new = rng.choice([weight for weight in WEIGHTS if weight != abs(old)])
        call.func = ast.Attribute(ast.Name("self", ast.Load()), "target", ast.Load())
        call.args = [literal(new if old > 0 else -new)]
        return f"weight {old} -> {new if old > 0 else -new}"


def _entries(anatomy: Anatomy) -> list[ast.Call]:
    return [
        call
        for method in anatomy.deciding_methods()
        for call in orders(method)
        if order_role(call) is Role.ENTRY
        and called_method(call) in {"buy", "target"}
        and all(word.arg for word in call.keywords)
    ]


def _weight(call: ast.Call) -> float | None:
    """The weight that a call asks for; None when it is computed, or when the call is more than plain."""
    if called_method(call) == "target":
        return number(call.args[0]) if call.args else None
    plain = not call.args and all(word.arg in {*BRACKETS, "tag"} for word in call.keywords)
    return 1.0 if plain else None


def _has_other_exit(anatomy: Anatomy, entry: ast.Call, bracket: str) -> bool:
    if any(word.arg in BRACKETS and word.arg != bracket for word in entry.keywords):
        return True
    return any(order_role(call) is Role.EXIT for method in anatomy.deciding_methods() for call in orders(method))
