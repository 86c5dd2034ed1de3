"""``Rehearsal``: each source is run once, and both who wrote it and its trial learn from that run.

A model that wrote a strategy which the gates admit, and which raises only in the backtest, is told so like any other finding of run
time. The trial that follows takes the same run instead of repeating it.
"""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import TYPE_CHECKING

from gates import Rejected
from gates.allowed import MAX_LOOKBACK_BARS
from gates.rules import RULES, finding
from runtime.kernel import RunEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evolution.bench import Evaluator
    from gates import Evaluation, Verdict
    from runtime.kernel import RunReport
    from runtime.source import StrategySource

_HOOKS = frozenset({"load", "__init__", "on_start", "on_bar", "on_fill", "on_stop"})
_RULE_WORDS = {
    **{rule.id: rule.what for rule in RULES},
    "bus-depth": "messages that cause messages are nested too deep",
    "bus-full": "the bus has too many handlers",
    "bus-subscribe": "bus.subscribe(topic, handler) takes a text and a function",
    "clock-not-running": "clock.now() works from on_bar on",
    "declare-late": "indicator() and need() work in on_start only",
    "history-value": "history(n) takes a whole number of bars above 0",
    "indicator-name": "indicator(name) takes a name of the registry",
    "indicator-param": "the indicator has no such parameter",
    "indicator-range": "a parameter of the indicator is out of its range",
    "indicator-source": "the indicator does not take such a source",
    "init-without-super": "__init__ must call super().__init__(name, clock, bus, instrument, timeframe)",
    "lookback-too-long": f"history and indicators reach back at most {MAX_LOOKBACK_BARS} bars",
    "need-value": "need(n) takes a whole number of bars above 0",
    "not-started": "orders, state and series exist from on_start on",
    "param-range": "the default of param() is outside its bounds",
    "param-value": "param(default, low=, high=) takes plain finite numbers",
    "series-index": "a series is read backwards: series[-1] is the current bar",
}
"""What the rules of the gates and of the strategy API say."""


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
        found = finding("raises", _said(raised), line=_line(source, raised))
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
    """From our tables alone: the run was on real bars, and the text of a failure may hold a price or a date of theirs."""
    failure = report.failure
    if failure is None:
        return f"the backtest ended as {report.end.value}"
    where = failure.hook if failure.hook in _HOOKS else "a hook"
    if failure.exception[:1].islower():  # a rule of the API, not the name of a type
        return f"{_RULE_WORDS.get(failure.exception, 'a rule of the API is broken')} (in {where}, in the backtest)"
    kind = failure.exception if hasattr(builtins, failure.exception) else "an exception"
    return f"raises {kind} in {where}, on bars of the backtest and not on those of the dry run"


def _line(source: StrategySource, report: RunReport) -> int:
    line = (report.failure.line if report.failure is not None else None) or 1
    return line if 1 <= line <= source.text.count("\n") + 1 else 1
