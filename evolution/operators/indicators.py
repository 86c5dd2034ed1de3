"""Operators on indicator declarations: another indicator of the same kind, another source, one more indicator."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evolution.operators.anatomy import (
    PRICE_FIELDS,
    Anatomy,
    Declaration,
    all_names,
    dissect,
    fresh_name,
    literal,
    number,
    own_attribute,
)
from evolution.operators.atoms import compared, series_pairs
from evolution.operators.conditions import comparisons
from evolution.operators.printing import print_tree
from evolution.operators.scales import family_of
from evolution.operators.signals import insert
from evolution.operators.transplant import hook_of
from runtime.desk import MAX_LOOKBACK
from runtime.indicators import REGISTRY, lookback

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from runtime.indicators import IndicatorSpec

MAX_DECLARATIONS = 7
"""Indicators in one strategy; more are hardly ever readable."""

_MAIN_PERIODS = ("timeperiod", "slowperiod", "fastk_period")
_PRICE_SOURCES = (*PRICE_FIELDS, "hl2", "hlc3")


class Template(NamedTuple):
    """An indicator that may be added to a strategy."""

    attribute: str
    indicator: str
    source: str | None
    option: str
    default: int
    low: int
    high: int


TEMPLATES: tuple[Template, ...] = (
    Template("average", "SMA", "close", "timeperiod", 50, 10, 200),
    Template("ceiling", "MAX", "high", "timeperiod", 20, 5, 120),
    Template("bottom", "MIN", "low", "timeperiod", 20, 5, 120),
    Template("heat", "RSI", "close", "timeperiod", 14, 3, 40),
    Template("strength", "ADX", None, "timeperiod", 14, 5, 40),
    Template("gain", "ROC", "close", "timeperiod", 20, 3, 120),
    Template("swing", "CCI", None, "timeperiod", 20, 5, 60),
    Template("spread", "ATR", None, "timeperiod", 14, 5, 60),
    Template("usual_volume", "SMA", "volume", "timeperiod", 20, 5, 60),
)


@dataclass(frozen=True, slots=True)
class IndicatorSwap:
    """Replaces one indicator by another of its family; the main period is carried over, the rest takes defaults."""

    name: str = "indicator_swap"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        sites = [found for found in parents[0].declarations.values() if family_of(found.indicator)]
        if not sites:
            return None
        site = rng.choice(sites)
        family, old = family_of(site.indicator), REGISTRY[site.indicator]
        members = [member for member in (family.members if family else ()) if member in REGISTRY]
        others = [REGISTRY[member] for member in members if member != old.name]
        if site.source == "volume":
            others = [spec for spec in others if spec.takes_source]
        if not others:
            return None
        new = rng.choice(others)
        site.call.keywords = _mapped(site, old, new)
        site.call.args = [literal(new.name)]
        return f"{site.attribute}: {old.name} -> {new.name}"


@dataclass(frozen=True, slots=True)
class SourceSwap:
    """Reads another price: in a declaration, or on one side of a comparison. Volume and price are never mixed."""

    name: str = "source_swap"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        sites: list[Declaration | ast.Attribute] = [*filter(_reads_price, parents[0].declarations.values())]
        sites += _compared_fields(parents[0])
        if not sites:
            return None
        site = rng.choice(sites)
        if isinstance(site, ast.Attribute):
            before = print_tree(site)
            site.attr = rng.choice([name for name in PRICE_FIELDS if name != site.attr])
            return f"{before} -> {print_tree(site)} in a comparison"
        old = site.source or "close"
        new = rng.choice([name for name in _PRICE_SOURCES if name != old])
        rest = [word for word in site.call.keywords if word.arg != "source"]
        site.call.keywords = [ast.keyword("source", literal(new)), *rest]
        return f"{site.attribute}: source {old} -> {new}"


@dataclass(frozen=True, slots=True)
class IndicatorInsert:
    """Declares one more indicator, with a parameter for its period, and lets a decision look at it."""

    name: str = "indicator_insert"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        child = parents[0]
        known = {(found.indicator, found.source) for found in child.declarations.values()}
        templates = [found for found in TEMPLATES if (found.indicator, found.source) not in known]
        if child.bar is None or len(child.declarations) >= MAX_DECLARATIONS or not templates:
            return None
        attribute = _declare(child, rng.choice(templates))
        view = dissect(child.tree, child.body.name)
        if view is None or attribute not in view.declarations:
            return None
        change = insert(view, compared(rng.choice(series_pairs(view, attribute)), rng), rng)
        return f"{attribute} = {view.declarations[attribute].indicator} added: {change}" if change else None


def lookbacks_fit(anatomy: Anatomy) -> bool:
    """Whether every declaration that can be read has allowed parameters and needs no more history than is given."""
    for declaration in anatomy.declarations.values():
        spec = REGISTRY.get(declaration.indicator)
        if spec is None:
            continue
        values = {}
        for option, expression in declaration.options.items():
            value = _value(expression, anatomy)
            bounds = spec.params.get(option)
            if value is None or bounds is None:
                continue
            if not bounds.low <= value <= bounds.high:
                return False
            values[option] = value
        if lookback(spec.name, values) + 1 > MAX_LOOKBACK:
            return False
    return True


def _value(expression: ast.expr, anatomy: Anatomy) -> float | None:
    parameter = anatomy.parameters.get(own_attribute(expression) or "")
    return parameter.default if parameter else number(expression)


def _main_period(spec: IndicatorSpec) -> str | None:
    return next((option for option in _MAIN_PERIODS if option in spec.params), None)


def _mapped(site: Declaration, old: IndicatorSpec, new: IndicatorSpec) -> list[ast.keyword]:
    words = []
    if site.source is not None and new.takes_source:
        words.append(ast.keyword("source", literal(site.source)))
    period, wanted = site.options.get(_main_period(old) or ""), _main_period(new)
    if period is not None and wanted is not None:
        words.append(ast.keyword(wanted, period))
    return words


def _reads_price(declaration: Declaration) -> bool:
    spec = REGISTRY.get(declaration.indicator)
    return spec is not None and spec.takes_source and declaration.source != "volume"


def _compared_fields(anatomy: Anatomy) -> list[ast.Attribute]:
    return [
        side
        for method in anatomy.deciding_methods()
        for comparison in comparisons(method, method)
        for side in (comparison.left, *comparison.comparators)
        if isinstance(side, ast.Attribute)
        and isinstance(side.value, ast.Name)
        and side.value.id == anatomy.bar
        and side.attr in PRICE_FIELDS
    ]


def _declare(anatomy: Anatomy, template: Template) -> str:
    taken = all_names(anatomy.tree)
    attribute = fresh_name(template.attribute, taken)
    parameter = fresh_name(f"{attribute}_window", taken)
    bounds = [ast.keyword("low", literal(template.low)), ast.keyword("high", literal(template.high))]
    call = ast.Call(ast.Name("param", ast.Load()), [literal(template.default)], bounds)
    on_start = hook_of(anatomy, "on_start", ["self"])
    first_method = next(row for row, node in enumerate(anatomy.body.body) if isinstance(node, ast.FunctionDef))
    anatomy.body.body.insert(first_method, ast.Assign([ast.Name(parameter, ast.Store())], call))
    words = [] if template.source is None else [ast.keyword("source", literal(template.source))]
    words.append(ast.keyword(template.option, ast.Attribute(ast.Name("self", ast.Load()), parameter, ast.Load())))
    value = ast.Call(
        ast.Attribute(ast.Name("self", ast.Load()), "indicator", ast.Load()), [literal(template.indicator)], words
    )
    target = ast.Attribute(ast.Name("self", ast.Load()), attribute, ast.Store())
    row = len(on_start.body) - (bool(on_start.body) and isinstance(on_start.body[-1], ast.Return))
    on_start.body.insert(row, ast.Assign([target], value))
    return attribute
