"""No call passes a ceiling, and what cannot be bounded is refused before anything is sent."""

import pytest
from pydantic import ValidationError

from evolution.llm import LlmProfile
from evolution.llm.budget import (
    DEFAULT_RUN_TOKENS,
    Budget,
    BudgetError,
    Ceiling,
    Charge,
    Scope,
    overrun,
    require_bounds,
)

PRICE = {"input_per_million": 2, "output_per_million": 8, "as_of": "2026-11-01"}


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(("tokens", "fits"), [(300, True), (301, False)])
def test_tokens_may_reach_the_ceiling_of_each_scope_and_not_pass_it(scope, tokens, fits):
    budget = Budget(run=Ceiling()).model_copy(update={scope.value: Ceiling(tokens=1_000)})
    before = {} if scope is Scope.CALL else {scope: Charge(tokens=700)}
    wanted = Charge(tokens=tokens + (700 if scope is Scope.CALL else 0))
    over = overrun(budget, wanted, before)
    assert (over is None) is fits
    if over is not None:
        assert over.scope is scope
        assert over.reason.startswith(f"[budget.{scope.value}] tokens = 1000: ")


@pytest.mark.parametrize("scope", list(Scope))
def test_money_has_ceilings_of_its_own(scope):
    budget = Budget().model_copy(update={scope.value: Ceiling(money=1.0)})
    assert overrun(budget, Charge(tokens=10, money=1.0), {}) is None
    over = overrun(budget, Charge(tokens=10, money=1.01), {})
    assert over.scope is scope
    assert "money = 1" in over.reason


def test_the_narrowest_scope_is_named_first():
    tight = Ceiling(tokens=1)
    budget = Budget(candidate=tight, generation=tight, run=tight, day=tight)
    assert overrun(budget, Charge(tokens=2), {}).scope is Scope.CANDIDATE


def test_a_run_has_a_ceiling_in_tokens_even_when_nobody_wrote_one():
    assert overrun(Budget(), Charge(tokens=1), {Scope.RUN: Charge(tokens=DEFAULT_RUN_TOKENS)}).scope is Scope.RUN


@pytest.mark.parametrize("content", [{"run": {"tokens": 0}}, {"run": {"money": -1}}, {"run": {"money": "inf"}},
                                     {"week": {"tokens": 5}}, {"run": {"cents": 5}}, {"currency": "dollars"}])  # fmt: skip
def test_what_is_no_ceiling_is_refused(content):
    with pytest.raises(ValidationError):
        Budget.model_validate(content)


def test_an_unknown_price_makes_a_ceiling_in_tokens_compulsory(profile_for):
    unknown, known = profile_for("http://127.0.0.1:9/v1"), profile_for("http://127.0.0.1:9/v1", price=PRICE)
    in_money = Budget(run=Ceiling(money=5))
    require_bounds(in_money, [known])
    require_bounds(Budget(), [unknown])
    require_bounds(Budget(run=Ceiling(money=5), day=Ceiling(tokens=1_000)), [unknown])
    with pytest.raises(BudgetError, match=r"profile 'test' has no price.*set tokens under \[budget.run\]"):
        require_bounds(in_money, [known, unknown])


def test_prices_in_another_currency_than_the_ceilings_are_refused(profile_for):
    euro = profile_for("http://127.0.0.1:9/v1", price={**PRICE, "currency": "EUR"})
    require_bounds(Budget(), [euro])
    require_bounds(Budget(currency="EUR", day=Ceiling(money=5)), [euro])
    with pytest.raises(BudgetError, match="priced in EUR and the budget is in USD"):
        require_bounds(Budget(day=Ceiling(money=5)), [euro])


def test_a_ceiling_of_a_call_below_its_answer_is_refused_at_the_start():
    profile = LlmProfile(name="p", base_url="http://127.0.0.1:9/v1", model="m", max_tokens=4_000)
    with pytest.raises(BudgetError, match=r"\[budget.call\] tokens = 4000 leaves no room .*\[llm.p\]"):
        require_bounds(Budget(call=Ceiling(tokens=4_000)), [profile])
    require_bounds(Budget(call=Ceiling(tokens=9_000)), [profile])
