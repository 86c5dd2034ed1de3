"""Niches: who earns at the same times. Strategies whose returns correlate at ``ALIKE`` or more are near-copies, whatever their texts say.

A trial's returns are kept as its *rhythm*: active returns on train, summed over ``BLOCKS`` stretches of equal length, as whole
numbers of one byte. Sums of products of whole numbers are exact, so who is alike does not depend on the machine, on the order of the
sums or on whether a run was resumed; and a rhythm is 256 bytes, however many bars there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BLOCKS = 256
"""Weeks of five years of daily bars. Single bars would tell two strategies apart by a fill that is a day late."""

ALIKE = 0.9
"""Least correlation of near-copies: four fifths of what one earns is what the other one earns."""

_LARGEST = 127  # 256 squares of it add up to less than 2**24: exact in single precision
_ROWS_AT_ONCE = 512


def rhythm_of(returns: NDArray[np.float32]) -> bytes:
    """When a strategy earned and lost: sums of its returns over ``BLOCKS`` stretches, about their mean, the largest as 127.

    Args:
        returns: per bar, shape ``(n,)``; with fewer bars than blocks some blocks are empty.

    Returns:
        ``BLOCKS`` signed bytes; all 0 when the returns never change.
    """
    series = np.asarray(returns, dtype=np.float64)
    if not len(series):
        return bytes(BLOCKS)
    running = np.concatenate([[0.0], np.cumsum(series - series.mean())])
    sums = np.diff(running[np.linspace(0, len(series), BLOCKS + 1).astype(int)])
    largest = np.abs(sums).max()
    # What is left of a constant by rounding is no rhythm.
    if largest <= 1e-9 * max(1.0, float(np.abs(series).max())):
        return bytes(BLOCKS)
    return bytes(np.rint(sums / largest * _LARGEST).astype(np.int8))


def alike(rhythms: Sequence[bytes | None]) -> NDArray[np.bool_]:
    """Who is a near-copy of whom, shape ``(n, n)``, symmetric. None, and a rhythm of zeros, is like nobody, itself included."""
    beats = np.array([np.frombuffer(each or bytes(BLOCKS), dtype=np.int8) for each in rhythms], dtype=np.float32)
    beats = beats.reshape(len(rhythms), BLOCKS)
    lengths = np.sqrt((beats.astype(np.float64) ** 2).sum(axis=1))
    lengths[lengths == 0] = np.inf
    found = np.empty((len(beats), len(beats)), dtype=bool)
    for begin in range(0, len(beats), _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        np.greater_equal(beats[rows] @ beats.T, (ALIKE * lengths[rows, None]) * lengths[None, :], out=found[rows])
    # The limit is a product of rounded factors; taking both ways round keeps it symmetric.
    return found | found.T


def are_alike(one: bytes | None, other: bytes | None) -> bool:
    """Whether two trials are near-copies.

    >>> import numpy as np
    >>> returns = np.array([0.01, -0.02, 0.005, 0.0], dtype=np.float32)
    >>> are_alike(rhythm_of(returns), rhythm_of(2 * returns)), are_alike(rhythm_of(returns), rhythm_of(-returns))
    (True, False)
    """
    return bool(alike([one, other])[0, 1])
