"""The vault: the last 30 % of a set, which only a promotion reads, once and counted.

This is the only module that opens ``vault.npz``. It does no counting itself: whoever calls ``open_vault`` writes the
look into the ledger first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.market.catalog import VAULT_FILE, read_bars, read_manifest
from runtime.market.dataset import digest
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
