"""Where the money does not decide the rows, trips on columns are the kernel's run, and whatever is unusual is given back."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sir_worlds import SHARES, markets

from runtime.desk import Action, Request
from runtime.kernel import Costs, RunConfig, RunReport
from runtime.kernel.tickets import Ticket, judge
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.sir.known import Known
from runtime.sir.plain_trips import are_plain, plain_trips
from runtime.sir.plan import Constant, PlannedRule, PriceRef
from runtime.sir.program import Program
from runtime.sir.trip_run import TripOrders, TripRun
from runtime.sir.vector import run_event, run_signals, run_vector
from runtime.sir.vocabulary import Operator, PriceField

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)
LEAVE = Request(0, Action.CLOSE)


def target(weight: float, **bracket: float | None) -> Request:
    return Request(0, Action.TARGET, None, weight, **bracket)


def over(level: float, operator: Operator) -> tuple[tuple[PlannedRule, ...], ...]:
    return ((PlannedRule(left=PriceRef(PriceField.CLOSE), operator=operator, right=Constant(level)),),)


def free(bars: Bars, *, min_notional: float = 0.0) -> Bars:
    return replace(bars, instrument=replace(bars.instrument, lot=None, tick=None, min_notional=min_notional))


CONFIGS = st.builds(
    lambda cash, fee, slippage, delay: RunConfig(
        cash=cash, costs=Costs(fee_bps=fee, slippage_bps=slippage), decision_delay=delay
    ),
    st.sampled_from([0.5, 10_000.0, 1e11]),
    st.sampled_from([0.0, 10.0, 33.3, 4_999.0]),
    st.sampled_from([0.0, 7.0, 2_000.0]),
    st.integers(0, 3),
)


@settings(phases=QUICK, max_examples=250)
@given(
    markets(),
    CONFIGS,
    st.sampled_from([0.001, 0.3, 0.95, 1.0]),
    st.none() | st.integers(1, 9),
    st.sampled_from([(Operator.ABOVE, Operator.BELOW), (Operator.CROSSES_ABOVE, Operator.CROSSES_BELOW)]),
    st.tuples(st.floats(40.0, 60.0), st.floats(40.0, 60.0)),
    st.sampled_from([0.0, 0.0, 5_000.0]),
    st.just({}) | st.fixed_dictionaries(dict.fromkeys(("stop_loss", "take_profit", "trail"), SHARES)),
)
def test_trips_on_columns_are_the_kernels_run(bars, config, weight, stop, operators, levels, min_notional, bracket):
    bars = free(bars, min_notional=min_notional)
    program = Program(
        calls=(),
        need=2,
        enter=over(levels[0], operators[0]),
        leave=over(levels[1], operators[1]),
        entry=target(weight, **bracket),
        time_stop=stop,
    )
    run, report = run_vector(program, bars, config), run_event(program, bars, config)
    assert isinstance(run, TripRun)
    assert run.order_log == report.order_log
    assert [(f.side, f.quantity, f.price, f.fee, f.order_id) for f in run.fills] == [
        (f.side, f.quantity, f.price, f.fee, f.order_id) for f in report.fills
    ]
    assert run.curve.equity.tobytes() == report.equity.tobytes()
    assert run.curve.position.tobytes() == report.position.tobytes()
    assert (run.refused_count, run.open_orders) == (report.refused_count, report.open_orders)
    assert run.final_equity == report.equity[-1]
    whole = run_signals(program, bars, config)
    for field in fields(RunReport):
        mine, theirs = getattr(whole, field.name), getattr(report, field.name)
        assert (mine.tobytes() == theirs.tobytes()) if isinstance(mine, np.ndarray) else mine == theirs, field.name


def flat(rows: int = 12, price: float = 10.0) -> Bars:
    prices = np.full(rows, price)
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(rows) * 86_400,
        open=prices,
        high=prices,
        low=prices,
        close=prices,
        volume=prices,
    )


def trip(bars: Bars, config: RunConfig, weight: float = 1.0):
    orders = TripOrders(entry=target(weight), leave=LEAVE)
    ticket = judge(orders.entry, config, bars.instrument)
    assert isinstance(ticket, Ticket)
    return plain_trips(Known(bars), config, orders, ticket, (np.array([1, 6]), np.array([3, 8])))


def test_each_exit_follows_its_entry_and_fills_at_the_next_open() -> None:
    run = trip(flat(), RunConfig(costs=Costs(fee_bps=0.0)))
    assert [fill.row for fill in run.fills] == [2, 4, 7, 9]
    assert run.curve.position.tolist() == [0, 0, 10_000, 10_000, 0, 0, 0, 10_000, 10_000, 0, 0, 0]
    assert run.final_equity == 100_000.0


@pytest.mark.parametrize(
    ("bars", "config"),
    [
        (free(flat(), min_notional=200_000.0), RunConfig()),
        (flat(price=1e-9), RunConfig(cash=1e10)),
        (flat(), RunConfig(cash=1e-4)),
    ],
    ids=["below the venue's minimum", "too many units", "hardly any cash"],
)
def test_an_unusual_size_is_given_back(bars: Bars, config: RunConfig) -> None:
    assert trip(bars, config) is None


@pytest.mark.parametrize(
    ("entry", "costs", "steps"),
    [
        (target(0.0005), Costs(), {}),
        (Request(0, Action.BUY, None, 10.0), Costs(), {}),
        (target(1.0), Costs(fee_per_unit=0.01), {}),
        (target(1.0), Costs(fee_minimum=1.0), {}),
        (target(1.0), Costs(fee_bps=5_001.0), {}),
        (target(1.0), Costs(slippage_bps=5_001.0), {}),
        (target(1.0), Costs(), {"lot": 1.0}),
        (target(1.0), Costs(), {"tick": 0.01}),
    ],
)
def test_what_it_does_not_know_is_not_plain(entry: Request, costs: Costs, steps: dict[str, float]) -> None:
    bars = flat()
    config = RunConfig(costs=costs)

    def judged(request: Request, on: Bars) -> bool:
        ticket = judge(request, config, on.instrument)
        assert isinstance(ticket, Ticket)
        return are_plain(ticket, config, on)

    assert not judged(entry, replace(bars, instrument=replace(bars.instrument, **steps)))
    assert are_plain(judge(target(1.0), RunConfig(), bars.instrument), RunConfig(), bars)
