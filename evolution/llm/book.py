"""What is kept of each call to a model, and who says whether it may be sent: the client's side of the ledger.

The order is a promise, and the whole point: a request is in the book before it is sent, an answer before it is read. So
whatever dies, and whenever, what was paid for is there, and is used instead of being paid for again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evolution.llm.exchange import Broken, Reply
    from evolution.llm.outcomes import Fatal, Held, Outcome
    from evolution.llm.profile import LlmProfile
    from evolution.llm.question import LlmRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request, ready to be sent."""

    request: LlmRequest
    profile: LlmProfile
    path: str
    body: bytes
    """Canonical JSON: equal requests are equal bytes. It holds no header and no key."""

    @property
    def sha256(self) -> str:
        """Hex digest of dialect, endpoint path and body. The address is left out: a server may move."""
        return hashlib.sha256(f"{self.profile.dialect} {self.path}\n".encode() + self.body).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """How an attempt at the same question ended before."""

    answer: Reply | Broken | Held
    is_final: bool
    """True when it must be taken as it is, whatever it is (a replay); otherwise a failure is worth another attempt."""
    unsettled: int | None = None
    """Number of the attempt where its end still has to be settled; None when that was done."""


class CallBook(Protocol):
    """Remembers calls, and holds them when a ceiling would be passed. Safe to use from several threads.

    For each attempt ``begin``, ``arrived`` and ``settle`` are called in this order; a process that dies in between leaves
    the rest out, and the attempt then stays charged with its upper bound.
    """

    def recall(self, call: Call) -> Recalled | None:
        """The stored end of the same question of the same candidate; None when it has none yet."""
        ...

    def begin(self, call: Call) -> int | Held | Fatal:
        """Store the request and charge its upper bound; the number of the attempt, or why it must not be sent."""
        ...

    def arrived(self, number: int, answer: Reply | Broken, *, elapsed_s: float) -> None:
        """Store what came back, unread."""
        ...

    def settle(self, number: int, call: Call, outcome: Outcome) -> None:
        """Store what it meant, and charge what it cost instead of the upper bound."""
        ...


class NoBook:
    """A book for callers that want nothing kept and nothing held."""

    def recall(self, call: Call) -> Recalled | None:
        """Nothing."""

    def begin(self, call: Call) -> int | Held | Fatal:  # noqa: ARG002 - its shape
        """Anything may be sent."""
        return 0

    def arrived(self, number: int, answer: Reply | Broken, *, elapsed_s: float) -> None:
        """Nothing."""

    def settle(self, number: int, call: Call, outcome: Outcome) -> None:
        """Nothing."""


NO_BOOK = NoBook()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One stored attempt, whole."""

    subject: str
    """Id of the candidate that the call was made for."""
    ordinal: int
    """Which question for this candidate, from 1."""
    attempt: int
    """Counted from 1 for one question, over all runs of the process."""
    profile: str
    model: str
    """Model that was asked for."""
    prompt_version: str
    """Versions of the prompt texts, like ``system-1.3fa9c0d2 mutate-1.77b1e0aa``."""
    request_sha256: str
    """Hex digest of dialect, endpoint path and ``request``; equal for the attempts at one question."""
    request: str
    """The body that was sent, canonical JSON."""
    outcome: str | None
    """Stable code of the outcome: ``text``, ``truncated``, ``retryable/server``, ``held/run``, ...; None when the process
    ended before it was known."""
    reason: str
    """One clause on a failure; empty otherwise."""
    status: int | None
    """HTTP status; None when no complete answer came."""
    response: str
    """The whole body of the answer; empty when none came."""
    prompt_tokens: int
    """As reported, or our own upper bound when ``estimated``; 0 for attempts that certainly cost nothing."""
    completion_tokens: int
    estimated: bool
    elapsed_s: float | None
    """Wall time of the attempt, without the wait before it; None for what was never sent."""
