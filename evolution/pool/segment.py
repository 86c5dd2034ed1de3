"""What a source does on one stretch of bars: the few figures that admission and promotion judge.

A ``Runner`` is passed in by the caller and runs the source in a cage; what comes back is measured here, with the same
functions as in the search. The evidence is one series: per timestamp the mean over symbols of active returns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from evolution.evaluate import scorecard_of
from evolution.kills import MACHINE_ENDS, is_kill
from evolution.record import PooledRun, pooled_run
from fitness import SharpeSample, measure, probabilistic_sharpe, sharpe_sample
from fitness.metrics import MINIMUM_RETURNS
from gates.findings import Rejected
from runtime.cage.outcome import CageEnd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.bench import BenchRun
    from fitness import Objectives
    from runtime.kernel import RunConfig
    from runtime.market import Bars, Cell
    from runtime.source import StrategySource


class Runner(Protocol):
    """Runs a source on given cells in a way of the caller's choosing.

    Deterministic: the same source, cells and configuration give the same reports. A bad source is a value in the
    ``Evaluation``; an exception means that the machine or the caller is broken.
    """

    def run(
        self, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
    ) -> BenchRun:
        """Gates first; if they admit the source, one run per cell, the warm-up rows before it not traded."""
        ...

    def prove(
        self, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
    ) -> BenchRun:
        """The same runs of a source that the gates have admitted, in a way in which it can neither look ahead nor forge."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFigures:
    """A source on one segment (all its cells)."""

    bars: int
    """Scored bars, summed over cells."""
    trades: int
    """Closed round trips, summed over cells."""
    max_drawdown: float
    """Worst cell, as a fraction of the previous peak; 1 when ruined."""
    active_sharpe: float | None
    """Of the pooled active returns, annualised; None below 30 returns or without dispersion."""
    psr: float | None
    """Probability that the true Sharpe ratio of the pooled active returns is above 0; None like ``active_sharpe``."""
    objectives: Objectives | None = None
    """What the search would compare, on this segment; only for the report, and only where a read of validation was made anyway.
    None elsewhere, when undefined, and for reads of earlier versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFailure:
    """A source that did not get to the end of a segment."""

    reason: str
    """One line, in our own words."""
    is_repeatable: bool
    """False when the machine may be to blame (a kill): then it says nothing about the source."""


Segment = SegmentFigures | SegmentFailure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """A source on one segment, with the series that its figures were made from."""

    figures: SegmentFigures
    pooled: PooledRun
    sample: SharpeSample | None
    """Of the active returns; None below 30 of them or without dispersion."""
    bars_per_year: float


def run_segment(
    runner: Runner, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
) -> Segment:
    """Run a source on a segment and measure it."""
    found = measure_segment(runner, source, bars, cells, config)
    return found.figures if isinstance(found, Measured) else found


def measure_segment(
    runner: Runner, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
) -> Measured | SegmentFailure:
    """Run a source on a segment, measure it, and keep its returns."""
    return measure_run(runner.run(source, bars, cells, config), expected=len(cells))


def prove_segment(
    runner: Runner, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
) -> Segment:
    """``run_segment`` with proof runs: the figures rest on nothing that the source's process says of itself."""
    found = measure_run(runner.prove(source, bars, cells, config), expected=len(cells))
    return found.figures if isinstance(found, Measured) else found


def read_validation(
    runner: Runner, source: StrategySource, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig
) -> Segment:
    """``prove_segment``, with the objectives for the report."""
    run = runner.prove(source, bars, cells, config)
    found = measure_run(run, expected=len(cells))
    if isinstance(found, SegmentFailure):
        return found
    card = scorecard_of(run)
    return replace(found.figures, objectives=None if card is None else card.objectives)


def measure_run(run: BenchRun, *, expected: int) -> Measured | SegmentFailure:
    """Measure a run over so many cells, or say why it cannot be measured.

    Raises:
        ValueError: the runner gave other reports than were asked for.
    """
    failure = failure_of_run(run, expected=expected)
    return _measured(run) if failure is None else failure


def failure_of_run(run: BenchRun, *, expected: int) -> SegmentFailure | None:
    """Why a run cannot be measured; None when it can.

    Raises:
        ValueError: the runner gave other reports than were asked for.
    """
    evaluation = run.evaluation
    verdict, outcome = evaluation.verdict, evaluation.outcome
    if isinstance(verdict, Rejected):
        return SegmentFailure(reason=verdict.reason, is_repeatable=not is_kill(verdict.findings))
    if outcome is None:
        return SegmentFailure(reason="the cage gave no outcome", is_repeatable=False)
    if outcome.end is not CageEnd.FINISHED:
        return SegmentFailure(reason=outcome.reason, is_repeatable=outcome.end not in MACHINE_ENDS)
    if len(evaluation.reports) != expected or len(run.cells) != expected:
        raise ValueError(f"a runner gave {len(evaluation.reports)} reports of {len(run.cells)} cells for {expected}")
    for report in evaluation.reports:
        if report.end.value != "finished":
            where = "" if report.failure is None else f": {report.failure.exception} in {report.failure.hook}"
            return SegmentFailure(reason=f"the strategy {report.end.value}{where}", is_repeatable=True)
    return None


def _measured(run: BenchRun) -> Measured:
    pairs = list(zip(run.cells, run.evaluation.reports, strict=True))
    metrics = [measure(report, each.bars, each.config, first=each.config.start) for each, report in pairs]
    pooled = pooled_run(run.cells, run.evaluation.reports)
    active = pooled.active.returns
    sample = sharpe_sample(active) if len(active) >= MINIMUM_RETURNS else None
    bars_per_year = run.cells[0].bars.instrument.bars_per_year
    figures = SegmentFigures(
        bars=sum(len(each.bars) - each.config.start for each in run.cells),
        trades=sum(each.trades for each in metrics),
        max_drawdown=max(
            1.0 if report.ruined else each.max_drawdown for each, (_, report) in zip(metrics, pairs, strict=True)
        ),
        active_sharpe=None if sample is None else sample.sharpe * math.sqrt(bars_per_year),
        psr=probabilistic_sharpe(sample),
    )
    return Measured(figures=figures, pooled=pooled, sample=sample, bars_per_year=bars_per_year)
