"""What a person should know about an entry besides the checks that it passed: the rest of its evidence, all of it from train.

None of this refuses anybody. Either its null does not hold for a search that breeds on its bars (PBO, SPA), or it asks for more bars
than a pool can wait for (minimum lengths).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evolution.plural import plural
from evolution.pool.card import EvidenceNote
from evolution.pool.segment import Measured
from fitness import deflated_sharpe, minimum_backtest_years, minimum_track_record
from fitness.evidence import hac_standard_error, market_alpha
from fitness.multiplicity import haircut_sharpe
from fitness.overfitting import Overfitting, overfitting_probability
from fitness.regimes import FEWEST_BARS, regime_slices
from fitness.resampling import SpaPValues, sharpe_interval, superior_ability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evolution.census import Census
    from evolution.pool.exhibits import Exhibits, Variants

# Bootstraps are seeded so that a card reads the same whoever makes it again.
_SEED = 20_261_130
# Above it the choice is mostly overfitting; at 0.5, which is often quoted, nine of ten searches on pure noise pass.
_ALARMING_PBO = 0.2
_ENOUGH_SLICES = 2 / 3


class NightLuck(NamedTuple):
    """How much of a night's best may be luck: the same for every candidate of it."""

    overfitting: Overfitting | None
    superior: SpaPValues | None


def night_luck(trials: NDArray[np.float64]) -> NightLuck:
    """What the trials of one night say together.

    Args:
        trials: active returns of its distinct trials, shape ``(bars, trials)``.
    """
    if not trials.size:
        return NightLuck(None, None)
    return NightLuck(overfitting_probability(trials), superior_ability(trials, np.random.default_rng(_SEED)))


def evidence_notes(exhibits: Exhibits, luck: NightLuck) -> tuple[EvidenceNote, ...]:
    """The notes on a candidate that was admitted.

    Args:
        exhibits: what admission saw.
        luck: of its night.
    """
    base = exhibits.base
    if not isinstance(base, Measured) or base.sample is None:
        return ()
    notes = [*_precision(base), *_search(base, exhibits.census), *_night(luck), *_shape(base)]
    for name, what, variants in (
        ("worst-neighbour", "neighbours with one number moved", exhibits.neighbours),
        ("worst-jitter", "runs on shaken bars", exhibits.jitter),
    ):
        notes += [_cliff(name, what, variants)] if variants is not None and variants.active_sharpes else []
    return tuple(notes)


def _precision(base: Measured) -> Iterator[EvidenceNote]:
    sample, annual = base.sample, math.sqrt(base.bars_per_year)
    assert sample is not None  # the caller looked
    returns = base.pooled.active.returns
    years = sample.length / base.bars_per_year
    yield _note(
        "active-sharpe",
        sample.sharpe * annual,
        f"active Sharpe ratio on train: {{:.2f}} a year, over {years:.1f} years",
    )
    interval = sharpe_interval(returns, np.random.default_rng(_SEED))
    if interval is not None:
        low, high = interval.low * annual, interval.high * annual
        yield _note(
            "interval",
            low,
            f"95% interval of the active Sharpe ratio on train by block bootstrap: {{:.2f}} to {high:.2f} a year",
            alarm=low <= 0,
        )
    error = hac_standard_error(returns)
    if error is not None:
        yield _note(
            "standard-error",
            error * annual,
            "standard error of the active Sharpe ratio on train, allowing for autocorrelation: {:.2f} a year",
        )
    needed = minimum_track_record(sample)
    if needed is not None:
        yield _note(
            "track-record",
            needed / base.bars_per_year,
            f"years after which an active Sharpe ratio like that on train would be above 0 at 95%: {{:.1f}}; train has {years:.1f}",
            alarm=needed > sample.length,
        )
    regression = market_alpha(base.pooled.raw.returns, base.pooled.market.returns)
    if regression is not None:
        yield _note(
            "alpha",
            regression.t_statistic,
            f"t of alpha against the market: {{:.2f}} (beta {regression.beta:.2f})",
            alarm=regression.t_statistic <= 0,
        )


def _search(base: Measured, census: Census | None) -> Iterator[EvidenceNote]:
    sample = base.sample
    assert sample is not None  # the caller looked
    if census is not None:
        effective, annual = census.effective, math.sqrt(base.bars_per_year)
        yield _note(
            "trials",
            census.distinct,
            f"different trials on these bars so far: {{:.0f}} in {plural(census.runs, 'run')}; independent ones: {effective.clusters} by clusters, "
            f"{effective.rank:.0f} by rank, {effective.average:.0f} by mean correlation",
        )
        spread, chance = math.sqrt(census.variance), 1.0 / math.sqrt(sample.length - 1)
        deflated = deflated_sharpe(sample, trials=max(effective.clusters, 1), variance=census.variance)
        yield _note(
            "deflated-by-spread",
            0.0 if deflated is None else deflated,
            f"deflated Sharpe ratio by the spread of all trials on these bars ({spread * annual:.2f} a year, where luck alone gives "
            f"{chance * annual:.2f}): {{:.2f}}",
        )
        left = haircut_sharpe(sample.sharpe, sample.length, trials=max(census.distinct, 1)) * annual
        yield _note(
            "haircut",
            left,
            f"active Sharpe ratio on train after a Bonferroni haircut for the {plural(census.distinct, 'different trial')} on these bars: {{:.2f}} a year",
            alarm=left <= 0,
        )
        needed = minimum_backtest_years(max(census.distinct, 1), annual_sharpe=max(sample.sharpe * annual, 1e-9))
        years = sample.length / base.bars_per_year
        yield _note(
            "backtest-length",
            needed,
            f"years below which the best of {plural(census.distinct, 'trial')} without skill looks as good: {{:.1f}}; train has {years:.1f}",
            alarm=needed > years,
        )


def _night(luck: NightLuck) -> Iterator[EvidenceNote]:
    overfitting, superior = luck
    if overfitting is not None:
        yield _note(
            "overfitting",
            overfitting.probability,
            f"probability of backtest overfitting over the night's trials: {{:.2f}} (the best on one half of train lost on the other in {overfitting.loss:.0%} of splits)",
            alarm=overfitting.probability > _ALARMING_PBO,
        )
    if superior is not None:
        yield _note(
            "superior-ability",
            superior.consistent,
            f"p-value of the night's best trial by Hansen's test: {{:.3f}} (Reality Check {superior.upper:.3f})",
            alarm=superior.consistent > 0.05,
        )


def _shape(base: Measured) -> Iterator[EvidenceNote]:
    active, market = base.pooled.active, base.pooled.market
    slices = regime_slices(active.ts, active.returns, market.ts, market.returns, base.bars_per_year)
    judged = [each for each in slices if each.active_sharpe is not None]
    if judged:
        good = [each for each in judged if each.active_sharpe is not None and each.active_sharpe > 0]
        words = "; ".join(f"{each.name} {each.active_sharpe:.2f}" for each in judged)
        yield _note(
            "regimes",
            len(good) / len(judged),
            f"share of market regimes (of at least {FEWEST_BARS} bars) with an active Sharpe ratio above 0: {{:.0%}} ({words})",
            alarm=len(good) / len(judged) < _ENOUGH_SLICES,
        )


def _cliff(name: str, what: str, variants: Variants) -> EvidenceNote:
    worst = min(variants.active_sharpes)
    failed = variants.asked - len(variants.active_sharpes)
    also = f"; {failed} of {variants.asked} did not run to a figure" if failed else ""
    return _note(
        name,
        worst,
        f"worst active Sharpe ratio on train of {what}: {{:.2f}} a year{also}",
        alarm=worst < 0 or failed > 0,
    )


def _note(name: str, figure: float, sentence: str, *, alarm: bool = False) -> EvidenceNote:
    return EvidenceNote(name=name, figure=float(figure), is_alarming=alarm, sentence=sentence.format(figure))
