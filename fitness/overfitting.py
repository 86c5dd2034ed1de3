"""How much a choice among many trials overfits: PBO by cross-validation, and how many independent trials there were.

Takes memory in proportion to the square of the number of trials.

What neither can do: both take the trials as given. A search breeds its later trials on the data, and then the best of them beats
both nulls on pure noise; read them as screens and alarms.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

# Values that are held at once while splits are ranked; 8 bytes each.
_VALUES_AT_ONCE = 4_000_000

# Trials that are clustered at once: their distances take 8 bytes for each pair, and the tree time in proportion to pairs.
LARGEST_BATCH = 2_500


class Overfitting(NamedTuple):
    """Combinatorially symmetric cross-validation of a choice (Bailey, Borwein, Lopez de Prado & Zhu 2017)."""

    probability: float
    """PBO: share of splits in which the best in sample is in the lower half (or the middle) out of sample."""
    loss: float
    """Share of splits in which the best in sample has a negative Sharpe ratio out of sample."""
    splits: int


class EffectiveTrials(NamedTuple):
    """How many independent trials some correlated ones amount to, by four methods that differ a lot; clusters are used."""

    trials: int
    """Columns with any dispersion."""
    clusters: int
    """Groups by average linkage on ``sqrt((1 - rho) / 2)``, cut at the distance of rho = 0.5."""
    rank: float
    """Effective rank: ``exp`` of the entropy of the correlation matrix's eigenvalues (Roy & Vetterli 2007)."""
    average: float
    """``rho + (1 - rho) N`` with the mean correlation (Bailey & Lopez de Prado 2014, appendix)."""


def overfitting_probability(returns: Matrix, *, blocks: int = 16) -> Overfitting | None:
    """PBO of choosing the highest Sharpe ratio among trials.

    Every split takes half of the blocks as in sample. ``w = rank / (N + 1)`` of the chosen trial out of sample (mean rank in ties),
    ``PBO = share(ln(w / (1 - w)) <= 0)``. Computed from sums and sums of squares per block, which is exact.

    Args:
        returns: per bar and trial, shape ``(T, N)``; rows that do not fill the blocks are dropped from the end.
        blocks: an even number of blocks; ``C(blocks, blocks / 2)`` splits.

    Returns:
        None with fewer than two trials or too few rows.

    Raises:
        ValueError: ``blocks`` is odd or below 2.
    """
    if blocks < 2 or blocks % 2:
        raise ValueError(f"{blocks} blocks: an even number of at least 2 is needed")
    rows, trials = returns.shape
    size = rows // blocks
    if trials < 2 or size < 2:
        return None
    cut = returns[: size * blocks].reshape(blocks, size, trials)
    sums, squares = cut.sum(axis=1), np.einsum("bst,bst->bt", cut, cut)
    halves = np.array(list(itertools.combinations(range(blocks), blocks // 2)))
    step = max(1, _VALUES_AT_ONCE // (4 * trials))
    below, losses = 0, 0
    for begin in range(0, len(halves), step):
        inside = np.zeros((len(halves[begin : begin + step]), blocks))
        np.put_along_axis(inside, halves[begin : begin + step], 1.0, axis=1)
        count = size * blocks // 2
        chosen = np.argmax(_ratios(inside @ sums, inside @ squares, count), axis=1)
        outside = _ratios((1.0 - inside) @ sums, (1.0 - inside) @ squares, count)
        own = np.take_along_axis(outside, chosen[:, None], axis=1)
        rank = np.sum(outside < own, axis=1) + (np.sum(outside == own, axis=1) + 1) / 2.0
        below += int(np.sum(rank / (trials + 1) <= 0.5))
        losses += int(np.sum(own[:, 0] < 0))
    return Overfitting(below / len(halves), losses / len(halves), len(halves))


def _ratios(sums: Matrix, squares: Matrix, count: int) -> Matrix:
    means = sums / count
    variances = np.maximum(squares / count - means * means, 0.0) * count / (count - 1)
    # What never moved is worth nothing, not an infinity. A difference of squares leaves some ulps of them, so the limit is one of
    # them, too: it is reached by a ratio per bar of three million.
    is_moving = variances > 1e-28 + 1e-13 * squares / count
    ratios: Matrix = np.where(is_moving, means / np.sqrt(np.where(is_moving, variances, 1.0)), 0.0)
    return ratios


def effective_trials(returns: Matrix, *, correlation: float = 0.5) -> EffectiveTrials:
    """Number of independent trials behind correlated ones.

    Args:
        returns: per bar and trial, shape ``(T, N)``; trials that never moved are left out.
        correlation: trials that are at least this alike count as one.

    Raises:
        ValueError: more than ``LARGEST_BATCH`` trials; cluster them in batches and add up.
    """
    # Half a second to load; whoever lists the pool should not wait for it.
    from scipy.cluster.hierarchy import fcluster, linkage  # noqa: PLC0415 - see above
    from scipy.spatial.distance import squareform  # noqa: PLC0415 - see above

    moving = returns[:, np.std(returns, axis=0) > 1e-14] if returns.size else returns
    trials = moving.shape[1]
    if trials > LARGEST_BATCH:
        raise ValueError(f"{trials} trials: at most {LARGEST_BATCH} are clustered at once")
    if trials < 2:
        return EffectiveTrials(trials, trials, float(trials), float(trials))
    rho = np.clip(np.corrcoef(moving.astype(np.float64), rowvar=False), -1.0, 1.0)
    values = np.clip(np.linalg.eigvalsh(rho), 0.0, None) / trials
    entropy = -float(np.sum(values[values > 0] * np.log(values[values > 0])))
    mean = (float(np.sum(rho)) - trials) / (trials * (trials - 1))
    distances = np.sqrt((1.0 - rho) / 2.0)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), method="average")
    groups = fcluster(tree, t=math.sqrt((1.0 - correlation) / 2.0), criterion="distance")
    return EffectiveTrials(trials, int(groups.max()), math.exp(entropy), mean + (1.0 - mean) * trials)
