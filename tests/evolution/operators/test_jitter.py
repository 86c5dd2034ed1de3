"""Numbers move, within their bounds, and only where a number is free to move."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.operators.anatomy import clone, dissect, number
from evolution.operators.jitter import ConstantJitter, ParameterJitter, stepped, tidy

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy


def _copies(anatomy: Anatomy, count: int) -> list[Anatomy]:
    views = [dissect(clone(anatomy.tree), anatomy.body.name) for _ in range(count)]
    return [view for view in views if view is not None]


def test_parameters_stay_inside_their_bounds_and_keep_their_type(look: Callable[[str], Anatomy]) -> None:
    parent = look("""
        window = param(12, low=5, high=14)
        level = param(0.0, low=-0.2, high=0.3)
        drop = param(-2.0, low=-10.0, high=2.0)

        def on_bar(self, bar):
            self.log(f"{self.window} {self.level} {self.drop}")
    """)
    seen: dict[str, set[float]] = {name: set() for name in parent.parameters}
    for seed, child in enumerate(_copies(parent, 200)):
        detail = ParameterJitter().vary([child], random.Random(seed))
        view = dissect(child.tree, child.body.name)
        assert view is not None
        moved = {name for name, one in view.parameters.items() if one.default != parent.parameters[name].default}
        assert bool(moved) == (detail is not None)
        for name, one in view.parameters.items():
            assert one.low <= one.default <= one.high
            assert type(one.default) is type(parent.parameters[name].default)
            seen[name].add(one.default)
    assert all(len(values) > 5 for values in seen.values())


def test_a_parameter_without_room_does_not_move(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("only = param(3, low=3, high=3)\n\ndef on_bar(self, bar):\n    self.log(str(self.only))")
    assert ParameterJitter().vary([anatomy], random.Random(1)) is None


def test_the_detail_says_what_moved_from_where_to_where(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("window = param(40, low=10, high=120)\n\ndef on_bar(self, bar):\n    self.log(str(self.window))")
    detail = ParameterJitter().vary([anatomy], random.Random(3))
    assert detail == f"window 40 -> {number(anatomy.parameters['window'].call.args[0])}"


def test_constants_that_hold_a_strategy_together_do_not_move(look: Callable[[str], Anatomy]) -> None:
    """Lengths, indices, counts, loop bounds, declared history, guards and safeguards."""
    anatomy = look("""
        def on_start(self):
            self.need(30)
            self.a = self.indicator("BBANDS.upper", matype=1)

        def on_bar(self, bar):
            closes = [one.close for one in self.history(20)]
            if len(closes) < 20 or self.bar_count < 5:
                return
            for _ in range(3):
                size = closes[-5] / max(self.a[-1], 1e-9)
            if self.position == 0 and size:
                self.target(0.5, stop_loss=0.1)
    """)
    assert all(
        ConstantJitter().vary([view], random.Random(seed)) is None for seed, view in enumerate(_copies(anatomy, 30))
    )


def test_thresholds_factors_and_periods_move(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        share = 0.4

        def on_start(self):
            self.heat = self.indicator("RSI", timeperiod=14)

        def on_bar(self, bar):
            if self.heat[-1] < 30 and bar.close * 1.02 > bar.high * self.share:
                self.buy()
    """)
    details = [ConstantJitter().vary([view], random.Random(seed)) for seed, view in enumerate(_copies(anatomy, 60))]
    places = {detail.split(":")[0] for detail in details if detail}
    assert places == {"heat.timeperiod", "threshold in on_bar", "factor in on_bar", "share"}


def test_a_threshold_of_a_level_stays_between_0_and_100(look: Callable[[str], Anatomy]) -> None:
    anatomy = look("""
        def on_start(self):
            self.heat = self.indicator("RSI")

        def on_bar(self, bar):
            if self.heat[-1] > 90:
                self.close()
    """)
    for seed, view in enumerate(_copies(anatomy, 60)):
        detail = ConstantJitter().vary([view], random.Random(seed))
        assert detail is None or float(detail.split("-> ")[1]) <= 99


def test_zero_moves_only_where_its_unit_is_known(look: Callable[[str], Anatomy]) -> None:
    body = "def on_start(self):\n    self.x = self.indicator({!r})\n\ndef on_bar(self, bar):\n    if self.x[-1] > 0:\n        self.buy()"
    known, unknown = look(body.format("ROC")), look(body.format("MOM"))
    assert any(ConstantJitter().vary([view], random.Random(seed)) for seed, view in enumerate(_copies(known, 5)))
    assert not any(ConstantJitter().vary([view], random.Random(seed)) for seed, view in enumerate(_copies(unknown, 5)))


@given(st.integers(1, 10_000), st.integers())
def test_a_whole_number_steps_to_another_whole_number_of_at_least_one(value: int, seed: int) -> None:
    moved = stepped(value, random.Random(seed))
    assert isinstance(moved, int)
    assert moved >= 1
    assert moved != value or value == 1


@given(st.floats(1e-3, 1e6), st.integers())
def test_a_fraction_steps_without_changing_its_sign(value: float, seed: int) -> None:
    assert stepped(value, random.Random(seed)) > 0
    assert stepped(-value, random.Random(seed)) < 0


@pytest.mark.parametrize(("value", "short"), [(1.23456, 1.23), (0.0012345, 0.00123), (98765.0, 98800.0)])
def test_floats_are_written_for_people(value: float, short: float) -> None:
    assert tidy(value) == short
