"""From bytes to JSON values, without giving one meaning to two texts or two meanings to one.

JSON parsers disagree about duplicate keys, NaN and large numbers; here all three are refused. A number has one form:
``1``, ``1.0`` and ``1e0`` are the same value. Sizes are bounded before anything recursive touches the text.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runtime.sir.problems import Problem, invalid, pointer, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 65_536
"""Sixteen times a long document."""
MAX_DEPTH = 16
"""The schema needs 9."""

# Whole numbers up to here are exact as floats, too.
_EXACT = 2**53
_LONGEST_NUMBER = 40
# A text that does not end reaches to the end of the document, so that no place is looked at twice.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


@dataclass(frozen=True, slots=True)
class _BadNumber:
    text: str


class _Doubled(dict[str, Any]):
    """An object with a key that is there twice."""

    key: str


def read(data: bytes) -> Any | list[Problem]:
    """The JSON value that the bytes hold, numbers in their one form; or what is wrong with them.

    A value is never a list of problems: documents are objects, and anything else at the top is a problem.
    """
    if len(data) > MAX_BYTES:
        return [invalid("too-large", "", f"it has more than {MAX_BYTES} bytes", "no strategy that a person can check is that long",
                         "can the strategy be said with fewer rules")]  # fmt: skip
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [invalid("not-utf8", "", f"byte {error.start} is not UTF-8", "a document is UTF-8 text",
                         "in which encoding was the file saved")]  # fmt: skip
    if _depth(text) > MAX_DEPTH:
        return [invalid("too-deep", "", f"brackets more than {MAX_DEPTH} deep", "no part of the schema is that deep",
                         "what was the nested part meant to say")]  # fmt: skip
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        return [invalid("not-json", "", f"{place}: {error.msg.lower()}", "a document is one JSON object",
                         "is the file complete, and nothing else in it")]  # fmt: skip
    if not isinstance(value, dict):
        return [invalid("not-an-object", "", f"the top level is {shown(value)}", "a document is one JSON object",
                         "is this the right file")]  # fmt: skip
    return value if _is_fine(value) else list(_faults(value, ""))


def _depth(text: str) -> int:
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _number(text: str) -> int | float | _BadNumber:
    if len(text) > _LONGEST_NUMBER:
        return _BadNumber(text)
    value = float(text)
    if not math.isfinite(value) or ("." not in text and abs(value) > _EXACT):
        return _BadNumber(text)
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled = _Doubled(found)
    seen: set[str] = set()
    # The first that was there before: ``add`` gives None.
    doubled.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return doubled


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_int=_number, parse_constant=_BadNumber
)


def _is_fine(value: Any) -> bool:
    # Most documents are: telling places apart costs more than all the rest of reading.
    kind = type(value)
    if kind is str:
        return bool(value.isprintable())
    if kind is dict:
        return all(key.isprintable() and _is_fine(each) for key, each in value.items())
    if kind is list:
        return all(_is_fine(each) for each in value)
    return kind is not _BadNumber and kind is not _Doubled


def _faults(value: Any, where: str) -> Iterator[Problem]:
    match value:
        case dict():
            if isinstance(value, _Doubled):
                yield invalid("duplicate-key", where, f"the key {shown(value.key)} is there twice",
                               "readers would disagree about which one counts", "which of the two is meant")  # fmt: skip
            for key, each in value.items():
                if not key.isprintable():
                    yield _unprintable(where, key)
                yield from _faults(each, where + pointer(key))
        case list():
            for index, each in enumerate(value):
                yield from _faults(each, where + pointer(index))
        case str() if not value.isprintable():
            yield _unprintable(where, value)
        case _BadNumber(text):
            yield invalid("number", where, f"{shown(text)} is no usable number",
                           f"numbers are finite, exact and at most {_LONGEST_NUMBER} characters long",
                           "which number is meant")  # fmt: skip
        case _:
            pass


def _unprintable(where: str, text: str) -> Problem:
    return invalid("unprintable", where, f"{shown(text)} has characters that do not show",
                    "what a person confirms must be what they see", "how should the text read")  # fmt: skip
