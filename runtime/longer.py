"""Indicators on longer bars than the run's own: made from the run's bars, and known from the close of each longer bar on.

On each row a series has the value of the last longer bar that is over at the row's close: its time has passed, or a bar of a later one
has come. So a value never changes afterwards and never knows more than the row does (a test cuts the bars at every row). Days and weeks
are those of UTC, weeks begin on Monday. A longer bar with which the data begin is left out unless they begin with it. Where a market closes
before its day or week is over in UTC, the longer bar counts from the next bar on: a bar late rather than a bar early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runtime.indicators import compute, lookback

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from runtime.desk import IndicatorCall

    Floats = NDArray[np.float64]

_DAY = 86_400
_WEEK = 7 * _DAY
# 1970-01-01 was a Thursday: weeks are counted from the Monday before it.
_FIRST_MONDAY = -3 * _DAY
_JOIN = {"high": np.maximum, "low": np.minimum, "volume": np.add}


def rows_before(call: IndicatorCall) -> int:
    """Rows at the start for which a declared series is undefined, at most.

    On longer bars of ``k`` rows and a lookback of ``n`` of them that is ``(n + 2) * k - 1``: a part of one that is left out, ``n + 1`` whole
    ones, and the row that shows that the last of them is over. Gaps make longer bars shorter, never longer.
    """
    own = lookback(call.name, dict(call.params))
    return own if call.longer is None else (own + 2) * call.longer.rows - 1


def values(call: IndicatorCall, ts: NDArray[np.int64], prices: Mapping[str, Floats]) -> Floats:
    """A declared series over whole columns, shape ``(n,)``; NaN where it is undefined.

    Args:
        call: the series.
        ts: open of each bar, seconds since 1970-01-01 UTC, shape ``(n,)``.
        prices: ``open``, ``high``, ``low``, ``close``, ``volume``, each of shape ``(n,)``.
    """
    if call.longer is None:
        return compute(call.name, prices, call.source, dict(call.params))
    step = call.longer.seconds // call.longer.rows
    origin = _FIRST_MONDAY if call.longer.seconds == _WEEK else 0
    # A bar belongs to the longer one in which it closes, so that none can come after the one that shows it to be over.
    buckets = (ts + step - 1 - origin) // call.longer.seconds
    begins = np.flatnonzero(np.diff(buckets, prepend=buckets[:1] - 1)) if len(ts) else np.zeros(0, dtype=np.intp)
    if len(begins) and ts[0] > buckets[0] * call.longer.seconds + origin:
        begins = begins[1:]
    out = np.full(len(ts), np.nan)
    if not len(begins):
        return out
    # A bar that is not over is never read, and no value of the registry depends on a later one.
    made = compute(call.name, _joined(prices, begins), call.source, dict(call.params))
    place = np.searchsorted(begins, np.arange(len(ts)), side="right") - 1
    is_over = ts + step == (buckets + 1) * call.longer.seconds + origin
    known = place - 1 + is_over
    out[known >= 0] = made[known[known >= 0]]
    return out


def _joined(prices: Mapping[str, Floats], begins: NDArray[np.intp]) -> dict[str, Floats]:
    first = begins[0]
    ends = np.append(begins[1:], len(prices["close"])) - 1
    joined = {name: join.reduceat(prices[name][first:], begins - first) for name, join in _JOIN.items()}
    return {**joined, "open": prices["open"][begins], "close": prices["close"][ends]}
