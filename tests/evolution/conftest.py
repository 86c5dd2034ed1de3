"""Trials as a search would have told them, with as little as a test has to say."""

from __future__ import annotations

import pytest

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Objectives, Scorecard
from fitness.trades import TradeDigest, TradeGlimpse
from runtime.source import StrategySource


def _metrics(*, trades: int, exposure: float, drawdown: float) -> Metrics:
    return Metrics(
        total_return=0.1,
        cagr=0.05,
        sharpe=1.0,
        sortino=1.0,
        calmar=0.5,
        max_drawdown=drawdown,
        turnover=5.0,
        exposure=exposure,
        trades=trades,
        fees=1.0,
        final_equity=110.0,
        seed_score=1.0,
    )


def _trial(
    index: int = 0,
    *,
    generation: int = 0,
    run: str = "r1",
    sharpe: float = 1.0,
    calmar: float = 0.5,
    turnover: float = 10.0,
    violation: float = 0.0,
    score: float | None = 1.0,
    trades: int = 40,
    held: float = 8.0,
    exposure: float = 0.5,
    drawdown: float = 0.1,
    parents: tuple[str, ...] = (),
    operator: str = "offline/jitter",
    folds: int = 2,
    **extra: object,
) -> Trial:
    """A trial that ran over ``folds`` cells of one symbol."""
    glimpse = TradeGlimpse(net_return=-0.01, bars=3, mae=0.01, mfe=0.01, exit_reason="signal")
    digest = TradeDigest(
        count=trades,
        win_rate=0.5,
        mean_win=0.02,
        mean_loss=-0.01,
        median_bars=held,
        fee_share=0.1,
        exits={"signal": trades},
        worst=glimpse,
    )
    metrics = _metrics(trades=trades, exposure=exposure, drawdown=drawdown)
    cells = tuple(
        CellResult(
            symbol="A", fold=f"train-{fold + 1}", metrics=metrics, buy_and_hold=metrics, ruined=False, trading=digest
        )
        for fold in range(folds)
    )
    identity = candidate_id(generation, index)
    card = Scorecard(
        cells=cells,
        objectives=Objectives(sharpe=sharpe, calmar=calmar, turnover=turnover),
        violation=violation,
        vetoes=("too deep",) if violation else (),
        score=score,
        benchmark_score=0.5,
        beats_buy_and_hold=True,
        trades=trades * folds,
        max_drawdown=drawdown,
    )
    candidate = Candidate(
        id=identity,
        run_id=run,
        generation=generation,
        index=index,
        source=StrategySource(f"{run}/{identity}".encode()),
        provenance=Provenance(operator=operator, parents=parents, seed=None),
    )
    fields = {
        "outcome": TrialOutcome.VETOED if violation else TrialOutcome.SCORED,
        "reason": "because",
        "scorecard": card,
        "behaviour": identity,
    } | extra
    return Trial(candidate=candidate, **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def told():
    """Makes a trial."""
    return _trial
