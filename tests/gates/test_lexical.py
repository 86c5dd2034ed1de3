"""The words: everything that nests or chains is counted before a parser sees it."""

from __future__ import annotations

import ast
import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates.allowed import (
    MAX_BRACKET_DEPTH,
    MAX_CHAIN_OPERATORS,
    MAX_CHAIN_TRAILERS,
    MAX_CHAINED_ASSIGNMENTS,
    MAX_ELIF_BRANCHES,
    MAX_INDENTATION_DEPTH,
    MAX_NAME_CHARACTERS,
    MAX_NESTED_LAMBDAS,
    MAX_NUMBER_CHARACTERS,
    MAX_TOKENS,
)
from gates.lexical import Words


def read(text):
    words = Words(text)
    may_be_parsed = words.read()
    return may_be_parsed, [found.rule for found in words.findings]


# What repeats, how often it may, and the rule that then speaks.
REPEATED = {
    "round brackets": (lambda n: "x=" + "(" * n + "1" + ")" * n, MAX_BRACKET_DEPTH, "too-deep"),
    "mixed brackets": (lambda n: "x=" + "".join("([{"[i % 3] for i in range(n)) + "1" + "".join(")]}"[i % 3] for i in reversed(range(n))), MAX_BRACKET_DEPTH, "too-deep"),
    "blocks": (lambda n: "".join(" " * i + "if x:\n" for i in range(n)) + " " * n + "pass\n", MAX_INDENTATION_DEPTH, "too-deep"),
    "tab blocks": (lambda n: "".join("\t" * i + "if x:\n" for i in range(n)) + "\t" * n + "pass\n", 15, "too-deep"),
    "not": (lambda n: "x=" + "not " * n + "1", MAX_CHAIN_OPERATORS, "long-chain"),
    "minus": (lambda n: "x=" + "-" * n + "1", MAX_CHAIN_OPERATORS, "long-chain"),
    "plus between": (lambda n: "x=1" + "+1" * n, MAX_CHAIN_OPERATORS, "long-chain"),
    "power": (lambda n: "x=1" + "**1" * n, MAX_CHAIN_OPERATORS, "long-chain"),
    "comparisons": (lambda n: "x=1" + "<1" * n, MAX_CHAIN_OPERATORS, "long-chain"),
    "words": (lambda n: "x=1" + " and 1" * n, MAX_CHAIN_OPERATORS, "long-chain"),
    "over lines": (lambda n: "x=(1" + "\n+1" * n + ")", MAX_CHAIN_OPERATORS, "long-chain"),
    "continued lines": (lambda n: "x=1" + "\\\n+1" * n, MAX_CHAIN_OPERATORS, "long-chain"),
    "conditionals": (lambda n: "x=" + "1 if 2 else " * (n // 2) + "3" + " +1" * (n % 2), MAX_CHAIN_OPERATORS, "long-chain"),
    "comprehension clauses": (lambda n: "x=[1" + " for a in b" * (n // 2) + " if 1" * (n % 2) + "]", MAX_CHAIN_OPERATORS, "long-chain"),
    "dots": (lambda n: "x=a" + ".b" * n, MAX_CHAIN_TRAILERS, "long-chain"),
    "calls": (lambda n: "x=a" + "()" * n, MAX_CHAIN_TRAILERS, "long-chain"),
    "subscripts": (lambda n: "x=a" + "[0]" * n, MAX_CHAIN_TRAILERS, "long-chain"),
    "calls of a string": (lambda n: "x=''" + ".b" * n, MAX_CHAIN_TRAILERS, "long-chain"),
    "lambdas": (lambda n: "x=" + "lambda:" * n + "1", MAX_NESTED_LAMBDAS, "long-chain"),
    "lambdas with arguments": (lambda n: "x=" + "lambda a,b=1:" * n + "1", MAX_NESTED_LAMBDAS, "long-chain"),
    "lambdas as defaults": (lambda n: "x=" + "lambda a=" * n + "1" + ":1" * n, MAX_NESTED_LAMBDAS, "long-chain"),
    "operators in lambdas": (lambda n: "x=lambda:1" + "+1" * (n - 1), MAX_CHAIN_OPERATORS, "long-chain"),
    "assignments": (lambda n: "x=" * n + "1", MAX_CHAINED_ASSIGNMENTS, "long-chain"),
    "elif": (lambda n: "if x:\n pass\n" + "elif x:\n pass\n" * n, MAX_ELIF_BRANCHES, "long-chain"),
    "elif inside": (lambda n: "def f():\n if x:\n  if y:\n   pass\n" + " elif x:\n  if y:\n   pass\n" * n, MAX_ELIF_BRANCHES, "long-chain"),
    "digits": (lambda n: "x=" + "9" * n, MAX_NUMBER_CHARACTERS, "number-literal"),
    "hex digits": (lambda n: "x=0x" + "f" * (n - 2), MAX_NUMBER_CHARACTERS, "number-literal"),
    "letters of a name": (lambda n: "x" * n, MAX_NAME_CHARACTERS, "name-too-long"),
    "operators in a field": (lambda n: "x=f'{" + "-" * n + "1}'", MAX_CHAIN_OPERATORS, "long-chain"),
    "brackets in a field": (lambda n: "x=f'{" + "(" * (n - 1) + "1" + ")" * (n - 1) + "}'", MAX_BRACKET_DEPTH, "too-deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_the_cap_is_reached_and_not_passed(name):
    make, cap, rule = REPEATED[name]
    assert read(make(cap)) == (True, [])
    assert read(make(cap + 1)) == (False, [rule])


@pytest.mark.parametrize("name", REPEATED)
def test_what_the_caps_let_pass_kills_no_parser_compiler_or_unparser(name):
    make, cap, _ = REPEATED[name]
    tree = ast.parse(make(cap))
    ast.unparse(tree)
    copy.deepcopy(tree)
    compile(tree, "capped", "exec")


def test_many_tokens_are_too_many():
    assert read("x\n" * (MAX_TOKENS // 2)) == (True, [])
    assert read("x\n" * (MAX_TOKENS // 2 + 1)) == (False, ["too-many-tokens"])


@pytest.mark.parametrize(
    "text",
    [
        "table = {" + ",\n".join(f"'k{i}': 2 * {i} + 1" for i in range(200)) + "}",
        "rules = [" + ",\n".join(f"lambda a, b={i}: a + b" for i in range(60)) + "]",
        "if x:\n pass\n" + "if y:\n pass\nelif z:\n pass\n" * 40,
        "x = a.b.c(d.e(f.g()[1].h), *i, **j)[k:l, ::2]",
        "x = 'a' \"b\" '''c\n'd' ''' rb'\\d' R'\\d' Rb'\\q' b'\\x00' '\\N{BULLET}\\u1234\\U0001F600\\'\\\n'",
        "x = 1_000.5e-3 + .5j + 0x_FF + 0b1 + 0o17 + 1. + 00 + 1e5 + 1.e+5",
        "x = f'{a!r:>{w}} {{literal}} {b[\"k\"]:.2f} {c=} {d:%Y-%m} {(lambda: 1)()} {e != f}' f\"{'nested'}\"",
        "x = f'''{\n a +\n b\n}''' rf'\\d{a}' f'\\N{BULLET}{a}'",
        "x = in_ if'a'in y else'b'",
        "def f(a, *, b: int = 1, **c) -> 'x': return a[1:2] if b else c\n",
        "x = a if b else c; y = d or e; z = not f",
        "if (n := 5) > 3: pass",
        "async def f(): await g()",
        "@a\nclass B: x: int = 1",
        "# " + "(" * 300 + "\nx = 1  # " + "-" * 300,
        "x = '" + "(" * 300 + "'",
    ],
)
def test_ordinary_text_is_read_without_findings(text):
    assert read(text) == (True, [])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("x = (1", "syntax-error"),
        ("x = 1)", "syntax-error"),
        ("x = (1]", "syntax-error"),
        ("x = 'abc", "syntax-error"),
        ("x = '''abc", "syntax-error"),
        ("x = 'a\nb'", "syntax-error"),
        ("x = $", "syntax-error"),
        ("x ? y", "syntax-error"),
        ("x = 1 \\ 2", "syntax-error"),
        ("x = '\\d'", "invalid-escape"),
        ("x = b'\\N{BULLET}'", "invalid-escape"),
        ("x = '\\777'", "invalid-escape"),
        ("x = 1if y else 2", "number-literal"),
        ("x = 0777", None),
        ("x = 1__0", "number-literal"),
        ("x = 0xg", "number-literal"),
        ("x = 1..real", "number-literal"),
        ("x = f'{a'", "f-string"),
        ("x = f'a}'", "f-string"),
        ("x = f'{\"\\n\"}'", "f-string"),
        ("x = f'''{a # b\n}'''", "f-string"),
        ('x = f"{"a"}"', "f-string"),
        ("x = f'{a!x}'", "f-string"),
        ("x = f'{a:{b:{c}}}'", "f-string"),
        ("x = f'{a:{{}}}'", "f-string"),
        ("x = f'''{f\"\"\"{f'{1}'}\"\"\"}'''", "f-string"),
        ("é = 1", "non-ascii-name"),
        ("x = “a”", "non-ascii-name"),
    ],
)
def test_what_parsers_disagree_on_or_choke_on_is_refused(text, rule):
    assert read(text)[1] == ([rule] if rule else [])


def test_a_word_beyond_ascii_is_noted_and_the_rest_is_still_read():
    assert read("é = 1\nü = 2\n") == (True, ["non-ascii-name", "non-ascii-name"])


def test_positions_are_lines_and_columns_from_one():
    words = Words("x = 1\nyy = 'ä' + '\\d'\n")
    words.read()
    assert [(found.line, found.column) for found in words.findings] == [(2, 13)]


PIECES = st.sampled_from([
    "f'", 'f"""', "'", '"', "'" * 3, "{", "}", "(", ")", "[", "]", ":", "!r", "=", "\\", "\n", "\r\n", " ", "a", "1", ".",
    "#", "if ", "else ", "elif ", "lambda ", "not ", "+", "**", ",", ";", "rb'", "\\N{", "é", "\t", "for ", "in ", "0x", "e+",
])  # fmt: skip


@given(st.lists(PIECES, max_size=40))
def test_reading_never_raises_and_agrees_with_the_parser_on_where_strings_end(pieces):
    """Whatever is let through, the parser may refuse, but it must not meet anything deeper than was counted."""
    text = "".join(pieces)
    may_be_parsed, rules = read(text)
    assert may_be_parsed or rules
    if may_be_parsed:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return
        compile(tree, "read", "exec", ast.PyCF_ONLY_AST)


def test_statements_on_one_line_are_no_chain():
    words = Words("; ".join(f"a{i} = {i}" for i in range(20)))
    assert words.read()
    assert words.findings == []
