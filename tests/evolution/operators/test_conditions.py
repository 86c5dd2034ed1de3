"""Guards are never touched, signals are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from evolution.operators.conditions import Role, comparisons, decisions, order_role, split

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy


GUARDS = [
    "self.flat",
    "not self.long",
    "self.position > 0",
    "self.position == 0",
    "len(values) < 20",
    "count >= 20",
    "self.entry_price is None",
    "self.bar_count < 50",
    "values",
    "not values",
    "self.armed",
    "isinstance(values, list)",
    "self.open_orders",
    "True",
]
SIGNALS = [
    "bar.close > bar.open",
    "self.rsi[-1] < 30",
    "crossed_above(self.rsi, 50)",
    "strong",
    "not strong",
    "age > 20",
    "bar.close < self.entry_price * 0.9",
    "(bar.close > bar.open or self.rsi[-1] < 30)",
]


def _on_bar(look: Callable[[str], Anatomy], test: str, body: str = "self.buy()") -> Anatomy:
    return look(f"""
        def on_start(self):
            self.armed = False
            self.rsi = self.indicator("RSI")

        def on_bar(self, bar):
            values = [bar.close]
            count = len(values)
            strong = self.rsi[-1] > 50
            age = self.bar_count - 3
            if {test}:
                {body}
            self.log(f"{{values}} {{count}} {{strong}} {{age}} {{self.armed}}")
    """)


@pytest.mark.parametrize("test", GUARDS)
def test_what_keeps_a_strategy_in_order_is_a_guard(look: Callable[[str], Anatomy], test: str) -> None:
    (decision,) = decisions(_on_bar(look, test))
    assert [ast.unparse(guard) for guard in decision.guards] == [test]
    assert decision.signals == []


@pytest.mark.parametrize("test", SIGNALS)
def test_what_judges_the_market_is_a_signal(look: Callable[[str], Anatomy], test: str) -> None:
    (decision,) = decisions(_on_bar(look, test))
    assert decision.guards == []
    assert [ast.unparse(signal) for signal in decision.signals] == [test.strip("()") if test[0] == "(" else test]


def test_a_conjunction_is_split_and_put_together_again(look: Callable[[str], Anatomy]) -> None:
    (decision,) = decisions(_on_bar(look, "self.flat and self.rsi[-1] < 30 and len(values) > 3 and strong"))
    assert [ast.unparse(guard) for guard in decision.guards] == ["self.flat", "len(values) > 3"]
    decision.decide(decision.signals[1:])
    assert ast.unparse(decision.statement.test) == "self.flat and len(values) > 3 and strong"


def test_a_disjunction_with_a_guard_in_it_is_a_guard_as_a_whole(look: Callable[[str], Anatomy]) -> None:
    anatomy = _on_bar(look, "self.flat or bar.close > bar.open")
    method = anatomy.on_bar
    assert method is not None
    guards, signals = split(decisions(anatomy)[0].statement.test, method)
    assert (len(guards), signals) == (1, [])


def test_only_the_branch_that_holds_the_order_decides(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        def on_bar(self, bar):
            if self.flat:
                if bar.close > bar.open:
                    self.buy()
            elif bar.close < bar.low + 1:
                self.close()
    """)
    found = [(decision.role, ast.unparse(decision.statement.test)) for decision in decisions(anatomy)]
    assert sorted(found, key=str) == [(Role.ENTRY, "bar.close > bar.open"), (Role.EXIT, "bar.close < bar.low + 1")]


ORDERS = {
    "self.buy()": Role.ENTRY,
    "self.target(0.5)": Role.ENTRY,
    "self.target(self.cash)": Role.ENTRY,
    "self.target(0)": Role.EXIT,
    "self.close()": Role.EXIT,
    "self.sell()": Role.EXIT,
    "self.submit(Order(side=Side.BUY))": Role.ENTRY,
    "self.submit(Order(side=Side.SELL))": Role.EXIT,
    "self.submit(bar)": None,
}


@pytest.mark.parametrize(("text", "role"), ORDERS.items(), ids=ORDERS)
def test_orders_open_or_close(text: str, role: Role | None) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert order_role(call) is role


def test_comparisons_that_protect_a_division_are_left_alone(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        def on_bar(self, bar):
            spread = bar.high - bar.low
            if spread > 0 and bar.close / spread > 3:
                self.buy()
    """)
    assert anatomy.on_bar is not None
    assert [ast.unparse(one) for one in comparisons(anatomy.on_bar, anatomy.on_bar)] == ["bar.close / spread > 3"]


def test_the_condition_of_a_while_loop_is_left_alone(look: Callable[[str], Anatomy]) -> None:
    """Turning it around could run for ever."""
    anatomy = look("""
        def on_bar(self, bar):
            n = 3
            while n > bar.close:
                n -= 1
    """)
    assert anatomy.on_bar is not None
    assert comparisons(anatomy.on_bar, anatomy.on_bar) == []
