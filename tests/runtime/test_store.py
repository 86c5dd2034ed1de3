"""The store opens for everybody who may, says plainly why it does not, and survives what machines do."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from runtime.store import DATABASE_FILE, VERSION_TABLE, StoreError, open_engine, reading, writing


def run_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_first_start_makes_a_private_home(tmp_path):
    home = tmp_path / "new" / "home"
    with reading(open_engine(home)) as session:
        assert session.scalar(text("SELECT count(*) FROM run")) == 0
    assert home.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}


def test_a_wide_umask_does_not_open_the_database(tmp_path):
    before = os.umask(0)
    try:
        open_engine(tmp_path / "home").dispose()
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "home").iterdir()} == {0}


def test_every_connection_has_the_safe_settings(tmp_path):
    with writing(open_engine(tmp_path)) as session:
        settings = {
            name: session.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        }
    assert settings == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "busy_timeout": 30_000}


def test_a_durable_write_waits_for_the_disk_and_the_next_one_does_not(tmp_path):
    engine = open_engine(tmp_path)
    levels = []
    for durable in (True, False):
        with writing(engine, durable=durable) as session:
            levels.append(session.scalar(text("PRAGMA synchronous")))
    assert levels == [2, 1]


def test_opening_an_up_to_date_store_does_not_import_alembic(tmp_path):
    code = """
import pathlib, sys
from runtime.store import open_engine
open_engine(pathlib.Path(sys.argv[1])).dispose()
print("alembic" in sys.modules, "sqlmodel" in sys.modules, "pandas" in sys.modules)
"""
    outputs = []
    for _ in range(2):
        process = run_python(code, tmp_path)
        outputs.append(process.communicate(timeout=60))
    assert outputs == [("True False False\n", ""), ("False False False\n", "")]


def test_processes_that_start_together_make_one_good_schema(tmp_path):
    code = """
import pathlib, sys
from runtime.store import open_engine, reading
from sqlalchemy import text
with reading(open_engine(pathlib.Path(sys.argv[1]))) as session:
    print(session.scalar(text("SELECT count(*) FROM trial")))
"""
    processes = [run_python(code, tmp_path / "home") for _ in range(4)]
    assert [process.communicate(timeout=120) for process in processes] == [("0\n", "")] * 4
    with open_engine(tmp_path / "home").connect() as connection:
        assert connection.scalar(text("PRAGMA integrity_check")) == "ok"


def test_a_process_killed_while_it_migrates_leaves_nothing_behind(tmp_path):
    code = """
import os, pathlib, signal, sys
from sqlalchemy import Engine, event
from runtime.store import open_engine

@event.listens_for(Engine, "after_cursor_execute")
def die(connection, cursor, statement, *rest):
    if "CREATE TABLE vault_look" in statement:
        os.kill(os.getpid(), signal.SIGKILL)

open_engine(pathlib.Path(sys.argv[1]))
"""
    process = run_python(code, tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    with sqlite3.connect(tmp_path / DATABASE_FILE) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    with reading(open_engine(tmp_path)) as session:
        assert session.scalar(text("SELECT count(*) FROM vault_look")) == 0


def test_a_block_that_raises_writes_nothing(tmp_path):
    engine = open_engine(tmp_path)
    insert = text("INSERT INTO source VALUES ('a', 'python', '')")
    with pytest.raises(ZeroDivisionError), writing(engine) as session:
        raise ZeroDivisionError(session.execute(insert))
    with reading(engine) as session:
        assert session.scalar(text("SELECT count(*) FROM source")) == 0


def test_a_broken_constraint_is_the_callers_to_understand(tmp_path):
    with pytest.raises(IntegrityError), writing(open_engine(tmp_path)) as session:
        session.execute(text("INSERT INTO generation VALUES ('no-such-run', 0, NULL, '{}', '2026-11-30')"))


def test_a_database_from_a_newer_version_is_refused(tmp_path):
    engine = open_engine(tmp_path)
    with writing(engine) as session:
        session.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(StoreError, match=r"has schema revision 9999, .* knows revisions up to \d{4}; use the newer"):
        open_engine(tmp_path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    (tmp_path / DATABASE_FILE).write_bytes(b"my holiday diary" * 100)
    with pytest.raises(StoreError, match=r"trigate\.db: file is not a database"):
        open_engine(tmp_path)
    assert (tmp_path / DATABASE_FILE).read_bytes() == b"my holiday diary" * 100


def test_a_home_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"home folder .*file/home: Not a directory; .* set TRIGATE_HOME"):
        open_engine(tmp_path / "file" / "home")


def test_a_full_disk_or_a_dropped_table_is_a_store_error(tmp_path):
    with pytest.raises(StoreError, match="no such table: lost"), reading(open_engine(tmp_path)) as session:
        session.execute(text("SELECT * FROM lost"))


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://joe:hunter2@host/db", "starts with 'mysql': only postgresql"),
        ("hunter2", "cannot be read; write postgresql://"),
        ("postgresql+nosuchdriver://joe:hunter2@host/db", "cannot be read; write postgresql://"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_its_password(tmp_path, url, sentence):
    with pytest.raises(StoreError, match=sentence) as caught:
        open_engine(tmp_path, url)
    assert "hunter2" not in str(caught.value)


def test_a_missing_postgresql_driver_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match="needs the Python package 'psycopg'"):
        open_engine(tmp_path, "postgresql://joe:hunter2@host/db")
