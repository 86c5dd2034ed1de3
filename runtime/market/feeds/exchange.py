"""One page over an unreliable wire: pace, attempts, and what each answer means."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from runtime.market.errors import quoted
from runtime.market.feeds.outcome import Stop, Stopped
from runtime.market.feeds.timing import TokenBucket, asked_wait_s, backoff_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any, TypeVar

    from runtime.market.feeds.timing import Timing

    Page = TypeVar("Page")

OK = 200
_REDIRECTS = range(300, 400)
_REQUEST_TIMEOUT = 408
_BANNED = 418
_TOO_MANY = 429
_SERVER_ERRORS = range(500, 600)
# The question was wrong: an unknown symbol, a timeframe the feed does not have.
_REJECTIONS = frozenset({400, 404, 422})
# A server's own words are shown to a person, so they are kept short.
_WORDS = 160


class PageRequest(NamedTuple):
    """What to ask for, below the feed's address."""

    path: str
    query: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Fault(Enum):
    """Why there is no whole answer."""

    CONNECTION = auto()
    TIMEOUT = auto()
    TOO_LARGE = auto()
    COMPRESSED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """No whole answer."""

    fault: Fault
    reason: str


class Transport(Protocol):
    """Sends one request. Never raises for what the network or the server does, never retries, follows no redirect."""

    def get(self, request: PageRequest, *, timeout_s: float) -> Reply | Broken:
        """The whole answer within ``timeout_s`` seconds altogether."""


class UnreadableError(Exception):
    """A reply of status 200 that is no JSON: cut off, or a page for people. Asking again may help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a fetch may ask of a feed, and of its caller's time."""

    per_minute: float = 300.0
    """Requests per minute, on average."""
    burst: int = 5
    """Requests that may be sent at once after a pause."""
    attempts: int = 6
    """Most attempts for one page."""
    call_s: float = 30.0
    """Longest time for one answer."""
    deadline_s: float = 3_600.0
    """Longest time for the whole fetch, waiting included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """A failure that may pass."""

    stop: Stop
    reason: str
    wait_s: float | None = None
    """What the server asked for; None leaves it to us."""


class Caller:
    """Sends requests of one fetch: paced, repeated when that can help, and ended by the deadline.

    Not safe for several threads.
    """

    def __init__(self, transport: Transport, timing: Timing, limits: Limits) -> None:
        self._transport = transport
        self._timing = timing
        self._limits = limits
        self._bucket = TokenBucket(per_minute=limits.per_minute, burst=limits.burst, monotonic=timing.monotonic)
        self._ends_at = timing.monotonic() + limits.deadline_s
        self.now = timing.now
        """Wall clock, aware."""
        self.requests = 0
        """Requests sent so far, failed ones included."""

    def call(self, request: PageRequest, read: Callable[[Reply], Page]) -> Page | Stopped:
        """What ``read`` makes of the answer to a request.

        Args:
            request: What to send.
            read: May raise ``UnreadableError``, which counts as a failure that may pass; other errors go through.
        """
        failure = _Again(stop=Stop.DEADLINE, reason="no time was left")
        for attempt in range(1, self._limits.attempts + 1):
            if not self._pause(self._bucket.take()):
                return self._late(failure)
            verdict = self._attempt(request, read)
            if not isinstance(verdict, _Again):
                return verdict
            failure = verdict
            if attempt == self._limits.attempts:
                break
            wait_s = backoff_s(attempt, self._timing.jitter) if failure.wait_s is None else failure.wait_s
            if not self._pause(wait_s):
                return self._late(failure)
        tried = f" (after {self._limits.attempts} attempts)" if self._limits.attempts > 1 else ""
        return Stopped(stop=failure.stop, reason=f"{failure.reason}{tried}", wait_s=failure.wait_s)

    def _attempt(self, request: PageRequest, read: Callable[[Reply], Page]) -> Page | Stopped | _Again:
        self.requests += 1
        timeout_s = min(self._limits.call_s, self._ends_at - self._timing.monotonic())
        answer = self._transport.get(request, timeout_s=timeout_s)
        verdict = _judged(answer, self._timing.now())
        if not isinstance(verdict, Reply):
            return verdict
        try:
            return read(verdict)
        except UnreadableError as error:
            return _Again(stop=Stop.UNREADABLE, reason=str(error))

    def _pause(self, seconds: float) -> bool:
        """Wait, unless that would pass the deadline."""
        if self._timing.monotonic() + seconds >= self._ends_at:
            return False
        if seconds > 0:
            self._timing.sleep(seconds)
        return True

    def _late(self, failure: _Again) -> Stopped:
        limit = f"the limit of {self._limits.deadline_s:g} s for the whole fetch"
        if failure.wait_s is not None:
            return Stopped(
                stop=failure.stop,
                reason=f"{failure.reason} and asks to wait {failure.wait_s:.0f} s, which passes {limit}",
                wait_s=failure.wait_s,
            )
        return Stopped(stop=Stop.DEADLINE, reason=f"{limit} is reached")


def _judged(answer: Reply | Broken, now: datetime) -> Reply | Stopped | _Again:
    if isinstance(answer, Broken):
        if answer.fault in {Fault.CONNECTION, Fault.TIMEOUT}:
            return _Again(stop=Stop.UNREACHABLE, reason=answer.reason)
        return Stopped(stop=Stop.UNREADABLE, reason=answer.reason)
    status = answer.status
    if status == OK:
        return answer
    told = f"it answered {status}{_own_words(answer.body)}"
    wait_s = asked_wait_s(answer.headers, now)
    if status == _BANNED and wait_s is None:
        return Stopped(stop=Stop.LIMITED, reason=f"{told}: this address is banned for a while")
    if status in {_TOO_MANY, _BANNED}:
        return _Again(stop=Stop.LIMITED, reason=told, wait_s=wait_s)
    if status in _SERVER_ERRORS or status == _REQUEST_TIMEOUT:
        return _Again(stop=Stop.UNREACHABLE, reason=told, wait_s=wait_s)
    if status in _REDIRECTS:
        host = urlsplit(answer.headers.get("location", "")).netloc
        return Stopped(
            stop=Stop.REFUSED, reason=f"it answered {status}, a redirect to {quoted(host)}, which is not followed"
        )
    return Stopped(stop=Stop.REJECTED if status in _REJECTIONS else Stop.REFUSED, reason=told)


def read_json(body: bytes) -> Any:
    """A reply's document.

    Raises:
        UnreadableError: it is none.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        if body.lstrip()[:1] == b"<":
            raise UnreadableError("it answered with a web page instead of JSON") from None
        raise UnreadableError(f"its answer of {len(body)} bytes is not whole JSON ({type(error).__name__})") from None


def _own_words(body: bytes) -> str:
    """The server's explanation, quoted, where it gave one in the usual places."""
    try:
        document = read_json(body)
    except UnreadableError:
        return ""
    for key in ("msg", "message", "error", "detail"):
        words = document.get(key) if isinstance(document, dict) else None
        if isinstance(words, str) and words:
            return f" ({words[:_WORDS]!r})"
    return ""
