"""The ledger keeps every trial exactly, once, and whatever happens to the process that writes it."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.candidate_files import CandidateFileError, CandidateFiles
from evolution.ledger import LedgerError, TrialLedger, UnknownIdError
from evolution.record import ActiveRecord
from evolution.rows import RowError, scorecard_document
from evolution.run import GenerationSummary, RunFacts, RunStatus
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Objectives, Scorecard
from fitness.evidence import SharpeSample
from fitness.trades import TradeDigest, TradeGlimpse
from gates.findings import Finding
from runtime.source import Language, StrategySource
from runtime.store import open_engine, reading, writing

START = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)

FACTS = RunFacts(
    seed=7,
    plan={"generations": 3, "population": 8, "rates": [0.5, 0.25]},
    dataset="planted-edge",
    dataset_sha256="d" * 64,
    config_hash="c" * 64,
    engine_version="0.1.0",
)


class SteppingClock:
    """A minute passes at every look."""

    def __init__(self, now=START):
        self.now = now

    def __call__(self):
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture
def ledger(tmp_path):
    return TrialLedger(open_engine(tmp_path), now=SteppingClock())


def candidate(run_id, generation=0, index=0, *, code=None, parents=(), model=None, detail=""):
    return Candidate(
        id=candidate_id(generation, index),
        run_id=run_id,
        generation=generation,
        index=index,
        source=StrategySource(code if code is not None else f"# {generation} {index}".encode()),
        provenance=Provenance(operator="offline/jitter", parents=parents, seed=3, model=model, detail=detail),
    )


def metrics(**changes):
    values = {
        "total_return": 0.5,
        "cagr": 0.1,
        "sharpe": 1.0,
        "sortino": None,
        "calmar": 0.4,
        "max_drawdown": 0.2,
        "turnover": 8.0,
        "exposure": 0.6,
        "trades": 40,
        "fees": 123.25,
        "final_equity": 150_000.0,
        "seed_score": 1.1,
    }
    return Metrics(**values | changes)


def scorecard(score=1.1, **changes):
    cell = CellResult(symbol="AAA", fold="train-1", metrics=metrics(), buy_and_hold=metrics(sharpe=0.3), ruined=False)
    values = {
        "cells": (cell,),
        "objectives": Objectives(sharpe=1.0, calmar=0.4, turnover=8.0),
        "violation": 0.0,
        "vetoes": (),
        "score": score,
        "benchmark_score": 0.4,
        "beats_buy_and_hold": True,
        "trades": 40,
        "max_drawdown": 0.2,
    }
    return Scorecard(**values | changes)


def scored(run_id, generation=0, index=0, score=1.1, **changes):
    return Trial(
        candidate=candidate(run_id, generation, index, **changes),
        outcome=TrialOutcome.SCORED,
        reason="ran",
        scorecard=scorecard(score),
        behaviour="b" * 64,
        rhythm=bytes(range(256)),
        cpu_s=0.25,
        wall_s=0.5,
    )


def rejected(run_id, generation=0, index=0, gate=1, rules=("import-not-allowed",)):
    findings = tuple(
        Finding(gate=gate, rule=rule, line=3, column=1, message=f"{rule} happened", hint="do not") for rule in rules
    )
    return Trial(
        candidate=candidate(run_id, generation, index),
        outcome=TrialOutcome.REJECTED,
        reason=f"gate {gate}",
        gate=gate,
        findings=findings,
    )


# Round trip

numbers = st.floats(allow_nan=False, allow_infinity=False)
maybe = st.none() | numbers
words = st.text(st.characters(codec=None), max_size=20)  # surrogates, NUL and all
whole = st.integers(-(2**80), 2**80)

metric_values = st.builds(
    Metrics,
    **dict.fromkeys(
        ("total_return", "max_drawdown", "turnover", "exposure", "fees", "final_equity"),
        numbers,
    ),
    **dict.fromkeys(("cagr", "sharpe", "sortino", "calmar", "seed_score"), maybe),
    trades=st.integers(0, 10**6),
)
cards = st.builds(
    Scorecard,
    cells=st.lists(
        st.builds(
            CellResult,
            symbol=words,
            fold=words,
            metrics=metric_values,
            buy_and_hold=metric_values,
            ruined=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    objectives=st.none() | st.builds(Objectives, sharpe=numbers, calmar=numbers, turnover=numbers),
    violation=numbers,
    vetoes=st.lists(words, max_size=3).map(tuple),
    score=maybe,
    benchmark_score=maybe,
    beats_buy_and_hold=st.booleans(),
    trades=st.integers(0, 10**6),
    max_drawdown=numbers,
)
findings = st.lists(
    st.builds(
        Finding,
        gate=st.integers(1, 3),
        rule=words,
        line=st.integers(1, 10**6),
        column=st.integers(1, 10**6),
        message=words,
        hint=words,
    ),
    max_size=4,
).map(tuple)
provenances = st.builds(
    Provenance,
    operator=st.sampled_from(["seed/breakout", "llm/mutate+repair"]),
    parents=st.lists(words, max_size=3).map(tuple),
    seed=st.none() | whole,
    model=st.none() | words,
    detail=words,
)
carded = {TrialOutcome.SCORED, TrialOutcome.VETOED}


@st.composite
def trials(draw):
    outcome = draw(st.sampled_from(TrialOutcome))
    return Trial(
        candidate=Candidate(
            id="g000-c000",
            run_id="",
            generation=0,
            index=0,
            source=StrategySource(draw(st.binary(max_size=40)), draw(st.sampled_from(Language))),
            provenance=draw(provenances),
        ),
        outcome=outcome,
        reason=draw(words),
        gate=draw(st.none() | st.integers(1, 3)),
        findings=draw(findings),
        scorecard=draw(cards) if outcome in carded else None,
        behaviour=draw(st.none() | st.just("f" * 64)),
        cpu_s=draw(st.floats(0, 1e6)),
        wall_s=draw(st.floats(0, 1e6)),
    )


BARREN = Trial(candidate=candidate(""), outcome=TrialOutcome.BARREN, reason="9223372036854775809")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trial=trials(), seed=whole, note=words)
@example(trial=BARREN, seed=2**63 + 1, note="0012")
def test_what_is_written_is_what_is_read(ledger, trial, seed, note):
    """Floats to the last bit, None as None, findings in their order, any text that a model can write."""
    run = ledger.start_run(replace(FACTS, seed=seed, note=note))
    trial = replace(trial, candidate=replace(trial.candidate, run_id=run.id))
    ledger.add_trials([trial])
    assert ledger.trials(run.id) == (trial,)
    assert ledger.run(run.id) == run


digests = st.builds(
    TradeDigest,
    **dict.fromkeys(("win_rate", "median_bars"), numbers),
    **dict.fromkeys(("mean_win", "mean_loss", "fee_share", "short_share"), maybe),
    count=st.integers(1, 10**6),
    exits=st.dictionaries(words, st.integers(1, 10**6), max_size=3),
    worst=st.builds(
        TradeGlimpse,
        **dict.fromkeys(("net_return", "mae", "mfe"), numbers),
        bars=st.integers(0, 10**6),
        exit_reason=words,
    ),
)


@settings(max_examples=20, deadline=None)
@given(card=cards, digest=digests)
def test_a_scorecard_is_written_with_every_field_that_it_has(card, digest):
    """Its document is made by hand, which is quicker; a field that is added must not be forgotten."""
    card = replace(card, cells=tuple(replace(cell, trading=digest) for cell in card.cells))
    assert scorecard_document(card) == asdict(card)


def test_trials_of_which_one_is_stored_are_written_all_the_same(ledger):
    run = ledger.start_run(FACTS)
    first, second = scored(run.id), scored(run.id, index=1)
    assert ledger.add_trials([first]) == 1
    assert ledger.add_trials([first, second]) == 1
    assert ledger.trials(run.id) == (first, second)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_never_reaches_the_store(ledger, bad):
    run = ledger.start_run(FACTS)
    trial = replace(scored(run.id), scorecard=scorecard(violation=bad))
    with pytest.raises(ValueError, match="g000-c000: holds a figure that is not finite"):
        ledger.add_trials([scored(run.id, index=1), trial])
    assert ledger.trials(run.id) == ()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("figure", ["sharpe", "skewness", "kurtosis", "returns"])
def test_a_record_that_is_not_finite_never_reaches_the_store(ledger, figure, bad):
    """SQLite keeps a NaN as no figure at all, so that the spread over all trials would depend on the database."""
    run = ledger.start_run(FACTS)
    sample = SharpeSample(0.1, 3, 0.0, 3.0)
    returns = np.array([0.01, bad if figure == "returns" else 0.0, -0.01], dtype="<f4")
    if figure != "returns":
        sample = sample._replace(**{figure: bad})
    record = ActiveRecord(intervals=(), sample=sample, returns=returns.tobytes())
    with pytest.raises(ValueError, match="g000-c000: holds a figure that is not finite"):
        ledger.add_trials([scored(run.id, index=1), replace(scored(run.id), record=record)])
    assert ledger.trials(run.id) == ()


def test_a_row_that_other_hands_changed_is_refused_on_the_way_back(tmp_path, ledger):
    run = ledger.start_run(FACTS)
    ledger.add_trials([scored(run.id)])
    with writing(open_engine(tmp_path)) as session:
        session.execute(text("UPDATE trial SET scorecard = '{\"cells\": []}'"))
    with pytest.raises(RowError, match="trial g000-c000 of run r-20261130-001: cannot be read back"):
        ledger.trials(run.id)


def test_a_source_whose_bytes_changed_is_refused_on_the_way_back(tmp_path, ledger):
    run = ledger.start_run(FACTS)
    ledger.add_trials([scored(run.id)])
    with writing(open_engine(tmp_path)) as session:
        session.execute(text("UPDATE source SET data = X'00'"))
    with pytest.raises(RowError, match="its stored bytes hash to"):
        ledger.trials(run.id)


# Writing twice


def test_writing_a_trial_again_changes_nothing(ledger):
    run = ledger.start_run(FACTS)
    first = [scored(run.id, index=0), rejected(run.id, index=1)]
    assert ledger.add_trials(first) == 2
    assert ledger.add_trials([*first, scored(run.id, index=2)]) == 1
    assert len(ledger.trials(run.id)) == 3


def test_measured_seconds_may_differ_and_the_first_ones_stay(ledger):
    run = ledger.start_run(FACTS)
    ledger.add_trials([scored(run.id)])
    assert ledger.add_trials([replace(scored(run.id), cpu_s=9.0, wall_s=9.0)]) == 0
    assert ledger.trials(run.id)[0].cpu_s == 0.25


def test_a_different_trial_in_the_same_place_is_refused_with_all_that_came_with_it(ledger):
    run = ledger.start_run(FACTS)
    ledger.add_trials([scored(run.id, index=1)])
    with pytest.raises(LedgerError, match=r"trial g000-c001 .* another result is already stored \(scored, source"):
        ledger.add_trials([scored(run.id, index=0), scored(run.id, index=1, score=9.9)])
    assert [trial.candidate.index for trial in ledger.trials(run.id)] == [1]


def test_two_trials_for_one_place_in_one_call_are_refused(ledger):
    run = ledger.start_run(FACTS)
    with pytest.raises(LedgerError, match="two trials for one place"):
        ledger.add_trials([scored(run.id), rejected(run.id)])


def test_a_trial_of_an_unknown_run_is_refused(ledger):
    with pytest.raises(UnknownIdError, match="run 'r-nowhere': no run has this id; see trigate runs list"):
        ledger.add_trials([scored("r-nowhere")])


def test_one_text_in_two_languages_is_two_sources(ledger):
    run = ledger.start_run(FACTS)
    python, sir = scored(run.id, code=b"{}"), scored(run.id, index=1, code=b"{}")
    sir = replace(sir, candidate=replace(sir.candidate, source=StrategySource(b"{}", Language.SIR)))
    ledger.add_trials([python, sir])
    assert [trial.candidate.source.language for trial in ledger.trials(run.id)] == [Language.PYTHON, Language.SIR]


# Several at once, and sudden ends

WRITER = """
import datetime, pathlib, sys
from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.ledger import TrialLedger
from evolution.trial import Trial, TrialOutcome
from runtime.source import StrategySource
from runtime.store import open_engine

def killed(run_id, generation, index):
    candidate = Candidate(
        id=candidate_id(generation, index),
        run_id=run_id,
        generation=generation,
        index=index,
        source=StrategySource(b"# %d %d" % (generation, index)),
        provenance=Provenance(operator="offline/jitter", parents=(), seed=3),
    )
    return Trial(candidate=candidate, outcome=TrialOutcome.KILLED, reason="ran past 30 s of wall time")

if __name__ == "__main__":
    engine = open_engine(pathlib.Path(sys.argv[1]))
    ledger = TrialLedger(engine, now=lambda: datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC))
    print("ready", flush=True)
    sys.stdin.readline()
    for generation in range(12):
        ledger.add_trials([killed(sys.argv[2], generation, index) for index in range(3)])
        print(generation, flush=True)
"""


def killed(run_id, generation, index):
    """The same trial as the writer's."""
    return Trial(
        candidate=candidate(run_id, generation, index),
        outcome=TrialOutcome.KILLED,
        reason="ran past 30 s of wall time",
    )


def start_writer(home, run_id):
    command = [sys.executable, "-c", WRITER, str(home), run_id]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_that_write_the_same_trials_at_once_agree(tmp_path, ledger):
    """Both are told that all is well, and each trial is there once."""
    run = ledger.start_run(FACTS)
    processes = [start_writer(tmp_path, run.id) for _ in range(2)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    for process in processes:
        process.communicate()
    places = [(trial.candidate.generation, trial.candidate.index) for trial in ledger.trials(run.id)]
    assert places == [(generation, index) for generation in range(12) for index in range(3)]


def test_a_killed_writer_leaves_whole_generations_and_a_store_that_works(tmp_path, ledger):
    run = ledger.start_run(FACTS)
    process = start_writer(tmp_path, run.id)
    process.stdin.write("go\n")
    process.stdin.flush()
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    stored = ledger.resume(run.id).trials
    assert len(stored) >= 3
    assert {len(generation) for generation in stored.values()} == {3}
    # The next one goes on: what is there is confirmed, what is missing is added.
    ledger.add_trials([killed(run.id, generation, index) for generation in range(12) for index in range(3)])
    assert len(ledger.trials(run.id)) == 36


# Runs


def test_run_ids_count_up_within_a_day_and_start_again_the_next(tmp_path):
    clock = SteppingClock(datetime(2026, 11, 30, 23, 58, 30, tzinfo=UTC))
    ledger = TrialLedger(open_engine(tmp_path), now=clock)
    assert [ledger.start_run(FACTS).id for _ in range(3)] == ["r-20261130-001", "r-20261201-001", "r-20261201-002"]


def test_the_counter_goes_past_its_three_digits(tmp_path, ledger):
    ledger.start_run(FACTS)
    with writing(open_engine(tmp_path)) as session:
        session.execute(text("UPDATE run SET id = 'r-20261130-1009'"))
    assert ledger.start_run(FACTS).id == "r-20261130-1010"


def test_runs_are_listed_newest_first_with_their_counts(ledger):
    old, new = ledger.start_run(FACTS), ledger.start_run(FACTS)
    ledger.add_trials(
        [scored(old.id, index=0, score=0.5), scored(old.id, index=1, score=0.75), rejected(old.id, index=2)]
    )
    listing = ledger.runs()
    assert [each.record.id for each in listing] == [new.id, old.id]
    assert listing[1].best_score == 0.75
    assert listing[1].funnel.total == 3
    assert listing[1].entries == 0
    assert (listing[0].best_score, listing[0].funnel.total) == (None, 0)
    assert [each.record.id for each in ledger.runs(limit=1)] == [new.id]


def test_a_run_is_found_by_the_beginning_of_its_id_when_only_one_fits(ledger):
    first, _ = ledger.start_run(FACTS), ledger.start_run(FACTS)
    assert ledger.run("r-20261130-001") == first
    with pytest.raises(UnknownIdError, match="begins the ids of several runs"):
        ledger.run("r-2026")
    with pytest.raises(UnknownIdError, match="no run has this id"):
        ledger.run("%")
    with pytest.raises(UnknownIdError, match="no run has this id"):
        ledger.run("")


def test_a_run_ends_once_and_an_interrupted_one_may_go_on(ledger):
    run = ledger.start_run(FACTS)
    stopped = ledger.finish_run(run.id, RunStatus.INTERRUPTED, note="the deadline came")
    assert (stopped.status, stopped.facts.note) == (RunStatus.INTERRUPTED, "the deadline came")
    assert stopped.finished > run.created
    assert ledger.reopen_run(run.id).finished is None
    assert ledger.finish_run(run.id, RunStatus.FINISHED).facts.note == "the deadline came"
    with pytest.raises(LedgerError, match="has already finished"):
        ledger.reopen_run(run.id)
    with pytest.raises(LedgerError, match="running is not an end"):
        ledger.finish_run(run.id, RunStatus.RUNNING)


def test_a_resumed_run_finds_its_plan_its_seed_and_its_trials_by_generation(ledger):
    run = ledger.start_run(FACTS)
    made = [scored(run.id, 1, 0), rejected(run.id, 0, 1), scored(run.id, 0, 0)]
    ledger.add_trials(made)
    resume = ledger.resume(run.id)
    assert (resume.record.facts.plan, resume.record.facts.seed) == (FACTS.plan, 7)
    assert resume.trials == {0: (made[2], made[1]), 1: (made[0],)}
    assert ledger.trials(run.id, generation=1) == (made[0],)


# What was learned


def test_the_funnel_counts_every_outcome_and_every_gate(ledger):
    run = ledger.start_run(FACTS)
    ledger.add_trials(
        [
            scored(run.id, index=0),
            rejected(run.id, index=1, gate=1),
            rejected(run.id, index=2, gate=1),
            rejected(run.id, index=3, gate=3),
            Trial(
                candidate=candidate(run.id, index=4), outcome=TrialOutcome.KILLED, reason="used more than 5 s of CPU"
            ),
        ]
    )
    funnel = ledger.funnel(run.id)
    assert funnel.total == 5
    assert funnel.rejected_by_gate == {1: 2, 2: 0, 3: 1}
    assert {outcome.value: count for outcome, count in funnel.outcomes.items()} == {
        "barren": 0,
        "rejected": 3,
        "killed": 1,
        "failed": 0,
        "duplicate": 0,
        "stopped": 0,
        "vetoed": 0,
        "scored": 1,
    }


def test_frequent_findings_count_candidates_not_lines(ledger):
    run = ledger.start_run(FACTS)
    ledger.add_trials(
        [
            rejected(run.id, index=0, rules=("loop", "loop", "loop")),
            rejected(run.id, index=1, rules=("dunder", "import")),
            rejected(run.id, index=2, rules=("dunder",)),
        ]
    )
    counts = [(each.rule, each.candidates, each.message) for each in ledger.frequent_findings(run.id)]
    assert counts == [("dunder", 2, "dunder happened"), ("import", 1, "import happened"), ("loop", 1, "loop happened")]
    assert len(ledger.frequent_findings(run.id, limit=1)) == 1


def test_a_generation_summary_may_be_written_again(ledger):
    run = ledger.start_run(FACTS)
    ledger.add_generation(run.id, GenerationSummary(generation=1, hypervolume=None, counts={"rejected": 8}))
    ledger.add_generation(run.id, GenerationSummary(generation=0, hypervolume=0.1, counts={"scored": 8}))
    last = GenerationSummary(generation=1, hypervolume=0.30000000000000004, counts={"scored": 3, "rejected": 5})
    ledger.add_generation(run.id, last)
    summaries = ledger.generations(run.id)
    assert [each.generation for each in summaries] == [0, 1]
    assert summaries[1] == last


def test_an_earlier_night_is_recalled_only_for_the_same_data_configuration_and_engine(ledger):
    run = ledger.start_run(FACTS)
    trial = scored(run.id)
    ledger.add_trials([trial])
    key = {name: getattr(FACTS, name) for name in ("dataset_sha256", "config_hash", "engine_version")}
    assert ledger.recall(trial.candidate.source, **key) == trial
    for name in key:
        assert ledger.recall(trial.candidate.source, **key | {name: "other"}) is None
    assert ledger.recall(StrategySource(b"another"), **key) is None


def test_what_an_earlier_version_stored_without_its_rhythm_is_tried_again(ledger):
    run = ledger.start_run(FACTS)
    trial = replace(scored(run.id), rhythm=None)
    ledger.add_trials([trial])
    key = {name: getattr(FACTS, name) for name in ("dataset_sha256", "config_hash", "engine_version")}
    assert ledger.recall(trial.candidate.source, **key) is None


def test_a_text_of_the_same_structure_is_recalled_when_it_is_asked_for(ledger):
    run = ledger.start_run(FACTS)
    stored = scored(run.id)
    stored = replace(stored, candidate=replace(stored.candidate, structure="s1", redraws=2), probe="p1")
    ledger.add_trials([stored])
    key = {name: getattr(FACTS, name) for name in ("dataset_sha256", "config_hash", "engine_version")}
    assert ledger.recall(StrategySource(b"another layout"), **key, structure="s1") == stored
    assert ledger.recall(StrategySource(b"another layout"), **key, structure="s2") is None


def test_only_other_runs_with_the_same_binding_can_be_recalled_from(ledger):
    first = ledger.start_run(FACTS)
    assert not ledger.has_other_runs(first.id)
    ledger.start_run(replace(FACTS, engine_version="other"))
    assert not ledger.has_other_runs(first.id)
    ledger.start_run(FACTS)
    assert ledger.has_other_runs(first.id)


def test_what_all_runs_scored_is_told_once_whoever_recalled_it(ledger):
    first, second = ledger.start_run(FACTS), ledger.start_run(FACTS)
    mine, theirs = scored(first.id), replace(scored(second.id), recalled=f"{first.id}/g000-c000")
    ledger.add_trials([mine, theirs, rejected(second.id, index=1)])
    assert ledger.scored(FACTS) == (mine,)
    assert ledger.scored(replace(FACTS, dataset_sha256="other")) == ()


def test_a_story_grows_part_by_part(ledger):
    run = ledger.start_run(FACTS)
    ledger.tell(run.id, end="all generations are done")
    assert ledger.tell(run.id, control="r-2").story == {"end": "all generations are done", "control": "r-2"}
    assert ledger.run(run.id).story["control"] == "r-2"


def test_a_kill_is_not_recalled_since_the_machine_may_be_to_blame(ledger):
    run = ledger.start_run(FACTS)
    killed = Trial(candidate=candidate(run.id), outcome=TrialOutcome.KILLED, reason="ran past 30 s of wall time")
    stopped = rejected(run.id, index=1, gate=2, rules=("killed-in-load",))
    refused = rejected(run.id, index=2)
    ledger.add_trials([killed, stopped, refused])
    key = {name: getattr(FACTS, name) for name in ("dataset_sha256", "config_hash", "engine_version")}
    found = [ledger.recall(trial.candidate.source, **key) for trial in (killed, stopped, refused)]
    assert found == [None, None, refused]


def test_model_ancestry_is_inherited_over_generations_and_over_runs(ledger):
    """A text that a model wrote on Monday is no more blind when Tuesday's run takes it as a starter."""
    monday = ledger.start_run(FACTS)
    ledger.add_trials(
        [
            scored(monday.id, 0, 0),
            scored(monday.id, 0, 1, model="qwen3-coder"),
            scored(monday.id, 1, 0, parents=("g000-c000", "g000-c001")),
            scored(monday.id, 2, 0, parents=("g001-c000",), code=b"# kept"),
        ]
    )
    tuesday = ledger.start_run(FACTS)
    ledger.add_trials([scored(tuesday.id, 0, 0, code=b"# kept"), scored(tuesday.id, 1, 0, parents=("g000-c000",))])
    assert ledger.model_ancestry(monday.id, "g000-c000") == ()
    assert ledger.model_ancestry(monday.id, "g002-c000") == ("qwen3-coder",)
    assert ledger.model_ancestry(tuesday.id, "g001-c000") == ("qwen3-coder",)


# Files for people


def test_a_candidate_file_holds_the_exact_bytes_for_its_owner_only(tmp_path):
    made = candidate("r-20261130-001", code=b"class S(Strategy):\r\n    pass\xff")
    files = CandidateFiles(tmp_path)
    path = files.write(made)
    assert path == tmp_path / "runs" / "r-20261130-001" / "candidates" / "g000-c000.py"
    assert path.read_bytes() == made.source.data
    assert path.stat().st_mode & 0o777 == 0o600
    assert files.read(made) == made.source
    assert files.write(made) == path
    assert [each.name for each in path.parent.iterdir()] == ["g000-c000.py"]


def test_an_edited_candidate_file_is_not_that_candidate_any_more(tmp_path):
    made = candidate("r-20261130-001")
    files = CandidateFiles(tmp_path)
    files.write(made).write_bytes(b"something else")
    with pytest.raises(CandidateFileError, match=r"g000-c000\.py: its hash is .* it was edited"):
        files.read(made)


def test_a_missing_candidate_file_says_that_the_store_has_it(tmp_path):
    with pytest.raises(CandidateFileError, match="No such file or directory; the store still has its text"):
        CandidateFiles(tmp_path).read(candidate("r-20261130-001"))


def test_an_id_cannot_lead_out_of_the_home(tmp_path):
    made = replace(candidate("r-20261130-001"), id="../../../etc/passwd")
    with pytest.raises(CandidateFileError, match="lower-case letters, digits and dashes"):
        CandidateFiles(tmp_path).write(made)


def test_a_document_of_the_schema_language_gets_its_own_suffix(tmp_path):
    made = candidate("r-20261130-001")
    made = replace(made, source=StrategySource(b"{}", Language.SIR))
    assert CandidateFiles(tmp_path).write(made).name == "g000-c000.json"


def test_two_runs_that_end_up_with_one_id_are_kept_apart_by_the_schema(tmp_path, ledger):
    """Whatever races there are, an id is given once."""
    ids = {ledger.start_run(FACTS).id for _ in range(12)}
    with reading(open_engine(tmp_path)) as session:
        assert set(session.scalars(text("SELECT id FROM run"))) == ids
    assert len(ids) == 12
