"""Variation of documents: typed edits on the tree of a SIR document, valid by construction and compiled all the same.

An edit changes one thing that the schema knows: a number within its range, an indicator, a comparison, a rule, an exit, the size, or
takes the exits of another document with the features that they need. Whatever no rule names is dropped afterwards. A child is taken
only when it compiles and differs from its parents in meaning.
"""

from __future__ import annotations

import copy
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime.desk import MAX_LOOKBACK
from runtime.indicators import REGISTRY, lookback
from runtime.sir.compile import Compiled, compile_once
from runtime.sir.digest import canonical
from runtime.sir.document import MAX_FEATURES, MAX_GROUPS, MAX_RULES, SCHEMA_VERSION
from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

    Tree = dict[str, Any]
    Edit = Callable[[Tree, random.Random], str | None]

ATTEMPTS = 40
"""Draws of an edit before giving up."""

# Series that can stand for one another or be asked for anew: one price scale, or bounded oscillators with their usual levels.
_TRENDS = ("SMA", "EMA", "WMA", "KAMA", "TEMA", "MAX", "MIN", "MIDPOINT", "LINEARREG")
_OSCILLATORS = {
    "RSI": (30.0, 70.0),
    "CMO": (-50.0, 50.0),
    "MFI": (20.0, 80.0),
    "WILLR": (-80.0, -20.0),
    "CCI": (-100.0, 100.0),
}
_COMPARISONS = (">", "<", "crosses_above", "crosses_below")
_SOURCES = ("close", "high", "low", "hlc3")
_LONGEST_PERIOD = 200


class DocumentChild(NamedTuple):
    """A child and what was changed."""

    source: StrategySource
    operator: str
    """Name without its family, like ``sir_number``."""
    detail: str


def parse(source: StrategySource) -> Tree | None:
    """The tree of a document of the newest version that compiles; None for anything else."""
    if source.language is not Language.SIR or not isinstance(compile_once(source.data), Compiled):
        return None
    tree: Tree = _without_nulls(json.loads(source.data))
    return tree if tree["schema_version"] == SCHEMA_VERSION else None


def _without_nulls(value: Any) -> Any:
    """Absent and null mean the same; here it is always absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def without_words(tree: Tree) -> Tree:
    """The document with nothing in it that its author put in words: features are named after their types."""
    said = copy.deepcopy(tree)
    said.pop("explainability", None)
    said["name"], said["market"]["name"] = "a strategy", "any"
    names: dict[str, str] = {}
    for number, feature in enumerate(said["features"], start=1):
        names[feature["id"]] = f"{feature['type'].lower().replace('.', '_')[:24]}_{number}"
        feature["id"] = names[feature["id"]]
    for rule in _rules(said):
        for side in _sides(rule):
            if side["kind"] == "indicator":
                side["id"] = names[side["id"]]
    return said


def written(tree: Tree) -> StrategySource:
    """A document as people read it."""
    return StrategySource((json.dumps(tree, indent=2) + "\n").encode(), Language.SIR)


def meaning(source: StrategySource) -> bytes:
    """What two documents have in common that differ in layout and words only; the bytes themselves for what is no document."""
    tree = parse(source)
    return source.data if tree is None else canonical(without_words(tree))


def vary_document(parents: Sequence[StrategySource], rng: random.Random, *, crossover: bool) -> DocumentChild | None:
    """One child; None when no edit found anything to change in ``ATTEMPTS`` draws."""
    trees = [tree for tree in map(parse, parents) if tree is not None]
    if len(trees) < len(parents):
        return None
    known = {meaning(parent) for parent in parents}
    for _ in range(ATTEMPTS):
        child = copy.deepcopy(trees[0])
        if crossover:
            name, edit = "sir_crossover", _crossed(copy.deepcopy(trees[1]))
        else:
            name, edit = rng.choices(_EDITS, _WEIGHTS)[0]
        detail = edit(child, rng)
        if detail is None:
            continue
        _drop_unused(child)
        source = written(child)
        if isinstance(compile_once(source.data), Compiled) and meaning(source) not in known:
            return DocumentChild(source, name, detail)
    return None


def document_neighbours(
    source: StrategySource, steps: Sequence[float], most: int
) -> Iterator[tuple[StrategySource, str]]:
    """The same document with one of its numbers moved by each of the steps (shares of it); ``most`` of them, evenly over its numbers.

    Moved are parameters, levels, distances and sizes; what then does not compile is left out.
    """
    tree = parse(source)
    places = [] if tree is None else list(_places(tree))
    steps = steps if len(places) * len(steps) <= most else (steps[0], steps[-1])
    count = most // len(steps)
    chosen = [places[at * len(places) // count] for at in range(count)] if len(places) > count else places
    for path in chosen:
        for step in steps:
            moved = copy.deepcopy(tree)
            holder: Any = moved
            for key in path[:-1]:
                holder = holder[key]
            before = holder[path[-1]]
            after = _stepped(before, step)
            holder[path[-1]] = after
            assert moved is not None  # there are places in it
            child = written(moved)
            if isinstance(compile_once(child.data), Compiled):
                yield child, f"{'/'.join(map(str, path))}: {before!r} -> {after!r}"


def _places(tree: Tree) -> Iterator[tuple[Any, ...]]:
    """Paths of the numbers that tune a strategy."""
    for index, feature in enumerate(tree["features"]):
        yield from (("features", index, "params", key) for key in feature["params"] if key != "matype")
    for side in ("entry", "exit"):
        for at, group in enumerate(tree["signals"].get(side) or []):
            for number, rule in enumerate(group["all"]):
                for hand in ("left", "right"):
                    if _is_number(rule[hand]) and rule[hand]["value"] != 0:
                        yield ("signals", side, at, "all", number, hand, "value")
    for name, limit in (tree.get("risk") or {}).items():
        if isinstance(limit, dict):
            yield ("risk", name, "value")
        elif name == "time_stop_bars" and limit is not None:
            yield ("risk", name)


def _stepped(value: float, step: float) -> float:
    if isinstance(value, int) or value.is_integer():
        moved = round(value * (1.0 + step))
        return moved if moved != value else int(value) + (1 if step > 0 else -1)
    return float(f"{value * (1.0 + step):.6g}")


# Edits -----------------------------------------------------------------------------------------------------------


def _number(tree: Tree, rng: random.Random) -> str | None:
    """Move one parameter of an indicator, or one level that something is compared with."""
    places = [(f, key) for f in tree["features"] for key in f["params"]]
    levels = [side for rule in _rules(tree) for side in (rule["left"], rule["right"]) if _is_number(side)]
    if not places and not levels:
        return None
    at = rng.randrange(len(places) + len(levels))
    if at < len(places):
        feature, key = places[at]
        before, spec = feature["params"][key], REGISTRY[_registry_id(feature)].params[key]
        after = _moved(before, spec.kind is int, rng)
        feature["params"][key] = min(
            max(after, spec.low), min(spec.high, _LONGEST_PERIOD) if spec.kind is int else spec.high
        )
        return f"{feature['id']}.{key}: {before:g} -> {feature['params'][key]:g}"
    side = levels[at - len(places)]
    before = side["value"]
    side["value"] = float(f"{before + rng.gauss(0.0, 0.15) * max(abs(before), 1.0):.4g}")
    return f"level: {before:g} -> {side['value']:g}"


def _moved(value: float, is_whole: bool, rng: random.Random) -> float:  # noqa: FBT001 - a plain function of its own
    moved = value * math.exp(rng.gauss(0.0, 0.25))
    if not is_whole:
        return float(f"{moved:.4g}")
    whole = round(moved)
    return whole if whole != value else int(value) + rng.choice((-1, 1))


def _indicator(tree: Tree, rng: random.Random) -> str | None:
    """Put another indicator of the same scale in a feature's place, with its levels."""
    features = [f for f in tree["features"] if f["type"] in _TRENDS or f["type"] in _OSCILLATORS]
    if not features:
        return None
    feature = rng.choice(features)
    before = feature["type"]
    family = _TRENDS if before in _TRENDS else tuple(_OSCILLATORS)
    after = rng.choice([name for name in family if name != before])
    period = int(feature["params"].get("timeperiod", 14))
    feature.update(_feature(feature["id"], after, period, feature.get("source")))
    if before in _OSCILLATORS:
        _rescale(tree, feature["id"], _OSCILLATORS[before], _OSCILLATORS[after])
    return f"{feature['id']}: {before} -> {after}"


def _source(tree: Tree, rng: random.Random) -> str | None:
    """Let an indicator read another price."""
    features = [f for f in tree["features"] if f.get("source") in _SOURCES]
    if not features:
        return None
    feature = rng.choice(features)
    before = feature["source"]
    feature["source"] = rng.choice([each for each in _SOURCES if each != before])
    return f"{feature['id']}: {before} -> {feature['source']}"


def _comparison(tree: Tree, rng: random.Random) -> str | None:
    """Turn a level into a crossing or back, or look the other way."""
    rules = [rule for rule in _rules(tree) if rule["operator"] in _COMPARISONS]
    if not rules:
        return None
    rule = rng.choice(rules)
    before = rule["operator"]
    rule["operator"] = rng.choice([each for each in _COMPARISONS if each != before])
    return f"{before} -> {rule['operator']}"


def _insert(tree: Tree, rng: random.Random) -> str | None:
    """Ask for one thing more, or offer one way more."""
    side = rng.choice(("entry", "entry", "exit"))
    groups = tree["signals"].get(side) or []
    if len(tree["features"]) >= MAX_FEATURES or len(groups) >= MAX_GROUPS:
        return None
    rule = _new_rule(tree, rng)
    if groups and (side == "entry" or rng.random() < 0.5):
        group = rng.choice(groups)
        if len(group["all"]) >= MAX_RULES:
            return None
        group["all"].append(rule)
        how = "and"
    else:
        groups.append({"all": [rule]})
        how = "or"
    tree["signals"][side] = groups
    return f"{side}: {how} {_told(rule)}"


def _delete(tree: Tree, rng: random.Random) -> str | None:
    """Ask for one thing less."""
    sides = [(name, group) for name in ("entry", "exit") for group in tree["signals"].get(name) or []]
    larger = [(name, group) for name, group in sides if len(group["all"]) > 1]
    if larger:
        name, group = rng.choice(larger)
        rule = group["all"].pop(rng.randrange(len(group["all"])))
        return f"{name}: without {_told(rule)}"
    for name in ("entry", "exit"):
        groups = tree["signals"].get(name) or []
        if len(groups) > 1:
            rule = groups.pop(rng.randrange(len(groups)))["all"][0]
            return f"{name}: without {_told(rule)}"
    return None


def _risk(tree: Tree, rng: random.Random) -> str | None:
    """Add, move or drop one of the exits by price or time."""
    risk = tree.get("risk") or {}
    name = rng.choice(("stop_loss", "take_profit", "trailing_stop", "time_stop_bars"))
    if name in risk and rng.random() < 0.3:
        del risk[name]
        detail = f"without {name}"
    elif name == "time_stop_bars":
        risk[name] = max(1, round(risk.get(name, 20) * math.exp(rng.gauss(0.0, 0.4))))
        detail = f"{name} {risk[name]}"
    else:
        usual = {"stop_loss": 8.0, "take_profit": 15.0, "trailing_stop": 10.0}[name]
        value = risk.get(name, {}).get("value", usual) * math.exp(rng.gauss(0.0, 0.3))
        unit = risk.get(name, {}).get("unit", "percent")
        risk[name] = {"value": float(f"{value:.3g}"), "unit": unit}
        detail = f"{name} {risk[name]['value']:g} {unit}"
    tree["risk"] = risk
    if not risk:
        del tree["risk"]
    return detail


def _size(tree: Tree, rng: random.Random) -> str | None:
    """More or less of the equity, or of the units."""
    sizing = tree.get("sizing")
    if not sizing:
        return None
    before = sizing["value"]
    value = before * math.exp(rng.gauss(0.0, 0.3))
    sizing["value"] = float(f"{min(value, 100.0) if sizing['type'] == 'PERCENT_EQUITY' else max(round(value), 1):.3g}")
    return f"size: {before:g} -> {sizing['value']:g}"


def _crossed(other: Tree) -> Edit:
    """An edit that takes one side of the signals, or the exits by price and time, from another document."""

    def edit(tree: Tree, rng: random.Random) -> str | None:
        part = rng.choice(("entry", "exit", "risk"))
        if part == "risk":
            if other.get("risk") == tree.get("risk"):
                return None
            tree.pop("risk", None)
            if other.get("risk"):
                tree["risk"] = other["risk"]
            return "exits by price and time of the second parent"
        groups = other["signals"].get(part)
        if not groups:
            return None
        names = {f["id"]: _fresh_id(f["id"], tree) for f in other["features"]}
        used = {
            side["id"]
            for group in groups
            for rule in group["all"]
            for side in _sides(rule)
            if side["kind"] == "indicator"
        }
        for group in groups:
            for rule in group["all"]:
                for side in _sides(rule):
                    if side["kind"] == "indicator":
                        side["id"] = names[side["id"]]
        tree["features"] += [{**f, "id": names[f["id"]]} for f in other["features"] if f["id"] in used]
        tree["signals"][part] = groups
        return f"{part} of the second parent: {_told(groups[0]['all'][0])}"

    return edit


_TABLE: tuple[tuple[str, Edit, float], ...] = (
    ("sir_number", _number, 4.0),
    ("sir_indicator", _indicator, 2.0),
    ("sir_insert", _insert, 2.0),
    ("sir_risk", _risk, 1.5),
    ("sir_comparison", _comparison, 1.0),
    ("sir_delete", _delete, 1.0),
    ("sir_source", _source, 0.5),
    ("sir_size", _size, 0.5),
)
_EDITS = [(name, edit) for name, edit, _ in _TABLE]
_WEIGHTS = [weight for _, _, weight in _TABLE]


# Pieces ----------------------------------------------------------------------------------------------------------


def _feature(name: str, kind: str, period: int, source: str | None) -> Tree:
    spec = REGISTRY[kind]
    params = {key: (period if key == "timeperiod" else param.default) for key, param in spec.params.items()}
    if "timeperiod" in params:
        low, high = spec.params["timeperiod"].low, min(spec.params["timeperiod"].high, _LONGEST_PERIOD)
        params["timeperiod"] = int(min(max(params["timeperiod"], low), high))
        while lookback(kind, params) + 1 > MAX_LOOKBACK and params["timeperiod"] > low:
            params["timeperiod"] = max(int(low), params["timeperiod"] // 2)
    made: Tree = {"id": name, "type": kind, "params": params}
    # ``source`` is for indicators over one series only; an absent one is written as null, which means the same.
    made["source"] = (source or "close") if spec.takes_source else None
    return made


def _new_rule(tree: Tree, rng: random.Random) -> Tree:
    operator = rng.choice(_COMPARISONS)
    if rng.random() < 0.5:
        kind = rng.choice(tuple(_OSCILLATORS))
        right: Tree = {"kind": "literal", "value": rng.choice(_OSCILLATORS[kind])}
        period = rng.randint(5, 30)
    else:
        kind, period = rng.choice(_TRENDS), rng.randint(5, 150)
        right = {"kind": "price", "field": "close"}
    name = _fresh_id(kind.lower(), tree)
    tree["features"].append(_feature(name, kind, period, "close"))
    return {"left": {"kind": "indicator", "id": name}, "operator": operator, "right": right}


def _fresh_id(wish: str, tree: Tree) -> str:
    taken = {feature["id"] for feature in tree["features"]}
    stem = wish.rstrip("0123456789_")[:24] or "x"
    return next(name for name in (wish, *(f"{stem}_{number}" for number in range(2, 1_000))) if name not in taken)


def _rescale(tree: Tree, name: str, before: tuple[float, float], after: tuple[float, float]) -> None:
    """Move the levels that a feature is compared with to the same places of another scale."""
    share = (after[1] - after[0]) / (before[1] - before[0])
    for rule in _rules(tree):
        sides = _sides(rule)
        if any(side["kind"] == "indicator" and side["id"] == name for side in sides):
            for side in sides:
                if _is_number(side):
                    side["value"] = float(f"{after[0] + (side['value'] - before[0]) * share:.4g}")


def _drop_unused(tree: Tree) -> None:
    used = {side["id"] for rule in _rules(tree) for side in _sides(rule) if side["kind"] == "indicator"}
    tree["features"] = [feature for feature in tree["features"] if feature["id"] in used]


def _rules(tree: Tree) -> Iterator[Tree]:
    for name in ("entry", "exit"):
        for group in tree["signals"].get(name) or []:
            yield from group["all"]


def _sides(rule: Tree) -> tuple[Tree, Tree]:
    return rule["left"], rule["right"]


def _is_number(side: Tree) -> bool:
    return side["kind"] == "literal" and not isinstance(side["value"], (bool, str))


def _registry_id(feature: Tree) -> str:
    kind: str = feature["type"]
    return kind if kind in REGISTRY else f"{kind}.any"


def _told(rule: Tree) -> str:
    def side(operand: Tree) -> str:
        return str(operand.get("id") or operand.get("field") or operand.get("value") or "time")

    return f"{side(rule['left'])} {rule['operator']} {side(rule['right'])}"
