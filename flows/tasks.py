"""One Prefect task per candidate. It takes and returns ids only; the truth is in our own store.

A refused, killed or vetoed candidate ends in a completed state with its own name, green in the UI: it is what the gates are for.
Red is kept for faults of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed

from evolution.trial import TrialOutcome
from flows.night import NIGHTS
from flows.output import plain

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

STATE_NAMES = {
    TrialOutcome.BARREN: "Barren",
    TrialOutcome.REJECTED: "Rejected",
    TrialOutcome.KILLED: "Killed",
    TrialOutcome.FAILED: "Raised",
    TrialOutcome.DUPLICATE: "Duplicate",
    TrialOutcome.STOPPED: "Stopped",
    TrialOutcome.VETOED: "Vetoed",
    TrialOutcome.SCORED: "Scored",
}
"""Names of the states in the UI. ``Raised``, not ``Failed``: the strategy raised, Trigate did not fail."""

LONGEST_MESSAGE = 400


@task(name="candidate", task_run_name="{candidate_id}", cache_policy=NO_CACHE, persist_result=False)
def try_candidate(run_id: str, candidate_id: str) -> State[str]:
    """Gates, cage and score for one candidate of a run that this process has open."""
    trial = NIGHTS[run_id].try_candidate(candidate_id)
    return Completed(
        name=STATE_NAMES[trial.outcome], message=plain(trial.reason)[:LONGEST_MESSAGE], data=trial.candidate.id
    )
