"""The kernel's whole report of a run that was found on columns: what a search scores and a person reads.

Only the words are made here, a line for each fill and order; nothing is looked up on bars one by one. A property test holds every field
to the report of the kernel's own run.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.kernel.report import Refusal, RunEnd, RunReport, Trade
from runtime.kernel.session import RunLimits
from runtime.kernel.venue import MAX_REFUSALS
from runtime.model import Fill, Side
from runtime.sir.leaving import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runtime.kernel.report import RunConfig
    from runtime.model import Bar
    from runtime.sir.known import Known
    from runtime.sir.trip_run import TripRun

    Rows = NDArray[np.intp]

_BUY, _SELL = Side.BUY, Side.SELL
_NOTHING_LEFT = "nothing to close: the position is 0"


def report_of(run: TripRun, known: Known, config: RunConfig, first: int, rows: Sequence[Bar]) -> RunReport | None:
    """The report; None where only the kernel's own run can tell it.

    Args:
        run: over round trips.
        known: what it traded on.
        config: how it was made.
        first: the first row on which anything could be decided.
        rows: the same bars as records.
    """
    if run.reasons is None or run.late is None or len(run.asked.rows) > RunLimits().orders_per_run:
        return None
    count = len(known.bars)
    return RunReport(
        end=RunEnd.FINISHED,
        failure=None,
        first_tradable_bar=first if first < count else None,
        equity=run.curve.equity,
        position=run.curve.position,
        fills=_fills(run, rows),
        trades=_trades(run, known),
        refused=_refused(run, run.late, 1 + config.decision_delay, rows),
        refused_count=run.refused_count,
        open_orders=run.open_orders,
        order_log=run.order_log,
        log=(),
        ruined=False,
        last_row=count - 1 if count else None,
    )


def _fills(run: TripRun, rows: Sequence[Bar]) -> tuple[Fill, ...]:
    filled, reasons = run.filled, _words(run)
    tags = [word if at % 2 else "" for at, word in enumerate(reasons)]
    sides = [(_BUY, _SELL)[at % 2] for at in range(len(tags))]
    stamps = [rows[row].ts for row in _plain(filled.rows)]
    columns = (_plain(each) for each in (filled.quantities, filled.prices, filled.fees))
    return tuple(map(Fill, stamps, sides, *columns, tags, _plain(filled.order_ids)))


def _words(run: TripRun) -> list[str]:
    """Why each fill happened, as it is tagged."""
    assert run.reasons is not None  # report_of has asked
    return [REASONS[code] for code in run.reasons.tolist()]


def _trades(run: TripRun, known: Known) -> tuple[Trade, ...]:
    filled = run.filled
    closed = len(filled.rows) // 2
    rows, prices, fees, quantities = (
        np.asarray(column)[: 2 * closed] for column in (filled.rows, filled.prices, filled.fees, filled.quantities)
    )
    entered, left, bought, sold, held = rows[::2], rows[1::2], prices[::2], prices[1::2], quantities[::2]
    longest = int((left - entered).max(initial=0)) + 1
    # A position has seen the bars before the one that it leaves on, and the prices of its own fills.
    worst = np.minimum(np.minimum(known.lows(longest).of(entered, left), bought), sold)
    best = np.maximum(np.maximum(-known.falls(longest).of(entered, left), bought), sold)
    both = fees[::2] + fees[1::2]
    columns = (
        held,
        entered,
        left,
        bought,
        sold,
        both,
        held * (sold - bought) - both,
        np.maximum(bought - worst, 0.0) / bought,
        np.maximum(best - bought, 0.0) / bought,
    )
    reasons = [word or "signal" for word in _words(run)[1 : 2 * closed : 2]]
    return tuple(map(Trade, repeat(_BUY, closed), *map(_plain, columns), reasons))


def _refused(run: TripRun, numbers: Rows, delay: int, rows: Sequence[Bar]) -> tuple[Refusal, ...]:
    """Orders to close that came when the bracket had closed already."""
    due = [run.asked.rows[number - 1] + delay for number in numbers[:MAX_REFUSALS].tolist()]
    return tuple(
        Refusal(ts=rows[row].ts, reason=_NOTHING_LEFT, order_id=number)
        for row, number in zip(due, numbers.tolist(), strict=False)
    )


def _plain(column: Any) -> list[Any]:
    """Python's own numbers."""
    values: list[Any] = np.asarray(column).tolist()
    return values
