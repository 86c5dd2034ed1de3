"""Filling a place offline: new sources only, the same every time, and provenance that tells what was really done."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from evolution import breed
from evolution.breed import ATTEMPTS, Barren, breed_offline, plant, relatives_of
from evolution.operators import NoVariation, Relative, Variation, canonical_hash, vary
from evolution.proposal import Proposal, ProposalKind
from evolution.seeds import seed_sources
from evolution.trial import TrialOutcome
from fitness.card import Objectives
from runtime.source import StrategySource

SEEDS = seed_sources()
PARENTS = [source for _, source in SEEDS[:2]]


def proposal(kind=ProposalKind.OFFLINE_MUTATE, *, seed=11, index=3, generation=2):
    parents = {ProposalKind.SEED: 0}.get(kind, 2 if kind.is_crossover else 1)
    return Proposal(
        id=f"g{generation:03d}-c{index:03d}",
        run_id="r1",
        generation=generation,
        index=index,
        kind=kind,
        parents=tuple(f"g001-c00{number}" for number in range(parents)),
        seed=seed,
    )


@pytest.fixture
def scripted(monkeypatch):
    """Operators that make a numbered child per draw; ``barren`` draws make none."""
    calls = []

    def fake(parents, rng, *, crossover):
        calls.append((len(parents), crossover, rng.random()))
        if crossover in fake.barren:
            return NoVariation(reason="nothing fits")
        name = "splice" if crossover else "jitter"
        return Variation(
            source=StrategySource(b"child %d" % len(calls)), operator=f"offline/{name}", detail="one change"
        )

    fake.barren = set()
    fake.calls = calls
    monkeypatch.setattr(breed, "vary", fake)
    return fake


def child_hash(number):
    return canonical_hash(StrategySource(b"child %d" % number))


def test_a_starter_is_planted_unchanged():
    candidate = plant(proposal(ProposalKind.SEED, index=1, generation=0), SEEDS)
    assert candidate.source == SEEDS[1][1]
    assert (candidate.id, candidate.run_id, candidate.generation, candidate.index) == ("g000-c001", "r1", 0, 1)
    assert candidate.provenance.operator == f"seed/{SEEDS[1][0]}"
    assert (candidate.provenance.parents, candidate.provenance.seed, candidate.provenance.model) == ((), None, None)


def test_a_starter_that_is_known_already_is_barren():
    known = {canonical_hash(SEEDS[1][1])}
    result = plant(proposal(ProposalKind.SEED, index=1, generation=0), SEEDS, known)
    assert isinstance(result, Barren)
    assert SEEDS[1][0] in result.reason


@pytest.mark.parametrize(("kind", "index"), [(ProposalKind.OFFLINE_MUTATE, 0), (ProposalKind.SEED, 99)])
def test_planting_what_is_no_starter_is_refused(kind, index):
    with pytest.raises(ValueError, match="does not name one of"):
        plant(proposal(kind, index=index), SEEDS)


def tuning(**changes):
    """A place that is to be tuned, with a parent and two relatives whose numbers differ."""
    asked = replace(proposal(ProposalKind.OFFLINE_TUNE), relatives=("g001-c000", "g001-c001"))
    parent = SEEDS[0][1]
    other = StrategySource.from_text(parent.text.replace("param(12,", "param(20,"))
    relatives = [
        Relative(source=source, objectives=Objectives(sharpe=size, calmar=size, turnover=5.0), violation=0.0)
        for source, size in ((parent, 0.2), (other, 0.9))
    ]
    return {"proposal": asked, "parents": [parent], "known": (), "relatives": relatives} | changes


def test_a_place_is_tuned_from_what_its_relatives_came_to():
    candidate = breed_offline(**tuning())
    assert candidate.provenance.operator == "offline/tune"
    assert candidate.provenance.parents == ("g001-c000",)
    assert "from 2 relatives" in candidate.provenance.detail
    assert breed_offline(**tuning()) == candidate
    assert breed_offline(**tuning(known={candidate.structure})).source != candidate.source


def test_a_tuning_that_finds_nothing_new_becomes_a_mutation(monkeypatch):
    monkeypatch.setattr(breed, "tune", lambda *_: NoVariation(reason="no number found a better place"))
    candidate = breed_offline(**tuning())
    assert candidate.provenance.operator not in {"offline/tune", ""}


def test_relatives_are_what_the_run_found_out_about_them(told):
    trials = {trial.candidate.id: trial for trial in (told(0, sharpe=0.3), told(1, sharpe=0.7, violation=0.5))}
    asked = replace(proposal(ProposalKind.OFFLINE_TUNE), relatives=("g000-c001", "g000-c000"))
    first, second = relatives_of(asked, trials)
    assert (first.objectives.sharpe, first.violation, second.objectives.sharpe) == (0.7, 0.5, 0.3)
    assert first.source == trials["g000-c001"].candidate.source
    assert relatives_of(proposal(), trials) == ()


def test_the_provenance_tells_operator_parents_and_the_seed_that_worked(scripted):
    candidate = breed_offline(proposal(), PARENTS[:1], known={child_hash(1), child_hash(2)})
    assert candidate.source.data == b"child 3"
    assert candidate.provenance.operator == "offline/jitter"
    assert candidate.provenance.parents == ("g001-c000",)
    assert candidate.provenance.detail == "one change"
    assert candidate.provenance.model is None
    assert random.Random(candidate.provenance.seed).random() == scripted.calls[2][2]


def test_each_attempt_draws_from_a_seed_of_its_own(scripted):
    breed_offline(proposal(), PARENTS[:1], known={child_hash(number) for number in range(1, 100)})
    assert len(scripted.calls) == ATTEMPTS
    assert len({draw for *_, draw in scripted.calls}) == ATTEMPTS


def test_a_place_without_a_new_source_is_barren_and_says_so(scripted):
    result = breed_offline(proposal(), PARENTS[:1], known={child_hash(number) for number in range(1, 100)})
    assert isinstance(result, Barren)
    assert result.reason == f"no new source in {ATTEMPTS} attempts: every variation that was drawn is known already"
    trial = result.as_trial()
    assert (trial.outcome, trial.reason, trial.candidate.id) == (TrialOutcome.BARREN, result.reason, "g002-c003")
    assert trial.candidate.source.data == b""
    assert trial.candidate.provenance.operator == "offline/mutate"


def test_an_operator_that_finds_nothing_gives_its_reason(scripted):
    scripted.barren = {False}
    assert "nothing fits" in breed_offline(proposal(), PARENTS[:1], known=()).reason


def test_a_crossover_uses_both_parents(scripted):
    candidate = breed_offline(proposal(ProposalKind.OFFLINE_CROSSOVER), PARENTS, known=())
    assert candidate.provenance.operator == "offline/splice"
    assert candidate.provenance.parents == ("g001-c000", "g001-c001")
    assert scripted.calls[0][:2] == (2, True)


def test_a_crossover_that_finds_nothing_becomes_a_mutation_and_its_provenance_says_so(scripted):
    scripted.barren = {True}
    candidate = breed_offline(proposal(ProposalKind.OFFLINE_CROSSOVER), PARENTS, known=())
    assert candidate.provenance.operator == "offline/jitter"
    assert candidate.provenance.parents == ("g001-c000",)
    assert scripted.calls[-1][:2] == (1, False)


def test_a_place_meant_for_a_model_is_filled_without_claiming_one(scripted):
    candidate = breed_offline(proposal(ProposalKind.LLM_MUTATE), PARENTS[:1], known=())
    assert candidate.provenance.operator == "offline/jitter"
    assert candidate.provenance.model is None


@pytest.mark.parametrize(
    ("kind", "parents"),
    [(ProposalKind.SEED, []), (ProposalKind.OFFLINE_MUTATE, []), (ProposalKind.OFFLINE_CROSSOVER, PARENTS[:1])],
)
def test_parents_that_do_not_match_the_proposal_are_refused(kind, parents):
    with pytest.raises(ValueError, match="g002-c003"):
        breed_offline(proposal(kind), parents, known=())


@pytest.mark.parametrize("kind", [ProposalKind.OFFLINE_MUTATE, ProposalKind.OFFLINE_CROSSOVER])
def test_real_operators_make_the_same_new_child_every_time(kind):
    parents = PARENTS[: 2 if kind.is_crossover else 1]
    known = {canonical_hash(parent) for parent in parents}
    first, again = (breed_offline(proposal(kind), parents, known) for _ in range(2))
    assert first == again
    assert canonical_hash(first.source) not in known
    other = breed_offline(proposal(kind), parents, {*known, canonical_hash(first.source)})
    assert canonical_hash(other.source) != canonical_hash(first.source)


def test_the_recorded_seed_reproduces_the_child():
    candidate = breed_offline(proposal(), PARENTS[:1], known=())
    again = vary(PARENTS[:1], random.Random(candidate.provenance.seed), crossover=False)
    assert again.source == candidate.source
