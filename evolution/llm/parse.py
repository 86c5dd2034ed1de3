"""Reads an answer: exactly one reading, or a rejection with a code. Nothing here repairs anything.

Taking the lines between two fences is extraction. Whatever would change a byte of them (a missing bracket, a curly
quote, an indentation) is repair, and a repaired program is one that nobody wrote. Prose is never taken for code, a cut
answer is never read, and whether the code is any good is for the gates to say.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from evolution.llm.outcomes import Empty, Malformed, Refused, Text, ToolCall, Truncated
from evolution.llm.plain import one_line
from runtime.source import StrategySource

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from evolution.llm.outcomes import Answered

HYPOTHESIS_LIMIT = 200
# A strategy is 10 kB at most; with a long explanation around it this is still generous.
_ANSWER_LIMIT = 200_000
LANGUAGES = frozenset({"", "python", "py", "python3"})
"""What a block of a whole file may be tagged with."""
_FENCE = re.compile(r"^(?:`{3}|~{3})", re.MULTILINE)
_START_OF_THOUGHT = re.compile(r"<think>", re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"</think>", re.IGNORECASE)
# Where other templates put drafts. An endpoint that leaves them in an answer does not say where its answer begins.
_MARKS_OF_THOUGHT = re.compile(
    r"</?(?:thinking|thought|thoughts|reasoning|reflection)>|\[/?THINK(?:ING)?\]|<\|[a-z_]+\|>|<(?:start|end)_of_turn>",
    re.IGNORECASE,
)
_HYPOTHESIS = re.compile(r"^[ \t*_#>-]*HYPOTHESIS[*_]*[ \t]*:[*_]*(?P<text>[^\r\n]*)", re.MULTILINE)
# Quotation marks and primes that stand for ' or " in typeset text, and for nothing in Python.
_TYPESET_QUOTES = frozenset(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2032\u2033\uff02\uff07\u00b4"
)
# Format, control, private use, surrogate, unassigned, and every separator but the plain space.
_BAD_CATEGORIES = frozenset({"Cf", "Cc", "Co", "Cs", "Cn", "Zs", "Zl", "Zp"})


class Flaw(Enum):
    """Why an answer has no reading. The value is the stable code in records and in what goes back to the model."""

    TRUNCATED = "E_TRUNCATED"
    REFUSED = "E_REFUSED"
    EMPTY = "E_EMPTY"
    TOOL_CALL = "E_TOOL_CALL"
    MALFORMED = "E_MALFORMED"
    """The endpoint wrapped the answer in a way that we do not know."""
    THOUGHTS = "E_THOUGHTS"
    TOO_LONG = "E_TOO_LONG"
    NO_CODE = "E_NO_CODE"
    OPEN_BLOCK = "E_OPEN_BLOCK"
    MANY_BLOCKS = "E_MANY_BLOCKS"
    WRONG_LANGUAGE = "E_WRONG_LANGUAGE"
    BAD_CHARACTER = "E_BAD_CHARACTER"
    EDIT_FORM = "E_EDIT_FORM"
    SEARCH_MISS = "E_SEARCH_MISS"
    SEARCH_AMBIGUOUS = "E_SEARCH_AMBIGUOUS"
    NOOP = "E_NOOP"
    """The same strategy as a parent; found by the breeder, which knows the parents."""
    DUPLICATE = "E_DUPLICATE"
    """The same strategy as another one of this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A source, byte for byte as the model wrote it, and what the model says about it."""

    source: StrategySource
    hypothesis: str
    """One line of printable ASCII, capped; empty when the model gave none. Data, never trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """No source. The words are ours, so they may go back to the model."""

    flaw: Flaw
    message: str
    hint: str

    @property
    def reason(self) -> str:
        """One line for people."""
        return f"{self.flaw.value}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """The one block of an answer, byte for byte, and the line in front of it."""

    code: str
    hypothesis: str


class _Block(NamedTuple):
    language: str
    code: str


class _Opening(NamedTuple):
    fence: str
    language: str


_ONE_BLOCK = "answer with the line HYPOTHESIS: and then exactly one block between ```python and ```, whole and closed"
_WITHOUT_TEXT = {
    Truncated: Unreadable(
        flaw=Flaw.TRUNCATED,
        message="the answer reached the token limit and was cut",
        hint="explain less, write a shorter strategy",
    ),
    Refused: Unreadable(flaw=Flaw.REFUSED, message="the answer was declined", hint=_ONE_BLOCK),
    Empty: Unreadable(flaw=Flaw.EMPTY, message="the answer was empty", hint=_ONE_BLOCK),
    ToolCall: Unreadable(
        flaw=Flaw.TOOL_CALL, message="the answer calls a tool, and there are no tools", hint=_ONE_BLOCK
    ),
    Malformed: Unreadable(flaw=Flaw.MALFORMED, message="the answer did not end as an answer does", hint=_ONE_BLOCK),
}


def read_answer(outcome: Answered) -> Answer | Unreadable:
    r"""The one reading of what a model answered with a whole file.

    >>> answer = read_answer(Text(text="HYPOTHESIS: wait longer\n```python\nclass S(Strategy): ...\n```"))
    >>> answer.hypothesis, answer.source.data
    ('wait longer', b'class S(Strategy): ...\n')
    """
    found = read_block(outcome)
    if isinstance(found, Unreadable):
        return found
    return Answer(source=StrategySource.from_text(found.code), hypothesis=found.hypothesis)


def only_document(outcome: Text) -> Extract | Unreadable | None:
    """The JSON object that is all of an answer; None when it holds anything else, too."""
    text = _without_thinking(outcome.text[: _ANSWER_LIMIT + 1])
    text = "" if text is None else text.strip(" \t\r\n")
    if not (text.startswith("{") and text.endswith("}")) or len(text) > _ANSWER_LIMIT:
        return None
    return _bad_character(text) or Extract(code=text + "\n", hypothesis="")


def read_block(
    outcome: Answered, *, languages: Container[str] = LANGUAGES, kind: str = "python"
) -> Extract | Unreadable:
    """The one fenced block of an answer, in one of the given languages, with nothing in it that cannot be seen."""
    if not isinstance(outcome, Text):
        return _WITHOUT_TEXT[type(outcome)]
    if len(outcome.text) > _ANSWER_LIMIT:
        return Unreadable(
            flaw=Flaw.TOO_LONG,
            message=f"the answer has {len(outcome.text)} characters, more than {_ANSWER_LIMIT}",
            hint=_ONE_BLOCK,
        )
    text = _without_thinking(outcome.text)
    if text is None:
        return Unreadable(flaw=Flaw.NO_CODE, message="the answer never gets past its thinking", hint=_ONE_BLOCK)
    if _MARKS_OF_THOUGHT.search(text):
        return Unreadable(flaw=Flaw.THOUGHTS, message="the answer still holds marks of thinking", hint=_ONE_BLOCK)
    block = _only_block(text, languages, kind)
    if isinstance(block, Unreadable):
        return block
    bad = _bad_character(block.code)
    if bad is not None:
        return bad
    return Extract(code=block.code, hypothesis=_hypothesis(text))


def _without_thinking(text: str) -> str | None:
    """What follows the thoughts that some models put in front; drafts in there are no answer. None when nothing does."""
    ends = list(_END_OF_THOUGHT.finditer(text))
    if ends:  # the opening mark may stand in the prompt, and thoughts may speak of the closing one
        text = text[ends[-1].end() :]
    return None if _START_OF_THOUGHT.search(text) else text


def _only_block(text: str, languages: Container[str], kind: str) -> _Block | Unreadable:
    blocks = list(_blocks(text))
    if not blocks:
        return Unreadable(flaw=Flaw.NO_CODE, message="the answer holds no fenced block", hint=_ONE_BLOCK)
    if len(blocks) > 1:
        return Unreadable(
            flaw=Flaw.MANY_BLOCKS, message=f"the answer holds {len(blocks)} fenced blocks", hint=_ONE_BLOCK
        )
    block = blocks[0]
    if block is None:
        return Unreadable(flaw=Flaw.OPEN_BLOCK, message="the fenced block is not closed", hint=_ONE_BLOCK)
    if block.language not in languages:
        return Unreadable(
            flaw=Flaw.WRONG_LANGUAGE,
            message=f"the block is tagged {one_line(block.language, 20)!r}, not {kind}",
            hint=_ONE_BLOCK,
        )
    if not block.code.strip():
        return Unreadable(flaw=Flaw.NO_CODE, message="the fenced block is empty", hint=_ONE_BLOCK)
    return block


def _blocks(text: str) -> Iterator[_Block | None]:
    """Each fenced block in order; None for one that is still open at the end."""
    fence, language, lines = "", "", list[str]()
    # Only line feeds end a line: str.splitlines would also break at characters that are part of the code.
    for line in text.split("\n"):
        if fence:
            if line.rstrip(" \t\r") == fence:
                yield _Block(language, "".join(lines))
                fence = ""
            else:
                lines.append(line + "\n")
        elif (opening := _opening(line)) is not None:
            (fence, language), lines = opening, []
    if fence:
        yield None


def _opening(line: str) -> _Opening | None:
    """The fence that a line opens. Plain string work: a pattern with three runs of blanks is cubic on a hostile line."""
    char = line[:1]
    fence = line[: len(line) - len(line.lstrip(char))] if char in {"`", "~"} else ""
    info = line[len(fence) :].strip(" \t\r")
    # A mark in the rest of the line makes it inline code, not a fence.
    if len(fence) < 3 or "`" in info or "~" in info:
        return None
    return _Opening(fence, info.lower())


def _bad_character(code: str) -> Unreadable | None:
    line, column = 1, 0
    for position, char in enumerate(code):
        column += 1
        if char == "\n":
            line, column = line + 1, 0
        elif _is_bad(char) and not (char == "\r" and code[position + 1 : position + 2] == "\n"):
            name = unicodedata.name(char, "unnamed")
            return Unreadable(
                flaw=Flaw.BAD_CHARACTER,
                message=f"U+{ord(char):04X} ({name}) at line {line}, column {column} of the code",
                hint="write the code in plain ASCII: straight quotes, ordinary spaces, no invisible characters",
            )
    return None


def _is_bad(char: str) -> bool:
    return char not in " \t" and (char in _TYPESET_QUOTES or unicodedata.category(char) in _BAD_CATEGORIES)


def _hypothesis(text: str) -> str:
    found = _HYPOTHESIS.search(_FENCE.split(text, maxsplit=1)[0])
    return one_line(found["text"], HYPOTHESIS_LIMIT) if found else ""
