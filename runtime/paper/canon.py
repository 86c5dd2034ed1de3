"""One way to write a document down, so that equal documents have equal bytes: what is hashed, signed and stored.

ASCII JSON with sorted keys and no spaces; numbers as their shortest exact decimals, no NaN. Stamps are ISO texts in UTC with
microseconds, which sort as they follow each other.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

_STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


def encode(document: Any) -> str:
    """The document's one text.

    >>> encode({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(text: str) -> str:
    """Digest of a text, hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def stamp(at: datetime) -> str:
    """A moment as text.

    Raises:
        ValueError: it has no time zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"stamp {at.isoformat()}: has no time zone; pass an aware datetime")
    return at.astimezone(UTC).strftime(_STAMP)


def moment(text: str) -> datetime:
    """The moment that ``stamp`` wrote.

    >>> stamp(moment("2026-11-30T22:00:00.000001Z"))
    '2026-11-30T22:00:00.000001Z'
    """
    return datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
