"""The newest head, kept outside of the database, only ever moves forward."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from runtime.paper.witness import HeadFile
from runtime.store import StoreError


def test_it_is_empty_until_it_is_not(tmp_path):
    file = HeadFile(tmp_path / "paper" / "head")
    assert file.read() is None
    file.advance(3, "c" * 64)
    assert file.read() == (3, "c" * 64)
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_an_older_head_changes_nothing(tmp_path):
    file = HeadFile(tmp_path / "head")
    file.advance(10, "a" * 64)
    file.advance(9, "b" * 64)
    assert file.read() == (10, "a" * 64)


def test_many_writers_leave_the_newest(tmp_path):
    file = HeadFile(tmp_path / "head")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: file.advance(number, f"{number:064d}"), range(1, 200)))
    assert file.read() == (199, f"{199:064d}")


@pytest.mark.parametrize("content", [b"x", b"12 ab\n", b"\xff" * 82, b"0" * 400])
def test_a_damaged_file_is_no_empty_one(tmp_path, content):
    file = HeadFile(tmp_path / "head")
    file.path.write_bytes(content)
    for use in (file.read, lambda: file.advance(1, "a" * 64)):
        with pytest.raises(StoreError, match="is damaged"):
            use()


def test_a_file_that_cannot_be_used_is_said(tmp_path):
    file = HeadFile(tmp_path)
    for use in (file.read, lambda: file.advance(1, "a" * 64)):
        with pytest.raises(StoreError, match="directory"):
            use()
