"""How a call to a model can end. Every way is a value; nothing a server does is an exception.

Four groups, and each asks for something else from whoever called:

- ``Text``: there is an answer; read it with ``evolution.llm.parse``.
- ``Truncated``, ``Refused``, ``Empty``, ``ToolCall``, ``Malformed``: the model answered, and there is nothing to read. It was
  paid for, so it goes back to the model instead of being asked for again.
- ``Retryable``, ``Fatal``: the endpoint did not do its job. ``Retryable`` comes back only when all attempts are used.
- ``Held``: nothing was sent, because a ceiling of the budget would have been passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from evolution.llm.usage import Usage

if TYPE_CHECKING:
    from evolution.llm.budget import Scope


class Trouble(Enum):
    """Why an attempt failed in a way that may pass."""

    CONNECTION = "connection"
    """No connection, or it broke before the answer was complete."""
    TIMEOUT = "timeout"
    """Silence beyond ``Timeouts.read_s``, or no time left for the call."""
    RATE_LIMITED = "rate_limited"
    SERVER = "server"
    """The server says that it is overloaded, loading or broken."""
    MALFORMED = "malformed"
    """A success that is no answer of this protocol at all: cut JSON, another document, plain text."""


class FatalKind(Enum):
    """Why no further attempt makes sense."""

    AUTH = "auth"
    QUOTA = "quota"
    """Money or a monthly cap, which waiting does not refill; never retried even when it comes as a 429."""
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    """No such model or no such path."""
    CONTEXT_OVERFLOW = "context_overflow"
    """This prompt is too long for this model; another one may fit."""
    REDIRECT = "redirect"
    """Not followed: a key goes to the address in the profile and nowhere else."""
    HTML = "html"
    """A web page, from a proxy, a login wall or a wrong address."""
    TOO_LARGE = "too_large"
    """The answer is beyond the byte cap and was not read to the end."""
    CLOSED = "closed"
    """The client was closed while the call was under way: the run is being stopped."""
    NOT_STORED = "not_stored"
    """A replay asks what the replayed run never asked."""


_NOTHING = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    usage: Usage = _NOTHING
    """Of all attempts of the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(_Ended):
    """The model wrote an answer and ended it itself."""

    code: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(_Ended):
    """The answer hit the token limit. Its text is not kept for reading: half a program is no program."""

    code: ClassVar[str] = "truncated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(_Ended):
    """The model, or a filter in front of it, declined."""

    code: ClassVar[str] = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty(_Ended):
    """The answer has no text."""

    code: ClassVar[str] = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(_Ended):
    """The model wanted to call a tool; none was offered."""

    code: ClassVar[str] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed(_Ended):
    """An answer of this protocol that says something we do not know, like another finish reason: written, and billed."""

    code: ClassVar[str] = "malformed"
    reason: str
    """One clause for people; server text in it is capped and escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retryable(_Ended):
    """It may work later. As the result of a whole call: the attempts or the time are used up."""

    trouble: Trouble
    reason: str
    """One clause for people; server text in it is capped and escaped."""
    after_s: float | None = None
    """How long the server asked to wait, seconds; None when it did not say."""

    @property
    def code(self) -> str:
        """Stable name: ``retryable/<trouble>``."""
        return f"retryable/{self.trouble.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fatal(_Ended):
    """It will not work without a change."""

    kind: FatalKind
    reason: str
    """One clause for people; server text in it is capped and escaped."""

    @property
    def code(self) -> str:
        """Stable name: ``fatal/<kind>``."""
        return f"fatal/{self.kind.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(_Ended):
    """Nothing was sent: the next attempt could have passed a ceiling. Its usage is that of attempts before it."""

    scope: Scope
    reason: str
    """One line for people: the setting, what is charged already, and what the call could have cost."""

    @property
    def code(self) -> str:
        """Stable name: ``held/<scope>``."""
        return f"held/{self.scope.value}"


Answered = Text | Truncated | Refused | Empty | ToolCall | Malformed
"""The model answered, and was paid for it."""
Outcome = Answered | Retryable | Fatal | Held
