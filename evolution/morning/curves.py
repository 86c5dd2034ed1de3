"""How a candidate's money grew on train, beside buy and hold: one curve from all its cells.

Within a fold the cells of all symbols count alike; from fold to fold the growth is chained, though each fold began with fresh cash
and nothing carried in. Validation and vault never come in here: the cells are those that the search itself ran on.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from runtime.kernel import buy_and_hold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evolution.bench import BenchCell
    from runtime.kernel import RunReport

    Floats = NDArray[np.float64]

# Enough that a phone's and a printer's pixels hold no more; the lowest and highest of each stretch are kept, so no fall is lost.
_MOST_POINTS = 360
_KEPT_PER_STRETCH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A candidate and buy and hold over the same train cells, thinned for drawing."""

    stamps: tuple[int, ...]
    """Seconds since 1970 UTC, increasing: the start of the first fold, then closes by the open of their bar."""
    strategy: tuple[float, ...]
    """What 1 became, fees included."""
    benchmark: tuple[float, ...]
    strategy_fall: tuple[float, ...]
    """How far below its last peak, as a fraction (0..1)."""
    benchmark_fall: tuple[float, ...]
    folds: tuple[tuple[str, int], ...]
    """Name and first stamp of each fold, oldest first."""
    deepest: tuple[float, float]
    """The deepest fall of the candidate and of buy and hold, before thinning."""

    def document(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)

    @classmethod
    def of_document(cls, document: dict[str, Any]) -> Curve:
        """Read one back.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        numbers = {
            field.name: tuple(float(each) for each in document[field.name])
            for field in fields(cls)
            if field.name not in {"stamps", "folds", "deepest"}
        }
        deepest, benchmark_deepest = (float(each) for each in document["deepest"])
        curve = cls(
            stamps=tuple(int(each) for each in document["stamps"]),
            folds=tuple((str(name), int(stamp)) for name, stamp in document["folds"]),
            deepest=(deepest, benchmark_deepest),
            **numbers,
        )
        if {len(each) for each in numbers.values()} != {len(curve.stamps)} or len(curve.stamps) < 2 or not curve.folds:
            raise ValueError("the series of a curve are of different lengths")
        if not all(np.isfinite(each).all() for each in numbers.values()):
            raise ValueError("a curve holds a number that is not finite")
        return curve


class _Stretch(NamedTuple):
    """One fold: growth from 1, at its own stamps."""

    stamps: NDArray[np.int64]
    strategy: Floats
    benchmark: Floats


def curve_of(cells: Sequence[BenchCell], reports: Sequence[RunReport]) -> Curve | None:
    """The curve of a finished run over these cells; None when there is nothing to draw.

    Args:
        cells: fold by fold, as they were run.
        reports: one per cell.
    """
    folds = list(dict.fromkeys(each.cell.fold for each in cells))
    stretches = [
        _stretch([(each, report) for each, report in zip(cells, reports, strict=True) if each.cell.fold == fold])
        for fold in folds
    ]
    if not stretches or any(len(each.stamps) == 0 for each in stretches):
        return None
    stamps = np.concatenate([stretches[0].stamps[:1] - 1, *(each.stamps for each in stretches)])
    strategy = _chained([each.strategy for each in stretches])
    benchmark = _chained([each.benchmark for each in stretches])
    falls, benchmark_falls = _falls(strategy), _falls(benchmark)
    kept = _thinned(len(stamps), (strategy, benchmark, falls))
    return Curve(
        stamps=tuple(int(each) for each in stamps[kept]),
        strategy=_rounded(strategy[kept]),
        benchmark=_rounded(benchmark[kept]),
        strategy_fall=_rounded(falls[kept]),
        benchmark_fall=_rounded(benchmark_falls[kept]),
        folds=tuple((fold, int(each.stamps[0])) for fold, each in zip(folds, stretches, strict=True)),
        deepest=(float(falls.max()), float(benchmark_falls.max())),
    )


def _stretch(pairs: Sequence[tuple[BenchCell, RunReport]]) -> _Stretch:
    """The mean over a fold's symbols. A symbol without a bar at some stamp stays at its last value."""
    axis = np.unique(np.concatenate([cell.bars.ts[cell.config.start :] for cell, _ in pairs]))
    own: list[Floats] = []
    market: list[Floats] = []
    for cell, report in pairs:
        start = cell.config.start
        held = buy_and_hold(cell.bars, cell.config, first_tradable_bar=start)
        rows = np.searchsorted(cell.bars.ts[start:], axis, side="right")
        for into, equity in ((own, report.equity), (market, held.equity)):
            growth = np.concatenate(([1.0], equity[start + 1 :] / cell.config.cash))
            into.append(growth[rows])
    return _Stretch(axis, np.mean(own, axis=0), np.mean(market, axis=0))


def _chained(parts: Sequence[Floats]) -> Floats:
    level, chained = 1.0, [np.array([1.0])]
    for part in parts:
        chained.append(level * part)
        level *= float(part[-1])
    return np.concatenate(chained)


def _falls(growth: Floats) -> Floats:
    peak = np.maximum.accumulate(growth)
    return np.asarray(1.0 - growth / peak)


def _thinned(length: int, series: Sequence[Floats]) -> NDArray[np.int64]:
    """Rows to keep: both ends, and of each stretch where a series is lowest and highest."""
    if length <= _MOST_POINTS:
        return np.arange(length)
    edges = np.linspace(0, length, _MOST_POINTS // _KEPT_PER_STRETCH + 1).astype(int)
    kept = {0, length - 1}
    for begin, end in pairwise(edges):
        for one in series:
            kept |= {begin + int(one[begin:end].argmin()), begin + int(one[begin:end].argmax())}
    return np.array(sorted(kept))


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(each), 6) for each in values)
