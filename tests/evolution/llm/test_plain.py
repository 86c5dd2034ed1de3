"""Foreign text as one harmless line."""

from hypothesis import given
from hypothesis import strategies as st

from evolution.llm.plain import one_line


@given(st.text(), st.integers(0, 80))
def test_any_text_becomes_one_capped_line_of_printable_ascii(text, limit):
    line = one_line(text, limit)
    assert len(line) <= max(limit, 3)
    assert line.isascii()
    assert line.isprintable()


def test_ordinary_text_stays_as_it_is():
    assert one_line("Exit earlier: 5% stop <fast>", 80) == "Exit earlier: 5% stop <fast>"


def test_escapes_are_shown_and_not_obeyed():
    assert one_line("\x1b[2J\x7f\u202e\ud800", 80) == "\\x1b[2J\\x7f\\u202e\\ud800"
