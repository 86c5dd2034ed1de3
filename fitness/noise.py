"""How sure an objective is: its standard error, from what it would have been without each fold.

The delete-one jackknife (Efron & Tibshirani 1993, chapter 11) over folds, because folds are stretches of time that hardly know of each
other, while symbols of one fold rise and fall together: with n folds and theta_i the objective without fold i::

    se^2 = (n - 1) / n * sum_i (theta_i - mean(theta))^2

With the four folds of a search one candidate's error is a rough guess; the median over some dozen candidates is what the search uses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fitness.objectives import DEFAULT_RULES, ScoreRules, objectives_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fitness.card import CellResult


class ObjectiveErrors(NamedTuple):
    """Standard errors of the objectives."""

    sharpe: float
    calmar: float
    turnover: float
    """On the scale of ``log(1 + turnover)``: a tenth more is a tenth more, at 5 a year as at 100."""


def objective_errors(cells: Sequence[CellResult], rules: ScoreRules = DEFAULT_RULES) -> ObjectiveErrors | None:
    """Standard errors of a candidate's objectives over the folds of its cells.

    Returns:
        None with fewer than two folds, or when the objectives are undefined without one of them.
    """
    folds = sorted({cell.fold for cell in cells})
    if len(folds) < 2:
        return None
    rows = []
    for fold in folds:
        goals = objectives_of([cell for cell in cells if cell.fold != fold], rules)
        if goals is None:
            return None
        rows.append((goals.sharpe, goals.calmar, math.log1p(max(goals.turnover, 0.0))))
    # n - 1 times the mean square is the formula above; ddof 0.
    errors = np.sqrt(len(folds) - 1) * np.std(np.array(rows), axis=0)
    return ObjectiveErrors(*map(float, errors))
