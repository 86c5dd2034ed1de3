"""Bars without a past: the same bars in another order, so that nothing that came before says anything of what comes next.

Masters' permutation of bars (T. Masters, *Permutation and Randomization Tests for Trading System Development*, 2020): each bar
is taken apart into its overnight gap and its shape inside the day, in logs. Shapes are shuffled, gaps are shuffled apart from
them, and prices are put together again. Drift, volatility and tails stay, the last close too; every dependence in time is gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.bars import Bars


def permute_bars(bars: Mapping[str, Bars], rng: np.random.Generator, *, start: int = 0) -> dict[str, Bars]:
    """The same bars in a new order, one order for all symbols, so that what moves together goes on moving together.

    ``(high - open, low - open, close - open)`` in logs move with the volume under one permutation, the gaps
    ``open_t - close_(t-1)`` under another; stamps stay where they are.

    Args:
        bars: by symbol, all on the same stamps.
        rng: the only source of randomness.
        start: rows up to and including this one stay as they are.

    Raises:
        ValueError: the symbols have different stamps, or there is nothing to permute.
    """
    stamps = [one.ts for one in bars.values()]
    if not stamps or any(not np.array_equal(stamps[0], other) for other in stamps[1:]):
        raise ValueError("bars are permuted together only when all symbols have the same stamps")
    count = len(stamps[0]) - start - 1
    if start < 0 or count < 2:
        raise ValueError(f"{len(stamps[0])} bars from row {start} on: nothing to permute")
    shapes, gaps = rng.permutation(count), rng.permutation(count)
    return {symbol: _permuted(one, start, shapes, gaps) for symbol, one in bars.items()}


def _permuted(bars: Bars, start: int, shapes: np.ndarray, gaps: np.ndarray) -> Bars:
    first = start + 1
    opens, closes = np.log(bars.open[first:]), np.log(bars.close[first:])
    gap = (opens - np.log(bars.close[start:-1]))[gaps]
    rise = (closes - opens)[shapes]
    up, down = (np.log(bars.high[first:]) - opens)[shapes], (np.log(bars.low[first:]) - opens)[shapes]
    close = np.log(bars.close[start]) + np.cumsum(gap + rise)
    opening = close - rise
    columns: dict[str, Any] = {
        name: np.array(getattr(bars, name)) for name in ("open", "high", "low", "close", "volume")
    }
    columns["open"][first:], columns["close"][first:] = np.exp(opening), np.exp(close)
    # Logs and back leave a bit of rounding; a bar's high and low enclose its open and close exactly.
    ends = columns["open"][first:], columns["close"][first:]
    columns["high"][first:] = np.maximum(np.exp(opening + up), np.maximum(*ends))
    columns["low"][first:] = np.minimum(np.exp(opening + down), np.minimum(*ends))
    columns["volume"][first:] = columns["volume"][first:][shapes]
    return replace(bars, **columns)
