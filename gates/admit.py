"""The door: one source in, a verdict out, and for those admitted the reports of their runs.

Gate one and the text part of gate three are judged here, in the caller's process, because they run nothing. The rest
happens in the cage (``gates.inside``), in one child per call, which is never reused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from gates.findings import Admitted, Rejected, Verdict
from gates.rules import finding
from gates.scan import judge_contract, scan
from gates.wire import PASSED, CellJob, Job, Result, WireError, decode_result, encode_bars, encode_job
from runtime.cage import Cage, CageEnd, CageLimits, CageMode, CageOutcome, open_cage
from runtime.kernel import ReportError, RunConfig, RunReport, decode_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.market.bars import Bars
    from runtime.model import Bar
    from runtime.source import StrategySource

ENTRY = "gates.inside:run"

# Gates two and three.
_GATES_INSIDE = 2

# A cage knows nothing of bars. What went into its zygote is remembered beside it, to check what comes out.
_bars_of: WeakKeyDictionary[Cage, Mapping[str, Bars]] = WeakKeyDictionary()
# The same as records, made on first use: a run that is done again needs them, and they cost more than it does.
_rows_of: WeakKeyDictionary[Cage, dict[str, list[Bar]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What became of one source and its cells."""

    verdict: Verdict
    outcome: CageOutcome | None
    """How the child that ran the gates and the cells ended; None when the text alone was refused, so that there was none."""
    reports: tuple[RunReport, ...]
    """One per cell, decoded and checked against the bars; empty unless admitted and finished. A run may still have
    failed on its own (``RunReport.end``)."""


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


def evaluate(
    source: StrategySource,
    cage: Cage,
    cells: Sequence[CellJob],
    config: RunConfig,
    limits: CageLimits | None = None,
) -> Evaluation:
    """All three gates, then every cell with a fresh load, in one child.

    Args:
        source: the candidate.
        cage: from ``open_gate_cage``, with the bars that the cells name.
        cells: what to run; may be empty.
        config: cash, costs, account and delay of every run; its ``start`` is set per cell.
        limits: for the child as a whole; the defaults of ``CageLimits`` when None.

    Raises:
        KeyError: a cell names bars that the cage was not opened with.
        CageError: the machine could not run the job.
    """
    cell_bars = [cell.bars(bars_in(cage)[cell.key]) for cell in cells]
    class_name = judge_text(source)
    if isinstance(class_name, Rejected):
        return Evaluation(verdict=class_name, outcome=None, reports=())
    admitted = Admitted(source=source, class_name=class_name)
    answer = _run(cage, Job(source=source.data, cells=tuple(cells), config=config), class_name, limits)
    if answer.result is None:
        return Evaluation(verdict=_reached(admitted, answer), outcome=answer.outcome, reports=())
    if answer.result.findings:
        findings = answer.result.findings
        verdict = Rejected(source=source, gate=findings[0].gate, findings=findings)
        return Evaluation(verdict=verdict, outcome=answer.outcome, reports=())
    configs = [replace(config, start=cell.warmup) for cell in cells]
    runs = [_Run(*run) for run in zip(cell_bars, configs, (_rows(cage, cell) for cell in cells), strict=True)]
    return _evaluation(admitted, answer, runs)


def judge_text(source: StrategySource) -> str | Rejected:
    """Gate one and the text part of gate three; the name of the strategy class when they let the source pass."""
    scanned = scan(source)
    if isinstance(scanned, Rejected):
        return scanned
    return judge_contract(scanned) or scanned.class_name


def broken(outcome: CageOutcome, why: str) -> CageOutcome:
    """The outcome of a child whose word turned out to be none."""
    reason = f"{CageEnd.BROKEN_RESULT.describe(CageLimits())}: {why}"
    return replace(outcome, end=CageEnd.BROKEN_RESULT, reason=reason, payload=None)


class _Answer(NamedTuple):
    """What one child said, and how it ended."""

    result: Result | None
    """Its word, checked for form; None when there is none to take."""
    outcome: CageOutcome
    passed: int
    """How many gates it says that the source has passed."""


def _run(cage: Cage, job: Job, class_name: str, limits: CageLimits | None) -> _Answer:
    """Run one job in one child. A conversation, so that a child that has to be ended has said in which gate it was."""
    passed = 0
    with cage.converse(encode_job(job), limits) as talk:
        while isinstance(said := talk.receive(), bytes):
            if said != PASSED or passed == _GATES_INSIDE:
                return _Answer(None, broken(talk.finish(), "a message that is none"), passed)
            passed += 1
    if said.payload is None:
        return _Answer(None, said, passed)
    try:
        return _Answer(decode_result(said.payload, class_name=class_name, cells=len(job.cells)), said, passed)
    except WireError as error:
        return _Answer(None, broken(said, str(error)), passed)


def _reached(admitted: Admitted, answer: _Answer) -> Verdict:
    """The verdict on a source whose child did not live to give one, or gave none that counts."""
    reason = answer.outcome.reason
    match answer.passed:
        case 0:
            found = finding("killed-in-load", f"loading {reason}")
        case 1:
            found = finding("killed-in-dry-run", f"the dry run {reason}")
        case _:
            return admitted
    return Rejected(source=admitted.source, gate=found.gate, findings=(found,))


class _Run(NamedTuple):
    """What a report is checked against."""

    bars: Bars
    config: RunConfig
    rows: list[Bar]


def _rows(cage: Cage, cell: CellJob) -> list[Bar]:
    known = _rows_of.setdefault(cage, {})
    if cell.key not in known:
        known[cell.key] = bars_in(cage)[cell.key].rows()
    return known[cell.key][cell.start - cell.warmup : cell.stop]


def _evaluation(admitted: Admitted, answer: _Answer, runs: Sequence[_Run]) -> Evaluation:
    assert answer.result is not None
    reports = []
    for number, (encoded, run) in enumerate(zip(answer.result.reports, runs, strict=True), start=1):
        try:
            reports.append(decode_report(encoded, run.bars, run.config, rows=run.rows))
        except ReportError as error:
            # The cell by its number: its key is a symbol, and reasons are shown to models.
            outcome = broken(answer.outcome, f"cell {number}: {error}")
            return Evaluation(verdict=admitted, outcome=outcome, reports=())
    return Evaluation(verdict=admitted, outcome=answer.outcome, reports=tuple(reports))
