"""The wall clock, named in one place so that everything else is handed it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The time, aware, UTC."""
    return datetime.now(UTC)
