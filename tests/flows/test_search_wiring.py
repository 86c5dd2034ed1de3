"""What a night without Prefect does with its memory, its budgets, its control arm and what earlier nights left."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from evolution.ledger import TrialLedger
from evolution.report import render_text
from evolution.run import RunFacts
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Objectives, Scorecard
from flows import night as nights
from flows.commands.evolve import _next, evolve
from flows.control import run_control
from flows.order import Order
from flows.problems import UsageProblem
from flows.settings import Settings
from flows.start import open_night, stored_order
from flows.watch import SilentWatch
from runtime.store import open_engine

ORDER = Order(data="planted-edge", generations=2, population=7, crossover_rate=0.3, llm_share=0.0, seed=3)


def evolved(home, order, finish=lambda night: None):
    """The night after its search, closed; with whatever ``finish`` made of it."""
    settings = Settings.model_validate({"data": order.data, "workers": 1})
    with open_night(settings, home, SilentWatch(), order) as night:
        while night.search.end is None and night.stop_reason() is None:
            for candidate in night.breed():
                night.try_candidate(candidate)
            night.close_generation()
        night.conclude()
        finish(night)
    return night


def results(night):
    """What was found out, whoever found it."""
    return [
        (trial.candidate.source.sha256, trial.outcome, trial.reason, trial.scorecard)
        for _, trial in sorted(night.trials.items())
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A store with one night in it."""
    home = tmp_path_factory.mktemp("home")
    evolved(home, ORDER)
    return home


@pytest.mark.slow
def test_a_second_night_recalls_and_comes_to_the_same(home, tmp_path):
    again, fresh = evolved(home, ORDER), evolved(tmp_path, ORDER)
    assert results(again) == results(fresh)
    assert not any(trial.recalled for trial in fresh.trials.values())
    scored = [trial for trial in again.trials.values() if trial.outcome is TrialOutcome.SCORED]
    assert scored
    assert all(trial.recalled for trial in scored)
    assert f"{len(again.trials)} recalled" in render_text(again.summary())


@pytest.mark.slow
def test_a_warm_night_starts_from_the_earlier_front_and_says_how_it_compares(home):
    night = evolved(home, replace(ORDER, warm_start=True, seed=4))
    assert night.order.warm
    planted = [trial for trial in night.trials.values() if trial.candidate.provenance.operator.startswith("seed/r-")]
    assert {trial.recalled for trial in planted} <= set(night.order.warm)
    assert "the one of earlier nights" in render_text(night.summary())
    record = night.ledger.run(night.run_id)
    assert tuple(record.facts.plan["warm"]) == night.order.warm


@pytest.mark.slow
def test_the_control_arm_has_the_same_budget_and_both_are_seen_on_validation(home):
    night = evolved(home, replace(ORDER, control=True), run_control)
    story = night.ledger.run(night.run_id).story
    searched, sampled = story["arms"]["evolution"], story["arms"]["control"]
    assert searched["evaluations"] == sampled["evaluations"] == len(night.trials)
    control = night.ledger.trials(sampled["run_id"])
    assert all(parent.startswith("g000") for trial in control for parent in trial.candidate.provenance.parents)
    text = render_text(night.summary())
    assert "evolution (r-" in text
    assert "control (r-" in text
    assert "hypervolume on validation: evolution " in text
    with pytest.raises(UsageProblem, match="has already finished"):
        stored_order(open_engine(home), sampled["run_id"])


def judged(candidate, _evaluator, bench, **_options):
    """A trial that follows from the source alone; some break a limit, some earn at the same times."""
    rng = random.Random(candidate.source.sha256)
    metrics = bench.cells[0].buy_and_hold
    violation = rng.choice((0.0, 0.0, 0.4))
    card = Scorecard(
        cells=(CellResult(symbol="A", fold="train-1", metrics=metrics, buy_and_hold=metrics, ruined=False),),
        objectives=Objectives(sharpe=rng.gauss(0.5, 0.5), calmar=rng.gauss(0.3, 0.3), turnover=rng.uniform(1, 60)),
        violation=violation,
        vetoes=("too deep",) if violation else (),
        score=rng.random(),
        benchmark_score=0.4,
        beats_buy_and_hold=True,
        trades=40,
        max_drawdown=0.1,
    )
    return Trial(
        candidate=candidate,
        outcome=TrialOutcome.VETOED if violation else TrialOutcome.SCORED,
        reason="because",
        scorecard=card,
        behaviour=candidate.source.sha256,
        rhythm=random.Random(rng.randrange(9)).randbytes(256),
    )


def test_the_first_candidates_are_tried_while_others_are_still_bred(tmp_path, monkeypatch):
    """Otherwise the cage stands idle while a generation is bred. Helpers see each portion as soon as it is there."""
    monkeypatch.setattr(nights, "run_trial", judged)
    settings = Settings.model_validate({"data": ORDER.data, "workers": 1})
    with open_night(settings, tmp_path, SilentWatch(), replace(ORDER, generations=1, population=12)) as night:
        bred = night.breed()
        night.try_candidate(next(bred))
        assert night.board.take(night.run_id, "helper").candidate.index < 11
        assert len(list(bred)) == 11
        assert night.board.take(night.run_id, "helper").candidate.index == 11


@pytest.mark.slow
def test_neither_workers_nor_the_order_in_which_they_finish_leave_a_trace(tmp_path, monkeypatch):
    """With tuning, archive and niches; only what judges a source is made up."""
    monkeypatch.setattr(nights, "run_trial", judged)

    def while_others_are_bred(night, candidates):
        for candidate in candidates:
            night.try_candidate(candidate)

    def backwards(night, candidates):
        for candidate in reversed(tuple(candidates)):
            night.try_candidate(candidate)

    def together(night, candidates):
        bred = tuple(candidates)
        with ThreadPoolExecutor(max_workers=3) as pool:
            list(pool.map(night.try_candidate, random.Random(1).sample(bred, len(bred))))

    def together_while_others_are_bred(night, candidates):
        with ThreadPoolExecutor(max_workers=3) as pool:
            list(pool.map(night.try_candidate, candidates))

    found = []
    settings = Settings.model_validate({"data": ORDER.data, "workers": 1})
    order = replace(ORDER, generations=4, population=12, tune_rate=0.7)
    for work in (while_others_are_bred, backwards, together, together_while_others_are_bred):
        home = tmp_path / work.__name__
        home.mkdir()
        with open_night(settings, home, SilentWatch(), order) as night:
            while night.search.end is None:
                work(night, night.breed())
                night.close_generation()
            survivors = [trial.candidate.id for trial in night.search.survivors]
            found.append((results(night), survivors, [trial.candidate.id for trial in night.finalists()]))
    assert found[0] == found[1] == found[2]
    assert "offline/tune" in {trial.candidate.provenance.operator for trial in night.trials.values()}


def test_a_control_arm_with_a_model_is_refused_with_its_reason():
    with pytest.raises(UsageProblem, match=r"--llm local exclude each other.*at twice the cost; leave --llm out"):
        evolve(control=True, llm="local")


def test_a_run_of_a_version_without_archive_tuning_and_boxes_goes_on_without_them(tmp_path):
    engine = open_engine(tmp_path)
    plan = {"generations": 2, "population": 7, "crossover_rate": 0.3, "llm_share": 0.0}
    facts = RunFacts(
        seed=3, plan=plan, dataset="planted-edge", dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="1"
    )
    run = TrialLedger(engine, now=lambda: datetime(2026, 11, 30, tzinfo=UTC)).start_run(facts)
    order = stored_order(engine, run.id)
    assert (order.archive_rate, order.tune_rate, order.box_width) == (0.0, 0.0, 0.0)
    assert ORDER.archive_rate > 0
    assert ORDER.tune_rate > 0
    assert ORDER.box_width > 0


@pytest.mark.slow
def test_a_budget_ends_the_search_and_the_report_says_which(home):
    night = evolved(home, replace(ORDER, candidates=13))
    assert len(night.trials) == 7
    assert "stopped before generation 1: 7 candidates were tried" in render_text(night.summary())


@pytest.mark.slow
def test_what_a_deadline_leaves_untried_is_stopped_and_not_scored(home):
    """The clock jumps to the deadline after the first candidate."""
    settings = Settings.model_validate({"data": ORDER.data, "workers": 1})
    until = datetime.now(UTC) + timedelta(hours=1)
    with open_night(settings, home, SilentWatch(), replace(ORDER, seed=9, until=until)) as night:
        assert night.stop_reason() is None
        first, *others = night.breed()
        night.try_candidate(first)
        night.now = lambda: until
        for candidate in others:
            night.try_candidate(candidate)
        night.close_generation()
        assert night.stop_reason() == f"{until:%H:%M} has come"
        assert night.search.end is not None
    assert {night.trials[each].outcome for each in others} == {TrialOutcome.STOPPED}
    assert night.trials[first].outcome is not TrialOutcome.STOPPED


def test_until_is_the_next_time_that_a_clock_shows_it():
    evening = datetime(2026, 11, 30, 22, 15, tzinfo=UTC)
    assert _next("06:30", evening) == datetime(2026, 12, 1, 6, 30, tzinfo=UTC)
    assert _next("23:00", evening) == datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
    for wrong in ("6.30", "25:00", "soon"):
        with pytest.raises(UsageProblem, match="hours and minutes"):
            _next(wrong, evening)
