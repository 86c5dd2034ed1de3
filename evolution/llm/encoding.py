"""What the dialects share when they write a request: turns as plain objects, and JSON in canonical form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from evolution.llm.question import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.llm.profile import LlmProfile
    from evolution.llm.question import Message


def canonical(body: Mapping[str, Any]) -> bytes:
    """JSON with sorted keys, no spaces and nothing outside ASCII: equal requests are equal bytes."""
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def turns(messages: Sequence[Message], profile: LlmProfile) -> list[dict[str, str]]:
    """Messages as objects with ``role`` and ``content``.

    Some models refuse the system role. For them what it says stands at the beginning of the first turn.
    """
    if profile.system_role:
        return [_turn(message) for message in messages]
    system, others = apart(messages)
    first, *rest = others
    return [{"role": first["role"], "content": f"{system}\n\n{first['content']}"} if system else first, *rest]


class Apart(NamedTuple):
    """The system text, and the other turns in order."""

    system: str
    turns: list[dict[str, str]]


def apart(messages: Sequence[Message]) -> Apart:
    """Messages for protocols that keep the system text beside the conversation."""
    system = "\n\n".join(message.content for message in messages if message.role is Role.SYSTEM)
    return Apart(system, [_turn(message) for message in messages if message.role is not Role.SYSTEM])


def _turn(message: Message) -> dict[str, str]:
    return {"role": message.role.value, "content": message.content}
