"""The door: one source in, a verdict out, and for those admitted the reports of their runs.

Gate one and the text part of gate three are judged here, in the caller's process, because they run nothing. The rest
happens in the cage (``gates.inside``), in one child per call, which is never reused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from gates.findings import Admitted, Rejected, Verdict
from gates.rules import finding
from gates.scan import judge_contract, scanned_once
from gates.wire import PASSED, CellJob, Job, Result, WireError, decode_result, encode_bars, encode_job
from runtime.cage import Cage, CageEnd, CageLimits, CageMode, CageOutcome, open_cage
from runtime.kernel import ReportError, RunConfig, RunReport, decode_report
from runtime.source import Language

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runtime.market.bars import Bars
    from runtime.model import Bar
    from runtime.source import StrategySource

ENTRY = "gates.inside:run"

# A source is looked at several times: by whoever made it, for its score, for look-ahead, and under each stress at admission. A
# generation is made before the first of it is tried, so there is room for a large one; a verdict is mostly the name of a class.
_TEXTS_REMEMBERED = 4096
# Gates two and three.
_GATES_INSIDE = 2

# A cage knows nothing of bars. What went into its zygote is remembered beside it, to check what comes out.
_bars_of: WeakKeyDictionary[Cage, Mapping[str, Bars]] = WeakKeyDictionary()
# The same as records, made on first use: a run that is done again needs them, and they cost more than it does.
_rows_of: WeakKeyDictionary[Cage, dict[str, list[Bar]]] = WeakKeyDictionary()
# And cut to cells, since every candidate meets the same few.
_runs_of: WeakKeyDictionary[Cage, dict[tuple[CellJob, RunConfig], _Run]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What became of one source and its cells."""

    verdict: Verdict
    outcome: CageOutcome | None
    """How the child that ran the gates and the cells ended; None when the text alone was refused, so that there was none."""
    reports: tuple[RunReport, ...]
    """One per cell, decoded and checked against the bars; empty unless admitted and finished. A run may still have
    failed on its own (``RunReport.end``)."""
    was_stopped: bool = False
    """The caller had seen enough before the last cell: ``reports`` are those that it saw, and ``outcome`` is the kill."""


def open_gate_cage(bars: Mapping[str, Bars], *, mode: CageMode = CageMode.FULL) -> Cage:
    """A cage in which ``check`` and ``evaluate`` run, with ``bars`` preloaded under their keys.

    Everything in ``bars`` can be read by every candidate: give it what a search may see and nothing else.

    Raises:
        CageUnavailable: a required layer does not hold on this machine.
        CageError: the zygote could not be started.
    """
    cage = open_cage(ENTRY, encode_bars(bars), mode=mode)
    _bars_of[cage] = dict(bars)
    return cage


def bars_in(cage: Cage) -> Mapping[str, Bars]:
    """The bars that a cage was opened with; none when it is no gate cage."""
    return _bars_of.get(cage, {})


def check(source: StrategySource, cage: Cage, limits: CageLimits | None = None) -> Verdict:
    """All three gates.

    A source whose child does not finish is rejected by the gate that it was in, with the way it ended.

    Example:
        >>> from runtime.source import StrategySource
        >>> with open_gate_cage({}) as cage:  # doctest: +SKIP
        ...     check(StrategySource(b"class S(Strategy): pass"), cage).reason
        'gate 3: S has no on_bar of its own at line 1'

    Raises:
        CageError: the machine could not run the job.
    """
    return evaluate(source, cage, (), RunConfig(), limits).verdict


def evaluate(  # noqa: PLR0913 - a run is made of all of this
    source: StrategySource,
    cage: Cage,
    cells: Sequence[CellJob],
    config: RunConfig,
    limits: CageLimits | None = None,
    *,
    goes_on: Callable[[Sequence[RunReport]], bool] | None = None,
    is_known: bool = False,
) -> Evaluation:
    """All three gates, then every cell with a fresh load, in one child.

    Args:
        source: the candidate.
        cage: from ``open_gate_cage``, with the bars that the cells name.
        cells: what to run; may be empty.
        config: cash, costs, account and delay of every run; its ``start`` is set per cell.
        limits: for the child as a whole; the defaults of ``CageLimits`` when None.
        goes_on: shown the reports so far after each cell but the last; False ends the child.
        is_known: the same source has been admitted before, so the dry run is left out.

    Raises:
        KeyError: a cell names bars that the cage was not opened with.
        CageError: the machine could not run the job.
    """
    runs = [_run_of(cage, cell, config) for cell in cells]
    if source.language is Language.SIR:
        return _evaluate_document(source, runs, goes_on)
    class_name = judge_text(source)
    if isinstance(class_name, Rejected):
        return Evaluation(verdict=class_name, outcome=None, reports=())
    job = Job(source=source.data, class_name=class_name, cells=tuple(cells), config=config, is_known=is_known)
    answer = _ask(cage, job, runs, limits, goes_on)
    if answer.was_stopped:
        admitted = Admitted(source=source, class_name=class_name)
        return Evaluation(verdict=admitted, outcome=answer.outcome, reports=answer.reports, was_stopped=True)
    verdict = _verdict(source, class_name, answer)
    is_complete = answer.result is not None and isinstance(verdict, Admitted)
    return Evaluation(verdict=verdict, outcome=answer.outcome, reports=answer.reports if is_complete else ())


def _evaluate_document(
    source: StrategySource,
    runs: Sequence[_Run],
    goes_on: Callable[[Sequence[RunReport]], bool] | None = None,
) -> Evaluation:
    """A document needs no cage; its compiler is not imported before there is one."""
    from gates.document import DocumentRun, evaluate_document  # noqa: PLC0415 - brings pydantic, which no child may have

    done = evaluate_document(source, [DocumentRun(*run) for run in runs], goes_on=goes_on)
    return Evaluation(verdict=done.verdict, outcome=done.outcome, reports=done.reports, was_stopped=done.was_stopped)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def judge_text(source: StrategySource) -> str | Rejected:
    """Gate one and the text part of gate three; the name of the strategy class when they let the source pass."""
    scanned = scanned_once(source)
    if isinstance(scanned, Rejected):
        return scanned
    return judge_contract(scanned) or scanned.class_name


def broken(outcome: CageOutcome, why: str) -> CageOutcome:
    """The outcome of a child whose word turned out to be none."""
    reason = f"{CageEnd.BROKEN_RESULT.describe(CageLimits())}: {why}"
    return replace(outcome, end=CageEnd.BROKEN_RESULT, reason=reason, payload=None)


class _Run(NamedTuple):
    """What a report is checked against."""

    bars: Bars
    config: RunConfig
    rows: list[Bar]


def _run_of(cage: Cage, cell: CellJob, config: RunConfig) -> _Run:
    cut = _runs_of.setdefault(cage, {})
    if (cell, config) not in cut:
        cut[cell, config] = _cut(cage, cell, config)
    return cut[cell, config]


def _cut(cage: Cage, cell: CellJob, config: RunConfig) -> _Run:
    bars, known = bars_in(cage)[cell.key], _rows_of.setdefault(cage, {})
    if cell.key not in known:
        known[cell.key] = bars.rows()
    rows = known[cell.key][cell.start - cell.warmup : cell.stop]
    return _Run(cell.bars(bars), replace(config, start=cell.warmup), rows)


class _Answer(NamedTuple):
    """What one child said, and how it ended."""

    result: Result | None
    """Its last word, checked for form; None when there is none to take."""
    outcome: CageOutcome
    passed: int
    """How many gates it says that the source has passed."""
    reports: tuple[RunReport, ...] = ()
    """One per cell when there is a result without findings."""
    was_stopped: bool = False


def _ask(
    cage: Cage,
    job: Job,
    runs: Sequence[_Run],
    limits: CageLimits | None,
    goes_on: Callable[[Sequence[RunReport]], bool] | None = None,
) -> _Answer:
    """Run one job in one child.

    A conversation, so that a child that has to be ended has said in which gate it was, and so that each report is checked
    while the child makes the next one.
    """
    passed, reports = 0, list[RunReport]()
    with cage.converse_soon(encode_job(job), limits) as talk:
        if _has_idle_processor():
            cage.stand_by(limits)
        while isinstance(said := talk.receive(), bytes):
            if passed < _GATES_INSIDE:
                if said != PASSED:
                    return _Answer(None, broken(talk.finish(), "a message that is none"), passed)
                passed += 1
                continue
            try:
                reports.append(_report(said, runs, len(reports)))
            except ReportError as error:
                # The cell by its number: its key is a symbol, and reasons are shown to models.
                return _Answer(None, broken(talk.finish(), f"cell {len(reports) + 1}: {error}"), passed)
            if goes_on is not None and len(reports) < len(runs) and not goes_on(reports):
                return _Answer(None, talk.stop(), passed, tuple(reports), was_stopped=True)
    if said.payload is None:
        return _Answer(None, said, passed)
    try:
        result = decode_result(said.payload, class_name=job.class_name)
        if not result.findings and (passed, len(reports)) != (_GATES_INSIDE, len(runs)):
            raise WireError("an admitted source without its reports")  # noqa: TRY301 - as any other broken word
    except WireError as error:
        return _Answer(None, broken(said, str(error)), passed)
    return _Answer(result, said, passed, tuple(reports))


def _has_idle_processor() -> bool:
    """Whether a child that is started ahead of its job takes nothing from those that have one."""
    return os.getloadavg()[0] < (os.cpu_count() or 1)


def _report(data: bytes, runs: Sequence[_Run], number: int) -> RunReport:
    if number >= len(runs):
        raise ReportError("a report too many")
    run = runs[number]
    return decode_report(data, run.bars, run.config, rows=run.rows)


def _verdict(source: StrategySource, class_name: str, answer: _Answer) -> Verdict:
    """What the child found, or, when it did not live to say so or what it said does not count, how far it got."""
    reason = answer.outcome.reason
    if answer.result is not None:
        findings = answer.result.findings
    elif answer.passed == 0:
        findings = (finding("killed-in-load", f"loading {reason}"),)
    elif answer.passed < _GATES_INSIDE:
        findings = (finding("killed-in-dry-run", f"the dry run {reason}"),)
    else:
        findings = ()
    if findings:
        return Rejected(source=source, gate=findings[0].gate, findings=findings)
    return Admitted(source=source, class_name=class_name)
