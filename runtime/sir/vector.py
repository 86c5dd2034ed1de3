"""The vector adapter: rules on whole columns, orders from the same desk, results equal to the last bit.

Two ways lead there. Where a program trades whole positions at the market, long, in a cash account, and no day is watched, only its
round trips are gone through (``runtime.sir.trips``). Everything else runs through the kernel's session like in the event adapter, with
the signals looked up instead of evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.desk import Action, Request
from runtime.kernel.backtest import first_row, run_host
from runtime.kernel.report import AccountKind
from runtime.kernel.session import Declaration
from runtime.kernel.tickets import OrderRefused
from runtime.sir.host import Fired, ProgramHost, sells
from runtime.sir.known import Known
from runtime.sir.trip_report import report_of
from runtime.sir.trip_run import TripOrders
from runtime.sir.trips import round_trips

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runtime.desk import Moment
    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Bar
    from runtime.sir.program import Program
    from runtime.sir.trip_run import TripRun

    Flags = NDArray[np.bool_]
    Signals = tuple[Flags, Flags]


def run_event(program: Program, bars: Bars, config: RunConfig, *, rows: list[Bar] | None = None) -> RunReport:
    """The event adapter: the kernel, bar by bar, as on paper. ``rows``: ``bars.rows()``, when the caller has them already."""
    return run_host(ProgramHost(program, bars.timeframe), bars, config, rows=rows)


def run_signals(
    program: Program, bars: Bars, config: RunConfig, *, rows: list[Bar] | None = None, known: Known | None = None
) -> RunReport:
    """The kernel's whole report, with the rules judged on columns: what a search needs. The same report as ``run_event``'s.

    Args:
        program: what to run.
        bars: what it trades on.
        config: cash, costs, account, start, delay.
        rows: ``bars.rows()``, when the caller has them already.
        known: of these bars; lets a caller keep between programs what they have in common.
    """
    known = Known(bars) if known is None else known
    signals = _signals(program, known)
    run = _on_trips(program, known, config, signals)
    rows = bars.rows() if rows is None else rows
    report = None if run is None else report_of(run, known, config, _first(program, config), rows)
    return _in_kernel(program, bars, config, signals, rows) if report is None else report


def run_vector(program: Program, bars: Bars, config: RunConfig, *, known: Known | None = None) -> RunReport | TripRun:
    """The same run on columns. Order log, fills, equity and position are those of ``run_event``.

    Args:
        program: what to run.
        bars: what it trades on.
        config: cash, costs, account, start, delay.
        known: of these bars; lets a caller keep between programs what they have in common.
    """
    known = Known(bars) if known is None else known
    signals = _signals(program, known)
    run = _on_trips(program, known, config, signals)
    return _in_kernel(program, bars, config, signals, None) if run is None else run


def _on_trips(program: Program, known: Known, config: RunConfig, signals: Signals) -> TripRun | None:
    """The run over round trips; None for what is more than that."""
    if not runs_on_trips(program, config):
        return None
    orders = TripOrders(entry=program.entry, leave=Request(0, Action.CLOSE), time_stop=program.time_stop)
    hours = _in_hours(program, known.bars)
    enter = signals[0] if hours is None else signals[0] & hours
    try:
        return round_trips(known, config, orders, (enter, signals[1]), _first(program, config))
    except OrderRefused:
        return None  # refused as often as it is asked for: the kernel counts that


def _first(program: Program, config: RunConfig) -> int:
    return first_row(Declaration(program.calls, program.need, 0), config)


def _signals(program: Program, known: Known) -> Signals:
    calls, zone = program.calls, program.zone
    return known.fires(program.enter, calls, zone), known.fires(program.leave, calls, zone)


def _in_kernel(program: Program, bars: Bars, config: RunConfig, signals: Signals, rows: list[Bar] | None) -> RunReport:
    source = _SignalSource(program, signals, config)
    return run_host(ProgramHost(program, bars.timeframe, source), bars, config, rows=rows)


def runs_on_trips(program: Program, config: RunConfig) -> bool:
    """Whether round trips are all there is to the program."""
    is_simple = not (program.squares_off or program.watches_days or program.points) and program.offset is None
    return is_simple and config.account is AccountKind.CASH and not sells(program.entry)


def _in_hours(program: Program, bars: Bars) -> Flags | None:
    if program.hours is None:
        return None
    first, end = program.hours
    minutes = program.zone.minutes(bars.ts)
    within: Flags = (minutes >= first) & (minutes + bars.timeframe.seconds // 60 <= end)
    return within


class _SignalSource:
    """Looks the rules up: bars come in order, so the number of the bar says where."""

    def __init__(self, program: Program, signals: Signals, config: RunConfig) -> None:
        first = _first(program, config)
        self._enter, self._leave = (column[first:].tolist() for column in signals)

    def at(self, now: Moment, before: Moment) -> Fired:  # noqa: ARG002 - the protocol's
        """The rules on the bar."""
        place = now[1] - 1
        return Fired(self._enter[place], self._leave[place])
