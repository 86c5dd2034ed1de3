"""Opening data sets by name or path, and the registration behind it that fixes the split for ever.

The first time a set is opened in a home, its bars are checked, split and written as a search part and a vault part.
From then on only the search part is read. A file that has only grown since then adds its new bars to the vault; one
that has changed in any other way is refused, because its registered split was made on other data.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from runtime.market import catalog
from runtime.market.builtin import BUILTINS, find_builtin
from runtime.market.calendar import stamp_text
from runtime.market.catalog import Entry, Manifest, Source
from runtime.market.csvfile import bars_from_bytes, read_bytes
from runtime.market.dataset import DataSet, DataSetSummary
from runtime.market.errors import DataError, quoted
from runtime.market.split import WARMUP_BARS, make_split, rows_before

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.bars import Bars
    from runtime.market.builtin import Builtin
    from runtime.market.dataset import Label
    from runtime.market.split import Split
    from runtime.model import Timeframe

_NOT_NAME = re.compile(r"[^a-z0-9]+")
_NAME_PART = 40
_DIGEST_PART = 8


def open_dataset(
    name_or_path: str | Path, home: Path, *, symbol: str | None = None, timeframe: Timeframe | None = None
) -> DataSet:
    """The search part of a data set; registers it in the home the first time.

    Args:
        name_or_path: A built-in name, the name of a registered set, or the path of a CSV file; names win, so write
            ``./name`` for a file that is called like a set.
        home: The folder that keeps registered sets (in ``data/``); made when missing.
        symbol: One symbol of the set; needed for a file that holds several.
        timeframe: What the data must have; inferred for a file when None.

    Raises:
        DataError: no such set or file, bad data, too few bars, or a file that changed since it was registered.
    """
    text = os.fspath(name_or_path)
    builtin = find_builtin(text)
    if builtin is not None:
        return _narrowed(_open_builtin(builtin, home), symbol, timeframe)
    if catalog.is_registered(text, home):
        return _narrowed(_load(catalog.read_manifest(text, home), home), symbol, timeframe)
    path = Path(text)
    if not _exists(path):
        known = ", ".join(summary.name for summary in list_datasets(home))
        raise DataError(f"no data set or file {quoted(text)}; there are {known}, or give the path of a CSV file")
    return _open_file(path, home, symbol, timeframe)


def list_datasets(home: Path) -> tuple[DataSetSummary, ...]:
    """Built-in sets, then the registered files by name. Writes nothing and opens no vault.

    Raises:
        DataError: a registered set is damaged.
    """
    registered = {manifest.name: _summary(manifest, registered=True) for manifest in catalog.read_manifests(home)}
    builtin = {one.name: registered.get(one.name) or _unregistered(one) for one in BUILTINS}
    return tuple((builtin | registered).values())


def overlapping_vaults(dataset: DataSet, home: Path) -> tuple[str, ...]:
    """Names of other registered sets whose vault covers time that this set lets a search see, for the same symbol.

    What is bred on such a set has seen that vault. Symbols are compared by name, in any case of letters, so a renamed
    copy of the data is not noticed.
    """
    symbols = {symbol.upper() for symbol in dataset.bars}
    first = min(int(one.ts[0]) for one in dataset.bars.values())
    return tuple(
        manifest.name
        for manifest in catalog.read_manifests(home)
        if manifest.name != dataset.name
        and manifest.timeframe == dataset.timeframe
        and symbols & {symbol.upper() for symbol in manifest.entries}
        and manifest.split.vault_start < dataset.split.validation_stop
        and manifest.last >= first
    )


def _open_builtin(builtin: Builtin, home: Path) -> DataSet:
    if not catalog.is_registered(builtin.name, home):
        with catalog.writing(home):
            if not catalog.is_registered(builtin.name, home):
                source = Source(kind="builtin", sha256=builtin.digest())
                _register(builtin.name, builtin.label, builtin.load(), source, home)
    manifest = catalog.read_manifest(builtin.name, home)
    if manifest.source.sha256 != builtin.digest():
        raise DataError(
            f"data set {builtin.name} was registered in {catalog.data_root(home)} from another edition of the built-in "
            f"data, and its split is fixed; use another TRIGATE_HOME for this version"
        )
    return _load(manifest, home)


def _open_file(path: Path, home: Path, symbol: str | None, timeframe: Timeframe | None) -> DataSet:
    data = read_bytes(path)
    source = Source(
        kind="file",
        sha256=hashlib.sha256(data).hexdigest(),
        path=str(path.resolve()),
        symbol=symbol,
        timeframe=None if timeframe is None else str(timeframe),
    )
    for manifest in catalog.read_manifests(home):
        if replace(manifest.source, path=source.path) == source:
            return _load(manifest, home)
    bars = bars_from_bytes(data, name=path.name, symbol=symbol, timeframe=timeframe)
    with catalog.writing(home):
        manifest = _registered_file(bars, source, home) or _register_file(path, bars, source, home)
    return _load(manifest, home)


def _registered_file(bars: Bars, source: Source, home: Path) -> Manifest | None:
    """The set that already holds these bars, after appending what is new; None when there is none."""
    files = [
        manifest
        for manifest in catalog.read_manifests(home)
        if manifest.source.kind == "file" and tuple(manifest.entries) == (bars.instrument.symbol,)
    ]
    for manifest in files:
        if manifest.entries[bars.instrument.symbol].sha256 == bars.sha256:
            return manifest
    for manifest in files:
        if manifest.source.path == source.path:
            return _append(manifest, bars, source, home)
    return None


def _register_file(path: Path, bars: Bars, source: Source, home: Path) -> Manifest:
    parts = (path.name.split(".")[0], source.symbol or "", bars.sha256[:_DIGEST_PART])
    plain = (_NOT_NAME.sub("-", part.lower()).strip("-")[:_NAME_PART].strip("-") for part in parts)
    name = "-".join(part for part in plain if part)
    try:
        return _register(name, "file", {bars.instrument.symbol: bars}, source, home)
    except DataError as error:
        raise DataError(f"{quoted(path.name)}: {error}") from None


def _register(name: str, label: Label, bars: Mapping[str, Bars], source: Source, home: Path) -> Manifest:
    """Split the bars and write the set."""
    manifest = _describe(name, label, bars, source)
    split = manifest.split
    search = catalog.encode_bars(
        {symbol: one.between(0, rows_before(one, split.validation_stop)) for symbol, one in bars.items()}
    )
    vault = catalog.encode_bars({symbol: _vault_part(one, split) for symbol, one in bars.items()})
    manifest = replace(manifest, files=catalog.file_digests(search, vault))
    catalog.add_set(manifest, home, search=search, vault=vault)
    return manifest


def _describe(name: str, label: Label, bars: Mapping[str, Bars], source: Source) -> Manifest:
    """The manifest of some bars, the files not yet written."""
    return Manifest(
        name=name,
        label=label,
        timeframe=next(iter(bars.values())).timeframe,
        source=source,
        split=make_split(bars),
        entries={symbol: _entry(one) for symbol, one in bars.items()},
        first=min(int(one.ts[0]) for one in bars.values()),
        last=max(int(one.ts[-1]) for one in bars.values()),
        files={},
    )


def _append(manifest: Manifest, bars: Bars, source: Source, home: Path) -> Manifest:
    """Add the bars that a file has gained to the vault; the split and the search part stay as they are."""
    symbol = bars.instrument.symbol
    known = manifest.entries[symbol]
    if bars.timeframe != manifest.timeframe or bars.between(0, known.bars).sha256 != known.sha256:
        raise DataError(_changed(manifest, bars, source, home))
    vault = catalog.encode_bars({symbol: _vault_part(bars, manifest.split)})
    files = {**manifest.files, catalog.VAULT_FILE: hashlib.sha256(vault).hexdigest()}
    entry = replace(_entry(bars), bars_per_year=known.bars_per_year)
    grown = replace(manifest, source=source, entries={symbol: entry}, last=int(bars.ts[-1]), files=files)
    catalog.replace_vault(grown, home, vault=vault)
    return grown


def _changed(manifest: Manifest, bars: Bars, source: Source, home: Path) -> str:
    """Why a changed file is refused; the first difference is named when it lies before the vault."""
    old = catalog.read_bars(manifest, home, catalog.SEARCH_FILE)[bars.instrument.symbol]
    shared = min(len(old), len(bars))
    rows = [
        np.flatnonzero(getattr(old, name)[:shared] != getattr(bars, name)[:shared])
        for name in ("ts", "open", "high", "low", "close", "volume")
    ]
    different = min((int(found[0]) for found in rows if len(found)), default=None)
    where = "in later bars" if different is None else f"from the bar of {stamp_text(int(old.ts[different]))} on"
    return (
        f"{quoted(Path(source.path or '').name)} was registered as {manifest.name} and has changed since, {where}; a "
        f"registered split stays fixed and only new bars at the end may be added, so save the new data under another name"
    )


def _load(manifest: Manifest, home: Path) -> DataSet:
    return DataSet(
        name=manifest.name,
        label=manifest.label,
        timeframe=manifest.timeframe,
        split=manifest.split,
        bars=catalog.read_bars(manifest, home, catalog.SEARCH_FILE),
    )


def _narrowed(dataset: DataSet, symbol: str | None, timeframe: Timeframe | None) -> DataSet:
    if timeframe is not None and timeframe != dataset.timeframe:
        raise DataError(
            f"data set {dataset.name} has {dataset.timeframe} bars, not {timeframe}; leave the timeframe out"
        )
    return dataset if symbol is None else dataset.only(symbol)


def _vault_part(bars: Bars, split: Split) -> Bars:
    return bars.between(rows_before(bars, split.vault_start) - WARMUP_BARS, len(bars))


def _entry(bars: Bars) -> Entry:
    return Entry(bars=len(bars), bars_per_year=bars.instrument.bars_per_year, sha256=bars.sha256)


def _unregistered(builtin: Builtin) -> DataSetSummary:
    """The summary that the built-in set will have; computed in memory."""
    source = Source(kind="builtin", sha256=builtin.digest())
    return _summary(_describe(builtin.name, builtin.label, builtin.load(), source), registered=False)


def _summary(manifest: Manifest, *, registered: bool) -> DataSetSummary:
    def moment(ts: int) -> datetime:
        return datetime.fromtimestamp(ts, UTC)

    split = manifest.split
    return DataSetSummary(
        name=manifest.name,
        label=manifest.label,
        symbols=tuple(manifest.entries),
        timeframe=manifest.timeframe,
        bars=sum(entry.bars for entry in manifest.entries.values()),
        first=moment(manifest.first),
        last=moment(manifest.last),
        train_stop=moment(split.train_stop),
        validation_start=moment(split.validation_start),
        validation_stop=moment(split.validation_stop),
        vault_start=moment(split.vault_start),
        registered=registered,
    )


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a zero byte in the name
        return False
