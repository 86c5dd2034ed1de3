"""A small calibration: the real search, admission and promotion on bars without a past promote nothing."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "calibrate.py"


@pytest.fixture(scope="module")
def calibrate():
    spec = importlib.util.spec_from_file_location("calibrate", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibrate"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["calibrate"]


SMALL = [
    "--finalists",
    "2",
    "--generations",
    "2",
    "--population",
    "12",
    "--planted-generations",
    "2",
    "--years",
    "1.5",
    "--workers",
    "2",
]


@pytest.mark.slow
def test_two_null_nights_promote_nothing_and_a_calibration_goes_on_where_it_stopped(
    calibrate, tmp_path, capsys, monkeypatch
):
    # Worker processes find the script by the name under which its functions were pickled.
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    words = ["--null", "2", "--planted", "0", *SMALL, "--out", str(tmp_path)]
    assert calibrate.main(words) == 0
    table = capsys.readouterr().out
    assert "null: 2 nights of about 24 candidates" in table
    assert "false promotions, one look at alpha 0.005: 0 of 2" in table
    assert "promoted by the seed score alone" in table
    nights = [json.loads(line) for line in (tmp_path / "nights.jsonl").read_text().splitlines()]
    assert {night["number"] for night in nights} == {0, 1}
    assert all(night["outcome"] in {"empty", "failed"} for night in nights)
    assert all(night["candidates"] == 24 for night in nights)

    # One more night is asked for, and with --kept only those that are there are told.
    assert calibrate.main([*words, "--null", "3", "--kept"]) == 0
    assert "null: 2 nights" in capsys.readouterr().out

    assert calibrate.main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == sorted(nights, key=lambda night: night["number"])
    assert captured.err == ""


@pytest.mark.slow
def test_a_night_follows_its_seed(calibrate, tmp_path):
    """And a planted one comes as far as admission, with every check made."""
    from runtime.store import open_engine

    open_engine(tmp_path).dispose()
    task = calibrate.Task(
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
        template=str(tmp_path),
    )
    first, second = (calibrate.run_night(task) for _ in range(2))
    assert (first.finalists, first.outcome, first.best_score) == (second.finalists, second.outcome, second.best_score)
    assert first.finalists
    assert all(each.vault_psr is not None and "jitter-stress" in each.figures for each in first.finalists)


def test_what_was_kept_needs_a_folder(calibrate, capsys):
    with pytest.raises(SystemExit):
        calibrate.main(["--kept"])
    assert "name that folder" in capsys.readouterr().err
