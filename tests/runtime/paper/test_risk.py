"""Each guard refuses what it is for, says why, and never stands in the way of an exit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from runtime.desk import Action, OpenOrder, Request
from runtime.kernel import Account
from runtime.model import Bar, OrderType, Side
from runtime.paper.limits import RiskLimits
from runtime.paper.locks import Lock
from runtime.paper.risk import Place, RoundTrip, Situation, judge

NOW = datetime(2026, 3, 2, 15, tzinfo=UTC)
DAY = NOW.replace(hour=0)
OFF = RiskLimits(
    order_notional=None,
    price_deviation=None,
    exposure=None,
    max_drawdown=None,
    daily_loss=None,
    stop_losses=None,
    cooldown_minutes=None,
    low_profit=None,
    trades_per_day=None,
    market_hours=False,
)
BUY = Request(1, Action.BUY, None, 10)
SITUATION = Situation(
    place=Place("ann", "around-the-clock", "AAA"),
    now=NOW,
    bar=Bar(NOW - timedelta(hours=1), 100.0, 101.0, 99.0, 100.0, 1.0),
    account=Account(100_000.0, 0.0, None, ()),
    equity=100_000.0,
    curve=[(NOW, 100_000.0)],
    day=DAY,
    next_day=DAY + timedelta(days=1),
    is_open=True,
    trips=(),
    opened=(),
    locks=(),
)


def verdict(request=BUY, limits=OFF, most=1e9, **situation):
    judged = judge(limits, replace(SITUATION, **situation), [request], most)
    return judged.verdicts[0]


def limits(**on):
    return OFF.model_copy(update=on)


def at(minutes):
    return NOW - timedelta(minutes=minutes)


LOSS = RoundTrip(at(3), "buy", -0.02, "stop_loss")
HELD = Account(90_000.0, 100.0, 100.0, ())

# name, limits, what refuses, what passes
CASES = [
    ("order_notional", limits(order_notional=999.0), {}, {"request": BUY._replace(quantity=9)}),
    (
        "price_deviation",
        limits(price_deviation=0.1),
        {"request": BUY._replace(limit=80.0)},
        {"request": BUY._replace(limit=95.0)},
    ),
    (
        "exposure",
        limits(exposure=0.5),
        {"request": Request(1, Action.TARGET, None, 0.6)},
        {"request": Request(1, Action.TARGET, None, 0.4)},
    ),
    ("exposure", limits(exposure=0.5), {"waiting": 495.0}, {"waiting": 480.0}),
    (
        "max_drawdown",
        limits(max_drawdown=0.1, drawdown_minutes=60),
        {"curve": [(at(30), 112_000.0), (NOW, 100_000.0)]},
        {"curve": [(at(90), 112_000.0), (at(30), 110_000.0), (NOW, 100_000.0)]},
    ),
    (
        "daily_loss",
        limits(daily_loss=0.05),
        {"curve": [(DAY, 106_000.0), (NOW, 100_000.0)]},
        {"curve": [(DAY - timedelta(hours=1), 150_000.0), (DAY, 104_000.0), (NOW, 100_000.0)]},
    ),
    ("stop_losses", limits(stop_losses=2), {"trips": [LOSS, LOSS]}, {"trips": [LOSS, LOSS._replace(closed=at(61))]}),
    (
        "cooldown",
        limits(cooldown_minutes=5),
        {"trips": [LOSS]},
        {"trips": [LOSS._replace(side="sell"), LOSS._replace(closed=at(5)), LOSS._replace(profit=0.1)]},
    ),
    (
        "low_profit",
        limits(low_profit=-0.03),
        {"trips": [LOSS, LOSS]},
        {"trips": [LOSS, LOSS, RoundTrip(at(1), "buy", 0.02, "signal")]},
    ),
    ("trades_per_day", limits(trades_per_day=2), {"opened": [at(9), at(8)]}, {"opened": [DAY, at(8)]}),
    ("market_hours", limits(market_hours=True), {"is_open": False}, {}),
    ("deployment", OFF, {"most": 999.0}, {"most": 1_000.0}),
    (
        "lock",
        OFF,
        {"locks": [Lock(account="ann", until=NOW + timedelta(minutes=1), rule="daily_loss", reason="it fell")]},
        {"locks": [Lock(account="ann", until=NOW, rule="daily_loss", reason="it fell")]},
    ),
]


@pytest.mark.parametrize(("rule", "on", "refused", "passed"), CASES, ids=[each[0] for each in CASES])
def test_a_rule_refuses_on_its_own_side_of_the_limit(rule, on, refused, passed):
    found = verdict(limits=on, **refused)
    assert found is not None
    assert found.rule == rule
    assert any(letter.isdigit() for letter in found.reason) or rule == "market_hours"
    assert verdict(limits=on, **passed) is None


@pytest.mark.parametrize(("rule", "on", "refused", "passed"), CASES, ids=[each[0] for each in CASES])
@pytest.mark.parametrize(
    "request_",
    [
        Request(1, Action.CLOSE),
        Request(1, Action.SELL),
        Request(1, Action.SELL, None, 100),
        Request(1, Action.SELL, None, 40, None, 20.0),
        Request(1, Action.TARGET, None, 0.0),
        Request(1, Action.CANCEL),
    ],
    ids=["close", "sell all", "sell the position", "stop", "target 0", "cancel"],
)
def test_an_exit_passes_whatever_is_locked(rule, on, refused, passed, request_):
    wanted = {key: value for key, value in refused.items() if key != "request"} | {"account": HELD, "equity": 100_000.0}
    assert verdict(request_, on, **wanted) is None


def test_two_exits_that_together_sell_more_than_there_is_are_not_both_exits():
    half = Request(1, Action.SELL, None, 60)
    judged = judge(limits(market_hours=True), replace(SITUATION, account=HELD, is_open=False), [half, half], 1e9)
    assert [each and each.rule for each in judged.verdicts] == [None, "market_hours"]


def test_turning_a_position_round_is_no_exit():
    turn = Request(1, Action.SELL, None, 150)
    assert verdict(turn, limits(market_hours=True), account=HELD, is_open=False).rule == "market_hours"


@pytest.mark.parametrize(
    ("lock", "holds"),
    [
        ({}, True),
        ({"market": "around-the-clock"}, True),
        ({"market": "us-equities"}, False),
        ({"symbol": "AAA", "side": "buy"}, True),
        ({"symbol": "AAA", "side": "sell"}, False),
        ({"symbol": "BBB"}, False),
    ],
)
def test_a_lock_is_as_wide_as_it_says(lock, holds):
    made = Lock(account="ann", until=NOW + timedelta(hours=1), rule="x", reason="2 losses", **lock)
    assert (verdict(locks=[made]) is not None) is holds


def test_a_rule_that_locks_holds_for_the_rest_of_the_bar_and_says_for_how_long():
    on = limits(max_drawdown=0.1, drawdown_minutes=60)
    curve = [(at(30), 112_000.0), (NOW, 100_000.0)]
    judged = judge(on, replace(SITUATION, curve=curve), [BUY, BUY], 1e9)
    assert [each.rule for each in judged.verdicts] == ["max_drawdown", "lock"]
    (lock,) = judged.locks
    assert (lock.account, lock.symbol, lock.until) == ("ann", None, NOW + timedelta(hours=1))


def test_without_a_guard_only_what_was_signed_counts():
    assert verdict(limits=None, is_open=False) is None
    assert verdict(limits=None, most=1.0).rule == "deployment"


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), "many", None, 10**400])
def test_an_amount_that_is_none_is_left_to_the_venue_or_sized_by_cash(amount):
    found = verdict(BUY._replace(quantity=amount), limits(order_notional=50_000.0))
    assert (found is None) is (amount is not None)


def test_no_rule_at_all_is_no_guard():
    assert OFF.is_empty
    assert not RiskLimits().is_empty
    assert not limits(market_hours=True).is_empty


@pytest.mark.parametrize("named", [{"limit": 1e6}, {"stop": 1e6}, {"limit": 99.0}, {"limit": 0.01}])
def test_a_price_that_a_target_names_makes_no_exit_of_it(named):
    """At a limit far away the target would be a sale, and it is filled at the market."""
    held = Account(90_000.0, 100.0, 100.0, ())
    target = Request(1, Action.TARGET, None, 0.9)._replace(**named)
    assert verdict(target, OFF, most=50_000.0, account=held).rule == "deployment"
    assert verdict(target, limits(exposure=0.5), account=held).rule == "exposure"
    assert verdict(target, limits(market_hours=True), account=held, is_open=False).rule == "market_hours"
    assert (
        verdict(Request(1, Action.TARGET, None, 0.05, 105.0), limits(market_hours=True), account=held, is_open=False)
        is None
    )


SHUT = limits(market_hours=True)
STOP = Request(1, Action.SELL, None, 60, None, 90.0)


def test_exits_that_rest_are_together_no_larger_than_the_position():
    """Each is an exit by itself; filled one after the other they turn the position round, which no rule has seen."""
    shut = replace(SITUATION, account=HELD, is_open=False)
    assert judge(SHUT, shut, [STOP], 1e9).verdicts == [None]
    assert [each and each.rule for each in judge(SHUT, shut, [STOP, STOP], 1e9).verdicts] == [None, "market_hours"]
    assert judge(SHUT, replace(shut, leaving=-60.0), [STOP], 1e9).verdicts[0].rule == "market_hours"
    assert (
        judge(limits(exposure=0.1), replace(SITUATION, account=HELD, leaving=-180.0), [STOP], 1e9).verdicts[0].rule
        == "exposure"
    )


def test_a_resting_exit_never_stands_in_the_way_of_leaving_now():
    shut = replace(SITUATION, account=HELD, is_open=False, leaving=-100.0)
    for request in (Request(1, Action.SELL, None, 100), Request(1, Action.CLOSE), Request(1, Action.SELL)):
        assert judge(SHUT, shut, [request], 1e9).verdicts == [None]


def test_a_cash_account_may_rest_a_stop_and_a_profit_for_the_same_units():
    shut = replace(SITUATION, account=HELD, is_open=False, leaving=-100.0, can_turn=False)
    assert judge(SHUT, shut, [STOP], 1e9).verdicts == [None]


def test_a_second_purchase_for_all_cash_is_no_second_cover():
    """The first closes the short position, the second opens one as large as the cash."""
    short = replace(SITUATION, account=Account(110_000.0, -100.0, 100.0, ()))
    everything = Request(1, Action.BUY)
    judged = judge(limits(exposure=0.5), short, [everything, everything], 1e9)
    assert [each and each.rule for each in judged.verdicts] == [None, "exposure"]


def test_waiting_orders_count_towards_the_position():
    from runtime.paper.screen import _waiting

    order = OpenOrder(id=1, side=Side.BUY, quantity=5.0, type=OrderType.LIMIT, limit=90.0)
    sell = OpenOrder(id=2, side=Side.SELL, quantity=4.0, type=OrderType.LIMIT, limit=110.0)
    assert _waiting(Account(1.0, 10.0, 100.0, (order, sell)), adds=True) == 5.0
    assert _waiting(Account(1.0, 10.0, 100.0, (order, sell)), adds=False) == -4.0
