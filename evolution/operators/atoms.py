"""Builds well-typed comparisons from what a strategy already declares."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from evolution.operators.anatomy import PRICE_FIELDS, literal
from evolution.operators.scales import Scale, declared_scale

if TYPE_CHECKING:
    import random

    from evolution.operators.anatomy import Anatomy

LEVELS = (20, 30, 40, 50, 60, 70, 80)
"""Thresholds for a series between 0 and 100."""

_AROUND_ZERO = frozenset({Scale.PERCENT, Scale.SWING, Scale.CHANGE, Scale.PATTERN})
_COMPARABLE = frozenset({Scale.PRICE, Scale.VOLUME, Scale.RANGE, Scale.PERCENT, Scale.CHANGE})


class Pair(NamedTuple):
    """Two operands that may be compared."""

    left: ast.expr
    right: ast.expr


def draw_atom(anatomy: Anatomy, rng: random.Random) -> ast.expr | None:
    """One well-typed comparison over the declared series and the bar, either way round; None without a bar."""
    if anatomy.bar is None:
        return None
    subject = rng.choice([None, *anatomy.declarations])
    pairs = _bar_pairs(anatomy.bar) if subject is None else series_pairs(anatomy, subject)
    return compared(rng.choice(pairs), rng) if pairs else None


def series_pairs(anatomy: Anatomy, attribute: str) -> list[Pair]:
    """The comparisons that a declared series may take part in; a series of unknown scale only with its own past."""
    scale = declared_scale(anatomy.declarations[attribute])
    bar = anatomy.bar or ""
    now, before = value(attribute, -1), value(attribute, -2)
    pairs = [] if scale is Scale.PATTERN else [Pair(now, before)]
    if scale is Scale.PRICE:
        pairs += [Pair(field(bar, name), before) for name in PRICE_FIELDS]
    elif scale is Scale.VOLUME:
        pairs.append(Pair(field(bar, "volume"), now))
    elif scale is Scale.RANGE:
        pairs.append(Pair(ast.BinOp(field(bar, "high"), ast.Sub(), field(bar, "low")), now))
    elif scale is Scale.LEVEL:
        pairs += [Pair(now, literal(level)) for level in LEVELS]
    elif scale in _AROUND_ZERO:
        pairs.append(Pair(now, literal(0)))
    if scale in _COMPARABLE:
        others = [name for name in anatomy.declarations if name != attribute]
        pairs += [Pair(now, value(name, -1)) for name in others if declared_scale(anatomy.declarations[name]) is scale]
    return pairs


def compared(pair: Pair, rng: random.Random) -> ast.expr:
    """The comparison of two operands, one way or the other."""
    return ast.Compare(pair.left, [rng.choice((ast.Gt, ast.Lt))()], [pair.right])


def value(attribute: str, offset: int) -> ast.expr:
    """``self.attribute[offset]``."""
    series = ast.Attribute(ast.Name("self", ast.Load()), attribute, ast.Load())
    return ast.Subscript(series, literal(offset), ast.Load())


def field(bar: str, name: str) -> ast.expr:
    """``bar.name``."""
    return ast.Attribute(ast.Name(bar, ast.Load()), name, ast.Load())


def _bar_pairs(bar: str) -> list[Pair]:
    middle = ast.BinOp(ast.BinOp(field(bar, "high"), ast.Add(), field(bar, "low")), ast.Div(), literal(2))
    return [Pair(field(bar, "close"), field(bar, "open")), Pair(field(bar, "close"), middle)]
