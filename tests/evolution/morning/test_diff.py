"""What changed in a text shows as such, and no text is too long for a page."""

from __future__ import annotations

from evolution.morning.diff import Mark, difference, lines_of, shown_source


def marked(before, after):
    return [(line.mark.value, line.text) for line in difference(before, after)]


def test_equal_texts_have_no_difference():
    assert difference("a\nb\n", "a\nb\n") == ()


def test_changed_lines_stand_between_two_that_stayed():
    before = "".join(f"line {number}\n" for number in range(1, 10))
    assert marked(before, before.replace("line 5", "LINE 5")) == [
        ("@", "line 3"),
        (" ", "line 3"),
        (" ", "line 4"),
        ("-", "line 5"),
        ("+", "LINE 5"),
        (" ", "line 6"),
        (" ", "line 7"),
    ]


def test_only_a_newline_ends_a_line():
    """Others would shift the numbers that a finding names."""
    assert lines_of("a\x0bb\u2028c\rd\ne") == ["a\x0bb\u2028c\rd", "e"]
    assert lines_of("") == []


def test_texts_of_absurd_length_are_not_compared():
    (only,) = difference("a\n" * 5_000, "b\n" * 5_000)
    assert only.mark is Mark.SKIPPED
    assert "5000" in only.text


def test_long_lines_and_long_differences_are_cut():
    found = difference("", "".join(f"{number}{'x' * 1_000}\n" for number in range(1_000)))
    assert len(found) <= 161
    assert max(len(line.text) for line in found) <= 240
    assert found[-1].text.endswith("more lines")


def test_a_source_is_shown_up_to_a_bound():
    shown = shown_source("y" * 1_000_000)
    assert len(shown) == 1
    assert len(shown[0]) <= 240
    assert shown_source("a\n" * 1_000)[-1] == "... 760 more lines"
