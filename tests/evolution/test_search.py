"""Ask and tell: deterministic, indifferent to the order of telling, and resumable from the stored trials alone."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.plan import SearchPlan
from evolution.proposal import ProposalKind
from evolution.search import Search, SearchEnd
from evolution.standings import as_entrant
from evolution.trial import Trial, TrialOutcome
from fitness.card import Objectives, Scorecard
from fitness.objectives import DEFAULT_RULES, objectives_of
from gates.findings import Finding
from runtime.source import StrategySource

PLAN = SearchPlan(generations=4, population=6, llm_share=0.3)
RAN = {TrialOutcome.SCORED, TrialOutcome.VETOED}


def card(objectives, violation=0.0, trades=40, exposure=0.5):
    """With all of a cell that a search looks at."""
    cell = SimpleNamespace(fold="train-1", metrics=SimpleNamespace(exposure=exposure), trading=None)
    return Scorecard(
        cells=(cell,),
        objectives=objectives,
        violation=violation,
        vetoes=("too deep",) if violation else (),
        score=1.0,
        benchmark_score=0.5,
        beats_buy_and_hold=True,
        trades=trades,
        max_drawdown=0.1,
    )


def trial(proposal, outcome, scorecard=None):
    candidate = Candidate(
        id=proposal.id,
        run_id=proposal.run_id,
        generation=proposal.generation,
        index=proposal.index,
        source=StrategySource(proposal.id.encode()),
        provenance=Provenance(operator="offline/jitter", parents=proposal.parents, seed=proposal.seed),
    )
    findings = ()
    if outcome is TrialOutcome.REJECTED:
        findings = (Finding(gate=1, rule="r", line=1, column=1, message="m", hint="h"),)
    return Trial(
        candidate=candidate,
        outcome=outcome,
        reason="because",
        findings=findings,
        scorecard=scorecard,
        behaviour=proposal.id if scorecard else None,
    )


def try_out(proposal, world=0):
    """What becomes of a candidate in a make-believe world: a fixed function of its place in the run and of the world."""
    rng = random.Random(f"{world}/{proposal.id}")
    outcome = rng.choice([*TrialOutcome, TrialOutcome.SCORED, TrialOutcome.SCORED])
    if outcome not in RAN:
        return trial(proposal, outcome)
    goals = Objectives(sharpe=rng.uniform(-2, 2), calmar=rng.uniform(-1, 1), turnover=rng.uniform(0, 100))
    violation = rng.uniform(0.1, 1.0) if outcome is TrialOutcome.VETOED else 0.0
    is_defined = outcome is TrialOutcome.SCORED or rng.random() < 0.7
    return trial(proposal, outcome, card(goals if is_defined else None, violation, trades=rng.randrange(1000)))


def play(search, world=0, rng=None):
    """Run a search to its end; with a generator, tell in random order and portions."""
    told = []
    while proposals := search.ask():
        trials = [try_out(proposal, world) for proposal in proposals]
        if rng is not None:
            rng.shuffle(trials)
            trials = trials[: rng.randint(1, len(trials))]
        search.tell(trials)
        told.extend(trials)
    return sorted(told, key=lambda each: each.candidate.id)


def new_search(plan=PLAN, run_id="r1", seed=7, starters=4):
    return Search(plan, run_id=run_id, seed=seed, starters=starters)


def scored(proposal, sharpe=1.0, **extra):
    goals = Objectives(sharpe=sharpe, calmar=0.5, turnover=10.0)
    return trial(proposal, TrialOutcome.SCORED, card(goals, trades=proposal.index + 40, **extra))


def state(search):
    return (search.generation, search.survivors, search.front, search.ask(), search.end)


def test_the_first_generation_is_the_starters_and_then_jittered_ones():
    proposals = new_search(starters=4).ask()
    assert [each.id for each in proposals] == [candidate_id(0, index) for index in range(6)]
    assert [each.kind for each in proposals] == [ProposalKind.SEED] * 4 + [ProposalKind.OFFLINE_MUTATE] * 2
    assert [each.parents for each in proposals] == [(), (), (), (), ("g000-c000",), ("g000-c001",)]
    assert len({each.seed for each in proposals}) == 6


def test_more_starters_than_places_are_cut():
    proposals = new_search(SearchPlan(generations=1, population=4), starters=9).ask()
    assert [each.kind for each in proposals] == [ProposalKind.SEED] * 4


def test_asking_again_gives_the_same_answer():
    search = new_search()
    assert search.ask() == search.ask()


def test_asking_in_the_middle_of_a_generation_gives_what_is_missing():
    search = new_search()
    proposals = search.ask()
    search.tell([scored(proposals[2]), scored(proposals[0])])
    assert [each.id for each in search.ask()] == [proposals[index].id for index in (1, 3, 4, 5)]
    assert search.generation == 0


def test_a_search_ends_after_its_generations():
    search = new_search()
    trials = play(search)
    assert len(trials) == PLAN.generations * PLAN.population
    assert search.end is SearchEnd.GENERATIONS
    assert search.ask() == ()
    assert search.generation == search.plan.generations


@given(world=st.integers(0, 10_000), order=st.integers(0, 10_000), seed=st.integers(0, 2**63))
@settings(deadline=None, max_examples=30)
def test_the_order_and_portions_of_telling_leave_no_trace(world, order, seed):
    straight, jumbled = new_search(seed=seed), new_search(seed=seed)
    assert play(straight, world) == play(jumbled, world, random.Random(order))
    assert state(straight) == state(jumbled)


@given(world=st.integers(0, 10_000), kept=st.integers(0, 24), order=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_a_run_resumes_from_its_stored_trials(world, kept, order):
    """Killed anywhere, a fresh search that is told the stored trials goes on as if nothing had happened."""
    whole = new_search()
    trials = play(whole, world)
    stored = trials[:kept]
    order.shuffle(stored)
    resumed = new_search()
    resumed.replay(stored)
    assert sorted([*stored, *play(resumed, world)], key=lambda each: each.candidate.id) == trials
    assert state(resumed) == state(whole)


@given(world=st.integers(0, 10_000), seed=st.integers(0, 2**63))
@settings(deadline=None, max_examples=30)
def test_only_what_ran_becomes_a_parent(world, seed):
    search = new_search(seed=seed)
    outcomes = {each.candidate.id: each.outcome for each in play(search, world)}
    again = new_search(seed=seed)
    while proposals := again.ask():
        if again.generation:
            assert all(outcomes[parent] in RAN for each in proposals for parent in each.parents)
            assert all(len(set(each.parents)) == (2 if each.kind.is_crossover else 1) for each in proposals)
        again.tell([try_out(each, world) for each in proposals])


@given(world=st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_vetoed_survivors_stand_behind_all_others_and_never_on_the_front(world):
    search = new_search()
    play(search, world)
    violations = [each.scorecard.violation for each in search.survivors]
    assert violations == sorted(violations, key=bool)
    assert all(each.scorecard.violation == 0 for each in search.front)
    assert len(search.survivors) <= PLAN.population


def test_the_same_seed_gives_the_same_night_under_another_name():
    one, other = new_search(run_id="r1"), new_search(run_id="r2")
    for search in (one, other):
        play(search)
    assert [each.candidate.provenance for each in one.survivors] == [
        each.candidate.provenance for each in other.survivors
    ]


def test_another_seed_gives_another_night():
    assert [each.seed for each in new_search(seed=1).ask()] != [each.seed for each in new_search(seed=2).ask()]


def test_the_best_are_bred_more_often():
    plan = SearchPlan(generations=2, population=40, crossover_rate=0.0)
    search = new_search(plan, starters=1)
    search.tell([scored(each, sharpe=each.index / 10) for each in search.ask()])
    parents = [int(each.parents[0].split("c")[1]) for each in search.ask()]
    assert sum(parents) / len(parents) > 22


def test_parents_of_a_crossover_are_two_and_the_better_one_comes_first():
    plan = SearchPlan(generations=2, population=20, crossover_rate=1.0)
    search = new_search(plan)
    search.tell([scored(each, sharpe=each.index / 10) for each in search.ask()])
    place = {each.candidate.id: rank for rank, each in enumerate(search.survivors)}
    for proposal in search.ask():
        better, worse = proposal.parents
        assert place[better] < place[worse]


def test_a_lone_survivor_is_mutated_not_crossed():
    plan = SearchPlan(generations=2, population=5, crossover_rate=1.0)
    search = new_search(plan)
    first, *others = search.ask()
    search.tell([scored(first), *(trial(each, TrialOutcome.KILLED) for each in others)])
    assert {(each.kind, each.parents) for each in search.ask()} == {(ProposalKind.OFFLINE_MUTATE, (first.id,))}


@pytest.mark.parametrize(("share", "expected"), [(0.0, {False}), (1.0, {True}), (0.5, {False, True})])
def test_the_models_share_of_the_places(share, expected):
    search = new_search(SearchPlan(generations=2, population=30, llm_share=share))
    search.tell([scored(each) for each in search.ask()])
    assert {each.kind.uses_model for each in search.ask()} == expected


def test_what_ran_without_objectives_is_bred_from_only_while_nothing_better_exists():
    plan = SearchPlan(generations=3, population=4)
    search = new_search(plan)
    idle, *others = search.ask()
    search.tell([trial(idle, TrialOutcome.VETOED, card(None, 2.0)), *(trial(o, TrialOutcome.FAILED) for o in others)])
    assert search.survivors == ()
    assert {each.parents for each in search.ask()} == {(idle.id,)}
    best, *others = search.ask()
    search.tell([scored(best), *(trial(other, TrialOutcome.BARREN) for other in others)])
    assert {each.parents for each in search.ask()} == {(best.id,)}


def test_when_nothing_ran_there_is_nothing_to_breed():
    search = new_search()
    search.tell([trial(each, TrialOutcome.REJECTED) for each in search.ask()])
    assert search.ask() == ()
    assert search.end is SearchEnd.NOTHING_TO_BREED


def test_the_control_arm_never_learns():
    plan = SearchPlan(generations=5, population=8, is_control=True, crossover_rate=0.5)
    search = new_search(plan)
    while proposals := search.ask():
        assert all(parent.startswith("g000") for each in proposals for parent in each.parents)
        search.tell([scored(each, sharpe=each.generation + each.index / 10) for each in proposals])
    assert search.front[0].candidate.generation == 4


def test_the_front_remembers_what_crowding_pushed_out():
    plan = SearchPlan(generations=2, population=4)
    search = new_search(plan)
    for _ in range(2):
        proposals = search.ask()
        trials = []
        for each in proposals:
            place = 4 * each.generation + each.index
            goals = Objectives(sharpe=place / 10, calmar=-place / 10, turnover=10.0)
            trials.append(trial(each, TrialOutcome.SCORED, card(goals, trades=place)))
        search.tell(trials)
    assert len(search.survivors) == 4
    assert len(search.front) == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run_id": "r9"}, "belongs to run r9"),
        ({"id": "g000-c099"}, "was not asked for"),
        ({"id": "g001-c000", "generation": 1}, "was not asked for"),
    ],
)
def test_a_trial_that_was_not_asked_for_is_refused_and_nothing_is_taken_in(change, message):
    from dataclasses import replace

    search = new_search()
    good, bad = search.ask()[:2]
    with pytest.raises(ValueError, match=message):
        search.tell([scored(good), scored(replace(bad, **change))])
    assert good in search.ask()


def test_a_trial_told_twice_is_refused():
    search = new_search()
    proposal = search.ask()[0]
    with pytest.raises(ValueError, match="told before"):
        search.tell([scored(proposal), scored(proposal)])
    search.tell([scored(proposal)])
    with pytest.raises(ValueError, match="told before"):
        search.tell([scored(proposal)])


def test_replaying_past_an_incomplete_generation_is_refused():
    whole = new_search()
    trials = [each for each in play(whole) if each.candidate.id != "g000-c003"]
    with pytest.raises(ValueError, match="generation 0 is not complete"):
        new_search().replay(trials)


def test_of_those_that_earn_at_the_same_times_two_survive():
    search = new_search(SearchPlan(generations=2, population=6))
    flat, wave, *_ = (bytes(each * 64) for each in ((0, 0, 0, 0), (0, 1, 2, 1)))
    rhythms = [wave] * 4 + [flat] * 2
    search.tell(
        [
            replace(scored(each, sharpe=each.index), rhythm=rhythm)
            for each, rhythm in zip(search.ask(), rhythms, strict=True)
        ]
    )
    assert [each.candidate.index for each in search.survivors] == [5, 4, 3, 2]


def test_a_trial_without_objectives_cannot_be_ranked():
    with pytest.raises(ValueError, match="cannot be ranked"):
        as_entrant(trial(new_search().ask()[0], TrialOutcome.KILLED))


@pytest.mark.parametrize(
    "wrong",
    [{"generations": 0}, {"population": 3}, {"crossover_rate": 1.1}, {"llm_share": -0.1}, {"llm_share": float("nan")}],
)
def test_plans_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"search plan: {next(iter(wrong))}"):
        SearchPlan(**({"generations": 1, "population": 4} | wrong))


def test_a_search_needs_a_starter():
    with pytest.raises(ValueError, match="at least 1"):
        new_search(starters=0)


WIDE = SearchPlan(
    generations=7, population=12, islands=3, migrate_every=2, archive_rate=0.3, crossover_rate=0.5, llm_share=0.2
)


@given(world=st.integers(0, 10_000), order=st.integers(0, 10_000))
@settings(deadline=None, max_examples=20)
def test_islands_and_archive_leave_no_trace_of_the_order_of_telling_either(world, order):
    straight, jumbled = new_search(WIDE), new_search(WIDE)
    assert play(straight, world) == play(jumbled, world, random.Random(order))
    assert state(straight) == state(jumbled)
    assert straight.archive == jumbled.archive


@given(world=st.integers(0, 10_000), kept=st.integers(0, 84))
@settings(deadline=None, max_examples=20)
def test_a_run_on_islands_resumes_from_its_stored_trials(world, kept):
    whole, resumed = new_search(WIDE), new_search(WIDE)
    trials = play(whole, world)
    resumed.replay(trials[:kept])
    assert [*trials[:kept], *play(resumed, world)] == trials
    assert state(resumed) == state(whole)
    assert resumed.restarts == whole.restarts


def test_places_of_an_island_are_bred_from_that_island():
    plan = SearchPlan(generations=2, population=12, islands=3, crossover_rate=0.5)
    search = new_search(plan, starters=12)
    search.tell([scored(each, sharpe=each.index / 10) for each in search.ask()])
    for proposal in search.ask():
        assert {int(parent.split("c")[1]) % 3 for parent in proposal.parents} == {proposal.index % 3}


def test_the_archive_lends_parents_that_selection_has_dropped():
    plan = SearchPlan(generations=3, population=4, archive_rate=1.0, crossover_rate=0.0)
    search = new_search(plan)
    slow, *others = search.ask()
    ways = [scored(each, sharpe=1.0 + each.index, exposure=0.9) for each in others]
    search.tell([scored(slow, sharpe=0.1, exposure=0.1), *ways])
    search.tell([scored(each, sharpe=5.0 + each.index, exposure=0.9) for each in search.ask()])
    assert slow.id not in {each.candidate.id for each in search.survivors}
    assert any(slow.id in each.parents for each in search.ask())


TUNING = SearchPlan(generations=6, population=12, tune_rate=0.8, archive_rate=0.2, crossover_rate=0.2)


def numeric(proposal, world=0):
    """Every second child is one of other numbers, so that families grow."""
    told = try_out(proposal, world)
    operator = "offline/param_jitter" if proposal.index % 2 else "offline/condition_insert"
    made_by = replace(told.candidate.provenance, operator=operator)
    return replace(told, candidate=replace(told.candidate, provenance=made_by))


def test_a_place_is_tuned_where_relatives_are_known_and_only_there():
    search = new_search(TUNING)
    told = {}
    tuned = 0
    while proposals := search.ask():
        for proposal in proposals:
            is_tuned = proposal.kind is ProposalKind.OFFLINE_TUNE
            tuned += is_tuned
            assert is_tuned == bool(proposal.relatives)
            assert len(proposal.parents) == 1 or not is_tuned
            assert all(told[each].scorecard.objectives is not None for each in proposal.relatives)
            if is_tuned:
                assert proposal.parents[0] in proposal.relatives
        trials = [numeric(proposal) for proposal in proposals]
        told |= {trial.candidate.id: trial for trial in trials}
        search.tell(trials)
    assert tuned >= 3


@given(world=st.integers(0, 10_000), kept=st.integers(0, 71), order=st.integers(0, 10_000))
@settings(deadline=None, max_examples=20)
def test_relatives_do_not_depend_on_the_order_of_telling_or_on_a_resume(world, kept, order):
    whole, resumed = new_search(TUNING), new_search(TUNING)
    rng = random.Random(order)
    trials, asked = [], []
    while proposals := whole.ask():
        asked.append(proposals)
        trials += [numeric(proposal, world) for proposal in proposals]
        whole.tell(rng.sample(trials[-len(proposals) :], len(proposals)))
    resumed.replay(trials[:kept])
    missing = resumed.ask()
    number = resumed.generation
    assert number == len(asked) or missing == tuple(
        each for each in asked[number] if each.id in {m.id for m in missing}
    )
    resumed.tell([numeric(proposal, world) for proposal in missing])
    assert number + 1 >= len(asked) or resumed.ask() == asked[number + 1]


def test_the_control_arm_tunes_nothing():
    search = new_search(replace(TUNING, is_control=True))
    while proposals := search.ask():
        assert not any(each.relatives for each in proposals)
        search.tell([numeric(proposal) for proposal in proposals])


def test_a_search_whose_front_does_not_grow_ends():
    plan = SearchPlan(generations=20, population=4, patience=2)
    search = new_search(plan)
    for _ in range(3):
        search.tell([scored(each) for each in search.ask()])
    assert search.end is SearchEnd.NO_IMPROVEMENT
    assert search.ask() == ()


def test_a_search_that_is_stopped_from_outside_asks_for_nothing():
    search = new_search()
    search.tell([scored(each) for each in search.ask()])
    search.stop()
    assert search.ask() == ()
    assert search.end is SearchEnd.STOPPED
    assert search.front


def test_places_are_taken_when_as_many_feasible_ones_survive():
    search = new_search(SearchPlan(generations=3, population=4))
    proposals = search.ask()
    search.tell([scored(each, sharpe=each.index) for each in proposals[:3]])
    search.tell([trial(proposals[3], TrialOutcome.VETOED, card(Objectives(sharpe=9, calmar=9, turnover=1), 0.5))])
    proposals = search.ask()
    assert not any(map(search.is_full_for, proposals))
    search.tell([scored(each, sharpe=5 + each.index, exposure=each.index / 10) for each in proposals])
    assert all(map(search.is_full_for, search.ask()))


@pytest.mark.parametrize(
    "wrong",
    [
        {"box_width": -0.5},
        {"box_width": 9},
        {"islands": 2},
        {"migrate_every": 0},
        {"archive_rate": 1.5},
        {"tune_rate": -0.1},
        {"patience": 0},
    ],
)
def test_more_plans_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"search plan: {next(iter(wrong))}"):
        SearchPlan(**({"generations": 1, "population": 4} | wrong))


BOXED = SearchPlan(generations=5, population=12, box_width=0.5, archive_rate=0.2)


def over_folds(proposal, world=0, spread=1.0):
    """Like ``try_out``, with four folds that differ, so that a search can measure its noise."""
    told = try_out(proposal, world)
    if told.scorecard is None or told.scorecard.objectives is None:
        return told
    rng = random.Random(f"{world}/{proposal.id}/folds")
    goals = told.scorecard.objectives
    cells = tuple(
        SimpleNamespace(
            fold=f"train-{fold}",
            trading=None,
            metrics=SimpleNamespace(
                exposure=0.5,
                sharpe=goals.sharpe + rng.gauss(0, spread),
                calmar=goals.calmar + rng.gauss(0, spread),
                turnover=goals.turnover * rng.lognormvariate(0, spread / 10),
            ),
        )
        for fold in range(1, 5)
    )
    return replace(told, scorecard=replace(told.scorecard, cells=cells, objectives=objectives_of(cells, DEFAULT_RULES)))


def play_over_folds(search, world=0, rng=None, spread=1.0):
    told = []
    while proposals := search.ask():
        trials = [over_folds(proposal, world, spread) for proposal in proposals]
        if rng is not None:
            rng.shuffle(trials)
            trials = trials[: rng.randint(1, len(trials))]
        search.tell(trials)
        told.extend(trials)
    return told


@settings(max_examples=15)
@given(world=st.integers(0, 1000), order=st.randoms(use_true_random=False))
def test_boxes_are_the_same_for_any_order_of_telling(world, order):
    straight, shuffled = new_search(BOXED), new_search(BOXED)
    play_over_folds(straight, world)
    play_over_folds(shuffled, world, order)
    assert state(straight) == state(shuffled)


@settings(max_examples=15)
@given(world=st.integers(0, 1000), kept=st.integers(0, 60))
def test_boxes_are_measured_again_when_a_run_resumes(world, kept):
    whole = new_search(BOXED)
    told = play_over_folds(whole, world)
    resumed = new_search(BOXED)
    resumed.replay(told[:kept])
    play_over_folds(resumed, world)
    assert state(resumed) == state(whole)


def test_in_boxes_fewer_candidates_fill_the_front():
    """What differs by less than noise is no trade-off that anybody has to choose between."""
    sizes = {}
    for width in (0.0, 0.5, 2.0):
        search = new_search(replace(BOXED, population=40, box_width=width))
        play_over_folds(search)
        sizes[width] = len(search.front)
    assert sizes[0.0] > sizes[0.5] > sizes[2.0] > 0


def test_boxes_change_the_front_that_is_shown_and_nothing_else():
    raw, boxed = (new_search(replace(BOXED, population=40, box_width=width)) for width in (0.0, 2.0))
    assert play_over_folds(raw) == play_over_folds(boxed)
    assert raw.survivors == boxed.survivors
    assert raw.volume == boxed.volume > 0
    shown, everybody = ({trial.candidate.id for trial in search.front} for search in (boxed, raw))
    assert shown < everybody


def test_noise_that_nobody_could_measure_leaves_objectives_as_they_are():
    raw, boxed = new_search(replace(BOXED, box_width=0.0)), new_search(BOXED)
    for search in (raw, boxed):
        while proposals := search.ask():
            search.tell([scored(proposal, sharpe=proposal.index / 7) for proposal in proposals])
    assert state(raw) == state(boxed)
