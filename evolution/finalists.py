"""Who of a run's trials is shown to people first, and who may read validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.niches import are_alike
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evolution.trial import Trial


def best_score(trials: Iterable[Trial]) -> float | None:
    """Highest seed score of a feasible trial; None when there is none."""
    scores = [
        trial.scorecard.score
        for trial in trials
        if trial.outcome is TrialOutcome.SCORED and trial.scorecard and trial.scorecard.score is not None
    ]
    return max(scores, default=None)


def finalists(trials: Iterable[Trial], places: int) -> tuple[Trial, ...]:
    """Who may read validation: the best of those that beat buy and hold, one per niche, at most ``places``.

    Near-copies would spend several reads, and several places of the pool, on one idea.
    """
    chosen: list[Trial] = []
    for trial in sorted(trials, key=lambda trial: (-_score(trial), trial.candidate.id)):
        card = trial.scorecard
        if len(chosen) == places:
            break
        if trial.outcome is not TrialOutcome.SCORED or card is None or not card.beats_buy_and_hold:
            continue
        if not any(are_alike(trial.rhythm, other.rhythm) for other in chosen):
            chosen.append(trial)
    return tuple(chosen)


def _score(trial: Trial) -> float:
    card = trial.scorecard
    return card.score if card is not None and card.score is not None else float("-inf")
