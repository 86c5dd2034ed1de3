"""Fill one place of a generation without a model: starters as they are, and offline operators on their parents."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.candidate import Candidate, Provenance, derived_seed
from evolution.operators import NoVariation, Relative, canonical_hash, tune, vary
from evolution.proposal import ProposalKind
from evolution.trial import Trial, TrialOutcome
from runtime.source import StrategySource

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from evolution.proposal import Proposal

# Small strategies have few constants: after a few nights most one-step variations are known, and more draws rarely help.
ATTEMPTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Barren:
    """A place that stays empty: no new source came into being."""

    proposal: Proposal
    reason: str
    """One line: how often it was tried, and what stood in the way the last time."""

    def as_trial(self) -> Trial:
        """The record of the empty place. Its source is empty and its provenance names the kind of operator that found nothing."""
        provenance = Provenance(
            operator=self.proposal.kind.value,
            parents=self.proposal.parents,
            seed=None if self.proposal.kind is ProposalKind.SEED else self.proposal.seed,
        )
        candidate = _candidate(self.proposal, StrategySource(b""), provenance)
        return Trial(candidate=candidate, outcome=TrialOutcome.BARREN, reason=self.reason)


def plant(
    proposal: Proposal, starters: Sequence[tuple[str, StrategySource]], known: Container[str] = ()
) -> Candidate | Barren:
    """The starter that a seed proposal asks for, unchanged.

    Args:
        proposal: of kind ``SEED``; its index picks the starter.
        starters: name and source, in the order that the search was told about.
        known: canonical hashes that the run has already.

    Raises:
        ValueError: the proposal is of another kind, or there is no such starter.
    """
    if proposal.kind is not ProposalKind.SEED or proposal.index >= len(starters):
        raise ValueError(f"proposal {proposal.id} ({proposal.kind}) does not name one of {len(starters)} starters")
    name, source = starters[proposal.index]
    if canonical_hash(source) in known:
        return Barren(proposal=proposal, reason=f"starter {name} is the same strategy as an earlier one")
    return _candidate(proposal, source, Provenance(operator=f"seed/{name}", parents=(), seed=None))


def breed_offline(
    proposal: Proposal,
    parents: Sequence[StrategySource],
    known: Container[str],
    relatives: Sequence[Relative] = (),
) -> Candidate | Barren:
    """A new strategy from its parents by the offline operators, whatever the proposal's kind says of a model.

    Draws again, each time with a seed derived from the proposal's, while the operators find nothing or find something known. A
    crossover or a tuning that finds nothing new in half of its attempts becomes a mutation of its first parent, and its provenance
    says so.
    The result follows from the arguments alone.

    Args:
        proposal: the place to fill; not of kind ``SEED``.
        parents: the sources of ``proposal.parents``, in that order.
        known: text digests or canonical hashes of everything that the run has already.
        relatives: what ``proposal.relatives`` came to, in that order.

    Raises:
        ValueError: the proposal is a seed, or the parents do not match it.
    """
    if proposal.kind is ProposalKind.SEED or not parents or len(parents) != len(proposal.parents):
        raise ValueError(
            f"proposal {proposal.id} ({proposal.kind}) names {len(proposal.parents)} parents, got {len(parents)}"
        )
    obstacle, redraws = "nothing was tried", 0
    for attempt in range(ATTEMPTS):
        as_asked = attempt < ATTEMPTS // 2
        is_crossover = proposal.kind.is_crossover and as_asked
        used = len(parents) if is_crossover else 1
        seed = derived_seed(proposal.seed, attempt)
        if proposal.kind is ProposalKind.OFFLINE_TUNE and as_asked:
            variation = tune(parents[0], relatives, random.Random(seed))
        else:
            variation = vary(parents[:used], random.Random(seed), crossover=is_crossover)
        if isinstance(variation, NoVariation):
            obstacle = variation.reason
        elif variation.source.sha256 in known or canonical_hash(variation.source) in known:
            obstacle, redraws = "every variation that was drawn is known already", redraws + 1
        else:
            provenance = Provenance(
                operator=variation.operator,
                parents=proposal.parents[:used],
                seed=seed,
                detail=variation.detail,
            )
            return _candidate(proposal, variation.source, provenance, redraws)
    return Barren(proposal=proposal, reason=f"no new source in {ATTEMPTS} attempts: {obstacle}")


def relatives_of(proposal: Proposal, trials: Mapping[str, Trial]) -> tuple[Relative, ...]:
    """What the relatives that a proposal names came to, in their order.

    Args:
        proposal: any; most name none.
        trials: of the run, by candidate id.
    """
    found = []
    for identity in proposal.relatives:
        trial = trials[identity]
        card = trial.scorecard
        assert card is not None and card.objectives is not None  # noqa: PT018 - the search names only such trials
        found.append(Relative(source=trial.candidate.source, objectives=card.objectives, violation=card.violation))
    return tuple(found)


def _candidate(proposal: Proposal, source: StrategySource, provenance: Provenance, redraws: int = 0) -> Candidate:
    return Candidate(
        id=proposal.id,
        run_id=proposal.run_id,
        generation=proposal.generation,
        index=proposal.index,
        source=source,
        provenance=provenance,
        structure=canonical_hash(source) if source.data else None,
        redraws=redraws,
    )
