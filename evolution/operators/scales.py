"""Which quantities may be compared: the scale of an indicator's output and of an expression.

Typing is what makes random variation useful: a close may be compared with an average of closes, an oscillator with a
level between 0 and 100, a momentum with zero; a close compared with an oscillator is noise that still runs.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from evolution.operators.anatomy import PRICE_FIELDS, Anatomy, Declaration, number, own_attribute
from gates.walks import walk
from runtime.indicators import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Iterator


class Scale(Enum):
    """What the numbers of a series mean."""

    PRICE = auto()
    """Like a close: averages, channel bounds."""
    VOLUME = auto()
    RANGE = auto()
    """A distance between prices, never negative: ATR, standard deviation."""
    LEVEL = auto()
    """0 to 100."""
    SWING = auto()
    """Around 0, mostly within -100 and 100."""
    PERCENT = auto()
    """A change of price in per cent, around 0."""
    CHANGE = auto()
    """A change of price in units of price, around 0."""
    FLOW = auto()
    """Accumulated volume: only its direction means something."""
    PATTERN = auto()
    """Candlestick patterns: -100, 0 or 100."""
    NUMBER = auto()
    """A plain number: a constant, a parameter, a ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Indicators that may stand in for one another: the same scale, the same role."""

    name: str
    scale: Scale
    members: tuple[str, ...]


FAMILIES: tuple[Family, ...] = (
    Family(
        name="average",
        scale=Scale.PRICE,
        members=("SMA", "EMA", "WMA", "TRIMA", "DEMA", "TEMA", "KAMA", "T3", "LINEARREG", "TSF", "MIDPOINT"),
    ),
    Family(name="ceiling", scale=Scale.PRICE, members=("MAX", "BBANDS.upperband", "ACCBANDS.upperband")),
    Family(name="floor", scale=Scale.PRICE, members=("MIN", "BBANDS.lowerband", "ACCBANDS.lowerband")),
    Family(
        name="oscillator",
        scale=Scale.LEVEL,
        members=("RSI", "MFI", "STOCH.slowk", "STOCHF.fastk", "STOCHRSI.fastk", "ULTOSC", "AROON.aroonup"),
    ),
    Family(name="strength", scale=Scale.LEVEL, members=("ADX", "ADXR", "DX")),
    Family(name="swing", scale=Scale.SWING, members=("CMO", "AROONOSC", "CCI")),
    Family(name="percent change", scale=Scale.PERCENT, members=("ROC", "PPO")),
    Family(
        name="price change",
        scale=Scale.CHANGE,
        members=("MOM", "APO", "MACD.macd", "MACD.macdhist"),
    ),
    Family(name="range", scale=Scale.RANGE, members=("ATR", "STDDEV", "TRANGE")),
    Family(name="flow", scale=Scale.FLOW, members=("OBV", "AD")),
)

_LONERS: dict[str, Scale] = {
    "BBANDS.middleband": Scale.PRICE,
    "ACCBANDS.middleband": Scale.PRICE,
    "HT_TRENDLINE": Scale.PRICE,
    "MIDPRICE": Scale.PRICE,
    "SAR": Scale.PRICE,
    "AVGPRICE": Scale.PRICE,
    "MEDPRICE": Scale.PRICE,
    "TYPPRICE": Scale.PRICE,
    "WCLPRICE": Scale.PRICE,
    "PLUS_DI": Scale.LEVEL,
    "MINUS_DI": Scale.LEVEL,
    "STOCH.slowd": Scale.LEVEL,
    "STOCHF.fastd": Scale.LEVEL,
    "STOCHRSI.fastd": Scale.LEVEL,
    "AROON.aroondown": Scale.LEVEL,
    "MACD.macdsignal": Scale.CHANGE,
    "LINEARREG_SLOPE": Scale.CHANGE,
    "ADOSC": Scale.FLOW,
}
"""Indicators with a known scale and no understudy."""

_FAMILY_OF = {member: family for family in FAMILIES for member in family.members}
_FOLLOWS_SOURCE = frozenset({"average", "ceiling", "floor"})


def family_of(indicator: str) -> Family | None:
    """The family of an indicator, under any of its names; None when nothing may stand in for it."""
    spec = REGISTRY.get(indicator)
    return _FAMILY_OF.get(spec.name) if spec else None


def declared_scale(declaration: Declaration) -> Scale | None:
    """The scale of a declared series; None when it is not known."""
    spec = REGISTRY.get(declaration.indicator)
    if spec is None:
        return None
    name = spec.name
    if name.startswith("CDL"):
        return Scale.PATTERN
    family = _FAMILY_OF.get(name)
    if family is None:
        return _LONERS.get(name)
    if declaration.source == "volume":
        unitless = family.scale in {Scale.LEVEL, Scale.SWING, Scale.PERCENT}
        return Scale.VOLUME if family.name in _FOLLOWS_SOURCE else family.scale if unitless else None
    return family.scale


def scale_of(expression: ast.expr, anatomy: Anatomy, method: ast.FunctionDef) -> Scale | None:
    """The scale of an expression inside a method; None when it cannot be told. Follows locals that are set once."""
    return _scale(expression, anatomy, method, depth=0)


def local_values(method: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What a method assigns to a local name, in source order."""
    for node in walk(method):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            yield node.value


def _scale(expression: ast.expr, anatomy: Anatomy, method: ast.FunctionDef, depth: int) -> Scale | None:
    if depth > 8:
        return None
    if number(expression) is not None:
        return Scale.NUMBER
    match expression:
        case ast.Attribute(value=ast.Name(id=owner), attr=field) if owner == anatomy.bar:
            return Scale.VOLUME if field == "volume" else Scale.PRICE if field in PRICE_FIELDS else None
        case ast.Attribute():
            name = own_attribute(expression)
            return Scale.PRICE if name == "entry_price" else Scale.NUMBER if name in anatomy.parameters else None
        case ast.Subscript(value=series):
            declaration = anatomy.declarations.get(own_attribute(series) or "")
            return declared_scale(declaration) if declaration else None
        case ast.Name(id=name):
            values = list(local_values(method, name))
            return _scale(values[0], anatomy, method, depth + 1) if len(values) == 1 else None
        case ast.BinOp(left=left, op=operation, right=right):
            sides = (_scale(left, anatomy, method, depth + 1), _scale(right, anatomy, method, depth + 1))
            return _combined(operation, *sides)
    return None


def _combined(operation: ast.operator, left: Scale | None, right: Scale | None) -> Scale | None:
    if left is None or right is None:
        return None
    match operation:
        case ast.Add() | ast.Sub():
            if {left, right} == {Scale.PRICE, Scale.RANGE}:
                return Scale.PRICE if left is Scale.PRICE or isinstance(operation, ast.Add) else None
            if left is right is Scale.PRICE and isinstance(operation, ast.Sub):
                return Scale.CHANGE
            return left if left is right or right is Scale.NUMBER else right if left is Scale.NUMBER else None
        case ast.Mult():
            return left if right is Scale.NUMBER else right if left is Scale.NUMBER else None
        case ast.Div():
            return left if right is Scale.NUMBER else Scale.NUMBER if left is right else None
    return None
