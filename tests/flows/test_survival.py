"""Decisions about dead flows, over every combination of state, process, leader, grace and count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from evolution.run import RunStatus
from flows.survival import (
    FlowSeen,
    FlowState,
    GiveUp,
    GoOn,
    Rules,
    RunSeen,
    judge_flow,
    judge_run,
    judge_unbegun,
    state_of,
)

NOW = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)
RULES = Rules(grace_s=10.0, starting_grace_s=90.0, most_resumes=3, pauses_s=(0.0, 60.0))
BEFORE, AFTER = NOW - timedelta(seconds=1), NOW + timedelta(hours=3)


@pytest.mark.parametrize(("state", "dead_s"), list(product(FlowState, (None, 0.0, 9.9, 10.0, 89.0, 90.0, 9_999.0))))
def test_only_what_needs_a_process_and_had_none_for_long_enough_is_marked(state, dead_s):
    """A flow run that is starting, or has a process that has not taken its lock yet, is left alone."""
    patience = {FlowState.STARTING: 90.0, FlowState.WORKING: 10.0, FlowState.CANCELLING: 10.0}.get(state)
    mark = judge_flow(FlowSeen(state=state, dead_s=dead_s), RULES)
    if patience is None or dead_s is None or dead_s < patience:
        assert mark is None
    else:
        assert mark.state is (FlowState.CANCELLED if state is FlowState.CANCELLING else FlowState.CRASHED)
        assert mark.reason


EVERY_RUN = product(RunStatus, (False, True), (False, True), (0, 1, 3, 4), (None, BEFORE, NOW, AFTER))
EVERY_FLOW = [
    None,
    *(FlowSeen(state=state, dead_s=None, died_s=s, message="killed") for state in FlowState for s in (0.0, 60.0)),
]


def test_a_run_goes_on_only_when_it_died_and_nobody_has_it_and_may_again():
    """All combinations in one test: there are some thousands of them, and each costs a microsecond."""
    for (status, is_led, has_given_up, resumes, until), flow in product(EVERY_RUN, EVERY_FLOW):
        run = RunSeen(status=status, is_led=is_led, resumes=resumes, until=until, has_given_up=has_given_up)
        found = judge_run(run, flow, NOW, RULES)
        has_died = flow is not None and flow.state in {FlowState.CRASHED, FlowState.FAILED}
        if status is not RunStatus.RUNNING or is_led or has_given_up or not has_died:
            assert found is None, (run, flow)
        elif until in {BEFORE, NOW}:
            assert isinstance(found, GiveUp), (run, flow)
            assert "deadline" in found.reason
        elif resumes >= 3:
            assert isinstance(found, GiveUp), (run, flow)
            assert f"{resumes} times" in found.reason
            assert "killed" in found.reason
        elif flow.died_s < (0.0 if resumes == 0 else 60.0):
            assert found is None, (run, flow)
        else:
            assert found == GoOn(reason="killed"), (run, flow)


def test_a_night_that_never_began_begins_once_more_and_not_past_its_deadline():
    for state, is_second, until in product(FlowState, (False, True), (None, BEFORE, NOW, AFTER)):
        found = judge_unbegun(FlowSeen(state=state, dead_s=None), is_second=is_second, until=until, now=NOW)
        assert (found is not None) == (state is FlowState.CRASHED and not is_second and until in {None, AFTER})


def test_a_state_that_prefect_adds_later_is_left_alone():
    assert state_of("SOMETHING_NEW") is FlowState.WAITING
    assert {state_of(name) for name in ("SCHEDULED", "PAUSED")} == {FlowState.WAITING}
    assert state_of("CANCELLED") is FlowState.CANCELLED
