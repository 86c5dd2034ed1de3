"""How an answer ended, in the words of all dialects: one table, since gateways answer in each other's words.

What is not in it is neither read nor asked for again: the answer goes back to the model as one that cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evolution.llm.outcomes import Malformed, Refused, ToolCall, Truncated
from evolution.llm.plain import one_line

if TYPE_CHECKING:
    from evolution.llm.outcomes import Answered
    from evolution.llm.usage import Usage

_ENDED = frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token"})
_UNREAD: dict[str, type[Truncated | Refused | ToolCall]] = {
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"), Truncated
    ),
    **dict.fromkeys(
        ("content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"), Refused
    ),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use", "pause_turn"), ToolCall),
}


def unread(word: Any, usage: Usage) -> Answered | None:
    """What a finish reason means; None when the model ended by itself, so that there is a text to read."""
    known = word.lower() if isinstance(word, str) else ""
    if known in _ENDED:
        return None
    if known in _UNREAD:
        return _UNREAD[known](usage=usage)
    return Malformed(reason=f"unknown finish reason {one_line(str(word), 40)!r}", usage=usage)
