"""A SEARCH/REPLACE answer changes exactly what it says, where it says it, or it is sent back with a code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.llm.edits import apply_edits
from evolution.llm.parse import Flaw, Unreadable

SHOWN = "class S(Strategy):\n    a = 1\n    b = 2\n\n    def on_bar(self, bar):\n        self.close()\n"


def section(old, new):
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def test_one_section_changes_its_lines_and_no_other_byte():
    assert apply_edits(SHOWN, section("    a = 1", "    a = 7")) == SHOWN.replace("a = 1", "a = 7")


def test_several_sections_apply_to_the_text_as_it_was_shown_in_any_order():
    block = section("        self.close()", "        self.buy()") + "\n" + section("    a = 1\n    b = 2", "    b = 3")
    assert (
        apply_edits(SHOWN, block) == "class S(Strategy):\n    b = 3\n\n    def on_bar(self, bar):\n        self.buy()\n"
    )


def test_lines_can_be_deleted():
    assert apply_edits(SHOWN, "<<<<<<< SEARCH\n    b = 2\n=======\n>>>>>>> REPLACE\n") == SHOWN.replace(
        "    b = 2\n", ""
    )


def test_carriage_returns_of_the_answer_are_no_difference():
    assert apply_edits(SHOWN, section("    a = 1", "    a = 7").replace("\n", "\r\n")) == SHOWN.replace(
        "a = 1", "a = 7"
    )


@pytest.mark.parametrize(
    ("block", "flaw", "says"),
    [
        (section("    a = 1  # one", "    a = 7"), Flaw.SEARCH_MISS, "line 2 there is 'a = 1'"),
        (section("a = 1", "a = 7"), Flaw.SEARCH_MISS, "section 1"),
        (section("    a  = 1", "    a = 7"), Flaw.SEARCH_MISS, "do not occur"),
        (section("    a = 1", "    a = 1"), Flaw.NOOP, "same lines"),
        (section("", "x = 1"), Flaw.EDIT_FORM, "searches for nothing"),
        ("", Flaw.EDIT_FORM, "no section"),
        ("    a = 7\n", Flaw.EDIT_FORM, "line 1 of the block stands outside"),
        ("<<<<<<< SEARCH\n    a = 1\n", Flaw.EDIT_FORM, "no line '======='"),
        ("<<<<<<< SEARCH\n    a = 1\n=======\n    a = 2\n", Flaw.EDIT_FORM, "no line '>>>>>>> REPLACE'"),
        ("<<<<<<< SEARCH\n    a = 1\n>>>>>>> REPLACE\n", Flaw.EDIT_FORM, "'=======' has to come first"),
        (section("    a = 1", "=======\n    a = 2"), Flaw.EDIT_FORM, "'>>>>>>> REPLACE' has to come first"),
        (section("    a = 1", "    a = 2") + section("    a = 1\n    b = 2", "    b = 5"), Flaw.EDIT_FORM, "two sections"),
        (section("    a = 1", "    a = 2") + "and so on\n", Flaw.EDIT_FORM, "line 6"),
    ],
)  # fmt: skip
def test_anything_else_is_sent_back_with_its_code(block, flaw, says):
    answer = apply_edits(SHOWN, block)
    assert isinstance(answer, Unreadable)
    assert answer.flaw is flaw
    assert says in answer.message
    assert answer.hint


def test_lines_that_occur_twice_are_not_guessed_at():
    answer = apply_edits("x = 1\ny = 2\nx = 1\n", section("x = 1", "x = 5"))
    assert answer.flaw is Flaw.SEARCH_AMBIGUOUS
    assert "occur 2 times, from lines 1, 3" in answer.message


LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "    c()", "", "d"]), min_size=1, max_size=8)


@given(LINES, st.data())
def test_a_section_that_occurs_once_gives_exactly_the_text_with_those_lines_replaced(lines, data):
    start = data.draw(st.integers(0, len(lines) - 1))
    stop = data.draw(st.integers(start + 1, len(lines)))
    new = data.draw(LINES)
    old = lines[start:stop]
    answer = apply_edits("\n".join(lines), section("\n".join(old), "\n".join(new)))
    starts = [i for i in range(len(lines) - len(old) + 1) if lines[i : i + len(old)] == old]
    if not any(line.strip() for line in old):
        assert answer.flaw is Flaw.EDIT_FORM
    elif new == old:
        assert answer.flaw is Flaw.NOOP
    elif len(starts) > 1:
        assert answer.flaw is Flaw.SEARCH_AMBIGUOUS
    else:
        assert answer == "\n".join([*lines[:start], *new, *lines[stop:]])


# --- As a breeder uses them ------------------------------------------------------------------------------------------


@pytest.fixture
def edit(connect, prompts, propose, make_trial, starters, gate_one, new_book):
    """Breed with a profile that answers in sections: ``breeding, server, parent = edit("search-miss")``."""
    from evolution.llm.breeder import LlmBreeder

    def make(*plan, **profile):
        client, server = connect(*plan, mutate_as="search_replace", **profile)
        parent = make_trial(starters["breakout"])
        breeder = LlmBreeder(client, client.profile, prompts=prompts, book=new_book())
        return breeder.breed(propose(parent), [parent], gate_one), server, parent

    return make


def test_a_mutation_by_sections_is_the_parent_with_those_lines_changed(edit, prompts):
    from evolution.llm.showing import shown_text

    breeding, server, parent = edit()
    assert breeding.rounds == 1
    assert "<<<<<<< SEARCH" in server.seen[0].body["messages"][1]["content"]
    shown = shown_text(parent.candidate.source, prompts.words).splitlines()
    child = breeding.result.source.text.splitlines()
    assert len(child) == len(shown)
    assert 1 <= sum(new != old for new, old in zip(child, shown, strict=True)) <= 3
    assert breeding.result.provenance.operator == "llm/mutate"


@pytest.mark.parametrize(
    ("mode", "code"),
    [("search-miss", "E_SEARCH_MISS"), ("search-blank", "E_EDIT_FORM"), ("marker-in-code", "E_EDIT_FORM"),
     ("prose", "E_NO_CODE"), ("two-blocks", "E_MANY_BLOCKS"), ("duplicate", "E_EDIT_FORM")],
)  # fmt: skip
def test_who_misses_once_is_asked_for_the_whole_file(edit, mode, code):
    breeding, server, _ = edit(mode)
    assert breeding.rounds == 2
    second = server.seen[1].body["messages"][1]["content"]
    assert code in second
    assert "<<<<<<< SEARCH" not in second
    assert breeding.result.source


def test_findings_on_a_child_by_sections_are_repaired_as_a_whole_file(edit):
    breeding, server, _ = edit("violating")
    assert breeding.result.provenance.operator == "llm/mutate+repair"
    assert [message["role"] for message in server.seen[1].body["messages"]] == ["system", "user", "assistant", "user"]
    assert server.seen[1].body["messages"][2]["content"].startswith("```python\nimport os\nclass Breakout")


def test_a_crossover_is_always_a_whole_file(connect, prompts, propose, make_trial, starters, gate_one):
    from evolution.llm.breeder import LlmBreeder

    client, server = connect(mutate_as="search_replace")
    pair = [make_trial(starters[name], index=index) for index, name in enumerate(["trend", "breakout"])]
    LlmBreeder(client, client.profile, prompts=prompts).breed(propose(*pair), pair, gate_one)
    assert "<<<<<<< SEARCH" not in server.seen[0].text
