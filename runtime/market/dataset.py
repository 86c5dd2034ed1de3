"""``DataSet``: what a search may see of a registered set, and ``DataSetSummary``, what a person is shown of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from runtime.market.errors import DataError, quoted
from runtime.market.split import Cell, rows_before, train_cells, validation_cells

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from runtime.market.bars import Bars
    from runtime.market.split import Split
    from runtime.model import Timeframe

Label = Literal["real", "synthetic", "file", "feed"]
"""Where a set comes from; shown beside every figure that was made on it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DataSet:
    """Train and validation bars of a registered set. The vault is not in here, and nothing here leads to it."""

    name: str
    """The name under which it is registered."""
    label: Label
    timeframe: Timeframe
    split: Split
    bars: Mapping[str, Bars]
    """By symbol: everything before ``split.validation_stop``, warm-up and embargo included."""
    sha256: str = field(init=False)
    """Digest of symbols, bars, bars per year and split: equal digests mean equal trials."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bars", MappingProxyType(dict(self.bars)))
        object.__setattr__(self, "sha256", digest(self.bars, self.split))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the instruments, in the order of the set."""
        return tuple(self.bars)

    def train_bars(self) -> Mapping[str, Bars]:
        """Bars by symbol up to the end of train: all that the search itself may hold."""
        stop = self.split.train_stop
        return {symbol: one.between(0, rows_before(one, stop)) for symbol, one in self.bars.items()}

    def train_cells(self) -> tuple[Cell, ...]:
        """Four folds per symbol, as rows of ``train_bars`` (and of ``bars``)."""
        return train_cells(self.split, self.bars)

    def validation_cells(self) -> tuple[Cell, ...]:
        """One cell per symbol, as rows of ``bars``; admission reads it, the search never does."""
        return validation_cells(self.split, self.bars)

    def only(self, symbol: str) -> DataSet:
        """The same set with one of its symbols; the split stays.

        Raises:
            DataError: there is no such symbol.
        """
        if symbol not in self.bars:
            raise DataError(f"data set {self.name} has no symbol {quoted(symbol)}; it holds {', '.join(self.bars)}")
        return replace(self, bars={symbol: self.bars[symbol]})


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetSummary:
    """One line of the list of data sets. Nothing in it needs the vault."""

    name: str
    label: Label
    symbols: tuple[str, ...]
    timeframe: Timeframe
    bars: int
    """Bars of all symbols together, vault included."""
    first: datetime
    last: datetime
    train_stop: datetime
    validation_start: datetime
    validation_stop: datetime
    vault_start: datetime
    registered: bool
    """False for a built-in set that was never opened in this home."""
    origin: str
    """What it was made from, in words: the file or feed, the calendar that was stated, what it was resampled from."""


def digest(bars: Mapping[str, Bars], split: Split) -> str:
    """Identity of some symbols' bars together with the split that cuts them."""
    state = hashlib.sha256(b"dataset/1")
    edges = (*split.fold_edges, split.validation_start, split.validation_stop, split.vault_start)
    state.update(repr(edges).encode())
    for symbol in sorted(bars):
        one = bars[symbol]
        state.update(f"|{symbol} {one.instrument.bars_per_year!r} {one.sha256}".encode())
    return state.hexdigest()
