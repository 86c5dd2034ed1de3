"""Of several models the one that brings more accepted improvement for its cost is asked more often, and chance has a seed."""

from collections import Counter
from dataclasses import replace

import pytest

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.llm.bandit import Place, Record, choose, gain, records
from evolution.llm.budget import Charge
from evolution.trial import Trial, TrialOutcome
from runtime.source import StrategySource


@pytest.fixture
def child(make_card):
    """A trial with a score and a parent: ``child(3, score=0.8, model="m")``."""

    def make(index, *, generation=1, score=0.8, parents=("g000-c000",), model="m", outcome=TrialOutcome.SCORED):
        ran = outcome in {TrialOutcome.SCORED, TrialOutcome.VETOED}
        candidate = Candidate(
            id=candidate_id(generation, index),
            run_id="night",
            generation=generation,
            index=index,
            source=StrategySource.from_text(f"x = {index}\n"),
            provenance=Provenance(operator="llm/mutate", parents=parents, seed=1, model=model),
        )
        card = replace(make_card(), score=score) if ran else None
        return Trial(candidate=candidate, outcome=outcome, reason="", scorecard=card)

    return make


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"score": 0.8}, 0.3),
        ({"score": 0.4}, 0.0),
        ({"score": 9.0}, 1.0),
        ({"score": None}, 0.0),
        ({"outcome": TrialOutcome.VETOED}, 0.0),
        ({"outcome": TrialOutcome.REJECTED}, 0.0),
        ({"model": None}, 0.0),
        ({"parents": ()}, 0.08),
    ],
)
def test_a_gain_is_accepted_improvement_over_the_better_parent(child, changes, expected):
    """A strategy from scratch is held against the benchmark, whose score is 0.72 here."""
    parent = child(0, generation=0, score=0.5)
    trial = child(1, **changes)
    assert gain(trial, {parent.candidate.id: parent}) == pytest.approx(expected)


def test_records_join_trials_with_who_was_asked_and_what_it_cost(child):
    trials = [child(0, generation=0, score=0.5), child(1), child(2, score=0.1), child(3)]
    places = {
        "g001-c001": Place(profile="a", cost=Charge(tokens=100, money=0.5)),
        "g001-c002": Place(profile="a", cost=Charge(tokens=300, money=1.5)),
        "g001-c003": Place(profile="b", cost=Charge(tokens=50, money=0.1)),
        "g002-c000": Place(profile="b", cost=Charge(tokens=9, money=9.0)),
        "g001-c009": Place(profile="gone", cost=Charge(tokens=9)),
    }
    in_tokens = records(["a", "b", "c"], trials, places, in_money=False)
    assert in_tokens["a"].costs == (100.0, 300.0)
    assert in_tokens["a"].gains == pytest.approx((0.3, 0.0))
    assert in_tokens["b"].costs == (50.0,)
    assert in_tokens["c"] == Record()
    assert records(["a"], trials, places, in_money=True)["a"].costs == (0.5, 1.5)


def test_a_choice_follows_from_the_proposal_s_seed_alone(propose, make_trial, starters):
    known = {"a": Record(), "b": Record()}
    parent = make_trial(starters["trend"])
    chosen = [choose(propose(parent, seed=seed), known) for seed in range(200)]
    assert chosen == [choose(propose(parent, seed=seed), known) for seed in range(200)]
    assert min(Counter(chosen).values()) > 60, "nothing is known yet, so both are tried"


def test_who_gains_more_for_its_cost_is_asked_more_often_and_the_other_is_not_forgotten(propose, make_trial, starters):
    parent = make_trial(starters["trend"])

    def share(known):
        return Counter(choose(propose(parent, seed=seed), known) for seed in range(400))["a"] / 400

    good, bad = Record(gains=(0.6,) * 10, costs=(100.0,) * 10), Record(gains=(0.1,) * 10, costs=(100.0,) * 10)
    assert share({"a": good, "b": bad}) > 0.9
    assert 0 < share({"a": bad, "b": good}) < 0.2
    cheap, dear = Record(gains=(0.3,) * 10, costs=(10.0,) * 10), Record(gains=(0.4,) * 10, costs=(100.0,) * 10)
    assert share({"a": cheap, "b": dear}) > 0.9


def test_models_that_cost_nothing_can_be_compared(propose, make_trial, starters):
    free = Record(gains=(0.5,), costs=(0.0,))
    assert choose(propose(make_trial(starters["trend"])), {"a": free, "b": free}) in {"a", "b"}


def test_a_single_model_gets_all_the_work(propose, make_trial, starters):
    assert choose(propose(make_trial(starters["trend"])), {"only": Record()}) == "only"
