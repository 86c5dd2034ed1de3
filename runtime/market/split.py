"""The split of a data set in time: train, validation, vault; and the cells in which a strategy is run.

Dates, not rows: every symbol of a set is cut at the same moments, so that no symbol's train knows another's
validation. The dates are fixed when a set is registered (``runtime.market.registry``) and never move afterwards.

::

    | 250 warm-up | train-1 | train-2 | train-3 | train-4 | 20 | validation | 20 | vault        |
    0                                                   50 %               70 %            100 %

The embargo of 20 bars keeps a position that was open at the end of one segment from being scored in the next. The bars
before a cell may always feed indicators: warm-up is not scored, so validation warms up on train bars.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from runtime.market.calendar import stamp_text
from runtime.market.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.bars import Bars

WARMUP_BARS = 250
"""Bars before each cell that only feed indicators; also the longest lookback that a strategy may declare."""
EMBARGO_BARS = 20
"""Bars between two segments that belong to neither; a trading month, longer than most holding periods."""
TRAIN_FOLDS = 4
MIN_CELL_BARS = 64
"""Fewest bars in a cell: 90 days of daily bars, below which CAGR and with it Calmar are undefined."""
TRAIN_SHARE = 0.5
TRAIN_AND_VALIDATION_SHARE = 0.7
MIN_BARS = int((WARMUP_BARS + TRAIN_FOLDS * MIN_CELL_BARS) / TRAIN_SHARE)
"""Fewest bars of a set: half of them must hold the warm-up and the train folds. Validation and vault then fit too."""

VALIDATION = "validation"
VAULT = "vault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A stretch of one symbol's bars in which a strategy is run and scored, with its own cash."""

    symbol: str
    fold: str
    """``train-1`` to ``train-4``, ``validation`` or ``vault``."""
    start: int
    """First row that may be traded, counted from 0 in that symbol's bars; at least ``WARMUP_BARS``."""
    stop: int
    """Row after the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The dates of a split, as seconds since 1970 UTC; every stop is the first moment that no longer belongs."""

    fold_edges: tuple[int, ...]
    """Start of each train fold, then the stop of the last one; ``TRAIN_FOLDS + 1`` moments."""
    validation_start: int
    validation_stop: int
    """The search part of a set ends here."""
    vault_start: int

    def __post_init__(self) -> None:
        edges = (*self.fold_edges, self.validation_start, self.validation_stop, self.vault_start)
        if len(self.fold_edges) != TRAIN_FOLDS + 1 or any(left >= right for left, right in pairwise(edges)):
            raise ValueError(f"split {edges}: {TRAIN_FOLDS} train folds, validation and vault must follow each other")

    @property
    def train_stop(self) -> int:
        """First moment that is not train."""
        return self.fold_edges[-1]


def make_split(bars: Mapping[str, Bars]) -> Split:
    """Cut a set by the dates of all its symbols together: train 50 %, validation 20 %, vault 30 %.

    The embargoes are taken from the beginning of validation and of the vault. The first fold begins when the last
    symbol has its warm-up.

    Raises:
        DataError: too few bars, in all or in one symbol's cell.
    """
    stamps = np.unique(np.concatenate([one.ts for one in bars.values()]))
    if len(stamps) < MIN_BARS:
        raise DataError(
            f"{len(stamps)} bars are too few to search on: {WARMUP_BARS} for warm-up, {TRAIN_FOLDS} train folds of at "
            f"least {MIN_CELL_BARS}, validation and vault need {MIN_BARS}; bring a longer history"
        )
    for symbol, one in bars.items():
        if len(one) <= WARMUP_BARS:
            raise DataError(
                f"{symbol} has {len(one)} bars and the warm-up alone needs {WARMUP_BARS}; leave the symbol out or "
                f"bring a longer history"
            )
    train_stop = int(len(stamps) * TRAIN_SHARE)
    validation_stop = int(len(stamps) * TRAIN_AND_VALIDATION_SHARE)
    first = int(np.searchsorted(stamps, max(int(one.ts[WARMUP_BARS]) for one in bars.values())))
    if train_stop - first < TRAIN_FOLDS * MIN_CELL_BARS:
        late = max(bars, key=lambda symbol: int(bars[symbol].ts[WARMUP_BARS]))
        raise DataError(
            f"{late} begins on {stamp_text(int(bars[late].ts[0]))}, so its warm-up of {WARMUP_BARS} bars leaves "
            f"{max(train_stop - first, 0)} bars of train and {TRAIN_FOLDS * MIN_CELL_BARS} are needed; leave it out or "
            f"bring a longer history"
        )
    edges = [first + (train_stop - first) * fold // TRAIN_FOLDS for fold in range(TRAIN_FOLDS + 1)]
    split = Split(
        fold_edges=tuple(int(stamps[edge]) for edge in edges),
        validation_start=int(stamps[train_stop + EMBARGO_BARS]),
        validation_stop=int(stamps[validation_stop]),
        vault_start=int(stamps[validation_stop + EMBARGO_BARS]),
    )
    for cell in (*train_cells(split, bars), *validation_cells(split, bars), *vault_cells(split, bars)):
        _check_size(cell)
    return split


def train_cells(split: Split, bars: Mapping[str, Bars]) -> tuple[Cell, ...]:
    """The train folds of every symbol, symbol by symbol, oldest fold first."""
    return tuple(
        _cell(symbol, one, f"train-{number}", start, stop)
        for symbol, one in bars.items()
        for number, (start, stop) in enumerate(pairwise(split.fold_edges), start=1)
    )


def validation_cells(split: Split, bars: Mapping[str, Bars]) -> tuple[Cell, ...]:
    """One cell per symbol."""
    return tuple(
        _cell(symbol, one, VALIDATION, split.validation_start, split.validation_stop) for symbol, one in bars.items()
    )


def vault_cells(split: Split, bars: Mapping[str, Bars]) -> tuple[Cell, ...]:
    """One cell per symbol, to the end of its bars."""
    return tuple(_cell(symbol, one, VAULT, split.vault_start, None) for symbol, one in bars.items())


def rows_before(bars: Bars, moment: int) -> int:
    """How many bars open before a moment (seconds since 1970): the row at which it cuts."""
    return int(np.searchsorted(bars.ts, moment))


def _cell(symbol: str, bars: Bars, fold: str, start: int, stop: int | None) -> Cell:
    last = len(bars) if stop is None else rows_before(bars, stop)
    return Cell(symbol=symbol, fold=fold, start=rows_before(bars, start), stop=last)


def _check_size(cell: Cell) -> None:
    found = max(cell.stop - cell.start, 0)
    if found < MIN_CELL_BARS or cell.start < WARMUP_BARS:
        raise DataError(
            f"{cell.symbol} has {found} bars in {cell.fold}, and {MIN_CELL_BARS} are needed after a warm-up of "
            f"{WARMUP_BARS}; leave the symbol out or bring a longer history"
        )
