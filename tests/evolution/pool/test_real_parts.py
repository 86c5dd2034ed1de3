"""Admission and promotion with nothing faked: the built-in set with a planted edge, two seed strategies, the real cage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evolution.bench import CellBench
from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.evaluate import CageEvaluator, run_trial
from evolution.ledger import TrialLedger
from evolution.pool import (
    Binding,
    Entered,
    LookContext,
    NotAdmitted,
    Pool,
    Promoted,
    PromotionRefused,
    admission_bars,
    open_runner,
)
from evolution.report import render_text
from evolution.run import RunFacts
from evolution.seeds import seed_sources
from evolution.summary import run_summary
from gates import open_gate_cage
from runtime.kernel import RunConfig
from runtime.market import open_dataset, open_vault
from runtime.store import open_engine

pytestmark = pytest.mark.slow

CONFIG = RunConfig()


def try_seeds(run_id, dataset, names):
    """One trial per seed, run on train as the search does it."""
    bench = CellBench.build(dataset.train_bars(), dataset.train_cells(), CONFIG)
    sources = dict(seed_sources())
    with open_gate_cage(dataset.train_bars()) as cage:
        evaluator = CageEvaluator(cage=cage, bench=bench)
        return [
            run_trial(
                Candidate(
                    id=candidate_id(0, index),
                    run_id=run_id,
                    generation=0,
                    index=index,
                    source=sources[name],
                    provenance=Provenance(operator=f"seed/{name}", parents=(), seed=None),
                ),
                evaluator,
                bench,
            )
            for index, name in enumerate(names)
        ]


def test_a_strategy_with_the_planted_edge_goes_all_the_way_and_one_without_does_not(tmp_path):
    times = iter(datetime(2026, 11, 30, 22, 0, tzinfo=UTC) + timedelta(minutes=minute) for minute in range(1_000))
    engine = open_engine(tmp_path)
    ledger = TrialLedger(engine, now=lambda: next(times))
    pool = Pool(engine, now=lambda: next(times))
    dataset = open_dataset("planted-edge", tmp_path)
    facts = RunFacts(
        seed=1, plan={}, dataset=dataset.name, dataset_sha256=dataset.sha256, config_hash="c", engine_version="e"
    )
    run_id = ledger.start_run(facts).id
    trials = try_seeds(run_id, dataset, ["breakout", "mean_reversion"])
    ledger.add_trials(trials)
    assert ledger.trials(run_id) == tuple(trials)

    with open_runner(admission_bars(dataset)) as runner:
        good, bad = (pool.consider(trial, dataset=dataset, runner=runner, config=CONFIG) for trial in trials)
    assert isinstance(good, Entered)
    notes = {note.name for note in good.entry.card.notes}
    assert {
        "active-sharpe",
        "interval",
        "track-record",
        "alpha",
        "trials",
        "haircut",
        "regimes",
        "worst-neighbour",
    } <= notes
    assert isinstance(bad, NotAdmitted)
    assert [check.name for check in bad.card.failed] == ["train-buy-and-hold"]

    def promote(binding):
        context = LookContext(
            binding=binding,
            config=CONFIG,
            open_vault=lambda: open_vault(dataset.name, tmp_path),
            open_runner=open_runner,
        )
        return pool.promote(good.entry.id, by="Ada", reason="steady on every fold", context=context)

    elsewhere = Binding(dataset=dataset.name, dataset_sha256=dataset.sha256, config_hash="c", engine_version="f")
    assert isinstance(promote(elsewhere), PromotionRefused)
    assert isinstance(promote(good.entry.binding), Promoted)
    assert isinstance(promote(good.entry.binding), PromotionRefused)
    assert (pool.verify_chain().decisions, pool.verify_chain().problem) == (1, None)
    assert "1 new pool entry from 2 candidates" in render_text(run_summary(ledger, pool, run_id))
