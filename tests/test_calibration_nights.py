"""The nights of a calibration: reproducible, kept line by line, and on one vault until it is spent."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from calibration_records import finalist, night

from evolution.calibration import LIFE
from runtime.store import open_engine

# The script's folder is where it is found, in this process and in those that it starts.
sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import calibration_nights
from calibration_nights import KEPT, Task, kept, run_all, run_night

NIGHT = night(kind=LIFE, candidates=10, finalists=(finalist(failed=("jitter-stress",)),))


@pytest.fixture
def task(tmp_path):
    template = tmp_path / "template"
    open_engine(template).dispose()
    return Task(
        kind=LIFE,
        number=0,
        seed=1,
        generations=1,
        population=12,
        years=1.5,
        edge=0.0,
        half_life=10.0,
        alpha=0.005,
        is_exhaustive=False,
        finalists=1,
        template=str(template),
        nights=5,
    )


def life_of(task, monkeypatch, *outcomes):
    """Run a vault's life in which the searches end like this; gives the record and how many searches there were."""
    turns = []

    def search(_home, _task, turn):
        turns.append(turn)
        outcome = outcomes[turn]
        return replace(
            NIGHT, outcome=outcome, looks=int(outcome in {"promoted", "failed"}), entered=int(outcome != "empty")
        )

    monkeypatch.setattr(calibration_nights, "_search", search)
    return run_night(task), len(turns)


@pytest.mark.parametrize(
    ("outcomes", "outcome", "looks", "searches"),
    [
        (("failed", "empty", "failed", "empty", "empty"), "failed", 2, 5),
        (("empty", "empty", "promoted"), "promoted", 1, 3),
        (("failed", "refused"), "refused", 1, 2),
        (("empty",) * 5, "empty", 0, 5),
    ],
)
def test_the_life_of_a_vault_ends_with_a_promotion_or_with_its_budget(
    task, monkeypatch, outcomes, outcome, looks, searches
):
    record, made = life_of(task, monkeypatch, *outcomes)
    assert (record.outcome, record.looks, made) == (outcome, looks, searches)
    assert record.candidates == 10 * searches
    assert len(record.finalists) == searches


def test_kept_nights_come_back_as_they_were(tmp_path):
    (tmp_path / KEPT).write_text(json.dumps(asdict(NIGHT)) + "\n")
    assert kept(tmp_path) == [NIGHT]
    assert kept(None) == kept(tmp_path / "elsewhere") == []


def test_a_line_that_was_cut_short_is_no_night_and_spoils_no_other(task, tmp_path):
    whole = json.dumps(asdict(NIGHT)) + "\n"
    (tmp_path / KEPT).write_text(whole + whole[:40])
    assert kept(tmp_path) == [NIGHT]
    assert list(run_all([task], jobs=1, out=tmp_path, tell=print)) == []  # it is kept, so nothing is run
    assert (tmp_path / KEPT).read_text() == whole


def test_nights_from_before_looks_were_counted_are_read(tmp_path):
    document = asdict(NIGHT)
    del document["looks"]
    (tmp_path / KEPT).write_text(json.dumps(document) + "\n")
    assert kept(tmp_path) == [replace(NIGHT, looks=0)]


@pytest.mark.slow
def test_a_second_night_on_the_same_vault_goes_on_with_the_same_store(task):
    record = run_night(task._replace(nights=2))
    assert record.candidates == 24
    assert record.outcome in {"empty", "failed"}


@pytest.mark.slow
def test_a_night_follows_its_seed(tmp_path):
    """And a planted one comes as far as admission, with every check made."""
    template = tmp_path / "template"
    open_engine(template).dispose()
    task = Task(
        kind="planted-2",
        number=0,
        seed=1,
        generations=2,
        population=12,
        years=3.0,
        edge=0.25,
        half_life=20.0,
        alpha=0.05,
        is_exhaustive=True,
        finalists=1,
        template=str(template),
    )
    first, second = (run_night(task) for _ in range(2))
    assert (first.finalists, first.outcome, first.best_score) == (second.finalists, second.outcome, second.best_score)
    assert first.finalists
    assert all(each.vault_psr is not None and "jitter-stress" in each.figures for each in first.finalists)
