"""Opening data sets by name or path, and adding files.

The first time a set is opened in a home, its bars are checked, split and written as a search part and a vault part
(``runtime.market.registration``). From then on only the search part is read.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.market import catalog
from runtime.market.builtin import BUILTINS, find_builtin
from runtime.market.catalog import Manifest, Source
from runtime.market.dataset import DataSet, DataSetSummary
from runtime.market.errors import DataError, quoted
from runtime.market.files import read_bytes, table_from_bytes
from runtime.market.registration import Added, Wanted, add, check_name, describe, register
from runtime.market.resample import resample
from runtime.market.table import Reading, every, one

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.bars import Bars
    from runtime.market.builtin import Builtin
    from runtime.market.sessions import Calendar
    from runtime.model import Timeframe


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """How a file becomes a set."""

    name: str | None = None
    """The set's name; None makes one out of the file's name and content."""
    symbol: str | None = None
    """One symbol of the file; None takes all of them into one set."""
    timeframe: Timeframe | None = None
    """Step between the file's bars; None infers it."""
    calendar: Calendar | None = None
    """The market's calendar; None infers bars per year."""
    resample_to: Timeframe | None = None
    """Register bars of this longer timeframe, made from those in the file."""


def add_file(path: Path, home: Path, request: FileRequest) -> Added:
    """Register a file, all its symbols in one set, or add what is new in it to the set that it became earlier.

    Raises:
        DataError: bad data, too few bars, a name that is taken, or a file that changed since it was registered.
    """
    if request.name is not None:
        check_name(request.name)
    data = read_bytes(path)
    table = table_from_bytes(data, path.name)
    reading = Reading(timeframe=request.timeframe, calendar=request.calendar)
    if request.symbol is None:
        bars = every(table, reading)
    else:
        chosen = one(table, request.symbol, reading)
        bars = {chosen.instrument.symbol: chosen}
    source = replace(
        _file_source(data, path, symbol=request.symbol, timeframe=request.timeframe),
        calendar=request.calendar.name if request.calendar else None,
        resampled_from=str(next(iter(bars.values())).timeframe) if request.resample_to else None,
    )
    joined = _resampled(bars, request)
    return add(Wanted(bars=joined, source=source, label="file", name=request.name, stem=path.name), home)


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
                register(builtin.name, builtin.label, builtin.load(), source, home)
    manifest = catalog.read_manifest(builtin.name, home)
    if manifest.source.sha256 != builtin.digest():
        raise DataError(
            f"data set {builtin.name} was registered in {catalog.data_root(home)} from another edition of the built-in "
            f"data, and its split is fixed; use another TRIGATE_HOME for this version"
        )
    return _load(manifest, home)


def _open_file(path: Path, home: Path, symbol: str | None, timeframe: Timeframe | None) -> DataSet:
    data = read_bytes(path)
    source = _file_source(data, path, symbol=symbol, timeframe=timeframe)
    for manifest in catalog.read_manifests(home):
        if replace(manifest.source, path=source.path) == source:
            return _load(manifest, home)
        if symbol in manifest.entries and _is_whole_of(manifest.source, source):
            return _narrowed(_load(manifest, home), symbol, timeframe)
    table = table_from_bytes(data, path.name)
    if symbol is not None and "" in table.symbols:
        raise DataError(
            f"{quoted(path.name)} has no symbol column, so there is no {quoted(symbol)} to choose; leave the symbol out, or "
            f"give the set's bars that name with: trigate data add FILE --symbol {quoted(symbol)}"
        )
    bars = one(table, symbol, Reading(timeframe=timeframe))
    named = {bars.instrument.symbol: bars}
    added = add(Wanted(bars=named, source=source, label="file", name=None, stem=path.name), home)
    return _load(catalog.read_manifest(added.name, home), home)


def _is_whole_of(whole: Source, part: Source) -> bool:
    """Whether a set is the same file with all its symbols: then its split is also that of each of them."""
    return whole.symbol is None and replace(whole, path=part.path, symbol=part.symbol, timeframe=part.timeframe) == part


def _file_source(data: bytes, path: Path, *, symbol: str | None, timeframe: Timeframe | None) -> Source:
    return Source(
        kind="file",
        sha256=hashlib.sha256(data).hexdigest(),
        path=str(path.resolve()),
        symbol=symbol,
        timeframe=None if timeframe is None else str(timeframe),
    )


def _resampled(bars: Mapping[str, Bars], request: FileRequest) -> dict[str, Bars]:
    if request.resample_to is None:
        return dict(bars)
    return {
        symbol: resample(each, request.resample_to, calendar=request.calendar).bars for symbol, each in bars.items()
    }


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


def _unregistered(builtin: Builtin) -> DataSetSummary:
    """The summary that the built-in set will have; computed in memory."""
    source = Source(kind="builtin", sha256=builtin.digest())
    return _summary(describe(builtin.name, builtin.label, builtin.load(), source), registered=False)


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
        origin=_origin(manifest.source),
    )


def _origin(source: Source) -> str:
    parts = [{"builtin": "built in", "file": f"file {source.path}", "feed": f"feed {source.feed}"}[source.kind]]
    if source.resampled_from:
        parts.append(f"resampled from {source.resampled_from}")
    if source.calendar:
        parts.append(f"calendar {source.calendar}")
    return ", ".join(parts)


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a zero byte in the name
        return False
