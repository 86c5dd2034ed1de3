"""Admission to the pool: the order in which a candidate meets the hard checks (``evolution.pool.checks``).

A candidate goes through the stages one after the other and stops after the first one that refuses it, so that nothing is
spent on a candidate that is out already: least of all a read of the validation bars, of which there is one per source.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from evolution.pool.card import AdmissionCard, CheckResult
from evolution.pool.checks import CHECKS
from evolution.pool.exhibits import AdmissionLimits, Bench, Exhibits, Stage
from fitness.stress import delay_one_bar, double_costs

if TYPE_CHECKING:
    from fitness.card import Scorecard
    from runtime.kernel.report import RunConfig


class Examination(NamedTuple):
    """The verdict on a candidate, and what it was made from."""

    card: AdmissionCard
    exhibits: Exhibits


def examine(  # noqa: PLR0913 - a candidate, what it is held to, and how it is run
    train: Scorecard,
    *,
    train_bars: int,
    config: RunConfig,
    limits: AdmissionLimits,
    bench: Bench,
    is_exhaustive: bool = False,
) -> Examination:
    """Put a candidate through the stages until one refuses it.

    Args:
        train: The candidate's scorecard from the search.
        train_bars: Scored bars of train, summed over cells.
        config: How the search ran it; the stresses start from it.
        limits: What to keep to.
        bench: Runs the candidate where a stage needs it.
        is_exhaustive: Make all checks, also after a refusal. For calibration, where every figure counts; a night would spend reads of
            validation on candidates that are out.
    """
    exhibits = Exhibits(train=train, train_bars=train_bars)
    results: list[CheckResult] = []
    for stage in Stage:
        exhibits = _fill(exhibits, stage, config, bench)
        results += [check.judge(exhibits, limits) for check in CHECKS if check.stage is stage]
        if not is_exhaustive and not all(result.passed for result in results):
            break
    return Examination(AdmissionCard(checks=tuple(results)), exhibits)


def is_admitted(card: AdmissionCard) -> bool:
    """Whether every check was made and passed."""
    return {check.name for check in card.checks if check.passed} == {check.name for check in CHECKS}


def _fill(exhibits: Exhibits, stage: Stage, config: RunConfig, bench: Bench) -> Exhibits:
    match stage:
        case Stage.TRAIN:
            return exhibits
        case Stage.DEFLATION:
            return replace(exhibits, base=bench.base(), census=bench.census())
        case Stage.STRESS:
            return replace(
                exhibits,
                costs=bench.stress(double_costs(config)),
                delay=bench.stress(delay_one_bar(config)),
            )
        case Stage.NEIGHBOURS:
            return replace(exhibits, neighbours=bench.neighbours(), jitter=bench.jitter())
        case Stage.PROOF:
            return replace(exhibits, proof=bench.proof())
        case Stage.READ:
            return replace(exhibits, permit=bench.permit())
        case Stage.VALIDATION:
            return replace(exhibits, validation=bench.validation())
