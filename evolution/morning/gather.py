"""Gathers what is stored about a run into a ``Morning``. Reads the ledger and the pool once; runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evolution.ledger import UnknownIdError
from evolution.morning.curves import Curve
from evolution.morning.diff import shown_source
from evolution.morning.falls import funnel_stages
from evolution.morning.family import family_of
from evolution.morning.headline import finding, headline, what_to_type, what_to_type_about
from evolution.morning.page import Arm, CheckTable, Cost, Front, Morning, Shown
from evolution.morning.shown import choose_shown
from evolution.report import ending_lines, search_lines, standing
from evolution.summary import refusal_distance, run_summary
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from evolution.ledger import TrialLedger
    from evolution.pool import Pool, Refusal
    from evolution.run import GenerationSummary
    from evolution.summary import CheckRefusals, RunSummary
    from evolution.trial import Trial

# A page of 5 MB has to hold them all; a night of the default size has 144.
_MOST_LISTED = 3_000
_MOST_REFUSALS = 50
NOT_DRAWN = "nobody ran it again for this page"


class Stored(NamedTuple):
    """What the store holds of a run, read once."""

    summary: RunSummary
    trials: tuple[Trial, ...]
    refusals: tuple[Refusal, ...]
    control: tuple[GenerationSummary, ...] | None
    """Generations of the control arm; None without one."""
    control_cpu_s: float

    @property
    def shown(self) -> tuple[Trial, ...]:
        """Whose curves the page would like to have."""
        return choose_shown(self.summary, self.trials, [refusal.candidate_id for refusal in self.refusals])


def read_stored(ledger: TrialLedger, pool: Pool, run_id: str, *, is_cut_short: bool = False) -> Stored:
    """Read a run.

    Args:
        ledger: holds the run.
        pool: of the same store.
        run_id: its id, or the beginning of it.
        is_cut_short: what the caller knows of the run's process.

    Raises:
        UnknownIdError: There is no such run.
    """
    trials = ledger.trials(ledger.run(run_id).id)
    summary = run_summary(ledger, pool, run_id, is_cut_short=is_cut_short, trials=trials)
    control, control_cpu_s = _control(ledger, summary)
    return Stored(summary, trials, pool.refusals(summary.record.id), control, control_cpu_s)


def _control(ledger: TrialLedger, summary: RunSummary) -> tuple[tuple[GenerationSummary, ...] | None, float]:
    name = summary.record.story.get("control")
    if name is None:
        return None, 0.0
    try:
        record = ledger.run(str(name))
    except UnknownIdError:  # the page is about the search; an arm that is gone is left out
        return None, 0.0
    return ledger.generations(record.id), sum(trial.cpu_s for trial in ledger.trials(record.id))


def morning_of(stored: Stored, curves: Mapping[str, Curve | str], *, made: datetime, origin: str = "") -> Morning:
    """The page's values.

    Args:
        stored: the run.
        curves: by candidate id: its curve, or why there is none. Of ``stored.shown``; who is missing was not run.
        made: now.
        origin: where the run's bars come from, in words; empty where nobody knows any more.
    """
    summary, trials = stored.summary, stored.trials
    by_id = {trial.candidate.id: trial for trial in trials}
    arms = tuple(_arm(str(name), arm) for name, arm in summary.record.story.get("arms", {}).items())
    listed: dict[int, list[Trial]] = {}
    for trial in trials[:_MOST_LISTED]:
        listed.setdefault(trial.candidate.generation, []).append(trial)
    return Morning(
        summary=summary,
        made=made,
        headline=headline(summary),
        finding=finding(summary),
        origin=origin,
        standing=standing(summary),
        ending="".join(ending_lines(summary)),
        on_the_way=tuple(search_lines(summary)),
        commands=what_to_type(summary),
        stages=funnel_stages(trials),
        beating=sum(
            trial.outcome is TrialOutcome.SCORED and trial.scorecard is not None and trial.scorecard.beats_buy_and_hold
            for trial in trials
        ),
        considered=summary.refused + len(summary.entries),
        front=_front(summary.generations),
        control_front=None if stored.control is None else _front(stored.control),
        arms=arms,
        comparison=_compared(arms),
        shown=tuple(_shown(trial, stored, by_id, curves) for trial in stored.shown),
        checks=tuple(_check(each, stored.refusals) for each in summary.refusals),
        cost=_cost(stored),
        generations={generation: tuple(own) for generation, own in sorted(listed.items())},
        unlisted=max(0, len(trials) - _MOST_LISTED),
    )


def _front(generations: Sequence[GenerationSummary]) -> Front:
    return Front(volumes=tuple((each.generation, each.hypervolume) for each in generations))


def _arm(name: str, arm: Mapping[str, Any]) -> Arm:
    return Arm(
        name=name,
        run_id=str(arm["run_id"]),
        evaluations=int(arm["evaluations"]),
        members=int(arm["front"]),
        train_volume=float(arm["train_volume"]),
        best_train_score=arm["best_train_score"],
        looked_at=int(arm["looked_at"]),
        validation_volume=float(arm["validation_volume"]),
        best_validation_score=arm["best_validation_score"],
        validation_psr=arm["validation_psr"],
    )


def _compared(arms: Sequence[Arm]) -> str:
    """Said plainly when chance did better: on validation it often does."""
    if len(arms) != 2:
        return ""
    search, control = arms

    def larger(mine: float, theirs: float) -> str:
        if mine == theirs:
            return f"both fronts cover the same ({mine:.2f})"
        who = "the search" if mine > theirs else "the control arm"
        return f"{who} has the larger front ({max(mine, theirs):.2f} against {min(mine, theirs):.2f})"

    return (
        f"On train {larger(search.train_volume, control.train_volume)}; on validation "
        f"{larger(search.validation_volume, control.validation_volume)}."
    )


def _shown(trial: Trial, stored: Stored, by_id: Mapping[str, Trial], curves: Mapping[str, Curve | str]) -> Shown:
    identity = trial.candidate.id
    found = curves.get(identity, NOT_DRAWN)
    entry = next((each for each in stored.summary.entries if each.candidate_id == identity), None)
    return Shown(
        trial=trial,
        entry=entry,
        refusals=tuple(each for each in stored.refusals if each.candidate_id == identity),
        curve=found if isinstance(found, Curve) else None,
        no_curve=found if isinstance(found, str) else "",
        family=family_of(trial, by_id),
        source=shown_source(trial.candidate.source.text),
        commands=() if entry is None else what_to_type_about(entry),
    )


def _check(summary: CheckRefusals, refusals: Sequence[Refusal]) -> CheckTable:
    own = sorted((each for each in refusals if each.check == summary.check), key=refusal_distance)
    return CheckTable(summary=summary, refusals=tuple(own[:_MOST_REFUSALS]), left_out=max(0, len(own) - _MOST_REFUSALS))


def _cost(stored: Stored) -> Cost:
    summary, record = stored.summary, stored.summary.record
    usage = summary.spending.usage
    return Cost(
        candidates=len(stored.trials),
        accepted=len(summary.entries),
        cpu_s=sum(trial.cpu_s for trial in stored.trials),
        control_cpu_s=stored.control_cpu_s,
        elapsed_s=None if record.finished is None else (record.finished - record.created).total_seconds(),
        calls=usage.calls,
        tokens=usage.prompt_tokens + usage.completion_tokens,
        money=tuple(sorted(summary.spending.money.items())),
        has_unpriced=any(each.money is None for each in summary.spending.profiles),
    )
