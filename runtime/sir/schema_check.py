"""The schema stage: from JSON values to a ``Document``, or to one problem per place that does not fit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from runtime.sir.document import Document
from runtime.sir.problems import Category, Problem, pointer, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_PROBLEMS = 50
"""Nobody reads more; the last line says how many there are."""

# Some reasons quote the value.
_LONGEST_REASON = 300

_QUESTIONS = {
    "timeframe": "which bars to trade on, like 1d or 15m",
    "timeperiod": "over how many bars",
    "params": "which settings the indicator has",
    "sizing": "how much to buy each time",
    "entry": "when to go in",
    "exit": "when to go out",
    "operator": "how the two are compared",
    "mode": "whether this is a screener, a backtest or paper trading",
    "market": "which market",
    "symbol": "which symbol",
    "venue": "where it is traded",
    "stop_loss": "how much may be lost before getting out",
}


def as_model(tree: dict[str, Any]) -> Document | list[Problem]:
    """The document as a model.

    Args:
        tree: a document in the newest version, from ``runtime.sir.upgrade``.
    """
    try:
        # By way of text: strict validation takes words for enums and days from JSON only.
        return Document.model_validate_json(json.dumps(tree))
    except ValidationError as error:
        return _problems(tree, error)


def _problems(tree: dict[str, Any], error: ValidationError) -> list[Problem]:
    found: dict[str, Problem] = {}
    for detail in error.errors(include_url=False, include_context=False):
        problem = _problem(tree, detail["loc"], detail["type"], detail["msg"])
        # A union says it once for each of its forms.
        found.setdefault(problem.where, problem)
    problems = list(found.values())
    if len(problems) > MOST_PROBLEMS:
        left = len(problems) - MOST_PROBLEMS
        rest = Problem(category=Category.VALIDATION, rule="more", where="", what=f"{left} more places do not fit",
                       why=f"only the first {MOST_PROBLEMS} are listed", ask="whether this is a document at all")  # fmt: skip
        problems = [*problems[:MOST_PROBLEMS], rest]
    return problems


def _problem(tree: dict[str, Any], loc: Sequence[str | int], kind: str, message: str) -> Problem:
    steps, value = _place(tree, loc, is_missing=kind == "missing")
    where = pointer(*steps)
    name = next((str(step) for step in reversed(steps) if isinstance(step, str)), "document")
    match kind:
        case "missing":
            rule, what, why = "missing", "it is missing", "the schema has no defaults"
        case "extra_forbidden":
            rule, what, why = "unknown-field", f"there is no field {shown(name)}", "the schema is closed"
        case _ if where.endswith("/value") and len(steps) > 1 and steps[-2] in {"left", "right"}:
            rule, what, why = (
                "literal",
                f"{shown(value)} is no constant",
                "a constant is a number up to 1e15, true, false or a time HH:MM",
            )
        case _:
            rule, what, why = (
                kind.replace("_", "-"),
                f"{shown(value)} does not fit",
                f"{message[:1].lower()}{message[1:_LONGEST_REASON]}",
            )
    question = _QUESTIONS.get(name) or f"what {shown(name)} should be"
    if rule == "unknown-field":
        question = f"what {shown(name)} was meant to do"
    return Problem(category=Category.VALIDATION, rule=rule, where=where, what=what, why=why, ask=question)


def _place(tree: Any, loc: Sequence[str | int], *, is_missing: bool) -> tuple[list[str | int], Any]:
    """The steps of a location that are in the document (those that pydantic adds for unions are not), and what is there."""
    steps: list[str | int] = []
    value = tree
    for number, step in enumerate(loc, 1):
        below = _below(value, step)
        if below is not _NOTHING:
            value = below
        elif not (is_missing and number == len(loc)):
            continue
        steps.append(step)
    return steps, value


_NOTHING = object()


def _below(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step, _NOTHING)
    if isinstance(value, list) and isinstance(step, int):
        return value[step] if step < len(value) else _NOTHING
    return _NOTHING
