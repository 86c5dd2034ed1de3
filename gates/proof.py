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
from typing import TYPE_CHECKING

from gates.admit import ENTRY, Evaluation, bars_in, broken, judge_text
from gates.findings import Admitted, Rejected
from gates.wire import Seat, encode_bars, encode_seat
from runtime.cage import CageEnd, CageLimits, CageMode, CageOutcome, open_cage
from runtime.kernel import RemoteHost, RunLimits, run_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
        return f"{self.what}{place}: {self.fast or 'nothing'} in the fast run, {self.proof or 'nothing'} in the proof run"


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
    verdict = judge_text(source)
    if isinstance(verdict, Rejected):
        return Evaluation(verdict=verdict, outcome=None, reports=())
    admitted = Admitted(source=source, class_name=verdict)
    reports, outcomes = [], []
    for cell in cells:
        report, outcome = _prove_cell(source, cage, cell.bars(bars[cell.key]), replace(config, start=cell.warmup), limits)
        outcomes.append(outcome)
        reports.append(report)
        if outcome.end is not CageEnd.FINISHED:
            return Evaluation(verdict=admitted, outcome=_sum_of(outcomes), reports=())
    return Evaluation(verdict=admitted, outcome=_sum_of(outcomes), reports=tuple(reports))
