"""The end of a night: the best candidates meet the admission checks, one after the other, in a cage that also holds validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.plural import plural
from evolution.pool import AlreadyIn, Entered, NotAdmitted, admission_bars
from flows import opening

if TYPE_CHECKING:
    from evolution.pool import Consideration
    from flows.night import Night


def admit_finalists(night: Night) -> tuple[Consideration, ...]:
    """Put a finished search's finalists through admission, best first; each verdict is stored and told."""
    finalists = night.finalists()
    if not finalists:
        night.watch.say(
            "admission: no candidate is feasible and beats buy and hold on train, so there is nobody to admit"
        )
        return ()
    night.watch.now(f"admission of {plural(len(finalists), 'finalist')}")
    settings = night.settings
    verdicts: list[Consideration] = []
    # The search's own cage never held a validation bar; these are opened when the search is over, and the one for proof runs
    # holds no bars at all.
    with opening.runner(admission_bars(night.dataset), settings.cage, settings.cage_limits()) as runner:
        for trial in finalists:
            verdict = night.pool.consider(
                trial,
                dataset=night.dataset,
                runner=runner,
                config=settings.run_config(),
                workers=settings.worker_count(),
            )
            night.watch.say(f"admission: {trial.candidate.id} {_in_words(verdict)}")
            verdicts.append(verdict)
    return tuple(verdicts)


def _in_words(verdict: Consideration) -> str:
    match verdict:
        case Entered(entry=entry):
            return f"enters the pool as {entry.id} (score {entry.score:.3f})"
        case AlreadyIn(entry=entry):
            return f"is in the pool already, as {entry.id}"
        case NotAdmitted(card=card):
            return f"is refused: {card.failed[0].sentence}"
