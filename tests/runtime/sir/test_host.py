"""What the words of a document come to at the desk: intraday, cover, after the market, and the session's end."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from runtime.kernel import AccountKind, RunConfig, RunReport
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.sir.build import build
from runtime.sir.compile import Compiled, compile_document
from runtime.sir.explain import explain
from runtime.sir.vector import run_event, run_signals

GOLDEN = Path(__file__).parents[2] / "sir_golden" / "plans"
MARGIN = RunConfig(account=AccountKind.MARGIN)


def compiled(name: str, **changes: object) -> Compiled:
    found = compile_document(json.dumps(json.loads((GOLDEN / f"{name}.json").read_text()) | changes).encode())
    assert isinstance(found, Compiled), found
    return found


def bars_of(ts: np.ndarray, step: int, seed: int, scale: float) -> Bars:
    rng = np.random.default_rng(seed)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, scale, len(ts))))
    open_ = np.concatenate(([100.0], close[:-1]))
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(step),
        ts=ts,
        open=open_,
        high=np.maximum(open_, close) * 1.001,
        low=np.minimum(open_, close) * 0.999,
        close=close,
        volume=np.ones(len(ts)),
    )


@pytest.fixture(scope="module")
def quarters() -> Bars:
    """Forty days of quarters of an hour from 09:15 to 15:30 in Kolkata, where the clock is never put forward."""
    opening = int(datetime(2024, 1, 1, 3, 45, tzinfo=UTC).timestamp())
    ts = np.array([opening + 86_400 * day + 900 * at for day in range(40) for at in range(25)])
    return bars_of(ts, 900, 3, 0.004)


@pytest.fixture(scope="module")
def days() -> Bars:
    return bars_of(1_600_000_000 // 86_400 * 86_400 + 86_400 * np.arange(900), 86_400, 4, 0.02)


EAGER = {
    "entry": [
        {
            "all": [
                {
                    "left": {"kind": "price", "field": "close"},
                    "operator": ">",
                    "right": {"kind": "indicator", "id": "mean"},
                }
            ]
        }
    ]
}
MEAN = [{"id": "mean", "type": "SMA", "params": {"timeperiod": 5}, "source": "close"}]


def intraday(**changes: object) -> Compiled:
    execution = {"mode": "backtest", "direction": "long", "order_type": "market", "product": "intraday"}
    given = {"features": MEAN, "signals": EAGER, "execution": execution, "risk": None, **changes}
    return compiled("intraday_short", **given)


def both(found: Compiled, bars: Bars, config: RunConfig = MARGIN) -> RunReport:
    """The run, which both adapters agree on."""
    report, other = run_event(build(found.plan), bars, config), run_signals(build(found.plan), bars, config)
    assert report.order_log == other.order_log
    assert report.equity.tobytes() == other.equity.tobytes()
    return report


def test_an_intraday_position_is_squared_off_at_the_sessions_end(quarters: Bars) -> None:
    report = both(intraday(), quarters)
    ends = report.position.reshape(40, 25)[:, -1]
    assert not ends.any()
    assert len(report.trades) >= 40
    # Out at the open of the day's last bar, and nothing is asked for that could only fill after it.
    assert {trade.exit_row % 25 for trade in report.trades} == {24}
    assert all(entry.row % 25 < 24 for entry in report.order_log)


def test_a_delivery_position_is_held_over_night(quarters: Bars) -> None:
    execution = {"mode": "backtest", "direction": "long", "order_type": "market", "product": "delivery"}
    signals = {**EAGER, "exit": [{"all": [{**EAGER["entry"][0]["all"][0], "operator": "<"}]}]}
    report = both(intraday(execution=execution, signals=signals), quarters, RunConfig())
    assert report.position.reshape(40, 25)[:, -1].any()


def test_a_short_intraday_document_is_flat_over_night_too(quarters: Bars) -> None:
    tree = json.loads((GOLDEN / "intraday_short.json").read_text())
    execution = {**tree["execution"], "mode": "backtest"}
    report = both(compiled("intraday_short", execution=execution), quarters)
    assert report.position.min() < 0.0
    assert not report.position.reshape(40, 25)[:, -1].any()


def test_a_cover_order_brings_its_stop_with_it(days: Bars) -> None:
    execution = {"mode": "backtest", "direction": "long", "order_type": "cover", "product": "delivery"}
    risk = {"stop_loss": {"value": 1, "unit": "percent"}}
    found = compiled("rsi_daily", execution=execution, risk=risk)
    report = both(found, days, RunConfig())
    assert "stop_loss=0.01" in report.order_log[0].action
    assert any(trade.exit_reason == "stop_loss" for trade in report.trades)
    assert any("together with the stop loss" in line for line in explain(found.plan))


def test_an_after_market_order_is_placed_when_the_day_is_over_and_fills_at_the_next_open(days: Bars) -> None:
    execution = {"mode": "backtest", "direction": "long", "order_type": "after_market", "product": "delivery"}
    report = both(compiled("rsi_daily", execution=execution), days, RunConfig())
    market = both(compiled("rsi_daily"), days, RunConfig())
    assert report.fills == market.fills
    asked, (first, *_) = report.order_log[0].row, report.fills
    assert first.price == days.open[asked + 1]
