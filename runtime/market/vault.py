"""The vault: the last 30 % of a set, which only a promotion reads, once and counted.

This is the only module that opens ``vault.npz``. It does no counting itself: whoever calls ``open_vault`` writes the
look into the ledger first. ``whole_bars`` is for bringing a set up to date and shows nothing to anybody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.market.bars import PRICE_COLUMNS
from runtime.market.catalog import SEARCH_FILE, VAULT_FILE, read_bars, read_manifest
from runtime.market.dataset import digest
from runtime.market.errors import DataError
from runtime.market.split import vault_cells

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runtime.market.bars import Bars
    from runtime.market.split import Cell


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Vault:
    """Bars that no search has seen, with the warm-up before them."""

    name: str
    """Name of the data set."""
    bars: Mapping[str, Bars]
    """By symbol; the first ``WARMUP_BARS`` rows lie before the vault and only feed indicators."""
    cells: tuple[Cell, ...]
    """One per symbol, as rows of ``bars``."""
    sha256: str
    """Digest of these bars and the split; changes when bars accrue."""


def open_vault(name: str, home: Path) -> Vault:
    """Read the vault of a registered set. Only a promotion may, and it counts the look before it calls.

    Args:
        name: ``DataSet.name``.
        home: The home that the set is registered in.

    Raises:
        DataError: no such set, or a damaged one.
    """
    manifest = read_manifest(name, home)
    bars = read_bars(manifest, home, VAULT_FILE)
    return Vault(name=name, bars=bars, cells=vault_cells(manifest.split, bars), sha256=digest(bars, manifest.split))


def whole_bars(name: str, home: Path) -> dict[str, Bars]:
    """All bars of a registered set, by symbol, put together from its two parts. Only the import of new bars may call it.

    Raises:
        DataError: no such set, or a damaged one.
    """
    manifest = read_manifest(name, home)
    search, vault = read_bars(manifest, home, SEARCH_FILE), read_bars(manifest, home, VAULT_FILE)
    whole = {symbol: _joined(search[symbol], vault[symbol]) for symbol in manifest.entries}
    for symbol, entry in manifest.entries.items():
        if whole[symbol].sha256 != entry.sha256:
            raise DataError(
                f"data set {name} is damaged: the parts of {symbol} do not make the bars that were registered"
            )
    return whole


def _joined(search: Bars, vault: Bars) -> Bars:
    """The vault part begins with its warm-up, which the search part also holds."""
    start = int(np.searchsorted(vault.ts, search.ts[-1], side="right"))
    columns: dict[str, Any] = {
        each: np.concatenate((getattr(search, each), getattr(vault, each)[start:])) for each in ("ts", *PRICE_COLUMNS)
    }
    return replace(search, **columns)
