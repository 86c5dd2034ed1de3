"""When to send the next request: how fast, how long after a failure, and never past the deadline.

Pure arithmetic. The clock, the sleep and the dice are passed in, so that tests hold all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

# First and largest ceiling of the random wait after a failure, seconds.
_BASE_S = 0.5
_CAP_S = 30.0
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The world's time, and the dice that spread attempts in it."""

    now: Callable[[], datetime]
    """Wall clock, aware."""
    monotonic: Callable[[], float]
    """Seconds that only go forward; their zero means nothing."""
    sleep: Callable[[float], object]
    jitter: random.Random
    """Changes when requests are sent, never what is fetched."""


class TokenBucket:
    """Bounds the rate of requests: ``burst`` at once, then ``per_minute`` evenly.

    Kept as one number, the moment at which the bucket is full again (generic cell rate algorithm, ITU-T I.371): no
    timer, and waiting callers keep their order.
    """

    def __init__(self, *, per_minute: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._interval_s = _MINUTE_S / per_minute
        self._slack_s = (burst - 1) * self._interval_s
        self._monotonic = monotonic
        self._full_at = -math.inf

    def take(self) -> float:
        """Take one token and answer how many seconds to wait before it may be used."""
        now = self._monotonic()
        full_at = max(self._full_at, now)
        self._full_at = full_at + self._interval_s
        return max(0.0, full_at - self._slack_s - now)


def backoff_s(attempt: int, jitter: random.Random) -> float:
    """Wait after failed attempt number ``attempt`` (from 1): uniform on ``[0, min(_CAP_S, _BASE_S * 2**(attempt-1))]``.

    "Full jitter" of Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
    """
    return jitter.uniform(0.0, min(_CAP_S, _BASE_S * 2.0 ** (attempt - 1)))


def asked_wait_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the server asked to wait in ``retry-after`` (RFC 9110, 10.2.3); None when it said nothing readable.

    Args:
        headers: Names in lower case.
        now: Aware; a date is held against the answer's own ``date`` first, since our clock and the server's may differ.
    """
    text = headers.get("retry-after", "").strip()
    # Digits only, as the standard has it: float() would also read "inf" and "1e9".
    if text.isascii() and text.isdigit():
        return float(text)
    until = header_date(text)
    if until is None:
        return None
    return max(0.0, (until - (header_date(headers.get("date")) or now)).total_seconds())


def header_date(text: str | None) -> datetime | None:
    """A date from a header, aware; None when it is none."""
    try:
        moment = parsedate_to_datetime(text) if text else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
