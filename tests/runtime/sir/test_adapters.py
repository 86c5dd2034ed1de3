"""The event adapter and the vector adapter give the same run, to the last bit, whatever the program."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sir_worlds import CONFIGS, markets, programs

from runtime.desk import Action, Longer, Request
from runtime.kernel import AccountKind, Costs, RunConfig, RunReport
from runtime.kernel.backtest import columns_of, first_row
from runtime.kernel.session import Declaration
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.sir.plan import Constant, PlannedRule, PriceRef
from runtime.sir.program import Program
from runtime.sir.rules import fires, holds
from runtime.sir.trip_run import TripRun
from runtime.sir.vector import run_event, run_signals, run_vector, runs_on_trips
from runtime.sir.vocabulary import Operator, PriceField

# A failure is reported as it was found: shrinking a market takes minutes.
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)


def facts(run: RunReport | TripRun) -> tuple[object, ...]:
    """What both kinds of run say, to the last bit."""
    curve = run if isinstance(run, RunReport) else run.curve
    fills = [(fill.side, fill.quantity, fill.price, fill.fee, fill.order_id) for fill in run.fills]
    return (
        run.order_log,
        fills,
        curve.equity.tobytes(),
        curve.position.tobytes(),
        run.refused_count,
        run.open_orders,
    )


@settings(phases=QUICK, max_examples=150)
@given(programs(), markets(step=3_600) | markets(), CONFIGS)
def test_both_adapters_ask_for_and_get_the_same(program: Program, bars: Bars, config: RunConfig) -> None:
    assert facts(run_vector(program, bars, config)) == facts(run_event(program, bars, config))


@settings(phases=QUICK, max_examples=60)
@given(programs(), markets(step=3_600), CONFIGS, st.sampled_from([4, 24]))
def test_both_adapters_agree_on_series_of_longer_bars(
    program: Program, bars: Bars, config: RunConfig, rows: int
) -> None:
    """And the report from columns is the kernel's own, whichever way it was made."""
    longer = tuple(call._replace(longer=Longer(rows * 3_600, rows)) for call in program.calls[:1])
    mixed = replace(program, calls=longer + program.calls[1:])
    event = run_event(mixed, bars, config)
    assert facts(run_vector(mixed, bars, config)) == facts(event)
    assert facts(run_signals(mixed, bars, config)) == facts(event)


@settings(phases=QUICK, max_examples=80)
@given(programs(), markets(step=3_600) | markets(), CONFIGS)
def test_round_trips_alone_are_the_same_run(program: Program, bars: Bars, config: RunConfig) -> None:
    simple = replace(
        program,
        offset=None,
        points=None,
        entry=program.entry._replace(type=None, quantity=abs(program.entry.quantity)),
        squares_off=False,
        trades_per_day=None,
        loss_share=None,
        loss_amount=None,
    )
    cash = replace(config, account=AccountKind.CASH)
    run = run_vector(simple, bars, cash)
    assert isinstance(run, TripRun) is runs_on_trips(simple, cash)
    assert facts(run) == facts(run_event(simple, bars, cash))


@settings(phases=QUICK, max_examples=80)
@given(programs(), markets(step=3_600), st.data())
def test_rules_on_columns_are_the_rules_on_bars(program: Program, bars: Bars, data: st.DataObject) -> None:
    declared = Declaration(program.calls, program.need, 0)
    columns = columns_of(declared, bars)
    fired = fires(program.enter, bars, [np.array(column) for column in columns], program.zone)
    moments = list(zip(bars.rows(), range(len(bars)), *columns, strict=True))
    for row in range(len(bars)):
        # The first bar stands before itself.
        assert fired[row] == holds(program.enter, moments[row], moments[max(row - 1, 0)], program.zone)
    assert first_row(declared, data.draw(CONFIGS)) >= program.need - 1


def daily(prices: list[float], **rules: float) -> Bars:
    """Bars that open, peak, fall and close at one price each."""
    price = np.array(prices)
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252, **rules),
        timeframe=Timeframe(86_400),
        ts=np.arange(len(price)) * 86_400,
        open=price,
        high=price,
        low=price,
        close=price,
        volume=price,
    )


def close_is(operator: Operator, level: float) -> tuple[tuple[PlannedRule, ...], ...]:
    return ((PlannedRule(left=PriceRef(PriceField.CLOSE), operator=operator, right=Constant(level)),),)


def always(entry: Request, operator: Operator = Operator.ABOVE) -> Program:
    """Wants in on every bar, and out two bars later."""
    return Program(
        calls=(),
        need=2 if operator.crosses else 1,
        enter=close_is(operator, 0.0),
        leave=(),
        entry=entry,
        time_stop=2,
    )


ENTRIES = {
    "on columns": Request(0, Action.TARGET, None, 0.5),
    "one trip after the other": Request(0, Action.BUY, None, 10.0),
    "in the kernel": Request(0, Action.TARGET, None, -0.5),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_the_first_bar_of_the_data_decides_like_any_other(entry: Request) -> None:
    """There is no bar before it, and a rule that looks at one bar does not ask for one."""
    bars, config = daily([10.0, 11.0, 12.0, 13.0, 14.0]), RunConfig(account=AccountKind.MARGIN)
    if entry.quantity > 0.0:
        config = RunConfig()
    event = run_event(always(entry), bars, config)
    assert (event.order_log[0].row, event.fills[0].price) == (0, 11.0)
    assert facts(run_vector(always(entry), bars, config)) == facts(event)
    signals = run_signals(always(entry), bars, config)
    for field in fields(RunReport):
        assert repr(getattr(signals, field.name)) == repr(getattr(event, field.name)), field.name


@pytest.mark.parametrize("operator", [Operator.CROSSES_ABOVE, Operator.CROSSES_BELOW])
def test_nothing_crosses_on_the_first_bar_of_the_data(operator: Operator) -> None:
    program = replace(always(ENTRIES["in the kernel"], operator), need=1)
    assert run_event(program, daily([0.5, 0.5]), RunConfig(account=AccountKind.MARGIN)).order_log == ()


def test_a_sale_at_the_last_tick_does_not_slip_to_nothing() -> None:
    """The venue lets it go at the tick; a trip that sold at 0 would lose all of it."""
    bars, config = daily([0.05] * 6, tick=0.05), RunConfig(costs=Costs(fee_bps=0.0, slippage_bps=5_000.0))
    program = always(Request(0, Action.BUY, None, 100.0))
    event = run_event(program, bars, config)
    assert [fill.price for fill in event.fills][:2] == [0.1, 0.05]
    run = run_vector(program, bars, config)
    assert isinstance(run, TripRun)
    assert facts(run) == facts(event)
