"""What a bar can do to the orders that rest is known from two prices, so that most bars need no look at any of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.desk import Action
from runtime.kernel import AccountKind, venue
from runtime.kernel.matching import Path, at_open, inside, reach_of
from runtime.kernel.tickets import Ticket
from runtime.model import Order, OrderType, Side

_price = st.integers(90, 110).map(float)


@st.composite
def tickets(draw):
    kind = draw(st.sampled_from([kind for kind in OrderType if kind is not OrderType.MARKET]))
    return Ticket(
        id=1,
        action=Action.BUY,
        side=draw(st.sampled_from(Side)),
        type=kind,
        quantity=1.0,
        weight=None,
        limit=draw(_price) if kind in {OrderType.LIMIT, OrderType.STOP_LIMIT} else None,
        stop=None if kind is OrderType.LIMIT else draw(_price),
        offset=0.1 if kind is OrderType.TRAILING_STOP else None,
        stop_loss=None,
        take_profit=None,
        trail=None,
        tag="",
        triggered=kind is OrderType.STOP_LIMIT and draw(st.booleans()),
    )


@given(st.lists(tickets(), max_size=4), st.lists(_price, min_size=4, max_size=4))
def test_a_bar_out_of_reach_does_nothing_and_one_within_reach_does_something(waiting, prices):
    low, open_, close, high = sorted(prices)
    reach = reach_of(waiting)
    was = [ticket.triggered for ticket in waiting]
    path = Path(open_, low, high, close)
    touches = [touch for ticket in waiting for touch in (at_open(ticket, open_), inside(ticket, path))]
    starts = [
        touch.triggered and not before for touch, before in zip(touches, (b for b in was for _ in "12"), strict=True)
    ]
    does_something = any(touch.hit is not None for touch in touches) or any(starts)
    assert (not (reach.below < low and high < reach.above)) is does_something


@pytest.mark.parametrize("kind", AccountKind)
def test_orders_far_away_are_not_looked_at_on_every_bar(play, monkeypatch, kind):
    """200 of them on 20,000 bars took the reader of a forged log of 10 kB seven seconds and more."""
    looks = []
    monkeypatch.setattr(venue, "inside", lambda ticket, path: looks.append(ticket.id) or inside(ticket, path))
    monkeypatch.setattr(venue, "at_open", lambda ticket, price: looks.append(ticket.id) or at_open(ticket, price))

    def grid(strategy):
        for step in range(20):
            strategy.buy(1, limit=50 + step)
            strategy.buy(1, stop=150 + step)
            strategy.buy(1, stop=150 + step, limit=140)
            strategy.sell(1, limit=130 + step)
            strategy.submit(Order(side=Side.SELL, quantity=1, type=OrderType.TRAILING_STOP, trail=0.5))

    report = play([100 + row % 7 for row in range(60)] + [69, 100], {0: lambda s: s.buy(100), 1: grid}, account=kind)
    assert report.open_orders == 99
    assert [(fill.price, fill.order_id) for fill in report.fills[1:]] == [(69.0, 97)]
    # Only on the bar that reaches the nearest limit.
    assert len(looks) <= 2 * 100
