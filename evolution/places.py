"""How the places of a generation are filled: who is bred from, with whom, and by what kind of operator.

Everything random is drawn from one generator per generation, in order of the places, so that a generation follows from its number, the
seed and what was known when it began.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.candidate import candidate_id, derived_seed
from evolution.islands import places_of
from evolution.proposal import Proposal, ProposalKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evolution.plan import SearchPlan
    from evolution.trial import Trial

    Parents = Callable[[Sequence[Trial], int, random.Random], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breeding:
    """What a generation is bred from."""

    stocks: Sequence[Sequence[Trial]]
    """Of each island: who may become a parent, best first."""
    elites: Sequence[Trial]
    """The archive's: one per way of trading."""
    parents: Parents
    """Candidate ids of so many parents from a stock."""
    relatives: Callable[[str], tuple[str, ...]]
    """Whom a candidate's numbers can be compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Makes the proposals of a run."""

    plan: SearchPlan
    run_id: str
    seed: int

    def starting(self, starters: int) -> tuple[Proposal, ...]:
        """The starters as they are, then jittered ones in turn until the population is full."""
        seeds = [
            self._proposal(0, index, ProposalKind.SEED, ()) for index in range(min(starters, self.plan.population))
        ]
        jittered = [
            self._proposal(0, index, ProposalKind.OFFLINE_MUTATE, (seeds[index % starters].id,))
            for index in range(starters, self.plan.population)
        ]
        return (*seeds, *jittered)

    def following(self, generation: int, breeding: Breeding) -> tuple[Proposal, ...]:
        """The places of a later generation; none when an island has nobody to breed from."""
        plan, rng = self.plan, random.Random(derived_seed(self.seed, generation))
        if not all(breeding.stocks):
            return ()
        picks = [
            iter(breeding.parents(stock, 2 * places, rng))
            for stock, places in zip(breeding.stocks, places_of(plan.population, plan.islands), strict=True)
        ]
        ranks = [{trial.candidate.id: place for place, trial in enumerate(stock)} for stock in breeding.stocks]
        proposals = []
        for index in range(plan.population):
            island = index % plan.islands
            is_crossover = rng.random() < plan.crossover_rate
            uses_model = rng.random() < plan.llm_share
            first, second = next(picks[island]), next(picks[island])
            if plan.archive_rate and breeding.elites and rng.random() < plan.archive_rate:
                elite = rng.choice(breeding.elites).candidate.id
                first, second = (first, elite) if is_crossover else (elite, second)
            rank = ranks[island]
            if is_crossover and first == second:
                second = rng.choice([identity for identity in rank if identity != first] or [first])
            is_crossover = is_crossover and first != second
            # What comes from the archive and is no survivor stands behind all that are.
            behind = len(rank)
            parents = sorted((first, second), key=lambda each: rank.get(each, behind)) if is_crossover else [first]
            kind = _kind(is_crossover=is_crossover, uses_model=uses_model)
            relatives = self._relatives(first, breeding, rng) if kind is ProposalKind.OFFLINE_MUTATE else ()
            if relatives:
                kind = ProposalKind.OFFLINE_TUNE
            proposals.append(self._proposal(generation, index, kind, tuple(parents), relatives))
        return tuple(proposals)

    def _relatives(self, parent: str, breeding: Breeding, rng: random.Random) -> tuple[str, ...]:
        """Whom a parent's numbers are to be compared with; nobody when the place goes to another operator."""
        rate = self.plan.tune_rate
        if self.plan.is_control or not rate or rng.random() >= rate:
            return ()
        return breeding.relatives(parent)

    def _proposal(
        self,
        generation: int,
        index: int,
        kind: ProposalKind,
        parents: tuple[str, ...],
        relatives: tuple[str, ...] = (),
    ) -> Proposal:
        return Proposal(
            id=candidate_id(generation, index),
            run_id=self.run_id,
            generation=generation,
            index=index,
            kind=kind,
            parents=parents,
            seed=derived_seed(self.seed, generation, index),
            relatives=relatives,
        )


def _kind(*, is_crossover: bool, uses_model: bool) -> ProposalKind:
    if uses_model:
        return ProposalKind.LLM_CROSSOVER if is_crossover else ProposalKind.LLM_MUTATE
    return ProposalKind.OFFLINE_CROSSOVER if is_crossover else ProposalKind.OFFLINE_MUTATE
