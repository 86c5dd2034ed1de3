"""Counts with their nouns, as people write them."""

from __future__ import annotations


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> plural(1, "entry", "entries"), plural(2, "call")
    ('1 entry', '2 calls')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"
