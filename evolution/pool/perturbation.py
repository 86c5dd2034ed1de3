"""Neighbours of a strategy: the same text with one number moved by a tenth or a fifth.

An edge that lives at one value of a constant and nowhere near it was found by looking at the bars too often. Numbers are changed
where they stand in the text, everything else stays byte for byte.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evolution.operators.documents import document_neighbours
from gates.scan import Scanned, scan
from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = (-0.2, -0.1, 0.1, 0.2)
"""How far a number is moved, as a share of it."""
MOST_NEIGHBOURS = 16
"""Each one costs a run on train, so a strategy with many numbers gets fewer steps for each, and with very many, fewer numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A strategy with one number moved."""

    source: StrategySource
    change: str
    """Like ``line 4: 40 -> 44``."""


class _Number(NamedTuple):
    """A number that may be moved, where it stands."""

    line: int
    start: int
    stop: int
    """Bytes within the line."""
    value: float
    low: float
    high: float


def neighbours_of(source: StrategySource) -> tuple[Neighbour, ...]:
    """The neighbours of a strategy, at most ``MOST_NEIGHBOURS``, in the order of its text; none when the gates refuse it.

    Moved are defaults of ``param`` (within their bounds) and other numeric literals. Places in a series (``x[-2]``), 0, 1, 2 and -1 are
    structure, not tuning, and stay. A whole number stays whole and moves by at least 1.
    """
    if source.language is Language.SIR:
        return tuple(
            Neighbour(source=moved, change=change)
            for moved, change in document_neighbours(source, STEPS, MOST_NEIGHBOURS)
        )
    scanned = scan(source)
    if not isinstance(scanned, Scanned):
        return ()
    numbers = sorted(_numbers(scanned.tree, is_fixed=False))
    if not numbers:
        return ()
    steps = STEPS if len(numbers) * len(STEPS) <= MOST_NEIGHBOURS else (STEPS[0], STEPS[-1])
    most = MOST_NEIGHBOURS // len(steps)
    # Evenly over the text when there are too many.
    chosen = [numbers[place * len(numbers) // most] for place in range(most)] if len(numbers) > most else numbers
    lines = source.data.split(b"\n")
    found: dict[str, Neighbour] = {}
    for number in chosen:
        for step in steps:
            moved = _moved(number, step)
            if moved is not None:
                changed = _written(lines, number, moved)
                found.setdefault(changed.source.sha256, changed)
    return tuple(found.values())


def _numbers(node: ast.AST, *, is_fixed: bool) -> Iterator[_Number]:
    match node:
        case ast.Call(func=ast.Name(id="param"), args=[default, *_], keywords=words):
            bounds = {word.arg: _value(word.value) for word in words}
            low, high = bounds.get("low"), bounds.get("high")
            value = _value(default)
            if value is not None and isinstance(default, ast.Constant):
                yield _at(default, value, -float("inf") if low is None else low, float("inf") if high is None else high)
            return
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() | float() as value) if not is_fixed and value not in {0, 1, 2}:
            yield _at(node, value, -float("inf"), float("inf"))
            return
        case ast.Subscript(value=series, slice=place):
            yield from _numbers(series, is_fixed=is_fixed)
            yield from _numbers(place, is_fixed=True)
            return
        case ast.JoinedStr():
            # Positions inside an f-string are those of its text only from Python 3.12 on, and what it says decides nothing.
            return
    for child in ast.iter_child_nodes(node):
        yield from _numbers(child, is_fixed=is_fixed)


def _value(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    return None


def _at(node: ast.Constant, value: float, low: float, high: float) -> _Number:
    assert node.end_col_offset is not None  # the parser sets it
    return _Number(node.lineno, node.col_offset, node.end_col_offset, value, low, high)


def _moved(number: _Number, step: float) -> float | None:
    value = number.value * (1.0 + step)
    if isinstance(number.value, int):
        moved: float = round(value)
        if moved == number.value:
            moved += 1 if step > 0 else -1
    else:
        # Six digits are more than any strategy needs, and keep 0.1 * 1.1 from looking like noise.
        moved = float(f"{value:.6g}")
    moved = min(max(moved, number.low), number.high)
    if isinstance(number.value, int):
        moved = round(moved)
    return None if moved == number.value else moved


def _written(lines: list[bytes], number: _Number, moved: float) -> Neighbour:
    line = lines[number.line - 1]
    text = repr(moved).encode()
    changed = [*lines]
    changed[number.line - 1] = line[: number.start] + text + line[number.stop :]
    return Neighbour(
        source=StrategySource(b"\n".join(changed)),
        change=f"line {number.line}: {number.value!r} -> {moved!r}",
    )
