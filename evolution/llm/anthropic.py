"""The ``anthropic`` dialect: Anthropic's Messages API, which llama.cpp offers too. Pure functions, no network.

The version in the header decides what is allowed: from 2026-10-21 on a temperature is an error, even at its default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evolution.llm.counting import claimed_usage
from evolution.llm.encoding import apart, canonical, turns
from evolution.llm.failures import Lenient, failure, no_answer
from evolution.llm.finish import unread
from evolution.llm.outcomes import Empty, Outcome, Text, ToolCall
from evolution.llm.shape import shape_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.llm.exchange import Reply
    from evolution.llm.profile import LlmProfile
    from evolution.llm.question import Message
    from evolution.llm.shape import Shape

PATH = "/messages"
KEY_HEADER = "x-api-key"
# Whatever else a block may be (a search result, an execution), it is no text of the model that we asked for.
_TOOL_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use")


class _Block(Lenient):
    type: str
    text: str | None = None


class _Message(Lenient):
    stop_reason: Any
    content: list[_Block]
    usage: Any = None


def headers(profile: LlmProfile) -> Mapping[str, str]:
    """What goes beside the key."""
    return {"anthropic-version": profile.api_version}


def encode(messages: Sequence[Message], profile: LlmProfile, shape: Shape | None = None) -> bytes:
    """The request body in canonical form.

    Raises:
        ShapeUnsupportedError: ``shape`` is a grammar.
    """
    body: dict[str, Any] = {
        "model": profile.model,
        "messages": apart(messages).turns if profile.system_role else turns(messages, profile),
        "max_tokens": profile.max_tokens,
        "stream": False,
        **shape_fields(shape, profile.dialect),
    }
    if profile.system_role:
        body["system"] = apart(messages).system
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    return canonical(body)


def decode(reply: Reply, sent: bytes, profile: LlmProfile) -> Outcome:
    """What an answer means; the stop reason decides before any text is looked at.

    Args:
        reply: The answer.
        sent: The request body, for an estimate where the answer has no credible token count.
        profile: For the same estimate.
    """
    if not 200 <= reply.status < 300:
        return failure(reply)
    try:
        message = _Message.model_validate_json(reply.document)
    except ValidationError:
        return no_answer(reply, "message", top="content", sent=sent, profile=profile)
    # Thinking comes in blocks of its own, before the text.
    text = "".join(block.text or "" for block in message.content if block.type == "text")
    counts = message.usage if isinstance(message.usage, dict) else {}
    usage = claimed_usage(_all_input(counts), counts.get("output_tokens"), sent, profile, text)
    unfinished = unread(message.stop_reason, usage)
    if unfinished is not None:
        return unfinished
    if any(block.type in _TOOL_BLOCKS for block in message.content):
        return ToolCall(usage=usage)
    return Text(text=text, usage=usage) if text.strip() else Empty(usage=usage)


def _all_input(counts: Mapping[str, Any]) -> Any:
    """All tokens of the prompt: this protocol counts those written to and read from the cache apart."""
    parts = [counts.get("input_tokens")]
    parts += [counts.get(name) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")]
    return sum(parts) if all(type(part) is int and part >= 0 for part in parts) else None
