"""The books: round trips, fees, excursions."""

from __future__ import annotations

import math

import pytest

from runtime.kernel import AccountKind, Costs
from runtime.model import Side

TEN_BPS = Costs(fee_bps=10)


def test_results_of_closed_trades_explain_the_cash_when_flat(play):
    plan = {
        0: lambda s: s.buy(10),
        1: lambda s: s.buy(20),
        2: lambda s: s.sell(7),
        3: lambda s: s.sell(5),
        4: lambda s: s.close(),
        5: lambda s: s.buy(3),
        6: lambda s: s.close(),
    }
    report = play([100, 101, 99.5, 104, 103, 98, 97, 99, 99], plan, costs=TEN_BPS)
    assert len(report.trades) == 4
    assert report.equity[-1] - 100_000 == pytest.approx(math.fsum(t.pnl for t in report.trades), abs=1e-8)
    assert math.fsum(t.fees for t in report.trades) == pytest.approx(math.fsum(f.fee for f in report.fills))


def test_adding_averages_the_entry_price(play):
    seen = []
    play(
        [100, 100, 110, 110],
        {0: lambda s: s.buy(1), 1: lambda s: s.buy(3), 2: lambda s: seen.append(s.entry_price)},
    )
    assert seen == [pytest.approx((100 + 3 * 110) / 4)]


def test_a_partial_exit_keeps_the_entry_price(play):
    report = play([100, 100, 110, 120], {0: lambda s: s.buy(4), 1: lambda s: s.sell(1), 2: lambda s: s.close()})
    assert [(t.quantity, t.entry_price, t.pnl) for t in report.trades] == [(1.0, 100.0, 10.0), (3.0, 100.0, 60.0)]
    assert [(t.entry_row, t.exit_row) for t in report.trades] == [(1, 2), (1, 3)]


def test_a_short_gains_when_the_price_falls(play):
    report = play([100, 100, 90], {0: lambda s: s.sell(5), 1: lambda s: s.close()}, account=AccountKind.MARGIN)
    trade = report.trades[0]
    assert (trade.side, trade.pnl, trade.exit_price) == (Side.SELL, 50.0, 90.0)


def test_excursions_are_fractions_of_the_entry_price(play):
    ohlc = [100, 100, (100, 112, 93, 100), 105]
    trade = play(ohlc, {0: lambda s: s.buy(1), 2: lambda s: s.close()}).trades[0]
    assert (trade.mae, trade.mfe) == (pytest.approx(0.07), pytest.approx(0.12))
    short = play(ohlc, {0: lambda s: s.sell(1), 2: lambda s: s.close()}, account=AccountKind.MARGIN).trades[0]
    assert (short.mae, short.mfe) == (pytest.approx(0.12), pytest.approx(0.07))


def test_an_excursion_never_includes_what_may_have_been_before_the_entry(play):
    """Limit entry at 98 in 100/120/97/99: the 120 may be older than the position."""
    trade = play([100, (100, 120, 97, 99), 99], {0: lambda s: s.buy(1, limit=98), 1: lambda s: s.close()}).trades[0]
    assert trade.mfe == pytest.approx(99 / 98 - 1)
    assert trade.mae == pytest.approx(1 - 97 / 98)


def test_the_reason_of_an_exit_is_kept(play):
    report = play([100, 100, (100, 100, 90, 95)], {0: lambda s: s.buy(1, stop_loss=0.05)})
    assert report.trades[0].exit_reason == "stop_loss"
    assert play([100] * 3, {0: lambda s: s.buy(1), 1: lambda s: s.close()}).trades[0].exit_reason == "signal"
