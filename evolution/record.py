"""What every trial leaves for the statistics: one series of active returns on train, with the bars that it was made on.

The number of trials that a Sharpe ratio has to be deflated by, their spread and their clusters come from these records, of all
nights, never from the pool. ``pooled_run`` is the one place that turns the reports of some cells into that series.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from evolution.interval import BarInterval
from fitness import SharpeSample, StampedReturns, pooled_active_returns, sharpe_sample
from fitness.evidence import run_returns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evolution.bench import BenchCell
    from fitness.evidence import RunReturns
    from runtime.kernel import RunReport

_STORED = np.dtype("<f4")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRecord:
    """One trial's active returns on train, pooled over symbols."""

    intervals: tuple[BarInterval, ...]
    """The scored bars, one interval per symbol."""
    sample: SharpeSample | None
    """Per bar; None without dispersion."""
    returns: bytes
    """Little-endian float32, one per bar of the pooled axis, 0 where a run had ended: enough for correlations."""

    def series(self) -> NDArray[np.float32]:
        """The returns, shape ``(n,)``."""
        return np.frombuffer(self.returns, dtype=_STORED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PooledRun:
    """Several cells as one series: at each stamp the equal-weight mean over the cells that have a bar there."""

    active: StampedReturns
    raw: StampedReturns
    market: StampedReturns


def pooled_run(cells: Sequence[BenchCell], reports: Sequence[RunReport]) -> PooledRun:
    """The series that all evidence is computed from.

    Args:
        cells: as they were run.
        reports: one per cell, finished.
    """
    runs = _returns(cells, reports)
    return PooledRun(
        active=pooled_active_returns([run.active for run in runs]),
        raw=pooled_active_returns([StampedReturns(run.ts, run.returns) for run in runs]),
        market=pooled_active_returns([StampedReturns(run.ts, run.market) for run in runs]),
    )


def active_record(cells: Sequence[BenchCell], reports: Sequence[RunReport]) -> ActiveRecord:
    """The record of a trial that ran over these cells."""
    active = pooled_active_returns([run.active for run in _returns(cells, reports)])
    axis = np.unique(np.concatenate([each.bars.ts[each.config.start :] for each in cells]))
    whole = np.zeros(len(axis), dtype=_STORED)
    whole[np.searchsorted(axis, active.ts)] = active.returns
    return ActiveRecord(intervals=_intervals(cells), sample=sharpe_sample(active.returns), returns=whole.tobytes())


def _returns(cells: Sequence[BenchCell], reports: Sequence[RunReport]) -> list[RunReturns]:
    return [
        run_returns(report, each.bars, each.config, first=each.config.start)
        for each, report in zip(cells, reports, strict=True)
    ]


def _intervals(cells: Sequence[BenchCell]) -> tuple[BarInterval, ...]:
    """From the first scored bar to the last one, per symbol."""
    by_symbol: dict[str, list[BenchCell]] = {}
    for each in cells:
        by_symbol.setdefault(each.cell.symbol, []).append(each)
    return tuple(
        BarInterval(
            symbol=symbol,
            timeframe=str(own[0].bars.timeframe),
            start=min(_moment(int(each.bars.ts[each.config.start])) for each in own),
            end=max(_moment(int(each.bars.ts[-1])) for each in own) + own[0].bars.timeframe.step,
        )
        for symbol, own in by_symbol.items()
    )


def _moment(stamp: int) -> datetime:
    return datetime.fromtimestamp(stamp, UTC)
