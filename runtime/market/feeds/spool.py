"""What a fetch has brought so far, page by page on disk, so that a killed one loses at most a page.

::

    <home>/data/.partial/<key>/.lock         held while a fetch writes here
    <home>/data/.partial/<key>/000001.npz    first page: ts (n,), columns (5, n), state (JSON as bytes)

Each page is written beside its place, flushed, then renamed into it: a page is there whole or not at all. The key is
the digest of what was asked for, so another question never continues this answer.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import shutil
import zipfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.market.catalog import data_root, write_new
from runtime.market.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

FOLDER = ".partial"
_FRESH = ".new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a fetch stands after a page."""

    cursor: str | None
    """Of the next page; None when there is none."""
    newest: int | None
    """Newest stamp that any page had, closed or not, seconds since 1970 UTC."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredPage:
    """New rows of one page."""

    ts: NDArray[np.int64]
    columns: NDArray[np.float64]
    progress: Progress


class Spool:
    """The pages of one download, oldest first. Open it with ``open_spool``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def read(self) -> tuple[StoredPage, ...]:
        """All stored pages.

        Raises:
            DataError: one is missing or damaged.
        """
        files = sorted(self._folder.glob("[0-9]*.npz"))
        self._count = len(files)
        if [file.name for file in files] != [_file_name(number) for number in range(1, len(files) + 1)]:
            raise self._damaged("a page is missing")
        return tuple(self._page(file) for file in files)

    def append(self, page: StoredPage) -> None:
        """Store a page durably."""
        buffer = io.BytesIO()
        state = np.frombuffer(json.dumps(asdict(page.progress)).encode(), dtype=np.uint8)
        arrays: dict[str, Any] = {"ts": page.ts, "columns": page.columns, "state": state}
        np.savez(buffer, allow_pickle=False, **arrays)
        fresh = self._folder / _FRESH
        fresh.unlink(missing_ok=True)
        write_new(fresh, buffer.getvalue())
        fresh.replace(self._folder / _file_name(self._count + 1))
        self._count += 1
        _flush(self._folder)

    def discard(self) -> None:
        """Forget everything."""
        for file in self._folder.glob("[0-9]*.npz"):
            file.unlink()
        self._count = 0

    def remove(self) -> None:
        """Forget everything, the folder too; the spool is of no use afterwards."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _page(self, file: Path) -> StoredPage:
        try:
            with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
                state = json.loads(arrays["state"].tobytes())
                return StoredPage(ts=arrays["ts"], columns=arrays["columns"], progress=Progress(**state))
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise self._damaged(f"{file.name}: {type(error).__name__}") from error

    def _damaged(self, why: str) -> DataError:
        return DataError(
            f"the stored part of a download in {self._folder} is damaged ({why}); start again with --restart"
        )


@contextmanager
def open_spool(home: Path, asked: str) -> Iterator[Spool]:
    """The spool of a question; no other process can have it open meanwhile.

    Args:
        home: The home.
        asked: The whole question as text.

    Raises:
        DataError: another process is fetching the same, or the folder cannot be written, here or in the body.
    """
    folder = data_root(home) / FOLDER / hashlib.sha256(asked.encode()).hexdigest()[:32]
    try:
        for each in (home, data_root(home), folder.parent, folder):
            each.mkdir(mode=0o700, parents=each == home, exist_ok=True)
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Spool(folder)
        finally:
            os.close(lock)
    except BlockingIOError:
        raise DataError("another process is fetching the same data; wait for it or stop it") from None
    except OSError as error:
        raise DataError(
            f"a download cannot be stored in {folder}: {error.strerror}; make room, or choose another TRIGATE_HOME"
        ) from error


def _file_name(number: int) -> str:
    return f"{number:06}.npz"


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
