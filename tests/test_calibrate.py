"""A small calibration: the real search, admission and promotion on bars without a past promote nothing."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from calibration_records import night

SCRIPT = Path(__file__).parents[1] / "scripts" / "calibrate.py"


@pytest.fixture(scope="module")
def calibrate():
    sys.path.insert(0, str(SCRIPT.parent))  # as for a script that is run
    spec = importlib.util.spec_from_file_location("calibrate", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibrate"] = module
    spec.loader.exec_module(module)
    module.luck_of_a_life = lambda **_: 24  # ten seconds, and tested where it is
    yield module
    del sys.modules["calibrate"]
    sys.path.remove(str(SCRIPT.parent))


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
    "--jobs",
    "2",
]


@pytest.mark.slow
def test_two_null_nights_promote_nothing_and_a_calibration_goes_on_where_it_stopped(calibrate, tmp_path, capsys):
    words = ["--null", "2", "--planted", "0", *SMALL, "--out", str(tmp_path)]
    assert calibrate.main(words) == 0
    table = capsys.readouterr().out
    assert "null: 2 nights, of 24 candidates" in table
    assert "false promotions, one look at alpha 0.005: 0 of 2" in table
    assert "promoted by the seed score alone" in table
    nights = [json.loads(line) for line in (tmp_path / "nights.jsonl").read_text().splitlines()]
    assert {each["number"] for each in nights} == {0, 1}
    assert all(each["outcome"] in {"empty", "failed"} for each in nights)
    assert all(each["candidates"] == 24 for each in nights)

    # One more night is asked for, and with --kept only those that are there are told.
    assert calibrate.main([*words, "--null", "3", "--kept"]) == 0
    assert "null: 2 nights" in capsys.readouterr().out

    assert calibrate.main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == sorted(nights, key=lambda each: each["number"])
    assert captured.err == ""


def test_what_was_kept_needs_a_folder(calibrate, capsys):
    with pytest.raises(SystemExit):
        calibrate.main(["--kept"])
    assert "name that folder" in capsys.readouterr().err


def test_a_calibration_that_is_stopped_prints_what_is_done(calibrate, capsys, monkeypatch):
    record = night(candidates=24, finalists=(), entered=0, outcome="empty")

    def run_all(_tasks, **_):
        yield record
        raise KeyboardInterrupt

    monkeypatch.setattr(calibrate, "run_all", run_all)
    assert calibrate.main(["--null", "2", "--planted", "0", "--seed", "7"]) == 130
    captured = capsys.readouterr()
    assert "null: 1 nights of 24 candidates" in captured.out.replace("nights, of", "nights of")
    assert "1 of 2;" in captured.out
    assert "seed 7" in captured.out
    assert "until 0.05 is spent at 0.005 a look, are promoted in 24 of 2000 (1.2%" in captured.out
    assert "nothing is kept without --out" in captured.err
