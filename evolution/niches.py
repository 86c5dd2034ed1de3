"""Niches: near-copies of one strategy under one label."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fitness.card import Scorecard


def niche_of(card: Scorecard) -> str:
    """Label shared by near-copies: the same round trips and, to a percent, the same exposure in every cell.

    A stand-in for correlated returns that needs nothing but the scorecard: children that only differ in a constant that hardly
    matters trade at the same times.
    """
    cells = sorted(
        (cell.fold, cell.symbol, cell.metrics.trades, round(cell.metrics.exposure, 2)) for cell in card.cells
    )
    return hashlib.sha256(repr(cells).encode()).hexdigest()
