"""The ``openai_chat`` dialect: requests into bytes, answers into outcomes. Pure functions, no network.

Spoken by OpenAI's chat completions and by most servers of open models (llama.cpp, vLLM, Ollama, ...). They differ in
what they put into errors: ``code`` is a string, a number or missing, and some report an error with status 200.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evolution.llm.outcomes import (
    Empty,
    Fatal,
    FatalKind,
    Outcome,
    Refused,
    Retryable,
    Text,
    ToolCall,
    Trouble,
    Truncated,
    Usage,
)
from evolution.llm.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.llm.client import Message
    from evolution.llm.exchange import Reply
    from evolution.llm.profile import LlmProfile

PATH = "/chat/completions"

_RETRYABLE_4XX = frozenset({408, 409, 425, 429})
# 501 and 505 say that the server cannot do this at all.
_FINAL_5XX = frozenset({501, 505})
_FATAL_STATUS = {
    401: FatalKind.AUTH,
    402: FatalKind.QUOTA,
    403: FatalKind.AUTH,
    404: FatalKind.NOT_FOUND,
    413: FatalKind.CONTEXT_OVERFLOW,
}
# Codes and types that decide whatever the status is. They come as 400, 403 and 429 alike.
_QUOTA_CODES = frozenset({"insufficient_quota", "credit_balance_exhausted", "enforced_spend_limit_reached"})
_OVERFLOW_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
_AUTH_CODES = frozenset({"invalid_api_key", "authentication_error", "permission_error"})
_LIMIT_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error"})
# A count beyond this is a slip of the server, not a bill.
_CREDIBLE_TOKENS = 10_000_000
_BYTES_PER_TOKEN = 3
"""Of English and code, on the low side: the estimate is an upper bound."""


class _Lenient(BaseModel):
    # Not extra="forbid": servers add fields of their own (timings, logprobs, ...) that change nothing for us.
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class _Message(_Lenient):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None


class _Choice(_Lenient):
    finish_reason: str
    message: _Message


class _Completion(_Lenient):
    # One choice was asked for: with more there is no single answer.
    choices: list[_Choice] = Field(min_length=1, max_length=1)
    usage: Any = None


class _Error(_Lenient):
    message: Any = None
    code: Any = None
    type: Any = None
    details: Any = None


class _ErrorBody(_Lenient):
    error: _Error | str


def encode(messages: Sequence[Message], profile: LlmProfile) -> bytes:
    """The request body in canonical form: equal requests are equal bytes, which is what their hash identifies."""
    body: dict[str, Any] = {
        "model": profile.model,
        "messages": [{"role": message.role.value, "content": message.content} for message in messages],
        profile.max_tokens_field: profile.max_tokens,
        "stream": False,
    }
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def decode(reply: Reply, sent: bytes, profile: LlmProfile) -> Outcome:
    """What an answer means. The finish reason decides before any text is looked at.

    Args:
        reply: The answer.
        sent: The request body, for an estimate where the answer has no credible token count.
        profile: For the same estimate.
    """
    if not 200 <= reply.status < 300:
        return _failure(reply)
    try:
        completion = _Completion.model_validate_json(reply.body)
    except ValidationError:
        return _success_without_answer(reply)
    choice = completion.choices[0]
    usage = _usage(completion.usage, sent, profile)
    message = choice.message
    match choice.finish_reason:
        case "length":
            return Truncated(usage=usage)
        case "content_filter":
            return Refused(usage=usage)
        case "tool_calls" | "function_call":
            return ToolCall(usage=usage)
        case "stop":
            pass
        case other:
            return _malformed(f"unknown finish reason {one_line(other, 40)!r}", usage)
    if message.refusal:
        return Refused(usage=usage)
    if message.tool_calls or message.function_call:
        return ToolCall(usage=usage)
    if message.content is None or not message.content.strip():
        return Empty(usage=usage)
    return Text(text=message.content, usage=usage)


def _failure(reply: Reply) -> Outcome:
    error = _error_in(reply)
    named = _by_name(error)
    if named is not None:
        return named
    reason = _reason(reply, error)
    status = reply.status
    if status == 429:
        return Retryable(trouble=Trouble.RATE_LIMITED, reason=reason)
    if status in _RETRYABLE_4XX or (status >= 500 and status not in _FINAL_5XX):
        return Retryable(trouble=Trouble.SERVER, reason=reason)
    if 300 <= status < 400:
        return Fatal(kind=FatalKind.REDIRECT, reason=f"{reason}: put the final address into base_url")
    if reply.is_page:
        return Fatal(kind=FatalKind.HTML, reason=f"{reason}: a web page, not a model")
    return Fatal(kind=_FATAL_STATUS.get(status, FatalKind.BAD_REQUEST), reason=reason)


def _success_without_answer(reply: Reply) -> Outcome:
    if reply.is_page:
        return Fatal(kind=FatalKind.HTML, reason="a web page with status 200, not a model")
    error = _error_in(reply)
    if error is None:
        return _malformed(f"status {reply.status} with a body that is no chat completion", Usage())
    named = _by_name(error)
    if named is not None:
        return named
    reason = _reason(reply, error)
    # Gateways put the status of the server behind them into the code.
    if isinstance(error.code, int) and error.code in _FATAL_STATUS:
        return Fatal(kind=_FATAL_STATUS[error.code], reason=reason)
    return Retryable(trouble=Trouble.SERVER, reason=reason)


def _by_name(error: _Error | None) -> Outcome | None:
    """What the error's own names say, where they are clear enough to overrule the status."""
    if error is None:
        return None
    details = error.details if isinstance(error.details, dict) else {}
    names = {name for name in (error.code, error.type, details.get("error_code")) if isinstance(name, str)}
    reason = one_line(f"{'/'.join(sorted(names))}: {error.message or ''}", 200)
    if names & _QUOTA_CODES or any(name.startswith("billing_") for name in names):
        return Fatal(kind=FatalKind.QUOTA, reason=reason)
    if names & _OVERFLOW_CODES:
        return Fatal(kind=FatalKind.CONTEXT_OVERFLOW, reason=reason)
    if names & _FILTER_CODES:
        return Refused()
    if names & _AUTH_CODES:
        return Fatal(kind=FatalKind.AUTH, reason=reason)
    if names & _LIMIT_CODES:
        return Retryable(trouble=Trouble.RATE_LIMITED, reason=reason)
    return None


def _error_in(reply: Reply) -> _Error | None:
    try:
        error = _ErrorBody.model_validate_json(reply.body).error
    except ValidationError:
        return None
    return error if isinstance(error, _Error) else _Error(message=error)


def _reason(reply: Reply, error: _Error | None) -> str:
    said = one_line(str(error.message), 160) if error is not None and error.message else ""
    return f"status {reply.status}" + (f" ({said})" if said else "")


def _malformed(reason: str, usage: Usage) -> Retryable:
    return Retryable(trouble=Trouble.MALFORMED, reason=reason, usage=usage)


def _usage(claim: Any, sent: bytes, profile: LlmProfile) -> Usage:
    counts = claim if isinstance(claim, dict) else {}
    prompt, completion = _credible(counts.get("prompt_tokens")), _credible(counts.get("completion_tokens"))
    if prompt is not None and completion is not None:
        return Usage(prompt_tokens=prompt, completion_tokens=completion)
    return Usage(
        prompt_tokens=len(sent) // _BYTES_PER_TOKEN + 1, completion_tokens=profile.max_tokens, estimated_calls=1
    )


def _credible(count: Any) -> int | None:
    # Exactly int: True is an int to isinstance.
    return count if type(count) is int and 0 <= count <= _CREDIBLE_TOKENS else None
