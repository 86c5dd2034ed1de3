"""Figures of a run that does well, for tests that need some and do not care which."""

from __future__ import annotations

from fitness.card import Metrics

METRICS = Metrics(
    total_return=0.5,
    cagr=0.1,
    sharpe=1.0,
    sortino=1.4,
    calmar=0.5,
    max_drawdown=0.2,
    turnover=8.0,
    exposure=0.6,
    trades=40,
    fees=123.0,
    final_equity=150_000.0,
    seed_score=1.1,
)
