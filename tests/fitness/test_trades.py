"""A digest of round trips, in ratios that give away neither price nor date."""

from dataclasses import asdict

import pytest

from fitness.trades import trade_digest
from runtime.kernel.report import Trade
from runtime.model import Side


def trade(pnl, *, fees=2.0, bars=5, price=50.0, quantity=2.0, reason="signal", side=Side.BUY):
    return Trade(
        side=side,
        quantity=quantity,
        entry_row=10,
        exit_row=10 + bars,
        entry_price=price,
        exit_price=price + 1,
        fees=fees,
        pnl=pnl,
        mae=0.03,
        mfe=0.08,
        exit_reason=reason,
    )


def test_no_round_trip_has_no_digest():
    assert trade_digest([]) is None


def test_shares_means_and_medians_are_plain_arithmetic():
    digest = trade_digest([trade(10.0, bars=3), trade(-5.0, bars=9, reason="stop_loss"), trade(30.0, bars=4)])
    assert digest.count == 3
    assert digest.win_rate == pytest.approx(2 / 3)
    assert digest.mean_win == pytest.approx((0.10 + 0.30) / 2)
    assert digest.mean_loss == pytest.approx(-0.05)
    assert digest.median_bars == 4
    assert digest.fee_share == pytest.approx(6.0 / (12.0 + 32.0))
    assert digest.exits == {"signal": 2, "stop_loss": 1}


def test_the_worst_round_trip_is_the_one_that_lost_most_of_its_stake_not_most_money():
    small = trade(-10.0, price=10.0, quantity=2.0, reason="trail")
    digest = trade_digest([small, trade(-11.0, price=1_000.0)])
    assert digest.worst.net_return == pytest.approx(-0.5)
    assert digest.worst.exit_reason == "trail"
    assert (digest.worst.mae, digest.worst.mfe, digest.worst.bars) == (0.03, 0.08, 5)


def test_a_short_round_trip_counts_by_its_size():
    assert trade_digest([trade(-10.0, quantity=-2.0, side=Side.SELL)]).worst.net_return == pytest.approx(-0.1)


def test_direction_is_weighed_by_the_bars_held():
    trips = [trade(1.0, bars=30), trade(1.0, bars=10, side=Side.SELL)]
    assert trade_digest(trips).short_share == pytest.approx(0.25)
    assert trade_digest(trips[:1]).short_share == 0.0
    assert trade_digest([trade(1.0, bars=0, side=Side.SELL)]).short_share == 0.0


def test_a_round_trip_that_only_paid_fees_is_no_gain():
    digest = trade_digest([trade(0.0, fees=0.0)])
    assert (digest.win_rate, digest.mean_win, digest.mean_loss, digest.fee_share) == (0.0, None, 0.0, None)


def test_nothing_in_a_digest_is_a_price_or_an_amount():
    digest = asdict(trade_digest([trade(7.0, price=123.456, fees=0.789)]))
    assert "123.4" not in repr(digest)
    assert "0.789" not in repr(digest)
