"""Kills searches at chosen moments and resumes them; run by ``test_kills_and_resume.py`` in a process of its own.

Everything between the operators and the store is real: search, breeding, memory, ledger. Only what judges a source is made up, from its
digest, so that a whole search takes a second. A moment is a count of database statements, so that kills fall before, inside and
after transactions, and the same numbers always mean the same moments.

Prints one JSON document: what an undisturbed search came to, and for each kill what its resumed search came to.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import event

from evolution.breed import Barren, breed_offline, plant, relatives_of
from evolution.ledger import TrialLedger
from evolution.operators import canonical_hash
from evolution.plan import SearchPlan
from evolution.resume import summary_of, take_up
from evolution.run import RunFacts, RunStatus
from evolution.search import Search
from evolution.seeds import seed_sources
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Scorecard
from fitness.objectives import DEFAULT_RULES, objectives_of
from runtime.store import open_engine

PLAN = SearchPlan(
    generations=4,
    population=8,
    islands=2,
    migrate_every=2,
    archive_rate=0.2,
    tune_rate=0.8,
    box_width=0.5,
    patience=3,
)
RHYTHMS = [random.Random(number).randbytes(256) for number in range(12)]
SEED = 20_261_130


def judged(candidate):
    """A score that follows from the source alone; some are refused, some break a limit, some trade like others."""
    rng = random.Random(candidate.source.sha256)
    if rng.random() < 0.1:
        return Trial(candidate=candidate, outcome=TrialOutcome.FAILED, reason="it raised")
    trades, exposure = rng.randrange(30, 400), rng.random()
    metrics = Metrics(
        total_return=0.1,
        cagr=0.1,
        sharpe=rng.gauss(0.5, 0.5),
        sortino=None,
        calmar=rng.gauss(0.3, 0.3),
        max_drawdown=0.1,
        turnover=rng.uniform(1.0, 60.0),
        exposure=exposure,
        trades=trades,
        fees=1.0,
        final_equity=110.0,
        seed_score=0.5,
    )
    violation = rng.uniform(0.1, 1.0) if rng.random() < 0.3 else 0.0
    folds = [replace(metrics, sharpe=metrics.sharpe + rng.gauss(0.0, 0.3)) for _ in range(4)]
    cells = tuple(
        CellResult(symbol="A", fold=f"train-{number}", metrics=fold, buy_and_hold=metrics, ruined=False)
        for number, fold in enumerate(folds, start=1)
    )
    card = Scorecard(
        cells=cells,
        objectives=objectives_of(cells, DEFAULT_RULES),
        violation=violation,
        vetoes=("too deep",) if violation else (),
        score=metrics.sharpe,
        benchmark_score=0.4,
        beats_buy_and_hold=metrics.sharpe > 0.4,
        trades=trades,
        max_drawdown=0.1,
    )
    return Trial(
        candidate=candidate,
        outcome=TrialOutcome.VETOED if violation else TrialOutcome.SCORED,
        reason="because",
        scorecard=card,
        behaviour=str(rng.randrange(60)),
        probe=str(rng.randrange(400)),
        rhythm=rng.choice(RHYTHMS),
    )


class Worker:
    """One process that works on the run until it is done; ``evaluated`` counts what it judged."""

    def __init__(self, home):
        self.engine = open_engine(home)
        self.ledger = TrialLedger(self.engine, now=lambda: datetime(2026, 11, 30, tzinfo=UTC))
        self.evaluated = []

    def run(self):
        runs = self.ledger.runs()
        record = self.ledger.reopen_run(runs[0].record.id) if runs else self._begin()
        trials = {trial.candidate.id: trial for trial in self.ledger.trials(record.id)}
        search = Search(PLAN, run_id=record.id, seed=SEED, starters=len(seed_sources()))
        take_up(search, self.ledger, record.id, trials.values())
        while proposals := search.ask():
            number = search.generation
            for proposal in proposals:
                trial = self._trial(proposal, trials)
                self.ledger.add_trials([trial])
                trials[proposal.id] = trial
            search.tell([trials[proposal.id] for proposal in proposals])
            own = [trials[each] for each in sorted(trials) if trials[each].candidate.generation == number]
            self.ledger.add_generation(record.id, summary_of(search, number, own))
        self.ledger.finish_run(record.id, RunStatus.FINISHED)

    def _begin(self):
        facts = RunFacts(
            seed=SEED,
            plan={},
            dataset="made-up",
            dataset_sha256="d" * 64,
            config_hash="c" * 64,
            engine_version="1",
        )
        return self.ledger.start_run(facts)

    def _trial(self, proposal, trials):
        known = {
            canonical_hash(trial.candidate.source)
            for trial in trials.values()
            if trial.candidate.id < proposal.id and trial.outcome is not TrialOutcome.BARREN
        }
        if proposal.parents:
            parents = [trials[each].candidate.source for each in proposal.parents]
            made = breed_offline(proposal, parents, known, relatives_of(proposal, trials))
        else:
            made = plant(proposal, seed_sources(), known)
        if isinstance(made, Barren):
            return made.as_trial()
        self.evaluated.append(made.id)
        return judged(made)


def outcome(ledger):
    """All that a finished search left behind, but for stamps and seconds."""
    (listing,) = ledger.runs()
    record = listing.record
    trials = ledger.trials(record.id)
    search = Search(PLAN, run_id=record.id, seed=SEED, starters=len(seed_sources()))
    search.replay(trials)
    return {
        "status": record.status.value,
        "trials": [[trial.candidate.id, trial.candidate.source.sha256, trial.outcome.value] for trial in trials],
        "operators": [trial.candidate.provenance.operator for trial in trials],
        "survivors": [trial.candidate.id for trial in search.survivors],
        "front": [trial.candidate.id for trial in search.front],
        "generations": [
            [each.generation, each.hypervolume, dict(each.counts)] for each in ledger.generations(record.id)
        ],
    }


def in_child(work):
    """Run something in a forked process; its wait status."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - a child must never return into the parent's code
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def work(home, *, kill_at=None, report=None):
    """Work on the run of a home; with ``kill_at``, die at that moment."""
    worker = Worker(home)
    stored = [
        trial.candidate.id for listing in worker.ledger.runs() for trial in worker.ledger.trials(listing.record.id)
    ]
    count = 0

    def tick(*_):
        nonlocal count
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "after_cursor_execute", "commit", "begin"):
        event.listen(worker.engine, name, tick)
    worker.run()
    if report is not None:
        found = {"moments": count, "stored": stored, "evaluated": worker.evaluated, "outcome": outcome(worker.ledger)}
        report.write_text(json.dumps(found))


def main(folder, kills, seed):
    template = folder / "template"
    in_child(lambda: open_engine(template))  # migrated once
    report = folder / "whole.json"
    assert in_child(lambda: work(shutil.copytree(template, folder / "whole"), report=report)) == 0
    whole = json.loads(report.read_text())
    results = []
    for number, moment in enumerate(sorted(random.Random(seed).sample(range(1, whole["moments"]), kills))):
        home = shutil.copytree(template, folder / f"killed-{number}")
        first = in_child(lambda home=home, moment=moment: work(home, kill_at=moment))
        report = folder / f"resumed-{number}.json"
        second = in_child(lambda home=home, report=report: work(home, report=report))
        results.append(
            {
                "moment": moment,
                "killed_by": os.WTERMSIG(first) if os.WIFSIGNALED(first) else None,
                "resumed": second,
                **json.loads(report.read_text()),
            }
        )
    json.dump({"whole": whole, "kills": results}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
