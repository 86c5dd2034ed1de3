"""What comes of a run over round trips: columns, from which the kernel's own words are made when somebody asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from runtime.kernel.equity import Curve
from runtime.kernel.report import OrderEntry
from runtime.kernel.tickets import canonical
from runtime.model import Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runtime.desk import Request

    Rows: TypeAlias = Sequence[int] | NDArray[np.intp]
    Amounts: TypeAlias = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TripOrders:
    """What is asked for: ``entry`` opens, ``leave`` closes all; their ids are set anew."""

    entry: Request
    leave: Request
    time_stop: int | None = None
    """Bars after which a position is closed, the one of its entry counted."""


class TripFill(NamedTuple):
    """One fill."""

    row: int
    side: Side
    quantity: float
    price: float
    fee: float
    order_id: int


class Asked(NamedTuple):
    """The order log as columns, each of shape ``(n_orders,)``; the orders are numbered from 1."""

    rows: Rows
    enters: Sequence[bool] | NDArray[np.bool_]
    """Whether it is an entry."""


class Filled(NamedTuple):
    """Fills as columns, each of shape ``(n_fills,)``: purchases and sales of everything in turn, a purchase first."""

    rows: Rows
    quantities: Amounts
    prices: Amounts
    fees: Amounts
    order_ids: Rows
    cash: Amounts
    """After the fill."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TripRun:
    """What came of it: the same figures as in the kernel's ``RunReport``."""

    orders: TripOrders
    asked: Asked
    filled: Filled
    refused_count: int
    late: NDArray[np.intp] | None
    """Numbers of the orders to close that were refused, and nothing else was; None where only the kernel can tell the run's words."""
    reasons: NDArray[np.int8] | None
    """Codes of ``runtime.sir.leaving.REASONS``, one per fill; None with ``late``."""
    open_orders: int
    """0 or 1: the last order had no bar left to fill on."""
    close: NDArray[np.float64]
    cash: float
    """At the start, quote currency."""

    @cached_property
    def order_log(self) -> tuple[OrderEntry, ...]:
        """The log in the kernel's words."""
        entry, leave = self.orders.entry, self.orders.leave
        lines = zip(_plain(self.asked.rows), self.asked.enters, strict=True)
        return tuple(
            OrderEntry(row, canonical((entry if enters else leave)._replace(id=number)))
            for number, (row, enters) in enumerate(lines, start=1)
        )

    @cached_property
    def fills(self) -> list[TripFill]:
        """All fills in order."""
        rows, *amounts, order_ids, _ = map(_plain, self.filled)
        sides = [(Side.BUY, Side.SELL)[place % 2] for place in range(len(rows))]
        return [TripFill(*each) for each in zip(rows, sides, *amounts, order_ids, strict=True)]

    @cached_property
    def curve(self) -> Curve:
        """Equity, shape ``(n_bars + 1,)``, and position, shape ``(n_bars,)``."""
        # Of several fills on a row all but the last one last for no bar.
        edges: NDArray[np.intp] = np.concatenate(([0], self.filled.rows, [len(self.close)])).astype(np.intp)
        bars = edges[1:] - edges[:-1]
        held = np.array(self.filled.quantities, dtype=np.float64)
        held[1::2] = 0.0
        position = np.repeat(np.concatenate(([0.0], held)), bars)
        equity = np.empty(len(self.close) + 1)
        equity[0] = self.cash
        np.multiply(position, self.close, out=equity[1:])
        equity[1:] += np.repeat(np.concatenate(([self.cash], self.filled.cash)), bars)
        return Curve(equity, position)

    @property
    def final_equity(self) -> float:
        """Equity at the last close, quote currency; starting cash when nothing was bought."""
        cash, quantities = self.filled.cash, self.filled.quantities
        if not len(cash):
            return self.cash
        held = float(quantities[-1]) if len(quantities) % 2 else 0.0
        return float(cash[-1]) + held * float(self.close[-1])


def _plain(column: Rows | Amounts) -> list[Any]:
    """Python's own numbers."""
    values: list[Any] = np.asarray(column).tolist()
    return values
