"""What is wrong with a setting, in our words: the setting, its value, the rule and the way out, in one sentence."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic_core import ErrorDetails

_SECRET_SECTIONS = frozenset({"llm", "feeds"})
"""Somebody may have pasted a key or a password there: no value from them is ever shown."""

_RULES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda c: f"must be above {c['gt']:g}",
    "greater_than_equal": lambda c: f"must be at least {c['ge']:g}",
    "less_than": lambda c: f"must be below {c['lt']:g}",
    "less_than_equal": lambda c: f"must be at most {c['le']:g}",
    "literal_error": lambda c: f"must be {c['expected']}",
    "string_pattern_mismatch": lambda c: f"must look like {c['pattern']}",
    "string_too_short": lambda c: f"must have at least {c['min_length']} characters",
    "string_too_long": lambda c: f"must have at most {c['max_length']} characters",
    "finite_number": lambda _: "must be a finite number",
    "union_tag_invalid": lambda c: f"must be one of {c['expected_tags']}",
    "union_tag_not_found": lambda _: "is needed and is not there",
    "value_error": lambda c: str(c["error"]),
    "missing": lambda _: "is needed and is not there",
}
_KINDS = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be text in quotes",
    "dict": "must be a section, like [name]",
    "model": "must be a section, like [name]",
    "date": "must be a date, like 2026-11-30",
    "list": "must be a list",
    "tuple": "must be a list",
}
"""By the first word of the error's type, for whatever has the wrong kind."""

_SPELLED = {"integer": "int", "number": "float", "boolean": "bool", "string": "string", "date": "date"}


def sentence(error: ErrorDetails, content: Mapping[str, Any], model: type[BaseModel]) -> str:
    """One sentence about one error.

    Args:
        error: As pydantic gives it.
        content: What was read, for telling the setting's own path from the names of alternatives in it.
        model: What the content was checked against, for its other settings.
    """
    path = _path(error["loc"], content)
    key = ".".join(path)
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(path[-1], _siblings(path, model), n=1)
        meant = f"; did you mean {near[0]}?" if near else "; remove it"
        return f"{key}: there is no such setting{meant}"
    is_shown = path[0] not in _SECRET_SECTIONS and error["type"] not in {"missing", "union_tag_not_found"}
    value = f" = {error['input']!r}" if is_shown and isinstance(error["input"], str | int | float | bool) else ""
    if error["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        key += f".{error['ctx']['discriminator'].strip(chr(39))}"
    if error["type"] in {"missing", "union_tag_not_found"}:
        way_out = "add it"
    else:
        # Sections of these kinds have settings without a default.
        way_out = "change it" if path[0] in _SECRET_SECTIONS else "change it, or leave it out for the default"
    return f"{key}{value}: {_rule(error)}; {way_out}"


def in_our_words(message: str) -> str:
    """A complaint about an argument, without the words of the library that read it.

    >>> in_our_words("Invalid value for '--seed': Input should be a valid integer, unable to parse string as an integer")
    "Invalid value for '--seed': must be a whole number"
    >>> in_our_words("Invalid value for '--limit': Input should be greater than or equal to 1")
    "Invalid value for '--limit': must be greater than or equal to 1"
    >>> in_our_words("No such option: --generation (Possible options: --generations)")
    'No such option: --generation; did you mean --generations?'
    >>> in_our_words("No such command 'evolv'. Did you mean 'evolve'?")
    "No such command 'evolv'; did you mean 'evolve'?"
    >>> in_our_words("Got unexpected extra argument(s) (extra)")
    'There is no place for extra'
    """
    message = re.sub(r" \(Possible options: (.+)\)$", r"; did you mean \1?", message.strip())
    message = message.replace(". Did you mean ", "; did you mean ")
    message = re.sub(r"^Got unexpected extra argument(?:\(s\)|s)? \((.+)\)$", r"There is no place for \1", message)
    before, said, rule = message.partition("Input should be ")
    if not said:
        return message
    kind = re.match(r"an? valid (\w+)", rule)
    return before + (_KINDS.get(_SPELLED.get(kind[1], ""), f"must be {rule}") if kind else f"must be {rule}")


def _rule(error: ErrorDetails) -> str:
    kind = error["type"]
    known = _RULES.get(kind)
    if known is not None:
        return known(error.get("ctx", {}))
    return _KINDS.get(kind.partition("_")[0], "is not of the right kind")


def _path(places: Sequence[str | int], content: Mapping[str, Any]) -> list[str]:
    """The setting as it stands in the file: pydantic also names the alternative that it had chosen."""
    path: list[str] = []
    here: Any = content
    for number, place in enumerate(places):
        is_last = number + 1 == len(places)
        if isinstance(here, dict) and isinstance(place, str) and place not in here and not is_last:
            continue
        path.append(str(place))
        here = here.get(place) if isinstance(here, dict) else None
    return path or ["the configuration"]


def _siblings(path: Sequence[str], model: type[BaseModel]) -> list[str]:
    """Settings beside the last one of ``path``, as far as they can be found by name."""
    here: Any = model
    for place in path[:-1]:
        fields = here.model_fields if isinstance(here, type) and issubclass(here, BaseModel) else {}
        here = fields[place].annotation if place in fields else None
    return list(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else []
