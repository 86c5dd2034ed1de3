"""One run serves the author of a source and its trial, and what raises only in the backtest is told in our words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evolution.rehearsal import Rehearsal
from gates import Admitted, Evaluation, Finding, Rejected
from runtime.kernel import Failure, RunEnd
from runtime.source import StrategySource

SOURCE = StrategySource.from_text("class S(Strategy): ..." + "\n" * 9)
OTHER = StrategySource.from_text("class T(Strategy): ...")


class Report:
    """As much of a report as is looked at."""

    def __init__(self, failure=None, end=RunEnd.FINISHED):
        self.failure, self.end = failure, end


class Counting:
    """An evaluator that admits and gives the same reports to all."""

    def __init__(self, *reports, verdict=None):
        self.asked, self._reports, self._verdict = [], reports, verdict

    def evaluate(self, source):
        self.asked.append(source)
        verdict = self._verdict or Admitted(source=source, class_name="S")
        return Evaluation(verdict=verdict, outcome=None, reports=self._reports)


def raised(exception="ZeroDivisionError", message="raised ZeroDivisionError", line=7):
    return Report(Failure(hook="on_bar", exception=exception, line=line, message=message), RunEnd.FAILED)


def test_the_trial_takes_the_run_that_its_author_was_judged_by():
    evaluator = Counting(Report())
    rehearsal = Rehearsal(evaluator)
    assert isinstance(rehearsal.judge(SOURCE), Admitted)
    rehearsal.evaluate(SOURCE)
    assert evaluator.asked == [SOURCE]
    rehearsal.evaluate(OTHER)
    assert evaluator.asked == [SOURCE, OTHER]


def test_what_raises_only_in_the_backtest_is_a_finding_for_the_author_with_its_line():
    rehearsal = Rehearsal(Counting(Report(), raised()))
    verdict = rehearsal.judge(SOURCE)
    assert isinstance(verdict, Rejected)
    (found,) = verdict.findings
    assert (found.rule, found.line) == ("raises", 7)
    assert (
        found.message == "raises ZeroDivisionError in on_bar, on bars of the backtest and not on those of the dry run"
    )
    # No gate refused it: its trial is about the run.
    assert isinstance(rehearsal.evaluate(SOURCE).verdict, Admitted)


def test_a_rule_of_the_api_is_told_in_the_words_of_our_table():
    (found,) = Rehearsal(Counting(raised("history-value", "history(88.0175)", None))).judge(SOURCE).findings
    assert found.message == "history(n) takes a whole number of bars above 0 (in on_bar, in the backtest)"
    assert found.line == 1


def test_every_rule_of_the_strategy_api_has_words_of_its_own():
    """Those that are raised anywhere in the runtime, found in its text."""
    files = sorted((Path(__file__).parents[2] / "runtime").rglob("*.py"))
    rules = {rule for file in files for rule in re.findall(r'StrategyError\(\s*"([a-z-]+)"', file.read_text())}
    assert len(rules) > 15
    assert not [rule for rule in rules if "a rule of the API" in message_of(rule)]


def message_of(exception, **changes):
    failure = {"hook": "on_bar", "exception": exception, "line": 1, "message": "2001-02-06 at 88.0175", **changes}
    report = Report(Failure(**failure), RunEnd.FAILED)
    (found,) = Rehearsal(Counting(report)).judge(SOURCE).findings
    return f"{found.message} line {found.line}"


@pytest.mark.parametrize("exception", ["param-range", "lookback-too-long", "a-new-rule-20010206", "ValueError", "At88"])
@pytest.mark.parametrize("changes", [{}, {"hook": "on 20010206"}, {"line": 20010206}])
def test_nothing_that_a_candidate_computed_on_real_bars_is_told(exception, changes):
    told = message_of(exception, **changes)
    assert not re.search(r"2001|88|0175|0206", told)


def test_a_run_that_ended_without_a_failure_is_named_by_its_end():
    (found,) = Rehearsal(Counting(Report(None, RunEnd.FLOODED))).judge(SOURCE).findings
    assert found.message == f"the backtest ended as {RunEnd.FLOODED.value}"


@pytest.mark.parametrize("reports", [(), (Report(),)])
def test_a_kill_and_a_finished_run_are_no_reason_to_ask_again(reports):
    assert isinstance(Rehearsal(Counting(*reports)).judge(SOURCE), Admitted)


def test_a_refusal_of_the_gates_stays_as_it_is():
    refused = Rejected(
        source=SOURCE,
        gate=1,
        findings=(Finding(gate=1, rule="import-not-allowed", line=1, column=1, message="no", hint="leave it out"),),
    )
    assert Rehearsal(Counting(verdict=refused)).judge(SOURCE) is refused


def test_a_run_that_is_known_is_shown_report_by_report_to_whoever_may_have_seen_enough():
    reports = Report(), Report(), Report()
    evaluator = Counting(*reports)
    rehearsal = Rehearsal(evaluator)
    rehearsal.judge(SOURCE)
    seen = []

    def enough(so_far):
        seen.append(len(so_far))
        return len(so_far) < 2

    evaluation = rehearsal.evaluate(SOURCE, goes_on=enough)
    assert seen == [1, 2]
    assert (evaluation.reports, evaluation.was_stopped) == (reports[:2], True)
    whole = rehearsal.evaluate(SOURCE, goes_on=lambda _: True)
    assert (whole.reports, whole.was_stopped) == (reports, False)
    assert evaluator.asked == [SOURCE]
