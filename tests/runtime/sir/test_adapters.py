"""The event adapter and the vector adapter give the same run, to the last bit, whatever the program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sir_worlds import CONFIGS, markets, programs

from runtime.desk import Longer
from runtime.kernel import AccountKind, RunReport
from runtime.kernel.backtest import columns_of, first_row
from runtime.kernel.session import Declaration
from runtime.sir.rules import fires, holds
from runtime.sir.trip_run import TripRun
from runtime.sir.vector import run_event, run_signals, run_vector, runs_on_trips

if TYPE_CHECKING:
    from runtime.kernel import RunConfig
    from runtime.market.bars import Bars
    from runtime.sir.program import Program

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
    for row in range(1, len(bars)):
        assert fired[row] == holds(program.enter, moments[row], moments[row - 1], program.zone)
    assert first_row(declared, data.draw(CONFIGS)) >= 1
