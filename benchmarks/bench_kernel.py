"""How fast the kernel is, against the least that any Python engine must do.

    python benchmarks/bench_kernel.py [bars]

The bare loop calls one ``on_bar`` method per bar, which reads two list items and compares them. The kernel runs the
same decision with two declared moving averages (their computation included), then with orders. Each round times the
bare loop and the case one after the other, in CPU time; medians over the rounds, so that a busy machine moves the
absolute figures much more than the ratios.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from runtime.kernel import RunConfig, buy_and_hold, decode_report, encode_report, run_strategy
from runtime.market.bars import Bars
from runtime.model import Bar, Instrument, Timeframe
from runtime.strategy import Strategy, crossed_above, crossed_below

if TYPE_CHECKING:
    from collections.abc import Callable


ROUNDS = 9


class Bare:
    """The loop without an engine."""

    def __init__(self, fast: list[float], slow: list[float]) -> None:
        self.fast, self.slow, self.above = fast, slow, 0

    def on_bar(self, bar: Bar) -> None:  # noqa: ARG002 - what an engine would pass
        """Two reads and a comparison."""
        if self.fast[-1] > self.slow[-1]:
            self.above += 1


class Watches(Strategy):
    """The same decision in the kernel, without orders."""

    def on_start(self) -> None:
        """Declare two averages."""
        self.fast = self.indicator("SMA", timeperiod=10)
        self.slow = self.indicator("SMA", timeperiod=30)
        self.above = 0

    def on_bar(self, bar: Bar) -> None:  # noqa: ARG002 - the hook's signature
        """Two reads and a comparison."""
        if self.fast[-1] > self.slow[-1]:
            self.above += 1


class Trades(Watches):
    """The textbook cross with a stop."""

    def on_bar(self, bar: Bar) -> None:  # noqa: ARG002 - the hook's signature
        """In on a cross above, out on a cross below."""
        if self.flat:
            if crossed_above(self.fast, self.slow):
                self.target(1.0, stop_loss=0.05, trail=0.08)
        elif crossed_below(self.fast, self.slow):
            self.close()


def make_bars(n: int) -> Bars:
    """Hourly bars of a random walk."""
    random = np.random.default_rng(1)
    close = 100 * np.exp(np.cumsum(random.normal(0, 0.005, n)))
    open_ = np.concatenate([[100.0], close[:-1]])
    return Bars(
        instrument=Instrument(symbol="WALK", bars_per_year=8760),
        timeframe=Timeframe(3600),
        ts=np.arange(n) * 3600,
        open=open_,
        high=np.maximum(open_, close) * 1.001,
        low=np.minimum(open_, close) * 0.999,
        close=close,
        volume=np.ones(n),
    )


def cpu_s(action: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    """Print one line per case."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    bars, config = make_bars(n), RunConfig()
    rows = bars.rows()
    values = bars.close.tolist()

    def bare() -> None:
        on_bar = Bare(values, values).on_bar
        for row in rows:
            on_bar(row)

    report = run_strategy(Trades, bars, config, rows=rows)
    data = encode_report(report)
    cases: dict[str, Callable[[], object]] = {
        "two averages, no orders": lambda: run_strategy(Watches, bars, config, rows=rows),
        f"cross with stop and trail, {len(report.fills)} fills": lambda: run_strategy(Trades, bars, config, rows=rows),
        "buy and hold": lambda: buy_and_hold(bars, config, first_tradable_bar=30, rows=rows),
        f"encode {len(data)} bytes": lambda: encode_report(report),
        "decode and audit": lambda: decode_report(data, bars, config),
    }
    for name, action in cases.items():
        rounds = [(cpu_s(bare), cpu_s(action)) for _ in range(ROUNDS)]
        rate = n / statistics.median(seconds for _, seconds in rounds)
        ratio = statistics.median(seconds / floor for floor, seconds in rounds)
        sys.stdout.write(f"{name:45s} {rate:12,.0f} bars/s {ratio:6.2f} x bare\n")


if __name__ == "__main__":
    main()
