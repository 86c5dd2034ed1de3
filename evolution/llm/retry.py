"""How long to wait before the next attempt. Pure arithmetic: the clock, the sleep and the dice are passed in."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# First ceiling and largest ceiling of the random wait, seconds: the usual figures of the providers' own clients.
BASE_S = 0.5
CAP_S = 20.0


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The world's clock, sleep and dice, in one place so that tests can hold all of them."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] | None = None
    """None sleeps until then, or until the client is closed."""
    now: Callable[[], datetime] = _now
    jitter: random.Random = field(default_factory=random.Random)
    """Spreads attempts in time. It changes no result, so it has no part in a run's seed."""


def backoff_s(attempt: int, jitter: random.Random) -> float:
    """Wait after failed attempt number ``attempt`` (from 1): uniform on ``[0, min(CAP_S, BASE_S * 2**(attempt-1))]``.

    Full jitter, as in "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): clients that were refused
    together do not come back together.
    """
    return jitter.uniform(0.0, min(CAP_S, BASE_S * 2.0 ** (attempt - 1)))


def asked_wait_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the server asked to wait; None when it did not say, or said something unreadable.

    Reads ``retry-after-ms``, then ``retry-after`` in seconds or as an HTTP date (RFC 9110, 10.2.3). A date is held
    against the answer's own ``date`` where there is one, since our clock and the server's may differ.

    Args:
        headers: Names in lower case.
        now: Aware; used for a date when the answer has no ``date``.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1_000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    until = _date(text)
    if until is None:
        return None
    return max(0.0, (until - (_date(headers.get("date")) or now)).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the second one for a year or an offset beyond all calendars
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
