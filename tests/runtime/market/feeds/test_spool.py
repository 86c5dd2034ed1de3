"""Pages on disk are whole or not there, belong to one question, and to one process at a time."""

from __future__ import annotations

import stat

import numpy as np
import pytest

from runtime.market import DataError, list_datasets
from runtime.market.feeds.spool import Progress, StoredPage, open_spool


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def stored(first, count, cursor="c"):
    return StoredPage(
        ts=np.arange(first, first + count, dtype=np.int64),
        columns=np.full((5, count), float(first)),
        progress=Progress(cursor=cursor, newest=first + count),
    )


def folder_of(home):
    (folder,) = (home / "data" / ".partial").iterdir()
    return folder


def test_pages_are_read_back_in_order(home):
    with open_spool(home, "a question") as spool:
        assert spool.read() == ()
        for number in range(12):
            spool.append(stored(number * 10, number % 3, cursor=None if number == 11 else f"c{number}"))
    with open_spool(home, "a question") as spool:
        pages = spool.read()
    assert [len(page.ts) for page in pages] == [number % 3 for number in range(12)]
    assert pages[4].ts.tolist() == [40]
    assert pages[5].columns.tolist() == [[50.0, 50.0]] * 5
    assert (pages[3].progress, pages[11].progress.cursor) == (Progress(cursor="c3", newest=30), None)


def test_another_question_has_other_pages(home):
    with open_spool(home, "one") as spool:
        spool.append(stored(0, 5))
    with open_spool(home, "two") as spool:
        assert spool.read() == ()


def test_a_reopened_spool_goes_on_where_it_ended(home):
    for number in range(3):
        with open_spool(home, "q") as spool:
            assert len(spool.read()) == number
            spool.append(stored(number, 1))


def test_what_was_being_written_when_the_process_died_is_not_there(home):
    with open_spool(home, "q") as spool:
        spool.append(stored(0, 5))
    (folder_of(home) / ".new").write_bytes(b"PK half a page")
    with open_spool(home, "q") as spool:
        assert len(spool.read()) == 1
        spool.append(stored(5, 5))
        assert len(spool.read()) == 2


@pytest.mark.parametrize(
    "damage", [lambda f: f.write_bytes(b""), lambda f: f.write_bytes(f.read_bytes()[:-30]), lambda f: f.unlink()]
)
def test_damage_is_refused_with_the_way_out(home, damage):
    with open_spool(home, "q") as spool:
        for number in range(3):
            spool.append(stored(number, 1))
        damage(folder_of(home) / "000002.npz")
        with pytest.raises(
            DataError, match=r"the stored part of a download in .* is damaged .*start again with --restart"
        ):
            spool.read()
        spool.discard()
        assert spool.read() == ()


def test_only_one_process_has_it_open(home):
    with (
        open_spool(home, "q"),
        pytest.raises(DataError, match="another process is fetching the same data"),
        open_spool(home, "q"),
    ):
        pass
    with open_spool(home, "q"):
        pass


def test_it_is_private_no_set_and_gone_when_removed(home):
    with open_spool(home, "q") as spool:
        spool.append(stored(0, 5))
        folder = folder_of(home)
        assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
        assert {stat.S_IMODE(each.stat().st_mode) for each in (home, home / "data", folder.parent, folder)} == {0o700}
        assert {each.label for each in list_datasets(home)} == {"real", "synthetic"}
        spool.remove()
    assert not folder.exists()


def test_a_home_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(DataError, match=r"a download cannot be stored in .*: File exists; make room"),
        open_spool(tmp_path / "file", "q"),
    ):
        pass
