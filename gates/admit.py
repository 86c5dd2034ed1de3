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
from gates.wire import CellJob, Job, Result, Task, WireError, decode_result, encode_bars, encode_job
from runtime.cage import Cage, CageEnd, CageLimits, CageMode, CageOutcome, open_cage
from runtime.kernel import ReportError, RunConfig, RunReport, decode_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.market.bars import Bars
    from runtime.source import StrategySource

_ENTRY = "gates.inside:run"

# A cage knows nothing of bars. What went into its zygote is remembered beside it, to check what comes out.
_bars_of: WeakKeyDictionary[Cage, Mapping[str, Bars]] = WeakKeyDictionary()


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
    cage = open_cage(_ENTRY, encode_bars(bars), mode=mode)
    _bars_of[cage] = dict(bars)
    return cage


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
    class_name = _judge_text(source)
    if isinstance(class_name, Rejected):
        return class_name
    answer = _run(cage, Job(task=Task.JUDGE, source=source.data), class_name, limits)
    if isinstance(answer, CageOutcome):
        return _rejected_by_cage(source, class_name, cage, limits, answer)
    return _verdict(source, answer.result)


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
    known = _bars_of.get(cage, {})
    cell_bars = [cell.bars(known[cell.key]) for cell in cells]
    class_name = _judge_text(source)
    if isinstance(class_name, Rejected):
        return Evaluation(verdict=class_name, outcome=None, reports=())
    job = Job(task=Task.JUDGE, source=source.data, cells=tuple(cells), config=config)
    answer = _run(cage, job, class_name, limits)
    if isinstance(answer, CageOutcome):
        # The child did not live to say whether the gates or a cell ended it: ask for the gates alone.
        return Evaluation(verdict=check(source, cage, limits), outcome=answer, reports=())
    return _evaluation(source, answer, cell_bars, cells, config)


def _judge_text(source: StrategySource) -> str | Rejected:
    scanned = scan(source)
    if isinstance(scanned, Rejected):
        return scanned
    return judge_contract(scanned) or scanned.class_name


class _Answer(NamedTuple):
    """A finished child's word, checked for form, and how the child ended."""

    result: Result
    outcome: CageOutcome


def _run(cage: Cage, job: Job, class_name: str, limits: CageLimits | None) -> _Answer | CageOutcome:
    """Run one job; an outcome alone means that there is no word to take."""
    outcome = cage.run(encode_job(job), limits)
    if outcome.payload is None:
        return outcome
    try:
        result = decode_result(outcome.payload, class_name=class_name, cells=len(job.cells))
    except WireError as error:
        return _broken(outcome, str(error))
    return _Answer(result, outcome)


def _broken(outcome: CageOutcome, why: str) -> CageOutcome:
    reason = f"{CageEnd.BROKEN_RESULT.describe(CageLimits())}: {why}"
    return replace(outcome, end=CageEnd.BROKEN_RESULT, reason=reason, payload=None)


def _verdict(source: StrategySource, result: Result) -> Verdict:
    if result.findings:
        return Rejected(source=source, gate=result.findings[0].gate, findings=result.findings)
    assert result.class_name is not None  # decode_result lets nothing else pass
    return Admitted(source=source, class_name=result.class_name)


def _rejected_by_cage(
    source: StrategySource, class_name: str, cage: Cage, limits: CageLimits | None, outcome: CageOutcome
) -> Rejected:
    """Say in which gate a child was ended: whether loading alone finishes tells."""
    loading = _run(cage, Job(task=Task.LOAD, source=source.data), class_name, limits)
    if isinstance(loading, CageOutcome):
        found = finding("killed-in-load", f"loading {loading.reason}")
    else:
        found = finding("killed-in-dry-run", f"the dry run {outcome.reason}")
    return Rejected(source=source, gate=found.gate, findings=(found,))


def _evaluation(
    source: StrategySource, answer: _Answer, cell_bars: Sequence[Bars], cells: Sequence[CellJob], config: RunConfig
) -> Evaluation:
    verdict = _verdict(source, answer.result)
    if isinstance(verdict, Rejected):
        return Evaluation(verdict=verdict, outcome=answer.outcome, reports=())
    reports = []
    for encoded, bars, cell in zip(answer.result.reports, cell_bars, cells, strict=True):
        try:
            reports.append(decode_report(encoded, bars, replace(config, start=cell.warmup)))
        except ReportError as error:
            outcome = _broken(answer.outcome, f"{cell.key}: {error}")
            return Evaluation(verdict=verdict, outcome=outcome, reports=())
    return Evaluation(verdict=verdict, outcome=answer.outcome, reports=tuple(reports))
