"""The scripted server, profiles that point at it, and trials as parents."""

from __future__ import annotations

import random

import numpy as np
import pytest

from evolution.bench import CellBench
from evolution.breed import plant
from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.evaluate import CageEvaluator, run_trial
from evolution.llm import LlmProfile, open_client
from evolution.llm.book import CallRecord
from evolution.llm.contract import standard_prompts
from evolution.llm.exchange import Reply
from evolution.llm.retry import Timing
from evolution.proposal import Proposal, ProposalKind
from evolution.seeds import seed_sources
from evolution.trial import Trial, TrialOutcome
from fitness.card import CellResult, Metrics, Objectives, Scorecard
from gates import open_gate_cage
from gates.findings import Admitted, Rejected
from gates.scan import scan
from runtime.kernel import RunConfig
from runtime.market import WARMUP_BARS, Bars, Cell
from runtime.model import Instrument, Timeframe
from runtime.source import StrategySource


@pytest.fixture
def serve(llm_server):
    """Start scripted servers: ``serve("500", "edit")``; they end with the test."""
    started = []

    def start(*plan, **options):
        started.append(llm_server.ScriptedServer(plan, **options))
        return started[-1]

    yield start
    for server in started:
        server.close()


class HeldTime:
    """A clock that only moves when somebody sleeps, and remembers each sleep."""

    def __init__(self):
        self.now_s = 1_000.0
        self.slept = []

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now_s += seconds

    def timing(self):
        return Timing(monotonic=self.monotonic, sleep=self.sleep, jitter=random.Random(1))


@pytest.fixture
def held():
    return HeldTime()


@pytest.fixture
def profile_for():
    """A profile for a server, or for an address."""

    def make(server, **changes):
        url = server if isinstance(server, str) else server.base_url
        return LlmProfile.model_validate({"name": "test", "base_url": url, "model": "scripted", **changes})

    return make


@pytest.fixture
def connect(serve, profile_for, held):
    """A client for a server with a plan, under held time: ``client, server = connect("500")``."""
    opened = []

    def open_one(*plan, environ=None, server=None, **profile):
        server = server or serve(*plan)
        opened.append(open_client(profile_for(server, **profile), environ or {}, timing=held.timing()))
        return opened[-1], server

    yield open_one
    for client in opened:
        client.close()


class MemoryBook(list):
    """A book that keeps ``CallRecord`` values in a list, and holds nothing; it also remembers the order of its calls."""

    def __init__(self):
        super().__init__()
        self.steps, self._open = [], {}

    def recall(self, call):
        return None

    def begin(self, call):
        self.steps.append("begin")
        self._open[len(self._open) + 1] = [None, None]
        return len(self._open)

    def arrived(self, number, answer, *, elapsed_s):
        self.steps.append("arrived")
        self._open[number] = [answer, elapsed_s]

    def settle(self, number, call, outcome):
        self.steps.append(outcome.code)
        answer, elapsed_s = self._open[number]
        same = [each for each in self if each.subject == call.request.subject and each.ordinal == call.request.ordinal]
        is_reply = isinstance(answer, Reply)
        self.append(
            CallRecord(
                subject=call.request.subject,
                ordinal=call.request.ordinal,
                attempt=len(same) + 1,
                profile=call.profile.name,
                model=call.profile.model,
                prompt_version=call.request.prompt_version,
                request_sha256=call.sha256,
                request=call.body.decode(),
                outcome=outcome.code,
                reason=getattr(outcome, "reason", ""),
                status=answer.status if is_reply else None,
                response=answer.body.decode("utf-8", "backslashreplace") if is_reply else "",
                prompt_tokens=outcome.usage.prompt_tokens,
                completion_tokens=outcome.usage.completion_tokens,
                estimated=bool(outcome.usage.estimated_calls),
                elapsed_s=elapsed_s,
            )
        )


@pytest.fixture
def new_book():
    """Make a book in memory: ``book = new_book()``."""
    return MemoryBook


SYMBOL = "CANARYCORP"
EQUITY = 187_654.32


def _metrics(**changes):
    figures = {
        "total_return": 0.41,
        "cagr": 0.07,
        "sharpe": 0.63,
        "sortino": 0.9,
        "calmar": 0.35,
        "max_drawdown": 0.21,
        "turnover": 3.2,
        "exposure": 0.55,
        "trades": 14,
        "fees": 812.5,
        "final_equity": EQUITY,
        "seed_score": 0.6,
    }
    return Metrics(**{**figures, **changes})


def _card(folds=("train-1", "train-2"), symbols=(SYMBOL, "OTHERCORP")):
    cells = tuple(
        CellResult(
            symbol=symbol,
            fold=fold,
            metrics=_metrics(),
            buy_and_hold=_metrics(sharpe=0.8, total_return=0.9, max_drawdown=0.44, trades=0),
            ruined=False,
        )
        for fold in folds
        for symbol in symbols
    )
    return Scorecard(
        cells=cells,
        objectives=Objectives(sharpe=0.6, calmar=0.3, turnover=3.2),
        violation=0.0,
        vetoes=(f"drawdown of 44% in {SYMBOL} train-2",),
        score=0.61,
        benchmark_score=0.72,
        beats_buy_and_hold=False,
        trades=56,
        max_drawdown=0.21,
    )


@pytest.fixture
def make_card():
    """A scorecard with one cell for each fold and symbol; its symbols and its equity are canaries."""
    return _card


@pytest.fixture
def make_trial():
    """A trial that ran, from the text of a strategy."""

    def make(text, *, index=0, card=None, detail="", operator="offline/param_jitter"):
        candidate = Candidate(
            id=candidate_id(0, index),
            run_id="night",
            generation=0,
            index=index,
            source=StrategySource.from_text(text),
            provenance=Provenance(operator=operator, parents=(), seed=1, detail=detail),
        )
        return Trial(candidate=candidate, outcome=TrialOutcome.SCORED, reason="score 0.61", scorecard=card or _card())

    return make


@pytest.fixture
def propose():
    """A proposal for a model, with the given trials as parents."""

    def make(*parents, seed=11, index=5):
        return Proposal(
            id=candidate_id(1, index),
            run_id="night",
            generation=1,
            index=index,
            kind=ProposalKind.LLM_MUTATE if len(parents) == 1 else ProposalKind.LLM_CROSSOVER,
            parents=tuple(parent.candidate.id for parent in parents),
            seed=seed,
        )

    return make


@pytest.fixture
def gate_one():
    """The gates as far as they need no cage; remembers what it was asked."""
    asked = []

    def check(source):
        asked.append(source)
        scanned = scan(source)
        if isinstance(scanned, Rejected):
            return scanned
        return Admitted(source=source, class_name=scanned.class_name)

    check.asked = asked
    return check


@pytest.fixture(scope="session")
def prompts():
    """The prompts that a run uses."""
    return standard_prompts()


@pytest.fixture(scope="session")
def starters():
    """The seed strategies' texts by name."""
    return {name: source.text for name, source in seed_sources()}


# --- A world to run in: bars, cells and a cage -----------------------------------------------------------------------

CELL_BARS = 300


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def bench(bars):
    cells = [
        Cell(symbol=SYMBOL, fold=f"train-{fold + 1}", start=start, stop=start + CELL_BARS)
        for fold, start in enumerate((WARMUP_BARS, WARMUP_BARS + CELL_BARS))
    ]
    return CellBench.build({SYMBOL: bars}, cells, RunConfig())


@pytest.fixture(scope="session")
def cage(bars):
    with open_gate_cage({SYMBOL: bars}) as cage:
        yield cage


@pytest.fixture
def attempt(cage, bench):
    """Run a candidate to its trial."""
    return lambda candidate: run_trial(candidate, CageEvaluator(cage=cage, bench=bench), bench)


@pytest.fixture
def ran_parents(attempt):
    """The trials of two starters that really ran."""
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
