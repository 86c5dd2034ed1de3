"""The protocols that endpoints speak, by the name that a profile uses.

A dialect turns messages into a request body and an answer into an outcome, and does nothing else: no network, no
retries, no keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evolution.llm import anthropic, ollama, openai_chat, openai_responses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evolution.llm.exchange import Reply
    from evolution.llm.outcomes import Outcome
    from evolution.llm.profile import LlmProfile
    from evolution.llm.question import Message
    from evolution.llm.shape import Shape


class Encode(Protocol):
    """Writes a request."""

    def __call__(self, messages: Sequence[Message], profile: LlmProfile, shape: Shape | None = None) -> bytes:
        """The body in canonical form; raises ``ShapeUnsupportedError`` where the dialect cannot say the shape."""
        ...


class Decode(Protocol):
    """Reads an answer."""

    def __call__(self, reply: Reply, sent: bytes, profile: LlmProfile) -> Outcome:
        """What it means; never raises, whatever the bytes are."""
        ...


def _no_headers(_profile: LlmProfile) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One protocol."""

    path: str
    """Appended to the profile's address."""
    encode: Encode
    decode: Decode
    key_header: str = "authorization"
    """Where the key goes; in ``authorization`` as a bearer token."""
    headers: Callable[[LlmProfile], Mapping[str, str]] = _no_headers


_CHAT = Dialect(path=openai_chat.PATH, encode=openai_chat.encode, decode=openai_chat.decode)
DIALECTS: Mapping[str, Dialect] = {
    "openai_chat": _CHAT,
    "llamacpp": _CHAT,
    "vllm": _CHAT,
    "openai_responses": Dialect(
        path=openai_responses.PATH, encode=openai_responses.encode, decode=openai_responses.decode
    ),
    "anthropic": Dialect(
        path=anthropic.PATH,
        encode=anthropic.encode,
        decode=anthropic.decode,
        key_header=anthropic.KEY_HEADER,
        headers=anthropic.headers,
    ),
    "ollama": Dialect(path=ollama.PATH, encode=ollama.encode, decode=ollama.decode),
}
