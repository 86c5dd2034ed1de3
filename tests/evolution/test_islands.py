"""Migration in a ring, and a new start for an island that is weakest and stuck."""

from __future__ import annotations

import random

import pytest

from evolution.archive import Archive
from evolution.islands import MIGRANTS, pass_on, places_of


def best_first(trials, places):
    return tuple(sorted(trials, key=lambda trial: (-trial.scorecard.objectives.sharpe, trial.candidate.id))[:places])


def passed(islands, before=(), archive=None, seed=1):
    return pass_on(
        islands,
        places=[4] * len(islands),
        before=before,
        archive=archive or Archive(),
        select=best_first,
        rng=random.Random(seed),
    )


@pytest.fixture
def islands(told):
    return [
        tuple(told(10 * island + n, sharpe=1.0 + island - n / 10, trades=30 + 10 * island + n) for n in range(4))
        for island in range(3)
    ]


def test_places_add_up_to_the_population():
    assert [places_of(10, count) for count in (1, 2, 3)] == [(10,), (5, 5), (4, 3, 3)]


def test_the_best_of_each_island_arrive_at_the_next_one(islands):
    moved = passed(islands).islands
    assert all(each in moved[0] for each in islands[2][:MIGRANTS])
    assert not any(each in moved[1] for each in islands[0][:MIGRANTS])  # worse than all who live there
    assert all(len(island) == 4 for island in moved)


def test_only_an_island_that_is_weakest_and_stuck_starts_anew(islands, told):
    archive = Archive().grown([told(90, sharpe=5.0, held=60.0), told(91, sharpe=5.0, exposure=0.9)])
    volumes = passed(islands).volumes
    assert volumes[0] == min(volumes)
    assert passed(islands, archive=archive).restarted is None  # nothing to measure growth from
    assert passed(islands, before=(volumes[0] / 2, 0.0, 0.0), archive=archive).restarted is None
    stuck = passed(islands, before=volumes, archive=archive)
    assert stuck.restarted == 0
    assert all(each in stuck.islands[0] for each in archive.elites)


def test_islands_that_are_all_equal_are_left_alone(told):
    twins = [tuple(told(10 * island + n) for n in range(4)) for island in range(2)]
    volumes = passed(twins).volumes
    assert passed(twins, before=volumes, archive=Archive().grown(twins[0])).restarted is None
