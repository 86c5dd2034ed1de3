"""What is stored about a run comes to its page whole, and the page says plainly when chance did better."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evolution.ledger import TrialLedger, UnknownIdError
from evolution.morning import Curve, morning_of, read_stored
from evolution.morning.gather import NOT_DRAWN
from evolution.pool import Pool
from evolution.run import GenerationSummary, RunFacts, RunStatus
from runtime.store import open_engine

START = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)


@pytest.fixture
def stores(tmp_path):
    engine = open_engine(tmp_path)
    minutes = iter(range(1_000))
    return TrialLedger(engine, now=lambda: START + timedelta(minutes=next(minutes))), Pool(engine, now=lambda: START)


def begin(ledger, **plan):
    return ledger.start_run(
        RunFacts(seed=7, plan=plan, dataset="d", dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="2")
    ).id


def test_a_run_is_read_with_the_generations_of_its_control_arm(stores, make):
    ledger, pool = stores
    run_id = begin(ledger)
    trials = [make.trial(0, index, score=0.3 + index / 10) for index in range(3)]
    ledger.add_trials([make.replace(each, candidate=make.replace(each.candidate, run_id=run_id)) for each in trials])
    control = begin(ledger, control_of=run_id)
    ledger.add_generation(control, GenerationSummary(generation=0, hypervolume=1.5, counts={"scored": 3}))
    ledger.tell(run_id, control=control)
    ledger.finish_run(run_id, RunStatus.FINISHED)
    stored = read_stored(ledger, pool, run_id)
    morning = morning_of(stored, {"g000-c002": make.curve(), "g000-c001": "gone"}, made=START)
    assert morning.control_front.volumes == ((0, 1.5),)
    assert [each.trial.candidate.id for each in morning.shown] == ["g000-c002", "g000-c001", "g000-c000"]
    assert isinstance(morning.shown[0].curve, Curve)
    assert [each.no_curve for each in morning.shown] == ["", "gone", NOT_DRAWN]
    assert morning.cost.cpu_s == pytest.approx(0.75)


def test_an_unknown_run_is_told_as_such(stores):
    with pytest.raises(UnknownIdError):
        read_stored(*stores, "r-20200101-001")


def test_a_control_arm_that_is_gone_costs_nothing_else(stores):
    ledger, pool = stores
    run_id = begin(ledger)
    ledger.tell(run_id, control="r-20200101-001")
    assert read_stored(ledger, pool, run_id).control is None


@pytest.mark.parametrize(
    ("search", "control", "words"),
    [
        (9.0, 4.0, "on validation the search has the larger front (9.00 against 4.00)."),
        (4.0, 9.0, "on validation the control arm has the larger front (9.00 against 4.00)."),
        (4.0, 4.0, "on validation both fronts cover the same (4.00)."),
    ],
)
def test_which_arm_did_better_on_validation_is_said_plainly(full_night, make, search, control, words):
    arms = {"evolution": make.arm | {"validation_volume": search}, "control": make.arm | {"validation_volume": control}}
    full_night.story = {"arms": arms}
    assert full_night.morning().comparison.endswith(words)


def test_new_entries_are_shown_before_those_that_were_refused_and_no_more_than_a_handful(make):
    trials = [make.trial(0, index, score=0.9 - index / 100) for index in range(12)]
    entries = tuple(make.entry(place, trials[index]) for place, index in enumerate((7, 3), 1))
    refusals = tuple(make.refusal(each) for each in trials if each not in (trials[7], trials[3]))
    shown = make.night(trials=trials, entries=entries, refusals=refusals).stored().shown
    assert [each.candidate.index for each in shown] == [7, 3, 0, 1, 2, 4]


def test_a_run_that_goes_on_found_nothing_out_yet(make):
    night = make.night(trials=(make.trial(0, 0),), status=RunStatus.INTERRUPTED)
    assert night.morning().finding == "so far 1 candidate was tried and 1 scored; none came to admission yet"
