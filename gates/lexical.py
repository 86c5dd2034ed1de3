"""Gate one, second step: the words. Counts everything that makes a parser recurse, before any parser sees the text.

CPython's parser, its conversion of trees, its compiler and ``ast.unparse`` are recursive and die in different ways in
3.11, 3.12 and 3.13 (MemoryError, RecursionError, a crash of the process). This scan reads the text with a flat loop and
refuses what is nested, chained or long, so that they never get there. It does not judge grammar: a text that it lets
pass may still be a syntax error, which the parser then says in its own words.

F-strings end where Python 3.11 says that they end; a text for which 3.12 would see another end is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gates.allowed import (
    MAX_BRACKET_DEPTH,
    MAX_CHAIN_OPERATORS,
    MAX_CHAIN_TRAILERS,
    MAX_CHAINED_ASSIGNMENTS,
    MAX_ELIF_BRANCHES,
    MAX_FSTRING_DEPTH,
    MAX_INDENTATION_COLUMNS,
    MAX_INDENTATION_DEPTH,
    MAX_LINE_CHARACTERS,
    MAX_NAME_CHARACTERS,
    MAX_NESTED_LAMBDAS,
    MAX_NUMBER_CHARACTERS,
    MAX_TOKENS,
)
from gates.rules import finding

if TYPE_CHECKING:
    from gates.findings import Finding

_TOKEN: Final = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
  | (?P<newline>\r?\n)
  | (?P<space>[ \t]+|\\\r?\n)
  | (?P<string>(?P<prefix>[A-Za-z]{0,3})(?P<quote>'''|\"\"\"|'|"))
  | (?P<number>0[xXoObB]\w*|\.?[0-9](?:[eE][+-]?[0-9]|[\w.])*)
  | (?P<name>\w+)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<sign>\*\*=?|//=?|>>=?|<<=?|->|:=|[-+*/%@&|^=<>!]=|[-+*/%@&|^~<>=.,:;])
  | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER: Final = re.compile(
    r"0[xX](_?[0-9a-fA-F])+|0[oO](_?[0-7])+|0[bB](_?[01])+"
    r"|(([0-9](_?[0-9])*)?\.[0-9](_?[0-9])*|[0-9](_?[0-9])*\.?)([eE][+-]?[0-9](_?[0-9])*)?[jJ]?"
)
_STRING_ENDS: Final = {
    "'": re.compile(r"(?:[^'\\\n]|\\\r?\n|\\[^\n])*'"),
    '"': re.compile(r'(?:[^"\\\n]|\\\r?\n|\\[^\n])*"'),
    "'''": re.compile(r"(?:[^'\\]|\\.|'(?!''))*'''", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*"""', re.DOTALL),
}
_PREFIXES: Final = frozenset(("", "r", "u", "b", "f", "br", "rb", "fr", "rf"))
_ESCAPE: Final = re.compile(
    r"\\(?:\r?\n|[\\'\"abfnrtv]|[0-3][0-7]{2}|[0-7]{1,2}(?![0-7])|x[0-9a-fA-F]{2}|(.))", re.DOTALL
)
_UNICODE_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}\n]{1,100}\})")
_OPERATOR_WORDS: Final = frozenset(
    ("and", "or", "not", "is", "in", "if", "else", "for", "lambda", "await", "yield", "from")
)
_KEYWORDS: Final = _OPERATOR_WORDS | {
    "return", "assert", "elif", "while", "del", "raise", "except", "import", "as", "with", "async", "class", "def",
    "try", "finally", "pass", "break", "continue", "global", "nonlocal",
}  # fmt: skip
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}


class _UnreadableError(Exception):
    """Reading stopped, because a parser would die on the text or disagree about it; the findings say why."""


@dataclass(slots=True)
class _Frame:
    """What has been chained so far inside one pair of brackets (or one logical line)."""

    opener: str = ""
    operators: int = 0
    trailers: int = 0
    lambdas: int = 0
    lambda_colons_due: int = 0
    assignments: int = 0
    after_value: bool = False


@dataclass(slots=True)
class Words:
    """One pass over a text. ``findings`` holds what may be read on; ``False`` ends what may not."""

    text: str
    findings: list[Finding] = field(default_factory=list)
    tokens: int = 0
    _frames: list[_Frame] = field(default_factory=lambda: [_Frame()])
    _indents: list[int] = field(default_factory=lambda: [0])
    _elifs: list[int] = field(default_factory=lambda: [0])
    _line_starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def read(self) -> bool:
        """Read the whole text; False when a parser must not see it."""
        try:
            self._check_lines()
            self._read_statements()
        except _UnreadableError:
            return False
        return True

    # -- positions and findings --

    def _note(self, rule: str, message: str, position: int) -> None:
        line, column = self._place(position)
        self.findings.append(finding(rule, message, line=line, column=column))

    def _stop(self, rule: str, message: str, position: int) -> _UnreadableError:
        self._note(rule, message, position)
        return _UnreadableError()

    def _place(self, position: int) -> tuple[int, int]:
        line = self.text.count("\n", 0, position) + 1
        return line, position - self._line_starts[line - 1] + 1

    # -- lines --

    def _check_lines(self) -> None:
        too_long = False
        for start, line in zip(self._line_starts, self.text.split("\n"), strict=True):
            if len(line) > MAX_LINE_CHARACTERS:
                message = f"a line of {len(line)} characters, {MAX_LINE_CHARACTERS} are allowed"
                self._note("line-too-long", message, start)
                too_long = True
        if too_long:
            raise _UnreadableError

    def _read_statements(self) -> None:
        position, at_line_start = 0, True
        while position < len(self.text):
            if at_line_start and len(self._frames) == 1:
                position = self._read_indentation(position)
                at_line_start = False
                continue
            match = self._match(position)
            at_line_start = match.lastgroup == "newline"
            position = self._read_token(match, fstring_depth=0)
        if len(self._frames) > 1:
            raise self._stop("syntax-error", f"bracket {self._frames[-1].opener} is never closed", len(self.text))

    def _read_indentation(self, start: int) -> int:
        """Keep the stack of open blocks, as Python's tokenizer does, and the length of elif chains at each level."""
        end = start
        while self.text.startswith((" ", "\t"), end):
            end += 1
        rest = self.text[end : end + 5]
        if not rest or rest.startswith(("#", "\n", "\r\n")):
            return end
        width = len(self.text[start:end].expandtabs(8))
        if width > MAX_INDENTATION_COLUMNS:
            raise self._stop("too-deep", f"indentation of {width} columns, {MAX_INDENTATION_COLUMNS} are allowed", end)
        while width < self._indents[-1]:
            self._indents.pop()
            self._elifs.pop()
        if width > self._indents[-1]:
            self._indents.append(width)
            self._elifs.append(0)
            if len(self._indents) - 1 > MAX_INDENTATION_DEPTH:
                raise self._stop("too-deep", f"more than {MAX_INDENTATION_DEPTH} blocks inside each other", end)
        word = re.match(r"\w*", rest)
        self._count_elif(word[0] if word else "", end)
        return end

    def _count_elif(self, word: str, position: int) -> None:
        if word == "elif":
            self._elifs[-1] += 1
            if self._elifs[-1] > MAX_ELIF_BRANCHES:
                raise self._stop("long-chain", f"more than {MAX_ELIF_BRANCHES} elif branches", position)
        elif word != "else":
            self._elifs[-1] = 0

    # -- tokens --

    def _match(self, position: int, end: int | None = None) -> re.Match[str]:
        match = _TOKEN.match(self.text, position, len(self.text) if end is None else end)
        if match is None:  # pragma: no cover - the last alternative takes any character
            raise self._stop("syntax-error", "unreadable text", position)
        self.tokens += match.lastgroup != "space"
        if self.tokens > MAX_TOKENS:
            raise self._stop("too-many-tokens", f"more than {MAX_TOKENS} words and signs", position)
        return match

    def _read_token(self, match: re.Match[str], *, fstring_depth: int) -> int:
        """Count one token; gives the position after it."""
        kind, word, start = match.lastgroup, match[0], match.start()
        frame = self._frames[-1]
        if kind == "string":
            return self._read_string(match, fstring_depth)
        if kind == "newline":
            if len(self._frames) == 1:
                self._frames[0] = _Frame()
        elif kind == "number":
            self._check_number(word, start)
            frame.after_value = True
        elif kind == "name":
            self._read_word(frame, word, start)
        elif kind == "open":
            self._open(frame, word, start)
        elif kind == "close":
            self._close(word, start)
        elif kind == "sign":
            self._read_sign(frame, word, start)
        elif kind == "stray":
            self._read_stray(word, start)
        return match.end()

    def _read_stray(self, character: str, position: int) -> None:
        if character == "\\":
            raise self._stop("syntax-error", "a backslash that does not end its line", position)
        if not character.isascii():
            raise self._stop("non-ascii-name", f"the sign {_shown(character)} outside strings and comments", position)
        raise self._stop("syntax-error", f"the sign {_shown(character)} has no meaning here", position)

    def _check_number(self, word: str, position: int) -> None:
        if len(word) > MAX_NUMBER_CHARACTERS:
            message = f"a number of {len(word)} characters, {MAX_NUMBER_CHARACTERS} are allowed"
            raise self._stop("number-literal", message, position)
        if not _NUMBER.fullmatch(word):
            raise self._stop("number-literal", f"{_shown(word)} is not a number", position)

    def _read_word(self, frame: _Frame, word: str, position: int) -> None:
        if not word.isascii():
            self._note("non-ascii-name", f"the name {_shown(word)} has letters beyond ASCII", position)
        if len(word) > MAX_NAME_CHARACTERS:
            message = f"a name of {len(word)} characters, {MAX_NAME_CHARACTERS} are allowed"
            raise self._stop("name-too-long", message, position)
        if word == "lambda":
            frame.lambdas += 1
            frame.lambda_colons_due += 1
            if frame.lambdas > MAX_NESTED_LAMBDAS:
                raise self._stop("long-chain", f"more than {MAX_NESTED_LAMBDAS} lambdas in a row", position)
        if word in _OPERATOR_WORDS:
            self._count_operator(frame, position)
        else:
            frame.after_value = word not in _KEYWORDS

    def _read_sign(self, frame: _Frame, sign: str, position: int) -> None:
        if sign == ".":
            self._count_trailer(frame, position)
        elif sign == ";" and len(self._frames) == 1:
            self._frames[0] = _Frame()
        elif sign in {",", ";"}:
            self._separate(frame)
        elif sign == ":":
            if frame.lambda_colons_due:
                # A lambda's body belongs to the lambda: its colon does not end the chain.
                frame.lambda_colons_due -= 1
                frame.after_value = False
            else:
                self._separate(frame)
        elif sign == "=" or (sign.endswith("=") and sign not in {"==", "!=", "<=", ">=", ":="}):
            frame.assignments += not frame.lambda_colons_due  # the default of a lambda's argument assigns nothing
            if frame.assignments > MAX_CHAINED_ASSIGNMENTS and len(self._frames) == 1:
                raise self._stop("long-chain", f"more than {MAX_CHAINED_ASSIGNMENTS} assignments in a row", position)
            self._separate(frame)
        else:
            self._count_operator(frame, position)

    def _separate(self, frame: _Frame) -> None:
        frame.operators = frame.trailers = 0
        frame.after_value = False
        if not frame.lambda_colons_due:
            frame.lambdas = 0

    def _count_operator(self, frame: _Frame, position: int) -> None:
        frame.operators += 1
        frame.trailers = 0
        frame.after_value = False
        if frame.operators > MAX_CHAIN_OPERATORS:
            raise self._stop("long-chain", f"more than {MAX_CHAIN_OPERATORS} operators in a row", position)

    def _count_trailer(self, frame: _Frame, position: int) -> None:
        frame.trailers += 1
        if frame.trailers > MAX_CHAIN_TRAILERS:
            raise self._stop(
                "long-chain", f"more than {MAX_CHAIN_TRAILERS} dots, calls and subscripts in a row", position
            )

    def _open(self, frame: _Frame, bracket: str, position: int) -> None:
        if frame.after_value:
            self._count_trailer(frame, position)
        self._frames.append(_Frame(opener=bracket))
        if len(self._frames) - 1 > MAX_BRACKET_DEPTH:
            raise self._stop("too-deep", f"more than {MAX_BRACKET_DEPTH} open brackets", position)

    def _close(self, bracket: str, position: int) -> None:
        if self._frames[-1].opener != _PAIRS[bracket]:
            raise self._stop("syntax-error", f"bracket {bracket} closes nothing", position)
        self._frames.pop()
        self._frames[-1].after_value = True

    # -- strings --

    def _read_string(self, match: re.Match[str], fstring_depth: int) -> int:
        prefix, quote, start = match["prefix"].lower(), match["quote"], match.start()
        if prefix not in _PREFIXES:
            # A word that touches a string, like `in"abc"`: the word first.
            self._read_word(self._frames[-1], match["prefix"], start)
            return start + len(prefix)
        end = _STRING_ENDS[quote].match(self.text, match.end())
        if end is None:
            raise self._stop("syntax-error", "a string that never ends", start)
        body_start, body_end = match.end(), end.end() - len(quote)
        if "r" not in prefix:
            self._check_escapes(body_start, body_end, is_bytes="b" in prefix)
        if "f" in prefix:
            if fstring_depth >= MAX_FSTRING_DEPTH:
                raise self._stop("f-string", f"f-strings nested more than {MAX_FSTRING_DEPTH} deep", start)
            self._read_fields(body_start, body_end, is_raw="r" in prefix, fstring_depth=fstring_depth + 1)
        self._frames[-1].after_value = True
        return end.end()

    def _check_escapes(self, start: int, end: int, *, is_bytes: bool) -> None:
        for match in _ESCAPE.finditer(self.text, start, end):
            known_in_text = not is_bytes and _UNICODE_ESCAPE.match(self.text, match.start(), end)
            if match[1] is not None and not known_in_text:
                raise self._stop("invalid-escape", f"\\{_shown(match[1])} is not an escape", match.start())

    def _read_fields(self, position: int, end: int, *, is_raw: bool, fstring_depth: int, in_spec: bool = False) -> int:
        """Read the literal part of an f-string, or of a format spec, and each field in it; gives where it ended."""
        text = self.text
        while position < end:
            character = text[position]
            if not is_raw and (named := _UNICODE_ESCAPE.match(text, position, end)):
                position = named.end()
            elif in_spec and character == "}":
                return position
            elif text.startswith("{{", position) and in_spec:
                raise self._stop("f-string", "two braces inside a format spec", position)
            elif text.startswith(("{{", "}}"), position) and position + 1 < end:
                position += 2
            elif character == "{":
                position = self._read_field(position, end, is_raw=is_raw, fstring_depth=fstring_depth, in_spec=in_spec)
            elif character == "}":
                raise self._stop("f-string", "a single } in an f-string", position)
            else:
                position += 1
        if in_spec:
            raise self._stop("f-string", "a field of an f-string that does not end inside it", position)
        return position

    def _read_field(self, start: int, end: int, *, is_raw: bool, fstring_depth: int, in_spec: bool) -> int:
        """Read ``{expression!r:spec}``; gives the position after its closing brace."""
        depth = len(self._frames)
        self._frames.append(_Frame(opener="{field"))
        if depth > MAX_BRACKET_DEPTH:
            raise self._stop("too-deep", f"more than {MAX_BRACKET_DEPTH} open brackets", start)
        position = self._read_expression(start + 1, end, depth, fstring_depth)
        if self.text[position] == "!":
            conversion = re.compile("![rsa]").match(self.text, position, end)
            if conversion is None:
                raise self._stop("f-string", "an f-string conversion other than !r, !s or !a", position)
            position = conversion.end()
        if self.text.startswith(":", position) and position < end:
            if in_spec:
                raise self._stop("f-string", "a format spec inside a format spec", position)
            position = self._read_fields(position + 1, end, is_raw=is_raw, fstring_depth=fstring_depth, in_spec=True)
        if position >= end or self.text[position] != "}":
            raise self._stop("f-string", "a field of an f-string that does not end inside it", start)
        self._frames.pop()
        return position + 1

    def _read_expression(self, position: int, end: int, depth: int, fstring_depth: int) -> int:
        """Read up to the conversion, spec or brace that ends the expression."""
        while position < end:
            at_top = len(self._frames) == depth + 1
            if at_top and self.text[position] in "}:":
                return position
            if at_top and self.text[position] == "!" and not self.text.startswith("!=", position):
                return position
            match = self._match(position, end)
            after = self._read_token(match, fstring_depth=fstring_depth)
            if after > end:
                break
            if match.lastgroup == "comment" or "\\" in self.text[position:after]:
                raise self._stop("f-string", "a comment or a backslash inside a field of an f-string", position)
            position = after
        raise self._stop("f-string", "a field of an f-string that does not end inside it", min(position, end))


def _shown(word: str) -> str:
    """The first characters of candidate text, as ASCII, short enough for a message."""
    return ascii(word if len(word) <= 24 else word[:24] + "...")
