"""Registered data sets on disk: what is in the folder, how it is written, how it is read back.

::

    <home>/data/<name>/manifest.json   what the set is, where its split lies, digests of the other two
    <home>/data/<name>/search.npz      bars before the end of validation
    <home>/data/<name>/vault.npz       the vault's bars with their warm-up; only ``runtime.market.vault`` reads it

Arrays are stored without pickle and loaded only when their digest is the one in the manifest. Folders are mode 0700 and
files 0600. Writers hold one lock per home; a set appears under its name complete or not at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from runtime.market.bars import PRICE_COLUMNS, Bars
from runtime.market.errors import DataError, quoted
from runtime.market.split import Split
from runtime.model import Instrument, Timeframe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runtime.market.dataset import Label

MANIFEST_FILE = "manifest.json"
SEARCH_FILE = "search.npz"
VAULT_FILE = "vault.npz"
FORMAT = 1
_UNFINISHED = ".new-"
# Names are folder names: plain, lower case, never a path.
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a set was made from, so that opening the same thing again finds it."""

    kind: Literal["builtin", "file", "feed"]
    sha256: str
    """Of the file's bytes, or a built-in set's own digest, or of what was asked of a feed."""
    path: str | None = None
    """Where the file was, absolute; None for other kinds."""
    symbol: str | None = None
    """The symbol that was asked for; None for none."""
    timeframe: str | None = None
    """The timeframe that was asked for; None for none."""
    calendar: str | None = None
    """The calendar that was stated; None means that bars per year were inferred."""
    resampled_from: str | None = None
    """Timeframe of the bars that these were made from; None for bars as they came."""
    feed: str | None = None
    """Name and address of the feed; None for other kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One symbol of a set."""

    bars: int
    """All of them, vault included."""
    bars_per_year: float
    sha256: str
    """Of all bars (``Bars.sha256``), vault included: tells appended data from changed data without opening the vault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a registered set is. Stamps are seconds since 1970 UTC."""

    name: str
    label: Label
    timeframe: Timeframe
    source: Source
    split: Split
    entries: Mapping[str, Entry]
    """By symbol; the order is that of the arrays in the files."""
    first: int
    last: int
    files: Mapping[str, str]
    """SHA-256 of ``search.npz`` and ``vault.npz``."""


def data_root(home: Path) -> Path:
    """The folder that holds a home's data sets; it may not exist yet."""
    return home / "data"


def is_registered(name: str, home: Path) -> bool:
    """Whether a set of that name is complete on disk."""
    return NAME.fullmatch(name) is not None and (data_root(home) / name / MANIFEST_FILE).is_file()


def read_manifests(home: Path) -> tuple[Manifest, ...]:
    """All registered sets, by name.

    Raises:
        DataError: one of them is damaged.
    """
    root = data_root(home)
    try:
        names = sorted(entry.name for entry in root.iterdir()) if root.is_dir() else []
    except OSError as error:
        raise DataError(
            f"the data sets in {root} cannot be read: {error.strerror}; mend the folder's rights"
        ) from error
    return tuple(read_manifest(name, home) for name in names if is_registered(name, home))


def read_manifest(name: str, home: Path) -> Manifest:
    """The manifest of a registered set.

    Raises:
        DataError: there is none, it is damaged, or it comes from another version.
    """
    path = data_root(home) / name / MANIFEST_FILE
    if not is_registered(name, home):
        raise DataError(f"no data set {quoted(name)} is registered in {data_root(home)}; open it by its file first")
    try:
        return _manifest(json.loads(path.read_bytes()), name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def read_bars(manifest: Manifest, home: Path, file: str) -> dict[str, Bars]:
    """The bars in one of a set's two files, by symbol.

    Raises:
        DataError: the file is missing, or not the one that the manifest describes.
    """
    path = data_root(home) / manifest.name / file
    try:
        with np.load(io.BytesIO(_content(path, manifest.files[file])), allow_pickle=False) as arrays:
            return {
                symbol: _bars(symbol, entry, manifest.timeframe, arrays[f"ts{index}"], arrays[f"columns{index}"])
                for index, (symbol, entry) in enumerate(manifest.entries.items())
            }
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def encode_bars(bars: Mapping[str, Bars]) -> bytes:
    """The content of an ``.npz``: per symbol, stamps of shape ``(n,)`` and columns of shape ``(5, n)``, uncompressed."""
    arrays: dict[str, Any] = {}
    for index, one in enumerate(bars.values()):
        arrays[f"ts{index}"] = one.ts
        arrays[f"columns{index}"] = np.stack([getattr(one, name) for name in PRICE_COLUMNS])
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def file_digests(search: bytes, vault: bytes) -> dict[str, str]:
    """What ``Manifest.files`` says about two contents."""
    return {SEARCH_FILE: hashlib.sha256(search).hexdigest(), VAULT_FILE: hashlib.sha256(vault).hexdigest()}


@contextmanager
def writing(home: Path) -> Iterator[None]:
    """Hold the right to change a home's data sets, against all processes; waits for it.

    Remains of an interrupted registration are removed on entry.

    Raises:
        DataError: the folder cannot be written, here or in the body.
    """
    root = data_root(home)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for remains in root.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(remains, ignore_errors=True)
            yield
        finally:
            os.close(lock)
    except OSError as error:
        raise DataError(
            f"data cannot be registered in {root}: {error.strerror}; choose another TRIGATE_HOME or mend its rights"
        ) from error


def add_set(manifest: Manifest, home: Path, *, search: bytes, vault: bytes) -> None:
    """Put a new set on disk, complete or not at all. Call it inside ``writing``."""
    root = data_root(home)
    folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
    write_new(folder / SEARCH_FILE, search)
    write_new(folder / VAULT_FILE, vault)
    write_new(folder / MANIFEST_FILE, _document(manifest))
    folder.rename(root / manifest.name)


def replace_vault(manifest: Manifest, home: Path, *, vault: bytes) -> None:
    """Exchange a set's vault and manifest. Call it inside ``writing``.

    A crash in between leaves a vault whose digest the old manifest does not know: it is refused until the same file is
    opened again, which repeats the exchange. The search part is never touched.
    """
    folder = data_root(home) / manifest.name
    for file, data in ((VAULT_FILE, vault), (MANIFEST_FILE, _document(manifest))):
        fresh = folder / f"{_UNFINISHED}{file}"
        fresh.unlink(missing_ok=True)
        write_new(fresh, data)
        fresh.replace(folder / file)


def write_new(path: Path, data: bytes) -> None:
    """Write a new private file and wait until it is on disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _bars(symbol: str, entry: Entry, timeframe: Timeframe, ts: Any, columns: Any) -> Bars:
    instrument = Instrument(symbol=symbol, bars_per_year=entry.bars_per_year)
    named = dict(zip(PRICE_COLUMNS, columns, strict=True))
    return Bars(instrument=instrument, timeframe=timeframe, ts=ts, **named)


def _document(manifest: Manifest) -> bytes:
    document = {"format": FORMAT, **asdict(manifest), "timeframe": str(manifest.timeframe)}
    return (json.dumps(document, indent=2) + "\n").encode()


def _content(path: Path, sha256: str) -> bytes:
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ValueError(f"its digest is {found[:12]}, the manifest says {sha256[:12]}")
    return data


def _manifest(document: dict[str, Any], name: str) -> Manifest:
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']}, this version reads {FORMAT}")
    if document["name"] != name:
        raise ValueError(f"it names {quoted(str(document['name']))}")
    split = document["split"]
    return Manifest(
        name=name,
        label=cast("Label", document["label"]),
        timeframe=Timeframe.parse(document["timeframe"]),
        source=Source(**document["source"]),
        split=Split(**{**split, "fold_edges": tuple(split["fold_edges"])}),
        entries={symbol: Entry(**entry) for symbol, entry in document["entries"].items()},
        first=int(document["first"]),
        last=int(document["last"]),
        files=dict(document["files"]),
    )


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"{path} is damaged or from another version ({why}); move the folder {path.parent} away and register the data again"
    )
