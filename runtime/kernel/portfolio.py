"""Cash, position, bracket and closed round trips: the books of one run.

The identity that everything rests on: ``cash = starting cash - sum(signed quantity * price) - sum(fees)``. While flat,
``cash - starting cash`` equals the sum of the closed trades' net results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from runtime.kernel.report import Trade
from runtime.model import Side, record

if TYPE_CHECKING:
    from runtime.kernel.tickets import Ticket
    from runtime.model import Fill

# Positions closer than this share of themselves to zero are zero: what is left of 0.1 + 0.2 - 0.3.
_DUST = 1e-9

_BUY, _SELL = Side.BUY, Side.SELL


Mark: TypeAlias = "tuple[int, float, float]"
"""Row, and cash and position from there on. Bare: the garbage collector lets go of a tuple of numbers, not of a named one."""


@dataclass(slots=True)
class Bracket:
    """Exits that belong to the position, as fractions of its average entry price (trail: of the best price)."""

    stop_loss: float | None = None
    take_profit: float | None = None
    trail: float | None = None
    order_id: int = 0
    """The order that set it last."""


@dataclass(slots=True)
class Portfolio:
    """The books. ``position`` is signed; ``entry_price`` its average price, 0.0 when flat."""

    cash: float
    position: float = 0.0
    entry_price: float = 0.0
    entry_row: int = -1
    entry_fees: float = 0.0
    """Fees (and borrow fees) of the open position that no closed trade has taken yet."""
    best: float = 0.0
    """Best price since entry, from bars before the current one and the fill prices themselves."""
    worst: float = 0.0
    bracket: Bracket | None = None

    def equity(self, price: float) -> float:
        """Cash plus the position at a price."""
        return self.cash + self.position * price

    def apply(self, row: int, fill: Fill, reason: str) -> Trade | None:
        """Book a fill; gives the round trip (or the part of one) that it closed, left for ``reason``."""
        _, side, quantity, price, fee, _, _ = fill
        signed = quantity if side is _BUY else -quantity
        self.cash -= signed * price + fee
        before = self.position
        if before == 0.0 or (before > 0.0) is (signed > 0.0):
            self._open(row, signed, price, fee)
            return None
        held = before if before > 0.0 else -before
        closed = quantity if quantity <= held else held  # noqa: FURB136 - min() is a call, on the path of every order
        exit_fee = fee * (closed / quantity)
        trade = self._closed_part(row, closed, price, exit_fee, reason)
        left = before + signed
        if abs(left) <= _DUST * held:
            self._clear()
        elif (left > 0.0) is (before > 0.0):
            self.entry_fees *= 1.0 - closed / held
            self.position = left
        else:
            self._clear()
            self._open(row, left, price, fee - exit_fee)
        return trade

    def _open(self, row: int, signed: float, price: float, fee: float) -> None:
        held = abs(self.position)
        if held == 0.0:
            self.entry_row = row
            self.entry_price = self.best = self.worst = price
        else:
            self.entry_price = (self.entry_price * held + price * abs(signed)) / (held + abs(signed))
            self.observe(price, price)
        self.position += signed
        self.entry_fees += fee

    def _closed_part(self, row: int, closed: float, price: float, exit_fee: float, reason: str) -> Trade:
        self.observe(price, price)
        entry, is_long = self.entry_price, self.position > 0.0
        fees = self.entry_fees * (closed / abs(self.position)) + exit_fee
        gross = closed * (price - entry) if is_long else closed * (entry - price)
        adverse, favourable = (
            (entry - self.worst, self.best - entry) if is_long else (self.worst - entry, entry - self.best)
        )
        return record(
            Trade,
            (
                _BUY if is_long else _SELL,
                closed,
                self.entry_row,
                row,
                entry,
                price,
                fees,
                gross - fees,
                adverse / entry if adverse > 0.0 else 0.0,
                favourable / entry if favourable > 0.0 else 0.0,
                reason,
            ),
        )

    def _clear(self) -> None:
        self.position = 0.0
        self.entry_price = self.best = self.worst = self.entry_fees = 0.0
        self.entry_row = -1
        self.bracket = None

    def observe(self, low: float, high: float) -> None:
        """Let the position have seen these prices (trail and excursions)."""
        # Compared by hand: max() and min() are calls, and most bars move neither (hence PLR1730).
        if self.position > 0.0:
            if high > self.best:  # noqa: PLR1730
                self.best = high
            if low < self.worst:  # noqa: PLR1730
                self.worst = low
        elif self.position < 0.0:
            if low < self.best:  # noqa: PLR1730
                self.best = low
            if high > self.worst:  # noqa: PLR1730
                self.worst = high

    def protect(self, ticket: Ticket) -> None:
        """Take over the bracket values that a filled order carried; values it did not carry stay."""
        if self.position == 0.0:
            return
        bracket = self.bracket or Bracket()
        self.bracket = Bracket(
            stop_loss=bracket.stop_loss if ticket.stop_loss is None else ticket.stop_loss,
            take_profit=bracket.take_profit if ticket.take_profit is None else ticket.take_profit,
            trail=bracket.trail if ticket.trail is None else ticket.trail,
            order_id=ticket.id,
        )

    def charge(self, amount: float) -> None:
        """Take a holding cost (borrow fee) from cash, on account of the open position."""
        self.cash -= amount
        self.entry_fees += amount
