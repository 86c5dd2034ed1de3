"""The same door for documents of the closed language: compile, then run every cell in this process.

A document is data. The compiler is its gate, and what it lets through can do nothing but compare columns and ask for orders, so it
needs no cage. The fast run takes its signals from whole columns, the proof run judges bar by bar, and the two must ask for the same.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gates.findings import Admitted, Rejected
from gates.rules import finding
from runtime.cage import CageEnd, CageOutcome
from runtime.kernel import AccountKind
from runtime.model import Timeframe
from runtime.sir.build import build
from runtime.sir.compile import Compiled, compile_once
from runtime.sir.known import Known
from runtime.sir.problems import Category, Problem
from runtime.sir.vector import run_event, run_signals
from runtime.sir.vocabulary import Direction, Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gates.findings import Finding
    from runtime.kernel import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Bar
    from runtime.sir.plan import ExecutionPlan
    from runtime.sir.program import Program
    from runtime.source import StrategySource

_PROGRAMS_REMEMBERED = 256
# Cells of a search and of its check for look-ahead; each holds 14 MB at most, and mostly one or two.
_BARS_REMEMBERED = 64


class DocumentRun(NamedTuple):
    """One cell: its bars, how it is run, and its bars as records."""

    bars: Bars
    config: RunConfig
    rows: list[Bar]


class Outcome(NamedTuple):
    """What became of a document and its cells."""

    verdict: Admitted | Rejected
    outcome: CageOutcome | None
    """None when the document was refused. It ran in no cage; the figures are those of this process."""
    reports: tuple[RunReport, ...]
    was_stopped: bool = False


class _Compiled(NamedTuple):
    plan: ExecutionPlan
    program: Program | None
    """None for what does not trade one instrument."""


def evaluate_document(
    source: StrategySource,
    runs: Sequence[DocumentRun],
    *,
    goes_on: Callable[[Sequence[RunReport]], bool] | None = None,
    bar_by_bar: bool = False,
) -> Outcome:
    """Compile a document and run its cells.

    Args:
        source: a source in SIR.
        runs: the cells; may be empty.
        goes_on: shown the reports so far after each cell but the last; False ends the run.
        bar_by_bar: judge the rules on each bar, as on paper, instead of on columns.
    """
    found = _compiled(source)
    findings = _misfits(found, runs) if isinstance(found, _Compiled) else found
    if findings or not isinstance(found, _Compiled):
        return Outcome(Rejected(source=source, gate=findings[0].gate, findings=findings), None, ())
    admitted, program = Admitted(source=source, class_name=found.plan.name), found.program
    begun, used = time.monotonic(), time.thread_time()
    reports: list[RunReport] = []
    stopped = False
    for each in runs:
        assert program is not None  # _misfit refuses whatever has none
        if bar_by_bar:
            reports.append(run_event(program, each.bars, each.config, rows=each.rows))
        else:
            reports.append(run_signals(program, each.bars, each.config, rows=each.rows, known=_known(each.bars)))
        stopped = goes_on is not None and len(reports) < len(runs) and not goes_on(reports)
        if stopped:
            break
    outcome = CageOutcome(
        end=CageEnd.FINISHED,
        reason="finished",
        payload=b"",
        cpu_s=time.thread_time() - used,
        wall_s=time.monotonic() - begun,
    )
    return Outcome(admitted, outcome, tuple(reports), stopped)


@lru_cache(maxsize=_BARS_REMEMBERED)
def _known(bars: Bars) -> Known:
    """What all documents have in common on these very bars: a cage's cells are cut once, so the same ones come again."""
    return Known(bars)


@lru_cache(maxsize=_PROGRAMS_REMEMBERED)
def _compiled(source: StrategySource) -> _Compiled | tuple[Finding, ...]:
    """The compiler as a gate; its problems become findings, with their places in their words."""
    compiled = compile_once(source.data)
    if not isinstance(compiled, Compiled):
        return tuple(_as_finding("document", each) for each in compiled.problems)
    plan = compiled.plan
    trades = plan.intent is not Mode.SCREEN and not plan.legs
    return _Compiled(plan, build(plan) if trades else None)


def _misfits(found: _Compiled, runs: Sequence[DocumentRun]) -> tuple[Finding, ...]:
    """Why a document cannot run on these bars. The run's data decide, never the document."""
    problem = _misfit(found, runs) if runs else None
    return () if problem is None else (_as_finding("document-misfit", problem),)


def _misfit(found: _Compiled, runs: Sequence[DocumentRun]) -> Problem | None:
    plan, bars, account = found.plan, runs[0].bars, runs[0].config.account
    if found.program is None:
        kind = "its legs are priced by a model" if plan.legs else "a screener trades nothing"
        return _not_here("/legs" if plan.legs else "/execution/mode", "it cannot be run on bars alone", kind)
    if plan.date_range is not None or plan.universe:
        where, what = ("/date_range", "dates") if plan.date_range is not None else ("/universe", "universe")
        return _not_here(where, f"it states its own {what}", "here the run's data decide")
    if plan.timeframe_s != bars.timeframe.seconds:
        written = f"it is written for bars of {Timeframe(plan.timeframe_s)}, and these are bars of {bars.timeframe}"
        return _not_here("/market/timeframe", written, "rules mean what they say on one step only", Category.DATA_LOAD)
    if plan.execution is not None and plan.execution.direction is Direction.SHORT and account is AccountKind.CASH:
        return _not_here("/execution/direction", "it goes short", "a cash account cannot")
    return None


def _not_here(where: str, what: str, why: str, category: Category = Category.EXECUTION) -> Problem:
    ask = "leave it out, or write it for these bars and this account"
    return Problem(category=category, rule="not-here", where=where, what=what, why=why, ask=ask)


def _as_finding(rule: str, problem: Problem) -> Finding:
    said = f"{problem.category.value} {problem.rule} at {problem.where or '/'}: {problem.what}: {problem.why}"
    return finding(rule, said, hint=f"ask: {problem.ask}")
