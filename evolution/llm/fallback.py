"""Children that the offline operators wrote in a model's place: how they are marked, and what prompts say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.llm.plain import one_line

if TYPE_CHECKING:
    from evolution.candidate import Provenance

FALLBACK = "+fallback"
"""End of the operator's name of such a child. Its detail says why, in a server's words and with our settings."""


def idea(provenance: Provenance, limit: int) -> str:
    """What a prompt may tell of the thought behind a child: nothing where it is about an endpoint."""
    return "" if provenance.operator.endswith(FALLBACK) else one_line(provenance.detail, limit)
