"""Patience is shared, has an end, and gives way at once where waiting cannot help."""

import pytest

from evolution.candidate import Candidate
from evolution.llm import LlmProfile, Scope
from evolution.llm.breeder import Breeding, Outage
from evolution.llm.fallback import FALLBACK
from evolution.llm.team import Next, Patience, Team
from evolution.llm.usage import Usage

PASSING = Outage(reason="down", is_lasting=False)
LASTING = Outage(reason="no key", is_lasting=True)
SPENT = Outage(reason="cut off", is_lasting=False, is_spent=True)
REFUSED = Outage(reason="bad request", is_lasting=True, is_spent=True)
LATER = Outage(reason="come back tomorrow", is_lasting=False, after_s=86_400.0)


class Clock:
    def __init__(self):
        self.now, self.pauses = 0.0, []

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, limit_s, **options):
        return Patience(limit_s, monotonic=lambda: self.now, pause=self.pause, **options)


def test_patience_waits_in_steps_up_to_its_limit_and_not_beyond():
    clock = Clock()
    patience = clock.patience(100)
    assert [patience.wait("a", PASSING, since=0.0) for _ in range(5)] == [*[Next.ASK_AGAIN] * 4, Next.GIVE_UP]
    assert clock.pauses == [30, 30, 30, 10]
    assert patience.gave_up("a") is PASSING
    assert patience.gave_up("b") is None


def test_a_success_begins_it_anew():
    clock = Clock()
    patience = clock.patience(50)
    for _ in range(6):
        assert patience.wait("a", PASSING, since=clock.now) is Next.ASK_AGAIN
        patience.worked("a")


def test_a_place_that_alone_gets_no_answer_is_left_empty_at_the_limit():
    """Its siblings are answered all the time, so the endpoint is not out."""
    clock, lines = Clock(), []
    patience = clock.patience(100, say=lines.append)
    ends = []
    while Next.LEAVE_EMPTY not in ends:
        ends.append(patience.wait("a", PASSING, since=0.0))
        patience.worked("a")
    assert clock.now == 100
    assert patience.gave_up("a") is None
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("limit", "outage"), [(100, LASTING), (0, PASSING), (100, SPENT), (100, REFUSED), (100, LATER)]
)
def test_where_waiting_cannot_help_nobody_waits(limit, outage):
    clock = Clock()
    patience = clock.patience(limit)
    assert patience.wait("a", outage, since=0.0) is Next.GIVE_UP
    assert clock.pauses == []
    assert patience.gave_up("a") is outage


@pytest.mark.parametrize("outage", [SPENT, REFUSED])
def test_a_question_that_must_not_be_asked_again_costs_its_place_where_others_are_answered(outage):
    clock = Clock()
    patience = clock.patience(100)
    patience.worked("a")
    assert patience.wait("a", outage, since=0.0) is Next.LEAVE_EMPTY
    assert patience.gave_up("a") is None
    assert patience.wait("a", outage, since=0.0) is Next.GIVE_UP, "the second in a row is the endpoint's doing"
    assert clock.pauses == []


def test_the_wait_that_the_endpoint_asks_for_is_kept():
    clock = Clock()
    patience = clock.patience(900)
    patience.wait("a", Outage(reason="slow down", is_lasting=False, after_s=400.0), since=0.0)
    patience.wait("a", Outage(reason="slow down", is_lasting=False, after_s=4.0), since=0.0)
    assert clock.pauses == [400, 30]


def test_people_are_told_once_per_outage_and_seldom_of_one_that_comes_and_goes():
    clock, lines = Clock(), []
    patience = clock.patience(100, say=lines.append)
    for _ in range(10):  # 300 s
        patience.wait("a", PASSING, since=clock.now)
        patience.worked("a")
    assert lines[0] == "the run waits up to 100 s for its model: down"
    assert len(lines) == 3


def test_a_run_that_is_being_stopped_does_not_wait():
    patience = Patience(3_600)
    patience.close()
    assert patience.wait("a", PASSING, since=0.0) is Next.GIVE_UP


class Scripted:
    """A breeder that ends as it is told, and counts."""

    def __init__(self, *results, name="a"):
        self.profile = LlmProfile(name=name, base_url="http://127.0.0.1:9/v1", model="m")
        self.results, self.asked = list(results), 0

    def breed(self, proposal, parents, check, *, known, background):
        self.asked += 1
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        return Breeding(result=result, usage=Usage(), rounds=1)


@pytest.fixture
def place(propose, make_trial, starters):
    parent = make_trial(starters["breakout"])
    return propose(parent), [parent]


def team(breeder, clock, **options):
    limit = options.pop("limit", 100)
    return Team([breeder], places=dict, patience=clock.patience(limit), **options)


def fill(team, place, seed_hashes=()):
    proposal, parents = place
    return team.breed(proposal, parents, lambda source: None, known=seed_hashes)


def test_an_outage_that_passes_is_waited_for(place):
    child, clock = object(), Clock()
    breeder = Scripted(PASSING, PASSING, child)
    assert fill(team(breeder, clock), place) is child
    assert clock.pauses == [30, 30]


def test_after_patience_is_at_its_end_nobody_asks_any_more(place):
    breeder, clock = Scripted(PASSING), Clock()
    working = team(breeder, clock, limit=40)
    assert fill(working, place) is PASSING
    asked = breeder.asked
    assert fill(working, place) is PASSING
    assert breeder.asked == asked == 3


def test_the_ceiling_of_a_generation_empties_a_place_and_ends_nothing(place):
    from evolution.breed import Barren

    clock = Clock()
    breeder = Scripted(Outage(reason="[budget.generation]", is_lasting=True, scope=Scope.GENERATION))
    working = team(breeder, clock)
    for _ in range(2):
        assert isinstance(fill(working, place), Barren)
    assert breeder.asked == 2


@pytest.mark.parametrize("outage", [PASSING, LASTING, Outage(reason="spent", is_lasting=True, scope=Scope.GENERATION)])
def test_offline_operators_fill_a_place_when_asked_to_and_say_in_whose_stead(place, outage):
    child = fill(team(Scripted(outage), Clock(), limit=0, falls_back=True), place)
    assert isinstance(child, Candidate)
    assert child.provenance.operator.startswith("offline/")
    assert child.provenance.operator.endswith(FALLBACK)
    assert child.provenance.model is None
    assert child.provenance.detail == f"llm/mutate: {outage.reason}"


def test_a_run_that_is_being_stopped_leaves_its_places_open_also_where_it_falls_back(place):
    hung_up = []
    working = team(Scripted(LASTING), Clock(), falls_back=True, hang_up=lambda: hung_up.append(True))
    working.close()
    assert fill(working, place) is LASTING
    assert hung_up == [True]


def test_a_replay_repeats_a_fallback_without_asking(place, make_trial, starters):
    from dataclasses import replace

    proposal, _ = place
    first = make_trial(starters["trend"])
    provenance = replace(first.candidate.provenance, operator="offline/x+fallback", detail="llm/mutate: it was down")
    before = replace(first, candidate=replace(first.candidate, provenance=provenance))
    breeder = Scripted(object())
    child = fill(team(breeder, Clock(), replayed={proposal.id: before}), place)
    assert child.provenance.detail == "llm/mutate: it was down"
    assert child.provenance.operator.endswith(FALLBACK)
    assert breeder.asked == 0


def several(clock, *breeders, **options):
    return Team(breeders, places=dict, patience=clock.patience(options.pop("limit", 100)), **options)


@pytest.mark.parametrize("outage", [LASTING, PASSING, SPENT])
@pytest.mark.parametrize("falls_back", [False, True])
def test_one_dead_profile_does_not_end_the_others(propose, make_trial, starters, outage, falls_back):
    parent, child = make_trial(starters["breakout"]), object()
    dead, alive = Scripted(outage, name="dead"), Scripted(child, name="alive")
    working = several(Clock(), dead, alive, falls_back=falls_back)
    for seed in range(12):
        assert fill(working, (propose(parent, seed=seed, index=seed), [parent])) is child
    assert 1 <= dead.asked <= 5, "given up once, and not asked again"
    assert alive.asked == 12


def test_when_all_are_dead_the_run_stops(place):
    one, two = Scripted(LASTING, name="one"), Scripted(LASTING, name="two")
    working = several(Clock(), one, two)
    for _ in range(3):
        assert fill(working, place) is LASTING
    assert (one.asked, two.asked) == (1, 1)


def test_a_ceiling_of_the_run_ends_it_for_all(place):
    spent = Outage(reason="[budget.run]", is_lasting=True, scope=Scope.RUN)
    one, two = Scripted(spent, name="one"), Scripted(spent, name="two")
    working = several(Clock(), one, two)
    for _ in range(3):
        assert fill(working, place) is spent
    assert one.asked + two.asked == 1


@pytest.mark.parametrize("asked", ["one", "two"])
def test_a_place_that_was_begun_goes_on_with_who_was_asked(place, asked):
    """Its answers are stored, and belong to that profile's questions."""
    from evolution.llm.bandit import Place
    from evolution.llm.budget import Charge

    one, two = Scripted(object(), name="one"), Scripted(object(), name="two")
    begun = {place[0].id: Place(profile=asked, cost=Charge())}
    working = Team([one, two], places=lambda: begun, patience=Clock().patience(100))
    working.begin(())
    fill(working, place)
    assert (one.asked, two.asked) == ((1, 0) if asked == "one" else (0, 1))


def test_a_resumed_run_knows_that_its_profile_has_answered_before(place, make_trial, starters):
    """Else one question that nobody can answer would stop each start of the run at the same place."""
    from dataclasses import replace

    from evolution.breed import Barren
    from evolution.llm.bandit import Place
    from evolution.llm.budget import Charge

    before = make_trial(starters["trend"], index=1, operator="llm/mutate")
    provenance = replace(before.candidate.provenance, model="m")
    before = replace(before, candidate=replace(before.candidate, provenance=provenance))
    places = {before.candidate.id: Place(profile="a", cost=Charge())}
    working = Team([Scripted(SPENT)], places=lambda: places, patience=Clock().patience(100))
    working.begin([before])
    assert isinstance(fill(working, place), Barren)


@pytest.mark.parametrize("outage", [PASSING, LASTING, SPENT])
def test_a_replay_leaves_empty_what_an_outage_left_empty(place, outage):
    """A place that stayed empty in a model's stead too, or that was given up for the others' sake."""
    from evolution.breed import Barren

    proposal, _ = place
    barren = Barren(proposal=proposal, reason="as it was")
    again = fill(team(Scripted(outage), Clock(), limit=0, replayed={proposal.id: barren.as_trial()}), place)
    assert again == barren
