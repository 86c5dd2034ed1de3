"""Makers of small bars, reports and cells, in plain arithmetic, so that tests state figures and not set-up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fitness.card import CellResult, Metrics
from runtime.kernel.report import RunEnd, RunReport
from runtime.market.bars import Bars
from runtime.model import Fill, Instrument, Side, Timeframe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DAY = 86_400
FIRST_DAY = 946_857_600  # 2000-01-03


@pytest.fixture
def make_bars() -> Callable[..., Bars]:
    def make(closes: Sequence[float], *, bars_per_year: float = 252.0, step: int = DAY) -> Bars:
        close = np.array(closes, dtype=np.float64)
        return Bars(
            instrument=Instrument(symbol="TEST", bars_per_year=bars_per_year),
            timeframe=Timeframe(step),
            ts=FIRST_DAY + step * np.arange(len(close)),
            open=close,
            high=close,
            low=close,
            close=close,
            volume=np.ones(len(close)),
        )

    return make


@pytest.fixture
def make_fill() -> Callable[..., Fill]:
    def make(side: Side, quantity: float, price: float = 100.0, fee: float = 0.0) -> Fill:
        stamp = datetime.fromtimestamp(FIRST_DAY, UTC)
        return Fill(ts=stamp, side=side, quantity=quantity, price=price, fee=fee, tag="", order_id=1)

    return make


@pytest.fixture
def make_report() -> Callable[..., RunReport]:
    def make(
        equity: Sequence[float],
        *,
        first: int | None = 0,
        position: Sequence[float] | None = None,
        fills: Sequence[Fill] = (),
        ruined: bool = False,
    ) -> RunReport:
        bars = len(equity) - 1
        return RunReport(
            end=RunEnd.FINISHED,
            failure=None,
            first_tradable_bar=first,
            equity=np.array(equity, dtype=np.float64),
            position=np.zeros(bars) if position is None else np.array(position, dtype=np.float64),
            fills=tuple(fills),
            trades=(),
            refused=(),
            refused_count=0,
            open_orders=0,
            order_log=(),
            log=(),
            ruined=ruined,
        )

    return make


@pytest.fixture
def make_metrics() -> Callable[..., Metrics]:
    def make(**changes: object) -> Metrics:
        figures: dict[str, object] = {
            "total_return": 0.1,
            "cagr": 0.05,
            "sharpe": 1.0,
            "sortino": 1.5,
            "calmar": 0.5,
            "max_drawdown": 0.1,
            "turnover": 10.0,
            "exposure": 0.5,
            "trades": 20,
            "fees": 100.0,
            "final_equity": 110_000.0,
            "seed_score": 1.0,
        }
        return Metrics(**(figures | changes))  # type: ignore[arg-type]

    return make


@pytest.fixture
def make_cell(make_metrics: Callable[..., Metrics]) -> Callable[..., CellResult]:
    def make(
        fold: str = "train-1",
        symbol: str = "TEST",
        *,
        ruined: bool = False,
        benchmark: float | None = 0.5,
        **changes: object,
    ) -> CellResult:
        return CellResult(
            symbol=symbol,
            fold=fold,
            metrics=make_metrics(**changes),
            buy_and_hold=make_metrics(seed_score=benchmark),
            ruined=ruined,
        )

    return make
