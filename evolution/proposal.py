"""``Proposal``: one place of a generation, and how a candidate for it is to be made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProposalKind(StrEnum):
    """How a candidate is to be made."""

    SEED = "seed"
    """Take the starter with the proposal's index as it is."""
    OFFLINE_MUTATE = "offline/mutate"
    OFFLINE_CROSSOVER = "offline/crossover"
    OFFLINE_TUNE = "offline/tune"
    """Move the numbers of the parent to where those of its relatives say that they are better."""
    LLM_MUTATE = "llm/mutate"
    LLM_CROSSOVER = "llm/crossover"

    @property
    def is_crossover(self) -> bool:
        """True when it takes two parents."""
        return self in {ProposalKind.OFFLINE_CROSSOVER, ProposalKind.LLM_CROSSOVER}

    @property
    def uses_model(self) -> bool:
        """True when a language model is to write it."""
        return self in {ProposalKind.LLM_MUTATE, ProposalKind.LLM_CROSSOVER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One place in a generation, to be filled by an operator."""

    id: str
    """The candidate's id, ``g003-c017``."""
    run_id: str
    generation: int
    index: int
    kind: ProposalKind
    parents: tuple[str, ...]
    """Candidate ids of this run, better ranked first; empty for seeds."""
    seed: int
    """For the operator's own random generator; 63 bits, so that it fits any database."""
    relatives: tuple[str, ...] = ()
    """Candidate ids with objectives whose form is that of the parent, itself included, oldest first; for ``OFFLINE_TUNE`` only."""
