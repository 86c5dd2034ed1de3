"""One reading or a code; what is read is the model's own bytes."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.llm.outcomes import Empty, Refused, Text, ToolCall, Truncated
from evolution.llm.parse import HYPOTHESIS_LIMIT, Answer, Flaw, Unreadable, read_answer

CODE = "class S(Strategy):\n    def on_bar(self, bar):\n        self.close()\n"


def read(text):
    return read_answer(Text(text=text))


def fenced(code=CODE, *, fence="```", tag="python", before="HYPOTHESIS: wait longer\n\n", after=""):
    return f"{before}{fence}{tag}\n{code}{fence}\n{after}"


READABLE = {
    "tagged": fenced(),
    "untagged": fenced(tag=""),
    "tagged py": fenced(tag="py"),
    "tagged in capitals": fenced(tag="Python"),
    "tildes": fenced(fence="~~~"),
    "a long fence": fenced(fence="`````"),
    "prose around": fenced(before="Sure!\nHYPOTHESIS: wait longer\nHere it is:\n", after="I hope that helps."),
    "inline code around": fenced(after="It uses `self.close()` and ```inline``` marks."),
    "thinking in front": f"<think>\n```python\nx = 1\n```\n</think>\n{fenced()}",
    "no line feed at the end": fenced().rstrip("\n"),
    "blanks after the fences": fenced().replace("```", "```  ").replace("```  python", "``` python "),
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_one_closed_block_is_read_byte_for_byte(text):
    answer = read(text)
    assert isinstance(answer, Answer)
    assert answer.source.data == CODE.encode()
    assert answer.hypothesis == "wait longer"


UNREADABLE = {
    "prose only": ("Buy when it rises. class S(Strategy): pass", Flaw.NO_CODE),
    "bare code without a fence": (CODE, Flaw.NO_CODE),
    "an apology": ("I'm sorry, I can't help with that.", Flaw.NO_CODE),
    "an empty block": (fenced(""), Flaw.NO_CODE),
    "a blank block": (fenced("  \n\n"), Flaw.NO_CODE),
    "two blocks": (fenced() + fenced(), Flaw.MANY_BLOCKS),
    "a second block that is text": (fenced() + "```text\nnote\n```\n", Flaw.MANY_BLOCKS),
    "a second block that is open": (fenced() + "```python\nx = 1\n", Flaw.MANY_BLOCKS),
    "an open block": (fenced().removesuffix("```\n"), Flaw.OPEN_BLOCK),
    "closed by another fence": (f"```python\n{CODE}~~~\n", Flaw.OPEN_BLOCK),
    "closed by a shorter fence": (f"````python\n{CODE}```\n", Flaw.OPEN_BLOCK),
    "another language": (fenced(tag="javascript"), Flaw.WRONG_LANGUAGE),
    "a diff": (fenced(tag="diff"), Flaw.WRONG_LANGUAGE),
    "a tag with more words": (fenced(tag="python title=x"), Flaw.WRONG_LANGUAGE),
    "an indented block": ("".join(f"  {line}\n" for line in fenced().splitlines()), Flaw.NO_CODE),
    "a draft before the only mark": (f"A draft:\n{fenced()}</think>\nSorry.", Flaw.NO_CODE),
    "thoughts about thoughts": (f"<think>I end with </think>.\n{fenced()}</think>\nSorry.", Flaw.NO_CODE),
    "marks in another case": (f"<Think>\n{fenced()}</THINK>\nSorry.", Flaw.NO_CODE),
    "a byte order mark before them": (f"\ufeff<think>\n{fenced()}</think>\nSorry.", Flaw.NO_CODE),
    "thoughts that begin again": (f"<think>a</think>\n<think>{fenced()}", Flaw.NO_CODE),
    "other marks": (f"<thinking>\n{fenced()}</thinking>\nSorry.", Flaw.THOUGHTS),
    "marks in brackets": (f"[THINK]\n{fenced()}[/THINK]\nSorry.", Flaw.THOUGHTS),
    "channels": (f"<|channel|>analysis<|message|>\n{fenced()}<|end|>Sorry.", Flaw.THOUGHTS),
    "thoughts without an end": (f"<think>\n{fenced()}", Flaw.NO_CODE),
    "endless": ("x" * 200_001, Flaw.TOO_LONG),
    # These two take hours when blanks are matched by nested repetition.
    "a long line that is nearly a fence": ("```" + " " * 150_000 + "`", Flaw.NO_CODE),
    "long silence in thoughts": ("<think>" + " " * 150_000, Flaw.NO_CODE),
}


@pytest.mark.parametrize(("text", "flaw"), UNREADABLE.values(), ids=UNREADABLE)
def test_anything_else_is_a_code_and_never_code(text, flaw):
    answer = read(text)
    assert isinstance(answer, Unreadable)
    assert answer.flaw is flaw
    assert answer.reason.startswith(flaw.value)


@pytest.mark.parametrize(
    "char",
    ["\u201c", "\u201d", "\u2018", "\u2019", "\u00a0", "\u200b", "\u202e", "\u2066", "\ufeff", "\x00", "\x0c", "\x85",
     "\u2028", "\u3000", "\u00ad", "\ue000", "\r", "\x1b"],
    ids=lambda char: f"U+{ord(char):04X}",
)  # fmt: skip
def test_a_look_alike_or_invisible_character_is_named_with_its_place(char):
    answer = read(fenced(f"x = 1\ny = {char}2\n"))
    assert isinstance(answer, Unreadable)
    assert answer.flaw is Flaw.BAD_CHARACTER
    assert f"U+{ord(char):04X}" in answer.message
    assert "line 2, column 5" in answer.message
    assert char not in answer.message


def test_ordinary_letters_beyond_ascii_are_left_to_the_gates():
    answer = read(fenced("# caf\u00e9\nx = 1\n"))
    assert isinstance(answer, Answer)
    assert answer.source.data == "# caf\u00e9\nx = 1\n".encode()


def test_line_endings_of_the_model_stay_as_they_are():
    answer = read(fenced().replace("\n", "\r\n"))
    assert isinstance(answer, Answer)
    assert answer.source.data == CODE.replace("\n", "\r\n").encode()
    assert answer.hypothesis == "wait longer"


def test_a_fence_inside_indented_text_of_the_code_does_not_end_it():
    code = 'class S(Strategy):\n    """Like this:\n    ```\n    """\n'
    answer = read(fenced(code))
    assert isinstance(answer, Answer)
    assert answer.source.data == code.encode()


@pytest.mark.parametrize(
    ("outcome", "flaw"),
    [(Truncated(), Flaw.TRUNCATED), (Refused(), Flaw.REFUSED), (Empty(), Flaw.EMPTY), (ToolCall(), Flaw.TOOL_CALL)],
)
def test_how_the_answer_ended_decides_before_its_text(outcome, flaw):
    answer = read_answer(outcome)
    assert isinstance(answer, Unreadable)
    assert answer.flaw is flaw


def test_a_hypothesis_is_one_capped_line_of_printable_ascii():
    answer = read(fenced(before="**HYPOTHESIS:** buy\tthe \u202edip \x1b[31m" + "very " * 100 + "\n"))
    assert isinstance(answer, Answer)
    assert answer.hypothesis.startswith("buy the \\u202edip \\x1b[31m")
    assert len(answer.hypothesis) == HYPOTHESIS_LIMIT
    assert answer.hypothesis.isascii()
    assert answer.hypothesis.isprintable()


def test_a_hypothesis_is_not_taken_from_the_code():
    answer = read(fenced("# HYPOTHESIS: mine\nx = 1\n", before=""))
    assert isinstance(answer, Answer)
    assert answer.hypothesis == ""


_PIECES = st.sampled_from(
    ["```", "~~~", "````", "```python\n", "\n", "x = 1\n", "\u201c", "<think>", "</think>", "\r\n", " ", CODE]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_whatever_is_read_stands_in_the_answer_as_it_is(text):
    answer = read(text)
    if isinstance(answer, Answer):
        assert answer.source.data.decode() in text + "\n"
        assert answer.source.data.strip()


@given(st.text(string.ascii_letters + " =()\n:#", min_size=1).filter(str.strip))
def test_any_plain_code_in_one_block_is_read_back_exactly(code):
    answer = read(fenced(code + "\n"))
    assert isinstance(answer, Answer)
    assert answer.source.data.decode() == code + "\n"


def test_what_follows_the_last_thought_is_the_answer():
    """Templates open the thoughts in the prompt, so that only their end is in the answer."""
    for thoughts in (f"Let me see.\n{fenced()}", f"<think>{fenced()}</think><think>{fenced()}"):
        assert isinstance(read_answer(Text(text=f"{thoughts}</think>\n{fenced()}")), Answer)
