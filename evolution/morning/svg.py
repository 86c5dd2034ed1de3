"""Drawings as text: elements whose attributes and words are escaped as they are made, and a frame with two axes.

Made by hand, for a page that holds no script and takes nothing from outside: colours and line styles come from the page's style
sheet by class, so that light, dark and print are decided in one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from evolution.escaping import escape_text
from evolution.morning.visible import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.morning.scales import Scale, Tick


class Size(NamedTuple):
    """A drawing's size in the pixels of the screen that it is made for."""

    name: str
    """Class of the drawing; the style sheet shows one of them."""
    width: int
    height: int

    @property
    def is_narrow(self) -> bool:
        """For a phone: fewer ticks."""
        return self.width < 500


def element(name: str, *children: str, **attributes: str | float) -> Markup:
    """An SVG element. Underscores in names of attributes are dashes; a trailing one is dropped (``class_``).

    >>> print(element("text", "a < b", class_="axis", text_anchor="end", x=1.25))
    <text class="axis" text-anchor="end" x="1.2">a &lt; b</text>
    """
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"' for key, value in attributes.items())
    inside = Markup("").join(child if isinstance(child, Markup) else escape(cut(child)) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>")  # noqa: S704 - made of escaped parts


def _text(value: str | float) -> Markup:
    return escape(f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else escape_text(str(value)))


def drawing(key: str, size: Size, title: str, description: str, parts: Iterable[Markup]) -> Markup:
    """A whole drawing: named and described for those who hear it.

    Args:
        key: unique on the page.
        size: of the drawing.
        title: what it is.
        description: what it shows, in a sentence with figures.
        parts: what is in it.
    """
    name, words = f"{key}-{size.name}-title", f"{key}-{size.name}-words"
    return element(
        "svg",
        element("title", title, id=name),
        element("desc", description, id=words),
        *parts,
        class_=f"chart {size.name}",
        viewBox=f"0 0 {size.width} {size.height}",
        width=size.width,
        height=size.height,
        role="img",
        aria_labelledby=f"{name} {words}",
    )


def polyline(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    """A line through points."""
    return element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind)


def horizontal_axis(scale: Scale, ticks: Iterable[Tick], y: float) -> list[Markup]:
    """A base line with ticks and labels under it; labels at the ends stay inside."""
    parts = [element("line", x1=scale.begin, x2=scale.end, y1=y, y2=y, class_="base")]
    for tick in ticks:
        x = scale(tick.value)
        room = 6.2 * len(tick.label) / 2
        anchor = "start" if x - room < 0 else "end" if x + room > scale.end + 12 else "middle"
        parts += [
            element("line", x1=x, x2=x, y1=y, y2=y + 4, class_="base"),
            element("text", tick.label, x=x, y=y + 17, text_anchor=anchor, class_="axis"),
        ]
    return parts


def vertical_axis(scale: Scale, ticks: Iterable[Tick], begin: float, end: float) -> list[Markup]:
    """Lines across at the ticks, with labels left of them."""
    parts = []
    for tick in ticks:
        y = scale(tick.value)
        parts += [
            element("line", x1=begin, x2=end, y1=y, y2=y, class_="grid"),
            element("text", tick.label, x=begin - 6, y=y + 4, text_anchor="end", class_="axis"),
        ]
    return parts


def legend(entries: Sequence[tuple[str, str]], x: float, y: float) -> list[Markup]:
    """Samples of lines with their names, side by side.

    Args:
        entries: class of the line, and its name.
        x: where the first one begins.
        y: base line of the names.
    """
    parts = []
    for kind, words in entries:
        parts += [
            element("line", x1=x, x2=x + 24, y1=y - 4, y2=y - 4, class_=kind),
            element("text", words, x=x + 30, y=y, class_="legend"),
        ]
        x += 30 + 6.6 * len(words) + 18
    return parts
