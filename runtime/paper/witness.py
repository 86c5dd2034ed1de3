"""The newest head of the audit log, in a file outside of the database: ``<home>/paper/head``.

Whoever has the database can cut the log's last lines and set its head back. The file is written after each commit, so it is never ahead
of an honest database, and behind it by what a crash cut off; a database that is behind the file lost lines.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# One write of one length, well within a sector: it is there or not.
_FORM = "{:016d} {:64s}\n"
_LENGTH = len(_FORM.format(0, ""))


@dataclass(frozen=True, slots=True)
class HeadFile:
    """The file. Safe for several threads and processes: it only ever moves forward."""

    path: Path

    def read(self) -> tuple[int, str] | None:
        """Sequence and hash of the newest head; None when there was none yet.

        Raises:
            StoreError: the file is damaged or cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                return self._parsed(file.read(_LENGTH + 1))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}; mend its rights") from error

    def advance(self, sequence: int, head: str) -> None:
        """Write a newer head down; an older one changes nothing.

        Raises:
            StoreError: the file is damaged or cannot be written.
        """
        try:
            with self._locked() as descriptor:
                known = self._parsed(os.pread(descriptor, _LENGTH + 1, 0))
                if known is None or known[0] < sequence:
                    os.pwrite(descriptor, _FORM.format(sequence, head).encode("ascii"), 0)
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}; free space, or mend its rights") from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _parsed(self, content: bytes) -> tuple[int, str] | None:
        if not content:
            return None
        number, _, head = content.decode("ascii", "replace").strip().partition(" ")
        if len(content) != _LENGTH or not (number.isascii() and number.isdigit()):
            raise StoreError(
                f"{self.path}: is damaged, so a cut audit log could not be noticed; compare the log with a published head, then "
                f"remove this file"
            )
        return int(number), head
