"""Deb's rule, niches and tournaments, for any set of entrants and in any order."""

from __future__ import annotations

import copy
import math
import random
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from deap import base, creator
from deap.tools import emo
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.selection import (
    NICHE_PLACES,
    Boxes,
    ConstrainedFitness,
    Entrant,
    _fronts,
    _individuals,
    clear_of_noise,
    hypervolume,
    pareto_front,
    select,
    tournament,
)
from fitness.card import Objectives

BOXES = Boxes(sharpe=0.2, calmar=0.2, turnover=0.1)


def goals(sharpe=0.0, calmar=0.0, turnover=0.0):
    return Objectives(sharpe=sharpe, calmar=calmar, turnover=turnover)


def entrant(identity, sharpe=0.0, calmar=0.0, turnover=0.0, violation=0.0, **extra):
    return Entrant(id=identity, objectives=goals(sharpe, calmar, turnover), violation=violation, **extra)


# Coarse steps on purpose: they make ties, twins and equal violations frequent.
steps = st.integers(-10, 10).map(lambda value: value / 2)
objectives = st.tuples(steps, steps, st.integers(0, 20).map(float))
violations = st.just(0.0) | st.integers(1, 4).map(float)


@st.composite
def crowds(draw, smallest=1):
    rows = draw(st.lists(st.tuples(objectives, violations), min_size=smallest, max_size=24))
    return [entrant(f"c{i:03d}", *goal, violation=violation) for i, (goal, violation) in enumerate(rows)]


def prefers(a, b):
    """Deb's rule, spelled out slowly."""
    if a.violation != b.violation:
        return a.violation < b.violation
    mine = (a.objectives.sharpe, a.objectives.calmar, -a.objectives.turnover)
    theirs = (b.objectives.sharpe, b.objectives.calmar, -b.objectives.turnover)
    return mine != theirs and all(x >= y for x, y in zip(mine, theirs, strict=True))


@settings(deadline=None)
@given(crowd=crowds(), places=st.integers(1, 30))
def test_an_infeasible_entrant_never_takes_a_feasible_ones_place(crowd, places):
    survivors = select(crowd, places)
    feasible = sum(each.violation == 0 for each in crowd)
    assert len(survivors) == min(places, len(crowd))
    assert sum(each.is_feasible for each in survivors) == min(feasible, places)
    assert [each.is_feasible for each in survivors] == sorted((each.is_feasible for each in survivors), reverse=True)


@settings(deadline=None)
@given(crowd=crowds(smallest=2), places=st.integers(1, 20), shuffle=st.randoms(use_true_random=False))
def test_selection_does_not_depend_on_the_order_of_entrants(crowd, places, shuffle):
    shuffled = list(crowd)
    shuffle.shuffle(shuffled)
    assert select(shuffled, places) == select(crowd, places)
    assert pareto_front(shuffled) == pareto_front(crowd)


@settings(deadline=None)
@given(crowd=crowds())
def test_the_front_is_what_no_feasible_entrant_dominates(crowd):
    feasible = [each for each in crowd if each.violation == 0]
    expected = [each.id for each in feasible if not any(prefers(other, each) for other in feasible)]
    assert list(pareto_front(crowd)) == expected


@settings(deadline=None)
@given(crowd=crowds())
def test_nobody_is_ranked_before_somebody_who_dominates_them(crowd):
    by_id = {each.id: each for each in crowd}
    ranked = select(crowd, len(crowd))
    for earlier, later in pairwise(ranked):
        assert not prefers(by_id[later.id], by_id[earlier.id])


@settings(deadline=None)
@given(crowd=crowds(), shift=steps, scale=st.sampled_from([0.5, 2.0, 8.0]))
def test_shifting_and_scaling_an_objective_changes_no_rank(crowd, shift, scale):
    moved = [
        entrant(
            each.id,
            each.objectives.sharpe * scale + shift,
            each.objectives.calmar,
            each.objectives.turnover,
            each.violation,
        )
        for each in crowd
    ]
    assert [(s.id, s.front) for s in select(moved, len(moved))] == [(s.id, s.front) for s in select(crowd, len(crowd))]


@settings(deadline=None)
@given(a=st.tuples(objectives, violations), b=st.tuples(objectives, violations), c=st.tuples(objectives, violations))
def test_domination_is_a_strict_order(a, b, c):
    x, y, z = (ConstrainedFitness(goal, violation=violation) for goal, violation in (a, b, c))
    assert not x.dominates(x)
    assert not (x.dominates(y) and y.dominates(x))
    if x.dominates(y) and y.dominates(z):
        assert x.dominates(z)


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["sharpe", "calmar", "turnover", "violation"])
def test_a_value_that_is_not_finite_is_refused_before_deap_sees_it(name, broken):
    """In DEAP an individual with NaN sits alone in the first front and wins."""
    with pytest.raises(ValueError, match="entrant c001"):
        entrant("c001", **{name: broken})


def test_a_negative_violation_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        entrant("c001", violation=-0.1)


def test_two_entrants_with_one_id_are_refused():
    for pick in (lambda crowd: select(crowd, 4), pareto_front, lambda crowd: tournament(crowd, 4, random.Random(1))):
        with pytest.raises(ValueError, match="c001 is there twice"):
            pick([entrant("c001"), entrant("c001", sharpe=1.0)])


def test_of_two_infeasible_entrants_the_smaller_violation_wins_whatever_it_earned():
    rich, poor = entrant("c001", 5.0, 5.0, 1.0, violation=0.2), entrant("c002", -5.0, -5.0, 90.0, violation=0.1)
    assert [each.id for each in select([rich, poor], 1)] == ["c002"]


def test_copies_in_behaviour_count_once_and_the_first_id_stays():
    crowd = [entrant("c002", 1.0, behaviour="same"), entrant("c001", 1.0, behaviour="same"), entrant("c003", 0.5)]
    assert [each.id for each in select(crowd, 3)] == ["c001", "c003"]
    assert pareto_front(crowd) == ("c001",)


def test_entrants_without_a_digest_are_not_copies_of_each_other():
    assert len(select([entrant("c001"), entrant("c002")], 2)) == 2


# Three ways to earn that have nothing to do with each other.
RHYTHMS = {
    label: bytes(np.random.default_rng(seed).integers(-100, 100, 256, dtype=np.int8))
    for seed, label in enumerate("abc")
}


def test_the_best_two_of_a_niche_survive():
    crowd = [entrant(f"c{i:03d}", sharpe=float(i), rhythm=RHYTHMS["a"]) for i in range(6)] + [entrant("c900", -3.0)]
    assert [each.id for each in select(crowd, 7)] == ["c005", "c004", "c900"]
    assert NICHE_PLACES == 2


@settings(deadline=None)
@given(
    crowd=crowds(smallest=2),
    labels=st.lists(st.sampled_from(["a", "b", "c"]), min_size=24, max_size=24),
    places=st.integers(1, 24),
)
def test_no_niche_ever_takes_more_than_its_places(crowd, labels, places):
    labelled = [
        Entrant(id=each.id, objectives=each.objectives, violation=each.violation, rhythm=RHYTHMS[label])
        for each, label in zip(crowd, labels, strict=False)
    ]
    rhythm_of = {each.id: each.rhythm for each in labelled}
    survivors = [rhythm_of[each.id] for each in select(labelled, places)]
    assert all(survivors.count(rhythm) <= NICHE_PLACES for rhythm in survivors)


def test_boxes_keep_noise_from_filling_the_front():
    strong, noise = entrant("c001", 1.05, 1.0, 10.0), entrant("c002", 0.9, 1.0, 9.99)
    assert pareto_front([strong, noise]) == ("c001", "c002")
    assert clear_of_noise([strong, noise], BOXES) == ("c001",)


def test_of_one_box_the_highest_sharpe_ratio_is_left():
    assert clear_of_noise([entrant("c001", 1.01, 1.05), entrant("c002", 1.02, 1.02)], BOXES) == ("c002",)
    assert clear_of_noise([entrant("c002", 1.01), entrant("c001", 1.01)], BOXES) == ("c001",)


def test_what_differs_by_more_than_a_box_stays():
    front = [entrant("c001", 1.1, 0.5, 10.0), entrant("c002", 0.5, 1.1, 10.0), entrant("c003", 0.1, 0.1, 1.0)]
    assert clear_of_noise(front, BOXES) == ("c001", "c002", "c003")
    assert clear_of_noise([], BOXES) == ()


@settings(deadline=None)
@given(crowd=crowds(), shuffle=st.randoms(use_true_random=False))
def test_whatever_leaves_the_front_has_somebody_as_good_by_boxes(crowd, shuffle):
    """So thinning the front gives the same boxes as thinning everybody would."""
    boxes = Boxes(sharpe=1.0, calmar=1.0, turnover=0.5)
    ids = pareto_front(crowd)
    front = [each for each in crowd if each.id in ids]
    kept = clear_of_noise(shuffle.sample(front, len(front)), boxes)
    assert kept == clear_of_noise(front, boxes)
    places = {each.id: boxes.place(each.objectives) for each in crowd}
    assert len({places[each] for each in kept}) == len(kept)
    assert bool(kept) == bool(front)
    for each in crowd:
        if each.violation == 0:
            assert any(all(x >= y for x, y in zip(places[one], places[each.id], strict=True)) for one in kept)


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan, math.inf])
def test_boxes_need_a_size(size):
    with pytest.raises(ValueError, match="box size calmar"):
        replace(BOXES, calmar=size)


def test_nobody_gives_no_survivors_and_no_front():
    assert select([], 4) == ()
    assert select([entrant("c001")], 0) == ()
    assert pareto_front([]) == ()
    assert pareto_front([entrant("c001", violation=1.0)]) == ()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 13])
@pytest.mark.parametrize("picks", [0, 1, 2, 3, 5, 8, 26])
def test_a_tournament_works_for_any_number_of_entrants_and_picks(size, picks):
    """DEAP's own raises IndexError or ValueError for most of these."""
    crowd = [entrant(f"c{i:03d}", sharpe=float(i)) for i in range(size)]
    winners = tournament(crowd, picks, random.Random(3))
    assert len(winners) == picks
    assert set(winners) <= {each.id for each in crowd}


def test_a_tournament_of_nobody_is_refused():
    with pytest.raises(ValueError, match="at least one entrant"):
        tournament([], 4, random.Random(1))


def test_a_tournament_prefers_the_feasible():
    """An infeasible winner can only have met an infeasible opponent: a quarter of the picks where half are infeasible."""
    crowd = [entrant(f"c{i:03d}", sharpe=float(i), violation=float(i % 2)) for i in range(20)]
    winners = tournament(crowd, 2000, random.Random(5))
    assert 0.2 < sum(int(winner[1:]) % 2 for winner in winners) / 2000 < 0.3


def test_better_entrants_win_more_tournaments():
    crowd = [entrant(f"c{i:03d}", sharpe=float(i)) for i in range(10)]
    winners = tournament(crowd, 1000, random.Random(1))
    assert winners.count("c009") > 1.5 * winners.count("c005") > 1.5 * winners.count("c001")


def test_a_tournament_follows_from_its_generator_and_leaves_the_global_one_alone():
    crowd = [entrant(f"c{i:03d}", sharpe=float(i % 3), calmar=float(-i % 4)) for i in range(11)]
    random.seed(123)
    before = random.getstate()
    first = tournament(crowd, 12, random.Random(9))
    assert random.getstate() == before
    random.seed(456)
    assert tournament(list(reversed(crowd)), 12, random.Random(9)) == first
    assert tournament(crowd, 12, random.Random(10)) != first


def test_tournaments_in_several_threads_do_not_disturb_each_other():
    crowd = [entrant(f"c{i:03d}", sharpe=float(i % 5), calmar=float(-i % 7)) for i in range(40)]
    expected = [tournament(crowd, 40, random.Random(seed)) for seed in range(8)]
    found = [()] * 8

    def run(seed):
        for _ in range(5):
            random.random()
            found[seed] = tournament(crowd, 40, random.Random(seed))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_the_fitness_survives_copying_with_its_violation():
    """DEAP's own constrained fitness loses it."""
    fitness = ConstrainedFitness((1.0, 2.0, 3.0), violation=0.5)
    twin = copy.deepcopy(fitness)
    assert twin == fitness
    assert hash(twin) == hash(fitness)
    assert (twin.values, twin.violation) == ((1.0, 2.0, 3.0), 0.5)


def test_equal_objectives_with_different_violations_are_different_fitnesses():
    clean, broken = ConstrainedFitness((1.0, 1.0, 1.0)), ConstrainedFitness((1.0, 1.0, 1.0), violation=0.1)
    assert clean != broken
    assert broken < clean
    assert broken <= clean
    assert clean > broken
    assert clean != "a fitness"


@settings(deadline=None)
@given(crowd=crowds(smallest=4))
def test_without_constraints_the_fronts_are_deaps_own(crowd):
    class Plain(base.Fitness):
        weights = (1.0, 1.0, -1.0)

    class Individual:
        def __init__(self, each):
            self.id = each.id
            self.fitness = Plain((each.objectives.sharpe, each.objectives.calmar, each.objectives.turnover))

    free = [entrant(e.id, e.objectives.sharpe, e.objectives.calmar, e.objectives.turnover) for e in crowd]
    fronts = emo.sortLogNondominated([Individual(each) for each in free], len(free))
    expected = {individual.id: place for place, front in enumerate(fronts) for individual in front}
    assert {each.id: each.front for each in select(free, len(free))} == expected


def test_nothing_is_created_in_deaps_global_namespace():
    select([entrant("c001"), entrant("c002", 1.0)], 2)
    assert not [
        name for name, value in vars(creator).items() if isinstance(value, type) and issubclass(value, base.Fitness)
    ]


def test_hypervolume_of_one_point_is_its_box():
    assert hypervolume([goals(2.0, 0.5, 50.0)]) == pytest.approx(2.0 * 0.5 * 200.0)


def test_hypervolume_counts_overlap_once():
    assert hypervolume([goals(2.0, 1.0, 150.0), goals(1.0, 2.0, 150.0)]) == pytest.approx((2 + 2 - 1) * 100.0)


def test_points_that_are_not_better_than_the_reference_add_nothing():
    assert hypervolume([]) == 0.0
    assert hypervolume([goals(-1.0, 1.0, 10.0), goals(1.0, 0.0, 10.0), goals(1.0, 1.0, 300.0)]) == 0.0
    assert hypervolume([goals(1.0, 1.0, 150.0), goals(-1.0, 9.0, 0.0)]) == pytest.approx(100.0)


@settings(deadline=None)
@given(points=st.lists(objectives.map(lambda values: goals(*values)), max_size=8), extra=objectives)
def test_hypervolume_never_falls_when_a_point_is_added(points, extra):
    assert hypervolume([*points, goals(*extra)]) >= hypervolume(points) - 1e-9


@settings(deadline=None, max_examples=60)
@given(crowd=crowds())
def test_fronts_are_those_that_asking_one_pair_at_a_time_gives(crowd):
    """Checked against DEAP's own sorting, which asks ``dominates`` for each pair."""
    individuals = _individuals(crowd)
    expected = emo.sortNondominated(individuals, len(individuals))

    def ids(fronts):
        return [sorted(each.entrant.id for each in front) for front in fronts]

    assert ids(_fronts(individuals)) == ids(expected)
