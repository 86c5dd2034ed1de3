"""Four protocols, one behaviour: the same faults end the same way, whatever an endpoint speaks."""

import json

import pytest

from evolution.llm import LlmRequest, Message, Role
from evolution.llm.dialects import DIALECTS
from evolution.llm.exchange import Reply
from evolution.llm.outcomes import (
    Empty,
    Fatal,
    FatalKind,
    Malformed,
    Refused,
    Retryable,
    Text,
    ToolCall,
    Trouble,
    Truncated,
)
from evolution.llm.shape import Grammar, JsonSchema, ShapeUnsupportedError

KEY = "canary-key-7f3a91c2d4"
PARENT = "class S(Strategy):\n    n = param(5, low=2, high=9)\n\n    def on_bar(self, bar):\n        self.close()\n"
REQUEST = LlmRequest(
    subject="g001-c002",
    prompt_version="v",
    messages=(Message(Role.SYSTEM, "You write."), Message(Role.USER, f"A parent:\n\n```python\n{PARENT}```\n")),
)
NAMES = sorted(DIALECTS)
# Only the first one has names for every error; Ollama's errors are sentences.
NAMED = ["openai_chat", "openai_responses", "anthropic", "llamacpp", "vllm"]

ENDS = {
    "edit": Text,
    "length": Truncated,
    "empty": Empty,
    "null": Empty,
    "tool-call": ToolCall,
    "no-usage": Text,
    "absurd-usage": Text,
    "500": Retryable,
    "503": Retryable,
    "529": Retryable,
    "429-none": Retryable,
    "cut-json": Retryable,
    "not-json": Retryable,
    "deep": Retryable,
    "odd-finish": Malformed,
    "reset": Retryable,
    "401": Fatal,
    "404": Fatal,
    "html": Fatal,
    "redirect": Fatal,
    "400": Fatal,
}


@pytest.fixture
def speak(connect, serve):
    """A client in a dialect: ``client, server = speak("anthropic", "500")``."""

    def make(dialect, *plan, server=None, **profile):
        server = server or serve(*plan)
        if dialect == "ollama":
            profile = {"base_url": server.address, "context_tokens": 8_192, **profile}
        return connect(server=server, dialect=dialect, **profile)

    return make


@pytest.fixture
def as_profile(profile_for):
    """A profile of a dialect, without a server."""

    def make(dialect, **profile):
        window = {"context_tokens": 8_192} if dialect == "ollama" else {}
        return profile_for("http://127.0.0.1:9/v1", dialect=dialect, **{**window, **profile})

    return make


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize(("mode", "kind"), ENDS.items())
def test_an_end_is_the_same_in_every_dialect(speak, dialect, mode, kind):
    client, server = speak(dialect, model=f"scripted:{mode}", attempts=1)
    outcome = client.complete(REQUEST)
    assert type(outcome) is kind, outcome
    assert len(server.seen) == 1
    if kind is Text:
        assert "```python" in outcome.text
        assert outcome.usage.estimated_calls == (mode != "edit")


@pytest.mark.parametrize("dialect", NAMED)
@pytest.mark.parametrize(("mode", "kind"), [("429-quota", FatalKind.QUOTA), ("429-spend", FatalKind.QUOTA),
                                            ("400-overflow", FatalKind.CONTEXT_OVERFLOW), ("401", FatalKind.AUTH)])  # fmt: skip
def test_a_quota_is_told_from_a_limit_in_every_dialect_that_has_words_for_it(speak, dialect, mode, kind):
    client, server = speak(dialect, model=f"scripted:{mode}")
    outcome = client.complete(REQUEST)
    assert isinstance(outcome, Fatal)
    assert outcome.kind is kind
    assert len(server.seen) == 1


@pytest.mark.parametrize("dialect", NAMED)
@pytest.mark.parametrize("mode", ["refusal", "filter"])
def test_a_refusal_is_a_refusal(speak, dialect, mode):
    client, _ = speak(dialect, model=f"scripted:{mode}")
    assert isinstance(client.complete(REQUEST), Refused)


@pytest.mark.parametrize("dialect", NAMES)
def test_the_key_goes_where_the_dialect_wants_it_and_comes_back_nowhere(speak, serve, dialect):
    server = serve("key-echo", "edit", key=KEY)
    client, _ = speak(dialect, server=server, environ={"K": KEY}, key_env="K")
    refused, answered = client.complete(REQUEST), client.complete(REQUEST)
    assert isinstance(refused, Fatal)
    assert KEY not in repr(refused)
    assert isinstance(answered, Text)
    prefix = "" if dialect == "anthropic" else "Bearer "
    assert {seen.authorization for seen in server.seen} == {f"{prefix}{KEY}"}


FIELDS = {
    "openai_chat": {"model", "messages", "max_tokens", "stream"},
    "llamacpp": {"model", "messages", "max_tokens", "stream"},
    "vllm": {"model", "messages", "max_tokens", "stream"},
    "openai_responses": {"model", "instructions", "input", "max_output_tokens", "store", "stream"},
    "anthropic": {"model", "system", "messages", "max_tokens", "stream"},
    "ollama": {"model", "messages", "options", "stream"},
}


@pytest.mark.parametrize("dialect", NAMES)
def test_a_request_says_what_the_profile_says_in_the_dialect_s_words(as_profile, dialect):
    encode = DIALECTS[dialect].encode
    body = json.loads(encode(REQUEST.messages, as_profile(dialect, max_tokens=777)))
    assert set(body) == FIELDS[dialect]
    assert 777 in ([*body.values()] if dialect != "ollama" else [body["options"]["num_predict"]])
    assert body.get("store", False) is False
    assert encode(REQUEST.messages, as_profile(dialect)).isascii()
    assert encode(REQUEST.messages, as_profile(dialect)) == encode(list(REQUEST.messages), as_profile(dialect))


@pytest.mark.parametrize("dialect", sorted({*NAMES} - {"anthropic"}))
def test_a_temperature_is_sent_where_the_profile_has_one(as_profile, dialect):
    body = DIALECTS[dialect].encode(REQUEST.messages, as_profile(dialect, temperature=0.25))
    assert b'"temperature":0.25' in body
    assert b"temperature" not in DIALECTS[dialect].encode(REQUEST.messages, as_profile(dialect))


def test_an_older_anthropic_version_still_takes_a_temperature(as_profile):
    profile = as_profile("anthropic", api_version="2023-06-01", temperature=0.25)
    assert b'"temperature":0.25' in DIALECTS["anthropic"].encode(REQUEST.messages, profile)
    assert DIALECTS["anthropic"].headers(profile) == {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize("dialect", NAMES)
def test_a_model_without_a_system_role_gets_its_text_in_front_of_the_first_question(as_profile, dialect):
    body = json.loads(DIALECTS[dialect].encode(REQUEST.messages, as_profile(dialect, system_role=False)))
    turns = body.get("messages") or body["input"]
    assert [turn["role"] for turn in turns] == ["user"]
    assert turns[0]["content"].startswith("You write.\n\nA parent:")
    assert not {"system", "instructions"} & set(body)


# --- Constrained output ----------------------------------------------------------------------------------------------

SCHEMA = JsonSchema("rule", {"type": "object"})


@pytest.mark.parametrize(
    ("dialect", "field", "value"),
    [
        ("llamacpp", "grammar", 'root ::= "yes"'),
        ("vllm", "structured_outputs", {"grammar": 'root ::= "yes"'}),
    ],
)
def test_a_grammar_is_sent_in_the_server_s_own_field(as_profile, dialect, field, value):
    body = json.loads(DIALECTS[dialect].encode(REQUEST.messages, as_profile(dialect), Grammar('root ::= "yes"')))
    assert body[field] == value


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "ollama"])
def test_a_grammar_is_refused_where_it_cannot_be_said(as_profile, dialect):
    with pytest.raises(ShapeUnsupportedError, match=dialect):
        DIALECTS[dialect].encode(REQUEST.messages, as_profile(dialect), Grammar('root ::= "yes"'))


@pytest.mark.parametrize("dialect", NAMES)
def test_a_json_schema_can_be_said_everywhere(as_profile, dialect):
    body = json.loads(DIALECTS[dialect].encode(REQUEST.messages, as_profile(dialect), SCHEMA))
    added = set(body) - FIELDS[dialect]
    assert len(added) == 1
    assert json.dumps({"type": "object"}) in json.dumps(body[added.pop()])


# --- Corners of single dialects --------------------------------------------------------------------------------------


def decoded(dialect, profile, document, status=200):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return DIALECTS[dialect].decode(Reply(status=status, headers={}, body=body), b"x" * 300, profile)


MALFORMED = [{}, [], None, b"", b"\xff", {"status": 5}, {"ok": True}, b"It works!", b"data: {}\n\n"]


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("document", MALFORMED)
def test_a_success_that_does_not_follow_the_protocol_is_malformed(as_profile, dialect, document):
    outcome = decoded(dialect, as_profile(dialect), document)
    assert isinstance(outcome, Retryable)
    assert outcome.trouble is Trouble.MALFORMED


def test_thinking_comes_in_blocks_of_its_own_and_is_no_answer(as_profile):
    blocks = [{"type": "thinking", "thinking": "x = 1"}, {"type": "redacted_thinking", "data": "z"}]
    message = {"stop_reason": "end_turn", "content": blocks, "usage": {"input_tokens": 1, "output_tokens": 2}}
    assert isinstance(decoded("anthropic", as_profile("anthropic"), message), Empty)
    message["content"] = [*blocks, {"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    assert decoded("anthropic", as_profile("anthropic"), message).text == "one two"


def test_cached_tokens_count_as_tokens_of_the_prompt(as_profile):
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 1500,
        "output_tokens": 4,
    }
    message = {"stop_reason": "end_turn", "content": [{"type": "text", "text": "x"}], "usage": usage}
    outcome = decoded("anthropic", as_profile("anthropic"), message)
    assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == (1710, 4)


@pytest.mark.parametrize(
    ("stop_reason", "kind"),
    [
        ("model_context_window_exceeded", Truncated),
        ("pause_turn", ToolCall),
        ("stop_sequence", Text),
        ("new", Malformed),
        (None, Malformed),
    ],
)
def test_every_stop_reason_has_a_reading(as_profile, stop_reason, kind):
    message = {"stop_reason": stop_reason, "content": [{"type": "text", "text": "x"}]}
    assert type(decoded("anthropic", as_profile("anthropic"), message)) is kind


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", FatalKind.CONTEXT_OVERFLOW),
        ("Your credit balance is too low to access the API", FatalKind.QUOTA),
        ("temperature: Extra inputs are not permitted", FatalKind.BAD_REQUEST),
    ],
)
def test_what_has_no_code_is_known_by_its_words(as_profile, message, kind):
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "r"}
    assert decoded("anthropic", as_profile("anthropic"), error, 400).kind is kind


def test_a_failed_response_is_known_by_its_code(as_profile):
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}, "output": []}
    profile = as_profile("openai_responses")
    assert decoded("openai_responses", profile, failed).trouble is Trouble.RATE_LIMITED
    failed["error"] = {"code": "server_error", "message": "sorry"}
    assert decoded("openai_responses", profile, failed).trouble is Trouble.SERVER


def test_reasoning_and_calls_of_a_response_are_no_text(as_profile):
    message = {"type": "message", "content": [{"type": "output_text", "text": "hello"}]}
    response = {"status": "completed", "output": [{"type": "reasoning", "summary": []}, message]}
    profile = as_profile("openai_responses")
    assert decoded("openai_responses", profile, response).text == "hello"
    response["output"].append({"type": "function_call", "name": "run"})
    assert isinstance(decoded("openai_responses", profile, response), ToolCall)


def test_a_server_that_cuts_the_prompt_silently_is_found_out(speak):
    """Ollama drops the beginning of what does not fit, and with it the contract."""
    client, _ = speak("ollama", "cut-prompt")
    outcome = client.complete(REQUEST)
    assert isinstance(outcome, Fatal)
    assert outcome.kind is FatalKind.CONTEXT_OVERFLOW
    assert "cut the beginning off" in outcome.reason


@pytest.mark.parametrize("dialect", NAMES)
def test_a_question_that_may_not_fit_in_the_window_is_not_sent(speak, dialect):
    client, server = speak(dialect, context_tokens=1_024, max_tokens=1_000)
    outcome = client.complete(REQUEST)
    assert isinstance(outcome, Fatal)
    assert outcome.kind is FatalKind.CONTEXT_OVERFLOW
    assert "context_tokens = 1024" in outcome.reason
    assert server.seen == []


TOP = {"openai_chat": "choices", "llamacpp": "choices", "vllm": "choices", "openai_responses": "output", "anthropic": "content",
       "ollama": "message"}  # fmt: skip


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("value", [5, None, [], "text", [None], {}, "\ud800", [["\ud800"]]])
def test_what_a_model_wrote_and_nobody_can_read_is_answered_and_charged(as_profile, dialect, value):
    """It was paid for: asking the same again would be paid for again, and end the same."""
    outcome = decoded(dialect, as_profile(dialect), {TOP[dialect]: value})
    assert isinstance(outcome, Malformed)
    assert outcome.usage.completion_tokens == as_profile(dialect).max_tokens


@pytest.mark.parametrize("dialect", NAMES)
def test_a_byte_order_mark_in_front_changes_nothing(speak, serve, dialect, llm_server, monkeypatch):
    real = llm_server.rendered

    def marked(*args):
        answer = real(*args)
        answer.body = b"\xef\xbb\xbf" + answer.body
        return answer

    monkeypatch.setattr(llm_server, "rendered", marked)
    client, _ = speak(dialect, "edit")
    assert isinstance(client.complete(REQUEST), Text)


def test_an_answer_in_parts_is_its_texts_without_its_thoughts(as_profile):
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "one "},
             {"type": "text", "text": "two"}]  # fmt: skip
    document = {"choices": [{"finish_reason": "stop", "message": {"content": parts}}]}
    assert decoded("openai_chat", as_profile("openai_chat"), document).text == "one two"


WORDS = {"model_length": Truncated, "MAX_TOKENS": Truncated, "SAFETY": Refused, "eos": Text, "STOP": Text, "abort": Malformed,
         "error": Malformed, "": Malformed}  # fmt: skip


@pytest.mark.parametrize("dialect", sorted({*NAMES} - {"openai_responses"}))
@pytest.mark.parametrize(("word", "kind"), WORDS.items())
def test_every_gateway_s_word_for_an_end_is_read_in_every_dialect(as_profile, dialect, word, kind):
    documents = {
        "anthropic": {"stop_reason": word, "content": [{"type": "text", "text": "x"}]},
        "ollama": {"done": True, "done_reason": word, "message": {"content": "x"}},
    }
    chat = {"choices": [{"finish_reason": word, "message": {"content": "x"}}]}
    assert type(decoded(dialect, as_profile(dialect), documents.get(dialect, chat))) is kind


def test_an_answer_that_says_it_goes_on_is_not_taken_for_whole(as_profile):
    begun = {"done": False, "done_reason": "stop", "message": {"content": "x"}}
    assert isinstance(decoded("ollama", as_profile("ollama"), begun), Malformed)


@pytest.mark.parametrize(
    ("claim", "is_believed"),
    [
        ((80, 40), True),
        ((0, 40), False),
        ((1, 40), False),
        ((80, 0), False),
        ((80, 1), False),
        ((9_000_000, 40), False),
        ((80, 9_000), False),
        ((80.0, 40), False),
        ((True, 40), False),
    ],
)
@pytest.mark.parametrize("dialect", NAMES)
def test_a_claim_that_cannot_be_is_charged_at_the_upper_bound(as_profile, dialect, claim, is_believed):
    """Too little makes every ceiling inert, too much ends a run at once."""
    read, written = claim
    text = "x = 1\n" * 100
    in_out = {"input_tokens": read, "output_tokens": written}
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    chat = {"choices": [{"finish_reason": "stop", "message": {"content": text}}],
            "usage": {"prompt_tokens": read, "completion_tokens": written}}  # fmt: skip
    documents = {
        "anthropic": {"stop_reason": "end_turn", "content": [{"type": "text", "text": text}], "usage": in_out},
        "openai_responses": {"status": "completed", "output": [message], "usage": in_out},
        "ollama": {
            "done": True,
            "done_reason": "stop",
            "message": {"content": text},
            "prompt_eval_count": read,
            "eval_count": written,
        },
    }
    outcome = decoded(dialect, as_profile(dialect), documents.get(dialect, chat))
    assert outcome.usage.estimated_calls == (not is_believed)
    if not is_believed:
        assert outcome.usage.completion_tokens == as_profile(dialect).max_tokens


def test_an_error_that_carries_its_bill_is_charged(as_profile):
    failed = {"status": "failed", "error": {"code": "server_error"}, "output": [],
              "usage": {"input_tokens": 900, "output_tokens": 50}}  # fmt: skip
    usage = decoded("openai_responses", as_profile("openai_responses"), failed).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (900, 50)
    wrapped = {"error": {"message": "upstream", "code": 502}, "usage": {"prompt_tokens": 900, "completion_tokens": 50}}
    usage = decoded("openai_chat", as_profile("openai_chat"), wrapped).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (900, 50)
