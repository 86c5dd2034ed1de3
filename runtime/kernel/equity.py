"""The equity curve, rebuilt from the rows on which cash or position changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runtime.kernel.portfolio import Mark


class Curve(NamedTuple):
    """Arrays of a run."""

    equity: NDArray[np.float64]
    """Shape ``(n_bars + 1,)``: starting cash, then equity at each close."""
    position: NDArray[np.float64]
    """Signed units at each close, shape ``(n_bars,)``."""


def mark(marks: Sequence[Mark], close: NDArray[np.float64], cash: float) -> Curve:
    """Carry cash and position forward over all bars and mark them at each close.

    Args:
        marks: changes in order of rows, the first one on row 0; the last one of a row counts.
        close: closes, shape ``(n_bars,)``.
        cash: starting cash, the first value of the curve.
    """
    rows, cashes, positions = zip(*marks, strict=True)
    # A mark counts until the next one's row; not at all when that is its own.
    bounds = np.array((*rows, len(close)), dtype=np.intp)
    lengths = bounds[1:] - bounds[:-1]
    position = np.repeat(np.array(positions), lengths)
    equity = np.empty(len(close) + 1)
    equity[0] = cash
    equity[1:] = np.repeat(np.array(cashes), lengths) + position * close
    return Curve(equity, position)
