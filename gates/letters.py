"""Gate one, first step: the bytes. Is this a text that every reader and every Python sees alike?

Carriage returns: allowed as the pair CR LF only, because every Python and every viewer reads the pair as one line end,
and files from Windows editors are ordinary. A CR alone is refused: some viewers show one line where Python reads two.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from gates.allowed import MAX_SOURCE_BYTES
from gates.rules import finding

if TYPE_CHECKING:
    from gates.findings import Finding

# The pattern of PEP 263, which Python applies to the first two lines.
_COOKIE: Final = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
# Control, format (bidi, joiners, tags), line and paragraph separators, private use, surrogates.
_HIDDEN_CATEGORIES: Final = frozenset(("Cc", "Cf", "Zl", "Zp", "Co", "Cs"))
# Letters and symbols that show as nothing: Hangul fillers, Braille blank, Khmer inherent vowels.
_INVISIBLE: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5")
_JOINER: Final = "\u200d"
# The variation selector for pictures, and the skin tones.
_PICTURE_SELECTORS: Final = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
# What ordinary text is made of needs no look into the Unicode tables.
_NOT_PLAIN: Final = re.compile(r"[^\t\n\x20-\x7e]")


class Decoded(NamedTuple):
    """The text, if there is one that may be read on, and what is wrong with its characters."""

    text: str | None
    findings: tuple[Finding, ...]


def decode(data: bytes) -> Decoded:
    r"""Read the bytes strictly.

    >>> decode(b"x = 1").text
    'x = 1'
    >>> decode(b"x = 1\r").findings[0].message
    'carriage return without a line feed (U+000D)'
    """
    if len(data) > MAX_SOURCE_BYTES:
        message = f"the source has {len(data)} bytes, {MAX_SOURCE_BYTES} are allowed"
        return Decoded(None, (finding("source-too-large", message),))
    if data.startswith(b"\xef\xbb\xbf"):
        return Decoded(None, (finding("byte-order-mark", "the file starts with a byte order mark"),))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        return Decoded(None, (finding("not-utf8", message, line=line, column=column),))
    characters = tuple(_hidden_characters(text))
    # Python counts a lone CR and a form feed differently from viewers: positions beyond them would be wrong.
    readable = not any(character in text for character in "\0\f") and "\r" not in text.replace("\r\n", "")
    return Decoded(text if readable else None, (*_cookies(text), *characters))


def _cookies(text: str) -> list[Finding]:
    return [
        finding("encoding-cookie", "an encoding comment", line=number)
        for number, line in enumerate(text.split("\n", 2)[:2], start=1)
        if _COOKIE.match(line)
    ]


def _hidden_characters(text: str) -> list[Finding]:
    """One finding per line and character: a line of a thousand NULs is one mistake."""
    found = []
    seen: set[tuple[int, str]] = set()
    line, counted = 1, 0
    for match in _NOT_PLAIN.finditer(text):
        character, start = match[0], match.start()
        if character == "\r" and text.startswith("\n", start + 1):
            continue
        if unicodedata.category(character) not in _HIDDEN_CATEGORIES and character not in _INVISIBLE:
            continue
        if character == _JOINER and _joins_pictures(text, start):
            continue
        line, counted = line + text.count("\n", counted, start), start
        if (line, character) in seen:
            continue
        seen.add((line, character))
        column = start - text.rfind("\n", 0, start)
        message = f"{_name(character)} (U+{ord(character):04X})"
        found.append(finding("forbidden-character", message, line=line, column=column))
        if len(found) == MAX_CHARACTER_FINDINGS:
            break
    return found


def _joins_pictures(text: str, position: int) -> bool:
    """Whether a joiner makes one picture of two, as keyboards write it: visible, and no letter in any language."""
    before = text[position - 2 : position].rstrip(_PICTURE_SELECTORS)[-1:]
    after = text[position + 1 : position + 2]
    return all(one and unicodedata.category(one) == "So" for one in (before, after))


# Enough to see the pattern; a file of binary rubbish would otherwise have one per byte.
MAX_CHARACTER_FINDINGS: Final = 20


def _name(character: str) -> str:
    special = {"\r": "carriage return without a line feed", "\0": "NUL", "\f": "form feed", "\x1b": "escape"}
    return special.get(character) or unicodedata.name(character, "control character").lower()
