"""What to do this morning: one sentence, and the commands that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.morning.page import Command
from evolution.plural import plural
from evolution.pool import EntryStatus
from evolution.report import resume_command, verdict
from evolution.run import RunStatus
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from evolution.pool import PoolEntry
    from evolution.summary import RunSummary

_BY = '--by "Your Name" --reason "why"'


def headline(summary: RunSummary) -> str:
    """The sentence that somebody reads who reads nothing else."""
    status, plan = summary.record.status, summary.record.facts.plan
    waiting = _waiting(summary)
    if waiting:
        names = (
            " and ".join(each.id for each in waiting) if len(waiting) < 3 else f"{waiting[0].id} to {waiting[-1].id}"
        )
        return f"{plural(len(waiting), 'strategy waits', 'strategies wait')} for your decision: {names}"
    if summary.is_cut_short or status in {RunStatus.INTERRUPTED, RunStatus.FAILED}:
        return f"The run did not come to its end ({_how(summary)}): let it go on"
    if status is RunStatus.RUNNING:
        return "The run is still going: nothing to decide yet"
    if summary.entries:
        return "Nothing left to decide: every new pool entry has its answer"
    if plan.get("replay") is not None:
        return "Nothing to decide: this run repeated an earlier one"
    if plan.get("control_of") is not None:
        return f"Nothing to decide: this is the control arm of {plan['control_of']}"
    if summary.known:
        return "Nothing new to decide: what was good enough is in the pool already"
    return "Nothing to decide this morning: no candidate was good enough"


def finding(summary: RunSummary) -> str:
    """What the run came to, in one sentence. One that has not ended came to nothing yet, neither good nor bad."""
    if summary.record.status is RunStatus.FINISHED or summary.entries:
        return verdict(summary).removeprefix("nothing was good enough: ")  # the headline says that
    scored = summary.funnel.outcomes[TrialOutcome.SCORED]
    total = summary.funnel.total
    tried = plural(total, "candidate was", "candidates were") + " tried"
    return f"so far {tried} and {scored} scored; none came to admission yet"


def _how(summary: RunSummary) -> str:
    return "cut short" if summary.is_cut_short else summary.record.status.value


def what_to_type(summary: RunSummary) -> tuple[Command, ...]:
    """The commands for the run as a whole."""
    run_id = summary.record.id
    commands = []
    if summary.is_cut_short or summary.record.status in {RunStatus.INTERRUPTED, RunStatus.FAILED}:
        commands.append(Command(resume_command(run_id), "go on where it stopped"))
    commands += [Command(f"trigate pool show {each.id}", "the whole evidence sheet") for each in _waiting(summary)[:1]]
    commands.append(Command(f"trigate runs show {run_id} --json", "every candidate and its reason"))
    return tuple(commands)


def what_to_type_about(entry: PoolEntry) -> tuple[Command, ...]:
    """The commands for one entry, as it stands now."""
    show = Command(f"trigate pool show {entry.id}", "the whole evidence sheet")
    if entry.status is EntryStatus.CANDIDATE:
        return (
            show,
            Command(f"trigate pool promote {entry.id} {_BY}", "spends one counted look at the vault"),
            Command(f"trigate pool decline {entry.id} {_BY}", "there is no way back"),
        )
    if entry.status is EntryStatus.PROMOTED:
        return show, Command(f"trigate pool retire {entry.id} {_BY}", "takes it out of use")
    return (show,)


def _waiting(summary: RunSummary) -> list[PoolEntry]:
    return [entry for entry in summary.entries if entry.status is EntryStatus.CANDIDATE]
