"""The benchmark: all cash into the instrument once, through the same kernel as everybody else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runtime.kernel.backtest import run_strategy
from runtime.strategy import Strategy

if TYPE_CHECKING:
    from runtime.kernel.report import RunConfig, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Bar


class BuyAndHold(Strategy):
    """Buys with all cash on its first bar and keeps what it has."""

    def on_bar(self, bar: Bar) -> None:  # noqa: ARG002  # the hook's signature
        """Ask once."""
        if self.bar_count == 1:
            self.buy()


def buy_and_hold(bars: Bars, config: RunConfig, *, first_tradable_bar: int, rows: list[Bar] | None = None) -> RunReport:
    """Buy and hold over the same bars, cash and costs as a candidate.

    Args:
        bars: the candidate's bars.
        config: the candidate's configuration.
        first_tradable_bar: row on which the candidate's ``on_bar`` was first called; the order is decided there and
            fills at the next open, with its fee. The position is marked at the last close, not sold.
        rows: ``bars.rows()``, when the caller has them already; making them costs more than the run.
    """
    return run_strategy(BuyAndHold, bars, replace(config, start=first_tradable_bar), rows=rows)
