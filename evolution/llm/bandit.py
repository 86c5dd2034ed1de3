"""Which of several models writes the next child: those that brought more accepted improvement for their cost, more often.

Thompson sampling for bandits with costs (Xia et al., "Thompson Sampling for Budgeted Multi-Armed Bandits", IJCAI 2015):
each place draws a success rate for every model from its Beta posterior and takes the model with the highest rate per mean
cost. A draw follows from the proposal's own seed and from complete generations alone, so neither the order in which
siblings finish nor a resumed night changes it. Where we differ: costs are known when a generation is complete, so their
mean is used instead of a draw.

What it does not see: that a model got harder parents than another one. Tournament selection spreads them evenly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from evolution.candidate import derived_seed
from evolution.llm.background import score_of
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.llm.budget import Charge
    from evolution.proposal import Proposal
    from evolution.trial import Trial

_STREAM = 2
# Two models that both cost nothing (no price, no tokens reported) still have to be compared.
_LEAST_COST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What filling one place took."""

    profile: str
    """Who was asked."""
    cost: Charge


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of one model."""

    gains: tuple[float, ...] = ()
    """One per place, 0..1: see ``gain``."""
    costs: tuple[float, ...] = ()
    """One per place, all of them in money or all of them in tokens."""


def records(
    profiles: Sequence[str], trials: Sequence[Trial], places: Mapping[str, Place], *, in_money: bool
) -> dict[str, Record]:
    """What complete generations say about each profile.

    Args:
        profiles: Names; those without any place get an empty record.
        trials: Of complete generations, empty places included.
        places: By candidate id.
        in_money: Whether costs are compared in money; every profile needs a price then.
    """
    by_id = {trial.candidate.id: trial for trial in trials}
    gains: dict[str, list[float]] = {name: [] for name in profiles}
    costs: dict[str, list[float]] = {name: [] for name in profiles}
    for identity, place in sorted(places.items()):
        trial = by_id.get(identity)
        if trial is None or place.profile not in gains:
            continue
        gains[place.profile].append(gain(trial, by_id))
        costs[place.profile].append(place.cost.money if in_money else float(place.cost.tokens))
    return {name: Record(gains=tuple(gains[name]), costs=tuple(costs[name])) for name in profiles}


def gain(trial: Trial, by_id: Mapping[str, Trial]) -> float:
    """Accepted improvement, 0..1: how far a feasible child's seed score is above its better parent's, at most 1.

    A child of a model only: one that the offline operators wrote in its place is no merit of the model's. A strategy from
    scratch is held against the benchmark, since it has no parent.
    """
    card = trial.scorecard
    if trial.outcome is not TrialOutcome.SCORED or card is None or trial.candidate.provenance.model is None:
        return 0.0
    parents = [by_id[parent] for parent in trial.candidate.provenance.parents if parent in by_id]
    known = [score for score in map(score_of, parents) if score is not None]
    before = max(known) if known else card.benchmark_score
    if card.score is None or before is None:
        return 0.0
    return min(1.0, max(0.0, card.score - before))


def choose(proposal: Proposal, known: Mapping[str, Record]) -> str:
    """The profile that writes the child of a proposal.

    Args:
        proposal: Its seed is all the chance there is.
        known: By profile name, in the operator's order; not empty.
    """
    rng = random.Random(derived_seed(proposal.seed, _STREAM))
    all_costs = [cost for record in known.values() for cost in record.costs]
    usual = fmean(all_costs) if all_costs else 1.0
    worth = {name: _draw(record, rng) / max(_LEAST_COST, _mean(record.costs, usual)) for name, record in known.items()}
    return max(worth, key=worth.__getitem__)


def _draw(record: Record, rng: random.Random) -> float:
    """From the posterior of the mean gain, with one success and one failure known of everybody beforehand."""
    success = sum(record.gains)
    return rng.betavariate(1 + success, 1 + len(record.gains) - success)


def _mean(costs: Sequence[float], usual: float) -> float:
    return fmean(costs) if costs else usual
