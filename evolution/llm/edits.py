"""SEARCH/REPLACE answers: the sections of one block, applied to the text that the model was shown, or a coded rejection.

A section replaces whole lines that occur exactly once in the shown text, letter by letter; carriage returns before line
feeds are the only difference that is overlooked. Nothing is matched roughly and no indentation is moved: a change that
lands where its author did not mean it is worse than none.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from evolution.llm.parse import Flaw, Unreadable
from evolution.llm.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

SEARCH, DIVIDER, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
# Whoever misses once by a letter does so again, so nothing is said about how to write sections.
_HINT = "this time answer with the whole file, in one block"
_LINE_LIMIT = 120


@dataclass(frozen=True, slots=True)
class _Section:
    search: tuple[str, ...]
    replace: tuple[str, ...]


class _Place(NamedTuple):
    start: int
    section: _Section

    @property
    def stop(self) -> int:
        return self.start + len(self.section.search)


def apply_edits(shown: str, block: str) -> str | Unreadable:
    r"""The shown text with the sections of ``block`` applied, all of them or none.

    >>> apply_edits("a\nb\nc\n", "<<<<<<< SEARCH\nb\n=======\nB\n>>>>>>> REPLACE\n")
    'a\nB\nc\n'
    """
    sections = _sections(block.replace("\r\n", "\n"))
    if isinstance(sections, Unreadable):
        return sections
    lines = shown.split("\n")
    places: list[_Place] = []
    for number, section in enumerate(sections, 1):
        found = _only_place(lines, section, number)
        if isinstance(found, Unreadable):
            return found
        places.append(found)
    places.sort(key=lambda place: place.start)
    for before, after in pairwise(places):
        if after.start < before.stop:
            return _broken_form(f"two sections change line {after.start + 1}")
    for place in reversed(places):
        lines[place.start : place.stop] = place.section.replace
    return "\n".join(lines)


def _sections(block: str) -> list[_Section] | Unreadable:
    """Read a block line by line. A marker in the wrong place is an error, also inside of code: there is no escaping."""
    sections: list[_Section] = []
    state, old, new = SEARCH, list[str](), list[str]()
    for number, line in enumerate(block.split("\n"), 1):
        marker = line.rstrip()
        if state == SEARCH:
            if marker == SEARCH:
                state, old, new = DIVIDER, [], []
            elif marker:
                return _broken_form(f"line {number} of the block stands outside of a section")
        elif marker == state:
            if state == REPLACE:
                sections.append(_Section(tuple(old), tuple(new)))
            state = REPLACE if state == DIVIDER else SEARCH
        elif marker in {SEARCH, DIVIDER, REPLACE}:
            return _broken_form(f"line {number} of the block is {marker!r}, where {state!r} has to come first")
        else:
            (old if state == DIVIDER else new).append(line)
    if state != SEARCH:
        return _broken_form(f"the last section has no line {state!r}")
    if not sections:
        return _broken_form("the block holds no section")
    return sections


def _only_place(lines: Sequence[str], section: _Section, number: int) -> _Place | Unreadable:
    wanted = list(section.search)
    if not any(line.strip() for line in wanted):
        return _broken_form(f"section {number} searches for nothing")
    if wanted == list(section.replace):
        return Unreadable(
            flaw=Flaw.NOOP,
            message=f"section {number} replaces lines by the same lines",
            hint=_HINT,
        )
    starts = [
        start for start in range(len(lines) - len(wanted) + 1) if list(lines[start : start + len(wanted)]) == wanted
    ]
    if len(starts) == 1:
        return _Place(starts[0], section)
    if starts:
        where = ", ".join(str(start + 1) for start in starts)
        return Unreadable(
            flaw=Flaw.SEARCH_AMBIGUOUS,
            message=f"the lines of section {number} occur {len(starts)} times, from lines {where}",
            hint=_HINT,
        )
    return Unreadable(
        flaw=Flaw.SEARCH_MISS,
        message=f"the lines of section {number} do not occur in the strategy as it was shown{_nearest(lines, wanted)}",
        hint=_HINT,
    )


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """Where the first line that does not occur was probably meant."""
    missing = next((line for line in wanted if line not in lines), wanted[0])
    close = difflib.get_close_matches(missing, [line for line in lines if line.strip()], n=1, cutoff=0.5)
    if not close:
        return ""
    return f"; line {lines.index(close[0]) + 1} there is {one_line(close[0].strip(), _LINE_LIMIT)!r}"


def _broken_form(message: str) -> Unreadable:
    return Unreadable(flaw=Flaw.EDIT_FORM, message=message, hint=_HINT)
