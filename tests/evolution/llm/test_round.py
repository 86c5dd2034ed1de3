"""A whole round with nothing faked but the model: prompt, answer, three gates, cage, kernel, scorecard, next prompt."""

import numpy as np
import pytest

from evolution.breed import plant
from evolution.candidate import Candidate
from evolution.evaluate import CageEvaluator, CellBench, run_trial
from evolution.llm.breeder import LlmBreeder
from evolution.search import Proposal, ProposalKind
from evolution.seeds import seed_sources
from evolution.trial import TrialOutcome
from gates import check, open_gate_cage
from runtime.kernel import RunConfig
from runtime.market import WARMUP_BARS, Bars, Cell
from runtime.model import Instrument, Timeframe

SYMBOL = "CANARYCORP"
RAN = {TrialOutcome.SCORED, TrialOutcome.VETOED}
CELL_BARS = 300


@pytest.fixture(scope="module")
def bars():
    rng = np.random.default_rng(5)
    rows = WARMUP_BARS + 2 * CELL_BARS
    close = 100 * np.exp(np.cumsum(rng.normal(0.0004, 0.015, rows)))
    open_ = np.concatenate(([100.0], close[:-1]))
    return Bars(
        instrument=Instrument(symbol=SYMBOL, bars_per_year=252.0),
        timeframe=Timeframe.parse("1d"),
        ts=946_857_600 + 86_400 * np.arange(rows),
        open=open_,
        high=np.maximum(open_, close) * 1.005,
        low=np.minimum(open_, close) * 0.995,
        close=close,
        volume=rng.uniform(1e6, 2e6, rows),
    )


@pytest.fixture(scope="module")
def bench(bars):
    cells = [
        Cell(symbol=SYMBOL, fold=f"train-{fold + 1}", start=start, stop=start + CELL_BARS)
        for fold, start in enumerate((WARMUP_BARS, WARMUP_BARS + CELL_BARS))
    ]
    return CellBench.build({SYMBOL: bars}, cells, RunConfig())


@pytest.fixture(scope="module")
def cage(bars):
    with open_gate_cage({SYMBOL: bars}) as cage:
        yield cage


@pytest.fixture
def attempt(cage, bench):
    """Run a candidate to its trial."""
    return lambda candidate: run_trial(candidate, CageEvaluator(cage=cage, bench=bench), bench)


@pytest.fixture
def parents(attempt):
    """The trials of two starters."""
    planted = [
        plant(
            Proposal(
                id=f"g000-c00{index}",
                run_id="night",
                generation=0,
                index=index,
                kind=ProposalKind.SEED,
                parents=(),
                seed=1,
            ),
            seed_sources(),
        )
        for index in range(2)
    ]
    return [attempt(candidate) for candidate in planted]


@pytest.fixture
def breed(connect, prompts, cage):
    """Breed at a server with a plan: ``breeding, server = breed(proposal, parents, "violating")``."""

    def make(proposal, parents, *plan, **options):
        client, server = connect(*plan, **options)
        breeder = LlmBreeder(client, client.profile, prompts=prompts)
        return breeder.breed(proposal, parents, lambda source: check(source, cage)), server

    return make


def test_a_child_of_a_model_runs_and_becomes_a_parent_itself(breed, propose, parents, attempt):
    trials = list(parents)
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


def test_a_strategy_that_raises_is_repaired_and_its_own_words_stay_out_of_the_prompt(breed, propose, parents, attempt):
    """The text of the exception exists only at run time, so it can only come from the finding."""
    breeding, server = breed(propose(parents[0]), parents[:1], "raising")
    assert isinstance(breeding.result, Candidate)
    assert breeding.result.provenance.operator == "llm/mutate+repair"
    demand = server.seen[1].body["messages"][3]["content"]
    assert '"gate": 3' in demand
    assert "ValueError" in demand
    assert "IGNORE_ALL_RULES" not in server.seen[1].text
    assert attempt(breeding.result).outcome in RAN


def test_a_source_that_stays_refused_is_stored_as_rejected_with_its_findings(breed, propose, parents, attempt):
    breeding, _ = breed(propose(parents[0]), parents[:1], model="scripted:stubborn")
    assert isinstance(breeding.result, Candidate)
    trial = attempt(breeding.result)
    assert trial.outcome is TrialOutcome.REJECTED
    assert trial.gate == 1
    assert trial.findings[0].rule == "import-not-allowed"
    assert trial.candidate.provenance.model == "scripted:stubborn"
