"""Putting bars into a home for ever: the split is made once, and after that a set only grows at its end.

``add`` is the one door, for files, feeds and what opens them by path. A set that is added again with more bars gets them
into its vault; one that changed in any other way is refused, because its registered split was made on other data.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from runtime.market import catalog
from runtime.market.bars import PRICE_COLUMNS
from runtime.market.builtin import find_builtin
from runtime.market.calendar import stamp_text
from runtime.market.catalog import Entry, Manifest
from runtime.market.errors import DataError, quoted
from runtime.market.split import WARMUP_BARS, make_split, rows_before

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runtime.market.bars import Bars
    from runtime.market.catalog import Source
    from runtime.market.dataset import Label
    from runtime.market.split import Split

_NOT_NAME = re.compile(r"[^a-z0-9]+")
_NAME_PART = 40
_DIGEST_PART = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of bars that were added."""

    name: str
    """The set that now holds them."""
    outcome: Literal["registered", "grown", "unchanged"]
    new_bars: int
    """Bars of all symbols that were not there before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Bars on their way into a home."""

    bars: Mapping[str, Bars]
    """By symbol, all of one timeframe, judged."""
    source: Source
    label: Label
    name: str | None
    """The set's name; None finds the set by its content or path, or makes a name out of ``stem`` and content."""
    stem: str
    """What they came from, for messages and names."""


def add(wanted: Wanted, home: Path) -> Added:
    """Register bars, or add what is new in them to the set that already holds the others.

    Raises:
        DataError: a name that is no name or is taken, changed bars, symbols of different timeframes, or too few bars.
    """
    _check(wanted)
    with catalog.writing(home):
        known = _named(wanted, home) if wanted.name is not None else _found(wanted, home)
        if known is not None:
            return _grow(known, wanted, home)
        name = wanted.name or _made_name(wanted)
        try:
            register(name, wanted.label, wanted.bars, wanted.source, home)
        except DataError as error:
            raise DataError(f"{quoted(wanted.stem)}: {error}") from None
    return Added(name=name, outcome="registered", new_bars=sum(map(len, wanted.bars.values())))


def register(name: str, label: Label, bars: Mapping[str, Bars], source: Source, home: Path) -> Manifest:
    """Split the bars and write a new set. Call it inside ``catalog.writing``.

    Raises:
        DataError: too few bars.
    """
    manifest = describe(name, label, bars, source)
    split = manifest.split
    search = catalog.encode_bars(
        {symbol: one.between(0, rows_before(one, split.validation_stop)) for symbol, one in bars.items()}
    )
    vault = catalog.encode_bars({symbol: _vault_part(one, split) for symbol, one in bars.items()})
    manifest = replace(manifest, files=catalog.file_digests(search, vault))
    catalog.add_set(manifest, home, search=search, vault=vault)
    return manifest


def describe(name: str, label: Label, bars: Mapping[str, Bars], source: Source) -> Manifest:
    """The manifest of some bars, the files not yet written.

    Raises:
        DataError: too few bars.
    """
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


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a person's set.

    Raises:
        DataError: it has other characters, or a built-in set has it.
    """
    if not catalog.NAME.fullmatch(name):
        raise DataError(f"name {quoted(name)}: write 1 to 100 small letters, digits, dots and dashes, like btc-hourly")
    if find_builtin(name) is not None:
        raise DataError(f"name {quoted(name)} belongs to a built-in data set; choose another one")


def _check(wanted: Wanted) -> None:
    if wanted.name is not None:
        check_name(wanted.name)
    steps = {symbol: one.timeframe for symbol, one in wanted.bars.items()}
    if len(set(steps.values())) > 1:
        told = ", ".join(f"{symbol} {step}" for symbol, step in list(steps.items())[:3])
        raise DataError(
            f"{quoted(wanted.stem)}: the symbols have different timeframes ({told}); a set has one, so choose a symbol or "
            f"state the timeframe"
        )


def _named(wanted: Wanted, home: Path) -> Manifest | None:
    """The set of the wanted name; None when the name is free and the bars are new."""
    assert wanted.name is not None
    if catalog.is_registered(wanted.name, home):
        return catalog.read_manifest(wanted.name, home)
    same = _same_content(wanted, home)
    if same is not None:
        raise DataError(
            f"{quoted(wanted.stem)} is already registered, as {same.name}; a second name would give it a second split, "
            f"so go on with that one"
        )
    return None


def _found(wanted: Wanted, home: Path) -> Manifest | None:
    """The set that already holds these bars or an earlier state of the same file; None when there is none."""
    same = _same_content(wanted, home)
    if same is not None:
        return same
    source = wanted.source
    for each in catalog.read_manifests(home):
        is_same_file = (
            each.source.path == source.path is not None and each.source.resampled_from == source.resampled_from
        )
        if is_same_file and tuple(each.entries) == tuple(wanted.bars):
            return each
    return None


def _same_content(wanted: Wanted, home: Path) -> Manifest | None:
    digests = {symbol: one.sha256 for symbol, one in wanted.bars.items()}
    for manifest in catalog.read_manifests(home):
        own = {symbol: entry.sha256 for symbol, entry in manifest.entries.items()}
        if manifest.source.kind != "builtin" and own == digests:
            return manifest
    return None


def _made_name(wanted: Wanted) -> str:
    digests = [one.sha256 for one in wanted.bars.values()]
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    parts = (wanted.stem.split(".")[0], wanted.source.symbol or "", digest[:_DIGEST_PART])
    plain = (_NOT_NAME.sub("-", part.lower()).strip("-")[:_NAME_PART].strip("-") for part in parts)
    return "-".join(part for part in plain if part)


def _grow(manifest: Manifest, wanted: Wanted, home: Path) -> Added:
    """Add the bars that a source has gained to the vault; the split and the search part stay as they are."""
    bars = wanted.bars
    if tuple(manifest.entries) != tuple(bars):
        raise DataError(
            f"{quoted(wanted.stem)} holds {', '.join(bars)} and {manifest.name} was registered with "
            f"{', '.join(manifest.entries)}; a registered set keeps its symbols, so choose another name"
        )
    for symbol, one in bars.items():
        known = manifest.entries[symbol]
        if one.timeframe != manifest.timeframe or one.between(0, known.bars).sha256 != known.sha256:
            raise DataError(_changed(manifest, one, wanted.stem, home))
    new_bars = sum(map(len, bars.values())) - sum(entry.bars for entry in manifest.entries.values())
    if not new_bars:
        return Added(name=manifest.name, outcome="unchanged", new_bars=0)
    vault = catalog.encode_bars({symbol: _vault_part(one, manifest.split) for symbol, one in bars.items()})
    grown = replace(
        manifest,
        source=wanted.source,
        entries={
            symbol: replace(_entry(one), bars_per_year=manifest.entries[symbol].bars_per_year)
            for symbol, one in bars.items()
        },
        last=max(int(one.ts[-1]) for one in bars.values()),
        files={**manifest.files, catalog.VAULT_FILE: hashlib.sha256(vault).hexdigest()},
    )
    catalog.replace_vault(grown, home, vault=vault)
    return Added(name=manifest.name, outcome="grown", new_bars=new_bars)


def _changed(manifest: Manifest, bars: Bars, stem: str, home: Path) -> str:
    """Why changed bars are refused; the first difference is named when it lies before the vault."""
    old = catalog.read_bars(manifest, home, catalog.SEARCH_FILE)[bars.instrument.symbol]
    shared = min(len(old), len(bars))
    rows = [
        np.flatnonzero(getattr(old, name)[:shared] != getattr(bars, name)[:shared]) for name in ("ts", *PRICE_COLUMNS)
    ]
    different = min((int(found[0]) for found in rows if len(found)), default=None)
    where = "in later bars" if different is None else f"from the bar of {stamp_text(int(old.ts[different]))} on"
    of = f" of {bars.instrument.symbol}" if len(manifest.entries) > 1 and different is not None else ""
    return (
        f"{quoted(stem)} was registered as {manifest.name} and has changed since, {where}{of}; a registered split stays "
        f"fixed and only new bars at the end may be added, so save the new data under another name"
    )


def _vault_part(bars: Bars, split: Split) -> Bars:
    return bars.between(rows_before(bars, split.vault_start) - WARMUP_BARS, len(bars))


def _entry(bars: Bars) -> Entry:
    return Entry(bars=len(bars), bars_per_year=bars.instrument.bars_per_year, sha256=bars.sha256)
