"""The ``openai_responses`` dialect: OpenAI's Responses API. Pure functions, no network.

Nothing is stored at the provider (``store`` is false), no conversation is continued, and no tool is offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evolution.llm.counting import claimed_usage, stated_usage
from evolution.llm.encoding import apart, canonical, turns
from evolution.llm.failures import Lenient, failure, no_answer, reported
from evolution.llm.outcomes import Empty, Malformed, Outcome, Refused, Text, ToolCall, Truncated
from evolution.llm.plain import one_line
from evolution.llm.shape import shape_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.llm.exchange import Reply
    from evolution.llm.profile import LlmProfile
    from evolution.llm.question import Message
    from evolution.llm.shape import Shape
    from evolution.llm.usage import Usage

PATH = "/responses"


class _Part(Lenient):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Item(Lenient):
    type: str
    content: list[_Part] | None = None


class _Incomplete(Lenient):
    reason: str | None = None


class _Error(Lenient):
    code: Any = None
    message: Any = None


class _Response(Lenient):
    status: str
    output: tuple[_Item, ...] = ()
    incomplete_details: _Incomplete | None = None
    error: _Error | None = None
    usage: Any = None


def encode(messages: Sequence[Message], profile: LlmProfile, shape: Shape | None = None) -> bytes:
    """The request body in canonical form.

    Raises:
        ShapeUnsupportedError: ``shape`` is a grammar.
    """
    body: dict[str, Any] = {
        "model": profile.model,
        "input": apart(messages).turns if profile.system_role else turns(messages, profile),
        "max_output_tokens": profile.max_tokens,
        "store": False,
        "stream": False,
        **shape_fields(shape, profile.dialect),
    }
    if profile.system_role:
        body["instructions"] = apart(messages).system
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    return canonical(body)


def decode(reply: Reply, sent: bytes, profile: LlmProfile) -> Outcome:
    """What an answer means; how it ended decides before any text is looked at.

    Args:
        reply: The answer.
        sent: The request body, for an estimate where the answer has no credible token count.
        profile: For the same estimate.
    """
    if not 200 <= reply.status < 300:
        return failure(reply)
    try:
        response = _Response.model_validate_json(reply.document)
    except ValidationError:
        return no_answer(reply, "response", top="output", sent=sent, profile=profile)
    counts = response.usage if isinstance(response.usage, dict) else {}
    usage = claimed_usage(counts.get("input_tokens"), counts.get("output_tokens"), sent, profile, _text(response))
    match response.status:
        # llama.cpp says "completed" also of an answer that it cut off at the limit (measured with version 11549).
        case "completed" if not usage.estimated_calls and usage.completion_tokens >= profile.max_tokens:
            return Truncated(usage=usage)
        case "completed":
            return _completed(response, usage)
        case "incomplete":
            return _incomplete(response, usage)
        case "failed" if response.error is not None:
            return reported(response.error.code, response.error.message, stated_usage(counts, sent, profile))
        case other:
            return Malformed(reason=f"unknown status {one_line(other, 40)!r}", usage=usage)


def _incomplete(response: _Response, usage: Usage) -> Outcome:
    reason = response.incomplete_details.reason if response.incomplete_details else None
    match reason:
        case "max_output_tokens":
            return Truncated(usage=usage)
        case "content_filter":
            return Refused(usage=usage)
        case _:
            return Malformed(reason=f"incomplete for {one_line(str(reason), 40)!r}", usage=usage)


def _completed(response: _Response, usage: Usage) -> Outcome:
    if any(item.type.endswith("_call") for item in response.output):
        return ToolCall(usage=usage)
    if any(part.type == "refusal" for part in _parts(response)):
        return Refused(usage=usage)
    text = _text(response)
    return Text(text=text, usage=usage) if text.strip() else Empty(usage=usage)


def _parts(response: _Response) -> list[_Part]:
    return [part for item in response.output if item.type == "message" for part in item.content or ()]


def _text(response: _Response) -> str:
    return "".join(part.text or "" for part in _parts(response) if part.type == "output_text")
