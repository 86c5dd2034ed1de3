"""Constant optimisation: moves the numbers of a strategy to where the results of its relatives say that they are better.

One step of Bayesian optimisation (Jones, Schonlau & Welch 1998) per child, on several objectives as in ParEGO (Knowles 2006): a
Gaussian process is fitted to what relatives with other numbers came to on train, each child with weights of its own
between the objectives, and the child goes to the highest upper bound near its parent. The operator evaluates nothing. Its child is a
candidate like any other: it takes a place, is tried, paid for, stored and counted once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evolution.operators.anatomy import dissect, literal
from evolution.operators.jitter import constants, tidy
from evolution.operators.scales import Scale
from evolution.operators.variation import NoVariation, Variation, apply, read

if TYPE_CHECKING:
    import ast
    import random
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evolution.operators.anatomy import Anatomy
    from fitness.card import Objectives
    from runtime.source import StrategySource

    Series = NDArray[np.float64]

MOVED = 3
"""Most numbers that one child moves: with a handful of relatives there is nothing to be said about more."""

REACH = 0.25
"""How far a number moves at most, as a share of its range: the model knows only the neighbourhood."""

LENGTH = 0.3
"""Length scale of the model per number, as a share of its range; it grows with the root of how many numbers there are."""

NOISE = 0.1
"""Share of the variance of results that does not come from the numbers smoothly: a fill more or less is luck."""

DRAWS = 96
"""Places that are compared before the best of them is improved."""

_FACTOR = 2.0  # a number without a declared range may be halved and doubled
_SETTINGS_REMEMBERED = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """What a strategy of the same form came to with other numbers."""

    source: StrategySource
    objectives: Objectives
    """On train, finite."""
    violation: float
    """0 is feasible; larger is worse."""


@dataclass(frozen=True, slots=True)
class ConstantTuning:
    """Moves up to ``MOVED`` numbers at once; without relatives it goes anywhere near the parent."""

    relatives: tuple[Relative, ...] = ()
    name: str = "tune"
    arity: int = 1

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """See ``Operator``."""
        dials = _dials(parents[0])
        if not dials:
            return None
        moved = sorted(rng.sample(range(len(dials)), min(MOVED, len(dials))))
        labels = [dial.label for dial in dials]
        known = [
            (relative, [dial.position(setting.value) for dial, setting in zip(dials, settings, strict=True)])
            for relative in self.relatives
            for settings in [_settings(relative.source)]
            if [setting.label for setting in settings] == labels
        ]
        here = np.array([dial.position(dial.value) for dial in dials])
        model = _Model.fitted(
            np.array([place for _, place in known]).reshape(len(known), len(dials)),
            _merits([relative for relative, _ in known], rng),
        )
        there = _best_place(model, here, moved, rng)
        changes = [change for index in moved if (change := dials[index].turn(float(there[index])))]
        return f"{', '.join(changes)}; from {len(known)} relatives" if changes else None


def tune(
    parent: StrategySource, relatives: Sequence[Relative], rng: random.Random, *, attempts: int = 4
) -> Variation | NoVariation:
    """Make one child by moving numbers.

    Args:
        parent: what is varied.
        relatives: of the same form, the parent included; those of another form are left out.
        rng: the only source of randomness.
        attempts: draws of weights and numbers before giving up.
    """
    strain = read(parent)
    if strain is None:
        return NoVariation(reason=f"parent {parent.sha256[:12]} is no Python source that the gates admit")
    operator = ConstantTuning(tuple(relatives))
    for _ in range(attempts):
        child = apply(operator, [strain], rng)
        if child is not None:
            return child
    return NoVariation(reason=f"no number found a better place in {attempts} attempts")


@dataclass(frozen=True, slots=True)
class _Dial:
    """One number and the range in which it may be moved, from 0 to 1."""

    label: str
    value: float
    low: float
    high: float
    is_log: bool
    write: Callable[[float], None]

    def position(self, value: float) -> float:
        """Where a value stands; outside of 0..1 where the range does not hold it."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low) if value > 0 else 0.0
        return (value - self.low) / (self.high - self.low)

    def turn(self, position: float) -> str | None:
        """Set the number to where it comes nearest to a position; what was changed, or None."""
        if self.is_log:
            raw = self.low * (self.high / self.low) ** position
        else:
            raw = self.low + (self.high - self.low) * position
        if isinstance(self.value, int):
            new: float = min(max(round(raw), math.ceil(self.low)), math.floor(self.high))
        else:
            new = min(max(tidy(raw), self.low), self.high)
        if new == self.value:
            return None
        self.write(new)
        return f"{self.label} {self.value} -> {new}"


@dataclass(frozen=True, slots=True)
class _Model:
    """A Gaussian process with fixed scales; without observations the same everywhere."""

    places: Series
    """Shape ``(n, numbers)``, as shares of the ranges."""
    weights: Series
    inverse: Series

    @classmethod
    def fitted(cls, places: Series, merits: Series) -> _Model:
        """From places and what was found there, scaled to mean 0 and deviation 1."""
        if not len(places):
            return cls(places, np.empty(0), np.empty((0, 0)))
        inverse = np.linalg.inv(_kernel(places, places) + NOISE * np.eye(len(places))).astype(np.float64)
        return cls(places, inverse @ merits, inverse)

    def upper_bounds(self, wanted: Series) -> Series:
        """Mean plus one standard deviation, shape ``(m,)``, at places of shape ``(m, numbers)``."""
        if not len(self.places):
            return np.ones(len(wanted))
        near = _kernel(wanted, self.places)
        variance = 1.0 - np.einsum("ij,jk,ik->i", near, self.inverse, near)
        bounds: Series = near @ self.weights + np.sqrt(np.maximum(variance, 0.0))
        return bounds

    def slope(self, place: Series) -> _Rise:
        """The upper bound at one place of shape ``(numbers,)``, and how it rises from there."""
        near = _kernel(place[None, :], self.places)[0]
        pull = self.inverse @ near
        deviation = math.sqrt(max(1.0 - float(near @ pull), 0.0))
        rises = near[:, None] * (self.places - place) / _squared_length(len(place))
        gradient: Series = rises.T @ self.weights
        if deviation > 0:
            gradient = gradient - rises.T @ pull / deviation
        return _Rise(float(near @ self.weights) + deviation, gradient)


class _Rise(NamedTuple):
    """A value and its gradient."""

    value: float
    gradient: Series


class _Scaled(NamedTuple):
    sharpe: Series
    calmar: Series
    thrift: Series


def _kernel(one: Series, other: Series) -> Series:
    squares = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    kernel: Series = np.exp(-0.5 * squares / _squared_length(one.shape[1]))
    return kernel


def _squared_length(numbers: int) -> float:
    return LENGTH**2 * max(numbers, 1)


def _merits(relatives: Sequence[Relative], rng: random.Random) -> Series:
    """One figure per relative, mean 0 and deviation 1: objectives under random weights, and whatever breaks a limit below all others."""
    shares = [-math.log(1.0 - rng.random()) for _ in range(3)]
    if not relatives:
        return np.empty(0)
    goals = [relative.objectives for relative in relatives]
    parts = _Scaled(
        sharpe=_scaled([each.sharpe for each in goals]),
        calmar=_scaled([each.calmar for each in goals]),
        thrift=_scaled([-math.log1p(max(each.turnover, 0.0)) for each in goals]),
    )
    merits = np.average(np.stack(parts), axis=0, weights=shares)
    violations = np.array([relative.violation for relative in relatives])
    kept = violations == 0
    floor = merits[kept].min() if kept.any() else 0.0
    return _scaled(np.where(kept, merits, floor - violations))


def _scaled(values: Sequence[float] | Series) -> Series:
    series = np.asarray(values, dtype=np.float64)
    deviation = float(series.std())
    centred: Series = series - series.mean()
    return centred / deviation if deviation > 0 else centred


def _best_place(model: _Model, here: Series, moved: Sequence[int], rng: random.Random) -> Series:
    """The place near ``here`` with the highest upper bound; only the ``moved`` numbers differ."""
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to load, and only a search needs it

    centre = np.clip(here[list(moved)], 0.0, 1.0)
    low, high = np.maximum(centre - REACH, 0.0), np.minimum(centre + REACH, 1.0)

    def placed(numbers: Series) -> Series:
        places: Series = np.tile(here, (len(numbers), 1))
        places[:, list(moved)] = numbers
        return places

    draws = low + (high - low) * np.array([[rng.random() for _ in moved] for _ in range(DRAWS)])
    start = draws[int(np.argmax(model.upper_bounds(placed(draws))))]
    if not len(model.places):
        return placed(start[None, :]).ravel()

    def downhill(numbers: Series) -> tuple[float, Series]:
        rise = model.slope(placed(numbers[None, :])[0])
        return -rise.value, -rise.gradient[list(moved)]

    found = minimize(
        downhill,
        start,
        jac=True,  # with differences instead, each step would cost as many values as there are numbers
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": 20},
    )
    return placed(np.clip(found.x, low, high)[None, :]).ravel()


def _dials(anatomy: Anatomy) -> list[_Dial]:
    """Every number that may be moved, in source order: declared parameters, then what is written into conditions and formulas."""
    dials = [
        _Dial(each.name, each.default, each.low, each.high, False, _default_of(each.call))
        for each in anatomy.parameters.values()
        if each.low < each.high
    ]
    for site in constants(anatomy):
        value = site.node.value
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
            continue
        if site.scale is Scale.LEVEL:
            dials.append(_Dial(site.place, value, 1, 99, False, _value_of(site.node)))
        else:
            low = max(1, value / _FACTOR) if isinstance(value, int) else value / _FACTOR
            dials.append(_Dial(site.place, value, low, value * _FACTOR, True, _value_of(site.node)))
    return dials


def _default_of(call: ast.Call) -> Callable[[float], None]:
    def write(value: float) -> None:
        call.args[0] = literal(value)

    return write


def _value_of(node: ast.Constant) -> Callable[[float], None]:
    def write(value: float) -> None:
        node.value = value

    return write


class _Setting(NamedTuple):
    label: str
    value: float


@lru_cache(maxsize=_SETTINGS_REMEMBERED)
def _settings(source: StrategySource) -> tuple[_Setting, ...]:
    """How a relative's dials stand; empty when it cannot be read."""
    strain = read(source)
    anatomy = None if strain is None else dissect(strain.tree, strain.class_name)
    return () if anatomy is None else tuple(_Setting(dial.label, dial.value) for dial in _dials(anatomy))
