"""What real endpoints answered once is still read the same way, and still asked for in the same words."""

import re

import llm_cassettes
import pytest

from evolution.llm import LlmProfile
from evolution.llm.client import EndpointClient
from evolution.llm.outcomes import Text
from evolution.llm.transport import HttpTransport

TAPES = llm_cassettes.load()


@pytest.mark.parametrize("tape", TAPES, ids=[tape.name for tape in TAPES])
def test_a_recorded_exchange_is_asked_and_read_as_it_was(tape):
    profile = LlmProfile.model_validate(tape.profile)
    transport = HttpTransport(profile.base_url, None, profile.timeouts, carrier=llm_cassettes.player(TAPES))
    with EndpointClient(profile, transport) as client:
        outcome = client.complete(llm_cassettes.as_request(tape.messages, tape.shape))
    assert outcome.code == tape.outcome
    if isinstance(outcome, Text):
        assert outcome.text.strip()
        assert outcome.usage.estimated_calls == 0


def test_the_tapes_cover_the_dialects_and_groups_of_ends():
    assert {tape.profile["dialect"] for tape in TAPES} >= {
        "openai_chat",
        "openai_responses",
        "anthropic",
        "llamacpp",
        "ollama",
    }
    assert {tape.outcome.partition("/")[0] for tape in TAPES} >= {"text", "truncated", "refused", "retryable", "fatal"}
    assert any(tape.origin.startswith("llama.cpp server") for tape in TAPES)


def test_a_request_in_other_words_finds_no_answer():
    tape = next(tape for tape in TAPES if tape.outcome == "text")
    profile = LlmProfile.model_validate({**tape.profile, "max_tokens": 999})
    transport = HttpTransport(profile.base_url, None, profile.timeouts, carrier=llm_cassettes.player(TAPES))
    with EndpointClient(profile, transport) as client, pytest.raises(AssertionError, match="has to be recorded again"):
        client.complete(llm_cassettes.as_request(tape.messages, tape.shape))


def test_no_tape_holds_a_key_or_a_place_on_somebody_s_machine():
    for file in llm_cassettes.FOLDER.glob("*.json"):
        text = file.read_text("utf-8")
        assert not re.search(r"(?i)authorization|x-api-key|bearer|\bsk-|canary", text), file
        assert not re.search(r"/(home|root|tmp|work|Users)/", text), file
