"""Made-up nights: trials, entries and refusals as the store would give them, with any text in any field."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.llm.spending import ProfileSpending, Spending
from evolution.llm.usage import Usage
from evolution.morning import Curve, Stored, morning_of
from evolution.pool import Refusal
from evolution.pool.card import AdmissionCard, CheckResult, EvidenceNote
from evolution.pool.entry import Binding, EntryStatus, PoolEntry
from evolution.run import Funnel, GenerationSummary, RunFacts, RunRecord, RunStatus
from evolution.story import memory_of, operators_of
from evolution.summary import RunSummary, best_trials, refusals_by_check
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Objectives, Scorecard
from gates.findings import Finding
from runtime.source import StrategySource

START = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)
RUN = "r-20261130-001"

CODE = '''class S(Strategy):
    """A rule."""

    window = param(%d, low=5, high=200)

    def on_bar(self, bar):
        self.target(1.0)
'''


def metrics(total_return=0.2):
    return Metrics(
        total_return=total_return,
        cagr=0.1,
        sharpe=0.9,
        sortino=1.1,
        calmar=0.5,
        max_drawdown=0.2,
        turnover=6.0,
        exposure=0.5,
        trades=12,
        fees=100.0,
        final_equity=120_000.0,
        seed_score=0.8,
    )


def scorecard(score=0.5, *, vetoes=(), symbol="AAPL", fold="train-1"):
    return Scorecard(
        cells=(CellResult(symbol=symbol, fold=fold, metrics=metrics(), buy_and_hold=metrics(0.4), ruined=False),),
        objectives=Objectives(sharpe=1.0, calmar=0.5, turnover=8.0),
        violation=1.0 if vetoes else 0.0,
        vetoes=vetoes,
        score=score,
        benchmark_score=0.4,
        beats_buy_and_hold=score > 0.4,
        trades=40,
        max_drawdown=0.2,
    )


def trial(  # one knob for each thing that a test may want to be odd
    generation,
    index,
    *,
    outcome=TrialOutcome.SCORED,
    score=0.5,
    parents=(),
    operator="offline/param_jitter",
    detail="",
    reason="",
    gate=None,
    findings=(),
    vetoes=(),
    code=None,
    symbol="AAPL",
    fold="train-1",
):
    has_card = outcome in {TrialOutcome.SCORED, TrialOutcome.VETOED}
    return Trial(
        candidate=Candidate(
            id=candidate_id(generation, index),
            run_id=RUN,
            generation=generation,
            index=index,
            source=StrategySource.from_text(CODE % (10 + index) if code is None else code),
            provenance=Provenance(operator=operator, parents=tuple(parents), seed=None, detail=detail),
        ),
        outcome=outcome,
        reason=reason,
        gate=gate,
        findings=findings,
        scorecard=scorecard(score, vetoes=vetoes, symbol=symbol, fold=fold) if has_card else None,
        behaviour="b" * 64 if has_card else None,
        cpu_s=0.25,
        wall_s=0.5,
    )


def finding(message, rule="import-not-allowed", gate=1):
    return Finding(gate=gate, rule=rule, line=1, column=1, message=message, hint="")


def entry(
    number, of, *, status=EntryStatus.CANDIDATE, sentence="PSR: 0.93; must be above 0.80", models=(), note="an alarm"
):
    return PoolEntry(
        number=number,
        source=of.candidate.source,
        run_id=RUN,
        candidate_id=of.candidate.id,
        status=status,
        score=of.scorecard.score,
        binding=Binding(dataset="d", dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="2"),
        models=tuple(models),
        card=AdmissionCard(
            checks=(
                CheckResult(name="validation-psr", figure=0.93, limit=0.8, passed=True, sentence=sentence),
                CheckResult(name="renamed-since", figure=None, limit=0.0, passed=False, sentence=sentence),
            ),
            notes=(
                EvidenceNote(name="overfitting", figure=0.5, is_alarming=True, sentence=note),
                EvidenceNote(name="alpha", figure=1.0, is_alarming=False, sentence=note),
            ),
        ),
        created=START,
    )


def refusal(of, check="deflated-sharpe", figure=0.05, limit=0.10, sentence="0.05; must be above 0.10"):
    return Refusal(candidate_id=of.candidate.id, check=check, figure=figure, limit=limit, sentence=sentence)


@dataclass
class MadeUp:
    """A night, put together as ``read_stored`` does."""

    trials: tuple
    entries: tuple = ()
    refusals: tuple = ()
    status: RunStatus = RunStatus.FINISHED
    story: dict = None
    plan: dict = None
    note: str = ""
    dataset: str = "us-large-caps"
    profile: str | None = None
    spending: Spending = field(default_factory=lambda: Spending(profiles=()))
    control: tuple | None = None
    is_cut_short: bool = False

    def stored(self):
        outcomes = {each: sum(one.outcome is each for one in self.trials) for each in TrialOutcome}
        by_gate = {gate: sum(one.gate == gate for one in self.trials) for gate in (1, 2, 3)}
        generations = sorted({one.candidate.generation for one in self.trials})
        record = RunRecord(
            id=RUN,
            facts=RunFacts(
                seed=7,
                plan=self.plan or {},
                dataset=self.dataset,
                dataset_sha256="d" * 64,
                config_hash="c" * 64,
                engine_version="2",
                profile=self.profile,
                note=self.note,
            ),
            status=self.status,
            created=START,
            finished=None if self.status is RunStatus.RUNNING else START + timedelta(hours=7),
            story=self.story or {},
        )
        summary = RunSummary(
            record=record,
            funnel=Funnel(outcomes=outcomes, rejected_by_gate=by_gate),
            best=best_trials(self.trials),
            findings=(),
            generations=tuple(
                GenerationSummary(generation=each, hypervolume=2.0 + each, counts={"scored": 3}) for each in generations
            ),
            refusals=refusals_by_check(self.refusals),
            refused=len({one.candidate_id for one in self.refusals}),
            entries=self.entries,
            spending=self.spending,
            is_cut_short=self.is_cut_short,
            memory=memory_of(self.trials),
            operators=operators_of(self.trials),
        )
        return Stored(summary, tuple(self.trials), tuple(self.refusals), self.control, 0.0)

    def morning(self, curves=None):
        return morning_of(self.stored(), curves or {}, made=START + timedelta(hours=9))


def curve(length=120, name="train-1"):
    stamps = tuple(1_000_000_000 + 86_400 * day for day in range(length))
    growth = tuple(1.0 + 0.004 * day - 0.05 * (day % 7 == 0) for day in range(length))
    falls = tuple(0.05 * (day % 7 == 0) for day in range(length))
    return Curve(
        stamps=stamps,
        strategy=growth,
        benchmark=tuple(2 * each - 1 for each in growth),
        strategy_fall=falls,
        benchmark_fall=falls,
        folds=((name, stamps[0]), ("train-2", stamps[length // 2])),
        deepest=(0.05, 0.07),
    )


ARM = {
    "run_id": "r-20261130-002",
    "evaluations": 144,
    "front": 9,
    "train_volume": 12.5,
    "best_train_score": 0.7,
    "looked_at": 5,
    "validation_volume": 9.25,
    "best_validation_score": None,
    "validation_psr": 0.6,
}


@pytest.fixture
def full_night():
    """A night with one of everything."""
    seeds = [trial(0, index, operator="seed/trend", score=0.2) for index in range(3)]
    child = trial(1, 0, parents=("g000-c000", "g000-c001"), detail="window: 10 -> 12", score=0.6)
    best = trial(2, 0, parents=("g001-c000",), detail="exit of the second parent", score=0.8)
    fallen = [
        trial(1, 1, outcome=TrialOutcome.REJECTED, gate=1, findings=(finding("import of os"),), reason="gate 1"),
        trial(1, 2, outcome=TrialOutcome.REJECTED, gate=1, findings=(finding("import of sys"),), reason="gate 1"),
        trial(1, 3, outcome=TrialOutcome.KILLED, reason="ran past 10.0 s of CPU time"),
        trial(1, 4, outcome=TrialOutcome.VETOED, vetoes=("maximum drawdown 31.00% in train-1 (limit 30.00%)",)),
        trial(1, 5, outcome=TrialOutcome.VETOED, vetoes=("maximum drawdown 45.50% in train-4 (limit 30.00%)",)),
        trial(1, 6, outcome=TrialOutcome.DUPLICATE, reason="orders the same as g000-c001 in the first folds"),
    ]
    spent = ProfileSpending(
        profile="big",
        model="m-1",
        usage=Usage(calls=4, prompt_tokens=9_000, completion_tokens=800),
        money=0.5,
        currency="USD",
    )
    return MadeUp(
        trials=(*seeds, child, *fallen, best),
        entries=(entry(1, best),),
        refusals=(refusal(child),),
        story={"end": "all generations are done", "arms": {"evolution": ARM, "control": ARM}},
        spending=Spending(profiles=(spent,)),
        control=(
            GenerationSummary(generation=0, hypervolume=None, counts={}),
            GenerationSummary(generation=1, hypervolume=1.5, counts={}),
        ),
        profile="big",
    )


@pytest.fixture
def make():
    """The pieces, for nights of a test's own."""
    import types

    return types.SimpleNamespace(
        night=MadeUp, trial=trial, entry=entry, refusal=refusal, finding=finding, curve=curve, arm=ARM, replace=replace
    )
