"""Patience is shared, has an end, and gives way at once where waiting cannot help."""

import pytest

from evolution.candidate import Candidate
from evolution.llm import LlmProfile, Scope
from evolution.llm.breeder import Breeding, Outage
from evolution.llm.outcomes import Usage
from evolution.llm.team import FALLBACK, Patience, Team

PASSING = Outage(reason="down", is_lasting=False)
LASTING = Outage(reason="no key", is_lasting=True)


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
    assert [patience.wait(PASSING) for _ in range(5)] == [True, True, True, True, False]
    assert clock.pauses == [30, 30, 30, 10]
    assert patience.gave_up is PASSING


def test_a_success_begins_it_anew():
    clock = Clock()
    patience = clock.patience(50)
    for _ in range(6):
        assert patience.wait(PASSING)
        patience.worked()


@pytest.mark.parametrize(("limit", "outage"), [(100, LASTING), (0, PASSING)])
def test_where_waiting_cannot_help_nobody_waits(limit, outage):
    clock = Clock()
    patience = clock.patience(limit)
    assert not patience.wait(outage)
    assert clock.pauses == []


def test_people_are_told_once_per_outage():
    clock, lines = Clock(), []
    patience = clock.patience(100, say=lines.append)
    patience.wait(PASSING)
    patience.wait(PASSING)
    assert lines == ["the run waits up to 100 s for its model: down"]
    patience.worked()
    patience.wait(PASSING)
    assert len(lines) == 2


def test_a_run_that_is_being_stopped_does_not_wait():
    patience = Patience(3_600)
    patience.close()
    assert not patience.wait(PASSING)


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
