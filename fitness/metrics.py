"""``measure``: the figures of one run, from its first tradable bar on.

The same function reads a strategy and buy and hold, so both are judged by one rule. What it needs before it gives a
figure is stated here (30 returns for a Sharpe, 90 days for anything annual that compounds); the formulas are in
``fitness.ratios``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fitness.card import Metrics
from fitness.ratios import (
    SECONDS_PER_YEAR,
    annual_growth,
    calmar_ratio,
    max_drawdown,
    sharpe_ratio,
    simple_returns,
    sortino_ratio,
)
from fitness.score import seed_score
from runtime.model import Side

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Fill

# With fewer returns the standard error of a Sharpe ratio (about 1/sqrt(T) per bar) is larger than any ratio worth having.
MINIMUM_RETURNS = 30

# Annualising a shorter span is noise: 5% in 7 days compounds to 1,173% a year.
MINIMUM_YEARS = 90 * 86_400 / SECONDS_PER_YEAR

# What is left of 0.1 + 0.2 - 0.3 is not a position; the same share as in the kernel's books.
_DUST = 1e-9


class Span(NamedTuple):
    """The part of a run that is measured."""

    equity: NDArray[np.float64]
    """Starting cash, then equity at each close from the first tradable bar on, shape ``(bars + 1,)``, quote currency."""
    years: float
    """From the open of the first tradable bar to the end of the last one."""


def measured_span(report: RunReport, bars: Bars, config: RunConfig, *, first: int | None = None) -> Span:
    """Cut a run to the bars that count: from ``first`` (or the first tradable bar) to the end.

    Args:
        report: the run; its arrays cover all of ``bars``.
        bars: what it ran on.
        config: how it was run; its cash anchors the equity, so that a loss on the first bar is seen.
        first: row to start at whatever the report says, so that a candidate cannot shorten its own record in a cell.

    Raises:
        ValueError: the report does not belong to these bars, or holds a number that is not finite.
    """
    if len(report.equity) != len(bars) + 1 or len(report.position) != len(bars):
        raise ValueError(
            f"report of {len(report.position)} positions and {len(report.equity)} equity values: "
            f"{len(bars)} bars need {len(bars)} and {len(bars) + 1}"
        )
    for name, values in (("equity", report.equity), ("position", report.position)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} {int(np.argmin(np.isfinite(values)))} of the report is not finite")
    start = report.first_tradable_bar if first is None else first
    if start is None or start >= len(bars):
        return Span(np.array([config.cash]), 0.0)
    equity = np.concatenate(([config.cash], report.equity[start + 1 :]))
    seconds = int(bars.ts[-1] - bars.ts[start]) + bars.timeframe.seconds
    return Span(equity, seconds / SECONDS_PER_YEAR)


def measure(report: RunReport, bars: Bars, config: RunConfig, *, first: int | None = None) -> Metrics:
    """Figures of one run; what is undefined is None.

    Ratios are per bar, annualised by the instrument's bars per year. A run that never became tradable, or was never in the
    market, has no ratios. After a ruin there are no returns: the bar of the ruin counts as -100% and is the last one.

    Args:
        report: the run.
        bars: what it ran on.
        config: how it was run.
        first: row to start at instead of the report's first tradable bar (see ``measured_span``).

    Raises:
        ValueError: the report does not belong to these bars, or holds a number that is not finite.
    """
    span = measured_span(report, bars, config, first=first)
    length = len(span.equity) - 1
    returns = simple_returns(span.equity)
    enough = len(returns) >= MINIMUM_RETURNS
    bars_per_year = bars.instrument.bars_per_year
    sharpe = sharpe_ratio(returns, bars_per_year) if enough else None
    growth = annual_growth(span.equity, span.years) if span.years >= MINIMUM_YEARS else None
    drawdown = max_drawdown(span.equity)
    calmar = None if growth is None else calmar_ratio(growth, drawdown)
    trades = count_round_trips(report.fills)
    held = report.position[len(bars) - length :]
    return Metrics(
        total_return=float(span.equity[-1] / span.equity[0]) - 1.0,
        cagr=growth,
        sharpe=sharpe,
        sortino=sortino_ratio(returns, bars_per_year) if enough else None,
        calmar=calmar,
        max_drawdown=drawdown,
        turnover=_turnover(report.fills, span),
        exposure=float(np.mean(held != 0)) if length else 0.0,
        trades=trades,
        fees=float(sum(fill.fee for fill in report.fills)),
        final_equity=float(span.equity[-1]),
        seed_score=seed_score(sharpe=sharpe, calmar=calmar, trades=trades, bars=length),
    )


def count_round_trips(fills: Iterable[Fill]) -> int:
    """Closed round trips: how often the position came back to flat, or went through flat to the other side.

    Selling one position in thirty slices is one round trip, so the minimum of round trips cannot be met by slicing.
    """
    held = [0.0]
    for fill in fills:
        quantity = held[-1] + (fill.quantity if fill.side is Side.BUY else -fill.quantity)
        is_dust = abs(quantity) <= _DUST * abs(held[-1])
        held.append(0.0 if is_dust else quantity)
    return sum(before != 0 and before * after <= 0 for before, after in pairwise(held))


def _turnover(fills: Iterable[Fill], span: Span) -> float:
    """Traded notional (both sides) over mean equity at the closes, per year."""
    notional = sum(fill.quantity * fill.price for fill in fills)
    if not notional:
        return 0.0
    return float(notional / np.mean(span.equity[1:]) / span.years)
