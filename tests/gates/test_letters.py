"""The bytes: what is a text, and what only looks like one."""

from __future__ import annotations

import pytest

from gates.allowed import MAX_SOURCE_BYTES
from gates.letters import decode


def rules_of(data):
    return [found.rule for found in decode(data).findings]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x = 1\n",
        b"x = 1\r\ny = 2\r\n",
        "# Größe ✅ ⚠️ 価格\n".encode(),
        b"\tx\n",
        b"# the decoding: of waves\nx\n"[3:],
    ],
)
def test_ordinary_text_passes(data):
    decoded = decode(data)
    assert (decoded.text, decoded.findings) == (data.decode(), ())


@pytest.mark.parametrize(
    ("data", "rule", "readable"),
    [
        (b"\xef\xbb\xbfx", "byte-order-mark", False),
        (b"\xff", "not-utf8", False),
        (b"\xc0\xaf", "not-utf8", False),
        (b"\xed\xa0\x80", "not-utf8", False),
        ("x".encode("utf-16"), "not-utf8", False),
        (b"# coding: utf-8\n", "encoding-cookie", True),
        (b"#!/bin/sh\n# -*- coding=latin-1 -*-\n", "encoding-cookie", True),
        (b"x\0", "forbidden-character", False),
        (b"x\x0c", "forbidden-character", False),
        (b"x\ry", "forbidden-character", False),
        (b"\x1b[2J", "forbidden-character", True),
        (b"\x7f", "forbidden-character", True),
        *((chr(code).encode(), "forbidden-character", True) for code in (0x85, 0xAD, 0x200B, 0x202E, 0x2066, 0xFEFF)),
        *(
            (chr(code).encode(), "forbidden-character", True)
            for code in (0x2028, 0x2029, 0xE0041, 0xE000, 0x3164, 0x2800)
        ),
    ],
)
def test_what_shows_other_code_than_it_is_gets_refused(data, rule, readable):
    decoded = decode(b" " + data if rule == "forbidden-character" else data)
    assert [found.rule for found in decoded.findings] == [rule]
    assert (decoded.text is not None) == readable


def test_a_cookie_counts_in_the_first_two_lines_only():
    assert rules_of(b"\n\n# coding: latin-1\n") == []


def test_size_is_judged_before_anything_else_and_at_once():
    assert rules_of(b"\0" * (5 * 1024 * 1024)) == ["source-too-large"]
    assert rules_of(b"#" * MAX_SOURCE_BYTES) == []
    assert rules_of(b"#" * (MAX_SOURCE_BYTES + 1)) == ["source-too-large"]


def test_positions_are_lines_and_characters_from_one():
    (found,) = decode("a = 1\nb = 'ä\u200b'\n".encode()).findings
    assert (found.line, found.column) == (2, 7)
    (found,) = decode(b"a\nbc\xff").findings
    assert (found.line, found.column) == (2, 3)


def test_many_bad_characters_are_one_finding_per_line_and_kind():
    assert rules_of(b"\x01" * 1000) == ["forbidden-character"]
    assert len(rules_of(b"\x01\n" * 1000)) <= 20
