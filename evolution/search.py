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
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

from evolution.archive import Archive
from evolution.candidate import candidate_id, derived_seed
from evolution.families import Families
from evolution.islands import pass_on, places_of
from evolution.selection import Boxes, Entrant, hypervolume, pareto_front, select, tournament

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.trial import Trial


# Migration draws from a stream of its own; indices of places never come near.
_MIGRATION = 1 << 40


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
class SearchPlan:
    """How wide and how long a search is, and how it fills its places."""

    generations: int
    """All generations, the starting one included."""
    population: int
    """Candidates per generation, and most survivors."""
    crossover_rate: float = 0.3
    """Chance that a place of the next generation goes to a crossover of two parents (0..1)."""
    llm_share: float = 0.0
    """Chance that a place goes to a language model (0..1); from generation 1 on."""
    boxes: Boxes | None = None
    """Compare objectives in boxes of this size; None compares them as they are."""
    islands: int = 1
    """Parts of the population that are selected apart; place ``i`` belongs to island ``i % islands``."""
    migrate_every: int = 4
    """Generations between two migrations from island to island."""
    archive_rate: float = 0.0
    """Chance that a place takes a parent from the archive of ways of trading instead of from the survivors (0..1)."""
    tune_rate: float = 0.0
    """Chance that a place of a mutation goes to one step of constant optimisation (0..1)."""
    patience: int | None = None
    """Generations in a row without a larger hypervolume on train after which the search ends; None never ends it."""
    is_control: bool = False
    """The control arm: parents are drawn evenly from the starting generation, so nothing is ever learned from a score."""

    def __post_init__(self) -> None:
        allowed = {
            "generations": (self.generations >= 1, "at least 1"),
            "population": (self.population >= 4, "at least 4"),
            "crossover_rate": (0 <= self.crossover_rate <= 1, "between 0 and 1"),
            "llm_share": (0 <= self.llm_share <= 1, "between 0 and 1"),
            "islands": (1 <= self.islands <= self.population // 4, "at least 1, with 4 places on each"),
            "migrate_every": (self.migrate_every >= 1, "at least 1"),
            "archive_rate": (0 <= self.archive_rate <= 1, "between 0 and 1"),
            "tune_rate": (0 <= self.tune_rate <= 1, "between 0 and 1"),
            "patience": (self.patience is None or self.patience >= 1, "at least 1, or None"),
        }
        for name, (is_allowed, rule) in allowed.items():
            if not is_allowed:
                raise ValueError(f"search plan: {name} = {getattr(self, name)}, must be {rule}")


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
        self._places = places_of(plan.population, plan.islands)
        self._entrants: dict[str, Entrant] = {}
        self._families = Families()
        self._is_stopped = False
        self._generation = 0
        self._proposals = self._first_generation(min(starters, plan.population))

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
        """Feasible trials of all generations that no other one dominates, in order of id; copies in behaviour count once."""
        return self._told.front

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
        return not self._plan.is_control and len(kept) >= self._places[island]

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
        self._entrants |= {trial.candidate.id: as_entrant(trial) for trial in ranked}
        self._families.take_in(trials)
        count = self._plan.islands
        islands = tuple(
            self._selected((*members, *(trial for trial in ranked if trial.candidate.index % count == island)), places)
            for island, (members, places) in enumerate(zip(told.islands, self._places, strict=True))
        )
        front = self._front_of((*told.front, *ranked))
        volume = hypervolume(
            trial.scorecard.objectives for trial in front if trial.scorecard and trial.scorecard.objectives
        )
        following = _Told(
            islands=islands,
            front=front,
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
        self._entrants = {trial.candidate.id: self._entrants[trial.candidate.id] for trial in self._remembered()}
        self._generation += 1
        self._proposals = self._next_generation() if self._generation < self._plan.generations else ()

    def _migrate(self, told: _Told) -> None:
        passage = pass_on(
            told.islands,
            places=self._places,
            before=told.volumes,
            archive=told.archive,
            select=self._selected,
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
        return self._selected(list(members.values()), self._plan.population)

    def _selected(self, trials: Sequence[Trial], places: int) -> tuple[Trial, ...]:
        by_id = {trial.candidate.id: trial for trial in trials}
        chosen = select(self._entrants_of(by_id.values()), places, boxes=self._plan.boxes)
        return tuple(by_id[survivor.id] for survivor in chosen)

    def _front_of(self, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        by_id = {trial.candidate.id: trial for trial in trials}
        return tuple(
            by_id[identity] for identity in pareto_front(self._entrants_of(by_id.values()), boxes=self._plan.boxes)
        )

    def _entrants_of(self, trials: Iterable[Trial]) -> list[Entrant]:
        """Made once per trial."""
        return [self._entrants[trial.candidate.id] for trial in trials]

    def _first_generation(self, starters: int) -> tuple[Proposal, ...]:
        """The starters as they are, then jittered ones in turn until the population is full."""
        seeds = [self._proposal(index, ProposalKind.SEED, ()) for index in range(starters)]
        jittered = [
            self._proposal(index, ProposalKind.OFFLINE_MUTATE, (seeds[index % starters].id,))
            for index in range(starters, self._plan.population)
        ]
        return (*seeds, *jittered)

    def _next_generation(self) -> tuple[Proposal, ...]:
        rng = random.Random(derived_seed(self._seed, self._generation))
        stocks = [self._breeding_stock(island) for island in range(self._plan.islands)]
        if not all(stocks):
            return ()
        picks = [iter(self._picks(stock, 2 * places, rng)) for stock, places in zip(stocks, self._places, strict=True)]
        ranks = [{trial.candidate.id: place for place, trial in enumerate(stock)} for stock in stocks]
        elites = () if self._plan.is_control else self._told.archive.elites
        proposals = []
        for index in range(self._plan.population):
            island = index % self._plan.islands
            is_crossover = rng.random() < self._plan.crossover_rate
            uses_model = rng.random() < self._plan.llm_share
            first, second = next(picks[island]), next(picks[island])
            if self._plan.archive_rate and elites and rng.random() < self._plan.archive_rate:
                elite = rng.choice(elites).candidate.id
                first, second = (first, elite) if is_crossover else (elite, second)
            rank = ranks[island]
            if is_crossover and first == second:
                second = rng.choice([identity for identity in rank if identity != first] or [first])
            is_crossover = is_crossover and first != second
            # What comes from the archive and is no survivor stands behind all that are.
            behind = len(rank)
            parents = sorted((first, second), key=lambda each: rank.get(each, behind)) if is_crossover else [first]
            kind = _kind(is_crossover=is_crossover, uses_model=uses_model)
            relatives = self._relatives(first, rng) if kind is ProposalKind.OFFLINE_MUTATE else ()
            if relatives:
                kind = ProposalKind.OFFLINE_TUNE
            proposals.append(self._proposal(index, kind, tuple(parents), relatives))
        return tuple(proposals)

    def _relatives(self, parent: str, rng: random.Random) -> tuple[str, ...]:
        """Whom a parent's numbers are to be compared with; nobody when the place goes to another operator."""
        rate = self._plan.tune_rate
        if self._plan.is_control or not rate or rng.random() >= rate:
            return ()
        return self._families.relatives(parent)

    def _breeding_stock(self, island: int) -> tuple[Trial, ...]:
        """Who is bred from on an island, best first. Only what ran; a rejected, killed or failed candidate never is."""
        if self._plan.is_control:
            return self._told.starters
        return self._told.islands[island] or self._told.survivors or self._told.ran

    def _picks(self, stock: Sequence[Trial], count: int, rng: random.Random) -> Sequence[str]:
        if self._plan.is_control or not self._told.survivors:
            return [rng.choice(stock).candidate.id for _ in range(count)]
        return tournament(self._entrants_of(stock), count, rng, boxes=self._plan.boxes)

    def _proposal(
        self, index: int, kind: ProposalKind, parents: tuple[str, ...], relatives: tuple[str, ...] = ()
    ) -> Proposal:
        return Proposal(
            id=candidate_id(self._generation, index),
            run_id=self._run_id,
            generation=self._generation,
            index=index,
            kind=kind,
            parents=parents,
            seed=derived_seed(self._seed, self._generation, index),
            relatives=relatives,
        )


def as_entrant(trial: Trial) -> Entrant:
    """What selection needs to know of a trial that has objectives.

    Raises:
        ValueError: it has none.
    """
    card = trial.scorecard
    if card is None or card.objectives is None:
        raise ValueError(f"trial {trial.candidate.id} has no objectives and cannot be ranked")
    return Entrant(
        id=trial.candidate.id,
        objectives=card.objectives,
        violation=card.violation,
        behaviour=trial.behaviour,
        rhythm=trial.rhythm,
    )


def _kind(*, is_crossover: bool, uses_model: bool) -> ProposalKind:
    if uses_model:
        return ProposalKind.LLM_CROSSOVER if is_crossover else ProposalKind.LLM_MUTATE
    return ProposalKind.OFFLINE_CROSSOVER if is_crossover else ProposalKind.OFFLINE_MUTATE


def _least_violating(trials: Sequence[Trial], count: int) -> tuple[Trial, ...]:
    def depth(trial: Trial) -> tuple[float, str]:
        assert trial.scorecard is not None  # only trials that ran are handed in
        return (trial.scorecard.violation, trial.candidate.id)

    return tuple(sorted(trials, key=depth)[:count])
