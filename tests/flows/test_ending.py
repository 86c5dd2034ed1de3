"""How a run ends is written down, whatever ends it, and one that ended early is repeated up to there."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from evolution.ledger import TrialLedger
from evolution.run import RunStatus
from flows import opening
from flows.clock import now
from flows.night import NightOutage
from flows.settings import Settings
from flows.start import new_order, open_night, replayed_order
from flows.watch import SilentWatch

SETTINGS = Settings.model_validate({"data": "planted-edge", "search": {"generations": 3, "population": 4}})


class Signalled(BaseException):
    """As a worker's signal arrives in a flow."""


def record_of(home):
    return TrialLedger(opening.engine(home), now=now).runs()[0].record


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt, RunStatus.INTERRUPTED),
        (Signalled, RunStatus.INTERRUPTED),
        (NightOutage, RunStatus.INTERRUPTED),
        (RuntimeError, RunStatus.FAILED),
        (None, RunStatus.FINISHED),
    ],
)
def test_the_end_is_written_down_whatever_ends_a_run(tmp_path, error, status):
    order = new_order(SETTINGS, seed=3, profile=None)
    expected = [error] if error else []
    with contextlib.suppress(*expected), open_night(SETTINGS, tmp_path, SilentWatch(), order):
        for each in expected:
            raise each
    assert record_of(tmp_path).status is status


def one_generation(night):
    for identity in night.breed():
        night.try_candidate(identity)
    night.close_generation()


def test_a_run_that_ended_early_says_so_and_its_replay_ends_there_too(tmp_path):
    with open_night(SETTINGS, tmp_path, SilentWatch(), new_order(SETTINGS, seed=3, profile=None)) as night:
        one_generation(night)
        assert not night.is_over
        night.end_early("stopped at its deadline of 1 minutes")
    record = record_of(tmp_path)
    assert record.status is RunStatus.FINISHED
    assert record.facts.note == "stopped at its deadline of 1 minutes, after 1 of 3 generations"
    again = replayed_order(opening.engine(tmp_path), record.id)
    with open_night(SETTINGS, tmp_path, SilentWatch(), again) as night:
        assert not night.is_over
        one_generation(night)
        assert night.is_over


def test_after_its_deadline_a_flow_begins_no_further_generation_and_still_meets_admission(monkeypatch):
    import flows.evolve as module
    from flows.forms import NightForm

    done = []
    night = SimpleNamespace(
        run_id="r-1",
        is_over=False,
        settings=SimpleNamespace(worker_count=lambda: 1),
        search=SimpleNamespace(generation=0),
        order=SimpleNamespace(generations=9),
        end_early=done.append,
        summary=lambda: SimpleNamespace(entries=()),
    )
    clock = iter([0.0, 59.0, 119.0, 121.0])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setitem(module.NIGHTS, "r-1", night)
    for name in ("open_progress", "show_progress", "publish_summary"):
        monkeypatch.setattr(module.artifacts, name, lambda *_: None)
    monkeypatch.setattr(module, "generation", SimpleNamespace(with_options=lambda **_: lambda *_: done.append("one")))
    monkeypatch.setattr(module, "ThreadPoolTaskRunner", lambda **_: None)
    monkeypatch.setattr(module, "admit_finalists", lambda _: done.append("admission"))
    for name in ("render_markdown", "verdict"):
        monkeypatch.setattr(module, name, lambda _: "")
    monkeypatch.setattr(module, "_emit", lambda *_, **__: None)
    assert module.evolve.fn(NightForm(deadline_minutes=2), "r-1") == "r-1"
    assert done == ["one", "one", "stopped at its deadline of 2 minutes", "admission"]
