"""A candidate: a source, where it came from, and its place in a run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.source import StrategySource


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who made a source, from what. Never claims a model where none was used."""

    operator: str
    """``seed/<name>``, ``offline/<operator>``, ``llm/mutate``, ``llm/crossover``, with ``+repair`` when a gate sent it back."""
    parents: tuple[str, ...]
    """Candidate ids of the same run, best known first; empty for seeds."""
    seed: int | None
    """Seed of the operator's random generator; None where no generator was used."""
    model: str | None = None
    """Name of the model that wrote it; None for offline operators and seeds."""
    detail: str = ""
    """What was changed, in our own words, or the model's capped one-line hypothesis (data, never trusted)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One source in one run."""

    id: str
    """``g003-c017``: generation and index, unique within the run."""
    run_id: str
    generation: int
    index: int
    source: StrategySource
    provenance: Provenance
    structure: str | None = None
    """Digest of its normal form (``evolution.operators.canonical_hash``); None where nobody looked."""
    redraws: int = 0
    """Sources that were drawn for this place before it and refused, since the run had them already."""


def candidate_id(generation: int, index: int) -> str:
    """The id of a candidate.

    >>> candidate_id(3, 17)
    'g003-c017'
    """
    return f"g{generation:03d}-c{index:03d}"


def derived_seed(*parts: int) -> int:
    """A 63-bit seed that follows from its parts and from nothing else, on every platform and Python version.

    >>> derived_seed(7, 0, 3)
    7001471162392531110
    """
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
