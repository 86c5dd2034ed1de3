"""A piece moves with everything that it needs, and with nothing else."""

from __future__ import annotations

import random
import textwrap
from typing import TYPE_CHECKING

from evolution.operators.anatomy import clone, dissect
from evolution.operators.arms import find_arms
from evolution.operators.crossover import LinkedCrossover, SignalGraft
from evolution.operators.printing import print_tree
from evolution.operators.prune import prune

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy
    from evolution.operators.operator import Operator


HOST = """
    window = param(20, low=5, high=60)

    def on_start(self):
        self.line = self.indicator("SMA", timeperiod=self.window)

    def on_bar(self, bar):
        if self.flat and bar.close > self.line[-1]:
            self.target(1.0)
        elif self.long and bar.close < self.line[-1]:
            self.close()
"""


def _children(look: Callable[[str], Anatomy], operator: Operator, host: str, donor: str, starts: str) -> list[str]:
    """The texts of all different children whose detail starts like this."""
    texts = {}
    first, second = look(host), look(donor)
    for seed in range(40):
        pair = [dissect(clone(one.tree), one.body.name) for one in (first, second)]
        parents = [one for one in pair if one is not None]
        detail = operator.vary(parents, random.Random(seed))
        if detail is not None and detail.startswith(starts):
            prune(parents[0].tree, parents[0].body.name)
            texts[print_tree(parents[0].tree)] = None
    return list(texts)


def _text(body: str) -> str:
    return textwrap.dedent(body).lstrip("\n")


def test_an_exit_brings_its_parameters_declarations_state_and_helpers(look: Callable[[str], Anatomy]) -> None:
    donor = """
        patience = param(30, low=5, high=90)
        enter_at = param(3.0, low=1.0, high=9.0)

        def on_start(self):
            self.age = 0
            self.gain = self.indicator("ROC", timeperiod=10)
            self.floor = self.indicator("MIN", source="low", timeperiod=10)

        def is_old(self):
            return self.age > self.patience

        def on_fill(self, fill):
            self.age = 0
            self.log(str(fill.price))

        def on_bar(self, bar):
            self.age += 1
            broken = bar.close < self.floor[-2]
            if self.flat and self.gain[-1] > self.enter_at:
                self.buy()
            elif self.long and (broken or self.is_old()):
                self.close()
    """
    (child,) = _children(look, LinkedCrossover(), HOST, donor, "exit")
    assert child == _text("""
        class S(Strategy):
            window = param(20, low=5, high=60)
            patience = param(30, low=5, high=90)

            def on_start(self):
                self.line = self.indicator('SMA', timeperiod=self.window)
                self.age = 0
                self.floor = self.indicator('MIN', source='low', timeperiod=10)

            def on_fill(self, fill):
                self.age = 0

            def on_bar(self, bar):
                self.age += 1
                broken = bar.close < self.floor[-2]
                if self.flat and bar.close > self.line[-1]:
                    self.target(1.0)
                elif self.long and (broken or self.is_old()):
                    self.close()

            def is_old(self):
                return self.age > self.patience
    """)


def test_names_that_mean_something_else_are_renamed_and_equal_ones_shared(look: Callable[[str], Anatomy]) -> None:
    donor = """
        window = param(50, low=5, high=60)

        def on_start(self):
            self.line = self.indicator("SMA", timeperiod=self.window)

        def on_bar(self, candle):
            if self.flat and candle.close > self.line[-2]:
                self.buy()
            elif self.long and candle.low < self.line[-2]:
                self.close()
    """
    (child,) = _children(look, LinkedCrossover(), HOST, donor, "exit")
    assert "window_2 = param(50, low=5, high=60)" in child
    assert "self.line_2 = self.indicator('SMA', timeperiod=self.window_2)" in child
    assert "elif self.long and bar.low < self.line_2[-2]:" in child
    (shared,) = _children(look, LinkedCrossover(), HOST, donor.replace("50", "20"), "exit")
    assert "_2" not in shared
    assert "elif self.long and bar.low < self.line[-2]:" in shared


def test_state_that_the_other_arm_keeps_comes_along(look: Callable[[str], Anatomy]) -> None:
    donor = """
        def on_start(self):
            self.entered = 0.0

        def on_bar(self, bar):
            if self.flat and bar.close > bar.open:
                self.entered = bar.close
                self.buy()
            elif self.long and bar.close < self.entered * 0.9:
                self.close()
    """
    (child,) = _children(look, LinkedCrossover(), HOST, donor, "exit")
    assert "self.line[-1]:\n            self.entered = bar.close\n            self.target(1.0)" in child


def test_an_own_window_comes_with_its_warm_up_guard(look: Callable[[str], Anatomy]) -> None:
    donor = """
        from collections import deque

        SIZE = 20


        class S(Strategy):
            def on_start(self):
                self.window = deque(maxlen=SIZE)

            def on_bar(self, bar):
                self.window.append(bar.close)
                if len(self.window) < SIZE:
                    return
                mean = sum(self.window) / SIZE
                if self.flat and bar.close > mean:
                    self.buy()
                elif self.long and bar.close < mean:
                    self.close()
    """
    (child,) = _children(look, LinkedCrossover(), HOST, donor, "entry")
    assert child == _text("""
        from collections import deque
        SIZE = 20

        class S(Strategy):
            window = param(20, low=5, high=60)

            def on_start(self):
                self.line = self.indicator('SMA', timeperiod=self.window)
                self.window_2 = deque(maxlen=SIZE)

            def on_bar(self, bar):
                self.window_2.append(bar.close)
                if len(self.window_2) < SIZE:
                    return
                mean = sum(self.window_2) / SIZE
                if self.flat and bar.close > mean:
                    self.buy()
                elif self.long and bar.close < self.line[-1]:
                    self.close()
    """)


def test_an_arm_takes_the_guards_of_its_chain_with_it(look: Callable[[str], Anatomy]) -> None:
    donor = """
        def on_start(self):
            self.stop = None

        def on_fill(self, fill):
            self.stop = fill.price * 0.9

        def on_bar(self, bar):
            if self.stop is None:
                self.log("no stop yet")
            elif bar.close < self.stop:
                self.close()
            elif self.flat and bar.close > bar.open:
                self.buy()
    """
    (child,) = _children(look, LinkedCrossover(), HOST, donor, "exit")
    assert "elif not self.stop is None and bar.close < self.stop:" in child


def test_an_else_moves_only_if_its_condition_can_be_written_down(look: Callable[[str], Anatomy]) -> None:
    donor = "def on_bar(self, bar):\n    if {}:\n        self.buy()\n    else:\n        self.close()\n"
    assert _children(look, LinkedCrossover(), HOST, donor.format("bar.close > bar.open"), "exit") == []
    (child,) = _children(look, LinkedCrossover(), HOST, donor.format("self.flat"), "exit")
    assert "elif not self.flat:\n            self.close()" in child


def test_what_cannot_be_followed_is_not_moved(look: Callable[[str], Anatomy]) -> None:
    """``self`` handed to somebody hides what is used; a local of an arm is set nowhere else."""
    hidden = """
        RULE = lambda strategy: strategy.x[-1] > 0


        class S(Strategy):
            def on_start(self):
                self.x = self.indicator("ROC")

            def on_bar(self, bar):
                if self.flat and RULE(self):
                    self.buy()
                elif self.long and not RULE(self):
                    self.close()
    """
    assert _children(look, LinkedCrossover(), HOST, hidden, "e") == []
    assert _children(look, SignalGraft(), HOST, hidden, "e") == []


def test_mixed_branches_are_not_crossed(look: Callable[[str], Anatomy]) -> None:
    mixed = """
        def on_bar(self, bar):
            if bar.close > bar.open:
                if self.flat:
                    self.buy()
                else:
                    self.close()
    """
    assert _children(look, LinkedCrossover(), HOST, mixed, "e") == []
    assert _children(look, LinkedCrossover(), mixed, HOST, "e") == []


def test_an_imported_name_with_another_meaning_stops_the_move(look: Callable[[str], Anatomy]) -> None:
    donor = """
        from math import e

        class S(Strategy):
            def on_bar(self, bar):
                if self.flat and bar.close > e:
                    self.buy()
                elif self.long and bar.close < e:
                    self.close()
    """
    host = "def on_bar(self, bar):\n    e = 1\n    if self.flat and bar.close > e:\n        self.buy()\n    elif self.long and bar.close < e:\n        self.close()"
    assert _children(look, LinkedCrossover(), host, donor, "e") == []


def test_a_graft_adds_one_signal_with_what_it_needs(look: Callable[[str], Anatomy]) -> None:
    donor = """
        level = param(55.0, low=30.0, high=80.0)

        def on_start(self):
            self.heat = self.indicator("RSI")

        def on_bar(self, bar):
            warm = self.heat[-1] > self.level
            if self.flat and warm:
                self.buy()
    """
    children = _children(look, SignalGraft(), HOST, donor, "entry")
    assert any("if self.flat and bar.close > self.line[-1] and warm:" in child for child in children)
    for child in children:
        assert "warm = self.heat[-1] > self.level\n        if self.flat and" in child
        assert "level = param(55.0, low=30.0, high=80.0)" in child


def test_the_donor_is_left_as_it_is(look: Callable[[str], Anatomy], seeds: list[object]) -> None:
    host, donor = look(HOST), look(HOST.replace("SMA", "EMA"))
    before = print_tree(donor.tree)
    LinkedCrossover().vary([host, donor], random.Random(1))
    assert print_tree(donor.tree) == before


def test_arms_are_told_by_their_guards_and_their_orders(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        def on_bar(self, bar):
            if self.flat:
                if bar.close > bar.open:
                    self.buy()
                elif bar.close < bar.open:
                    self.sell()
            elif self.short and bar.close > bar.open:
                self.buy()
            elif self.long and bar.close > bar.open:
                self.buy()
            elif bar.volume > 0:
                self.log("nothing")
            else:
                self.close()
    """)
    assert [arm.role and arm.role.value for arm in find_arms(anatomy)] == ["entry", "exit", None, None, "exit"]
