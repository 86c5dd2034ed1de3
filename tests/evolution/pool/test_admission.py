"""Admission is hard, says its figures, and spends nothing on a candidate that is out already."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evolution.afterwards import validation_report
from evolution.pool import CHECKS, AdmissionLimits, AlreadyIn, Entered, EntryStatus, NotAdmitted, is_admitted
from evolution.pool.card import AdmissionCard
from evolution.pool.exhibits import Stage
from evolution.pool.segment import SegmentFailure, SegmentFigures
from evolution.selection import hypervolume
from fitness.card import Objectives
from gates.findings import Finding, Rejected
from runtime.cage.outcome import CageEnd, CageOutcome
from runtime.kernel.report import Costs, Failure, OrderEntry, RunConfig, RunEnd
from runtime.source import StrategySource


def test_a_good_candidate_meets_every_check_in_order_and_enters(house):
    trial = house.add_trial()
    entered = house.consider(trial)
    assert isinstance(entered, Entered)
    entry = entered.entry
    assert [check.name for check in entry.card.checks] == [check.name for check in CHECKS]
    assert entry.card.failed == ()
    assert (entry.id, entry.status, entry.score) == ("p-0001", EntryStatus.CANDIDATE, 1.1)
    assert entry.source == trial.candidate.source
    assert house.pool.list() == (entry,)


def test_a_read_of_validation_keeps_its_objectives_for_the_report(house):
    """No check looks at them."""
    trial = house.add_trial()
    house.consider(trial)
    (read,) = house.pool.validation_reads(trial.candidate.run_id)
    assert read.psr is not None
    found = validation_report([read])
    assert (found.reads, found.volume) == (1, hypervolume([read.objectives] if read.objectives else []))
    assert house.pool.validation_reads("r-another") == ()


def test_what_breaks_the_drawdown_limit_or_failed_adds_no_volume_and_counts_as_read():
    goals = Objectives(sharpe=1.0, calmar=1.0, turnover=10.0)
    figures = SegmentFigures(bars=300, trades=9, max_drawdown=0.2, active_sharpe=1.0, psr=0.9, objectives=goals)
    deep = replace(figures, max_drawdown=0.31)
    failed = SegmentFailure(reason="it raised", is_repeatable=True)
    report = validation_report([figures, deep, failed, replace(figures, objectives=None)])
    assert (report.reads, report.volume) == (4, hypervolume([goals]))
    assert validation_report([]) is None


@pytest.mark.parametrize(
    ("card", "check", "sentence"),
    [
        ({"violation": 0.25}, "train-constraints", "broken constraints on train, added up: 0.25; must be at most 0.00"),
        ({"max_drawdown": 0.31}, "train-drawdown", "deepest drawdown on train: 31.0%; must be at most 30.0%"),
        ({"trades": 29}, "train-round-trips", "closed round trips on train: 29; must be at least 30"),
        (
            {"score": 0.4},
            "train-buy-and-hold",
            "seed score on train over that of buy and hold: +0.000; must be above +0.000",
        ),
        (
            {"score": None},
            "train-buy-and-hold",
            "seed score on train over that of buy and hold: undefined; must be above +0.000",
        ),
        (
            {"benchmark_score": None},
            "train-buy-and-hold",
            "seed score on train over that of buy and hold: undefined; must be above +0.000",
        ),
    ],
)
def test_a_weakness_on_train_refuses_before_anything_is_run(house, scripted, card, check, sentence):
    runner = scripted()
    refused = house.consider(house.add_trial(**card), runner)
    assert isinstance(refused, NotAdmitted)
    assert [(each.name, each.sentence) for each in refused.card.failed] == [(check, sentence)]
    assert runner.asked == []


NUMBERS = b"""class S(Strategy):
    window = param(40, low=10, high=120)

    def on_bar(self, bar):
        if self.flat and bar.close > 3.5:
            self.target(0.5)
"""


@pytest.mark.parametrize(
    ("skills", "check"),
    [
        ({"costs": -0.4}, "cost-stress"),
        ({"delay": -0.4}, "delay-stress"),
        ({"neighbour": -0.4}, "neighbour-stress"),
        ({"jitter": -0.4}, "jitter-stress"),
    ],
)
def test_a_weakness_under_stress_refuses_before_validation_is_read(house, scripted, skills, check):
    runner = scripted(**skills)
    refused = house.consider(house.add_trial(NUMBERS), runner)
    assert [each.name for each in refused.card.failed] == [check]
    assert refused.card.failed[0].figure < 0
    assert {part for part, _ in runner.asked} <= {"train", "jitter"}


def test_the_stresses_are_the_usual_run_at_twice_the_costs_and_one_bar_late(house, scripted):
    runner = scripted()
    usual = RunConfig(costs=Costs(fee_bps=10.0, slippage_bps=3.0, fee_minimum=1.0, fee_per_unit=0.5))
    house.consider(house.add_trial(), runner, config=usual)
    assert runner.asked == [
        ("train", usual),
        ("train", replace(usual, costs=Costs(fee_bps=20.0, slippage_bps=6.0, fee_minimum=2.0, fee_per_unit=1.0))),
        ("train", replace(usual, decision_delay=1)),
        *[("jitter", usual)] * 5,
        ("train", usual),  # the proof run; the fast one that it is held against is the first of all
        ("validation", usual),
    ]


def test_a_candidate_whose_proof_run_differs_is_refused_before_validation_is_read(house, scripted):
    """The runner's fast run and its proof run part in one order: look-ahead, forgery and chance all look like that."""
    runner = scripted(proven=lambda report: replace(report, order_log=(OrderEntry(row=300, action="1 buy"),)))
    refused = house.consider(house.add_trial(), runner)
    (failed,) = refused.card.failed
    assert (failed.name, failed.limit) == ("proof-run", 0.0)
    assert failed.figure == len(house.market.dataset.train_cells())
    assert "differs: 8 (cell 1: order at row 300); must be at most 0" in failed.sentence
    assert "validation" not in {part for part, _ in runner.asked}


def test_better_prices_for_the_same_orders_are_a_difference_too(house, scripted):
    def dearer(report):
        return replace(report, fills=tuple(fill._replace(price=fill.price * 1.001) for fill in report.fills))

    refused = house.consider(house.add_trial(), scripted(proven=dearer))
    assert [each.name for each in refused.card.failed] == ["proof-run"]
    assert "(cell 1: fill)" in refused.card.failed[0].sentence


def test_a_proof_run_that_does_not_end_is_undefined(house, scripted):
    def failing(report):
        return replace(
            report, end=RunEnd.FAILED, failure=Failure(hook="on_bar", exception="KeyError", line=1, message="x")
        )

    refused = house.consider(house.add_trial(), scripted(proven=failing))
    (failed,) = refused.card.failed
    assert (failed.name, failed.figure) == ("proof-run", None)
    assert "undefined (the strategy failed: KeyError in on_bar)" in failed.sentence


def test_validation_is_read_by_a_proof_run(house, scripted):
    """A fast run of the same source could claim what it likes: its figures are not asked for."""
    runner = scripted(validation=-0.3, proven=lambda report: report)
    refused = house.consider(house.add_trial(), runner)
    assert [part for part, _ in runner.proved] == ["train", "validation"]
    assert "validation-psr" in [each.name for each in refused.card.failed]
    assert [part for part, _ in runner.asked if part == "validation"] == ["validation"]


def test_half_of_the_edge_must_be_left_under_a_stress(house, scripted):
    refused = house.consider(house.add_trial(), scripted(train=0.6, costs=0.15))
    assert refused.card.failed[0].name == "cost-stress"
    assert 0 < refused.card.failed[0].figure < 0.5


def test_every_neighbour_is_run_on_train(house, scripted):
    runner = scripted()
    entered = house.consider(house.add_trial(NUMBERS), runner)
    assert isinstance(entered, Entered)
    # The usual run, two stresses, four steps for each of three numbers, and the proof run.
    assert len([part for part, _ in runner.asked if part == "train"]) == 3 + 12 + 1
    kept = {check.name: check.figure for check in entered.entry.card.checks}
    assert kept["neighbour-stress"] == 1.0


def test_no_edge_on_train_leaves_nothing_to_keep(house, scripted):
    limits = AdmissionLimits(min_deflated_sharpe=0.0)
    refused = house.consider(house.add_trial(), scripted(train=-0.5), limits=limits)
    assert [each.name for each in refused.card.failed] == ["cost-stress", "delay-stress"]
    assert "undefined (no active Sharpe ratio above 0 to keep)" in refused.card.failed[0].sentence


def test_the_more_trials_there_were_on_these_bars_the_harder_it_gets(house, scripted):
    def deflated(trial):
        card = house.consider(trial, scripted(train=0.15), limits=AdmissionLimits(min_deflated_sharpe=1.0)).card
        (found,) = [check.figure for check in card.checks if check.name == "deflated-sharpe"]
        return found

    alone = deflated(house.add_trial())
    house.start_run()
    for seed in range(40):
        house.add_trial(record=house.noise_record(seed))
    assert deflated(house.add_trial()) < alone - 0.05


def test_a_calibration_sees_every_figure_of_a_refused_candidate(house, scripted):
    refused = house.consider(house.add_trial(trades=3), scripted(costs=-0.4), is_exhaustive=True)
    assert isinstance(refused, NotAdmitted)
    assert [check.name for check in refused.card.checks] == [check.name for check in CHECKS]
    assert [check.name for check in refused.card.failed] == ["train-round-trips", "cost-stress"]


def test_luck_on_train_is_refused_on_validation(house, scripted):
    refused = house.consider(house.add_trial(), scripted(validation=-0.3))
    assert "validation-psr" in [each.name for each in refused.card.failed]
    assert refused.card.failed[-1].figure < 0.2


def test_a_candidate_that_hardly_trades_on_validation_is_refused(house, scripted):
    refused = house.consider(house.add_trial(), scripted(validation=0.9, validation_hold=60))
    failed = {each.name: each for each in refused.card.failed}
    assert failed["validation-round-trips"].figure < failed["validation-round-trips"].limit == 17


def test_ruin_on_validation_counts_as_a_drawdown_of_everything(house, scripted):
    refused = house.consider(house.add_trial(), scripted(change=lambda report: replace(report, ruined=True)))
    assert refused.card.failed[0].name == "validation-drawdown"
    assert refused.card.failed[0].figure == 1.0


def test_the_least_round_trips_follow_the_length_of_validation_down_to_a_floor():
    limits = AdmissionLimits()
    assert limits.validation_trades(train_bars=1_000, validation_bars=400) == 12
    assert limits.validation_trades(train_bars=1_000, validation_bars=401) == 13
    assert limits.validation_trades(train_bars=1_000, validation_bars=20) == 5
    assert limits.validation_trades(train_bars=0, validation_bars=20) == 30


@pytest.mark.parametrize("end", [RunEnd.FAILED, RunEnd.FLOODED])
def test_a_strategy_that_breaks_down_has_undefined_figures_which_never_pass(house, scripted, end):
    failure = Failure(hook="on_bar", exception="ZeroDivisionError", line=3, message="division by zero")
    runner = scripted(change=lambda report: replace(report, end=end, failure=failure))
    refused = house.consider(house.add_trial(), runner)
    assert [each.name for each in refused.card.failed] == ["deflated-sharpe"]
    assert f"undefined (the strategy {end.value}: ZeroDivisionError in on_bar)" in refused.card.failed[0].sentence


def test_a_source_that_the_gates_refuse_now_has_undefined_figures(house, scripted):
    finding = Finding(gate=1, rule="r", line=1, column=1, message="no class", hint="write one")
    verdict = Rejected(source=StrategySource(b""), gate=1, findings=(finding,))
    refused = house.consider(house.add_trial(), scripted(verdict=verdict))
    assert "undefined (gate 1: no class at line 1)" in refused.card.failed[0].sentence


def test_every_refusal_is_stored_with_its_figure_and_storing_it_again_changes_nothing(house, scripted):
    trial = house.add_trial(max_drawdown=0.5, trades=3)
    for _ in range(2):
        house.consider(trial)
    assert [(each.candidate_id, each.check, each.figure, each.limit) for each in house.pool.refusals(house.run_id)] == [
        ("g000-c000", "train-drawdown", 0.5, 0.3),
        ("g000-c000", "train-round-trips", 3.0, 30.0),
    ]


def test_a_card_that_misses_a_check_does_not_admit(house):
    card = house.add_entry().card
    assert is_admitted(card)
    assert not is_admitted(AdmissionCard(checks=card.checks[:-1]))
    assert not is_admitted(AdmissionCard(checks=()))


def test_the_list_of_checks_is_in_order_of_the_stages_and_names_are_unique():
    stages = list(Stage)
    order = [stages.index(check.stage) for check in CHECKS]
    assert order == sorted(order)
    assert set(order) == set(range(len(stages)))
    assert len({check.name for check in CHECKS}) == len(CHECKS)


# One read per source


def test_validation_is_read_once_and_its_verdict_reused_in_every_later_run(house, scripted):
    first = scripted(validation=-0.3)
    refused = house.consider(house.add_trial(b"# same"), first)
    house.start_run()
    # A better figure the second time would be a second chance; the runner is not even asked.
    second = scripted(validation=0.9)
    again = house.consider(house.add_trial(b"# same"), second)
    assert {part for part, _ in second.asked} == {"train", "jitter"}
    assert [(each.name, each.figure) for each in again.card.failed] == [
        (each.name, each.figure) for each in refused.card.failed
    ]


def test_a_reused_verdict_can_also_admit(house, scripted):
    trial = house.add_trial(b"# same")
    # Refused for another reason than validation: nothing of validation was read in vain.
    strict = AdmissionLimits(min_validation_psr=0.9999999)
    assert isinstance(house.consider(trial, limits=strict), NotAdmitted)
    runner = scripted(validation=-0.9)
    assert isinstance(house.consider(trial, runner), Entered)
    assert {part for part, _ in runner.asked} == {"train", "jitter"}


@pytest.mark.parametrize("changes", [{"config_hash": "x" * 64}, {"engine_version": "0.2.0"}])
def test_a_source_is_not_read_again_under_another_configuration_or_engine(house, scripted, changes):
    house.consider(house.add_trial(b"# same"), scripted(validation=-0.3))
    house.start_run(**changes)
    runner = scripted()
    refused = house.consider(house.add_trial(b"# same"), runner)
    (failed,) = refused.card.failed
    assert (failed.name, failed.figure) == ("validation-reads", None)
    assert "already read for g000-c000 of run r-20261130-001, under another configuration or engine" in failed.sentence
    assert "validation" not in {part for part, _ in runner.asked}


def test_a_source_is_not_read_again_on_bars_that_overlap(house, scripted):
    """Another cut, another name or fewer symbols of the same bars do not make new evidence."""
    house.consider(house.add_trial(b"# same"), scripted(validation=-0.3))
    narrow = house.market.dataset.only("AAA")
    house.start_run(dataset=narrow.name, dataset_sha256=narrow.sha256)
    refused = house.consider(house.add_trial(b"# same"), dataset=narrow)
    assert "on other bars that overlap with these" in refused.card.failed[0].sentence


def test_a_kill_during_validation_refuses_without_using_up_the_read(house, scripted):
    killed = scripted()

    def run(source, bars, cells, config):
        if cells[0].fold == "validation":
            killed.outcome = CageOutcome(end=CageEnd.TIMED_OUT, reason="ran past 30 s of wall time")
        return scripted.run(killed, source, bars, cells, config)

    killed.run = run
    trial = house.add_trial()
    refused = house.consider(trial, killed)
    assert "undefined (ran past 30 s of wall time)" in refused.card.failed[0].sentence
    assert isinstance(house.consider(trial), Entered)


def test_a_run_may_read_validation_for_so_many_candidates_only(house, scripted):
    limits = AdmissionLimits(max_validation_reads=2)
    results = [house.consider(house.add_trial(), limits=limits) for _ in range(3)]
    assert [type(result) for result in results] == [Entered, Entered, NotAdmitted]
    assert results[2].card.failed[0].sentence == (
        "validation bars newly read for candidates of this run: 3; must be at most 2"
    )
    # A verdict that is there already is no new read, and the next run has its own.
    assert isinstance(house.consider(house.add_trial(b"# r-20261130-001 0"), limits=limits), AlreadyIn)
    house.start_run()
    assert isinstance(house.consider(house.add_trial(), limits=limits), Entered)


# What may be considered


def test_the_same_source_enters_once(house, scripted):
    entry = house.add_entry(b"# same")
    house.start_run()
    runner = scripted()
    again = house.consider(house.add_trial(b"# same"), runner)
    assert again == AlreadyIn(entry=entry)
    assert runner.asked == []
    assert len(house.pool.list()) == 1


def test_models_in_the_ancestry_make_an_entry_not_blind(house):
    assert house.add_entry(model="qwen3-coder").models == ("qwen3-coder",)
    assert house.add_entry().models == ()


def test_only_a_trial_of_the_ledger_is_considered(house):
    trial = house.add_trial()
    forged = replace(trial, scorecard=replace(trial.scorecard, score=99.0))
    with pytest.raises(ValueError, match="trial g000-c000 of run r-20261130-001: is not the one in the ledger"):
        house.consider(forged)


def test_other_data_than_the_runs_own_is_refused(house):
    trial = house.add_trial()
    with pytest.raises(ValueError, match=r"data set walks: is .* and run r-20261130-001 was on"):
        house.consider(trial, dataset=house.market.dataset.only("AAA"))
