"""What earlier nights left behind: the front of all of them, to start from, and to compare tonight's with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evolution.plural import plural
from evolution.selection import hypervolume, pareto_front, select
from evolution.standings import as_entrant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.selection import Entrant
    from evolution.trial import Trial
    from fitness.card import Objectives


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Tonight's front beside the one of earlier nights, on the same bars."""

    earlier: int
    """Members of the earlier front."""
    beaten: int
    """Those that a member of tonight's front dominates."""
    matched: int
    """Those that are on tonight's front, too, or have an equal there."""
    earlier_volume: float
    """Hypervolume on train."""
    volume: float

    @property
    def dominates(self) -> bool:
        """Tonight's front is as good everywhere and better somewhere."""
        return self.beaten + self.matched == self.earlier and self.volume > self.earlier_volume

    def in_words(self) -> str:
        """One line for people."""
        verdict = "dominates" if self.dominates else "does not dominate"
        return (
            f"tonight's front {verdict} the one of earlier nights: of its {plural(self.earlier, 'member')} {self.beaten} "
            f"{'is' if self.beaten == 1 else 'are'} beaten, "
            f"{self.matched} matched; hypervolume {self.volume:.4f} against {self.earlier_volume:.4f}"
        )


def front_of(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Members of the feasible front of trials of several runs, best first."""
    by_place = {_place(trial): trial for trial in trials}
    entrants = {place: _entrant(trial) for place, trial in by_place.items()}
    front = pareto_front(entrants.values())
    return tuple(by_place[each.id] for each in select([entrants[place] for place in front], len(front)))


def compare(earlier: Sequence[Trial], tonight: Sequence[Trial]) -> Comparison:
    """How tonight's front stands to an earlier one."""
    mine = [_goals(trial) for trial in tonight]
    theirs = [_goals(trial) for trial in earlier]
    return Comparison(
        earlier=len(theirs),
        beaten=sum(any(_dominates(one, other) for one in mine) for other in theirs),
        matched=sum(other in mine for other in theirs),
        earlier_volume=hypervolume(theirs),
        volume=hypervolume(mine),
    )


def _place(trial: Trial) -> str:
    return f"{trial.candidate.run_id}/{trial.candidate.id}"


def _entrant(trial: Trial) -> Entrant:
    return replace(as_entrant(trial), id=_place(trial))


def _goals(trial: Trial) -> Objectives:
    card = trial.scorecard
    assert card is not None and card.objectives is not None  # noqa: PT018 - only members of a front are handed in
    return card.objectives


def _dominates(one: Objectives, other: Objectives) -> bool:
    ahead = (one.sharpe - other.sharpe, one.calmar - other.calmar, other.turnover - one.turnover)
    return min(ahead) >= 0 and max(ahead) > 0
