"""The vector adapter: rules on whole columns, orders from the same desk, results equal to the last bit.

Two ways lead there. Where a program trades whole positions at the market, long, in a cash account, and no day is watched, only its
round trips are gone through (``runtime.sir.trips``). Everything else runs through the kernel's session like in the event adapter, with
the signals looked up instead of evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runtime.desk import Action, Request
from runtime.indicators import compute
from runtime.kernel.backtest import first_row, run_host
from runtime.kernel.report import AccountKind
from runtime.kernel.session import Declaration
from runtime.kernel.tickets import OrderRefused
from runtime.sir.host import Fired, ProgramHost, sells
from runtime.sir.rules import fires
from runtime.sir.trip_run import TripOrders
from runtime.sir.trips import round_trips

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from runtime.desk import IndicatorCall, Moment
    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Bar
    from runtime.sir.program import Program
    from runtime.sir.trip_run import TripRun

    Compute = Callable[[IndicatorCall], NDArray[np.float64]]
    Flags = NDArray[np.bool_]
    Signals = tuple[Flags, Flags]


def run_event(program: Program, bars: Bars, config: RunConfig, *, rows: list[Bar] | None = None) -> RunReport:
    """The event adapter: the kernel, bar by bar, as on paper. ``rows``: ``bars.rows()``, when the caller has them already."""
    return run_host(ProgramHost(program, bars.timeframe), bars, config, rows=rows)


def run_signals(
    program: Program, bars: Bars, config: RunConfig, *, rows: list[Bar] | None = None, series: Compute | None = None
) -> RunReport:
    """The kernel's whole report, with the rules judged on columns: what a search needs. The same report as ``run_event``'s."""
    return _in_kernel(program, bars, config, _signals(program, bars, series), rows)


def run_vector(
    program: Program, bars: Bars, config: RunConfig, *, series: Compute | None = None
) -> RunReport | TripRun:
    """The same run on columns. Order log, fills, equity and position are those of ``run_event``.

    Args:
        program: what to run.
        bars: what it trades on.
        config: cash, costs, account, start, delay.
        series: gives the values of a declared series over all bars; lets a caller keep them between programs.
    """
    signals = _signals(program, bars, series)
    if runs_on_trips(program, config):
        first = first_row(Declaration(program.calls, program.need, 0), config)
        orders = TripOrders(entry=program.entry, leave=Request(0, Action.CLOSE), time_stop=program.time_stop)
        try:
            return round_trips(bars, config, orders, (signals[0] & _in_hours(program, bars), signals[1]), first)
        except OrderRefused:
            pass  # refused as often as it is asked for: the kernel counts that
    return _in_kernel(program, bars, config, signals, None)


def _signals(program: Program, bars: Bars, series: Compute | None) -> Signals:
    columns = [(series or _computed(bars))(call) for call in program.calls]
    return fires(program.enter, bars, columns, program.zone), fires(program.leave, bars, columns, program.zone)


def _in_kernel(program: Program, bars: Bars, config: RunConfig, signals: Signals, rows: list[Bar] | None) -> RunReport:
    source = _SignalSource(program, signals, config)
    return run_host(ProgramHost(program, bars.timeframe, source), bars, config, rows=rows)


def runs_on_trips(program: Program, config: RunConfig) -> bool:
    """Whether round trips are all there is to the program."""
    is_simple = not (program.squares_off or program.watches_days or program.points) and program.offset is None
    return is_simple and config.account is AccountKind.CASH and not sells(program.entry)


def _computed(bars: Bars) -> Compute:
    prices = {name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")}
    return lambda call: compute(call.name, prices, call.source, dict(call.params))


def _in_hours(program: Program, bars: Bars) -> Flags | np.bool_:
    if program.hours is None:
        return np.bool_(True)
    first, end = program.hours
    minutes = program.zone.minutes(bars.ts)
    within: Flags = (minutes >= first) & (minutes + bars.timeframe.seconds // 60 <= end)
    return within


class _SignalSource:
    """Looks the rules up: bars come in order, so the number of the bar says where."""

    def __init__(self, program: Program, signals: Signals, config: RunConfig) -> None:
        first = first_row(Declaration(program.calls, program.need, 0), config)
        self._enter, self._leave = (column[first:].tolist() for column in signals)

    def at(self, now: Moment, before: Moment) -> Fired:  # noqa: ARG002 - the protocol's
        """The rules on the bar."""
        place = now[1] - 1
        return Fired(self._enter[place], self._leave[place])
