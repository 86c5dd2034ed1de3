"""The proof run: the session here, the candidate in a process that never held a bar.

A fast run's reports come from the process that ran the candidate and are claims. Here the same cells are run with the
session, the venue and the books in this process. The candidate sits in a caged child whose zygote was never given any
bars; it gets one closed bar at a time, the values of its declared indicators up to that bar, and its own books, and
answers with what it asks for. It cannot see a later bar or touch a figure, so the reports made here are not claims.

``same_orders`` compares both. Equal reports prove that the fast run looked at nothing later, forged nothing, and that
the candidate does the same bar by bar as in one sweep, which is how paper trading will run it. What it does not prove:
that the candidate has not the past by heart; a text can hold what its author knew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gates.admit import ENTRY, Evaluation, bars_in, broken, judge_text
from gates.findings import Admitted, Rejected
from gates.wire import MASKED_SYMBOL, Seat, encode_bars, encode_seat
from runtime.cage import CageEnd, CageLimits, CageMode, CageOutcome, open_cage
from runtime.kernel import RemoteHost, RunLimits, run_host
from runtime.source import Language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gates.wire import CellJob
    from runtime.cage import Cage
    from runtime.kernel import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.source import StrategySource

# All answers of a cell together get this many times the wall time of one: 2,500 bars take a fraction of a second of it
# even on a busy machine, and a child that lets each answer wait as long as it may is not worth a night.
_PATIENCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first thing in which two runs of one cell differ."""

    what: str
    """``order``, ``fill``, ``first bar``, ``end`` or ``figures``."""
    row: int | None
    """Row of the bar, counted from 0; None when it is not about one bar."""
    fast: str
    """What the fast run has there; empty when nothing."""
    proof: str
    """What the proof run has there; empty when nothing."""

    def __str__(self) -> str:
        place = "" if self.row is None else f" at row {self.row}"
        return (
            f"{self.what}{place}: {self.fast or 'nothing'} in the fast run, {self.proof or 'nothing'} in the proof run"
        )


def open_proof_cage(*, mode: CageMode = CageMode.FULL) -> Cage:
    """A cage for ``prove``: its zygote holds the gates' made-up smoke bars and no others.

    Raises:
        CageUnavailable: a required layer does not hold on this machine.
        CageError: the zygote could not be started.
    """
    return open_cage(ENTRY, encode_bars({}), mode=mode)


def prove(  # noqa: PLR0913 - a fast run's arguments, and the bars that the cage must not have
    source: StrategySource,
    cage: Cage,
    bars: Mapping[str, Bars],
    cells: Sequence[CellJob],
    config: RunConfig,
    *,
    limits: CageLimits | None = None,
) -> Evaluation:
    """Run every cell with the candidate on the other end of a line, each in a child of its own.

    The verdict is that of the text alone: a source that is to be proven has been through the gates. One that does not
    load here has a failed report (``RunReport.failure``), and one whose process does not live to the end of a cell, or
    sends what is no answer, has an outcome and no reports.

    Args:
        source: the candidate.
        cage: from ``open_proof_cage``.
        bars: what the cells name. They stay in this process.
        cells: what to run, as in ``evaluate``.
        config: as in ``evaluate``.
        limits: for each cell's child; ``wall_s`` is for each answer, and ten times that for all answers of a cell.

    Raises:
        ValueError: the cage was opened with bars.
        CageError: the machine could not run the job.
    """
    if bars_in(cage):
        raise ValueError("a proof run needs a cage that holds no bars: open it with open_proof_cage()")
    if source.language is Language.SIR:
        return _prove_document(source, bars, cells, config)
    class_name = judge_text(source)
    if isinstance(class_name, Rejected):
        return Evaluation(verdict=class_name, outcome=None, reports=())
    admitted = Admitted(source=source, class_name=class_name)
    outcome = CageOutcome(end=CageEnd.FINISHED, reason="finished", payload=b"")
    reports: list[RunReport] = []
    for cell in cells:
        proven = _prove_cell(admitted, cage, cell.bars(bars[cell.key]), replace(config, start=cell.warmup), limits)
        outcome = replace(
            proven.outcome, cpu_s=outcome.cpu_s + proven.outcome.cpu_s, wall_s=outcome.wall_s + proven.outcome.wall_s
        )
        if outcome.end is not CageEnd.FINISHED:
            return Evaluation(verdict=admitted, outcome=outcome, reports=())
        reports.append(proven.report)
    return Evaluation(verdict=admitted, outcome=outcome, reports=tuple(reports))


def _prove_document(
    source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[CellJob], config: RunConfig
) -> Evaluation:
    """A document cannot look ahead or forge; what is proven is that column by column and bar by bar it asks for the same."""
    from gates.document import DocumentRun, evaluate_document  # noqa: PLC0415 - brings pydantic, which no child may have

    runs = []
    for cell in cells:
        cut = cell.bars(bars[cell.key])
        runs.append(DocumentRun(cut, replace(config, start=cell.warmup), cut.rows()))
    done = evaluate_document(source, runs, bar_by_bar=True)
    return Evaluation(verdict=done.verdict, outcome=done.outcome, reports=done.reports)


def same_orders(fast: RunReport, proof: RunReport) -> Difference | None:
    """The first difference between two runs of one cell, in their orders or in what came of them; None when equal.

    Orders are compared as texts with every digit (``OrderEntry.action``), fills and equity bit for bit: both come from
    the same code on the same bars, so there is nothing to round.
    """
    for mine, theirs in zip_longest(fast.order_log, proof.order_log):
        if mine != theirs:
            row = min(entry.row for entry in (mine, theirs) if entry is not None)
            shown = [entry.action if entry is not None and entry.row == row else "" for entry in (mine, theirs)]
            return Difference(what="order", row=row, fast=shown[0], proof=shown[1])
    for what, one, other in _facts(fast, proof):
        if one != other:
            return Difference(what=what, row=None, fast=str(one), proof=str(other))
    rows = np.flatnonzero(fast.equity != proof.equity)
    if len(rows):
        at = int(rows[0])
        return Difference(what="equity", row=at - 1, fast=repr(fast.equity[at]), proof=repr(proof.equity[at]))
    return None


def _facts(fast: RunReport, proof: RunReport) -> Iterator[tuple[str, object, object]]:
    yield "end", _end(fast), _end(proof)
    yield "first bar", fast.first_tradable_bar, proof.first_tradable_bar
    for mine, theirs in zip_longest(fast.fills, proof.fills):
        yield "fill", mine, theirs
    yield "refused orders", fast.refused_count, proof.refused_count
    yield "trades", fast.trades, proof.trades


def _end(report: RunReport) -> str:
    failure = report.failure
    where = "" if failure is None else f" by {failure.exception} in {failure.hook}"
    return f"{report.end.value}{where}{' and ruined' if report.ruined else ''}"


class _Proven(NamedTuple):
    report: RunReport
    outcome: CageOutcome
    """How the cell's child ended; the report counts only if it finished."""


def _prove_cell(admitted: Admitted, cage: Cage, bars: Bars, config: RunConfig, limits: CageLimits | None) -> _Proven:
    limits, run_limits = limits or CageLimits(), RunLimits()
    seat = Seat(
        source=admitted.source.data,
        class_name=admitted.class_name,
        instrument=replace(bars.instrument, symbol=MASKED_SYMBOL),
        timeframe=bars.timeframe,
    )
    with cage.converse(encode_seat(seat), limits) as talk:
        patience_s = _PATIENCE * limits.wall_s
        host = RemoteHost(talk, run_limits, patience_s=patience_s)
        report = run_host(host, bars, config, limits=run_limits)
        outcome = host.ended or talk.finish()
    if host.is_late:
        reason = f"ran past {patience_s:g} s of wall time over all its answers"
        outcome = replace(outcome, end=CageEnd.TIMED_OUT, reason=reason, payload=None)
    elif host.broken is not None:
        outcome = broken(outcome, host.broken)
    elif host.ended is not None and outcome.end is CageEnd.FINISHED:
        outcome = broken(outcome, "an end before the last bar")
    return _Proven(report, outcome)
