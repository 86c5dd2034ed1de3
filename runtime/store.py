"""The store: one SQL engine for everything that must be remembered.

SQLite in the home folder by default, PostgreSQL by URL. ``open_engine`` brings the schema up to date first; everybody
else reads inside ``reading(engine)`` and writes inside ``writing(engine)``, one transaction each. The tables stand
beside their owners (``evolution.tables``); the schema's history is a package that is only *named* here, so that the
arrows between the layers keep pointing down.

    StoreError      the database cannot be used: one sentence that says what to do
      FencedError   somebody else has taken over what this process was working on; it must not write any more
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import URL, Connection, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine
    from sqlalchemy.pool import ConnectionPoolEntry

_T = TypeVar("_T")

DATABASE_FILE = "trigate.db"
MIGRATIONS = "evolution.migrations"
VERSION_TABLE = "trigate_version"
"""Our own name: a PostgreSQL database shared with Prefect already has an ``alembic_version``."""

# Longer than any transaction of ours by far; a generation's trials are written in one of some milliseconds.
_BUSY_TIMEOUT_MS = 30_000
# Any constant will do, as long as nobody else on the same PostgreSQL server uses it for its own lock.
_ADVISORY_LOCK = 7_420_261_130
# JSON has no NaN, and the JSON that we store has none either.
_TO_JSON = partial(json.dumps, allow_nan=False)
_WRITES, _DURABLE, _FENCE, _IMPATIENT = "trigate_writes", "trigate_durable", "trigate_fence", "trigate_impatient"
_SYNCHRONOUS = "trigate_synchronous"
"""Noted on each connection of SQLite's: how its commits are synced."""
# A server that is restarted or fails over is back by then; a night does not end for it.
_PATIENCE_S = 900.0
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)
_log = logging.getLogger(__name__)


class StoreError(Exception):
    """The database cannot be opened or used. The text is one sentence that names the thing and the way out."""


class FencedError(StoreError):
    """A write came too late: another process has taken over. Nothing was written; stop, and leave the work to it."""


def open_engine(home: Path, url: str | None = None, *, migrations: str = MIGRATIONS) -> Engine:
    """Open the database, with its schema brought up to date.

    Safe to call from several processes at once: one of them migrates, the others wait. Reading the schema's revision
    does not import Alembic, so an up-to-date store opens quickly.

    Args:
        home: Folder of the SQLite database; made with mode 0700 when it does not exist. Unused when there is a URL.
        url: ``postgresql://user:password@host/database``, or None for SQLite. The password is never repeated.
        migrations: Name of the package that holds the schema's history.

    Raises:
        StoreError: The home cannot be written, the server cannot be reached, the file is not ours, or the database
            was written by a newer version.
    """
    engine = _sqlite_engine(home) if url is None else _postgresql_engine(url)
    place = _place(engine)
    try:
        with _said_plainly(place):
            _bring_up_to_date(engine, home, place, migrations)
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """One consistent view of the store; nothing is written.

    Raises:
        StoreError: The database failed underneath.
    """
    with _said_plainly(_place(engine)), Session(engine, expire_on_commit=False) as session:
        _begin(session)
        yield session


@contextmanager
def writing(engine: Engine, *, durable: bool = False) -> Iterator[Session]:
    """One transaction: committed when the block ends well, rolled back when it raises.

    There is one writer at a time. The lock is taken at the start, so what the block reads cannot change before it writes.

    Args:
        engine: From ``open_engine``.
        durable: The commit survives a power cut, not only the death of the process.

    Raises:
        sqlalchemy.exc.IntegrityError: A constraint of the schema is broken; the caller knows what that means.
        StoreError: The database failed underneath.
        FencedError: The engine is ``fenced`` and somebody else has taken over.
    """
    options = {_WRITES: True, _DURABLE: durable}
    writer = Session(engine.execution_options(**options), expire_on_commit=False)
    with _said_plainly(_place(engine)), writer as session:
        _begin(session)
        yield session
        session.commit()


@contextmanager
def writing_rows(engine: Engine) -> Iterator[Connection]:
    """``writing`` for plain statements: the same lock, fence, patience and errors, in a third of a session's time.

    For what is written for each candidate of a night.
    """
    options = {_WRITES: True, _DURABLE: False}

    def begun() -> Connection:
        connection = engine.connect().execution_options(**options)
        try:
            connection.begin()
        except BaseException:
            connection.close()
            raise
        return connection

    with _said_plainly(_place(engine)), _patiently(engine, begun) as connection:
        yield connection
        connection.commit()


def fenced(engine: Engine, run_id: str, token: int) -> Engine:
    """The same database for the holder of a run's lease (``evolution.leases``): every write first checks that it still is.

    There is one writer at a time, and a lease changes hands in a write, so no write of a former holder can come after the change.
    """
    return engine.execution_options(**{_FENCE: (run_id, token)})


def impatient(engine: Engine) -> Engine:
    """The same database for what is not worth waiting for: a server that is away is an error at once."""
    return engine.execution_options(**{_IMPATIENT: True})


def database_time(session: Session | Connection) -> datetime:
    """What time it is for everybody who shares the database: machines' clocks differ, leases must not."""
    dialect = session.dialect if isinstance(session, Connection) else session.get_bind().dialect
    if dialect.name == "sqlite":
        return datetime.now(UTC)  # one machine, one clock
    now: datetime = session.execute(text("SELECT clock_timestamp()")).scalar_one()
    return now.astimezone(UTC)


def _begin(session: Session) -> None:
    def begun() -> None:
        try:
            session.connection()
        except OperationalError:
            session.rollback()
            raise

    _patiently(session.get_bind().engine, begun)


def _patiently(engine: Engine, begin: Callable[[], _T]) -> _T:
    """Begin a transaction; while a database server is away, wait for it. Nothing has been done yet that could be lost."""
    is_patient = engine.dialect.name != "sqlite" and not engine.get_execution_options().get(_IMPATIENT)
    until = time.monotonic() + _PATIENCE_S
    for attempt in count():
        try:
            return begin()
        except OperationalError as error:
            if not is_patient or time.monotonic() > until:
                raise
            if attempt == 0:
                _log.warning("database %s is away, waiting for it: %s", _place(engine), _cause(error))
            time.sleep(_PAUSES_S[min(attempt, len(_PAUSES_S) - 1)])
    raise AssertionError("the attempts do not end by themselves")


@contextmanager
def _said_plainly(place: str) -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise StoreError(
            f"database {place}: {_cause(error)}; check that it is reachable, writable and made by Trigate"
        ) from error


def _cause(error: DBAPIError) -> str:
    return " ".join(str(error.orig).split())


def _check_fence(connection: Connection) -> None:
    """Refuse the write of a former holder. Called with the writers' lock held."""
    fence = connection.get_execution_options().get(_FENCE)
    if fence is None:
        return
    name, token = fence
    query = text("SELECT token, holder FROM run_lease WHERE run_id = :name")
    found = connection.execute(query, {"name": name}).one_or_none()
    if found is None or found.token != token:
        who = "nobody" if found is None else found.holder
        raise FencedError(
            f"run {name}: {who} has taken over from this process, which writes nothing more; look at that one"
        )


def _place(engine: Engine) -> str:
    """What to call the database in a message; passwords are masked."""
    url = engine.url
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


# SQLite


def _sqlite_engine(home: Path) -> Engine:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = home.resolve() / DATABASE_FILE
        # Made here and not by SQLite, whose mode would follow the umask; its -wal and -shm files copy this mode.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
    except OSError as error:
        raise StoreError(
            f"home folder {home}: {error.strerror or error}; Trigate keeps its database there, "
            "so set TRIGATE_HOME to a folder that you can write"
        ) from error
    url = URL.create("sqlite+pysqlite", database=str(path))
    engine = create_engine(url, json_serializer=_TO_JSON)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
    # The driver's own transaction handling does not cover DDL and begins too late; _begin_sqlite does it instead.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    record.info[_SYNCHRONOUS] = "NORMAL"


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get(_WRITES):
        connection.exec_driver_sql("BEGIN")
        return
    # In WAL mode NORMAL never corrupts, but the last commits may be lost with the power; FULL syncs each commit.
    wanted = "FULL" if options.get(_DURABLE) else "NORMAL"
    if connection.info.get(_SYNCHRONOUS) != wanted:
        connection.exec_driver_sql(f"PRAGMA synchronous = {wanted}")
        connection.info[_SYNCHRONOUS] = wanted
    # IMMEDIATE: a transaction that reads first and writes later would fail at once if another wrote in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    _check_fence(connection)


# PostgreSQL


def _postgresql_engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() not in {"postgresql", "postgres"}:
            raise StoreError(
                f"database URL starts with {parsed.drivername!r}: only postgresql:// is supported; "
                "leave TRIGATE_DATABASE_URL unset to use SQLite in the home folder"
            )
        if parsed.drivername in {"postgresql", "postgres"}:
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = create_engine(parsed, pool_pre_ping=True, json_serializer=_TO_JSON)
    except (ArgumentError, NoSuchModuleError) as error:
        raise StoreError(
            "database URL in TRIGATE_DATABASE_URL: cannot be read; write postgresql://user:password@host/database"
        ) from error
    except ModuleNotFoundError as error:
        raise StoreError(
            f"database URL needs the Python package {error.name!r}, which is not installed; "
            "install psycopg, or leave TRIGATE_DATABASE_URL unset to use SQLite in the home folder"
        ) from error
    event.listen(engine, "begin", _begin_postgresql)
    return engine


def _begin_postgresql(connection: Connection) -> None:
    # One writer at a time, as on SQLite: whatever a block reads before it writes is still true when it writes.
    if connection.get_execution_options().get(_WRITES):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
        _check_fence(connection)


# The schema


def _bring_up_to_date(engine: Engine, home: Path, place: str, migrations: str) -> None:
    known = _known_revisions(migrations)
    if _is_current(engine, known, place):
        return
    if engine.dialect.name != "sqlite":
        with engine.execution_options(**{_WRITES: True}).begin() as connection:
            _migrate(connection, migrations)
        return
    with _file_lock(home / f"{DATABASE_FILE}.lock"):
        if _is_current(engine, known, place):
            return
        with engine.connect() as connection:
            # Kept in the file from now on. Under our lock, since switching is the one step that does not wait for others.
            driver_connection: Any = connection.connection.driver_connection
            driver_connection.execute("PRAGMA journal_mode = WAL")
        with engine.execution_options(**{_WRITES: True, _DURABLE: True}).begin() as connection:
            _migrate(connection, migrations)


def _known_revisions(migrations: str) -> tuple[str, ...]:
    """The schema's revisions, oldest first. They are numbers, and a file's name starts with its revision."""
    versions = files(migrations) / "versions"
    names = (entry.name for entry in versions.iterdir())
    return tuple(sorted(name[:4] for name in names if name.endswith(".py") and name[:4].isdigit()))


def _is_current(engine: Engine, known: tuple[str, ...], place: str) -> bool:
    """Whether the stored revision is the newest one that we know.

    Raises:
        StoreError: It is none that we know.
    """
    with engine.connect() as connection:
        if not inspect(connection).has_table(VERSION_TABLE):
            return False
        stored = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
    if stored is not None and stored not in known:
        raise StoreError(
            f"database {place}: has schema revision {stored}, and this version of Trigate knows revisions up to "
            f"{known[-1]}; use the newer Trigate that wrote it, or set TRIGATE_HOME to another folder"
        )
    return stored == known[-1]


def _migrate(connection: Connection, migrations: str) -> None:
    """Apply what is missing, inside the caller's transaction: all of it or nothing."""
    # Alembic takes a quarter of a second to import, and is needed once per new version.
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", str(files(migrations)).replace("%", "%%"))
    config.attributes.update(connection=connection, version_table=VERSION_TABLE)
    command.upgrade(config, "head")


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Keep other processes out. The kernel lets go of the lock when we die, however that happens."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
