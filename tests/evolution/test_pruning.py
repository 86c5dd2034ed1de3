"""What an old run no longer needs goes; what others are counted or judged by stays."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta

import pytest
from figures import METRICS
from sqlalchemy import text

from evolution.candidate import Candidate, Provenance
from evolution.ledger import TrialLedger
from evolution.pruning import is_pruned, prunable, prune
from evolution.run import RunFacts, RunStatus
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Scorecard
from runtime.source import StrategySource
from runtime.store import open_engine

CARD = Scorecard(
    cells=(CellResult(symbol="AAA", fold="train-1", metrics=METRICS, buy_and_hold=METRICS, ruined=False),),
    objectives=None,
    violation=0.0,
    vetoes=(),
    score=1.1,
    benchmark_score=0.4,
    beats_buy_and_hold=True,
    trades=40,
    max_drawdown=0.2,
)
THEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory):
    home = tmp_path_factory.mktemp("empty")
    open_engine(home).dispose()
    return home


class Store:
    def __init__(self, home):
        self.engine = open_engine(home)
        self.ledger = TrialLedger(self.engine, now=lambda: THEN)

    def run(self, *, status=RunStatus.FINISHED):
        facts = RunFacts(
            seed=1,
            plan={},
            dataset="d",
            dataset_sha256="d" * 64,
            config_hash="c" * 64,
            engine_version="1",
        )
        run_id = self.ledger.start_run(facts).id
        for index, outcome in enumerate((TrialOutcome.SCORED, TrialOutcome.SCORED, TrialOutcome.REJECTED)):
            candidate = Candidate(
                id=f"g000-c{index:03d}",
                run_id=run_id,
                generation=0,
                index=index,
                source=StrategySource(f"# {index}".encode()),
                provenance=Provenance(operator="seed/x", parents=(), seed=None),
            )
            rhythm = b"" if outcome is TrialOutcome.SCORED else None
            card = CARD if outcome is TrialOutcome.SCORED else None
            self.ledger.add_trials(
                [Trial(candidate=candidate, outcome=outcome, reason="ran", scorecard=card, rhythm=rhythm)]
            )
        if status is not RunStatus.RUNNING:
            self.ledger.finish_run(run_id, status)
        return run_id

    def execute(self, statement):
        with self.engine.begin() as connection:
            connection.execute(text(statement))

    def enter(self, run_id):
        """The first candidate becomes an entry."""
        self.execute(
            "INSERT INTO pool_entry (number, source_sha256, language, run_id, candidate_id, status, score, dataset, "
            "dataset_sha256, config_hash, engine_version, models, card, created) "
            f"SELECT 1, source_sha256, language, run_id, id, 'candidate', 1, 'd', 'd', 'c', '1', '[]', '[]', '{THEN:%Y-%m-%d}' "
            f"FROM candidate WHERE run_id = '{run_id}' AND id = 'g000-c000'"
        )

    def talk(self, run_id, sha256="a", number=1):
        """A call to a model with its request and its answer."""
        self.execute(f"INSERT OR IGNORE INTO llm_request VALUES ('{sha256}', 'chat', '/x', x'{'61' * 500}')")
        self.execute(
            "INSERT INTO llm_call (number, run_id, subject, generation, ordinal, attempt, profile, model, prompt_version, "
            "request_sha256, sent, charged_tokens, response, reason, prompt_tokens, completion_tokens, estimated) VALUES "
            f"({number}, '{run_id}', 's', 0, {number}, 1, 'p', '\"m\"', '1', '{sha256}', '2026-01-01', 77, x'{'62' * 300}', "
            "'\"\"', 1, 2, 0)"
        )

    def talks(self):
        with self.engine.connect() as connection:
            bodies = connection.execute(text("SELECT length(body) FROM llm_request ORDER BY sha256")).scalars().all()
            answers = connection.execute(text("SELECT length(response) FROM llm_call ORDER BY number")).scalars().all()
            return bodies, answers


@pytest.fixture
def store(tmp_path, empty_home):
    shutil.copytree(empty_home, tmp_path / "home")
    return Store(tmp_path / "home")


LATER = THEN + timedelta(days=90)


def test_only_finished_runs_of_their_age_are_named_with_what_goes(store):
    old = store.run()
    for status in (RunStatus.RUNNING, RunStatus.INTERRUPTED, RunStatus.FAILED):
        store.run(status=status)
    store.talk(old)
    (found,) = prunable(store.engine, LATER)
    assert (found.run_id, found.trials, found.exchange_bytes) == (old, 2, 800)
    assert found.cell_bytes > 500
    assert prunable(store.engine, THEN) == ()


def test_cells_and_talks_go_and_everything_that_is_counted_stays(store):
    run_id = store.run()
    store.talk(run_id)
    before = store.ledger.trials(run_id)
    assert prune(store.engine, run_id, LATER)
    after = store.ledger.trials(run_id)
    assert [trial.outcome for trial in after] == [trial.outcome for trial in before]
    assert [trial.candidate for trial in after] == [trial.candidate for trial in before]
    assert after[0].scorecard.cells == ()
    assert (after[0].scorecard.score, after[0].scorecard.trades) == (1.1, 40)
    assert store.talks() == ([0], [None])
    assert store.ledger.spending(run_id).usage.calls == 1
    assert store.ledger.funnel(run_id).total == 3
    assert is_pruned(dict(store.ledger.run(run_id).story))


def test_a_run_is_pruned_once_and_never_while_it_can_go_on(store):
    finished, open_one = store.run(), store.run(status=RunStatus.INTERRUPTED)
    assert prune(store.engine, finished, LATER)
    assert not prune(store.engine, finished, LATER)
    assert not prune(store.engine, open_one, LATER)
    assert not prune(store.engine, "r-nothing", LATER)
    assert prunable(store.engine, LATER) == ()


def test_what_entered_the_pool_keeps_its_whole_scorecard(store):
    run_id = store.run()
    store.enter(run_id)
    assert prunable(store.engine, LATER)[0].trials == 1
    prune(store.engine, run_id, LATER)
    first, second, _ = store.ledger.trials(run_id)
    assert first.scorecard == CARD
    assert second.scorecard.cells == ()


def test_a_question_that_a_kept_run_also_asked_stays(store):
    old, kept = store.run(), store.run(status=RunStatus.INTERRUPTED)
    store.talk(old, "a", 1)
    store.talk(kept, "a", 2)
    store.talk(old, "b", 3)
    prune(store.engine, old, LATER)
    assert store.talks() == ([500, 0], [None, 300, None])


def test_a_pruned_result_is_counted_but_neither_recalled_nor_started_from(store):
    """A recalled result is judged like one that was run, and this one no longer can be."""
    run_id = store.run()
    key = {"dataset_sha256": "d" * 64, "config_hash": "c" * 64, "engine_version": "1"}
    source = StrategySource(b"# 0")
    assert store.ledger.recall(source, **key) is not None
    assert len(store.ledger.scored(store.ledger.run(run_id).facts)) == 2
    prune(store.engine, run_id, LATER)
    assert store.ledger.recall(source, **key) is None
    assert store.ledger.scored(store.ledger.run(run_id).facts) == ()
    rejected = store.ledger.recall(StrategySource(b"# 2"), **key)
    assert rejected.outcome is TrialOutcome.REJECTED
