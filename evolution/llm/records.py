"""What is kept of each attempt to reach a model: enough to tell later, word for word, what was asked and answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One attempt. It holds no header and no key."""

    subject: str
    """Id of the candidate that the call was made for."""
    profile: str
    """Name of the profile."""
    model: str
    """Model that was asked for."""
    prompt_version: str
    """Versions of the prompt texts, like ``system-1.3fa9c0d2 mutate-1.77b1e0aa``."""
    request_sha256: str
    """Hex digest of dialect, endpoint path and ``request``; equal for the attempts of one call."""
    request: str
    """The body that was sent, canonical JSON."""
    attempt: int
    """Counted from 1 within one call."""
    outcome: str
    """Stable code of the outcome: ``text``, ``truncated``, ``retryable/server``, ``fatal/auth``, ..."""
    reason: str
    """One clause on a failure; empty otherwise."""
    status: int | None
    """HTTP status; None when no complete answer came."""
    prompt_tokens: int
    """As reported, or our own upper bound when ``estimated``; 0 for attempts that failed."""
    completion_tokens: int
    estimated: bool
    response: str
    """The whole body of the answer; empty when none came."""
    elapsed_s: float
    """Wall time of the attempt, without the wait before it."""


Recorder = Callable[[CallRecord], None]
"""Keeps a record; called after each attempt and before its text is read, in the thread that made the call."""


def keep_none(record: CallRecord) -> None:
    """A recorder for callers that want no records."""
