"""Who survives and who becomes a parent: NSGA-II under constrained domination. The only module that touches DEAP.

Three objectives (lower bounds of Sharpe and Calmar up, upper bound of turnover down) are compared as a Pareto order; a
broken constraint is never traded against them. The rule is Deb's (2002, section VI): a feasible candidate dominates an infeasible
one, of two infeasible ones the smaller violation dominates, and only feasible ones are compared by their objectives.

DEAP's own ``ConstrainedFitness`` cannot be used: it is unhashable, needs empty values where the constraint is broken, and loses
the violation when copied. And DEAP's sorting into fronts asks one pair at a time, which for a population of 2,000 takes
longer than breeding it; ``_fronts`` asks all pairs at once, by the same rule. Crowding and tournament are DEAP's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

import moocore
import numpy as np
from deap import base
from deap.tools import emo

from evolution.niches import alike
from fitness.card import Objectives

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

# The reference point of the hypervolume: what a strategy that earns nothing, turning its equity over once a trading day,
# would show. Fixed, so that generations and nights can be compared.
REFERENCE = Objectives(sharpe=0.0, calmar=0.0, turnover=250.0)

# Two near-copies tell the search whether their neighbourhood is good; a third only takes a place from something different.
NICHE_PLACES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Sizes below which two objectives count as equal (epsilon domination, Laumanns et al. 2002).

    A guard against a front full of noise; ``evolution.noise`` measures how large they have to be.
    """

    sharpe: float
    calmar: float
    turnover: float
    """On the scale of ``log(1 + turnover)``."""

    def __post_init__(self) -> None:
        for name in ("sharpe", "calmar", "turnover"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"box size {name} = {getattr(self, name)}: must be finite and above 0")

    def place(self, objectives: Objectives) -> tuple[int, int, int]:
        """The box that objectives fall in, larger is better in each coordinate."""
        return (
            math.floor(objectives.sharpe / self.sharpe),
            math.floor(objectives.calmar / self.calmar),
            -math.ceil(math.log1p(max(objectives.turnover, 0.0)) / self.turnover),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """What selection knows of a candidate. Its source stays in the store."""

    id: str
    objectives: Objectives
    """Real values, also where a constraint is broken."""
    violation: float
    """0 is feasible; larger is worse."""
    behaviour: str | None = None
    """Digest of everything it ordered; of several entrants with the same digest only the first id counts."""
    rhythm: bytes | None = None
    """When it earned and lost (``evolution.niches``); at most ``NICHE_PLACES`` of those that are all alike survive."""

    def __post_init__(self) -> None:
        values = (self.objectives.sharpe, self.objectives.calmar, self.objectives.turnover)
        if not all(map(math.isfinite, values)):
            raise ValueError(f"entrant {self.id}: objectives {values} must be finite; NaN is never dominated")
        if not 0 <= self.violation < math.inf:
            raise ValueError(f"entrant {self.id}: violation {self.violation} must be finite and not negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A place in the ranking."""

    id: str
    front: int
    """0 is the best front among those ranked together."""
    crowding: float
    """Distance to its neighbours in its front; infinite at the ends. Larger means more alone, which is better."""
    is_feasible: bool


class ConstrainedFitness(base.Fitness):  # type: ignore[misc]  # DEAP is untyped
    """A DEAP fitness with Deb's constrained domination."""

    weights = (1.0, 1.0, -1.0)
    __slots__ = ("crowding_dist", "violation")

    def __init__(self, values: tuple[float, float, float] | tuple[()] = (), *, violation: float = 0.0) -> None:
        super().__init__(values)
        self.violation = violation
        self.crowding_dist = 0.0

    def dominates(self, other: ConstrainedFitness, obj: slice = slice(None)) -> bool:
        """True when this one is to be preferred whatever anybody's taste: feasible first, then less violation, then Pareto."""
        if self.violation != other.violation:
            return self.violation < other.violation
        return bool(super().dominates(other, obj))

    def _key(self) -> tuple[float, tuple[float, ...]]:
        return (-self.violation, self.wvalues)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstrainedFitness) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: ConstrainedFitness) -> bool:
        return self._key() < other._key()

    def __le__(self, other: ConstrainedFitness) -> bool:
        return self._key() <= other._key()

    def __deepcopy__(self, memo: dict[int, object]) -> ConstrainedFitness:
        twin = type(self)(violation=self.violation)
        twin.wvalues = self.wvalues
        twin.crowding_dist = self.crowding_dist
        return twin


@dataclass(slots=True, eq=False)
class _Individual:
    """What DEAP sorts: mutable because DEAP writes the crowding distance into the fitness."""

    entrant: Entrant
    fitness: ConstrainedFitness = field(compare=False)


class _Ranked(NamedTuple):
    individual: _Individual
    front: int

    @property
    def order(self) -> tuple[int, float, str]:
        return (self.front, -self.individual.fitness.crowding_dist, self.individual.entrant.id)


def select(entrants: Iterable[Entrant], places: int) -> tuple[Survivor, ...]:
    """The survivors, best first: at most ``places``, fewer when niches are full or entrants are copies of one another.

    The result depends on the set of entrants only, not on their order.

    Args:
        entrants: parents and children together.
        places: how many may survive.

    Raises:
        ValueError: two entrants have the same id.
    """
    thinned = _thin_niches(_individuals(_without_copies(entrants)))
    # Deb's crowded comparison: whole fronts, then the least crowded of the one that does not fit.
    chosen = [each.individual for each in _rank(thinned)[: max(places, 0)]]
    return tuple(
        Survivor(
            id=each.individual.entrant.id,
            front=each.front,
            crowding=each.individual.fitness.crowding_dist,
            is_feasible=each.individual.entrant.violation == 0,
        )
        for each in _rank(chosen)
    )


def pareto_front(entrants: Iterable[Entrant]) -> tuple[str, ...]:
    """Ids of the feasible entrants that no other one dominates, in order of id; copies in behaviour count once."""
    feasible = [entrant for entrant in _without_copies(entrants) if entrant.violation == 0]
    if not feasible:
        return ()
    return tuple(sorted(individual.entrant.id for individual in _fronts(_individuals(feasible))[0]))


def clear_of_noise(front: Iterable[Entrant], boxes: Boxes) -> tuple[str, ...]:
    """Ids of a front's members without those that only noise keeps there, in order of id.

    One member per box, the one with the highest Sharpe ratio, and none in a box that another one's box dominates.
    """
    best: dict[tuple[int, int, int], Entrant] = {}
    for entrant in sorted(front, key=lambda each: (-each.objectives.sharpe, each.id)):
        best.setdefault(boxes.place(entrant.objectives), entrant)
    dominates = _pareto(np.array(list(best), dtype=np.float64).reshape(-1, 3))
    return tuple(sorted(entrant.id for place, entrant in enumerate(best.values()) if not dominates[:, place].any()))


def tournament(entrants: Iterable[Entrant], picks: int, rng: random.Random) -> tuple[str, ...]:
    """Ids of parents: ``picks`` winners of binary tournaments by domination, then by crowding distance.

    Works for any number of entrants from one on and any number of picks; DEAP's own function wants multiples of four.

    Raises:
        ValueError: there is nobody to pick from, or two entrants have the same id.
    """
    individuals = _individuals(_by_id(entrants))
    if not individuals:
        raise ValueError("a tournament needs at least one entrant")
    _rank(individuals)
    rounded = math.ceil(picks / 4) * 4
    # Whole copies of the list, so that nobody gets more chances than another one.
    padded = individuals * math.ceil((rounded + 4) / len(individuals))
    return tuple(winner.entrant.id for winner in _tournament_with(rng)(padded, rounded)[:picks])


def hypervolume(objectives: Iterable[Objectives]) -> float:
    """Volume between the points and ``REFERENCE``: one number for how good a whole front is.

    Points that are not better than the reference in all three objectives add nothing. Unit: Sharpe x Calmar x turnover per year.
    """
    points = [(each.sharpe, each.calmar, each.turnover) for each in objectives]
    reference = (REFERENCE.sharpe, REFERENCE.calmar, REFERENCE.turnover)
    better = [p for p in points if p[0] > reference[0] and p[1] > reference[1] and p[2] < reference[2]]
    if not better:
        return 0.0
    return float(moocore.hypervolume(better, ref=reference, maximise=[True, True, False]))


def _tournament_with(rng: random.Random) -> Callable[[Sequence[_Individual], int], list[_Individual]]:
    """DEAP's crowded tournament, drawing from our generator.

    DEAP draws from the global ``random`` module. Saving and restoring that module's state would still let another thread draw
    from it in between, so the same code runs here with the name ``random`` bound to ``rng``.
    """
    original = emo.selTournamentDCD
    return FunctionType(original.__code__, {**vars(emo), "random": rng}, original.__name__)


def _by_id(entrants: Iterable[Entrant]) -> list[Entrant]:
    ordered = sorted(entrants, key=lambda entrant: entrant.id)
    for first, second in pairwise(ordered):
        if first.id == second.id:
            raise ValueError(f"entrant {first.id} is there twice")
    return ordered


def _without_copies(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Entrants by id; of those that ordered exactly the same, the first id."""
    kept: dict[str, Entrant] = {}
    for entrant in _by_id(entrants):
        kept.setdefault(entrant.behaviour or f"id {entrant.id}", entrant)
    return list(kept.values())


def _individuals(entrants: Sequence[Entrant]) -> list[_Individual]:
    return [_Individual(entrant, _fitness(entrant)) for entrant in entrants]


def _fitness(entrant: Entrant) -> ConstrainedFitness:
    goals = entrant.objectives
    return ConstrainedFitness((goals.sharpe, goals.calmar, goals.turnover), violation=entrant.violation)


def _rank(individuals: list[_Individual]) -> list[_Ranked]:
    """Fronts with crowding distances, best first; ties by id."""
    if not individuals:
        return []
    fronts = _fronts(individuals)
    for front in fronts:
        emo.assignCrowdingDist(front)
    ranked = [_Ranked(individual, place) for place, front in enumerate(fronts) for individual in front]
    return sorted(ranked, key=lambda each: each.order)


def _fronts(individuals: Sequence[_Individual]) -> list[list[_Individual]]:
    """Individuals by domination: the first front is dominated by nobody, the next only by members of the first, and so on.

    The order of ``ConstrainedFitness.dominates``. Whoever violates less dominates, so each amount of violation has fronts of its own.
    """
    ordered = sorted(individuals, key=lambda each: (each.fitness.violation, each.entrant.id))
    fronts: list[list[_Individual]] = []
    for _, group in groupby(ordered, key=lambda each: each.fitness.violation):
        equals = list(group)
        dominates = _pareto(np.array([each.fitness.wvalues for each in equals]))
        fronts += [[equals[place] for place in front] for front in _peeled(dominates)]
    return fronts


def _pareto(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Nowhere worse and somewhere better; more is better in each column. A column at a time keeps the memory at n x n bytes."""
    nowhere_worse = np.ones((len(points), len(points)), dtype=bool)
    somewhere_better = np.zeros_like(nowhere_worse)
    for column in points.T:
        nowhere_worse &= column[:, None] >= column[None, :]
        somewhere_better |= column[:, None] > column[None, :]
    return nowhere_worse & somewhere_better


def _peeled(dominates: NDArray[np.bool_]) -> list[list[int]]:
    """Places by front, front after front."""
    above = dominates.sum(axis=0)
    fronts = []
    while (above >= 0).any():
        front = np.flatnonzero(above == 0)
        above -= dominates[front].sum(axis=0)
        above[front] = -1
        fronts.append(front.tolist())
    return fronts


def _thin_niches(individuals: list[_Individual]) -> list[_Individual]:
    """In order of rank, whoever has fewer than ``NICHE_PLACES`` near-copies among those kept before it; in order of id."""
    ranked = [each.individual for each in _rank(individuals)]
    near = alike([each.entrant.rhythm for each in ranked])
    copies = np.zeros(len(ranked), dtype=np.int64)
    kept = []
    for place, individual in enumerate(ranked):
        if copies[place] < NICHE_PLACES:
            copies += near[place]
            kept.append(individual)
    return sorted(kept, key=lambda individual: individual.entrant.id)
