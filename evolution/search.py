"""``Search``: which candidates to make next, and who is left, as ask and tell. No clock, no files, no processes.

    search = Search(plan, run_id="night-1", seed=7, starters=6)
    while proposals := search.ask():
        search.tell([make_and_try(proposal) for proposal in proposals])

Everything that happens follows from (plan, seed, starters) and from the trials that were told; neither the order in which they were
told nor the run's name plays a part. So there is no state to save: a run is resumed by telling a fresh search the stored trials, generation by
generation (``replay``), after which ``ask`` gives exactly what was still missing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from evolution.archive import Archive
from evolution.candidate import derived_seed
from evolution.families import Families
from evolution.islands import pass_on, places_of
from evolution.noise import measured_boxes
from evolution.places import Breeding, Places
from evolution.selection import hypervolume
from evolution.standings import Standings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.plan import SearchPlan
    from evolution.proposal import Proposal
    from evolution.selection import Boxes
    from evolution.trial import Trial


# Migration draws from a stream of its own; indices of places never come near.
_MIGRATION = 1 << 40


class SearchEnd(Enum):
    """Why ``ask`` has nothing more."""

    GENERATIONS = "all generations are done"
    NOTHING_TO_BREED = "no candidate has run so far, so there is nothing to breed from"
    NO_IMPROVEMENT = "the front on train did not grow any more"
    STOPPED = "it was stopped from outside"


@dataclass(slots=True)
class _Told:
    """What is known so far. Lists are in order of candidate id, so that the order of telling leaves no trace."""

    islands: tuple[tuple[Trial, ...], ...]
    """Survivors of each island, best first."""
    pending: dict[str, Trial] = field(default_factory=dict)
    """Trials of the generation in progress."""
    survivors: tuple[Trial, ...] = ()
    front: tuple[Trial, ...] = ()
    """All that nobody dominates, however little they differ."""
    boxes: Boxes | None = None
    """As measured on the starting generation."""
    archive: Archive = field(default_factory=Archive)
    volumes: tuple[float, ...] = ()
    """Hypervolume of each island at the last migration."""
    volume: float = 0.0
    """Hypervolume of the front."""
    stale: int = 0
    """Generations since it grew."""
    restarts: int = 0
    ran: tuple[Trial, ...] = ()
    """Trials that ran without getting objectives; bred from only while nothing better exists."""
    starters: tuple[Trial, ...] = ()
    """Those of generation 0 that ran; the control arm's only parents."""


class Search:
    """An evolution from its starting generation to its last one."""

    def __init__(self, plan: SearchPlan, *, run_id: str, seed: int, starters: int) -> None:
        """Begin a search.

        Args:
            plan: sizes and rates.
            run_id: goes into every proposal; a trial of another run is refused.
            seed: everything random follows from it.
            starters: how many sources the starting generation begins with; those over ``plan.population`` are left out.

        Raises:
            ValueError: there is no starter.
        """
        if starters < 1:
            raise ValueError(f"a search from {starters} starters: at least 1 is needed")
        self._plan = plan
        self._run_id = run_id
        self._seed = seed
        self._told = _Told(islands=((),) * plan.islands)
        self._sizes = places_of(plan.population, plan.islands)
        self._places = Places(plan=plan, run_id=run_id, seed=seed)
        self._standings = Standings()
        self._families = Families()
        self._is_stopped = False
        self._generation = 0
        self._proposals = self._places.starting(starters)

    @property
    def plan(self) -> SearchPlan:
        """Sizes and rates."""
        return self._plan

    @property
    def generation(self) -> int:
        """The generation in progress, counted from 0; the number of generations when all are done."""
        return self._generation

    @property
    def survivors(self) -> tuple[Trial, ...]:
        """Who may become a parent, best first: feasible ones, then vetoed ones. Changes when a generation is complete."""
        return self._told.survivors

    @property
    def front(self) -> tuple[Trial, ...]:
        """Feasible trials of all generations that no other one dominates, in order of id; copies in behaviour count once.

        Of those that differ by less than a box (``SearchPlan.box_width``) one is left.
        """
        return self._standings.clear_of_noise(self._told.front, self._told.boxes)

    @property
    def volume(self) -> float:
        """Hypervolume of what nobody dominates, whether noise keeps it there or not: it never falls."""
        return self._told.volume

    @property
    def archive(self) -> Archive:
        """The best of each way of trading among all complete generations."""
        return self._told.archive

    @property
    def restarts(self) -> int:
        """Islands that started anew so far."""
        return self._told.restarts

    def is_full_for(self, proposal: Proposal) -> bool:
        """Whether every place of the proposal's island is taken by a trial that keeps to all limits."""
        island = proposal.index % self._plan.islands
        members = self._told.islands[island]
        kept = [trial for trial in members if trial.scorecard is not None and trial.scorecard.violation == 0]
        return not self._plan.is_control and len(kept) >= self._sizes[island]

    @property
    def end(self) -> SearchEnd | None:
        """Why the search is over; None while it goes on."""
        if self._is_stopped:
            return SearchEnd.STOPPED
        if self._generation >= self._plan.generations:
            return SearchEnd.GENERATIONS
        if self._plan.patience is not None and self._told.stale >= self._plan.patience:
            return SearchEnd.NO_IMPROVEMENT
        return None if self._proposals else SearchEnd.NOTHING_TO_BREED

    def ask(self) -> tuple[Proposal, ...]:
        """What is to be tried now: the places of this generation that have no trial yet; empty when the search is over.

        Asking changes nothing, so asking again gives the same answer.
        """
        if self.end is not None:
            return ()
        return tuple(proposal for proposal in self._proposals if proposal.id not in self._told.pending)

    def stop(self) -> None:
        """End the search here: a budget is spent, or the night is over. Whoever resumes the run has to say so again."""
        self._is_stopped = True

    def tell(self, trials: Iterable[Trial]) -> None:
        """Take in trials of this generation, in any order and any portions; the last one completes it.

        Raises:
            ValueError: a trial was not asked for in this generation, belongs to another run, or was told before. Nothing is
                taken in then.
        """
        added: dict[str, Trial] = {}
        open_ids = {proposal.id for proposal in self.ask()}
        for trial in trials:
            identity = trial.candidate.id
            if trial.candidate.run_id != self._run_id:
                raise ValueError(
                    f"trial {identity} belongs to run {trial.candidate.run_id}, this is run {self._run_id}"
                )
            if identity not in open_ids or identity in added:
                raise ValueError(
                    f"trial {identity} was not asked for in generation {self._generation}, or was told before"
                )
            added[identity] = trial
        self._told.pending.update(added)
        if self._proposals and len(self._told.pending) == len(self._proposals):
            self._complete_generation()

    def replay(self, trials: Iterable[Trial]) -> None:
        """Tell stored trials of any number of generations, in any order; afterwards ``ask`` gives what is missing.

        Raises:
            ValueError: some of them do not belong to this search, or a generation before the last one is incomplete.
        """
        by_generation: dict[int, list[Trial]] = {}
        for trial in trials:
            by_generation.setdefault(trial.candidate.generation, []).append(trial)
        for generation in sorted(by_generation):
            if generation != self._generation:
                raise ValueError(
                    f"trials of generation {generation}, but generation {self._generation} is not complete"
                )
            self.tell(by_generation[generation])

    def _complete_generation(self) -> None:
        told = self._told
        trials = [told.pending[identity] for identity in sorted(told.pending)]
        ran = tuple(trial for trial in trials if trial.scorecard is not None)
        ranked = tuple(trial for trial in ran if trial.scorecard is not None and trial.scorecard.objectives is not None)
        self._standings.take_in(ranked)
        self._families.take_in(trials)
        count = self._plan.islands
        islands = tuple(
            self._standings.selected(
                (*members, *(trial for trial in ranked if trial.candidate.index % count == island)), places
            )
            for island, (members, places) in enumerate(zip(told.islands, self._sizes, strict=True))
        )
        front = self._standings.front((*told.front, *ranked))
        volume = hypervolume(
            trial.scorecard.objectives for trial in front if trial.scorecard and trial.scorecard.objectives
        )
        following = _Told(
            islands=islands,
            front=front,
            boxes=self._measured(ranked) if self._generation == 0 else told.boxes,
            archive=told.archive.grown(ranked),
            volumes=told.volumes,
            volume=volume,
            stale=0 if volume > told.volume else told.stale + 1,
            restarts=told.restarts,
            ran=_least_violating((*told.ran, *(trial for trial in ran if trial not in ranked)), self._plan.population),
            starters=ran if self._generation == 0 else told.starters,
        )
        if count > 1 and (self._generation + 1) % self._plan.migrate_every == 0:
            self._migrate(following)
        following.survivors = self._ranking(following.islands)
        self._told = following
        self._standings.keep(self._remembered())
        self._generation += 1
        self._proposals = (
            self._places.following(self._generation, self._breeding())
            if self._generation < self._plan.generations
            else ()
        )

    def _measured(self, trials: Sequence[Trial]) -> Boxes | None:
        return measured_boxes(trials, self._plan.box_width) if self._plan.box_width else None

    def _migrate(self, told: _Told) -> None:
        passage = pass_on(
            told.islands,
            places=self._sizes,
            before=told.volumes,
            archive=told.archive,
            select=self._standings.selected,
            rng=random.Random(derived_seed(self._seed, self._generation, _MIGRATION)),
        )
        told.islands, told.volumes = passage.islands, passage.volumes
        told.restarts += passage.restarted is not None

    def _remembered(self) -> list[Trial]:
        """Whoever may still be compared with others."""
        told = self._told
        return [
            *told.survivors,
            *told.front,
            *told.archive.elites,
            *(trial for island in told.islands for trial in island),
        ]

    def _ranking(self, islands: Sequence[Sequence[Trial]]) -> tuple[Trial, ...]:
        """Members of all islands, best first."""
        if len(islands) == 1:
            return tuple(islands[0])
        members = {trial.candidate.id: trial for island in islands for trial in island}
        return self._standings.selected(members.values(), self._plan.population)

    def _breeding(self) -> Breeding:
        """What the next generation is bred from. Only what ran; a rejected, killed or failed candidate never is."""
        told, count = self._told, self._plan.islands
        if self._plan.is_control:
            return Breeding(
                stocks=(told.starters,) * count, elites=(), parents=_drawn_evenly, relatives=self._families.relatives
            )
        return Breeding(
            stocks=[members or told.survivors or told.ran for members in told.islands],
            elites=told.archive.elites,
            parents=self._standings.parents if told.survivors else _drawn_evenly,
            relatives=self._families.relatives,
        )


def _drawn_evenly(stock: Sequence[Trial], count: int, rng: random.Random) -> list[str]:
    return [rng.choice(stock).candidate.id for _ in range(count)]


def _least_violating(trials: Sequence[Trial], count: int) -> tuple[Trial, ...]:
    def depth(trial: Trial) -> tuple[float, str]:
        assert trial.scorecard is not None  # only trials that ran are handed in
        return (trial.scorecard.violation, trial.candidate.id)

    return tuple(sorted(trials, key=depth)[:count])
