"""An order log is the whole run: what is read from it asks for the same, whatever was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.desk import Action, Request
from runtime.kernel.logged import read_request
from runtime.kernel.report import AccountKind, RunConfig
from runtime.kernel.tickets import OrderRefused, canonical, judge
from runtime.model import Instrument, OrderType

MARKET = Instrument(symbol="X", bars_per_year=252)

_odd = st.sampled_from(
    [[], {}, set(), (), b"x", "x", "", 1j, True, object(), int, 2**53 + 1, 10**16, 2**200, -(2**200)]
)
_value = st.none() | st.floats() | st.integers() | st.floats(1e-9, 1e9) | _odd
_request = st.builds(
    Request,
    st.integers(0, 10**6),
    st.sampled_from([*Action, None, "buy", 3]),
    st.none() | st.sampled_from([*OrderType, "limit", 0]),
    _value,
    _value,
    _value,
    _value,
    _value,
    _value,
    _value,
    st.text() | st.none() | st.integers() | _odd,
)


def judged(request, account):
    try:
        return judge(request, RunConfig(account=account), MARKET)
    except OrderRefused as refusal:
        return str(refusal)


@given(request=_request, account=st.sampled_from(AccountKind))
def test_what_is_read_is_written_the_same_and_judged_the_same(request, account):
    again = read_request(canonical(request))
    assert canonical(again) == canonical(request)
    if request.action is Action.CANCEL:
        request = request._replace(id=0)
    assert judged(again, account) == judged(request, account)


@pytest.mark.parametrize("value", [5, 5.0])
def test_a_cancel_of_an_id_and_of_a_number_are_two_wishes(value):
    request = Request(0, Action.CANCEL, None, value)
    assert type(read_request(canonical(request)).quantity) is type(value)


@given(st.text(st.sampled_from("1 buysel=?'\\\".-+e0xhugcanl\u0661"), max_size=40))
def test_a_line_is_a_request_or_a_value_error(text):
    try:
        request = read_request(text)
    except ValueError:
        return
    assert canonical(request).isprintable()
