"""Makes the exhibits of one candidate: runs it on train, under stress, in many versions, and once on validation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evolution.interval import BarInterval, intervals_of
from evolution.pool.exhibits import Variants
from evolution.pool.perturbation import neighbours_of
from evolution.pool.proof import compare_runs
from evolution.pool.segment import Measured, SegmentFigures, measure_run, read_validation, run_segment
from fitness.stress import jitter_bars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.bench import BenchRun
    from evolution.census import Census, TrialCensus
    from evolution.pool.entry import Binding
    from evolution.pool.exhibits import ReadPermit
    from evolution.pool.proof import Proof
    from evolution.pool.readings import ValidationReads
    from evolution.pool.segment import Runner, Segment, SegmentFailure
    from evolution.trial import Trial
    from runtime.kernel.report import RunConfig
    from runtime.market import Bars, Cell, DataSet
    from runtime.source import StrategySource

JITTERS = 5
"""Shaken versions of the train bars; the median over them is judged."""
_JITTER_SEED = 20_261_130


def admission_bars(dataset: DataSet) -> dict[str, Bars]:
    """Everything that an admission runs on, under the keys that it asks for: open its cage with these.

    The search part of the set, and shaken copies of train. The copies follow from the bars alone, so every candidate of every
    night meets the same ones.
    """
    return {**dataset.bars, **_shaken(dataset)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateBench:
    """The exhibits of one trial (``evolution.pool.exhibits.Bench``)."""

    trial: Trial
    binding: Binding
    dataset: DataSet
    runner: Runner
    config: RunConfig
    reads: ValidationReads
    trials: TrialCensus
    workers: int = 1
    """Versions that run at the same time."""
    _fast_runs: list[BenchRun] = field(default_factory=list, init=False, repr=False, compare=False)
    """The one fast run on train, once it was made."""

    def base(self) -> Measured | SegmentFailure:
        """As the search ran it."""
        return measure_run(self._fast(), expected=len(self.dataset.train_cells()))

    def census(self) -> Census:
        """Over the scored bars of train."""
        return self.trials.over(intervals_of(self.dataset.bars, self.dataset.train_cells()))

    def stress(self, config: RunConfig) -> Segment:
        """On the train cells."""
        return run_segment(self.runner, self._source, self.dataset.bars, self.dataset.train_cells(), config)

    def neighbours(self) -> Variants:
        """Each on the train cells."""
        cells = self.dataset.train_cells()
        return self._variants(
            [_Version(each.source, self.dataset.bars, cells) for each in neighbours_of(self._source)],
        )

    def jitter(self) -> Variants:
        """On the train cells of each shaken copy."""
        bars = _shaken(self.dataset)
        versions = [
            _Version(
                self._source,
                bars,
                tuple(replace(cell, symbol=_key(cell.symbol, number)) for cell in self.dataset.train_cells()),
            )
            for number in range(JITTERS)
        ]
        return self._variants(versions)

    def proof(self) -> Proof | SegmentFailure:
        """On the train cells."""
        cells = self.dataset.train_cells()
        proof = self.runner.prove(self._source, self.dataset.bars, cells, self.config)
        return compare_runs(self.trial, self._fast(), proof, cells=len(cells))

    def permit(self) -> ReadPermit:
        """From the ledger of validation reads."""
        return self.reads.permit(self.trial.candidate, self._intervals(), self.binding)

    def validation(self) -> Segment:
        """The stored verdict, or the one read."""
        intervals, candidate = self._intervals(), self.trial.candidate
        known = self.reads.verdict(candidate, intervals)
        if known is not None:
            return known
        cells = self.dataset.validation_cells()
        found = read_validation(self.runner, candidate.source, self.dataset.bars, cells, self.config)
        return self.reads.record(candidate, intervals, self.binding, found)

    def _fast(self) -> BenchRun:
        """On the train cells, as the search ran it: evidence and proof run are held against the same one."""
        if not self._fast_runs:
            cells = self.dataset.train_cells()
            self._fast_runs.append(self.runner.run(self._source, self.dataset.bars, cells, self.config))
        return self._fast_runs[0]

    @property
    def _source(self) -> StrategySource:
        return self.trial.candidate.source

    def _intervals(self) -> tuple[BarInterval, ...]:
        return intervals_of(self.dataset.bars, self.dataset.validation_cells())

    def _variants(self, versions: Sequence[_Version]) -> Variants:
        def run(version: _Version) -> Segment:
            return run_segment(self.runner, version.source, version.bars, version.cells, self.config)

        with ThreadPoolExecutor(max_workers=max(1, self.workers)) as pool:
            found = list(pool.map(run, versions))
        ratios = [each.active_sharpe for each in found if isinstance(each, SegmentFigures)]
        return Variants(active_sharpes=tuple(ratio for ratio in ratios if ratio is not None), asked=len(versions))


class _Version(NamedTuple):
    """One run of many."""

    source: StrategySource
    bars: Mapping[str, Bars]
    cells: tuple[Cell, ...]


def _shaken(dataset: DataSet) -> dict[str, Bars]:
    return {
        _key(symbol, number): jitter_bars(bars, np.random.default_rng([_JITTER_SEED, number, place]))
        for number in range(JITTERS)
        for place, (symbol, bars) in enumerate(dataset.train_bars().items())
    }


def _key(symbol: str, number: int) -> str:
    return f"{symbol}~{number}"
