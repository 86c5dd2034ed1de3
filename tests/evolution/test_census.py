"""Trials are counted over all nights and every overlap of bars, and copies count once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.census import TrialCensus
from evolution.interval import BarInterval
from evolution.ledger import TrialLedger
from evolution.record import ActiveRecord
from evolution.run import RunFacts
from evolution.trial import Trial, TrialOutcome
from fitness import Metrics, Objectives, Scorecard, sharpe_sample
from fitness.card import CellResult
from runtime.source import StrategySource
from runtime.store import open_engine

DAY = timedelta(days=1)
BARS = BarInterval(
    symbol="AAA", timeframe="1d", start=datetime(2010, 1, 1, tzinfo=UTC), end=datetime(2012, 1, 1, tzinfo=UTC)
)
FIGURES = Metrics(
    total_return=0.1, cagr=0.1, sharpe=1.0, sortino=1.0, calmar=1.0, max_drawdown=0.1, turnover=1.0, exposure=0.5,
    trades=40, fees=1.0, final_equity=110_000.0, seed_score=1.0,
)  # fmt: skip
CARD = Scorecard(
    cells=(CellResult(symbol="AAA", fold="train-1", metrics=FIGURES, buy_and_hold=FIGURES, ruined=False),),
    objectives=Objectives(sharpe=1.0, calmar=1.0, turnover=1.0),
    violation=0.0,
    vetoes=(),
    score=1.0,
    benchmark_score=0.5,
    beats_buy_and_hold=True,
    trades=40,
    max_drawdown=0.1,
)


@pytest.fixture
def store(tmp_path):
    engine = open_engine(tmp_path)
    return engine, TrialLedger(engine, now=lambda: datetime(2026, 11, 30, tzinfo=UTC))


def start(ledger):
    facts = RunFacts(seed=1, plan={}, dataset="d", dataset_sha256="s", config_hash="c", engine_version="e")
    return ledger.start_run(facts).id


def trial(run_id, index, returns, intervals=(BARS,)):
    record = ActiveRecord(intervals=intervals, sample=sharpe_sample(returns), returns=returns.astype("<f4").tobytes())
    candidate = Candidate(
        id=candidate_id(0, index),
        run_id=run_id,
        generation=0,
        index=index,
        source=StrategySource(f"{run_id} {index}".encode()),
        provenance=Provenance(operator="seed/x", parents=(), seed=None),
    )
    return Trial(candidate=candidate, outcome=TrialOutcome.SCORED, reason="ran", scorecard=CARD, record=record)


def noise(seed, count=300):
    return np.random.default_rng(seed).normal(0.0002, 0.01, count)


def test_trials_of_all_nights_count_and_copies_count_once(store):
    engine, ledger = store
    for _ in range(2):
        run_id = start(ledger)
        ledger.add_trials([trial(run_id, index, noise(index)) for index in range(6)])
    census = TrialCensus(engine).over([BARS])
    assert (census.runs, census.trials, census.distinct, census.effective.clusters) == (2, 12, 6, 6)
    ratios = [np.mean(noise(index)) / np.std(noise(index), ddof=1) for index in range(6)]
    assert census.variance == pytest.approx(np.var(ratios, ddof=1))


@pytest.mark.parametrize(
    "bars",
    [
        replace(BARS, end=BARS.end + DAY),
        replace(BARS, start=BARS.end - DAY, end=BARS.end + 90 * DAY),
        replace(BARS, start=BARS.start + DAY),
    ],
)
def test_a_bar_more_or_less_resets_no_count(store, bars):
    engine, ledger = store
    run_id = start(ledger)
    ledger.add_trials([trial(run_id, 0, noise(1)), trial(run_id, 1, noise(2))])
    assert TrialCensus(engine).over([bars]).trials == 2


@pytest.mark.parametrize(
    "bars",
    [
        replace(BARS, symbol="BBB"),
        replace(BARS, timeframe="1h"),
        replace(BARS, start=BARS.end, end=BARS.end + DAY),
    ],
)
def test_other_bars_have_a_count_of_their_own(store, bars):
    engine, ledger = store
    run_id = start(ledger)
    ledger.add_trials([trial(run_id, 0, noise(1))])
    assert TrialCensus(engine).over([bars]).trials == 0


def test_a_symbol_left_out_resets_no_count(store):
    engine, ledger = store
    run_id = start(ledger)
    both = (BARS, replace(BARS, symbol="BBB"))
    ledger.add_trials([trial(run_id, 0, noise(1), both)])
    assert TrialCensus(engine).over([both[1]]).trials == 1


def test_series_of_different_lengths_are_clustered_apart_and_added_up(store):
    engine, ledger = store
    run_id = start(ledger)
    ledger.add_trials([trial(run_id, 0, noise(1)), trial(run_id, 1, noise(1, 250)), trial(run_id, 2, noise(2))])
    census = TrialCensus(engine).over([BARS])
    assert (census.distinct, census.effective.clusters) == (3, 3)
    assert TrialCensus(engine).matrix(run_id).shape == (300, 2)


def test_new_trials_are_seen_by_a_census_that_has_answered_before(store):
    engine, ledger = store
    census, run_id = TrialCensus(engine), start(ledger)
    assert census.over([BARS]).variance == 0.0
    ledger.add_trials([trial(run_id, 0, noise(1))])
    assert census.over([BARS]).trials == 1
    assert census.matrix("r-none").size == 0


def test_a_trial_that_is_read_back_is_the_same_trial_without_its_series(store):
    _, ledger = store
    run_id = start(ledger)
    one = trial(run_id, 0, noise(1))
    ledger.add_trials([one])
    (read,) = ledger.trials(run_id)
    assert read == one
    assert read.record is None
    assert ledger.add_trials([one]) == 0
