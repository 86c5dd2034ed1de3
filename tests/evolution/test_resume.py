"""Taking up a run: the search knows what is stored, and a summary that a kill prevented is written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evolution.ledger import TrialLedger
from evolution.plan import SearchPlan
from evolution.resume import summary_of, take_up
from evolution.run import RunFacts
from evolution.search import Search
from evolution.trial import TrialOutcome
from runtime.store import open_engine


@pytest.fixture
def ledger(tmp_path):
    return TrialLedger(open_engine(tmp_path), now=lambda: datetime(2026, 11, 30, tzinfo=UTC))


@pytest.fixture
def run_id(ledger):
    facts = RunFacts(seed=1, plan={}, dataset="d", dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="1")
    return ledger.start_run(facts).id


def new_search(run_id):
    return Search(SearchPlan(generations=3, population=4), run_id=run_id, seed=1, starters=4)


def test_a_summary_that_is_missing_is_written_and_one_that_is_there_stays(ledger, run_id, told):
    trials = [told(index, run=run_id, sharpe=1.0 + index, trades=40 + index) for index in range(4)]
    search = new_search(run_id)
    take_up(search, ledger, run_id, trials)
    (summary,) = ledger.generations(run_id)
    assert summary == summary_of(search, 0, trials)
    assert summary.counts[TrialOutcome.SCORED.value] == 4
    assert summary.hypervolume > 0
    take_up(new_search(run_id), ledger, run_id, trials)
    assert ledger.generations(run_id) == (summary,)


def test_a_generation_that_was_cut_short_has_no_summary_yet(ledger, run_id, told):
    search = new_search(run_id)
    take_up(search, ledger, run_id, [told(0, run=run_id)])
    assert ledger.generations(run_id) == ()
    assert len(search.ask()) == 3
