"""What a run may be told: impossible costs and configurations are refused where they are written down."""

from __future__ import annotations

import math
import re

import pytest

from runtime.kernel import AccountKind, Costs, RunConfig


@pytest.mark.parametrize("field", ["fee_bps", "fee_per_unit", "fee_minimum", "slippage_bps"])
@pytest.mark.parametrize("value", [-0.01, math.nan, math.inf, -math.inf, None, "10", True, 10**400])
def test_a_cost_is_a_finite_number_that_is_not_negative(field, value):
    with pytest.raises(ValueError, match=rf"^cost {field} = .* must be 0 or more") as caught:
        Costs(**{field: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["fee_bps", "slippage_bps"])
def test_a_share_of_the_notional_is_less_than_all_of_it(field):
    """A sale that slips by 100% brings nothing; the price would be 0."""
    assert getattr(Costs(**{field: 9_999.0}), field) == 9_999.0
    with pytest.raises(ValueError, match=rf"cost {field} = 10000.0 must be 0 or more and below 10000"):
        Costs(**{field: 10_000.0})


@pytest.mark.parametrize("cash", [0.0, -1.0, math.nan, math.inf, None, "100", 1e16])
def test_starting_cash_is_above_zero(cash):
    with pytest.raises(ValueError, match=r"^starting cash = .* must be a number above 0$"):
        RunConfig(cash=cash)


@pytest.mark.parametrize("field", ["start", "decision_delay"])
@pytest.mark.parametrize("value", [-1, 1.0, math.nan, None, True, "1"])
def test_bars_are_counted_in_whole_numbers_from_zero(field, value):
    with pytest.raises(ValueError, match=rf"^{field} = .* must be a whole number of bars, 0 or more$"):
        RunConfig(**{field: value})


def test_an_account_is_one_of_its_kinds():
    with pytest.raises(ValueError, match=r"account = 'cash' must be one of AccountKind.CASH, AccountKind.MARGIN"):
        RunConfig(account="cash")
    assert RunConfig(account=AccountKind.MARGIN).account is AccountKind.MARGIN


def test_a_minimum_fee_that_takes_all_of_the_cash_is_refused_with_both_amounts():
    words = "the minimum fee of 100 takes all of the starting cash of 100, so that nothing can be bought"
    with pytest.raises(ValueError, match=re.escape(words)):
        RunConfig(cash=100.0, costs=Costs(fee_minimum=100.0))
    assert RunConfig(cash=100.01, costs=Costs(fee_minimum=100.0)).cash == 100.01
