"""``Rehearsal``: each source is run once, and both who wrote it and its trial learn from that run.

A model that wrote a strategy which the gates admit, and which raises only in the backtest, is told so like any other finding of run
time. The trial that follows takes the same run instead of repeating it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gates import Rejected
from gates.rules import finding
from runtime.kernel import RunEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evolution.evaluate import Evaluator
    from gates import Evaluation, Verdict
    from runtime.kernel import RunReport
    from runtime.source import StrategySource


class Rehearsal:
    """An ``Evaluator`` that remembers its last evaluation. For one candidate, so for one thread.

    Args:
        evaluator: does the work.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._last: tuple[StrategySource, Evaluation] | None = None

    def evaluate(
        self, source: StrategySource, *, goes_on: Callable[[Sequence[RunReport]], bool] | None = None
    ) -> Evaluation:
        """Gates and cells; a source that was evaluated just before is not run again, but shown report by report."""
        if self._last is not None and self._last[0] == source:
            return _shown(self._last[1], goes_on)
        if goes_on is not None:  # it may end before the last cell, and is no run to judge by
            return self._evaluator.evaluate(source, goes_on=goes_on)
        self._last = source, self._evaluator.evaluate(source)
        return self._last[1]

    def judge(self, source: StrategySource) -> Verdict:
        """The gates' verdict, and where they admit a source that then raises in the backtest, a refusal that says so.

        Such a refusal is for the author only: the trial of that source ends as FAILED, since no gate refused it. A kill is no reason
        to refuse: it may have been the machine's doing.
        """
        evaluation = self.evaluate(source)
        if isinstance(evaluation.verdict, Rejected):
            return evaluation.verdict
        raised = next((report for report in evaluation.reports if report.end is not RunEnd.FINISHED), None)
        if raised is None:
            return evaluation.verdict
        found = finding("raises", _said(raised), line=_line(raised))
        return Rejected(source=source, gate=found.gate, findings=(found,))


def _shown(evaluation: Evaluation, goes_on: Callable[[Sequence[RunReport]], bool] | None) -> Evaluation:
    """What an evaluation that ``goes_on`` watches would have come to."""
    reports = evaluation.reports
    if goes_on is not None:
        for count in range(1, len(reports)):
            if not goes_on(reports[:count]):
                return replace(evaluation, reports=reports[:count], was_stopped=True)
    return evaluation


def _said(report: RunReport) -> str:
    """In our own words: what the strategy said when it raised is no part of a report."""
    failure = report.failure
    if failure is None:
        return f"the backtest ended as {report.end.value}"
    if failure.exception[:1].islower():  # a rule of the API, not the name of a type
        return f"{failure.message} (in {failure.hook}, in the backtest)"
    return f"raises {failure.exception} in {failure.hook}, on bars of the backtest and not on those of the dry run"


def _line(report: RunReport) -> int:
    return (report.failure.line if report.failure is not None else None) or 1
