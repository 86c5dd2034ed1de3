"""How wide the boxes are in which a search compares objectives: a share of what luck alone moves them by, measured in the run itself."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from evolution.selection import Boxes
from fitness.noise import objective_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evolution.trial import Trial

LEAST = 4
"""Fewer candidates than this say nothing about noise, and objectives are compared as they are."""

# An objective without any spread (say, strategies that all turn over the same) still needs a box of some size.
_SMALLEST = 1e-6


def measured_boxes(trials: Iterable[Trial], width: float) -> Boxes | None:
    """Boxes of ``width`` standard errors, each error the median over the trials; None when too few of them tell any.

    Args:
        trials: with objectives; whether they keep to the limits does not matter. Their order leaves no trace.
        width: in standard errors, above 0.
    """
    cards = [trial.scorecard for trial in trials]
    errors = [found for card in cards if card is not None and (found := objective_errors(card.cells)) is not None]
    if len(errors) < LEAST:
        return None
    sharpe, calmar, turnover = (max(width * median(column), _SMALLEST) for column in zip(*errors, strict=True))
    return Boxes(sharpe=sharpe, calmar=calmar, turnover=turnover)
