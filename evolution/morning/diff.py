"""What changed between two texts, line by line, in the form that ``diff -u`` made familiar."""

from __future__ import annotations

from difflib import SequenceMatcher
from enum import Enum
from typing import NamedTuple

from evolution.plural import plural

_CONTEXT = 2
# The matcher's worst case is quadratic; no text that the gates let pass comes near this.
_LONGEST = 1_500
_MOST_LINES = 160
_WIDEST = 240


class Mark(Enum):
    """What became of a line. The value is what is shown before it."""

    KEPT = " "
    ADDED = "+"
    REMOVED = "-"
    SKIPPED = "@"


class DiffLine(NamedTuple):
    """One line of a difference."""

    mark: Mark
    text: str
    """Of either text; our own words where lines were skipped."""


def difference(before: str, after: str) -> tuple[DiffLine, ...]:
    """The lines that changed with two lines around them; empty when the texts are equal.

    What is too long is cut, and says so.
    """
    if before == after:
        return ()
    old, new = lines_of(before), lines_of(after)
    if max(len(old), len(new)) > _LONGEST:
        return (DiffLine(Mark.SKIPPED, f"not compared: {len(old)} and {len(new)} lines, over {_LONGEST}"),)
    found: list[DiffLine] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        found.append(DiffLine(Mark.SKIPPED, f"line {group[0][3] + 1}"))
        for kind, begin, end, new_begin, new_end in group:
            if kind == "equal":
                found += [DiffLine(Mark.KEPT, clipped(line)) for line in old[begin:end]]
                continue
            found += [DiffLine(Mark.REMOVED, clipped(line)) for line in old[begin:end]]
            found += [DiffLine(Mark.ADDED, clipped(line)) for line in new[new_begin:new_end]]
    if len(found) > _MOST_LINES:
        left = len(found) - _MOST_LINES
        return (*found[:_MOST_LINES], DiffLine(Mark.SKIPPED, plural(left, "more line")))
    return tuple(found)


def shown_source(text: str, *, most: int = 240) -> tuple[str, ...]:
    """A text for reading, line by line; the rest is counted."""
    lines = lines_of(text)
    shown = tuple(clipped(line) for line in lines[:most])
    return shown if len(lines) <= most else (*shown, f"... {plural(len(lines) - most, 'more line')}")


def lines_of(text: str) -> list[str]:
    """Lines without their ends; only a newline ends one, as for the parser's line numbers."""
    lines = text.split("\n")
    return lines[:-1] if lines and lines[-1] == "" else lines


def clipped(line: str, widest: int = _WIDEST) -> str:
    """A line of bearable width."""
    return line if len(line) <= widest else f"{line[: widest - 3]}..."
