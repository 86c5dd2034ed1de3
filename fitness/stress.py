"""Stresses: the same run under worse conditions, or on bars that differ by a breath. Whoever holds a cage runs them.

``STRESSES`` are changes of a ``RunConfig``; ``jitter_bars`` shakes prices by a tenth of their usual range.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.kernel.report import RunConfig
    from runtime.market.bars import Bars

JITTER_RANGES = 0.1
"""Size of the jitter: this share of the average true range."""
_RANGE_BARS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """One way to make conditions worse."""

    name: str
    """Stable id, stored with the result."""
    description: str
    """What changes, for people."""
    apply: Callable[[RunConfig], RunConfig]
    """The stressed configuration; the original is left alone."""


def double_costs(config: RunConfig) -> RunConfig:
    """Every cost twice: fees, fee minimum and slippage. Without slippage it is exactly linear in the traded notional."""
    costs = config.costs
    return replace(
        config,
        costs=replace(
            costs,
            fee_bps=2 * costs.fee_bps,
            fee_per_unit=2 * costs.fee_per_unit,
            fee_minimum=2 * costs.fee_minimum,
            slippage_bps=2 * costs.slippage_bps,
        ),
    )


def delay_one_bar(config: RunConfig) -> RunConfig:
    """Every order one bar later: an edge that lives on being first does not survive it."""
    return replace(config, decision_delay=config.decision_delay + 1)


STRESSES: tuple[Stress, ...] = (
    Stress(name="double-costs", description="fees and slippage twice as high", apply=double_costs),
    Stress(name="one-bar-late", description="every order one bar later", apply=delay_one_bar),
)
"""The stresses that pool admission runs, on train bars."""


def average_true_range(bars: Bars, window: int = _RANGE_BARS) -> np.ndarray:
    """Mean true range of the last ``window`` bars (fewer at the beginning), shape ``(n,)``, quote currency."""
    previous = np.append(bars.open[0], bars.close[:-1])
    ranges = np.maximum(bars.high, previous) - np.minimum(bars.low, previous)
    totals = np.cumsum(np.append(0.0, ranges))
    rows = np.arange(1, len(bars) + 1)
    begins = np.maximum(rows - window, 0)
    mean: np.ndarray = (totals[rows] - totals[begins]) / (rows - begins)
    return mean


def jitter_bars(bars: Bars, rng: np.random.Generator, *, size: float = JITTER_RANGES) -> Bars:
    """Bars that could have been: each price times ``exp(e)``, ``e`` normal with a spread of ``size`` average true ranges.

    High and low are moved out where they would no longer enclose the bar. Volume stays. A rule that reads more out of a
    price than that price is worth does not survive it.
    """
    if not len(bars):
        return bars
    spread = size * average_true_range(bars) / bars.close
    shaken = np.exp(rng.standard_normal((4, len(bars))) * spread)
    opening, high, low, close = (
        column * shake for column, shake in zip((bars.open, bars.high, bars.low, bars.close), shaken, strict=True)
    )
    everything = np.stack((opening, high, low, close))
    return replace(bars, open=opening, close=close, high=everything.max(axis=0), low=everything.min(axis=0))
