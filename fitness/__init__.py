"""Verdicts on results: what a run is worth, and how far that worth can be trusted.

``measure`` turns one run into ``Metrics`` (formulas in ``fitness.ratios``); ``score_cells`` sums a candidate's cells up to
a ``Scorecard``: objectives for selection, vetoes with figure and limit, and the seed score that people compare.
``active_returns``, ``probabilistic_sharpe``, ``deflated_sharpe`` and the lengths of record (``fitness.evidence``) ask whether a
Sharpe ratio is more than luck after so many trials; ``STRESSES`` are the worse conditions that it has to survive. Everything is a pure function of arrays and frozen values; no store, no
process, no clock. Undefined figures are None, never NaN.
"""

from fitness.card import CellResult, Metrics, Objectives, Scorecard
from fitness.evidence import (
    SharpeSample,
    StampedReturns,
    active_returns,
    active_run_returns,
    deflated_sharpe,
    expected_maximum,
    minimum_backtest_years,
    minimum_track_record,
    pooled_active_returns,
    probabilistic_sharpe,
    sharpe_sample,
)
from fitness.metrics import measure
from fitness.objectives import ScoreRules, score_cells
from fitness.score import ScorePair, mean_scores, seed_score
from fitness.stress import STRESSES, Stress
from fitness.trades import TradeDigest, TradeGlimpse, trade_digest

__all__ = [
    "STRESSES",
    "CellResult",
    "Metrics",
    "Objectives",
    "ScorePair",
    "ScoreRules",
    "Scorecard",
    "SharpeSample",
    "StampedReturns",
    "Stress",
    "TradeDigest",
    "TradeGlimpse",
    "active_returns",
    "active_run_returns",
    "deflated_sharpe",
    "expected_maximum",
    "mean_scores",
    "measure",
    "minimum_backtest_years",
    "minimum_track_record",
    "pooled_active_returns",
    "probabilistic_sharpe",
    "score_cells",
    "seed_score",
    "sharpe_sample",
    "trade_digest",
]
