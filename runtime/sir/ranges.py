"""Minima of a column over any stretch of it, and where it first comes down to a level, for many stretches at once.

A table holds the minima of all stretches of 1, 2, 4, 8, ... rows. Any stretch is covered by two of them; and the first row at or below
a level is found by skipping the longest stretches that stay above it. So a question costs the same however long its stretch is.
Maxima are minima of the negated column: negation is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float64]


class Minima:
    """The table of one column.

    Args:
        column: shape ``(n,)``, finite.
        longest: rows of the longest stretch that is asked for.
    """

    def __init__(self, column: Floats, longest: int) -> None:
        # A level that everything reaches stands behind the last row, so that no search leaves the table.
        rows = [np.append(column, -np.inf)]
        width = 1
        while width <= longest and width < len(column):
            wider = rows[-1].copy()
            np.minimum(rows[-1][:-width], rows[-1][width:], out=wider[:-width])
            wider[-width:] = -np.inf
            rows.append(wider)
            width *= 2
        self._table = np.stack(rows)

    @property
    def size(self) -> int:
        """Values in the table."""
        return self._table.size

    def of(self, starts: Rows, stops: Rows) -> Floats:
        """The minimum of each stretch, start included and stop excluded; infinite for an empty one."""
        lengths = stops - starts
        level = np.frexp(np.maximum(lengths, 1))[1] - 1
        ends = np.maximum(stops - (1 << level), 0)
        found: Floats = np.minimum(self._table[level, starts], self._table[level, ends])
        return np.where(lengths > 0, found, np.inf)

    def first(self, starts: Rows, levels: Floats) -> Rows:
        """The first row from each start on that is at or below the level there.

        The number of rows, or any row that lies further from the start than the longest stretch, when there is none within it.
        """
        at = starts.copy()
        for power in range(len(self._table) - 1, -1, -1):
            at += (self._table[power][at] > levels) << power
        return at
