"""The ``ollama`` dialect: Ollama's own chat endpoint. Pure functions, no network.

Its endpoint in OpenAI's style cannot set the size of the context, and a prompt beyond it loses its beginning without a
word, the contract with it. So this dialect asks for the context that the profile states, the client never sends what
would not fit, and an answer to far fewer tokens than were sent is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evolution.llm.counting import claimed_usage, estimated_tokens
from evolution.llm.encoding import canonical, turns
from evolution.llm.failures import Lenient, failure, no_answer
from evolution.llm.finish import unread
from evolution.llm.outcomes import Empty, Fatal, FatalKind, Malformed, Outcome, Text, ToolCall
from evolution.llm.shape import shape_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.llm.exchange import Reply
    from evolution.llm.profile import LlmProfile
    from evolution.llm.question import Message
    from evolution.llm.shape import Shape

PATH = "/api/chat"
# Our estimate is three bytes a token where four is usual and eight is the most for code and English: below this share
# of the estimate something was cut off.
_LEAST_SHARE = 0.25


class _Message(Lenient):
    content: str | None = None
    tool_calls: list[Any] | None = None


class _Chat(Lenient):
    message: _Message
    done: bool
    done_reason: Any = None
    prompt_eval_count: Any = None
    eval_count: Any = None


def encode(messages: Sequence[Message], profile: LlmProfile, shape: Shape | None = None) -> bytes:
    """The request body in canonical form.

    Raises:
        ShapeUnsupportedError: ``shape`` is a grammar.
    """
    options: dict[str, Any] = {"num_ctx": profile.context_tokens, "num_predict": profile.max_tokens}
    if profile.temperature is not None:
        options["temperature"] = profile.temperature
    return canonical(
        {
            "model": profile.model,
            "messages": turns(messages, profile),
            "options": options,
            "stream": False,
            **shape_fields(shape, profile.dialect),
        }
    )


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
        chat = _Chat.model_validate_json(reply.document)
    except ValidationError:
        return no_answer(reply, "chat", top="message", sent=sent, profile=profile)
    text = chat.message.content or ""
    usage = claimed_usage(chat.prompt_eval_count, chat.eval_count, sent, profile, text)
    read = chat.prompt_eval_count
    if type(read) is int and 0 < read < _LEAST_SHARE * estimated_tokens(sent):
        reason = f"the server read {read} tokens of a prompt of about {estimated_tokens(sent)}"
        return Fatal(kind=FatalKind.CONTEXT_OVERFLOW, reason=f"{reason}: it cut the beginning off", usage=usage)
    if not chat.done:
        return Malformed(reason="the first part of an answer in parts", usage=usage)
    unfinished = unread(chat.done_reason, usage)
    if unfinished is not None:
        return unfinished
    if chat.message.tool_calls:
        return ToolCall(usage=usage)
    return Text(text=text, usage=usage) if text.strip() else Empty(usage=usage)
