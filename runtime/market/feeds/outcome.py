"""How a fetch can end. What is wrong with the data is a ``DataError``; what is wrong with the way there is a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Stop(Enum):
    """Why a feed gave no more, and what a person can do about it."""

    UNREACHABLE = "try again later, or check base_url"
    LIMITED = "run the same command again later"
    DEADLINE = "run the same command again to go on"
    UNREADABLE = "check that base_url and the dialect are those of a data feed"
    REFUSED = "check the feed's section in the configuration"
    REJECTED = "check symbol, timeframe and dates"
    """The feed did not accept the question itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A request that got no page."""

    stop: Stop
    reason: str
    """One clause, without the feed's name."""
    wait_s: float | None = None
    """Seconds that the server asked to wait; None when it did not."""
