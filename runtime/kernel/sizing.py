"""How much an order may trade at the moment it fills, or why it may not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from runtime.desk import Action
from runtime.kernel.costs import affordable, fee_of, floor_to
from runtime.kernel.report import AccountKind
from runtime.kernel.tickets import OrderRefused, Ticket
from runtime.model import Side

if TYPE_CHECKING:
    from runtime.kernel.portfolio import Portfolio
    from runtime.kernel.report import RunConfig
    from runtime.model import Instrument

# A change of position below this share of equity is none: what a target asks for that is already met.
_NO_CHANGE = 1e-9

# A sale this close to the whole position is the whole position.
_WHOLE = 1e-9

# What a fill may be at least and at most, in units and in quote currency, and at least as a share of what is there
# already: less changes nothing or is lost in rounding, more overflows. No market trades either.
_LEAST_QUANTITY = 1e-9
_LEAST_NOTIONAL = 1e-6
_LEAST_SHARE = 1e-12
_MOST = 1e15

_BUY, _SELL = Side.BUY, Side.SELL
_TARGET, _CLOSE = Action.TARGET, Action.CLOSE

# Margin is compared with this much room: the cap on a target and the check of it round differently.
_ROOM = 1e-12


class Sizer:
    """The account's rules for the size of a fill. Reads the books, changes nothing."""

    def __init__(self, config: RunConfig, instrument: Instrument, books: Portfolio) -> None:
        self._costs = config.costs
        self._instrument = instrument
        self._books = books
        self.is_cash = config.account is AccountKind.CASH
        self._asked: tuple[float, ...] = ()
        """What ``target_change`` was asked last, and its answer."""
        self._change = 0.0

    @property
    def reducing_side(self) -> Side | None:
        """The side that makes the position smaller; None when flat."""
        position = self._books.position
        return _SELL if position > 0.0 else _BUY if position < 0.0 else None

    def is_uncovered(self, order: Ticket) -> bool:
        """Whether a sell asks for more than a cash account holds."""
        held = self._books.position
        too_much = held <= 0.0 or (order.quantity or 0.0) > held * (1.0 + _WHOLE)
        return self.is_cash and order.side is Side.SELL and too_much

    def size(self, order: Ticket, side: Side, price: float) -> float:
        """Units that the order trades on ``side`` at ``price``; 0 when a target is met already.

        Raises:
            OrderRefused: the account or the venue does not allow it; names the amounts.
        """
        wanted, action = order.quantity, order.action
        if action is _TARGET:
            change = self.target_change(order, price)
            if change == 0.0 or (change > 0.0) is not (side is _BUY):
                return 0.0
            wanted = abs(change)
        position = self._books.position
        reducing = _SELL if position > 0.0 else _BUY if position < 0.0 else None
        if action is _CLOSE and side is not reducing:
            raise OrderRefused("nothing to close: the position is 0")
        if side is reducing:
            return self._reduce(wanted, side, price)
        if side is _SELL and (self.is_cash or wanted is None):
            raise OrderRefused("nothing to sell: the position is 0")
        return self._open(wanted, side, price)

    def target_change(self, order: Ticket, price: float) -> float:
        """Signed change after which notional plus fee is the wanted share of the equity at ``price``.

        A growing position pays the fee out of its share, ``change * price + fee = gap``; a shrinking one has the fee
        counted towards it, ``change * price - fee = gap``. In whole lots, towards the smaller trade.
        """
        books, weight = self._books, order.weight or 0.0
        if weight == 0.0:
            return -books.position
        # Asked for the side and again for the size.
        asked = (weight, price, books.cash, books.position)
        if asked != self._asked:
            self._asked, self._change = asked, self._target_change(weight, price)
        return self._change

    def _target_change(self, weight: float, price: float) -> float:
        books = self._books
        equity = books.equity(price)
        gap = weight * equity - books.position * price
        if abs(gap) <= _NO_CHANGE * abs(equity):
            return 0.0
        if (gap > 0.0) is (weight > 0.0):
            return math.copysign(self._growth(abs(gap), weight, price), gap)
        fee_share = self._costs.fee_bps / 10_000.0 + self._costs.fee_per_unit / price
        # Where the fee takes all of what a unit brings, no sale comes nearer to the target: all of it goes.
        change = abs(gap) / (price * (1.0 - fee_share)) if fee_share < 1.0 else _MOST
        change = max(change, (abs(gap) + self._costs.fee_minimum) / price)
        if change >= abs(books.position) * (1.0 - _WHOLE) and (weight > 0.0) is (books.position > 0.0):
            return -books.position
        return math.copysign(floor_to(change, self._instrument.lot), gap)

    def _growth(self, gap: float, weight: float, price: float) -> float:
        books, lot = self._books, self._instrument.lot
        if self.is_cash:
            return affordable(self._costs, min(gap, books.cash), price, lot)
        quantity = affordable(self._costs, gap, price, lot)
        # At the largest weight the fee would break the margin; the position is what the margin allows.
        margin = self._instrument.initial_margin
        held = books.position if weight > 0.0 else -books.position
        fee_share = self._costs.fee_bps / 10_000.0 + self._costs.fee_per_unit / price
        room = books.equity(price) - margin * held * price
        most = min(room / (price * (margin + fee_share)), (room - self._costs.fee_minimum) / (price * margin))
        return min(quantity, floor_to(max(most, 0.0), lot))

    def _reduce(self, wanted: float | None, side: Side, price: float) -> float:
        held = abs(self._books.position)
        if wanted is None or abs(wanted - held) <= _WHOLE * held:
            return held
        quantity = floor_to(wanted, self._instrument.lot)
        self._check_size(quantity, wanted, price)
        if wanted > held:
            if self.is_cash:
                raise OrderRefused(f"not enough to sell: asked {wanted:.10g}, have {held:.10g}")
            self._check_margin(quantity, side, price)
        return quantity

    def _open(self, wanted: float | None, side: Side, price: float) -> float:
        cash, lot = self._books.cash, self._instrument.lot
        if wanted is None:
            quantity = affordable(self._costs, cash, price, lot)
            if quantity <= 0.0:
                least = lot or 0.0
                need = least * price + fee_of(self._costs, least, price)
                raise OrderRefused(f"insufficient cash: need more than {need:.2f}, have {cash:.2f}")
            self._check_size(quantity, quantity, price)
        else:
            quantity = floor_to(wanted, lot)
            self._check_size(quantity, wanted, price)
        if self.is_cash:
            if wanted is None:  # what is affordable is paid for
                return quantity
            need = quantity * price + fee_of(self._costs, quantity, price)
            if need > cash:
                raise OrderRefused(f"insufficient cash: need {need:.2f}, have {cash:.2f}")
        else:
            self._check_margin(quantity, side, price)
        return quantity

    def _check_size(self, quantity: float, wanted: float, price: float) -> None:
        if quantity <= 0.0:
            raise OrderRefused(f"quantity {wanted:.10g} is below one lot of {self._instrument.lot:.10g}")
        notional, least = quantity * price, self._instrument.min_notional
        if (
            quantity < _LEAST_QUANTITY
            or notional < _LEAST_NOTIONAL
            or quantity < _LEAST_SHARE * abs(self._books.position)
            or notional < _LEAST_SHARE * abs(self._books.cash)
        ):
            raise OrderRefused(f"quantity {quantity:.10g} is too small to trade")
        if quantity > _MOST or notional > _MOST:
            raise OrderRefused(f"quantity {quantity:.10g} is too large to trade")
        if notional < least:
            raise OrderRefused(f"below the minimum notional: {notional:.2f}, the venue asks {least:.2f}")

    def _check_margin(self, quantity: float, side: Side, price: float) -> None:
        signed = quantity if side is Side.BUY else -quantity
        need = self._instrument.initial_margin * abs(self._books.position + signed) * price
        have = self._books.equity(price) - fee_of(self._costs, quantity, price)
        if need > have * (1.0 + _ROOM):
            raise OrderRefused(f"insufficient margin: need {need:.2f}, have {have:.2f}")
