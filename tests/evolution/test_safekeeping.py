"""Copies are whole, and none makes the store forget what it has counted."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from evolution.safekeeping import SafekeepingError, backup, examine, restore
from runtime.store import DATABASE_FILE, open_engine


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory):
    home = tmp_path_factory.mktemp("empty")
    open_engine(home).dispose()
    return home


@pytest.fixture
def home(tmp_path, empty_home):
    import shutil

    shutil.copytree(empty_home, tmp_path / "home")
    return tmp_path / "home"


def note_look(home, number):
    with sqlite3.connect(home / DATABASE_FILE) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(
            'INSERT INTO vault_look (look, symbol, timeframe, start, "end", entry, source_sha256, dataset, vault_sha256, '
            f"config_hash, engine_version, alpha, \"by\", at) VALUES ({number}, 'A', '1d', '2020-01-01', '2021-01-01', 1, 's', 'd', "
            "'v', 'c', '1', 0.005, '\"Ada\"', '2026-01-01')"
        )
    connection.close()


def looks(home):
    with sqlite3.connect(home / DATABASE_FILE) as connection:
        (count,) = connection.execute("SELECT count(*) FROM vault_look").fetchone()
    connection.close()
    return count


def test_a_backup_is_whole_and_for_its_owner_only(home, tmp_path):
    note_look(home, 1)
    file = tmp_path / "kept.db"
    kept = backup(home, file)
    assert kept == examine(file)
    assert kept.counts["looks at vaults"] == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_backup_is_taken_while_somebody_writes(home, tmp_path):
    engine = open_engine(home)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        assert backup(home, tmp_path / "kept.db").size > 0
    engine.dispose()


def test_a_backup_overwrites_nothing_and_leaves_nothing_half_made(home, tmp_path):
    file = tmp_path / "kept.db"
    file.write_text("mine")
    with pytest.raises(SafekeepingError, match="is there already"):
        backup(home, file)
    assert file.read_text() == "mine"
    with pytest.raises(SafekeepingError, match="choose a place"):
        backup(home, tmp_path / "nowhere" / "kept.db")
    with pytest.raises(SafekeepingError, match="no store yet"):
        backup(tmp_path, tmp_path / "other.db")
    (home / DATABASE_FILE).write_bytes(b"garbage" * 1_000)
    with pytest.raises(SafekeepingError):
        backup(home, tmp_path / "third.db")
    assert not (tmp_path / "third.db").exists()


def test_a_restore_brings_everything_to_an_empty_home(home, tmp_path):
    note_look(home, 1)
    backup(home, tmp_path / "kept.db")
    new = tmp_path / "new"
    new.mkdir()
    restore(new, tmp_path / "kept.db", replace=False)
    assert looks(new) == 1
    assert stat.S_IMODE((new / DATABASE_FILE).stat().st_mode) == 0o600
    open_engine(new).dispose()


def test_a_store_is_replaced_only_on_request_and_kept_aside(home, tmp_path):
    backup(home, tmp_path / "kept.db")
    with pytest.raises(SafekeepingError, match="--replace"):
        restore(home, tmp_path / "kept.db", replace=False)
    restore(home, tmp_path / "kept.db", replace=True)
    restore(home, tmp_path / "kept.db", replace=True)
    assert sorted(file.name for file in home.glob("*.before-*")) == [
        f"{DATABASE_FILE}.before-1",
        f"{DATABASE_FILE}.before-2",
    ]


def test_going_back_never_forgets_a_look(home, tmp_path):
    """Otherwise an old backup would refill the error budget."""
    note_look(home, 1)
    backup(home, tmp_path / "kept.db")
    note_look(home, 2)
    with pytest.raises(SafekeepingError, match="does not know 1 looks at vaults"):
        restore(home, tmp_path / "kept.db", replace=True)
    assert looks(home) == 2
    assert list(home.glob("*.before-*")) == []


def test_a_damaged_store_gives_way(home, tmp_path):
    note_look(home, 1)
    backup(home, tmp_path / "kept.db")
    (home / DATABASE_FILE).write_bytes(b"garbage" * 1_000)
    restore(home, tmp_path / "kept.db", replace=True)
    assert looks(home) == 1
    assert (home / f"{DATABASE_FILE}.before-1").read_bytes().startswith(b"garbage")


def test_a_store_that_cannot_be_read_now_does_not_give_way(home, tmp_path):
    """It is whole: taken for damaged, whatever it has counted would be forgotten."""
    backup(home, tmp_path / "kept.db")
    note_look(home, 1)
    with sqlite3.connect(home / DATABASE_FILE) as connection:
        connection.execute("ALTER TABLE vault_look RENAME COLUMN at TO moment")
    connection.close()
    with pytest.raises(SafekeepingError, match="cannot be read"):
        restore(home, tmp_path / "kept.db", replace=True)
    assert looks(home) == 1


@pytest.mark.parametrize(("expires", "is_living"), [("9999-01-01", True), ("2026-01-01", False)])
def test_a_store_in_which_a_paper_run_is_at_work_is_not_replaced(home, tmp_path, expires, is_living):
    """Its process would go on writing into the file that was moved aside."""
    with sqlite3.connect(home / DATABASE_FILE) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(
            "INSERT INTO paper_lease (run, epoch, holder, expires) VALUES ('t-1', 1, 'here', ?)",
            (f"{expires}T00:00:00.000000Z",),
        )
    connection.close()
    backup(home, tmp_path / "kept.db")
    if is_living:
        with pytest.raises(SafekeepingError, match="paper run t-1 is at work"):
            restore(home, tmp_path / "kept.db", replace=True)
    else:
        restore(home, tmp_path / "kept.db", replace=True)
    assert bool(list(home.glob("*.before-*"))) is not is_living


def test_going_back_never_forgets_a_revocation(home, tmp_path):
    backup(home, tmp_path / "kept.db")
    with sqlite3.connect(home / DATABASE_FILE) as connection:
        connection.execute("INSERT INTO paper_audit (sequence, line) VALUES (1, 'revoke')")
    connection.close()
    with pytest.raises(SafekeepingError, match="does not know 1 lines of the audit log"):
        restore(home, tmp_path / "kept.db", replace=True)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER forget AFTER INSERT ON vault_look BEGIN DELETE FROM vault_look; END",
        "CREATE VIEW forget AS SELECT 1",
        "CREATE VIRTUAL TABLE forget USING fts5(text)",
    ],
    ids=["trigger", "view", "virtual table"],
)
def test_a_backup_in_which_something_acts_by_itself_is_refused(home, tmp_path, statement):
    backup(home, tmp_path / "kept.db")
    with sqlite3.connect(tmp_path / "kept.db") as connection:
        connection.execute(statement)
    connection.close()
    new = tmp_path / "new"
    new.mkdir()
    with pytest.raises(SafekeepingError, match="'forget', which acts by itself"):
        restore(new, tmp_path / "kept.db", replace=False)
    assert list(new.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_what_is_no_store_is_not_restored(home, tmp_path, content):
    note_look(home, 1)
    file = tmp_path / "odd.db"
    file.write_bytes(content)
    with pytest.raises(SafekeepingError):
        restore(home, file, replace=True)
    assert looks(home) == 1


def test_a_cut_backup_is_noticed(home, tmp_path):
    file = tmp_path / "kept.db"
    backup(home, file)
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(SafekeepingError):
        restore(home, file, replace=True)
    assert looks(home) == 0


LIMITED = """
import resource, signal, sys
from pathlib import Path
from evolution.safekeeping import SafekeepingError, backup, restore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write past the limit fails, as on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
home, file = Path(sys.argv[2]), Path(sys.argv[3])
try:
    backup(home, file) if sys.argv[1] == "backup" else restore(home, file, replace=True)
except SafekeepingError as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["backup", "restore"])
def test_where_there_is_no_room_one_sentence_says_so_and_nothing_half_made_stays(home, tmp_path, what):
    """The limit stands for a full disk: writes of a process fail past so many bytes."""
    kept = tmp_path / "kept.db"
    if what == "restore":
        backup(home, kept)
        note_look(home, 1)
        backup(home, tmp_path / "newer.db")
        kept = tmp_path / "newer.db"
    command = [sys.executable, "-c", LIMITED, what, str(home), str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    (sentence,) = done.stdout.splitlines()
    assert done.stderr == ""
    assert "make room" in sentence
    assert kept.exists() == (what == "restore")
    assert not list(home.glob(".*restoring*"))
    assert not list(tmp_path.glob("kept.db-*"))
    assert looks(home) == (1 if what == "restore" else 0)
