"""The verdict on results: metrics of one run, and the scorecard of a candidate over all its cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fitness.trades import TradeDigest


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Figures of one run from its first tradable bar on. None means undefined, never 0, NaN or inf."""

    total_return: float
    """Final equity over starting cash, minus 1."""
    cagr: float | None
    """Compound annual growth; None below 90 days."""
    sharpe: float | None
    """Annualised, simple returns per bar, ddof 1, risk-free 0; None below 30 returns or without dispersion."""
    sortino: float | None
    calmar: float | None
    """CAGR over maximum drawdown; None without drawdown or without CAGR."""
    max_drawdown: float
    """Deepest fall from a previous peak as a fraction of that peak (0..1); the first peak is the starting cash."""
    turnover: float
    """Traded notional over mean equity, per year."""
    exposure: float
    """Share of bars with a position at the close."""
    trades: int
    """Closed round trips."""
    fees: float
    """Quote currency."""
    final_equity: float
    seed_score: float | None
    """``sharpe + 0.3 * calmar - 0.10 * trades per 100 bars``; None when the Sharpe is, a None Calmar counts 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One cell (fold x symbol): the candidate beside buy and hold on the same bars."""

    symbol: str
    fold: str
    """``train-1`` ... ``train-4``, ``validation`` or ``vault``."""
    metrics: Metrics
    buy_and_hold: Metrics
    ruined: bool
    trading: TradeDigest | None = None
    """How it traded; None without a closed round trip, and for cells that were stored before there was a digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """What selection compares; all finite."""

    sharpe: float
    """Maximised: mean - 0.5 sd over cells, clipped to +-5 per cell."""
    calmar: float
    """Maximised: mean - 0.5 sd over cells, clipped to +-5 per cell."""
    turnover: float
    """Minimised: mean + 0.5 sd over cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """A candidate's result over all its cells."""

    cells: tuple[CellResult, ...]
    objectives: Objectives | None
    """None when fewer than three quarters of the cells are defined."""
    violation: float
    """0 means feasible; larger is worse. Vetoes and their sizes added up (``fitness.objectives``)."""
    vetoes: tuple[str, ...]
    """One sentence per broken constraint, with figure and limit."""
    score: float | None
    """Mean seed score over cells. For people and comparison; it does not select."""
    benchmark_score: float | None
    """Buy and hold's mean seed score on the same cells."""
    beats_buy_and_hold: bool
    trades: int
    """Closed round trips over all cells."""
    max_drawdown: float
    """Worst cell."""
