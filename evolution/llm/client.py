"""Calls a model: one request, at most a few attempts, one outcome.

This is the only layer that retries. Layers multiply: three attempts here under three of a library under three of a task
are twenty-seven, each of them billed. And it is the only way to a model that spends: each attempt goes through a book
(``evolution.llm.book``), which has the request before it is sent and the answer before it is read.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Self

from pydantic import SecretStr

from evolution.llm.book import NO_BOOK, Call
from evolution.llm.counting import estimated_tokens, upper_bound
from evolution.llm.dialects import DIALECTS
from evolution.llm.exchange import Broken, Reply
from evolution.llm.failures import answering_model
from evolution.llm.outcomes import Fatal, FatalKind, Held, Malformed, Outcome, Retryable, Trouble
from evolution.llm.question import LlmRequest, Message, Role
from evolution.llm.retry import Timing, asked_wait_s, backoff_s
from evolution.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from evolution.llm.book import CallBook
    from evolution.llm.exchange import Transport
    from evolution.llm.profile import LlmProfile

__all__ = [
    "EndpointClient",
    "KeyMissingError",
    "LlmClient",
    "LlmRequest",
    "Message",
    "Role",
    "open_client",
    "open_replay",
]

_log = logging.getLogger(__name__)

# A timed-out attempt may still be computed, and billed, at the other end: one more, not the whole ladder.
_MOST_TIMEOUTS = 2


class LlmClient(Protocol):
    """Answers requests. Safe to use from several threads; does not raise for what a model, server or network does."""

    def complete(self, request: LlmRequest, *, book: CallBook = NO_BOOK) -> Outcome:
        """Ask once, and say how it ended.

        A question whose answer is in ``book`` is not sent again, and its outcome has no usage. Otherwise an outcome's
        ``usage`` covers all attempts. ``Retryable`` means that attempts or time are used up: the caller does not try
        again by itself.
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
        self._dialect = DIALECTS[profile.dialect]
        self._transport = transport
        self._timing = timing or Timing()
        self._closed = threading.Event()
        self._tells_model = False
        self._sleep = self._timing.sleep or self._closed.wait
        self._slots = threading.BoundedSemaphore(profile.max_concurrency)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connections; calls under way end as ``Fatal`` of kind ``CLOSED``."""
        self._closed.set()
        self._transport.close()

    def complete(self, request: LlmRequest, *, book: CallBook = NO_BOOK) -> Outcome:
        """Ask once, and say how it ended; see ``LlmClient``.

        Raises:
            ShapeUnsupportedError: The endpoint cannot hold an answer to the shape that is asked for.
        """
        body = self._dialect.encode(request.messages, self.profile, request.shape)
        call = Call(request=request, profile=self.profile, path=self._dialect.path, body=body)
        stored = book.recall(call)
        if stored is not None:
            outcome = stored.answer if isinstance(stored.answer, Held) else self._read(stored.answer, call)
            if stored.unsettled is not None:  # the process ended between its arrival and its reading
                book.settle(stored.unsettled, call, replace(outcome, usage=replace(outcome.usage, calls=1)))
            if stored.is_final or not isinstance(outcome, Retryable | Fatal):
                return replace(outcome, usage=Usage())
        # The slot is kept while waiting for the next attempt: an endpoint that asks for patience gets less load. The
        # deadline starts with the slot, so a queue of callers does not eat into anybody's time.
        with self._slots:
            return self._attempts(call, book)

    def _attempts(self, call: Call, book: CallBook) -> Outcome:
        deadline = self._timing.monotonic() + self.profile.timeouts.call_s
        usage, timeouts, attempt = Usage(), 0, 0
        while True:
            attempt += 1
            outcome = self._attempt(call, attempt, deadline, book)
            usage += outcome.usage
            outcome = replace(outcome, usage=usage)
            if not isinstance(outcome, Retryable) or attempt == self.profile.attempts:
                return outcome
            timeouts += outcome.trouble is Trouble.TIMEOUT
            wait_s = max(outcome.after_s or 0.0, backoff_s(attempt, self._timing.jitter))
            left_s = deadline - self._timing.monotonic()
            if timeouts == _MOST_TIMEOUTS or wait_s >= left_s:
                return outcome
            self._sleep(wait_s)
            if self._closed.is_set():
                return Fatal(kind=FatalKind.CLOSED, reason="the client was closed", usage=usage)

    def _attempt(self, call: Call, attempt: int, deadline: float, book: CallBook) -> Outcome:
        number = book.begin(call)
        if not isinstance(number, int):
            return number
        started = self._timing.monotonic()
        answer = self._answer(call, deadline - started)
        elapsed_s = self._timing.monotonic() - started
        book.arrived(number, answer, elapsed_s=elapsed_s)
        outcome = self._read(answer, call)
        outcome = replace(outcome, usage=replace(outcome.usage, calls=1))
        book.settle(number, call, outcome)
        if isinstance(answer, Reply):
            self._note_model(answer)
        reason = outcome.reason if isinstance(outcome, Retryable | Fatal) else ""
        _log.info("%s: call for %s, attempt %d: %s in %.1f s%s", self.profile.name, call.request.subject, attempt,
                  outcome.code, elapsed_s, f", {reason}" if reason else "")  # fmt: skip
        return outcome

    def _note_model(self, answer: Reply) -> None:
        """Say once when another model answers than was asked for: what is stored names the one that was asked."""
        named = answering_model(answer)
        # Providers add a date or a tag to the name.
        if named and not self._tells_model and not named.lower().startswith(self.profile.model.lower()):
            self._tells_model = True
            _log.warning("profile %s asks for model %r, and %r answers", self.profile.name, self.profile.model, named)

    def _answer(self, call: Call, timeout_s: float) -> Reply | Broken:
        window = self.profile.context_tokens
        if window is not None and estimated_tokens(call.body) + self.profile.max_tokens > window:
            reason = f"about {estimated_tokens(call.body)} tokens and an answer of {self.profile.max_tokens}"
            return Broken(
                why=FatalKind.CONTEXT_OVERFLOW, reason=f"{reason} may not fit in context_tokens = {window}: not sent"
            )
        return self._transport.post(call.path, call.body, timeout_s=timeout_s)

    def _read(self, answer: Reply | Broken, call: Call) -> Outcome:
        bound = upper_bound(call.body, self.profile)
        if isinstance(answer, Broken):
            usage = bound if answer.may_be_billed else Usage()
            if isinstance(answer.why, Trouble):
                return Retryable(trouble=answer.why, reason=answer.reason, usage=usage)
            return Fatal(kind=answer.why, reason=answer.reason, usage=usage)
        try:
            outcome = self._dialect.decode(answer, call.body, self.profile)
            wait_s = asked_wait_s(answer.headers, self._timing.now())
        except Exception:  # noqa: BLE001 - an answer that is paid for must not be lost by a mistake of ours in reading it
            _log.exception("%s: an answer for %s cannot be read", self.profile.name, call.request.subject)
            return Malformed(reason="reading it failed: a mistake in this program", usage=bound)
        if not isinstance(outcome, Retryable):
            return outcome
        if outcome.trouble is Trouble.MALFORMED and outcome.usage == Usage():
            outcome = replace(outcome, usage=bound)  # it was a success, so somebody may have written it
        return replace(outcome, after_s=wait_s)


class _NoTransport:
    """Carries nothing: for a replay."""

    def post(self, path: str, body: bytes, *, timeout_s: float) -> Reply | Broken:  # noqa: ARG002 - its shape
        """Nothing is sent."""
        return Broken(why=FatalKind.NOT_STORED, reason="a replay sends nothing")

    def close(self) -> None:
        """Nothing to close."""


def open_client(profile: LlmProfile, environ: Mapping[str, str], *, timing: Timing | None = None) -> EndpointClient:
    """Open the endpoint of ``profile`` with the key that ``environ`` holds for it.

    Nothing is sent yet. Use it in a ``with`` block.

    Raises:
        KeyMissingError: the profile names a variable that is not set, is empty, or holds what cannot be a key.
    """
    from evolution.llm.transport import HttpTransport  # noqa: PLC0415 - httpx is heavy, and `trigate --help` is not

    dialect = DIALECTS[profile.dialect]
    transport = HttpTransport(
        profile.base_url,
        _key(profile, environ),
        profile.timeouts,
        key_header=dialect.key_header,
        headers=dialect.headers(profile),
    )
    return EndpointClient(profile, transport, timing=timing)


def open_replay(profile: LlmProfile) -> EndpointClient:
    """A client that needs no key and no network, for a book that answers by itself (``ledger.ReplayLedger``)."""
    return EndpointClient(profile, _NoTransport())


def _key(profile: LlmProfile, environ: Mapping[str, str]) -> SecretStr | None:
    if profile.key_env is None:
        return None
    key = environ.get(profile.key_env, "")
    if not key:
        raise KeyMissingError(
            f"profile {profile.name!r} takes its key from {profile.key_variable}, which is not set: export it, or remove "
            f"key_env if the endpoint needs no key"
        )
    # A stray line break would make an illegal header, and the error about it would quote the key.
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise KeyMissingError(
            f"{profile.key_variable} in the environment holds spaces, line breaks or characters outside ASCII, which "
            f"no key of profile {profile.name!r} can have: set it again without them"
        )
    return SecretStr(key)
