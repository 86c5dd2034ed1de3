"""How trials stand to each other: ``evolution.selection`` asked about trials instead of entrants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.selection import Entrant, clear_of_noise, pareto_front, select, tournament

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from evolution.selection import Boxes
    from evolution.trial import Trial


class Standings:
    """Trials that may still be compared with others. What selection knows of each is made once."""

    def __init__(self) -> None:
        self._entrants: dict[str, Entrant] = {}

    def take_in(self, trials: Iterable[Trial]) -> None:
        """Take in trials with objectives."""
        self._entrants |= {trial.candidate.id: as_entrant(trial) for trial in trials}

    def keep(self, trials: Iterable[Trial]) -> None:
        """Forget all others."""
        self._entrants = {trial.candidate.id: self._entrants[trial.candidate.id] for trial in trials}

    def selected(self, trials: Iterable[Trial], places: int) -> tuple[Trial, ...]:
        """The survivors of some trials, best first."""
        by_id = {trial.candidate.id: trial for trial in trials}
        chosen = select(self._entrants_of(by_id.values()), places)
        return tuple(by_id[survivor.id] for survivor in chosen)

    def front(self, trials: Iterable[Trial]) -> tuple[Trial, ...]:
        """Feasible trials that no other one dominates, in order of id; copies in behaviour count once."""
        by_id = {trial.candidate.id: trial for trial in trials}
        found = pareto_front(self._entrants_of(by_id.values()))
        return tuple(by_id[identity] for identity in found)

    def clear_of_noise(self, front: Iterable[Trial], boxes: Boxes | None) -> tuple[Trial, ...]:
        """A front without those members that only noise keeps there; without boxes all of it."""
        by_id = {trial.candidate.id: trial for trial in front}
        if boxes is None:
            return tuple(by_id.values())
        return tuple(by_id[identity] for identity in clear_of_noise(self._entrants_of(by_id.values()), boxes))

    def parents(self, stock: Sequence[Trial], count: int, rng: random.Random) -> tuple[str, ...]:
        """Candidate ids of so many winners of tournaments."""
        return tournament(self._entrants_of(stock), count, rng)

    def _entrants_of(self, trials: Iterable[Trial]) -> list[Entrant]:
        return [self._entrants[trial.candidate.id] for trial in trials]


def as_entrant(trial: Trial) -> Entrant:
    """What selection needs to know of a trial that has objectives.

    Raises:
        ValueError: it has none.
    """
    card = trial.scorecard
    if card is None or card.objectives is None:
        raise ValueError(f"trial {trial.candidate.id} has no objectives and cannot be ranked")
    return Entrant(
        id=trial.candidate.id,
        objectives=card.objectives,
        violation=card.violation,
        behaviour=trial.behaviour,
        rhythm=trial.rhythm,
    )
