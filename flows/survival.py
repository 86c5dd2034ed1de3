"""What is to be done about flows that died: pure decisions over what was seen of a flow run, its process and its run in the store.

A flow run is dead when no process has it any more. It is then marked so, since nobody else would: its state in Prefect would stay as it
was, and hold the deployment's only place. A run of ours that was left unfinished by a dead flow goes on in a new flow run, some times and
until its deadline. What a person stopped (``interrupted``), cancelled or took over at a terminal is left alone, and so is what ended by a
fault of ours (``failed``): trying again would not mend it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from evolution.run import RunStatus

if TYPE_CHECKING:
    from datetime import datetime


class FlowState(Enum):
    """What Prefect says of a flow run, as far as anything here depends on it."""

    WAITING = "waiting"
    """Scheduled, or waiting for a person: it needs no process."""
    STARTING = "starting"
    """A worker has taken it, and its process has not said so yet."""
    WORKING = "working"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    CRASHED = "crashed"
    FAILED = "failed"
    COMPLETED = "completed"

    @property
    def needs_process(self) -> bool:
        """Whether there must be a process, or one must be about to begin."""
        return self in {FlowState.STARTING, FlowState.WORKING, FlowState.CANCELLING}


_STATES = {
    "PENDING": FlowState.STARTING,
    "RUNNING": FlowState.WORKING,
    "CANCELLING": FlowState.CANCELLING,
    "CANCELLED": FlowState.CANCELLED,
    "CRASHED": FlowState.CRASHED,
    "FAILED": FlowState.FAILED,
    "COMPLETED": FlowState.COMPLETED,
}


def state_of(name: str) -> FlowState:
    """From Prefect's type of a state.

    >>> state_of("RUNNING")
    <FlowState.WORKING: 'working'>
    >>> state_of("PAUSED")
    <FlowState.WAITING: 'waiting'>
    """
    return _STATES.get(name, FlowState.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How patient to be, and how often to try."""

    grace_s: float = 10.0
    """Seconds for which a working flow run must be seen without a process: one that has ended still has to say so."""
    starting_grace_s: float = 90.0
    """The same for one that a worker has taken: its process may not have begun yet."""
    most_resumes: int = 3
    """How often one run goes on by itself."""
    pauses_s: tuple[float, ...] = (0.0, 60.0, 300.0)
    """Seconds between a flow's death and the next attempt, by how many there were; the last one holds for all later ones."""


RULES = Rules()
"""What ``trigate up`` goes by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSeen:
    """A flow run, as it was seen."""

    state: FlowState
    dead_s: float | None
    """For how many seconds it has been seen without a process; None when it has one, or nobody can know."""
    died_s: float = 0.0
    """Seconds since its state became what it is."""
    message: str = ""
    """What its state says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """A run in our store, as it was seen."""

    status: RunStatus
    is_led: bool
    """Whether a process holds its lock or its lease."""
    resumes: int
    """How often it went on by itself."""
    until: datetime | None
    """Its deadline."""
    has_given_up: bool = False
    """Whether it was decided, and told, that it does not go on by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The state that a dead flow run is to be given."""

    state: FlowState
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """Begin a new flow run that goes on with the run."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Leave the run to a person, and say why."""

    reason: str


def judge_flow(flow: FlowSeen, rules: Rules = RULES) -> Mark | None:
    """What to mark a flow run as; None leaves it alone."""
    if not flow.state.needs_process or flow.dead_s is None:
        return None
    grace = rules.starting_grace_s if flow.state is FlowState.STARTING else rules.grace_s
    if flow.dead_s < grace:
        return None
    if flow.state is FlowState.CANCELLING:
        return Mark(
            state=FlowState.CANCELLED,
            reason="its process had ended before it could be told; marked by the station of trigate up",
        )
    what = "began" if flow.state is FlowState.STARTING else "works on it any more"
    return Mark(
        state=FlowState.CRASHED, reason=f"no process {what}: killed from outside; found by the station of trigate up"
    )


def judge_run(run: RunSeen, flow: FlowSeen | None, now: datetime, rules: Rules = RULES) -> GoOn | GiveUp | None:
    """Whether a run goes on by itself.

    Args:
        run: The run.
        flow: The newest flow run that works, worked or is to work on it; None when it is no flow run of a deployment.
        now: The time, aware.
        rules: How often, and after what pause.

    Returns:
        What to do; None when there is nothing to do, or not yet.
    """
    if run.status is not RunStatus.RUNNING or run.is_led or run.has_given_up or flow is None:
        return None
    if flow.state not in {FlowState.CRASHED, FlowState.FAILED}:
        return None
    if run.until is not None and now >= run.until:
        return GiveUp(
            reason=f"its deadline, {run.until:%Y-%m-%d %H:%M} UTC, had passed when its process was found dead"
        )
    said = " ".join(flow.message.split())[:200] or "no reason is known"
    if run.resumes >= rules.most_resumes:
        return GiveUp(reason=f"it had gone on by itself {run.resumes} times and died once more: {said}")
    if flow.died_s < rules.pauses_s[min(run.resumes, len(rules.pauses_s) - 1)]:
        return None
    return GoOn(reason=said)


def judge_unbegun(flow: FlowSeen, *, is_second: bool, until: datetime | None, now: datetime) -> GoOn | None:
    """Whether a night whose flow run died before it had a run in the store is begun once more; once, and not past its deadline."""
    if flow.state is not FlowState.CRASHED or is_second or (until is not None and now >= until):
        return None
    return GoOn(reason=" ".join(flow.message.split())[:200] or "no reason is known")
