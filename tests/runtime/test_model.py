"""The shared values."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta

import pytest

from runtime.model import Bar, Fill, Instrument, Order, OrderType, Position, Side, Timeframe


@pytest.mark.parametrize(
    ("text", "seconds"), [("1m", 60), ("15m", 900), ("4h", 14_400), ("1d", 86_400), ("1w", 604_800), (" 1H ", 3600)]
)
def test_timeframes_are_read_and_written(text, seconds):
    timeframe = Timeframe.parse(text)
    assert timeframe.seconds == seconds
    assert timeframe.step == timedelta(seconds=seconds)
    assert Timeframe.parse(str(timeframe)) == timeframe


def test_a_timeframe_is_written_in_its_largest_unit():
    assert [str(Timeframe.parse(text)) for text in ("60m", "24h", "7d", "90m")] == ["1h", "1d", "1w", "90m"]


@pytest.mark.parametrize("text", ["", "m", "0m", "1s", "1.5h", "h1", "-1d", "99999m", "1y", "1d1h"])
def test_what_is_no_timeframe_is_named(text):
    with pytest.raises(ValueError, match=r"write a number and one of m, h, d, w"):
        Timeframe.parse(text)


@pytest.mark.parametrize("seconds", [0, 30, 61, 604_860])
def test_a_timeframe_is_whole_minutes_up_to_a_week(seconds):
    with pytest.raises(ValueError, match="whole minutes from 1m to 1w"):
        Timeframe(seconds)


def test_two_weeks_are_too_long():
    with pytest.raises(ValueError, match="whole minutes from 1m to 1w"):
        Timeframe.parse("2w")


def test_timeframes_have_an_order():
    assert Timeframe.parse("1m") < Timeframe.parse("1h") < Timeframe.parse("1d")


def test_values_are_frozen():
    bar = Bar(datetime(2024, 1, 1, tzinfo=UTC), 1.0, 2.0, 0.5, 1.5, 10.0)
    with pytest.raises(AttributeError):
        bar.close = 5.0
    fill = Fill(ts=bar.ts, side=Side.BUY, quantity=1.0, price=1.0, fee=0.0, tag="", order_id=1)
    with pytest.raises(AttributeError):
        fill.price = 5.0
    for value, field in (
        (Order(side=Side.BUY), "quantity"),
        (Position(quantity=0.0, entry_price=None), "quantity"),
        (Instrument(symbol="X", bars_per_year=252), "lot"),
        (Timeframe(60), "seconds"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field, 5.0)


def test_an_order_is_a_market_order_unless_it_says_otherwise():
    assert Order(side=Side.SELL).type is OrderType.MARKET


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("symbol", "", "instrument symbol = '' must be a name"),
        ("bars_per_year", 0, "bars_per_year of instrument X = 0 must be a number above 0"),
        ("bars_per_year", math.nan, "bars_per_year of instrument X = nan must be a number above 0"),
        ("bars_per_year", math.inf, "bars_per_year of instrument X = inf must be a number above 0"),
        ("bars_per_year", None, "bars_per_year of instrument X = None must be a number above 0"),
        ("lot", 0.0, "lot of instrument X = 0.0 must be a number above 0"),
        ("lot", -1.0, "lot of instrument X = -1.0 must be a number above 0"),
        ("lot", "1", "lot of instrument X = '1' must be a number above 0"),
        ("lot", True, "lot of instrument X = True must be a number above 0"),
        ("lot", 10**400, "must be a number above 0"),
        ("tick", math.nan, "tick of instrument X = nan must be a number above 0"),
        ("min_notional", -0.01, "min_notional of instrument X = -0.01 must be 0 or more"),
        ("initial_margin", 0.0, "initial_margin of instrument X = 0.0 must be a fraction above 0 and at most 1"),
        ("initial_margin", 1.5, "initial_margin of instrument X = 1.5 must be a fraction above 0 and at most 1"),
        (
            "maintenance_margin",
            0.0,
            "maintenance_margin of instrument X = 0.0 must be a fraction above 0 and at most 1",
        ),
        ("maintenance_margin", 0.6, "is above its initial_margin of 0.5, so that every position would be closed"),
        ("borrow_bps_per_year", -1.0, "borrow_bps_per_year of instrument X = -1.0 must be 0 or more"),
        ("borrow_bps_per_year", math.nan, "borrow_bps_per_year of instrument X = nan must be 0 or more"),
    ],
)
def test_an_instrument_that_no_venue_has_is_refused_in_one_sentence(field, value, words):
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        Instrument(**{"symbol": "X", "bars_per_year": 252.0, field: value})
    assert "\n" not in str(caught.value)


def test_whole_numbers_and_limits_of_an_instrument_are_fine():
    instrument = Instrument(symbol="X", bars_per_year=252, lot=1, tick=1e-8, initial_margin=1, maintenance_margin=1.0)
    assert instrument.lot == 1
