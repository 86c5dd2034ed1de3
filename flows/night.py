"""``Night``: one run with everything it holds open, and the four things done with it: breed, try, close, admit.

Knows nothing of Prefect. ``flows.evolve`` calls it from flows and tasks; a test can call it directly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from evolution.breed import Barren, breed_offline, plant
from evolution.candidate import Candidate
from evolution.evaluate import CageEvaluator, run_trial
from evolution.llm.breeder import Outage
from evolution.llm.team import FALLBACK
from evolution.operators import canonical_hash
from evolution.rehearsal import Rehearsal
from evolution.report import run_summary
from evolution.run import GenerationSummary
from evolution.search import niche_of
from evolution.seeds import seed_sources
from evolution.selection import hypervolume
from evolution.trial import Trial, TrialOutcome
from gates import check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.candidate_files import CandidateFiles
    from evolution.evaluate import CellBench
    from evolution.ledger import TrialLedger
    from evolution.llm.team import Team
    from evolution.pool import Pool
    from evolution.report import RunSummary
    from evolution.search import Proposal, Search
    from flows.settings import Settings
    from flows.watch import Watch
    from gates import Verdict
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
    """Names of LLM profiles, separated by commas; None keeps to the offline operators."""
    resume: str | None = None
    """Id of the run to go on with; None starts a new one."""
    replay: str | None = None
    """Id of the run to run once more from what it has stored, with no network; None asks the models."""


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
    models: Team | None
    watch: Watch
    replayed: Mapping[str, Trial] = field(default_factory=dict)
    """Trials of the run that this one repeats, by candidate id; empty for a run of its own."""
    trials: dict[str, Trial] = field(default_factory=dict)
    """All trials of the run by candidate id."""
    note: str | None = None
    """What to keep beside how the run ended; None keeps what it was started with."""
    _bred: dict[str, Proposal | Candidate] = field(default_factory=dict)
    """What the generation in progress has to try: candidates, and proposals that a model is to fill."""
    _hashes: dict[str, str] = field(default_factory=dict)
    """Canonical hash of every source of the run, by candidate id."""
    _known_before: frozenset[str] = frozenset()
    """Those that the run had when the generation began: what a model is told must not depend on which sibling was quicker,
    nor on whether the run was cut short."""

    def recall(self, trials: Sequence[Trial]) -> None:
        """Take in what was stored before the run was cut short."""
        for trial in trials:
            self.trials[trial.candidate.id] = trial
            if trial.outcome is not TrialOutcome.BARREN:
                self._remember(trial.candidate)
        self.search.replay(trials)

    @property
    def is_over(self) -> bool:
        """Whether no further generation is to come: the plan is done, or the run that this one repeats ended here."""
        number = self.search.generation
        ended_here = bool(self.replayed) and not any(
            trial.candidate.generation == number for trial in self.replayed.values()
        )
        return self.search.end is not None or ended_here

    def end_early(self, why: str) -> None:
        """Keep, beside how the run ended, why there are no more generations."""
        self.note = f"{why}, after {self.search.generation} of {self.order.generations} generations"
        self.watch.say(self.note)

    def breed(self) -> tuple[str, ...]:
        """Fill the places of the next generation that need no model; the ids that are to be tried, in order.

        Places that stay empty become trials at once. Empty when the search is over.
        """
        self._bred.clear()
        number = self.search.generation
        earlier = [trial for trial in self.trials.values() if trial.candidate.generation < number]
        known = {self._hashes[trial.candidate.id] for trial in earlier if trial.candidate.id in self._hashes}
        # A run that was cut short has some of this generation already; each place knows those before it, as at first.
        offline = {
            trial.candidate.index: trial.candidate for trial in self.trials.values() if _is_offline(trial, number)
        }
        if self.models is not None:
            self.models.begin(earlier)
        for proposal in self.search.ask():
            if proposal.kind.uses_model and self.models is not None:
                self._bred[proposal.id] = proposal
                continue
            before = {self._hashes[made.id] for index, made in offline.items() if index < proposal.index}
            made = self._make_offline(proposal, known | before)
            if isinstance(made, Barren):
                self._keep(made.as_trial())
            else:
                self._remember(made)
                self._bred[proposal.id] = offline[proposal.index] = made
        self._known_before = frozenset(known | {self._hashes[made.id] for made in offline.values()})
        return tuple(self._bred)

    def try_candidate(self, candidate_id: str) -> Trial:
        """Let a model write it if it is to, then gates, cage and score; the trial is stored before this returns.

        Raises:
            NightOutage: the model's endpoint does not answer; nothing is stored for this candidate.
        """
        planned = self._bred[candidate_id]
        evaluator = CageEvaluator(cage=self.cage, bench=self.bench, limits=self.settings.cage_limits())
        rehearsal = Rehearsal(evaluator)
        if isinstance(planned, Candidate):
            made: Candidate | Barren = planned
        else:
            made = self._make_by_model(planned, rehearsal)
        if isinstance(made, Barren):
            return self._keep(made.as_trial())
        self.files.write(made)
        stored = self.replayed.get(candidate_id)
        if stored is not None and _was_killed(stored, made.source):
            # How long a machine took is no property of a strategy: a replay keeps to what happened.
            return self._keep(replace(stored, candidate=made))
        return self._keep(run_trial(made, rehearsal, self.bench))

    def stop(self) -> None:
        """End every wait for a model and every call to one; what they were for stays open."""
        if self.models is not None:
            self.models.close()

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

    def _make_offline(self, proposal: Proposal, known: set[str]) -> Candidate | Barren:
        if not proposal.parents:
            return plant(proposal, seed_sources(), known)
        return breed_offline(proposal, [self._source(parent) for parent in proposal.parents], known)

    def _make_by_model(self, proposal: Proposal, rehearsal: Rehearsal) -> Candidate | Barren:
        assert self.models is not None  # only such proposals are left open by ``breed``
        parents = [self.trials[identity] for identity in proposal.parents]
        stored = self.replayed.get(proposal.id)

        def judge(source: StrategySource) -> Verdict:
            if stored is not None and _was_killed(stored, source):
                return check(source, self.cage, self.settings.cage_limits())
            return rehearsal.judge(source)

        made = self.models.breed(proposal, parents, judge, known=self._known_before)
        if isinstance(made, Outage):
            raise NightOutage(made.reason)
        # Two siblings with the same text both stay: which of them came first is no business of a clock. Selection keeps one.
        if isinstance(made, Candidate):
            self._remember(made)
        return made

    def _source(self, identity: str) -> StrategySource:
        """Of a parent: tried before, or, in the first generation, a starter of the same one that is still to be tried."""
        planned = self._bred.get(identity)
        return planned.source if isinstance(planned, Candidate) else self.trials[identity].candidate.source

    def _remember(self, candidate: Candidate) -> None:
        """Add a source to what the run has."""
        self._hashes[candidate.id] = canonical_hash(candidate.source)

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


def _was_killed(stored: Trial, source: StrategySource) -> bool:
    return stored.outcome is TrialOutcome.KILLED and stored.candidate.source == source


def _is_offline(trial: Trial, generation: int) -> bool:
    """Whether a place of the generation was filled without a model, and not in place of one."""
    operator = trial.candidate.provenance.operator
    is_here = trial.candidate.generation == generation and trial.outcome is not TrialOutcome.BARREN
    return is_here and not operator.startswith("llm/") and not operator.endswith(FALLBACK)


def _score(trial: Trial) -> float:
    card = trial.scorecard
    return card.score if card is not None and card.score is not None else float("-inf")
