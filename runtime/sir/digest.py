"""The identity of a document: SHA-256 over canonical JSON.

Canonical means: keys sorted, no spaces, ASCII only, numbers in their one form, parts that are ``null`` left out (the
schema has no other default, see ``runtime.sir.document``). So the order of keys, white space, escapes, ``1`` against
``1.0`` and ``null`` against absence never change a hash, and everything else does: also the order of rules, which
changes no trade, and texts, which a person may have confirmed. The hash covers the document as it was stored, in its
own version: reading an old one in a newer version leaves its hash, and every approval of it, as it was.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(tree: dict[str, Any]) -> bytes:
    r"""Canonical JSON of what ``runtime.sir.read.read`` gave.

    >>> canonical({"b": 1, "a": {"c": None, "d": "é"}})
    b'{"a":{"d":"\\u00e9"},"b":1}'
    """
    return json.dumps(_without_nulls(tree), sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def document_sha256(tree: dict[str, Any]) -> str:
    """Hex SHA-256 of a document."""
    return hashlib.sha256(canonical(tree)).hexdigest()


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
