"""The bench: the cells that candidates are tried on, and what an evaluator of them promises.

A cell carries its bars with their warm-up, how to run them, and what buy and hold made of them: all of it ours, nothing a child's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from fitness import measure
from gates import CellJob
from runtime.kernel import buy_and_hold
from runtime.market import WARMUP_BARS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fitness import Metrics
    from gates import Evaluation
    from runtime.kernel import RunConfig, RunReport
    from runtime.market import Bars, Cell
    from runtime.source import StrategySource

# Folds of the probe window; fewer when there are not more folds than that.
PROBE_FOLDS = 2


class Evaluator(Protocol):
    """Judges a source and runs it over the cells of a bench.

    May be called from several threads at once. The same source gives the same reports, in the order of the bench's cells. It
    returns for every source, however hostile, and raises only when the machine or the caller is broken.
    """

    def evaluate(
        self, source: StrategySource, *, goes_on: Callable[[Sequence[RunReport]], bool] | None = None
    ) -> Evaluation:
        """Gates first; if they admit the source, one run per cell, until ``goes_on`` has seen enough."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCell:
    """A cell ready to run: its bars with their warm-up, how to run them, and what buy and hold made of them."""

    cell: Cell
    job: CellJob
    bars: Bars
    """The warm-up rows, then the cell's own rows."""
    config: RunConfig
    """``config.start`` is the first of the cell's own rows, the first that is traded and scored."""
    buy_and_hold: Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBench:
    """All cells that a candidate is tried on, with the benchmark of each. Made once, shared by all trials."""

    cells: tuple[BenchCell, ...]
    """Fold by fold, oldest first; within a fold symbol by symbol."""
    config: RunConfig
    """What all runs have in common; ``start`` differs from cell to cell."""

    @classmethod
    def build(cls, bars: Mapping[str, Bars], cells: Sequence[Cell], config: RunConfig) -> CellBench:
        """Cut the bars and run buy and hold once per cell: same kernel, bars, cash, fees and first tradable bar.

        Args:
            bars: by symbol, reaching at least to the end of each cell.
            cells: what is traded and scored, in rows of the symbol's bars.
            config: cash, costs and account; its ``start`` is replaced cell by cell.

        Raises:
            ValueError: there are no cells, or a cell does not lie within its bars.
        """
        if not cells:
            raise ValueError("a bench needs at least one cell")
        folds = {fold: place for place, fold in enumerate(dict.fromkeys(cell.fold for cell in cells))}
        ordered = sorted(cells, key=lambda cell: folds[cell.fold])
        return cls(cells=tuple(_cell(bars[cell.symbol], cell, config) for cell in ordered), config=config)

    @property
    def jobs(self) -> tuple[CellJob, ...]:
        """What ``gates.evaluate`` is asked to run, in order."""
        return tuple(each.job for each in self.cells)

    @property
    def fold_ends(self) -> tuple[int, ...]:
        """After how many cells a fold is done, and another one follows."""
        folds = [each.cell.fold for each in self.cells]
        return tuple(count for count in range(1, len(folds)) if folds[count] != folds[count - 1])

    @property
    def probe_cells(self) -> int:
        """How many cells the probe window has (``PROBE_FOLDS``)."""
        return (*self.fold_ends, len(self.cells))[:PROBE_FOLDS][-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """A source run on some cells."""

    cells: tuple[BenchCell, ...]
    """The cells as they were run, each with its bars and its configuration."""
    evaluation: Evaluation
    """Reports in the order of the cells; none unless the source was admitted and the cage finished."""


def _cell(bars: Bars, cell: Cell, config: RunConfig) -> BenchCell:
    if not 0 <= cell.start < cell.stop <= len(bars):
        raise ValueError(f"cell {cell.fold} of {cell.symbol}: rows {cell.start}..{cell.stop} of {len(bars)} bars")
    warmup = min(WARMUP_BARS, cell.start)
    job = CellJob(key=cell.symbol, start=cell.start, stop=cell.stop, warmup=warmup)
    rows = job.bars(bars)
    run = replace(config, start=warmup)
    benchmark = buy_and_hold(rows, run, first_tradable_bar=warmup)
    return BenchCell(
        cell=cell,
        job=job,
        bars=rows,
        config=run,
        buy_and_hold=measure(benchmark, rows, run, first=warmup),
    )
