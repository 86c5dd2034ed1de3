"""Islands: parts of a population that are selected apart, so that one early success does not take every place.

Now and then the best of each island move on to the next one (a ring), and an island that is both the weakest and stuck starts anew
from the archive. Pure functions; ``evolution.search`` decides when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evolution.selection import hypervolume

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from evolution.archive import Archive
    from evolution.trial import Trial

    Island = tuple[Trial, ...]
    Selector = Callable[[Sequence[Trial], int], Island]

MIGRANTS = 2
"""How many of an island's best move on. They stay where they were, too."""


class Passage(NamedTuple):
    """The islands after migration."""

    islands: tuple[Island, ...]
    volumes: tuple[float, ...]
    """Hypervolume of each island's feasible members before it; what growth is measured from next time."""
    restarted: int | None
    """The island that started anew."""


def places_of(population: int, islands: int) -> tuple[int, ...]:
    """How many places each island has.

    >>> places_of(10, 3)
    (4, 3, 3)
    """
    return tuple(len(range(island, population, islands)) for island in range(islands))


def pass_on(  # noqa: PLR0913 - what a migration is made of
    islands: Sequence[Island],
    *,
    places: Sequence[int],
    before: Sequence[float],
    archive: Archive,
    select: Selector,
    rng: random.Random,
) -> Passage:
    """Restart the weakest island if it is stuck, then let the best of each move on.

    Args:
        islands: members of each, best first.
        places: of each.
        before: hypervolumes at the last migration; none the first time.
        archive: what a restarted island is filled from.
        select: chooses the survivors of some trials.
        rng: chooses from the archive.
    """
    volumes = tuple(map(_volume, islands))
    weakest = min(range(len(islands)), key=lambda island: (volumes[island], -island))
    is_stuck = bool(before) and volumes[weakest] <= before[weakest] and volumes[weakest] < max(volumes)
    elites = archive.elites
    settled = list(islands)
    restarted = weakest if is_stuck and elites else None
    if restarted is not None:
        settled[restarted] = tuple(rng.sample(elites, min(len(elites), places[restarted])))
    moved = []
    for island, members in enumerate(settled):
        home = {trial.candidate.id for trial in members}
        arriving = [trial for trial in settled[island - 1][:MIGRANTS] if trial.candidate.id not in home]
        moved.append(select((*members, *arriving), places[island]))
    return Passage(tuple(moved), volumes, restarted)


def _volume(members: Island) -> float:
    cards = [trial.scorecard for trial in members]
    return hypervolume([card.objectives for card in cards if card and card.objectives and not card.violation])
