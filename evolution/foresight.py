"""The cheap check for look-ahead that a search can afford: the same past with another future must give the same orders.

``NoiseBench`` holds one cell per fold with everything after its middle replaced by a random walk, of which the beginning is run. Its bars go into a cage of
their own (``gates.open_gate_cage(noise.bars)``), whose processes have never held the true ones. ``looks_ahead`` runs a candidate
there and compares its orders up to the cut with those of the run that was scored.

What passes has used nothing later on these cells, in these runs. The proof run at admission (``gates.prove``) shows it by
construction, for every bar; this one keeps a hole in the engine or the cage from steering a search that lasts all night.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gates import CellJob, Rejected
from runtime.cage.outcome import CageEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.bench import CellBench, Evaluator
    from runtime.kernel import RunConfig, RunReport
    from runtime.market import Bars
    from runtime.source import StrategySource

_SEED = 20_261_201
# One in so many bars of the other future are run: only orders before it are compared, and a leak that reaches further finds the end.
_SHOWN = 4
# Of log returns, for a past without any movement.
_LEAST_NOISE = 0.001


class Suspicion(NamedTuple):
    """Why a candidate's score does not count."""

    reason: str
    is_kill: bool
    """The run on noise did not come to its end: nobody can tell, and the machine may be to blame."""


class NoiseCell(NamedTuple):
    """One cell with another future."""

    place: int
    """Which cell of the bench it was made from."""
    job: CellJob
    cut: int
    """First row, counted from the warm-up's first, that is noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseBench:
    """Cells with another future, one per fold, over the symbols in turn."""

    cells: tuple[NoiseCell, ...]
    bars: dict[str, Bars]
    """By the keys of the jobs; for a cage of their own."""
    config: RunConfig
    """That of the bench."""

    @classmethod
    def build(cls, bench: CellBench) -> NoiseBench:
        """Replace the later half of some cells; the same bench always gets the same noise."""
        cells, bars = [], {}
        for number, place in enumerate(_one_per_fold(bench)):
            each = bench.cells[place]
            cut = each.config.start + (len(each.bars) - each.config.start) // 2
            stop = cut + (len(each.bars) - cut) // _SHOWN
            job = CellJob(key=f"noise-{number}", start=each.config.start, stop=stop, warmup=each.config.start)
            bars[job.key] = with_noise_from(each.bars, cut, np.random.default_rng([_SEED, number]))
            cells.append(NoiseCell(place, job, cut))
        return cls(cells=tuple(cells), bars=bars, config=bench.config)

    @property
    def jobs(self) -> tuple[CellJob, ...]:
        """What an evaluator is asked to run, in order."""
        return tuple(cell.job for cell in self.cells)


def looks_ahead(
    source: StrategySource, reports: Sequence[RunReport], noise: NoiseBench, evaluator: Evaluator
) -> Suspicion | None:
    """Whether a candidate's orders depend on bars that came after them.

    Args:
        source: the candidate.
        reports: of its run on the bench that ``noise`` was built from, one per cell of that bench.
        noise: the same cells with another future.
        evaluator: runs the source over them.
    """
    evaluation = evaluator.evaluate(source)
    outcome = evaluation.outcome
    if isinstance(evaluation.verdict, Rejected):
        return Suspicion(
            f"admitted once, and on bars with another future not: {evaluation.verdict.reason}", is_kill=False
        )
    if outcome is None or outcome.end is not CageEnd.FINISHED:
        ended = "there was no outcome" if outcome is None else f"the run {outcome.reason}"
        return Suspicion(f"on bars with another future {ended}", is_kill=True)
    for cell, other in zip(noise.cells, evaluation.reports, strict=True):
        row = _first_difference(reports[cell.place], other, cell.cut)
        if row is not None:
            return Suspicion(
                f"looks ahead: its orders at row {row} of cell {cell.place + 1} depend on later bars", is_kill=False
            )
    return None


def with_noise_from(bars: Bars, row: int, rng: np.random.Generator) -> Bars:
    """The same bars up to ``row``, and from there a random walk that moves as much as they did.

    Log returns are normal with the standard deviation of the past's; opens, highs and lows are drawn around them, volumes
    from the past's. Stamps stay.

    Args:
        bars: more than ``row`` of them.
        row: first row of noise, at least 2.
        rng: the noise.
    """
    n = len(bars) - row
    past = np.diff(np.log(bars.close[:row]))
    scale = max(float(past.std()), _LEAST_NOISE)
    close = bars.close[row - 1] * np.exp(np.cumsum(rng.normal(0.0, scale, n)))
    open_ = np.concatenate([bars.close[row - 1 : row], close[:-1]]) * np.exp(rng.normal(0.0, scale / 4, n))
    high = np.maximum(open_, close) * np.exp(np.abs(rng.normal(0.0, scale / 2, n)))
    low = np.minimum(open_, close) * np.exp(-np.abs(rng.normal(0.0, scale / 2, n)))
    return replace(
        bars,
        open=np.concatenate([bars.open[:row], open_]),
        high=np.concatenate([bars.high[:row], high]),
        low=np.concatenate([bars.low[:row], low]),
        close=np.concatenate([bars.close[:row], close]),
        volume=np.concatenate([bars.volume[:row], rng.choice(bars.volume[:row], n)]),
    )


def _one_per_fold(bench: CellBench) -> list[int]:
    by_fold: dict[str, list[int]] = {}
    for place, each in enumerate(bench.cells):
        by_fold.setdefault(each.cell.fold, []).append(place)
    return [places[number % len(places)] for number, places in enumerate(by_fold.values())]


def _first_difference(report: RunReport, other: RunReport, cut: int) -> int | None:
    """The first row before ``cut`` on which one asked for what the other did not; None when they are equal so far."""
    mine, theirs = (
        [(entry.row, entry.action) for entry in each.order_log if entry.row < cut] for each in (report, other)
    )
    different = [pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]]
    if different:
        return min(different[0][0][0], different[0][1][0])
    longer = max(mine, theirs, key=len)[min(len(mine), len(theirs)) :]
    return longer[0][0] if longer else None
