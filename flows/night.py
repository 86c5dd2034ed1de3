"""``Night``: one run with everything it holds open, and the four things done with it: breed, try, close, admit.

Knows nothing of Prefect. ``flows.evolve`` calls it from flows and tasks; a test can call it directly.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from evolution.breed import Barren, breed_offline, plant, relatives_of
from evolution.candidate import Candidate
from evolution.cascade import Cascade
from evolution.evaluate import CageEvaluator, run_trial
from evolution.finalists import best_score, finalists
from evolution.heritage import compare
from evolution.ledger import LedgerError
from evolution.llm.breeder import Outage
from evolution.llm.fallback import FALLBACK
from evolution.memory import recalled
from evolution.operators import canonical_hash
from evolution.plural import plural
from evolution.rehearsal import Rehearsal
from evolution.resume import summary_of, take_up
from evolution.seeds import seed_sources
from evolution.stops import CandidateBudget, CpuBudget, Deadline, Progress, Stop, first_reason
from evolution.summary import run_summary
from evolution.trial import Trial, TrialOutcome
from gates import check
from runtime.store import FencedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Engine

    from evolution.bench import CellBench
    from evolution.candidate_files import CandidateFiles
    from evolution.evaluate import Foresight
    from evolution.ledger import TrialLedger
    from evolution.llm.team import Team
    from evolution.pool import Pool
    from evolution.proposal import Proposal
    from evolution.run import RunFacts
    from evolution.search import Search
    from evolution.summary import RunSummary
    from evolution.workboard import Workboard
    from flows.cluster import Cluster
    from flows.order import Order
    from flows.settings import Settings
    from flows.watch import Watch
    from gates import Verdict
    from runtime.cage import Cage
    from runtime.market import DataSet
    from runtime.source import StrategySource


class NightOutage(Exception):
    """The model's endpoint is out: stop, keep what is stored, and resume the run later."""


@dataclass(slots=True, kw_only=True)
class Night:
    """A run in progress. One generation at a time; ``try_candidate`` may be called from several threads."""

    run_id: str
    facts: RunFacts
    order: Order
    settings: Settings
    dataset: DataSet
    engine: Engine
    ledger: TrialLedger
    pool: Pool
    files: CandidateFiles
    search: Search
    bench: CellBench
    cage: Cage
    foresight: Foresight
    """Whether a candidate with a score does the same before another future."""
    models: Team | None
    watch: Watch
    now: Callable[[], datetime]
    starters: Sequence[tuple[str, StrategySource]] = field(default_factory=seed_sources)
    """What the starting generation begins with: the seeds, then what was taken over from earlier nights."""
    heritage: Sequence[Trial] = ()
    """The front of earlier nights, when the run started from it."""
    recalls: bool = False
    """Whether there are earlier nights with results to recall."""
    replayed: Mapping[str, Trial] = field(default_factory=dict)
    """Trials of the run that this one repeats, by candidate id; empty for a run of its own."""
    board: Workboard | None = None
    """Where other processes can take candidates to try; None keeps them all here."""
    cluster: Cluster | None = None
    """Who tries those that no model wrote; None for this process."""
    trials: dict[str, Trial] = field(default_factory=dict)
    """All trials of the run by candidate id."""
    _is_stopping: threading.Event = field(default_factory=threading.Event)
    _is_full: dict[str, bool] = field(default_factory=dict)
    """Whether the places that a candidate of this generation competes for are all taken by feasible trials."""
    _bred: dict[str, Proposal | Candidate] = field(default_factory=dict)
    """What the generation in progress has to try: candidates, and proposals that a model is to fill."""
    _hashes: dict[str, str] = field(default_factory=dict)
    """Canonical hash of every source of the run, by candidate id."""
    _cascades: dict[bool, Cascade] = field(default_factory=dict)
    """What candidates of this generation are judged by between folds, by whether the places are all taken."""
    _probes: dict[str, str] = field(default_factory=dict)
    """First candidate by what it ordered in the probe's folds, of complete generations."""
    _began: datetime | None = None
    """When the generation in progress began."""
    _reserved_s: float = 0.0
    """Wall time that is kept for admission, as it was estimated when the generation began."""
    _spent_s: float = 0.0
    """Wall time of the last generation."""
    _known_before: frozenset[str] = frozenset()
    """Those that the run had when the generation began: what a model is told must not depend on which sibling was quicker,
    nor on whether the run was cut short."""

    def recall(self, trials: Sequence[Trial]) -> None:
        """Take in what was stored before the run was cut short."""
        for trial in trials:
            self.trials[trial.candidate.id] = trial
            if trial.outcome is not TrialOutcome.BARREN:
                self._remember(trial.candidate)
        take_up(self.search, self.ledger, self.run_id, trials)
        for trial in trials:
            if trial.candidate.generation < self.search.generation:
                self._learn_probe(trial)

    def stop_reason(self) -> str | None:
        """Why no further generation begins although the search would go on; None while one may. Writes the reason down."""
        stopped = (self.ledger.run(self.order.replay or self.run_id).story).get("stop")
        if stopped is not None:
            # A stop is obeyed by whoever resumes or replays the run: clocks and machines differ.
            reason = str(stopped["reason"]) if stopped["generation"] <= self.search.generation else None
        else:
            reason = None if self.order.replay else first_reason(self._stops(), self._progress())
        if reason is not None and self.search.end is None:
            self.search.stop()
            self.ledger.tell(self.run_id, stop={"generation": self.search.generation, "reason": reason})
        return reason

    def _stops(self) -> tuple[Stop, ...]:
        order = self.order
        limits: tuple[Stop | None, ...] = (
            Deadline(order.until) if order.until is not None else None,
            CandidateBudget(order.candidates) if order.candidates is not None else None,
            CpuBudget(order.cpu_s) if order.cpu_s is not None else None,
        )
        return tuple(stop for stop in limits if stop is not None)

    def _progress(self) -> Progress:
        return Progress(
            candidates=len(self.trials),
            next_candidates=len(self.search.ask()),
            cpu_s=sum(trial.cpu_s for trial in self.trials.values()),
            now=self.now(),
            next_s=self._spent_s,
            admission_s=self._admission_s(),
        )

    def _admission_s(self) -> float:
        """What admission will take: each finalist runs about so often on train, and at worst all of them are put to every check."""
        walls = [trial.wall_s for trial in self.trials.values() if trial.wall_s > 0]
        mean = sum(walls) / len(walls) if walls else 0.0
        return self.settings.search.admissions * _RUNS_PER_ADMISSION * mean / self.settings.worker_count()

    def is_over(self) -> bool:
        """Whether only the time for admission is left."""
        until = self.order.until
        return until is not None and Deadline(until).is_over(self.now(), self._reserved_s)

    def breed(self) -> Iterator[str]:
        """Fill the places of the next generation that need no model; the ids that are to be tried, in order, each as soon as it may be.

        Places that stay empty become trials at once. Empty when the search is over. To be read to its end, while others try
        what it has given already.
        """
        open_places = self.search.ask()
        self._bred.clear()
        self._began, self._reserved_s = self.now(), self._admission_s()
        self._cascades = {is_full: Cascade(known=dict(self._probes), is_full=is_full) for is_full in (False, True)}
        number = self.search.generation
        earlier = [trial for trial in self.trials.values() if trial.candidate.generation < number]
        known = {self._hashes[trial.candidate.id] for trial in earlier if trial.candidate.id in self._hashes}
        self._is_full = {proposal.id: self.search.is_full_for(proposal) for proposal in open_places}
        # A run that was cut short has some of this generation already; each place knows those before it, as at first.
        offline = {
            trial.candidate.index: trial.candidate for trial in self.trials.values() if _is_offline(trial, number)
        }
        if self.models is not None:
            self.models.begin(earlier)
        if self.board is not None:
            self.board.clear(self.run_id, [proposal.id for proposal in open_places])
        # A model is told of all that was made offline, so nothing is tried before that is.
        portion = _PORTION if self.models is None else max(1, len(open_places))
        for begin in range(0, len(open_places), portion):
            yield from self._bred_portion(open_places[begin : begin + portion], known, offline)

    def _bred_portion(
        self, places: Sequence[Proposal], known: set[str], offline: dict[int, Candidate]
    ) -> tuple[str, ...]:
        """Fill some places and put up what came into being."""
        bred: dict[str, Proposal | Candidate] = {}
        for proposal in places:
            if proposal.kind.uses_model and self.models is not None:
                bred[proposal.id] = self._bred[proposal.id] = proposal
                continue
            before = {self._hashes[made.id] for index, made in offline.items() if index < proposal.index}
            made = self._make_offline(proposal, known | before)
            if isinstance(made, Barren):
                self._keep(made.as_trial())
            else:
                self._remember(made)
                bred[proposal.id] = self._bred[proposal.id] = offline[proposal.index] = made
        self._known_before = frozenset(known | {self._hashes[made.id] for made in offline.values()})
        if self.board is not None:
            ready = [made for made in bred.values() if isinstance(made, Candidate)]
            self.board.offer(self.run_id, ready, self._is_full)
        return tuple(bred)

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
        if stored is not None and stored.outcome in _OBEYED and stored.candidate.source == made.source:
            # How long a machine took is no property of a strategy: a replay keeps to what happened.
            return self._keep(replace(stored, candidate=made))
        if self.board is not None and isinstance(planned, Candidate):
            helped = self._helped(self.board, candidate_id)
            if helped is not None:
                return self._take_in(helped)
        if self.is_over():
            reason = f"not tried: only the time for admission was left until {self.order.until:%H:%M}"
            return self._keep(Trial(candidate=made, outcome=TrialOutcome.STOPPED, reason=reason))
        cascade = self._cascades[self._is_full.get(candidate_id, False)]
        recalled = self._recalled(made, cascade)
        if recalled is not None:
            return self._keep(recalled)
        here = partial(run_trial, made, rehearsal, self.bench, foresight=self.foresight, cascade=cascade)
        if self.cluster is None or not isinstance(planned, Candidate):
            return self._keep(here())
        found = self.cluster.attempt(made, cascade, here, self._is_stopping)
        if found is None:
            raise NightOutage(f"candidate {candidate_id} is on the Dask cluster, and the run was stopped")
        return self._keep(replace(found, candidate=made))

    def at_once(self) -> int:
        """Candidates that are tried at the same time. Models are asked from here, and so are their children tried."""
        here = self.settings.worker_count()
        return here if self.cluster is None or self.models is not None else max(here, self.cluster.width())

    def _recalled(self, made: Candidate, cascade: Cascade) -> Trial | None:
        """What an earlier night found out about the same strategy; None when nobody knows."""
        return recalled(self.ledger, self.facts, made, self.bench, cascade) if self.recalls else None

    def _helped(self, board: Workboard, candidate_id: str) -> Trial | None:
        """What another process made of a candidate; None when it is ours to try. Waits while another one is at it.

        Raises:
            NightOutage: the run is stopped meanwhile.
        """
        turn = 0
        while turn % _CLAIM_EVERY or not board.claim(self.run_id, candidate_id):
            if board.is_done(self.run_id, candidate_id):
                return self.ledger.trial(self.run_id, candidate_id)
            if self._is_stopping.wait(_PAUSE_S):
                raise NightOutage(f"candidate {candidate_id} is with another process, and the run was stopped")
            turn += 1
        return None

    def stop(self) -> None:
        """End every wait for a model or another process, and every call to one; what they were for stays open."""
        self._is_stopping.set()
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
            raise NightOutage(f"{plural(len(missing), 'candidate')} of generation {number + 1} left untried")
        self.search.tell([trial for trial in trials if trial.candidate.id in asked])
        for trial in trials:
            self._learn_probe(trial)
        self._spent_s = (self.now() - self._began).total_seconds() if self._began is not None else 0.0
        self.ledger.add_generation(self.run_id, summary_of(self.search, number, trials))
        self._tell_helpers()
        self.watch.generation_ended(number, best=self.best_score(), front=len(self.search.front))
        return trials

    def conclude(self) -> None:
        """Write down why the search is over, and how tonight's front stands to that of earlier nights."""
        end = self.search.end
        assert end is not None  # asked for when the search is over
        story: dict[str, object] = {"end": end.value, "restarts": self.search.restarts}
        if self.heritage:
            comparison = compare(self.heritage, self.search.front)
            story["heritage"] = comparison.in_words()
            self.watch.say(comparison.in_words())
        self.ledger.tell(self.run_id, **story)

    def best_score(self) -> float | None:
        """Highest seed score of a feasible trial so far."""
        return best_score(self.trials.values())

    def finalists(self) -> tuple[Trial, ...]:
        """Who may read validation, at most as many as set (``evolution.finalists``)."""
        return finalists(self.trials.values(), self.settings.search.admissions)

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
            return plant(proposal, self.starters, known)
        parents = [self._source(parent) for parent in proposal.parents]
        return breed_offline(proposal, parents, known, relatives_of(proposal, self.trials))

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
            made = replace(made, structure=canonical_hash(made.source))
            self._remember(made)
        return made

    def _source(self, identity: str) -> StrategySource:
        """Of a parent: tried before, or, in the first generation, a starter of the same one that is still to be tried."""
        planned = self._bred.get(identity)
        return planned.source if isinstance(planned, Candidate) else self.trials[identity].candidate.source

    def _remember(self, candidate: Candidate) -> None:
        """Add a source to what the run has."""
        self._hashes[candidate.id] = candidate.structure or canonical_hash(candidate.source)

    def _learn_probe(self, trial: Trial) -> None:
        """Remember what a trial of a complete generation ordered in the probe's folds; the first of several stands for them."""
        if trial.probe is not None:
            self._probes.setdefault(trial.probe, trial.candidate.id)

    def _tell_helpers(self) -> None:
        """Add up in the run's story who else tried its candidates."""
        counts = self.board.helpers(self.run_id) if self.board is not None else {}
        if counts:
            before = self.ledger.run(self.run_id).story.get("helpers", {})
            names = sorted({*before, *counts})
            self.ledger.tell(self.run_id, helpers={name: before.get(name, 0) + counts.get(name, 0) for name in names})

    def _keep(self, trial: Trial) -> Trial:
        for is_last in (False, False, True):
            try:
                self.ledger.add_trials([trial])
            except FencedError:
                raise
            except StoreError:
                # A database server that goes away in the middle of a transaction; the next one waits until it is back.
                if is_last:
                    raise
            except LedgerError:
                if self.board is None:
                    raise
                # A helper whose claim had run out was quicker after all; the first result stands.
                return self._take_in(self.ledger.trial(self.run_id, trial.candidate.id))
            else:
                break
        return self._take_in(trial)

    def _take_in(self, trial: Trial) -> Trial:
        """Hear of a trial that is stored. A night of many bars would hold all of their records."""
        trial = replace(trial, record=None)
        self.trials[trial.candidate.id] = trial
        self.watch.trial_ended(trial)
        return trial


# A deadline and a machine's speed decided about these; what the trial says of them holds for whoever repeats the run.
_OBEYED = frozenset({TrialOutcome.KILLED, TrialOutcome.STOPPED})
# Stresses, neighbours, shaken bars and two proof runs, most of them on all of train.
_RUNS_PER_ADMISSION = 40
# So many are bred before the first of them are tried: few enough that nobody waits long, and one transaction of the board for all.
_PORTION = 8
# While another process is at a candidate: seconds between two looks, and every how many looks its claim is asked for.
_PAUSE_S = 0.05
_CLAIM_EVERY = 20

NIGHTS: dict[str, Night] = {}
"""Runs that this process has open, by id: Prefect's tasks take ids only."""


def _was_killed(stored: Trial, source: StrategySource) -> bool:
    return stored.outcome is TrialOutcome.KILLED and stored.candidate.source == source


def _is_offline(trial: Trial, generation: int) -> bool:
    """Whether a place of the generation was filled without a model, and not in place of one."""
    operator = trial.candidate.provenance.operator
    is_here = trial.candidate.generation == generation and trial.outcome is not TrialOutcome.BARREN
    return is_here and not operator.startswith("llm/") and not operator.endswith(FALLBACK)
