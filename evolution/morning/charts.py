"""The drawings of the page: equity and falls, the front over generations, and a family tree. Each for a wide and a narrow screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.morning.scales import Scale, Tick, even_ticks, growth_ticks, is_wide, time_ticks
from evolution.morning.svg import Size, drawing, element, horizontal_axis, legend, polyline, vertical_axis
from evolution.morning.visible import cut
from evolution.plural import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markupsafe import Markup

    from evolution.morning.curves import Curve
    from evolution.morning.family import Family, Relative
    from evolution.morning.page import Arm, Front

_LEFT, _RIGHT, _TOP = 46.0, 12.0, 30.0
_SHARE_OF_FALLS = 0.28
_BETWEEN = 26.0
# A node of the tree with its name beside it needs so much room.
_NODE_WIDTH, _NODE_HEIGHT = 82, 46


def both(draw: Callable[[Size], Markup], wide: int, narrow: int) -> Markup:
    """The same drawing twice, of these heights; the style sheet shows the one that fits the screen."""
    return draw(Size("wide", 720, wide)) + draw(Size("narrow", 328, narrow))


def equity_chart(curve: Curve, key: str, name: str) -> Markup:
    """Growth of 1 on train with the falls below it, a candidate beside buy and hold."""
    return both(lambda size: _equity(curve, key, name, size), 340, 300)


def _equity(curve: Curve, key: str, name: str, size: Size) -> Markup:
    base = size.height - 24.0
    split = _TOP + (base - _TOP - _BETWEEN) * (1 - _SHARE_OF_FALLS)
    x = Scale(low=curve.stamps[0], high=curve.stamps[-1], begin=_LEFT, end=size.width - _RIGHT)
    values = (*curve.strategy, *curve.benchmark)
    # A curve that ended in ruin reaches 0, where a logarithm does not go.
    low, high = max(min(values), 0.0), max(values)
    wide = is_wide(low, high)
    low, high = (low / 1.05, high * 1.05) if wide else (low - 0.04 * (high - low), high + 0.04 * (high - low))
    y = Scale(low=low, high=high, begin=split, end=_TOP, is_logarithmic=wide)
    deepest = max(*curve.deepest, 0.01)
    falls = Scale(low=0.0, high=deepest * 1.05, begin=split + _BETWEEN, end=base)
    depths = [
        Tick(each.value, f"-{100 * each.value:.0f}%" if each.value else "0") for each in even_ticks(0.0, deepest, 2)
    ]
    parts = [
        *_fold_lines(curve, x, size, base),
        *vertical_axis(y, growth_ticks(low, high, 6), _LEFT, size.width - _RIGHT),
        *vertical_axis(falls, depths, _LEFT, size.width - _RIGHT),
        *horizontal_axis(x, time_ticks(curve.stamps[0], curve.stamps[-1], 4 if size.is_narrow else 8), base),
        polyline(_points(x, y, curve.stamps, curve.benchmark), "line market"),
        polyline(_points(x, y, curve.stamps, curve.strategy), "line own"),
        polyline(_points(x, falls, curve.stamps, curve.benchmark_fall), "line market thin"),
        polyline(_points(x, falls, curve.stamps, curve.strategy_fall), "line own thin"),
        *legend((("line own", name), ("line market", "buy and hold")), _LEFT, 16.0),
    ]
    words = (
        f"1 became {curve.strategy[-1]:.2f} with {name} and {curve.benchmark[-1]:.2f} with buy and hold; deepest fall "
        f"{curve.deepest[0]:.1%} against {curve.deepest[1]:.1%}."
    )
    return drawing(
        key, size, f"Growth of 1 and falls from the last peak on train, {name} beside buy and hold", words, parts
    )


def _points(x: Scale, y: Scale, across: Sequence[float], up: Sequence[float]) -> list[tuple[float, float]]:
    return [(x(one), y(other)) for one, other in zip(across, up, strict=True)]


def _fold_lines(curve: Curve, x: Scale, size: Size, base: float) -> list[Markup]:
    parts = []
    for place, (name, stamp) in enumerate(curve.folds):
        if place:
            parts.append(element("line", x1=x(stamp), x2=x(stamp), y1=_TOP, y2=base, class_="fold"))
        if not size.is_narrow:
            parts.append(element("text", cut(name, 16), x=x(stamp) + 5, y=_TOP + 8, class_="faint"))
    return parts


def front_chart(front: Front, control: Front | None, arms: Sequence[Arm], key: str) -> Markup:
    """The hypervolume of the front on train after each generation, and of what was read on validation at the end."""
    return both(lambda size: _front(front, control, arms, key, size), 260, 240)


def _front(front: Front, control: Front | None, arms: Sequence[Arm], key: str, size: Size) -> Markup:
    base = size.height - 26.0
    lines = [("line own", "search, train", front)] + ([("line market", "control, train", control)] if control else [])
    last = max((generation for _, _, each in lines for generation, _ in each.volumes), default=0)
    volumes = [volume for _, _, each in lines for _, volume in each.volumes if volume is not None]
    high = max([*volumes, *(arm.validation_volume for arm in arms), 1e-9]) * 1.06
    room = 30.0 if arms else 8.0
    x = Scale(low=0, high=max(last, 1), begin=_LEFT + 6, end=size.width - _RIGHT - room)
    y = Scale(low=0.0, high=high, begin=base, end=_TOP)
    ticks = [tick for tick in even_ticks(0, max(last, 1), 5 if size.is_narrow else 10) if tick.value == int(tick.value)]
    named = [Tick(tick.value, f"g{int(tick.value):03d}") for tick in ticks if tick.value <= last]
    parts = [
        *vertical_axis(y, even_ticks(0.0, high, 5), _LEFT, size.width - _RIGHT),
        *horizontal_axis(x, named, base),
    ]
    for kind, _, each in reversed(lines):
        points = [(x(generation), y(volume)) for generation, volume in each.volumes if volume is not None]
        parts.append(polyline(points, kind))
        mark = "dot own" if kind == "line own" else "dot market"
        parts += [element("circle", cx=across, cy=up, r=3, class_=mark) for across, up in points]
    for place, arm in enumerate(arms):
        across, up = size.width - _RIGHT - room / 2, y(arm.validation_volume)
        kind = "mark own" if place == 0 else "mark market"
        shape = f"M{across:.1f} {up - 6:.1f} l6 6 l-6 6 l-6 -6 z"
        words = element("title", f"{arm.name} on validation: {arm.validation_volume:.2f}")
        parts.append(element("path", words, d=shape, class_=kind))
    entries = [(kind, words) for kind, words, _ in lines]
    parts += legend(entries, _LEFT, 16.0)
    if arms:
        where = _LEFT + sum(48 + 6.6 * len(words) for _, words in entries)
        if not size.is_narrow:
            parts.append(
                element("text", "\N{BLACK DIAMOND} validation, read once at the end", x=where, y=16.0, class_="legend")
            )
    return drawing(key, size, "Hypervolume of the front after each generation", _in_words(front, control, arms), parts)


def _in_words(front: Front, control: Front | None, arms: Sequence[Arm]) -> str:
    known = [(generation, volume) for generation, volume in front.volumes if volume is not None]
    if not known:
        return "No candidate kept to the limits, so there is no front."
    words = f"{known[0][1]:.2f} after generation {known[0][0]} and {known[-1][1]:.2f} after generation {known[-1][0]}"
    sampled = [volume for _, volume in control.volumes if volume is not None] if control else []
    if sampled:
        words += f"; the control arm came to {sampled[-1]:.2f}"
    for arm in arms:
        words += f"; {arm.name} on validation {arm.validation_volume:.2f}"
    return words + "."


def family_chart(family: Family, key: str, name: str) -> Markup:
    """A candidate's ancestors: from left to right on a wide screen, from the top down on a narrow one."""
    places = _places(family.relatives)
    lanes = 1 + max((lane for _, lane in places.values()), default=0)
    rows = 1 + max((row for row, _ in places.values()), default=0)
    wide = Size("wide", max(240, min(720, rows * 130)), lanes * _NODE_HEIGHT)
    narrow = Size("narrow", 328, rows * _NODE_HEIGHT)
    return _family(family, places, key, name, wide) + _family(family, places, key, name, narrow)


def _places(relatives: Sequence[Relative]) -> dict[str, tuple[int, int]]:
    """Row (generations that have somebody, in order; within one, children after their parents) and lane of each."""
    depth: dict[str, int] = {}
    for each in relatives:
        depth[each.id] = max((depth[parent] + 1 for parent in each.parents if parent in depth), default=0)
    taken: dict[int, int] = {}
    places = {}
    for each in sorted(relatives, key=lambda one: (depth[one.id], not one.is_on_the_line, one.id)):
        row = depth[each.id]
        places[each.id] = row, taken.get(row, 0)
        taken[row] = taken.get(row, 0) + 1
    return places


def _family(family: Family, places: dict[str, tuple[int, int]], key: str, name: str, size: Size) -> Markup:
    rows = 1 + max((row for row, _ in places.values()), default=0)
    lanes = 1 + max((lane for _, lane in places.values()), default=0)
    is_downwards = size.name == "narrow"
    # Many side by side leave room for the names of those on the line only, left of it; the others have theirs as a title.
    is_crowded = is_downwards and lanes * (_NODE_WIDTH + 10) > size.width
    left = _NODE_WIDTH if is_crowded else 10.0
    step = min(_NODE_WIDTH + 10, (size.width - left - 10) / max(lanes - 1, 1))

    def at(identity: str) -> tuple[float, float]:
        row, lane = places[identity]
        if is_downwards:
            return left + lane * step, 12.0 + row * _NODE_HEIGHT
        return 36.0 + row * (size.width - 80) / max(rows - 1, 1), 12.0 + lane * _NODE_HEIGHT

    edges, nodes = [], []
    for each in family.relatives:
        x, y = at(each.id)
        for order, parent in enumerate(each.parents):
            px, py = at(parent)
            kind = "edge main" if each.is_on_the_line and order == 0 else "edge"
            edges.append(element("line", x1=px, y1=py, x2=x, y2=y, class_=kind))
        kind, radius = ("node line-node", 6) if each.is_on_the_line else ("node", 5)
        nodes.append(element("circle", element("title", _about(each)), cx=x, cy=y, r=radius, class_=kind))
        # Under its node on a tree that grows to the right, beside it on one that grows downwards: no edge runs through a name.
        if is_crowded and not each.is_on_the_line:
            continue
        if is_crowded:
            place: dict[str, float | str] = {"x": x - 12, "y": y + 4, "text_anchor": "end"}
        elif is_downwards:
            place = {"x": x + 10, "y": y + 4}
        else:
            place = {"x": x, "y": y + 21, "text_anchor": "middle"}
        nodes.append(element("text", each.id, class_="axis halo", **place))
    words = f"{plural(len(family.relatives), 'candidate')}, from {family.relatives[0].id} to {family.relatives[-1].id}."
    return drawing(key, size, f"Ancestors of {name}", words, [*edges, *nodes])


def _about(relative: Relative) -> str:
    score = "no score" if relative.score is None else f"score {relative.score:.3f}"
    return f"{relative.id}: {relative.outcome}, {score}, {relative.operator}"


def bar(share: float) -> Markup:
    """A share of 1 as a bar; the figure stands beside it, so nobody needs to hear it."""
    filled = element(
        "rect", x="0", y="2", width=f"{100 * max(0.0, min(share, 1.0)):.1f}%", height="10", class_="filled"
    )
    return element("svg", filled, class_="bar", width="100%", height="14", aria_hidden="true", focusable="false")
