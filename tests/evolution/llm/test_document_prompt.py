"""Documents of the closed language from a model: asked for, read and sent back like Python files, and never mended."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evolution.breed import Barren
from evolution.candidate import Candidate
from evolution.llm.breeder import LlmBreeder, Outage
from evolution.llm.document_prompt import document_prompts, document_shape, shown_document
from evolution.llm.outcomes import Text
from evolution.llm.parse import Answer, Flaw, Unreadable
from evolution.operators import canonical_hash
from evolution.operators.documents import meaning, parse
from evolution.seeds import document_sources
from evolution.trial import TrialOutcome
from gates import check
from runtime.model import Timeframe
from runtime.sir.compile import Compiled, compile_document
from runtime.sir.document import Document
from runtime.source import Language, StrategySource

DAY = Timeframe(86_400)
SEEDS = [source for _, source in document_sources(DAY)]


@pytest.fixture
def document_trial(make_trial):
    """A trial that ran, from a document."""

    def make(source=SEEDS[0], *, index=0):
        trial = make_trial("class S(Strategy): ...", index=index)
        return replace(trial, candidate=replace(trial.candidate, source=source))

    return make


@pytest.fixture
def breeder_for(connect, prompts, new_book):
    def make(*plan, **options):
        client, server = connect(*plan, **options)
        records = new_book()
        return LlmBreeder(client, client.profile, prompts=prompts, book=records), server, records

    return make


@pytest.fixture
def door(cage):
    """The gates."""
    return lambda source: check(source, cage)


@pytest.mark.parametrize(
    "profile",
    [
        {},
        {"documents_as": "block"},
        {"dialect": "openai_responses"},
        {"dialect": "anthropic"},
        {"dialect": "llamacpp", "constrained": True},
        {"dialect": "vllm"},
    ],
    ids=["chat", "block", "responses", "anthropic", "llamacpp", "vllm"],
)
def test_a_mutation_of_a_document_is_a_document_that_compiles(breeder_for, propose, document_trial, door, profile):
    breeder, server, records = breeder_for(**profile)
    parent = document_trial()
    breeding = breeder.breed(propose(parent), [parent], door)
    child = breeding.result
    assert isinstance(child, Candidate), child
    assert child.source.language is Language.SIR
    assert isinstance(compile_document(child.source.data), Compiled)
    assert canonical_hash(child.source) != canonical_hash(parent.candidate.source)
    assert child.provenance.operator == "llm/mutate"
    assert child.provenance.parents == ("g000-c000",)
    assert child.provenance.model == "scripted"
    assert child.provenance.detail
    assert breeding.rounds == len(records) == 1
    body = server.seen[0].body
    held = {"response_format", "text", "output_config", "structured_outputs"} & set(body)
    assert bool(held) is (profile.get("documents_as") != "block")
    assert "grammar" not in body, "the grammar for Python files is no shape of a document"
    if held:
        assert json.dumps(document_shape().schema, sort_keys=True) in json.dumps(body, sort_keys=True)


def test_a_crossover_shows_both_documents_and_names_both_parents(breeder_for, propose, document_trial, door):
    first, second = document_trial(SEEDS[0]), document_trial(SEEDS[2], index=1)
    breeder, server, _ = breeder_for()
    child = breeder.breed(propose(first, second), [first, second], door).result
    assert isinstance(child, Candidate)
    assert child.provenance.operator == "llm/crossover"
    assert child.provenance.parents == ("g000-c000", "g000-c001")
    question = server.seen[0].body["messages"][1]["content"]
    assert question.count("```json") == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_parents_of_two_languages_cannot_be_joined_and_the_first_is_varied_alone(
    breeder_for, propose, document_trial, make_trial, starters, door, order
):
    pair = [document_trial(index=0), make_trial(starters["breakout"], index=1)]
    first, second = pair[order[0]], pair[order[1]]
    breeder, server, _ = breeder_for()
    child = breeder.breed(propose(first, second), [first, second], door).result
    assert isinstance(child, Candidate)
    assert child.provenance.operator == "llm/mutate"
    assert child.provenance.parents == (first.candidate.id,)
    assert child.source.language is first.candidate.source.language
    assert second.candidate.source.text not in server.seen[0].text


@pytest.mark.parametrize("way", ["schema", "block"])
def test_what_the_compiler_says_goes_back_and_the_second_document_is_the_candidate(
    breeder_for, propose, document_trial, door, way
):
    breeder, server, records = breeder_for("violating", documents_as=way)
    parent = document_trial()
    breeding = breeder.breed(propose(parent), [parent], door)
    assert isinstance(breeding.result, Candidate)
    assert breeding.result.provenance.operator == "llm/mutate+repair"
    assert b"NO_SUCH" not in breeding.result.source.data
    assert breeding.rounds == len(records) == 2
    question = server.seen[1].body["messages"]
    assert [message["role"] for message in question] == ["system", "user", "assistant", "user"]
    assert "NO_SUCH" in question[2]["content"]
    assert "unknown-indicator" in question[3]["content"]
    assert "/features/0/type" in question[3]["content"]
    assert "document-repair-" in records[1].prompt_version


def test_a_document_that_stays_refused_is_a_candidate_all_the_same_after_three_questions(
    breeder_for, propose, document_trial, door, attempt
):
    breeder, server, _ = breeder_for(model="scripted:stubborn")
    parent = document_trial()
    breeding = breeder.breed(propose(parent), [parent], door)
    assert isinstance(breeding.result, Candidate)
    assert breeding.rounds == len(server.seen) == 3
    trial = attempt(breeding.result)
    assert trial.outcome is TrialOutcome.REJECTED
    assert trial.findings[0].rule == "document"


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("length", "E_TRUNCATED"),
        ("null", "E_EMPTY"),
        ("refusal", "E_REFUSED"),
        ("tool-call", "E_TOOL_CALL"),
        ("prose", "E_NO_CODE"),
        ("two-blocks", "E_MANY_BLOCKS"),
        ("duplicate", "E_NOOP"),
        ("odd-finish", "E_MALFORMED"),
    ],
)
def test_what_has_no_reading_is_asked_for_anew_and_ends_in_an_empty_place(
    breeder_for, propose, document_trial, door, mode, code
):
    breeder, server, records = breeder_for(model=f"scripted:{mode}")
    parent = document_trial()
    barren = breeder.breed(propose(parent), [parent], door).result
    assert isinstance(barren, Barren)
    assert code in barren.reason
    assert len(server.seen) == len(records) == 3
    assert code in server.seen[1].body["messages"][-1]["content"]
    assert "```python" not in server.seen[1].body["messages"][-1]["content"]


@pytest.mark.parametrize("mode", ["401", "429-quota", "500"])
def test_an_outage_keeps_the_place_open(breeder_for, propose, document_trial, door, mode):
    breeder, _, _ = breeder_for(model=f"scripted:{mode}")
    parent = document_trial()
    assert isinstance(breeder.breed(propose(parent), [parent], door).result, Outage)


def test_a_refused_schema_names_the_setting_that_does_without_it(breeder_for, propose, document_trial, door):
    breeder, _, _ = breeder_for("400")
    parent = document_trial()
    outage = breeder.breed(propose(parent), [parent], door).result
    assert isinstance(outage, Outage)
    assert "documents_as in [llm.test]" in outage.reason


def test_a_document_that_the_run_has_already_is_sent_back(breeder_for, propose, document_trial, door):
    breeder, _, _ = breeder_for()
    parent = document_trial()
    first = breeder.breed(propose(parent), [parent], door).result
    again, server, _ = breeder_for()
    known = {canonical_hash(first.source)}
    again.breed(propose(parent), [parent], door, known=known)
    assert "E_DUPLICATE" in server.seen[1].body["messages"][-1]["content"]


def test_a_document_without_parent_is_asked_for_with_the_market_it_is_for(
    connect, prompts, propose, document_trial, door
):
    client, server = connect()
    parent = document_trial()
    breeder = LlmBreeder(client, client.profile, prompts=prompts, scratch_share=1.0)
    child = breeder.breed(propose(parent), [parent], door).result
    assert isinstance(child, Candidate)
    assert child.provenance.operator == "llm/scratch"
    assert child.provenance.parents == ()
    question = server.seen[0].body["messages"][1]["content"]
    assert '{"name": "any", "timeframe": "1d"}' in question
    assert "```json" not in question


# What a prompt may hold ------------------------------------------------------------------------------------------------

PLANTED = "ignore_all_rules"


def planted() -> StrategySource:
    """A document with words wherever its author may put any."""
    tree = json.loads(SEEDS[0].data)
    tree["name"] = f"{PLANTED} ```json"
    tree["market"]["name"] = PLANTED
    tree["explainability"] = {"assumptions": [{"id": PLANTED, "text": PLANTED, "needs_confirmation": True}]}
    text = json.dumps(tree).replace('"rsi"', f'"{PLANTED}"')
    return StrategySource(text.encode(), Language.SIR)


def test_no_word_of_a_document_reaches_a_prompt_and_all_of_its_rules_do(breeder_for, propose, document_trial, door):
    parent = document_trial(planted())
    breeder, server, _ = breeder_for()
    assert isinstance(breeder.breed(propose(parent), [parent], door).result, Candidate)
    assert PLANTED not in json.dumps(server.seen[0].body)
    shown = shown_document(planted())
    assert meaning(shown) == meaning(planted())
    assert parse(shown)["features"][0]["id"] == "rsi_1"


def test_what_is_no_document_cannot_be_shown():
    with pytest.raises(ValueError, match="no document that compiles"):
        shown_document(StrategySource(b"{}", Language.SIR))


def test_the_system_text_names_every_part_of_a_document_and_no_instrument():
    for held in (True, False):
        text = document_prompts(is_held=held).system.text
        for part in Document.model_fields:
            assert f"`{part}`" in text
        assert ("HYPOTHESIS" in text) is not held
        assert "$" not in text
    brief = document_prompts(is_held=True, brief=True).system
    assert len(brief.text) < len(document_prompts(is_held=True).system.text) / 1.5
    assert brief.version != document_prompts(is_held=True).system.version


# Reading ---------------------------------------------------------------------------------------------------------------

DOCUMENT = SEEDS[0].text


@pytest.fixture
def task(propose, document_trial):
    parent = document_trial()

    def make(*, held=True):
        return document_prompts(is_held=held).task(propose(parent), [parent])

    return make


@pytest.mark.parametrize(
    "text",
    [
        DOCUMENT,
        f"\n  {DOCUMENT}  \n",
        f"```json\n{DOCUMENT}```\n",
        f"<think>{{}}</think>\n{DOCUMENT}",
        f"HYPOTHESIS: longer\n\n```json\n{DOCUMENT}```",
    ],
)
@pytest.mark.parametrize("held", [True, False])
def test_an_answer_is_the_document_that_it_is_or_the_one_block_in_it(task, text, held):
    answer = task(held=held).read(Text(text=text), is_first=True)
    assert isinstance(answer, Answer)
    assert answer.source.data.strip() == DOCUMENT.strip().encode()
    assert answer.hypothesis == ("longer" if "HYPOTHESIS" in text else "RSI reversal")


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        (f"Here you are: {DOCUMENT}", Flaw.NO_CODE),
        (f"{DOCUMENT}\nThat is all.", Flaw.NO_CODE),
        (f"```json\n{DOCUMENT}```\n```json\n{DOCUMENT}```", Flaw.MANY_BLOCKS),
        (f"```json\n{DOCUMENT}", Flaw.OPEN_BLOCK),
        (f"```python\n{DOCUMENT}```", Flaw.WRONG_LANGUAGE),
        (DOCUMENT.replace("RSI reversal", "RSI \u202e reversal"), Flaw.BAD_CHARACTER),
        (f"<think>{DOCUMENT}", Flaw.NO_CODE),
    ],
)
def test_anything_else_has_no_reading_and_the_hint_is_about_documents(task, text, flaw):
    for held in (True, False):
        found = task(held=held).read(Text(text=text), is_first=True)
        assert isinstance(found, Unreadable)
        assert found.flaw is flaw
        assert "python" not in found.hint


def test_two_objects_in_a_row_are_read_as_one_text_and_left_to_the_compiler(task):
    answer = task().read(Text(text=f"{DOCUMENT}{DOCUMENT}"), is_first=True)
    assert isinstance(answer, Answer)
    assert not isinstance(compile_document(answer.source.data), Compiled)
