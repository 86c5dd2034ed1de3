"""A question to a model: the messages, and on whose behalf they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evolution.llm.shape import Shape


class Role(Enum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRequest:
    """What to ask, and on whose behalf."""

    subject: str
    """Id of the candidate."""
    prompt_version: str
    messages: tuple[Message, ...]
    generation: int = 0
    """Generation of the candidate; a ceiling may stand on it."""
    ordinal: int = 1
    """Which question for this candidate, from 1: the same words asked again are another question."""
    shape: Shape | None = None
    """What the answer must look like, for endpoints that can hold a model to it."""
