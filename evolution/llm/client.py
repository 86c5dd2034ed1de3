"""Calls a model: one request, at most a few attempts, one outcome.

This is the only layer that retries. Layers multiply: three attempts here under three of a library under three of a task
are twenty-seven, each of them billed.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol, Self

from pydantic import SecretStr

from evolution.llm import openai_chat
from evolution.llm.exchange import Broken, Reply
from evolution.llm.outcomes import Fatal, Outcome, Retryable, Trouble, Usage
from evolution.llm.records import CallRecord, Recorder, keep_none
from evolution.llm.retry import Timing, asked_wait_s, backoff_s

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from evolution.llm.exchange import Transport
    from evolution.llm.profile import LlmProfile

_log = logging.getLogger(__name__)

# A timed-out attempt may still be computed, and billed, at the other end: one more, not the whole ladder.
_MOST_TIMEOUTS = 2


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


class LlmClient(Protocol):
    """Answers requests. Safe to use from several threads; does not raise for what a model, server or network does."""

    def complete(self, request: LlmRequest, *, record: Recorder = keep_none) -> Outcome:
        """Ask once, and say how it ended; ``record`` sees each attempt before this returns.

        An outcome's ``usage`` covers all attempts. ``Retryable`` means that attempts or time are used up: the caller
        does not try again by itself.
        """
        ...


class KeyMissingError(Exception):
    """The environment does not hold a usable key: set the variable that the message names, then start again."""


class EndpointClient:
    """An ``LlmClient`` for one endpoint. A context manager; closing drops the connections.

    Args:
        profile: The endpoint.
        transport: Carries the bytes and holds the key; owned by this client from here on.
        timing: Clock, sleep and dice.
    """

    def __init__(self, profile: LlmProfile, transport: Transport, *, timing: Timing | None = None) -> None:
        self.profile = profile
        self._transport = transport
        self._timing = timing or Timing()
        self._slots = threading.BoundedSemaphore(profile.max_concurrency)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connections; calls under way end as ``Fatal`` of kind ``CLOSED``."""
        self._transport.close()

    def complete(self, request: LlmRequest, *, record: Recorder = keep_none) -> Outcome:
        """Ask once, and say how it ended; see ``LlmClient``."""
        body = openai_chat.encode(request.messages, self.profile)
        # The slot is kept while waiting for the next attempt: an endpoint that asks for patience gets less load. The
        # deadline starts with the slot, so a queue of callers does not eat into anybody's time.
        with self._slots:
            return self._attempts(request, body, record)

    def _attempts(self, request: LlmRequest, body: bytes, record: Recorder) -> Outcome:
        deadline = self._timing.monotonic() + self.profile.timeouts.call_s
        usage, timeouts, attempt = Usage(), 0, 0
        while True:
            attempt += 1
            outcome = self._attempt(request, body, attempt, deadline, record)
            usage += outcome.usage
            outcome = replace(outcome, usage=usage)
            if not isinstance(outcome, Retryable) or attempt == self.profile.attempts:
                return outcome
            timeouts += outcome.trouble is Trouble.TIMEOUT
            wait_s = max(outcome.after_s or 0.0, backoff_s(attempt, self._timing.jitter))
            left_s = deadline - self._timing.monotonic()
            if timeouts == _MOST_TIMEOUTS or wait_s >= left_s:
                return outcome
            self._timing.sleep(wait_s)

    def _attempt(self, request: LlmRequest, body: bytes, attempt: int, deadline: float, record: Recorder) -> Outcome:
        started = self._timing.monotonic()
        answer = self._transport.post(openai_chat.PATH, body, timeout_s=deadline - started)
        elapsed_s = self._timing.monotonic() - started
        outcome = self._read(answer, body)
        outcome = replace(outcome, usage=replace(outcome.usage, calls=1))
        reason = outcome.reason if isinstance(outcome, Retryable | Fatal) else ""
        _log.info("%s: call for %s, attempt %d: %s in %.1f s%s", self.profile.name, request.subject, attempt,
                  outcome.code, elapsed_s, f", {reason}" if reason else "")  # fmt: skip
        record(
            CallRecord(
                subject=request.subject,
                profile=self.profile.name,
                model=self.profile.model,
                prompt_version=request.prompt_version,
                request_sha256=_request_sha256(self.profile, body),
                request=body.decode(),
                attempt=attempt,
                outcome=outcome.code,
                reason=reason,
                status=answer.status if isinstance(answer, Reply) else None,
                prompt_tokens=outcome.usage.prompt_tokens,
                completion_tokens=outcome.usage.completion_tokens,
                estimated=bool(outcome.usage.estimated_calls),
                response=answer.body.decode("utf-8", "backslashreplace") if isinstance(answer, Reply) else "",
                elapsed_s=elapsed_s,
            )
        )
        return outcome

    def _read(self, answer: Reply | Broken, body: bytes) -> Outcome:
        if isinstance(answer, Broken):
            if isinstance(answer.why, Trouble):
                return Retryable(trouble=answer.why, reason=answer.reason)
            return Fatal(kind=answer.why, reason=answer.reason)
        outcome = openai_chat.decode(answer, body, self.profile)
        if isinstance(outcome, Retryable):
            return replace(outcome, after_s=asked_wait_s(answer.headers, self._timing.now()))
        return outcome


def open_client(profile: LlmProfile, environ: Mapping[str, str], *, timing: Timing | None = None) -> EndpointClient:
    """Open the endpoint of ``profile`` with the key that ``environ`` holds for it.

    Nothing is sent yet. Use it in a ``with`` block.

    Raises:
        KeyMissingError: the profile names a variable that is not set, is empty, or holds what cannot be a key.
    """
    from evolution.llm.transport import HttpTransport  # noqa: PLC0415 - httpx is heavy, and `trigate --help` is not

    key = _key(profile, environ)
    return EndpointClient(profile, HttpTransport(profile.base_url, key, profile.timeouts), timing=timing)


def _key(profile: LlmProfile, environ: Mapping[str, str]) -> SecretStr | None:
    if profile.key_env is None:
        return None
    key = environ.get(profile.key_env, "")
    if not key:
        raise KeyMissingError(
            f"profile {profile.name!r} takes its key from the environment variable {profile.key_env}, which is not set: "
            f"export it, or remove key_env if the endpoint needs no key"
        )
    # A stray line break would make an illegal header, and the error about it would quote the key.
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise KeyMissingError(
            f"the environment variable {profile.key_env} holds spaces, line breaks or characters outside ASCII, which "
            f"no key of profile {profile.name!r} can have: set it again without them"
        )
    return SecretStr(key)


def _request_sha256(profile: LlmProfile, body: bytes) -> str:
    return hashlib.sha256(f"{profile.dialect} {openai_chat.PATH}\n".encode() + body).hexdigest()
