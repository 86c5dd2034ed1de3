"""What must hold at every moment of every run, asserted inside the kernel while its tests run.

Only the venue's own steps are wrapped, so that whatever trades in a test of the kernel is checked, fill by fill: price
inside the bar, cash and position as the sum of all fills, nothing left after a close, no debt in a cash account.
"""

from __future__ import annotations

from functools import wraps

import pytest

from runtime.kernel.venue import Venue
from runtime.model import Side

DUST = 1e-9


def assert_inside(monkeypatch):
    """Make every venue assert its books until the end of the test."""
    for owner, name, check in (
        (Venue, "_execute", _order_trades_in_the_bar),
        (Venue, "_leave", _exit_trades_in_the_bar),
        (Venue, "_book", _books_add_up),
        (Venue, "trade", _marked_as_held),
    ):
        monkeypatch.setattr(owner, name, check(getattr(owner, name)))


def _order_trades_in_the_bar(original):
    @wraps(original)
    def checked(venue, order, price, *, slips):
        known = len(venue.fills)
        original(venue, order, price, slips=slips)
        _check_prices(venue, known, price, slips)

    return checked


def _exit_trades_in_the_bar(original):
    @wraps(original)
    def checked(venue, hit, reason):
        known = len(venue.fills)
        original(venue, hit, reason)
        assert len(venue.fills) == known + 1
        _check_prices(venue, known, hit.price, hit.slips)

    return checked


def _check_prices(venue, known, price, slips):
    bar = venue._bar
    assert bar.low <= price <= bar.high
    assert len(venue.fills) <= known + 1
    for fill in venue.fills[known:]:
        assert fill.price >= price if fill.side is Side.BUY else fill.price <= price
        if not slips:
            assert fill.price == price


def _books_add_up(original):
    @wraps(original)
    def checked(venue, fill, reason):
        books = venue.books
        cash, position, trades = books.cash, books.position, len(venue.trades)
        original(venue, fill, reason)
        signed = fill.quantity if fill.side is Side.BUY else -fill.quantity
        assert fill.quantity > 0.0
        assert fill.fee >= 0.0
        assert books.cash == cash - (signed * fill.price + fill.fee)
        assert books.position == 0.0 or abs(books.position) > DUST * fill.quantity
        assert books.position == pytest.approx(position + signed, rel=1e-12, abs=DUST * abs(position))
        assert (books.entry_price > 0.0) is (books.position != 0.0)
        reduced = position != 0.0 and (position > 0.0) is not (signed > 0.0)
        assert len(venue.trades) == trades + reduced
        if books.position == 0.0:
            assert books.bracket is None
            assert books.entry_fees == 0.0
        if venue._is_cash:
            assert books.cash >= 0.0
            assert books.position >= 0.0

    return checked


def _marked_as_held(original):
    @wraps(original)
    def checked(venue, row, bar):
        original(venue, row, bar)
        books = venue.books
        if venue.ruined:
            assert venue.marks[-1] == (row, 0.0, 0.0)
            assert books.position == 0.0
            assert not venue.resting
            assert not venue.market
            return
        assert venue.marks[-1][1:] == (books.cash, books.position)
        assert books.equity(bar.close) == books.cash + books.position * bar.close
        if not venue._is_cash:
            assert books.equity(bar.close) > 0.0
        if books.position == 0.0:
            first = venue.marks[0][1]
            earned = sum(trade.pnl for trade in venue.trades)
            traded = sum(fill.quantity * fill.price for fill in venue.fills)
            assert books.cash - first == pytest.approx(earned, rel=1e-6, abs=1e-9 * (first + traded))

    return checked
