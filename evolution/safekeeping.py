"""Backup and restore of the store: complete copies, and none that would make the store forget what it has counted.

A backup is taken while others work. A restore puts one in the place of the store, and is refused where the store that is there knows a
decision, a look at a vault, a read of validation, a trial or a line of the audit log that the backup does not: an error budget must not
refill by going back, nor a revoked deployment hold again.

SafekeepingError    a copy cannot be made or put in place; the text is one sentence
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from runtime.paper.canon import stamp
from runtime.store import DATABASE_FILE, VERSION_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What nothing may forget: a table, and columns that tell its rows apart.
_COUNTED = (
    ("decisions", "decision", "hash"),
    ("looks at vaults", "vault_look", "look, symbol, at"),
    ("reads of validation", "validation_read", 'source_sha256, symbol, timeframe, start, "end"'),
    ("trials", "trial", 'run_id, generation, "index", created'),
    ("lines of the audit log", "paper_audit", "sequence, line"),
)
# What SQLite says of a file that holds no database any more. A busy or unreadable one may hold everything.
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class SafekeepingError(Exception):
    """A copy cannot be made or put in place. The text is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A copy that is whole."""

    size: int
    """Bytes."""
    counts: dict[str, int]
    """Rows of what nothing may forget, by name."""


def backup(home: Path, file: Path) -> Kept:
    """Copy the store to a new file, mode 0600, while others may go on working.

    Raises:
        SafekeepingError: there is no store, the file is there already, or it cannot be written.
    """
    store = home / DATABASE_FILE
    if not store.is_file():
        raise SafekeepingError(f"home {home}: there is no store yet, so there is nothing to keep")
    try:
        # O_EXCL: whatever stands there is somebody's, and perhaps an earlier backup.
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        raise SafekeepingError(f"{file}: is there already; choose another name") from None
    except OSError as error:
        raise SafekeepingError(f"{file}: {error.strerror or error}; choose a place that can be written") from error
    try:
        _copy(store, file)
        return examine(file)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def examine(file: Path) -> Kept:
    """Whether a file is a whole store of ours.

    Raises:
        SafekeepingError: it is not.
    """
    with _opened(file) as connection:
        problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            raise SafekeepingError(f"{file}: is damaged ({problem}); use another backup")
        if VERSION_TABLE not in _tables(connection):
            raise SafekeepingError(f"{file}: is a database, and not a store of Trigate")
        strange = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL %' LIMIT 1"
        ).fetchone()
        if strange is not None:
            raise SafekeepingError(
                f"{file}: holds {ascii(strange[0])[:60]}, which acts by itself and which Trigate never makes; use another backup"
            )
        counts = {
            name: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - constants of ours
            for name, table, _ in _COUNTED
            if table in _tables(connection)
        }
    return Kept(size=file.stat().st_size, counts=counts)


def restore(home: Path, file: Path, *, replace: bool) -> Kept:
    """Put a backup in the place of the home's store. Whoever calls sees to it that nobody works in this home.

    Args:
        home: The home folder.
        file: From ``backup``.
        replace: Also where there is a store; it is moved aside, never deleted.

    Raises:
        SafekeepingError: the backup is not whole, there is a store and ``replace`` is False, or that store knows more.
    """
    kept, store = examine(file), home / DATABASE_FILE
    partial = home / f".{DATABASE_FILE}.restoring"
    try:
        if store.exists():
            _give_way(store, file, replace=replace)
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(file, partial)
        examine(partial)
        for tail in ("-wal", "-shm"):
            store.with_name(store.name + tail).unlink(missing_ok=True)
        partial.replace(store)  # one step: there is never a moment without a store
    except OSError as error:
        raise SafekeepingError(f"home {home}: {error.strerror or error}; make room or rights") from error
    finally:
        partial.unlink(missing_ok=True)
    return kept


def _give_way(store: Path, file: Path, *, replace: bool) -> None:
    """Keep a copy of what is there under a name of its own, if it may be replaced at all."""
    lost = _forgotten(store, file)
    if lost:
        raise SafekeepingError(
            f"{file}: does not know {lost} that the store in {store.parent} holds; what was counted is never forgotten, so restore it "
            "to another home"
        )
    if not replace:
        raise SafekeepingError(
            f"home {store.parent}: has a store; --replace moves it aside and puts the backup in its place"
        )
    aside = next(
        place for number in range(1, 10_000) if not (place := store.with_name(f"{store.name}.before-{number}")).exists()
    )
    for tail in ("", "-wal"):
        left = store.with_name(store.name + tail)
        if left.exists():
            os.link(left, aside.with_name(aside.name + tail))


def _forgotten(store: Path, file: Path) -> str | None:
    """What the store has counted and the backup has not; None when there is nothing, or the store is damaged.

    Raises:
        SafekeepingError: the store is whole and cannot be read now, so nobody knows; or a paper run is at work in it.
    """
    try:
        with _opened(store) as connection:
            _require_idle(connection, store)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            known = {name: _rows(connection, table, columns) for name, table, columns in _COUNTED}
    except SafekeepingError as error:
        if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            return None
        raise
    with _opened(file) as connection:
        missing = {name: len(known[name] - _rows(connection, table, columns)) for name, table, columns in _COUNTED}
    return ", ".join(f"{count} {name}" for name, count in missing.items() if count) or None


def _require_idle(connection: sqlite3.Connection, store: Path) -> None:
    """A process that trades would go on writing into the file that was moved aside."""
    if "paper_lease" not in _tables(connection):
        return
    query = "SELECT run FROM paper_lease WHERE expires > ? ORDER BY run LIMIT 1"
    living = connection.execute(query, (stamp(datetime.now(UTC)),)).fetchone()
    if living is not None:
        raise SafekeepingError(
            f"home {store.parent}: paper run {living[0]} is at work; stop it, or wait a minute after it was killed"
        )


def _rows(connection: sqlite3.Connection, table: str, columns: str) -> set[tuple[object, ...]]:
    if table not in _tables(connection):
        return set()
    return set(connection.execute(f"SELECT {columns} FROM {table}"))  # noqa: S608 - constants of ours


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _copy(source: Path, target: Path) -> None:
    """SQLite's own online backup: a consistent state, whoever writes meanwhile."""
    with _opened(source) as reading, contextlib.closing(sqlite3.connect(target)) as writing:
        try:
            reading.backup(writing, pages=1_000)
        except sqlite3.DatabaseError as error:
            raise SafekeepingError(f"{target}: {error}; make room, or choose another place") from error


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    if not file.is_file():
        raise SafekeepingError(f"{file}: there is no such file")
    connection = sqlite3.connect(file, timeout=30)
    try:
        yield connection
    except sqlite3.DatabaseError as error:
        raise SafekeepingError(f"{file}: cannot be read as a store ({error})") from error
    finally:
        connection.close()
