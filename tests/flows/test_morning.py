"""The morning report as a file: where it goes, what it never overwrites, and that it comes out when half of its sources are gone."""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import replace

import pytest

from evolution.ledger import TrialLedger
from evolution.morning import read_stored
from evolution.pool import Pool
from flows import morning
from flows.clock import now
from flows.problems import EnvironmentProblem, UsageProblem
from runtime.store import open_engine


@pytest.fixture
def stored(night, tmp_path):
    """The shared night in a home of this test's own."""
    trigate, document = night
    home = tmp_path / "home"
    shutil.copytree(trigate.home, home, ignore=shutil.ignore_patterns("prefect"))
    engine = open_engine(home)
    return home, TrialLedger(engine, now=now), Pool(engine, now=now), document["id"]


def one_sentence(ended, *parts):
    (line,) = ended.err.strip().splitlines()
    assert all(part in line for part in parts), line


def test_a_night_leaves_its_page_with_its_curves(night):
    trigate, document = night
    file = trigate.home / "reports" / f"{document['id']}.html"
    page = file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "Growth of 1 and falls" in page
    assert ">finished<" in page
    assert not list(file.parent.glob(".*"))


def test_the_command_prints_the_text_and_then_where_the_page_is(night, tmp_path):
    trigate, document = night
    target = tmp_path / "monday.html"
    ended = trigate.run("report", document["id"], "--html", target)
    assert ended.code == 0, ended.err
    assert ended.out.startswith(f"Run {document['id']}\n")
    assert ended.out.splitlines()[-1] == f"report: {target}"
    assert f"<title>{document['id']}: " in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("place", "problem", "words"),
    [
        (".", UsageProblem, "is a folder"),
        ("gone/x.html", EnvironmentProblem, "no such file or directory; name a file that you can write, with --html"),
        ("file/x.html", EnvironmentProblem, "not a directory"),
        ("/dev/null", UsageProblem, "no regular file"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_in_one_sentence(stored, tmp_path, place, problem, words):
    home, ledger, pool, run_id = stored
    (tmp_path / "file").touch()
    with pytest.raises(problem, match=words) as told:
        morning.write_report(ledger, pool, home, run_id, to=tmp_path / place)
    assert "\n" not in str(told.value)


def test_a_file_of_somebody_else_stays_unless_forced(night, tmp_path):
    trigate, document = night
    letter = tmp_path / "letter.html"
    letter.write_text("Dear Ada")
    ended = trigate.run("report", document["id"], "--html", letter)
    assert ended.code == 2
    one_sentence(ended, "letter.html", "no report of ours", "--force")
    assert letter.read_text() == "Dear Ada"
    assert trigate.run("report", document["id"], "--html", letter, "--force").code == 0
    assert letter.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_markdown_prints_and_writes_nothing(night, tmp_path):
    trigate, document = night
    ended = trigate.run("report", document["id"], "--markdown")
    assert "report: " not in ended.out
    ended = trigate.run("report", document["id"], "--markdown", "--html", tmp_path / "x.html")
    assert ended.code == 2
    one_sentence(ended, "--markdown", "--html")


def test_a_link_is_followed_and_stays_one(stored, tmp_path):
    home, ledger, pool, run_id = stored
    real = tmp_path / "real.html"
    link = tmp_path / "link.html"
    link.symlink_to(real)
    assert morning.write_report(ledger, pool, home, run_id, to=link) == real
    assert link.is_symlink()
    assert real.stat().st_size > 10_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_rights_is_told(stored, tmp_path):
    home, ledger, pool, run_id = stored
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(EnvironmentProblem, match="permission denied"):
        morning.write_report(ledger, pool, home, run_id, to=closed / "x.html")


def test_a_disk_that_is_full_leaves_the_old_page_and_no_rest(stored, monkeypatch):
    home, ledger, pool, run_id = stored
    file = morning.write_report(ledger, pool, home, run_id)
    before = file.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(file), "replace", full)
    with pytest.raises(EnvironmentProblem, match="no space left on device"):
        morning.write_report(ledger, pool, home, run_id)
    assert file.read_bytes() == before
    assert not list(file.parent.glob(".*"))


def test_curves_are_made_again_only_where_they_are_missing_or_damaged(stored, monkeypatch):
    home, ledger, pool, run_id = stored
    kept = sorted((home / "reports" / "curves").iterdir())
    assert kept
    before = [json.loads(file.read_text()) for file in kept]
    monkeypatch.setattr(morning, "_run_again", lambda *_: pytest.fail("nothing was missing"))
    morning.write_report(ledger, pool, home, run_id)
    monkeypatch.undo()
    kept[0].write_text('{"stamps": [1, 2]}')
    for file in kept[1:]:
        file.unlink()
    page = morning.write_report(ledger, pool, home, run_id).read_text(encoding="utf-8")
    assert "No equity curve" not in page
    assert [json.loads(file.read_text()) for file in kept] == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": "gone-since"}, "there is no data set &#39;gone-since&#39;"),
        ({"dataset_sha256": "0" * 64}, "the bars of us-large-caps are not those of the run any more"),
        ({"config_hash": "0" * 64}, "cash, costs or limits are set differently now"),
        ({"engine_version": "1"}, "the run was made by engine 1"),
    ],
)
def test_a_page_comes_out_when_its_world_is_gone_and_says_so(stored, monkeypatch, change, words):
    home, ledger, pool, run_id = stored
    shutil.rmtree(home / "reports" / "curves")
    original = read_stored

    def changed(*arguments, **options):
        found = original(*arguments, **options)
        record = replace(found.summary.record, facts=replace(found.summary.record.facts, **change))
        return found._replace(summary=replace(found.summary, record=record))

    monkeypatch.setattr(morning, "read_stored", changed)
    page = morning.write_report(ledger, pool, home, run_id).read_text(encoding="utf-8")
    assert words in page
    assert "Growth of 1 and falls" not in page


def test_a_curve_of_other_orders_is_not_drawn(stored, monkeypatch):
    """The trial holds what was ordered; a page must not show the money of something else."""
    home, ledger, pool, run_id = stored
    original = read_stored

    def changed(*arguments, **options):
        found = original(*arguments, **options)
        return found._replace(
            trials=tuple(replace(each, behaviour="0" * 64 if each.behaviour else None) for each in found.trials)
        )

    monkeypatch.setattr(morning, "read_stored", changed)
    page = morning.write_report(ledger, pool, home, run_id).read_text(encoding="utf-8")
    assert "it asked for other orders this time than it is stored with" in page
    assert "Growth of 1 and falls" not in page


def test_a_home_without_reports_can_be_a_folder_of_somebody(stored):
    home, ledger, pool, run_id = stored
    file = morning.report_file(home, run_id)
    file.write_text("notes of mine")
    with pytest.raises(UsageProblem, match="no report of ours"):
        morning.write_report(ledger, pool, home, run_id)
    assert file.read_text() == "notes of mine"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (EnvironmentProblem("report x: no space left on device"), "report: not written: report x: no space left"),
        (ZeroDivisionError(), "report: not written (ZeroDivisionError); see trigate report"),
    ],
)
def test_a_night_that_is_done_stays_done_when_its_page_cannot_be_written(stored, monkeypatch, error, words):
    from flows.commands.evolve import _page

    home, ledger, pool, run_id = stored
    monkeypatch.setenv("TRIGATE_HOME", str(home))
    summary = read_stored(ledger, pool, run_id).summary

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(morning, "write_report", fail)
    assert _page(home, summary).startswith(words)
