"""Constant optimisation: in range, the same from the same evidence, and better than moving numbers blindly."""

from __future__ import annotations

import math
import random
import statistics
from typing import TYPE_CHECKING

import numpy as np
import pytest

from evolution.operators import NoVariation, Relative, Variation, canonical_hash, tune
from evolution.operators.jitter import ParameterJitter
from evolution.operators.tuning import ConstantTuning, _Model
from evolution.operators.variation import apply, read
from fitness.card import Objectives
from runtime.source import StrategySource

if TYPE_CHECKING:
    from collections.abc import Callable

    from evolution.operators.anatomy import Anatomy

FOUR = """
class S(Strategy):
    fast = param(10, low=2, high=60)
    slow = param(100, low=20, high=200)
    level = param(30.0, low=10.0, high=50.0)
    stop = param(0.05, low=0.01, high=0.2)

    def on_start(self):
        self.quick = self.indicator("EMA", timeperiod=self.fast)
        self.calm = self.indicator("EMA", timeperiod=self.slow)
        self.heat = self.indicator("RSI", timeperiod=14)

    def on_bar(self, bar):
        if self.flat and self.quick[-1] > self.calm[-1] and self.heat[-1] > self.level:
            self.target(0.9, stop_loss=self.stop)
        elif self.long and self.quick[-1] < self.calm[-1]:
            self.close()
"""
RANGES = {"fast": (2, 60), "slow": (20, 200), "level": (10.0, 50.0), "stop": (0.01, 0.2)}


@pytest.fixture(scope="module")
def numbers(look: Callable[[str], Anatomy]) -> Callable[[StrategySource], dict[str, float]]:
    """The declared numbers of a source."""

    def read_off(source: StrategySource) -> dict[str, float]:
        return {name: each.default for name, each in look(source.text).parameters.items()}

    return read_off


class Valley:
    """A made-up world in which numbers alone decide: the nearer to a secret place, the better, over rough ground."""

    def __init__(self, seed: int, numbers: Callable[[StrategySource], dict[str, float]]) -> None:
        rng = random.Random(seed)
        self.secret = {name: rng.uniform(0.1, 0.9) for name in RANGES}
        self.waves = [(name, rng.uniform(5, 15), rng.uniform(0, 6)) for name in RANGES]
        self.numbers = numbers

    def height(self, source: StrategySource) -> float:
        found = self.numbers(source)
        places = {name: (found[name] - low) / (high - low) for name, (low, high) in RANGES.items()}
        distance = math.sqrt(sum((places[name] - self.secret[name]) ** 2 for name in RANGES))
        return -2.0 * distance + 0.1 * sum(math.sin(f * places[name] + phase) for name, f, phase in self.waves)

    def told(self, source: StrategySource) -> Relative:
        goals = Objectives(sharpe=self.height(source), calmar=self.height(source), turnover=10.0)
        return Relative(source=source, objectives=goals, violation=0.0)

    def climb(self, seed: int, *, is_tuned: bool, evaluations: int = 20) -> float:
        """The best height after so many evaluations, each from the better one of two of the best."""
        rng = random.Random(seed)
        found = [self.told(StrategySource.from_text(FOUR))]
        while len(found) < evaluations:
            best = sorted(found, key=lambda each: -each.objectives.sharpe)[:6]
            parent = max(rng.sample(best, min(2, len(best))), key=lambda each: each.objectives.sharpe).source
            strain = read(parent)
            assert strain is not None
            child = tune(parent, found[-32:], rng) if is_tuned else apply(ParameterJitter(), [strain], rng)
            if isinstance(child, Variation):
                found.append(self.told(child.source))
        return max(each.objectives.sharpe for each in found)


@pytest.mark.slow
def test_with_the_same_number_of_evaluations_it_climbs_higher_than_blind_steps(
    numbers: Callable[[StrategySource], dict[str, float]],
) -> None:
    """A planted place of four numbers. Every step is an evaluation, of either kind."""
    gains = []
    for seed in range(8):
        valley = Valley(seed, numbers)
        gains.append(valley.climb(seed, is_tuned=True) - valley.climb(seed, is_tuned=False))
    assert sum(gain > 0 for gain in gains) >= 6
    assert statistics.fmean(gains) > 0.1


def test_numbers_stay_in_their_ranges_and_of_their_kind(numbers: Callable[[StrategySource], dict[str, float]]) -> None:
    valley = Valley(1, numbers)
    parent = StrategySource.from_text(FOUR)
    found = [valley.told(parent)]
    for seed in range(30):
        child = tune(parent, found, random.Random(seed))
        assert isinstance(child, Variation)
        assert child.operator == "offline/tune"
        for name, value in numbers(child.source).items():
            low, high = RANGES[name]
            assert low <= value <= high
            assert isinstance(value, type(low))
        found.append(valley.told(child.source))
    assert len({canonical_hash(each.source) for each in found}) > 10  # breeding refuses the others and draws again


def test_the_same_evidence_gives_the_same_child(numbers: Callable[[StrategySource], dict[str, float]]) -> None:
    valley = Valley(2, numbers)
    parent = StrategySource.from_text(FOUR)
    others = [FOUR.replace("param(10,", f"param({fast},") for fast in (5, 20, 40)]
    relatives = [valley.told(StrategySource.from_text(text)) for text in (FOUR, *others)]
    assert tune(parent, relatives, random.Random(3)) == tune(parent, relatives, random.Random(3))
    assert tune(parent, relatives, random.Random(3)) != tune(parent, relatives[:1], random.Random(3))


def test_what_breaks_a_limit_is_avoided_however_well_it_earns(
    numbers: Callable[[StrategySource], dict[str, float]],
) -> None:
    """The further from the limit, the better; only the fast number differs."""
    text = FOUR.replace("slow = param(100, low=20, high=200)", "slow = param(100, low=100, high=100)")
    text = text.replace("level = param(30.0, low=10.0, high=50.0)", "level = param(30.0, low=30.0, high=30.0)")
    text = text.replace("stop = param(0.05, low=0.01, high=0.2)", "stop = param(0.05, low=0.05, high=0.05)")
    text = text.replace("timeperiod=14", "timeperiod=self.fast").replace("0.9,", "1.0,")
    relatives = [
        Relative(
            source=StrategySource.from_text(text.replace("param(10,", f"param({fast},")),
            objectives=Objectives(sharpe=fast / 10, calmar=fast / 10, turnover=10.0),
            violation=(fast - 30) / 10 if fast > 30 else 0.0,
        )
        for fast in range(2, 60, 3)
    ]
    parent = StrategySource.from_text(text.replace("param(10,", "param(31,"))
    found = [tune(parent, relatives, random.Random(seed)) for seed in range(10)]
    fast = [numbers(child.source)["fast"] for child in found if isinstance(child, Variation)]
    assert fast
    assert statistics.fmean(fast) < 36


def test_relatives_of_another_form_tell_nothing(seeds: list[StrategySource]) -> None:
    parent = StrategySource.from_text(FOUR)
    strangers = [
        Relative(source=seed, objectives=Objectives(sharpe=1.0, calmar=1.0, turnover=1.0), violation=0.0)
        for seed in [*seeds, StrategySource(b"nonsense(")]
    ]
    child = tune(parent, strangers, random.Random(1))
    assert isinstance(child, Variation)
    assert child.detail.endswith("from 0 relatives")


def test_a_strategy_without_numbers_has_nothing_to_tune() -> None:
    plain = "class S(Strategy):\n    def on_bar(self, bar):\n        if self.flat:\n            self.buy()\n"
    found = tune(StrategySource.from_text(plain), (), random.Random(1))
    assert isinstance(found, NoVariation)
    assert "no number" in found.reason
    assert isinstance(tune(StrategySource(b"import os\n"), (), random.Random(1)), NoVariation)


def test_an_operator_without_evidence_is_an_operator_like_any_other() -> None:
    strain = read(StrategySource.from_text(FOUR))
    assert strain is not None
    assert apply(ConstantTuning(), [strain], random.Random(1)) is not None


def test_the_slope_of_the_model_is_that_of_its_upper_bounds():
    """The search for the best place follows it; differences of values are the slow clear way."""
    draws = np.random.default_rng(1)
    for observed, numbers in ((5, 3), (20, 6), (1, 1)):
        model = _Model.fitted(draws.random((observed, numbers)), draws.normal(size=observed))
        place = draws.random(numbers)
        steps = 1e-6 * np.eye(numbers)
        differences = (model.upper_bounds(place + steps) - model.upper_bounds(place - steps)) / 2e-6
        rise = model.slope(place)
        assert rise.value == pytest.approx(model.upper_bounds(place[None, :])[0])
        assert rise.gradient == pytest.approx(differences, rel=1e-5, abs=1e-7)
