"""A whole round with nothing faked but the model: prompt, answer, three gates, cage, kernel, scorecard, next prompt."""

import pytest

from evolution.candidate import Candidate
from evolution.llm.breeder import LlmBreeder
from evolution.trial import TrialOutcome
from gates import check

SYMBOL = "CANARYCORP"
RAN = {TrialOutcome.SCORED, TrialOutcome.VETOED}


@pytest.fixture
def breed(connect, prompts, cage):
    """Breed at a server with a plan: ``breeding, server = breed(proposal, parents, "violating")``."""

    def make(proposal, parents, *plan, **options):
        client, server = connect(*plan, **options)
        breeder = LlmBreeder(client, client.profile, prompts=prompts)
        return breeder.breed(proposal, parents, lambda source: check(source, cage)), server

    return make


def test_a_child_of_a_model_runs_and_becomes_a_parent_itself(breed, propose, ran_parents, attempt):
    trials = list(ran_parents)
    assert {trial.outcome for trial in trials} <= RAN
    for generation in range(2):
        breeding, server = breed(propose(trials[-1], seed=generation, index=generation), trials[-1:])
        assert isinstance(breeding.result, Candidate)
        trials.append(attempt(breeding.result))
        assert trials[-1].outcome in RAN, trials[-1].reason
        question = server.seen[0].body["messages"][1]["content"]
        assert SYMBOL not in question
        assert f"score {trials[-2].scorecard.score:.2f}" in question
    crossed, _ = breed(propose(trials[0], trials[1]), trials[:2])
    assert isinstance(crossed.result, Candidate)
    assert attempt(crossed.result).outcome in RAN


def test_a_strategy_that_raises_is_repaired_and_its_own_words_stay_out_of_the_prompt(
    breed, propose, ran_parents, attempt
):
    """The text of the exception exists only at run time, so it can only come from the finding."""
    breeding, server = breed(propose(ran_parents[0]), ran_parents[:1], "raising")
    assert isinstance(breeding.result, Candidate)
    assert breeding.result.provenance.operator == "llm/mutate+repair"
    demand = server.seen[1].body["messages"][3]["content"]
    assert '"gate": 3' in demand
    assert "ValueError" in demand
    assert "IGNORE_ALL_RULES" not in server.seen[1].text
    assert attempt(breeding.result).outcome in RAN


def test_a_source_that_stays_refused_is_stored_as_rejected_with_its_findings(breed, propose, ran_parents, attempt):
    breeding, _ = breed(propose(ran_parents[0]), ran_parents[:1], model="scripted:stubborn")
    assert isinstance(breeding.result, Candidate)
    trial = attempt(breeding.result)
    assert trial.outcome is TrialOutcome.REJECTED
    assert trial.gate == 1
    assert trial.findings[0].rule == "import-not-allowed"
    assert trial.candidate.provenance.model == "scripted:stubborn"
