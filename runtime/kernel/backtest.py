"""A strategy over given bars, in this process, as fast as Python allows."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from runtime.kernel.local import LocalHost
from runtime.kernel.session import RunLimits, Session
from runtime.longer import rows_before, values

if TYPE_CHECKING:
    from runtime.kernel.report import RunConfig, RunReport
    from runtime.kernel.session import Declaration, StrategyHost
    from runtime.market.bars import Bars
    from runtime.model import Bar
    from runtime.strategy import Strategy


def run_strategy(
    strategy_class: type[Strategy],
    bars: Bars,
    config: RunConfig,
    *,
    rows: list[Bar] | None = None,
    limits: RunLimits | None = None,
) -> RunReport:
    """Run a strategy over all bars and report what it did. The strategy runs in this process: cage it first.

    Args:
        strategy_class: a loaded strategy; constructed anew here.
        bars: what it trades on; rows before ``config.start`` only feed indicators and history.
        config: cash, costs, account, start, delay.
        rows: ``bars.rows()``, when the caller has them already.
        limits: caps on orders and log.

    Example:
        >>> import numpy as np
        >>> from runtime.kernel.report import RunConfig
        >>> from runtime.market.bars import Bars
        >>> from runtime.model import Instrument, Timeframe
        >>> from runtime.strategy import Strategy
        >>> class Hold(Strategy):
        ...     def on_bar(self, bar):
        ...         if self.bar_count == 1:
        ...             self.buy(10)
        >>> price = np.array([100.0, 101.0, 103.0])
        >>> bars = Bars(
        ...     instrument=Instrument(symbol="X", bars_per_year=252), timeframe=Timeframe(86_400),
        ...     ts=np.arange(3) * 86_400, open=price, high=price, low=price, close=price, volume=price,
        ... )
        >>> run_strategy(Hold, bars, RunConfig()).fills[0].price
        101.0
    """
    limits = limits or RunLimits()
    host = LocalHost(strategy_class, bars.instrument, bars.timeframe, limits)
    return run_host(host, bars, config, rows=rows, limits=limits)


def run_host(
    host: StrategyHost,
    bars: Bars,
    config: RunConfig,
    *,
    rows: list[Bar] | None = None,
    limits: RunLimits | None = None,
) -> RunReport:
    """Run the strategy at ``host``, wherever that is, over all bars.

    Args:
        host: a host that has served no run yet, with the same limits.
        bars: as in ``run_strategy``, and so are the others.
        config: cash, costs, account, start, delay.
        rows: ``bars.rows()``, when the caller has them already.
        limits: caps on orders and log.
    """
    session = Session(host, config, bars.instrument, limits or RunLimits())
    declared = session.start()
    if declared is not None:
        rows = bars.rows() if rows is None else rows
        first = first_row(declared, config)
        columns = columns_of(declared, bars)
        session.warm_up(rows[:first], [column[:first] for column in columns])
        session.advance(rows[first:], [column[first:] for column in columns])
    return session.finish(bars.close)


def first_row(declared: Declaration, config: RunConfig) -> int:
    """The first row on which ``on_bar`` may be called: everything declared is defined there and on the row before."""
    longest = max((rows_before(call) + 1 for call in declared.calls), default=0)
    return max(config.start, longest, declared.need - 1)


def columns_of(declared: Declaration, bars: Bars) -> list[array[float]]:
    """Values of the declared series over all bars, one array each.

    Not lists: the floats are made as the run comes to them, while they are in the processor's cache, and go as it leaves them.
    """
    prices = {name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")}
    return [array("d", values(call, bars.ts, prices).tobytes()) for call in declared.calls]
