"""What nothing uses goes; what may act stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.operators.printing import print_tree
from evolution.operators.prune import prune

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy


def test_dead_parts_go_until_none_is_left(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        import math
        import statistics

        LIMIT = 3
        UNUSED = 4


        def unused(x):
            return math.sqrt(x)


        class S(Strategy):
            window = param(20, low=5, high=60)
            dead = param(9, low=5, high=60)

            def on_start(self):
                self.used = self.indicator("SMA", timeperiod=self.window)
                self.forgotten = self.indicator("EMA", timeperiod=self.dead)
                self.count = 0

            def helper(self):
                return UNUSED

            def on_fill(self, fill):
                self.count = 0

            def on_bar(self, bar):
                self.count += 1
                spare = bar.close * 2
                if bar.close > self.used[-1]:
                    rest = LIMIT
                if statistics.mean([bar.close]) > LIMIT:
                    self.buy()
    """)
    prune(anatomy.tree, "S")
    assert print_tree(anatomy.tree) == (
        "import statistics\n"
        "LIMIT = 3\n"
        "\n"
        "class S(Strategy):\n"
        "\n"
        "    def on_bar(self, bar):\n"
        "        if statistics.mean([bar.close]) > LIMIT:\n"
        "            self.buy()\n"
    )


def test_what_may_act_or_be_seen_stays(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        class S(Strategy):
            def on_start(self):
                self.need(30)
                self.box = []

            def on_bar(self, bar):
                order = self.buy()
                self.box.append(bar.close)
                for _ in self.box:
                    last = self.cancel()
                if bar.close > 3:
                    pass
                else:
                    self.close()
    """)
    before = print_tree(anatomy.tree)
    prune(anatomy.tree, "S")
    assert print_tree(anatomy.tree) == before


def test_on_bar_stays_even_when_nothing_is_left_in_it(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("def on_bar(self, bar):\n    spare = bar.close")
    prune(anatomy.tree, "S")
    assert print_tree(anatomy.tree) == "class S(Strategy):\n\n    def on_bar(self, bar):\n        pass\n"
