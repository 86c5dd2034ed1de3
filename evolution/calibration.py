"""What some calibration nights say together: rates with their intervals, and where nights with an edge were lost.

The nights themselves are run by ``scripts/calibrate.py``; here are only their records and the arithmetic on them, and in
``evolution.calibration_table`` the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from evolution.pool import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


NULL = "null"
"""Kind of a night on bars without an edge."""
LIFE = "life"
"""Kind of many such nights on the same bars, until their vault is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalistRecord:
    """One candidate that came to admission."""

    score: float
    """Seed score on train."""
    failed: tuple[str, ...]
    """Checks that refused it; only the first stage's when the night was not exhaustive."""
    figures: Mapping[str, float | None]
    """Figure of every check that was made, by name."""
    deflated_by_spread: float | None
    """The deflated Sharpe ratio with the spread of all trials in place of that of luck."""
    vault_psr: float | None
    """Known in a calibration only, where the vault is made up; None when it was not run."""
    vault_drawdown: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRecord:
    """What one night in a made-up market came to."""

    kind: str
    """``null``, ``life`` or ``planted-<active Sharpe ratio>``."""
    number: int
    seed: int
    candidates: int
    scored: int
    best_score: float | None
    best_beats: bool
    """The trial with the best seed score beats buy and hold: what a system promotes that goes by that score alone."""
    is_exhaustive: bool
    finalists: tuple[FinalistRecord, ...]
    entered: int
    outcome: str
    """``promoted``, ``failed`` (the look), ``refused`` or ``empty`` (nobody to promote)."""
    cpu_s: float
    looks: int = 0
    """Looks at the vault. Nights that were kept before this was written down have 0."""


class Rate(NamedTuple):
    """A share of nights with its uncertainty (Clopper & Pearson 1934: exact, so rather too wide than too narrow)."""

    hits: int
    nights: int
    low: float
    """Lower end of the two-sided 95% interval."""
    high: float
    lower_bound: float
    """One-sided 95% lower bound: what a claim of power has to exceed."""

    @property
    def share(self) -> float:
        """The plain share; 0 of no nights."""
        return self.hits / self.nights if self.nights else 0.0

    def __str__(self) -> str:
        return f"{self.hits} of {self.nights} ({self.share:.1%}; 95% interval {self.low:.1%} to {self.high:.1%})"


def rate(count: int, nights: int) -> Rate:
    """The share with its exact intervals."""
    from scipy.special import betaincinv  # noqa: PLC0415 - slow to load, and only calibration needs it

    def quantile(probability: float, successes: float, failures: float) -> float:
        return float(betaincinv(successes, failures, probability))

    low = 0.0 if count == 0 else quantile(0.025, count, nights - count + 1)
    high = 1.0 if count >= nights else quantile(0.975, count + 1, nights - count)
    bound = 0.0 if count == 0 else quantile(0.05, count, nights - count + 1)
    return Rate(count, nights, low, high, bound)


def rate_of(nights: Iterable[NightRecord], holds: Callable[[NightRecord], bool]) -> Rate:
    """How many nights a predicate holds for."""
    found = [holds(night) for night in nights]
    return rate(sum(found), len(found))


def is_promoted(night: NightRecord) -> bool:
    """The real flow promoted something."""
    return night.outcome == "promoted"


def promotes_by_score(night: NightRecord) -> bool:
    """A system that goes by the seed score alone would have promoted its best trial."""
    return night.best_score is not None and night.best_score > 0 and night.best_beats


def spends_its_vault(night: NightRecord, *, alpha: float, budget: float, max_drawdown: float = 0.30) -> bool:
    """Whether one of a night's finalists is promoted when they are looked at one after the other until the budget is spent.

    No check stands before these looks, so a vault never lives more dangerously. Needs an exhaustive night.
    """
    affordable = int(budget / alpha + 1e-9)
    known = [each for each in night.finalists if each.vault_psr is not None]
    return any(_passes(each, alpha=alpha, max_drawdown=max_drawdown) for each in known[:affordable])


class Step(NamedTuple):
    """How many nights still have a candidate after a check."""

    check: str
    left: Rate


def attrition(nights: Sequence[NightRecord]) -> tuple[Step, ...]:
    """Nights check by check, in order: the loss at each. The last step is the look of the real flow."""

    def is_left(night: NightRecord, met: frozenset[str]) -> bool:
        return any(met.isdisjoint(each.failed) for each in night.finalists)

    steps = [Step("any feasible finalist", rate_of(nights, partial(is_left, met=frozenset())))]
    names = [check.name for check in CHECKS]
    for count, name in enumerate(names, start=1):
        steps.append(Step(name, rate_of(nights, partial(is_left, met=frozenset(names[:count])))))
    return (*steps, Step("vault look", rate_of(nights, is_promoted)))


class Variant(NamedTuple):
    """What the flow would do with other checks: the best by validation PSR of those that pass, and its look."""

    name: str
    left_out: frozenset[str]
    deflated_above: float | None = None
    """A deflated Sharpe ratio that is asked for besides."""
    deflates_by_spread: bool = False
    """Whether that is the one by the spread of all trials."""


STRESSED = frozenset({"cost-stress", "delay-stress", "neighbour-stress", "jitter-stress"})

VARIANTS: tuple[Variant, ...] = (
    Variant("all checks", frozenset()),
    *(Variant(f"without {check.name}", frozenset({check.name})) for check in CHECKS),
    Variant("without the four stresses", STRESSED),
    Variant("without deflation and the four stresses", STRESSED | {"deflated-sharpe"}),
    Variant("deflated Sharpe above 0.5", frozenset({"deflated-sharpe"}), deflated_above=0.5),
    Variant(
        "deflated Sharpe above 0.5 by the spread of all trials",
        frozenset({"deflated-sharpe"}),
        deflated_above=0.5,
        deflates_by_spread=True,
    ),
    Variant("without any check: best validation PSR", frozenset(check.name for check in CHECKS)),
)


def would_promote(night: NightRecord, variant: Variant, *, alpha: float, max_drawdown: float = 0.30) -> bool:
    """Whether a night's candidate under other checks passes its look; needs an exhaustive night."""
    passing = [
        each
        for each in night.finalists
        if not set(each.failed) - variant.left_out and _validation(each) is not None and _is_deflated(each, variant)
    ]
    if not passing:
        return False
    best = max(passing, key=lambda each: _validation(each) or 0.0)
    return _passes(best, alpha=alpha, max_drawdown=max_drawdown)


def _passes(finalist: FinalistRecord, *, alpha: float, max_drawdown: float) -> bool:
    return (
        finalist.vault_psr is not None
        and finalist.vault_psr > 1.0 - alpha
        and finalist.vault_drawdown is not None
        and finalist.vault_drawdown <= max_drawdown
    )


def _is_deflated(finalist: FinalistRecord, variant: Variant) -> bool:
    if variant.deflated_above is None:
        return True
    figure = finalist.deflated_by_spread if variant.deflates_by_spread else finalist.figures.get("deflated-sharpe")
    return figure is not None and figure > variant.deflated_above


def _validation(finalist: FinalistRecord) -> float | None:
    return finalist.figures.get("validation-psr")
