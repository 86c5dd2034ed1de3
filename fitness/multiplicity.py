"""What is left of a Sharpe ratio when it was the best of many tries: corrected p-values and the haircut."""

from __future__ import annotations

import math
from enum import Enum
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series = NDArray[np.float64]

_NORMAL = NormalDist()


class Correction(Enum):
    """How p-values of many tests are corrected. The first two bound the chance of any false discovery, the last their share."""

    BONFERRONI = "bonferroni"
    """``min(1, N p)``."""
    HOLM = "holm"
    """Step down: the i-th smallest times ``N - i + 1``, never below the one before (Holm 1979)."""
    BHY = "bhy"
    """Step up: the i-th smallest times ``N c(N) / i`` with ``c(N) = sum 1/j``, never above the one after (Benjamini &
    Yekutieli 2001); holds under any dependence."""


def sharpe_p_value(sharpe: float, count: int) -> float:
    """Two-sided p-value of a per-bar Sharpe ratio over ``count`` returns: ``t = SR sqrt(T)``, taken as normal."""
    return math.erfc(abs(sharpe) * math.sqrt(count) / math.sqrt(2.0))


def corrected_p_values(p_values: Series, correction: Correction) -> Series:
    """P-values corrected for their number, shape ``(n,)``, in the order given.

    Raises:
        ValueError: a p-value is not within 0..1.
    """
    if len(p_values) == 0:
        return p_values
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError("p-values must lie between 0 and 1")
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(1, count + 1)
    ranked = p_values[order]
    match correction:
        case Correction.BONFERRONI:
            steps = ranked * count
        case Correction.HOLM:
            steps = np.maximum.accumulate(ranked * (count - ranks + 1))
        case Correction.BHY:
            scaled = ranked * count * float(np.sum(1.0 / ranks)) / ranks
            steps = np.minimum.accumulate(scaled[::-1])[::-1]
    corrected = np.empty(count)
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def haircut_sharpe(sharpe: float, count: int, *, trials: int) -> float:
    """Per-bar Sharpe ratio that is left after a Bonferroni correction for N trials (Harvey & Liu 2015); 0 when nothing is.

    Two-sided p of ``t = SR sqrt(T)``, times N, back to a ratio: ``z(1 - p / 2) / sqrt(T)``, with the sign of the original.
    """
    corrected = min(1.0, trials * sharpe_p_value(sharpe, count))
    return _ratio_of(corrected, sharpe, count)


def haircut_sharpes(sharpes: Series, count: int, correction: Correction) -> Series:
    """Per-bar Sharpe ratios of N trials after a correction for all of them together, shape ``(n,)``.

    Args:
        sharpes: of every trial, shape ``(n,)``; the correction needs the failures too.
        count: returns per trial.
        correction: which one.
    """
    corrected = corrected_p_values(np.array([sharpe_p_value(each, count) for each in sharpes.tolist()]), correction)
    return np.array([_ratio_of(p, ratio, count) for p, ratio in zip(corrected.tolist(), sharpes.tolist(), strict=True)])


def _ratio_of(corrected: float, sharpe: float, count: int) -> float:
    # Beyond what a double can hold of a tail there is nothing to take off.
    if corrected <= 0.0:
        return sharpe
    return math.copysign(-_NORMAL.inv_cdf(corrected / 2.0) / math.sqrt(count), sharpe) if corrected < 1.0 else 0.0
