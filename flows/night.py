"""``Night``: one run with everything it holds open, and the four things done with it: breed, try, close, admit.

Knows nothing of Prefect. ``flows.evolve`` calls it from flows and tasks; a test can call it directly.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.breed import Barren, breed_offline, plant
from evolution.candidate import Candidate
from evolution.evaluate import CageEvaluator, run_trial
from evolution.llm.breeder import LlmBreeder, Outage
from evolution.operators import canonical_hash
from evolution.report import run_summary
from evolution.run import GenerationSummary
from evolution.search import niche_of
from evolution.seeds import seed_sources
from evolution.selection import hypervolume
from evolution.trial import Trial, TrialOutcome
from gates import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.candidate_files import CandidateFiles
    from evolution.evaluate import CellBench
    from evolution.ledger import TrialLedger
    from evolution.pool import Pool
    from evolution.report import RunSummary
    from evolution.search import Proposal, Search
    from flows.settings import Settings
    from flows.watch import Watch
    from runtime.cage import Cage
    from runtime.market import DataSet
    from runtime.source import StrategySource


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a person or a schedule asks for: sizes and names, nothing secret, nothing of the machine."""

    data: str
    """Name of a registered or built-in data set."""
    generations: int
    population: int
    crossover_rate: float
    llm_share: float
    seed: int
    profile: str | None = None
    """Name of an LLM profile; None keeps to the offline operators."""
    resume: str | None = None
    """Id of the run to go on with; None starts a new one."""


class NightOutage(Exception):
    """The model's endpoint is out: stop, keep what is stored, and resume the run later."""


@dataclass(slots=True, kw_only=True)
class Night:
    """A run in progress. One generation at a time; ``try_candidate`` may be called from several threads."""

    run_id: str
    order: Order
    settings: Settings
    dataset: DataSet
    ledger: TrialLedger
    pool: Pool
    files: CandidateFiles
    search: Search
    bench: CellBench
    cage: Cage
    breeder: LlmBreeder | None
    watch: Watch
    trials: dict[str, Trial] = field(default_factory=dict)
    """All trials of the run by candidate id."""
    _bred: dict[str, Proposal | Candidate] = field(default_factory=dict)
    """What the generation in progress has to try: candidates, and proposals that a model is to fill."""
    _known: set[str] = field(default_factory=set)
    """Canonical hashes of everything that the run has."""
    _known_before: frozenset[str] = frozenset()
    """The same when the generation began: what a model is told must not depend on which sibling was quicker."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, trials: Sequence[Trial]) -> None:
        """Take in what was stored before the run was cut short."""
        for trial in trials:
            self.trials[trial.candidate.id] = trial
            if trial.outcome is not TrialOutcome.BARREN:
                self._remember(trial.candidate.source)
        self.search.replay(trials)

    def breed(self) -> tuple[str, ...]:
        """Fill the places of the next generation that need no model; the ids that are to be tried, in order.

        Places that stay empty become trials at once. Empty when the search is over.
        """
        self._bred.clear()
        for proposal in self.search.ask():
            if proposal.kind.uses_model and self.breeder is not None:
                self._bred[proposal.id] = proposal
                continue
            made = self._make_offline(proposal)
            if isinstance(made, Barren):
                self._keep(made.as_trial())
            else:
                self._remember(made.source)
                self._bred[proposal.id] = made
        self._known_before = frozenset(self._known)
        return tuple(self._bred)

    def try_candidate(self, candidate_id: str) -> Trial:
        """Let a model write it if it is to, then gates, cage and score; the trial is stored before this returns.

        Raises:
            NightOutage: the model's endpoint does not answer; nothing is stored for this candidate.
        """
        planned = self._bred[candidate_id]
        if isinstance(planned, Candidate):
            made: Candidate | Barren = planned
        else:
            made = self._make_by_model(planned)
        if isinstance(made, Barren):
            return self._keep(made.as_trial())
        self.files.write(made)
        evaluator = CageEvaluator(cage=self.cage, bench=self.bench, limits=self.settings.cage_limits())
        return self._keep(run_trial(made, evaluator, self.bench))

    def close_generation(self) -> tuple[Trial, ...]:
        """Tell the search what the generation brought, and store its summary.

        Raises:
            NightOutage: some of its places were not tried.
        """
        number = self.search.generation
        trials = tuple(trial for _, trial in sorted(self.trials.items()) if trial.candidate.generation == number)
        asked = {proposal.id for proposal in self.search.ask()}
        missing = asked - {trial.candidate.id for trial in trials}
        if missing:
            raise NightOutage(f"{len(missing)} candidates of generation {number + 1} were not tried")
        self.search.tell([trial for trial in trials if trial.candidate.id in asked])
        counts = {outcome.value: 0 for outcome in TrialOutcome}
        for trial in trials:
            counts[trial.outcome.value] += 1
        self.ledger.add_generation(
            self.run_id, GenerationSummary(generation=number, hypervolume=self._hypervolume(), counts=counts)
        )
        self.watch.generation_ended(number, best=self.best_score(), front=len(self.search.front))
        return trials

    def best_score(self) -> float | None:
        """Highest seed score of a feasible trial so far."""
        scores = [
            trial.scorecard.score
            for trial in self.trials.values()
            if trial.outcome is TrialOutcome.SCORED and trial.scorecard and trial.scorecard.score is not None
        ]
        return max(scores, default=None)

    def finalists(self) -> tuple[Trial, ...]:
        """Who may read validation: the best of those that beat buy and hold, one per niche, at most as many as set.

        Near-copies would spend several reads, and several places of the pool, on one idea.
        """
        chosen: dict[str, Trial] = {}
        ranked = sorted(self.trials.values(), key=lambda trial: (-_score(trial), trial.candidate.id))
        for trial in ranked:
            card = trial.scorecard
            if trial.outcome is TrialOutcome.SCORED and card is not None and card.beats_buy_and_hold:
                chosen.setdefault(niche_of(card), trial)
        return tuple(chosen.values())[: self.settings.search.admissions]

    def summary(self) -> RunSummary:
        """What a report of the run says."""
        return run_summary(self.ledger, self.pool, self.run_id)

    def record_fault(self, candidate_id: str, fault: str) -> Trial:
        """A fault of ours while a candidate was tried: an outcome like any other, so that the night goes on."""
        planned = self._bred[candidate_id]
        made = (
            planned if isinstance(planned, Candidate) else Barren(proposal=planned, reason=fault).as_trial().candidate
        )
        return self._keep(Trial(candidate=made, outcome=TrialOutcome.FAILED, reason=f"internal fault: {fault}"))

    def _make_offline(self, proposal: Proposal) -> Candidate | Barren:
        if not proposal.parents:
            return plant(proposal, seed_sources(), self._known)
        return breed_offline(proposal, [self._source(parent) for parent in proposal.parents], self._known)

    def _make_by_model(self, proposal: Proposal) -> Candidate | Barren:
        assert self.breeder is not None  # only such proposals are left open by ``breed``
        parents = [self.trials[identity] for identity in proposal.parents]
        breeding = self.breeder.breed(
            proposal,
            parents,
            lambda source: check(source, self.cage, self.settings.cage_limits()),
            known=self._known_before,
        )
        made = breeding.result
        if isinstance(made, Outage):
            raise NightOutage(made.reason)
        # Two siblings with the same text both stay: which of them came first is no business of a clock. Selection keeps one.
        if isinstance(made, Candidate):
            self._remember(made.source)
        return made

    def _source(self, identity: str) -> StrategySource:
        """Of a parent: tried before, or, in the first generation, a starter of the same one that is still to be tried."""
        planned = self._bred.get(identity)
        return planned.source if isinstance(planned, Candidate) else self.trials[identity].candidate.source

    def _remember(self, source: StrategySource) -> None:
        """Add a source to what the run has."""
        identity = canonical_hash(source)
        with self._lock:
            self._known.add(identity)

    def _keep(self, trial: Trial) -> Trial:
        self.ledger.add_trials([trial])
        self.trials[trial.candidate.id] = trial
        self.watch.trial_ended(trial)
        return trial

    def _hypervolume(self) -> float | None:
        goals = [
            trial.scorecard.objectives for trial in self.search.front if trial.scorecard and trial.scorecard.objectives
        ]
        return hypervolume(goals) if goals else None


NIGHTS: dict[str, Night] = {}
"""Runs that this process has open, by id: Prefect's tasks take ids only."""


def _score(trial: Trial) -> float:
    card = trial.scorecard
    return card.score if card is not None and card.score is not None else float("-inf")
