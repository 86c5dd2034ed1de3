"""``render_page``: a ``Morning`` as one HTML file.

The page holds no script, and its content security policy lets nothing in but its own style sheet, named by hash: even a text that got
past the escaping could not act, load or call. The template engine escapes by itself; before it does, every value goes through
``_visible``, which shows control and bidirectional characters as escapes and bounds what one value can take.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evolution.morning import charts
from evolution.morning.visible import cut
from evolution.plural import plural
from evolution.pool.checks import CHECKS
from evolution.pool.exhibits import AdmissionLimits, Stage
from evolution.pool.looks import LookPolicy
from evolution.pool.sheet import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evolution.morning.page import Morning, Shown
    from evolution.pool import CheckResult

GENERATOR = "trigate report"
"""What a page of ours says in its first lines; a file without it is somebody else's."""

LARGEST_PAGE = 5_000_000
"""Bytes. A page that would be larger leaves out the list of all candidates."""

_HERE = Path(__file__).parent


def render_page(morning: Morning) -> str:
    """The page, complete and self-contained."""
    page = _rendered(morning)
    if len(page.encode()) > LARGEST_PAGE:
        listed = sum(map(len, morning.generations.values()))
        page = _rendered(replace(morning, generations={}, unlisted=morning.unlisted + listed))
    return page


def _rendered(morning: Morning) -> str:
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            morning=morning,
            summary=morning.summary,
            facts=morning.summary.record.facts,
            style=Markup(style),  # noqa: S704 - a file of ours
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
            generator=GENERATOR,
            charts=charts,
            limits=AdmissionLimits(),
            looks=LookPolicy(),
        )
    )


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "figure": figure,
        "percent": percent,
        "span": span,
        "cut": cut,
        "staged": lambda checks: list(_staged(checks)),
        "title": _title,
        "plural": plural,
        "words": _unbroken,
    }
    return made


def _visible(value: object) -> object:
    if isinstance(value, Markup):
        return value
    return "\N{EN DASH}" if value is None else cut(str(value))


def figure(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash where it is undefined."""
    return "\N{EN DASH}" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A fraction as a percentage.

    >>> percent(0.1234)
    '12.3%'
    """
    return "\N{EN DASH}" if value is None else f"{value:.1%}"


def span(seconds: float | None) -> str:
    """A stretch of time in the units that fit it.

    >>> span(42.25), span(600), span(30_000)
    ('42.2 s', '10 min', '8 h 20 min')
    """
    if seconds is None:
        return "\N{EN DASH}"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _staged(checks: Sequence[CheckResult]) -> Iterator[tuple[str, list[CheckResult]]]:
    """Checks under the headings of the evidence sheet; those that have been renamed since come last."""
    stages = {check.name: check.stage for check in CHECKS}
    for stage in Stage:
        own = [check for check in checks if stages.get(check.name) is stage]
        if own:
            yield HEADINGS[stage], own
    other = [check for check in checks if check.name not in stages]
    if other:
        yield "by checks of an earlier version", other


def _unbroken(text: str) -> Markup:
    """Words that a line may end between, and not within: ids and options hold dashes."""
    return Markup(" ").join(Markup('<span class="word">{}</span>').format(cut(word)) for word in text.split(" "))


def _title(shown: Shown) -> str:
    return shown.trial.candidate.id if shown.entry is None else shown.entry.id
