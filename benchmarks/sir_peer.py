"""The rules of ``bench_sir.py`` on vectorbt, which is installed in an environment of its own (``requirements-peers.txt``).

Decided at a bar's close, filled at the next open, all cash, any fraction of a unit, 10 bps a side, nothing before ``FIRST``: by then
the averages of both programs, which begin differently, are the same.

    python benchmarks/sir_peer.py RULE BARS ROUNDS     one JSON object on stdout: processor seconds of the best round, final equity
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from kernel_peers import CASH, FAST, FEE, SLOW, random_walk

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = 1_000
PERIOD, LOW, HIGH = 14, 30.0, 70.0


def averages(vbt: Any, close: Any) -> tuple[Any, Any]:
    """In when the fast average crosses above the slow one, out when it crosses below."""
    fast, slow = vbt.MA.run(close, FAST), vbt.MA.run(close, SLOW)
    return fast.ma_crossed_above(slow), fast.ma_crossed_below(slow)


def strength(vbt: Any, close: Any) -> tuple[Any, Any]:
    """In when RSI crosses above the low level, out when it crosses below the high one."""
    # Wilder's average with a period is the exponential one with this span.
    rsi = vbt.RSI.run(close, 2 * PERIOD - 1, ewm=True)
    return rsi.rsi_crossed_above(LOW), rsi.rsi_crossed_below(HIGH)


RULES: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {"RSI": strength, "SMA": averages}


def main(rule: str, bars: int, rounds: int) -> None:
    """Run once to compile, then the rounds."""
    warnings.simplefilter("ignore")
    import pandas as pd
    import vectorbt as vbt

    market = random_walk(bars)
    index = pd.to_datetime(market.ts, unit="s")
    open_, close = pd.Series(market.open, index=index), pd.Series(market.close, index=index)

    def run() -> float:
        enter, leave = RULES[rule](vbt, close)
        enter.iloc[:FIRST] = False
        portfolio = vbt.Portfolio.from_signals(
            close, enter.vbt.fshift(1), leave.vbt.fshift(1), price=open_, fees=FEE, init_cash=CASH, freq="1h"
        )
        return float(portfolio.final_value())

    equity, best = run(), float("inf")
    for _ in range(rounds):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    sys.stdout.write(json.dumps({"cpu_s": best, "equity": equity}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
