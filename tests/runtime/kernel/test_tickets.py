"""Requests may hold anything; only plain checked values get past, everything else is a counted refusal."""

from __future__ import annotations

import math

import pytest

from runtime.desk import Action, Request
from runtime.kernel import AccountKind, RunConfig
from runtime.kernel.tickets import Cancel, OrderRefused, canonical, judge
from runtime.model import Instrument, Order, OrderType, Side

INSTRUMENT = Instrument(symbol="X", bars_per_year=252)


class Lying(float):
    """A number of the candidate's own making."""

    __name__ = "float"


HOSTILE = [
    10**400,
    -(10**400),
    1e16,
    math.nan,
    math.inf,
    -math.inf,
    0,
    -1.0,
    True,
    1 + 2j,
    "5",
    b"5",
    [5],
    Lying(5),
    object(),
]


@pytest.mark.parametrize("field", ["quantity", "limit", "stop", "offset", "stop_loss", "take_profit", "trail"])
@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: type(v).__name__ + str(v)[:8])
def test_a_value_that_is_no_plain_positive_number_is_refused(field, value):
    request = Request(1, Action.BUY)._replace(**{field: value})
    with pytest.raises(OrderRefused, match=r"wrong order"):
        judge(request, RunConfig(), INSTRUMENT)


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: type(v).__name__ + str(v)[:8])
def test_hostile_values_run_through_the_whole_engine_as_refusals(play, value):
    """None of them may become an exception of the engine, through any of the order methods."""

    def ask(s):
        s.buy(value)
        s.sell(1, limit=value)
        s.buy(1, stop=value, stop_loss=value, take_profit=value, trail=value, tag=value)
        s.target(value if value not in (0, True) else "5")
        s.submit(Order(side=Side.BUY, quantity=value, type=value, tag=value))
        s.submit(Order(side=value))
        s.submit(value)
        s.cancel(value)
        s.close(tag=value)

    report = play([100, 100], {0: ask})
    assert report.failure is None
    assert report.fills == ()
    assert report.refused_count == 9
    assert all(refusal.reason.isprintable() and len(refusal.reason) < 200 for refusal in report.refused)


def test_a_refusal_names_value_and_rule_but_never_a_foreign_name():
    class Evil:
        pass

    Evil.__name__ = "rm -rf"
    with pytest.raises(OrderRefused) as refusal:
        judge(Request(1, Action.BUY, quantity=Evil()), RunConfig(), INSTRUMENT)
    assert str(refusal.value) == "wrong order value: quantity must be a plain number, not another object"
    with pytest.raises(OrderRefused, match=r"stop_loss = 8\.0 must be a fraction between 0 and 1"):
        judge(Request(1, Action.BUY, stop_loss=8), RunConfig(), INSTRUMENT)


@pytest.mark.parametrize("given", [5, 5.0])
def test_whole_numbers_and_floats_are_the_same_wish(given):
    ticket = judge(Request(1, Action.BUY, quantity=given, limit=99), RunConfig(), INSTRUMENT)
    assert (ticket.quantity, ticket.limit, ticket.type) == (5.0, 99.0, OrderType.LIMIT)
    assert canonical(Request(1, Action.BUY, quantity=given)) == "1 buy quantity=5.0"


@pytest.mark.parametrize(
    ("prices", "kind"),
    [
        ({}, OrderType.MARKET),
        ({"limit": 1.0}, OrderType.LIMIT),
        ({"stop": 1.0}, OrderType.STOP),
        ({"limit": 1.0, "stop": 1.0}, OrderType.STOP_LIMIT),
    ],
)
def test_the_given_prices_decide_the_type(prices, kind):
    assert judge(Request(1, Action.SELL)._replace(**prices), RunConfig(), INSTRUMENT).type is kind


@pytest.mark.parametrize(
    ("kind", "prices", "reason"),
    [
        (OrderType.LIMIT, {}, "LIMIT needs limit"),
        (OrderType.STOP, {"limit": 1.0}, "STOP takes no limit"),
        (OrderType.STOP_LIMIT, {"stop": 1.0}, "STOP_LIMIT needs limit"),
        (OrderType.MARKET, {"stop": 1.0}, "MARKET takes no stop"),
        (OrderType.MARKET_IF_TOUCHED, {}, "MARKET_IF_TOUCHED needs stop"),
        (OrderType.TRAILING_STOP, {}, "TRAILING_STOP needs trail"),
    ],
)
def test_a_type_and_its_prices_must_fit(kind, prices, reason):
    with pytest.raises(OrderRefused, match=reason):
        judge(Request(1, Action.BUY, kind)._replace(**prices), RunConfig(), INSTRUMENT)


@pytest.mark.parametrize(
    ("account", "weight", "allowed"),
    [
        (AccountKind.CASH, 1, True),
        (AccountKind.CASH, 0, True),
        (AccountKind.CASH, 1.01, False),
        (AccountKind.CASH, -0.1, False),
        (AccountKind.MARGIN, -2, True),
        (AccountKind.MARGIN, 2.1, False),
    ],
)
def test_a_weight_is_bounded_by_the_account(account, weight, allowed):
    request, config = Request(1, Action.TARGET, quantity=weight), RunConfig(account=account)
    if allowed:
        assert judge(request, config, INSTRUMENT).weight == weight
    else:
        with pytest.raises(OrderRefused, match="weight"):
            judge(request, config, INSTRUMENT)


@pytest.mark.parametrize(
    ("tag", "kept"),
    [
        ("cross up", "cross up"),
        ("a\nb\r\x00", "a\\nb\\r\\x00"),
        ("\ud800x", "\\ud800x"),
        ("\u202eevil", "\\u202eevil"),
        ("x" * 1000, "x" * 64),
        ("\n" * 1000, "\\n" * 32),
    ],
)
def test_a_tag_is_one_short_printable_line(tag, kept):
    assert judge(Request(1, Action.BUY, tag=tag), RunConfig(), INSTRUMENT).tag == kept


def test_cancel_takes_an_id_or_nothing():
    assert judge(Request(0, Action.CANCEL, quantity=7), RunConfig(), INSTRUMENT) == Cancel(7)
    assert judge(Request(0, Action.CANCEL), RunConfig(), INSTRUMENT) == Cancel(None)
    for wrong in (True, 0, -1, 1.0, "1", 2**64):
        with pytest.raises(OrderRefused, match="cancel takes an order id"):
            judge(Request(0, Action.CANCEL, quantity=wrong), RunConfig(), INSTRUMENT)


def test_equal_canonical_texts_mean_equal_numbers():
    """Neighbouring floats are different wishes."""
    texts = {
        canonical(Request(1, Action.BUY, limit=0.1 + 0.2)),
        canonical(Request(1, Action.BUY, limit=0.3)),
        canonical(Request(1, Action.BUY, stop=0.3)),
        canonical(Request(1, Action.SELL, limit=0.3)),
        canonical(Request(1, Action.BUY, limit=0.3, tag="limit=0.3")),
        canonical(Request(1, Action.BUY, limit=0.3, trail=0.1)),
        canonical(Request(1, Action.BUY, limit=0.3, offset=0.1)),
    }
    assert len(texts) == 7


def test_canonical_texts_of_hostile_requests_are_short_and_printable():
    for value in [*HOSTILE, "\ud800\n"]:
        text = canonical(Request(1, value, value, value, value, value, value, value, value, value, value))
        assert text.isprintable()
        assert len(text) < 700
