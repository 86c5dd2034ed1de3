"""The ``openai_chat`` dialect, also spoken by ``llamacpp`` and ``vllm``: requests into bytes, answers into outcomes.

OpenAI's chat completions, and what most servers of open models offer beside or instead of their own. The two named
servers differ in one thing that matters here: how an answer is held to a shape (``evolution.llm.shape``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from evolution.llm.counting import claimed_usage
from evolution.llm.encoding import canonical, turns
from evolution.llm.failures import Lenient, failure, no_answer
from evolution.llm.finish import unread
from evolution.llm.outcomes import Empty, Outcome, Refused, Text, ToolCall
from evolution.llm.shape import shape_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.llm.exchange import Reply
    from evolution.llm.profile import LlmProfile
    from evolution.llm.question import Message
    from evolution.llm.shape import Shape

PATH = "/chat/completions"


class _Part(Lenient):
    type: str
    text: str | None = None


class _Message(Lenient):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None

    @property
    def text(self) -> str:
        """What was said; thoughts come in parts of other types."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class _Choice(Lenient):
    finish_reason: Any
    message: _Message


class _Completion(Lenient):
    # One choice was asked for: with more there is no single answer.
    choices: list[_Choice] = Field(min_length=1, max_length=1)
    usage: Any = None


def encode(messages: Sequence[Message], profile: LlmProfile, shape: Shape | None = None) -> bytes:
    """The request body in canonical form: equal requests are equal bytes, which is what their hash identifies.

    Raises:
        ShapeUnsupportedError: the endpoint cannot hold an answer to ``shape``.
    """
    body: dict[str, Any] = {
        "model": profile.model,
        "messages": turns(messages, profile),
        profile.max_tokens_field: profile.max_tokens,
        "stream": False,
        **shape_fields(shape, profile.dialect),
    }
    if profile.temperature is not None:
        body["temperature"] = profile.temperature
    return canonical(body)


def decode(reply: Reply, sent: bytes, profile: LlmProfile) -> Outcome:
    """What an answer means. The finish reason decides before any text is looked at.

    Args:
        reply: The answer.
        sent: The request body, for an estimate where the answer has no credible token count.
        profile: For the same estimate.
    """
    if not 200 <= reply.status < 300:
        return failure(reply)
    try:
        completion = _Completion.model_validate_json(reply.document)
    except ValidationError:
        return no_answer(reply, "chat completion", top="choices", sent=sent, profile=profile)
    choice = completion.choices[0]
    message = choice.message
    counts = completion.usage if isinstance(completion.usage, dict) else {}
    usage = claimed_usage(counts.get("prompt_tokens"), counts.get("completion_tokens"), sent, profile, message.text)
    unfinished = unread(choice.finish_reason, usage)
    if unfinished is not None:
        return unfinished
    if message.refusal:
        return Refused(usage=usage)
    if message.tool_calls or message.function_call:
        return ToolCall(usage=usage)
    return Text(text=message.text, usage=usage) if message.text.strip() else Empty(usage=usage)
