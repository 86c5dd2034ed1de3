"""Makes a child: chooses an operator, applies it, and accepts only what is small, new and passes gate one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from evolution.operators.anatomy import clone, dissect
from evolution.operators.canonical import canonical_hash, hash_tree, strip_docstrings
from evolution.operators.crossover import LinkedCrossover, SignalGraft
from evolution.operators.documents import vary_document
from evolution.operators.indicators import IndicatorInsert, IndicatorSwap, SourceSwap, lookbacks_fit
from evolution.operators.jitter import ConstantJitter, ParameterJitter
from evolution.operators.orders import ExitEdit, SizeEdit
from evolution.operators.printing import UnprintableError, print_tree
from evolution.operators.prune import prune
from evolution.operators.signals import (
    BooleanFlip,
    ComparatorFlip,
    ConditionDelete,
    ConditionHoist,
    ConditionInsert,
    SignalFlip,
)
from gates import Rejected
from gates.admit import judge_text
from gates.scan import reparse
from gates.walks import walk
from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    import ast
    import random
    from collections.abc import Sequence

    from evolution.operators.operator import Operator

MAX_NODES = 700
"""Syntax tree nodes of a child: about twice the largest seed. A parent that is larger (a model wrote it) may not grow."""

ATTEMPTS = 40
"""Draws of an operator before giving up; a seed needs hardly more than two."""

MAX_DETAIL = 200
"""Characters of ``Variation.detail``: it is shown in tables."""


# Good parents are bred from again and again; a strain holds a tree of a few hundred nodes, some 100 KB.
_STRAINS_REMEMBERED = 512


class Weighted(NamedTuple):
    """An operator and how often it is drawn, relative to the others of its arity."""

    operator: Operator
    weight: float


OPERATORS: tuple[Weighted, ...] = (
    Weighted(ParameterJitter(), 3.0),
    Weighted(IndicatorSwap(), 2.0),
    Weighted(IndicatorInsert(), 2.0),
    Weighted(ConditionInsert(), 1.5),
    Weighted(ExitEdit(), 1.5),
    Weighted(SourceSwap(), 1.0),
    Weighted(ConditionDelete(), 1.0),
    Weighted(ConstantJitter(), 1.0),
    Weighted(BooleanFlip(), 0.75),
    Weighted(SizeEdit(), 0.5),
    Weighted(ComparatorFlip(), 0.5),
    Weighted(SignalFlip(), 0.25),
    Weighted(ConditionHoist(), 0.25),
    Weighted(LinkedCrossover(), 3.0),
    Weighted(SignalGraft(), 1.0),
)
"""All operators. The order is part of a run's reproducibility."""


class Strain(NamedTuple):
    """A parent as operators take it: without docstrings and dead parts."""

    tree: ast.Module
    class_name: str
    hashes: frozenset[str]
    """Of the parent as it is, and without its dead parts: a child that equals either is no child."""
    nodes: int
    """Size of the parent as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """A child that differs in structure from its parents and passes gate one."""

    source: StrategySource
    operator: str
    """``offline/<operator>``."""
    detail: str
    """What was changed, in our own words; quotes at most short expressions of the parents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoVariation:
    """No child came into being."""

    reason: str


def vary(parents: Sequence[StrategySource], rng: random.Random, *, crossover: bool) -> Variation | NoVariation:
    """Make one child without a model.

    The child depends on nothing but the arguments: same parents, same state of the generator, same child.

    Args:
        parents: the first is varied; the second lends parts to a crossover. Any further ones are not looked at.
        rng: the only source of randomness.
        crossover: whether an operator with two parents is used; otherwise one with one parent.

    Example:
        >>> import random
        >>> from evolution.seeds import seed_sources
        >>> (_, trend), (_, breakout), *_ = seed_sources()
        >>> vary([trend, breakout], random.Random(7), crossover=True).operator.partition("/")[0]
        'offline'
    """
    arity = 2 if crossover else 1
    if len(parents) < arity:
        return NoVariation(reason=f"{arity} parents are needed, {len(parents)} given")
    if any(parent.language is Language.SIR for parent in parents[:arity]):
        return _vary_document(parents[:arity], rng, crossover=crossover)
    stock = []
    for parent in parents[:arity]:
        strain = read(parent)
        if strain is None:
            return NoVariation(reason=f"parent {parent.sha256[:12]} is no Python source that the gates admit")
        stock.append(strain)
    if crossover and stock[0].hashes & stock[1].hashes:
        return NoVariation(reason="the two parents are the same strategy")
    choices = [choice for choice in OPERATORS if choice.operator.arity == arity]
    weights = [choice.weight for choice in choices]
    for _ in range(ATTEMPTS):
        child = apply(rng.choices(choices, weights)[0].operator, stock, rng)
        if child is not None:
            return child
    return NoVariation(reason=f"no operator found anything to change in {ATTEMPTS} attempts")


def _vary_document(
    parents: Sequence[StrategySource], rng: random.Random, *, crossover: bool
) -> Variation | NoVariation:
    if len({parent.language for parent in parents}) > 1:
        return NoVariation(reason="the two parents are written in different languages")
    child = vary_document(parents, rng, crossover=crossover)
    if child is None:
        return NoVariation(reason="no edit of the document found anything to change")
    return Variation(source=child.source, operator=f"offline/{child.operator}", detail=_capped(child.detail))


@lru_cache(maxsize=_STRAINS_REMEMBERED)
def read(source: StrategySource) -> Strain | None:
    """A parent in normal form; None when it is no Python, or the gates refuse its text."""
    class_name = judge_text(source) if source.language is Language.PYTHON else None
    if not isinstance(class_name, str):
        return None
    tree = reparse(source)
    strip_docstrings(tree)
    hashes, nodes = {hash_tree(tree, class_name)}, _size(tree)
    if prune(tree, class_name):
        hashes.add(hash_tree(tree, class_name))
    return Strain(tree, class_name, frozenset(hashes), nodes)


def apply(operator: Operator, stock: Sequence[Strain], rng: random.Random) -> Variation | None:
    """One attempt of one operator; None when it found nothing to change or its child is no good.

    No good is what equals a parent, is too large, declares more history than the engine gives, or fails what the gates
    read in its text (gate one, and gate three up to loading).
    """
    first = stock[0]
    copies = [dissect(clone(strain.tree), strain.class_name) for strain in stock]
    anatomies = [anatomy for anatomy in copies if anatomy is not None]
    if not len(anatomies) == len(stock) == operator.arity:
        return None
    try:
        detail = operator.vary(anatomies, rng)
        text = _finished(anatomies[0].tree, first) if detail is not None else None
    except UnprintableError:
        return None
    if detail is None or text is None:
        return None
    source = StrategySource.from_text(text)
    # The door's own question, whose answer it remembers: nobody reads the text again when the child is tried.
    if isinstance(judge_text(source), Rejected):
        return None
    known = frozenset().union(*(strain.hashes for strain in stock))
    if canonical_hash(source) in known:
        return None
    return Variation(source=source, operator=f"offline/{operator.name}", detail=_capped(detail))


def _finished(tree: ast.Module, first: Strain) -> str | None:
    """The text of a child's tree after pruning; None when it is too large or looks too far back."""
    prune(tree, first.class_name)
    anatomy = dissect(tree, first.class_name)
    if anatomy is None or _size(tree) > max(MAX_NODES, first.nodes) or not lookbacks_fit(anatomy):
        return None
    return print_tree(tree)


def _size(tree: ast.Module) -> int:
    return sum(1 for _ in walk(tree))


def _capped(detail: str) -> str:
    line = " ".join(detail.split())
    return line if len(line) <= MAX_DETAIL else f"{line[: MAX_DETAIL - 3]}..."
