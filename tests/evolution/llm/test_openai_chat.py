"""The dialect's corners that the scripted server does not show."""

import json

import pytest

from evolution.llm import Message, Role
from evolution.llm.exchange import Reply
from evolution.llm.openai_chat import decode, encode
from evolution.llm.outcomes import Fatal, FatalKind, Malformed, Refused, Retryable, Text, ToolCall, Trouble


def reply(document, status=200, **headers):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Reply(status=status, headers=headers, body=body)


def chat(finish="stop", usage=None, **message):
    return {"choices": [{"finish_reason": finish, "message": message}], "usage": usage}


@pytest.fixture
def read(profile_for):
    profile = profile_for("http://127.0.0.1:9/v1")
    return lambda document, status=200, **headers: decode(reply(document, status, **headers), b"x" * 300, profile)


def test_equal_requests_are_equal_bytes_in_plain_ascii(profile_for):
    profile = profile_for("http://127.0.0.1:9/v1")
    messages = [Message(Role.USER, "caf\u00e9 \u202e")]
    assert encode(messages, profile) == encode(tuple(messages), profile)
    assert encode(messages, profile).isascii()
    assert json.loads(encode(messages, profile))["messages"] == [{"role": "user", "content": "caf\u00e9 \u202e"}]


def test_extra_fields_of_a_server_are_no_obstacle(read):
    document = chat(content="hello", reasoning_content="hm", usage={"prompt_tokens": 3, "completion_tokens": 4})
    document["timings"] = {"predicted_ms": 12.5}
    outcome = read(document)
    assert isinstance(outcome, Text)
    assert outcome.text == "hello"


@pytest.mark.parametrize(
    "document",
    [
        {"choices": [chat(content="a")["choices"][0]] * 2},
        {"choices": [{"message": {"content": "a"}}]},
        {"choices": [{"finish_reason": "stop"}]},
        chat(content=["a", "list"]),
        chat(content=5),
        b'{"choices":[{"finish_reason":"stop","message":{"content":"\\ud800"}}]}',
    ],
)
def test_an_answer_that_cannot_be_read_is_an_answer(read, document):
    assert isinstance(read(document), Malformed)


@pytest.mark.parametrize("document", [{}, [], None, b"", b"\xff\xfe", {"ok": True}])
def test_a_success_that_is_no_answer_at_all_is_malformed(read, document):
    outcome = read(document)
    assert isinstance(outcome, Retryable)
    assert outcome.trouble is Trouble.MALFORMED


def test_a_tool_call_counts_even_when_the_finish_reason_hides_it(read):
    assert isinstance(read(chat(content="text", tool_calls=[{}])), ToolCall)
    assert isinstance(read(chat(content="text", tool_calls=[])), Text)


def test_a_refusal_counts_even_beside_text(read):
    assert isinstance(read(chat(content="text", refusal="no")), Refused)


@pytest.mark.parametrize(
    ("document", "status", "expected"),
    [
        ({"error": "model 'x' not found"}, 404, FatalKind.NOT_FOUND),
        ({"error": {"message": "no", "code": "billing_hard_limit_reached"}}, 400, FatalKind.QUOTA),
        ({"error": {"message": "no", "type": "authentication_error"}}, 400, FatalKind.AUTH),
        ({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400, FatalKind.CONTEXT_OVERFLOW),
        ({"error": {"message": "no", "code": 401}}, 200, FatalKind.AUTH),
        (b"too large", 413, FatalKind.CONTEXT_OVERFLOW),
        (b"", 501, FatalKind.BAD_REQUEST),
        (b"", 301, FatalKind.REDIRECT),
        ({"detail": "unprocessable"}, 422, FatalKind.BAD_REQUEST),
    ],
)
def test_lasting_errors_have_their_kind_however_they_are_spelled(read, document, status, expected):
    outcome = read(document, status)
    assert isinstance(outcome, Fatal)
    assert outcome.kind is expected


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
def test_passing_errors_are_known_by_their_status_alone(read, status):
    assert isinstance(read(b"<html>busy</html>", status), Retryable)


def test_a_filter_in_front_of_the_model_is_a_refusal_not_an_error(read):
    assert isinstance(read({"error": {"message": "filtered", "code": "content_filter"}}, 400), Refused)


def test_what_a_server_says_is_capped_and_escaped(read):
    outcome = read({"error": {"message": "\x1b[31mred\n\u202e" + "x" * 5000}}, 400)
    assert isinstance(outcome, Fatal)
    assert len(outcome.reason) < 300
    assert outcome.reason.isascii()
    assert outcome.reason.isprintable()


OVERFLOW, QUOTA = FatalKind.CONTEXT_OVERFLOW, FatalKind.QUOTA


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (401, {"message": "unauthorized", "type": "api_error"}, FatalKind.AUTH),
        (404, {"message": "model not found", "type": "api_error"}, FatalKind.NOT_FOUND),
        (400, {"message": "bad", "type": "server_error"}, FatalKind.BAD_REQUEST),
        (400, {"message": "This model's maximum context length is 4096 tokens. However,", "code": 400}, OVERFLOW),
        (400, {"message": "input length and `max_tokens` exceed context limit: 199000 + 8192", "type": "x"}, OVERFLOW),
        (429, {"message": "You exceeded your current quota, please check your plan", "code": 429}, QUOTA),
        (429, {"message": "Your credit balance is too low", "type": "rate_limit_error"}, QUOTA),
        (400, {"message": "You have reached your specified API usage limits.", "type": "invalid_request_error"}, QUOTA),
        (429, {"message": "You exceeded your current quota. Please retry in 20s.", "code": 429}, Trouble.RATE_LIMITED),
        (403, {"message": "slow down", "code": "rate_limit_exceeded"}, Trouble.RATE_LIMITED),
        (500, {"message": "x", "type": "api_error"}, Trouble.SERVER),
        (400, {"message": "API key not valid. Please pass a valid one.", "code": 400}, FatalKind.AUTH),
    ],
)
@pytest.mark.parametrize("wrap", [lambda error: {"error": error}, lambda error: [{"error": error}], dict])
def test_an_error_means_the_same_whatever_it_is_wrapped_in(read, status, error, expected, wrap):
    outcome = read(wrap(error), status)
    assert (outcome.kind if isinstance(outcome, Fatal) else outcome.trouble) is expected
    assert error["message"][:10] in outcome.reason


@pytest.mark.parametrize("detail", ["no such field: seed", [{"msg": "no such field: seed"}]])
def test_the_detail_of_a_framework_is_shown(read, detail):
    assert "no such field: seed" in read({"detail": detail}, 422).reason


def test_a_prompt_that_a_policy_declines_is_refused(read):
    assert isinstance(read({"error": {"message": "policy", "code": "invalid_prompt"}}, 400), Refused)
