from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from runtime.kernel import Costs, RunConfig
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.sir.compile import Compiled, Refused, compile_document
from runtime.sir.pricing import WIDEST, Right, delta, price, realised_volatility, strike_of_delta
from runtime.sir.structure import run_structure

if TYPE_CHECKING:
    from runtime.sir.plan import ExecutionPlan

CONDOR = json.loads((Path(__file__).parents[2] / "sir_golden" / "plans" / "iron_condor.json").read_text())
ALWAYS = [
    {"all": [{"left": {"kind": "price", "field": "close"}, "operator": ">", "right": {"kind": "literal", "value": 0}}]}
]
FREE = RunConfig(costs=Costs(fee_bps=0.0))


def plan_of(**changes: Any) -> ExecutionPlan:
    compiled = compile_document(json.dumps(CONDOR | {"features": [], "signals": {"entry": ALWAYS}} | changes).encode())
    assert isinstance(compiled, Compiled), compiled
    return compiled.plan


def leg(side: str, kind: str, strike: Any, days: int = 30, name: str = "a", ratio: int = 1) -> dict[str, Any]:
    made = {
        "id": name,
        "side": side,
        "instrument_type": kind,
        "expiry": {"days": days},
        "strike": strike,
        "ratio": ratio,
    }
    return {key: value for key, value in made.items() if value is not None}


ATM = {"kind": "offset", "value": 0, "unit": "percent"}


def bars_of(close: Any) -> Bars:
    close = np.asarray(close, dtype=float)
    open_ = np.concatenate((close[:1], close[:-1]))
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(len(close)) * 86_400,
        open=open_,
        high=np.maximum(open_, close),
        low=np.minimum(open_, close),
        close=close,
        volume=np.ones(len(close)),
    )


@pytest.fixture(scope="module")
def walk() -> Bars:
    rng = np.random.default_rng(8)
    return bars_of(100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, 300))))


def test_an_iron_condor_is_four_legs_opened_and_ended_together(walk):
    run = run_structure(plan_of(), walk, FREE)
    assert run.trades
    for trade in run.trades:
        assert [each.id for each in trade.legs] == ["long_put", "short_put", "short_call", "long_call"]
        long_put, short_put, short_call, long_call = trade.legs
        spot = walk.open[trade.entry_row]
        assert long_put.strike < short_put.strike < spot < short_call.strike < long_call.strike
        assert [math.copysign(1.0, each.quantity) for each in trade.legs] == [1.0, -1.0, -1.0, 1.0]
        # Twenty bars of time stop come before thirty days of life.
        assert {each.exit_row for each in trade.legs} == {trade.exit_row}
        assert trade.exit_row - trade.entry_row == 20
        premium = sum(each.quantity * (each.exit_price - each.entry_price) for each in trade.legs)
        assert trade.pnl == pytest.approx(premium, abs=1e-9)


def test_a_leg_costs_what_the_formula_says_from_closes_that_were_known(walk):
    run = run_structure(plan_of(legs=[leg("buy", "call", ATM)]), walk, FREE)
    first = run.trades[0]
    spot = float(walk.open[first.entry_row])
    volatility = realised_volatility(walk.close[: first.entry_row], round(30 / 365 * 252), 252)
    assert first.legs[0].entry_price == price(Right.CALL, spot, first.legs[0].strike, 30 / 365, volatility)
    # Bars from the entry on may be anything: the price was fixed before.
    torn = bars_of(np.concatenate((walk.close[: first.entry_row], np.full(40, 7.0))))
    again = run_structure(plan_of(legs=[leg("buy", "call", ATM)]), torn, FREE)
    assert again.trades[0].legs[0].entry_price == first.legs[0].entry_price


def test_an_option_that_lives_to_its_expiry_pays_its_intrinsic_value():
    close = np.concatenate((100.0 * 1.01 ** (np.arange(60) % 2), np.full(60, 130.0)))
    risk = {"time_stop_bars": 500}
    run = run_structure(plan_of(legs=[leg("buy", "call", ATM, days=80)], risk=risk), bars_of(close), FREE)
    (trade,) = run.trades[:1]
    assert trade.exit_reason == "expiry"
    assert trade.exit_row - trade.entry_row == 80
    assert trade.legs[0].exit_price == 130.0 - trade.legs[0].strike


def test_all_legs_or_none(walk):
    far = {"kind": "offset", "value": 90, "unit": "percent"}
    run = run_structure(plan_of(legs=[leg("buy", "put", ATM), leg("buy", "call", far, name="b", days=2)]), walk, FREE)
    assert run.trades == ()
    assert run.equity.tolist() == [100_000.0] * len(run.equity)
    assert run.refused[0][1] == "leg b would be worth nothing, so no leg is placed"


@pytest.mark.parametrize("kind", ["call", "put"])
@pytest.mark.parametrize("size", [0.01, 0.5, 0.99])
def test_a_delta_without_a_strike_is_refused(kind, size):
    """In a market that halves and doubles from bar to bar the strike of a delta is more than a number can be."""
    wild = bars_of(np.where(np.arange(300) % 2, 100.0, 1.0))
    far = leg("buy", kind, {"kind": "delta", "value": size}, days=730)
    run = run_structure(plan_of(legs=[far]), wild, FREE)
    assert run.trades == ()
    assert run.refused[0][1] == "leg a has no strike while the market moves that much, so no leg is placed"
    assert np.isfinite(run_structure(plan_of(legs=[leg("buy", kind, ATM, days=730)]), wild, FREE).equity).all()


@pytest.mark.parametrize("right", Right)
@pytest.mark.parametrize("size", [0.01, 0.3, 0.99])
def test_every_delta_has_a_strike_up_to_the_widest_market(right, size):
    strike = strike_of_delta(right, 1e6, size, 1.0, WIDEST)
    assert 0.0 < strike < math.inf
    assert abs(delta(right, 1e6, strike, 1.0, WIDEST)) == pytest.approx(size)
    assert 0.0 <= price(right, 1e6, strike, 1.0, WIDEST) < math.inf


def test_what_the_cash_does_not_cover_is_refused_with_the_amounts(walk):
    plan = plan_of(legs=[leg("buy", "call", ATM)], sizing={"type": "FIXED_QTY", "value": 1_000_000})
    run = run_structure(plan, walk, FREE)
    assert run.trades == ()
    assert run.refused[0][1].startswith("insufficient cash: need ")


def test_a_future_is_marked_by_its_difference_and_costs_nothing_but_fees(walk):
    plan = plan_of(legs=[leg("sell", "future", None)], risk={"time_stop_bars": 10})
    run = run_structure(plan, walk, RunConfig(costs=Costs(fee_bps=10.0)))
    for trade in run.trades:
        entry, exit_ = walk.open[trade.entry_row], walk.open[trade.exit_row]
        fees = (entry + exit_) * 10 / 10_000
        assert trade.fees == pytest.approx(fees, rel=1e-12)
        assert trade.pnl == pytest.approx(entry - exit_ - fees, abs=1e-9)


def test_cash_and_marks_add_up_on_every_bar(walk):
    """The equity moves only by what legs earn and by fees: replayed from the trades at the bars where nothing is open."""
    run = run_structure(plan_of(risk={"time_stop_bars": 7}), walk, RunConfig(costs=Costs(fee_bps=50.0)))
    booked = 100_000.0
    for trade in run.trades:
        booked += trade.pnl
        assert run.equity[trade.exit_row + 1] == pytest.approx(booked, abs=1e-6)


def test_a_stop_is_looked_at_on_closes_and_filled_at_the_next_open(walk):
    plan = plan_of(
        legs=[leg("buy", "call", ATM)], risk={"stop_loss": {"value": 20, "unit": "percent"}, "time_stop_bars": 25}
    )
    run = run_structure(plan, walk, FREE)
    stopped = [trade for trade in run.trades if trade.exit_reason == "stop_loss"]
    assert stopped
    for trade in stopped:
        lost = -(run.equity[trade.exit_row] - run.equity[trade.entry_row])
        assert lost >= 0.2 * trade.legs[0].entry_price - 1e-9


def test_a_seller_who_loses_all_is_ruined_and_stays_so():
    close = np.concatenate((100.0 * 1.01 ** (np.arange(40) % 2), 100.0 * 1.5 ** np.arange(1, 20)))
    sizing = {"type": "FIXED_QTY", "value": 1_000}
    run = run_structure(
        plan_of(legs=[leg("sell", "future", None)], sizing=sizing, risk={"time_stop_bars": 100}), bars_of(close), FREE
    )
    assert run.ruined
    assert run.trades[-1].exit_reason == "ruin"
    dead = int(np.argmax(run.equity == 0.0))
    assert not run.equity[dead:].any()


def test_a_trailing_stop_on_legs_does_not_compile():
    document = CONDOR | {"risk": {"trailing_stop": {"value": 5, "unit": "percent"}, "time_stop_bars": 5}}
    compiled = compile_document(json.dumps(document).encode())
    assert isinstance(compiled, Refused)
    assert compiled.problems[0].rule == "legs-trail"


def test_a_plan_without_legs_is_not_for_this(walk):
    with pytest.raises(ValueError, match="has no legs"):
        run_structure(plan_of(legs=None, risk={"time_stop_bars": 5}), walk, FREE)
