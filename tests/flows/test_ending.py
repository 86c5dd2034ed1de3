"""How a run ends is written down, whatever ends it."""

from __future__ import annotations

import contextlib
import signal
from datetime import UTC, datetime, timedelta

import pytest

from evolution.ledger import TrialLedger
from evolution.run import RunStatus
from flows import evolve as flow
from flows import opening, stopping
from flows.clock import now
from flows.forms import NightForm
from flows.night import NightOutage
from flows.settings import Settings
from flows.start import new_order, open_night
from flows.watch import SilentWatch

SETTINGS = Settings.model_validate({"data": "planted-edge", "search": {"generations": 3, "population": 4}})


class Signalled(BaseException):
    """As a worker's signal arrives in a flow."""


def swallowed_by_prefect(number):
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(number)
    raise RuntimeError("no loop is running")


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
            raise each("the ceiling was reached")
    assert record_of(tmp_path).status is status
    why = record_of(tmp_path).story.get("interruption")
    assert why == ("the ceiling was reached" if error is NightOutage else None)


def test_an_error_after_somebody_asked_to_stop_is_that_stop(tmp_path):
    order = new_order(SETTINGS, seed=3, profile=None)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        stopping.listen()
        with pytest.raises(KeyboardInterrupt), open_night(SETTINGS, tmp_path, SilentWatch(), order):
            swallowed_by_prefect(signal.SIGTERM)
    finally:
        stopping._requested.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
    assert record_of(tmp_path).status is RunStatus.INTERRUPTED


def test_the_deadline_of_a_form_is_a_time_at_which_the_run_stops(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIGATE_HOME", str(tmp_path))
    moment = datetime(2026, 3, 2, 22, tzinfo=UTC)
    monkeypatch.setattr(flow, "now", lambda: moment)
    form = NightForm(data="planted-edge", generations=3, population=4, seed=3, deadline_minutes=90)
    with flow._joined(form, None) as night:
        assert night.order.until == datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
        night.now = lambda: moment + timedelta(minutes=89)
        assert night.stop_reason() is None
        night.now = lambda: moment + timedelta(minutes=91)
        assert "23:30" in night.stop_reason()
