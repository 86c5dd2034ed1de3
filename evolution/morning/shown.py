"""Whose curve, ancestry and code a report shows: a handful, for nobody reads a hundred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.summary import best_trials
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.summary import RunSummary
    from evolution.trial import Trial

MOST_SHOWN = 6
"""With more than these a page is a list again."""
_WITHOUT_FINALISTS = 3


def choose_shown(summary: RunSummary, trials: Sequence[Trial], refused: Sequence[str]) -> tuple[Trial, ...]:
    """New pool entries in order of admission, then the best of those that admission refused; without either, the best by seed score.

    Args:
        summary: of the run.
        trials: all of the run.
        refused: ids of the candidates that admission refused.
    """
    by_id = {trial.candidate.id: trial for trial in trials}
    entered = [by_id[entry.candidate_id] for entry in summary.entries if entry.candidate_id in by_id]
    considered = sorted(
        {by_id[each].candidate.id: by_id[each] for each in refused if each in by_id}.values(), key=_standing
    )
    chosen = {trial.candidate.id: trial for trial in (*entered, *considered)}
    if not chosen:
        chosen = {trial.candidate.id: trial for trial in best_trials(trials, limit=_WITHOUT_FINALISTS)}
    return tuple(chosen.values())[:MOST_SHOWN]


def is_drawable(trial: Trial) -> bool:
    """Whether its runs came to an end, so that there is a curve."""
    return trial.outcome in {TrialOutcome.SCORED, TrialOutcome.VETOED}


def _standing(trial: Trial) -> tuple[float, str]:
    card = trial.scorecard
    score = card.score if card is not None and card.score is not None else float("-inf")
    return -score, trial.candidate.id
