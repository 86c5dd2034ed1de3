"""A small market, a ledger with one scored trial, and a runner that plays a strategy of chosen skill."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from figures import METRICS

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.interval import intervals_of
from evolution.ledger import TrialLedger
from evolution.pool import BenchRun, LookContext, Pool
from evolution.record import ActiveRecord
from evolution.run import RunFacts
from evolution.trial import Trial, TrialOutcome
from fitness import sharpe_sample
from fitness.card import CellResult, Objectives, Scorecard
from gates.findings import Admitted
from runtime.cage.outcome import CageEnd, CageOutcome
from runtime.kernel.report import RunConfig, RunEnd, RunReport
from runtime.market import WARMUP_BARS, Bars, DataSet, Vault
from runtime.market.dataset import digest
from runtime.market.split import make_split, rows_before, vault_cells
from runtime.model import Fill, Instrument, Side, Timeframe
from runtime.source import StrategySource
from runtime.store import open_engine

DAY = 86_400
FIRST = int(datetime(2010, 1, 1, tzinfo=UTC).timestamp())


class SteppingClock:
    """A minute passes at every look."""

    def __init__(self):
        self.now = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)

    def __call__(self):
        self.now += timedelta(minutes=1)
        return self.now


def walk(symbol, length, seed):
    """Bars of a random walk with a little drift."""
    returns = np.random.default_rng(seed).normal(0.0003, 0.01, length)
    close = 100.0 * np.cumprod(1.0 + returns)
    previous = np.concatenate(([100.0], close[:-1]))
    return Bars(
        instrument=Instrument(symbol=symbol, bars_per_year=365.0),
        timeframe=Timeframe(DAY),
        ts=FIRST + DAY * np.arange(length),
        open=previous,
        high=np.maximum(previous, close),
        low=np.minimum(previous, close),
        close=close,
        volume=np.full(length, 1e6),
    )


@dataclass(frozen=True)
class Market:
    """One registered set: what the search sees, and its vault."""

    dataset: DataSet
    vault: Vault


def make_market(length=1_600, name="walks", symbols=("AAA", "BBB")):
    whole = {symbol: walk(symbol, length, seed) for seed, symbol in enumerate(symbols)}
    # The split is made once, on the first 1,600 bars; later bars only ever append to the vault.
    split = make_split({symbol: bars.between(0, 1_600) for symbol, bars in whole.items()})
    search = {symbol: bars.between(0, rows_before(bars, split.validation_stop)) for symbol, bars in whole.items()}
    hidden = {
        symbol: bars.between(rows_before(bars, split.vault_start) - WARMUP_BARS, len(bars))
        for symbol, bars in whole.items()
    }
    return Market(
        dataset=DataSet(name=name, label="synthetic", timeframe=Timeframe(DAY), split=split, bars=search),
        vault=Vault(name=name, bars=hidden, cells=vault_cells(split, hidden), sha256=digest(hidden, split)),
    )


def play(bars, config, skill, rng, hold=5):
    """The report of a strategy that holds for some bars at a time and is right about them with a certain skill.

    Args:
        bars: The bars, warm-up rows first.
        config: ``config.start`` is the first row that is traded.
        skill: 0 is a coin, 1 knows the future, -1 knows it and is always wrong.
        rng: Makes the coin.
        hold: Bars between two decisions.
    """
    length, equity, weights = len(bars), [config.cash], []
    for row in range(length):
        if row < config.start or row + hold >= length:
            weights.append(0.0)
        elif (row - config.start) % hold == 0:
            rises = bars.close[row + hold] > bars.close[row]
            knows = rng.random() < abs(skill)
            weights.append(float((rises if skill > 0 else not rises) if knows else rng.random() < 0.5))
        else:
            weights.append(weights[-1])
        before = weights[row - 1] if row else 0.0
        change = bars.close[row] / bars.close[row - 1] - 1.0 if row else 0.0
        equity.append(equity[-1] * (1.0 + before * change))
    position = np.array(
        [weight * cash / price for weight, cash, price in zip(weights, equity[1:], bars.close, strict=True)]
    )
    fills = tuple(
        Fill(
            ts=datetime.fromtimestamp(int(bars.ts[row]), UTC),
            side=Side.BUY if weights[row] > weights[row - 1] else Side.SELL,
            quantity=1.0,
            price=float(bars.close[row]),
            fee=0.0,
            tag="",
            order_id=row,
        )
        for row in range(1, length)
        if weights[row] != weights[row - 1]
    )
    return RunReport(
        end=RunEnd.FINISHED,
        failure=None,
        first_tradable_bar=config.start,
        equity=np.array(equity),
        position=position,
        fills=fills,
        trades=(),
        refused=(),
        refused_count=0,
        open_orders=0,
        order_log=(),
        log=(),
        ruined=False,
    )


@dataclass
class ScriptedRunner:
    """A ``Runner`` whose strategy has a skill per situation, and which remembers what it was asked for."""

    train: float = 0.4
    costs: float | None = None
    """Skill on train when costs are higher than usual; None is ``train``."""
    delay: float | None = None
    """Skill on train when orders are delayed; None is ``train``."""
    jitter: float | None = None
    """Skill on shaken train bars; None is ``train``."""
    neighbour: float | None = None
    """Skill on train of every other source than the first one that was run; None is ``train``."""
    validation: float = 0.4
    vault: float = 0.6
    validation_hold: int = 5
    asked: list[tuple[str, RunConfig]] = field(default_factory=list)
    proved: list[tuple[str, RunConfig]] = field(default_factory=list)
    """Those of ``asked`` that were proof runs."""
    outcome: CageOutcome = field(
        default_factory=lambda: CageOutcome(end=CageEnd.FINISHED, reason="finished", payload=b"")
    )
    verdict: object = None
    change: object = None
    """Applied to every report."""
    proven: object = None
    """Applied to every report of a proof run."""
    first: object = None
    """The first source that was run."""

    def prove(self, source, bars, cells, config):
        self.proved.append((cells[0].fold.partition("-")[0], config))
        found = self.run(source, bars, cells, config)
        if self.proven is not None:
            reports = tuple(self.proven(report) for report in found.evaluation.reports)
            found.evaluation.reports = reports
        return found

    def run(self, source, bars, cells, config):
        part = cells[0].fold.partition("-")[0]
        is_shaken = "~" in cells[0].symbol
        self.first = self.first or source
        self.asked.append(("jitter" if is_shaken else part, config))
        usual = RunConfig()
        skill = getattr(self, part)
        if config.costs != usual.costs and self.costs is not None:
            skill = self.costs
        if config.decision_delay and self.delay is not None:
            skill = self.delay
        if is_shaken and self.jitter is not None:
            skill = self.jitter
        if source != self.first and self.neighbour is not None:
            skill = self.neighbour
        # The same coin for all versions of a strategy: what differs between them is their skill.
        rng = random.Random(self.first.sha256 + part)
        bench, reports = [], []
        for cell in cells:
            rows = bars[cell.symbol].between(cell.start - WARMUP_BARS, cell.stop)
            run = replace(config, start=WARMUP_BARS)
            report = play(rows, run, skill, rng, self.validation_hold if part == "validation" else 5)
            reports.append(self.change(report) if self.change else report)
            bench.append(SimpleNamespace(cell=cell, bars=rows, config=run, buy_and_hold=METRICS))
        finished = self.outcome.end is CageEnd.FINISHED
        evaluation = SimpleNamespace(
            verdict=self.verdict or Admitted(source=source, class_name="S"),
            outcome=self.outcome,
            reports=tuple(reports) if finished and self.verdict is None else (),
        )
        return BenchRun(cells=tuple(bench), evaluation=evaluation)


def make_card(**changes):
    cell = CellResult(symbol="AAA", fold="train-1", metrics=METRICS, buy_and_hold=METRICS, ruined=False)
    card = Scorecard(
        cells=(cell,),
        objectives=Objectives(sharpe=1.0, calmar=0.5, turnover=8.0),
        violation=0.0,
        vetoes=(),
        score=1.1,
        benchmark_score=0.4,
        beats_buy_and_hold=True,
        trades=40,
        max_drawdown=0.2,
    )
    return replace(card, **changes)


@dataclass
class House:
    """One home with everything in it, and short ways to use it."""

    home: object
    market: Market
    clock: SteppingClock
    engine: object = None
    ledger: TrialLedger = None
    pool: Pool = None
    run_id: str = ""
    made: int = 0
    url: str | None = None
    """Of a PostgreSQL database in place of the one in the home."""

    def __post_init__(self):
        self.reopen()

    def reopen(self):
        """What a new process would see."""
        self.engine = open_engine(self.home, self.url)
        self.ledger = TrialLedger(self.engine, now=self.clock)
        self.pool = Pool(self.engine, now=self.clock)

    def start_run(self, **changes):
        facts = RunFacts(
            seed=1,
            plan={},
            dataset=self.market.dataset.name,
            dataset_sha256=self.market.dataset.sha256,
            config_hash="c" * 64,
            engine_version="0.1.0",
        )
        self.run_id, self.made = self.ledger.start_run(replace(facts, **changes)).id, 0
        return self.run_id

    def noise_record(self, seed):
        """The record of a trial without skill on the train bars."""
        dataset = self.market.dataset
        cells = dataset.train_cells()
        intervals = tuple(
            replace(first, end=last.end)
            for symbol in dataset.symbols
            for first, *_, last in [
                [each for each in intervals_of(dataset.bars, cells) if each.symbol == symbol],
            ]
        )
        returns = np.random.default_rng(seed).normal(0, 0.01, 500)
        return ActiveRecord(intervals=intervals, sample=sharpe_sample(returns), returns=returns.astype("<f4").tobytes())

    def add_trial(self, code=None, *, model=None, outcome=TrialOutcome.SCORED, record=None, **card):
        if not self.run_id:
            self.start_run()
        index, self.made = self.made, self.made + 1
        trial = Trial(
            candidate=Candidate(
                id=candidate_id(0, index),
                run_id=self.run_id,
                generation=0,
                index=index,
                source=StrategySource(code or f"# {self.run_id} {index}".encode()),
                provenance=Provenance(operator="seed/x", parents=(), seed=None, model=model),
            ),
            outcome=outcome,
            reason="ran",
            scorecard=make_card(**card),
            record=record,
        )
        self.ledger.add_trials([trial])
        return trial

    def consider(self, trial, runner=None, **changes):
        wanted = {"dataset": self.market.dataset, "runner": runner or ScriptedRunner(), "config": RunConfig()}
        return self.pool.consider(trial, **wanted | changes)

    def add_entry(self, code=None, **changes):
        return self.consider(self.add_trial(code, **changes)).entry

    run_config = RunConfig()

    def opened(self, runner, bars):
        return Opened(runner, bars)

    def promote(self, entry, runner=None, **changes):
        runner = runner or ScriptedRunner()
        wanted = {"by": "Ada", "reason": "steady on every fold", "context": self.context(entry, runner, changes)}
        return self.pool.promote(entry.id, **wanted | changes)

    def context(self, entry, runner, changes):
        """What a look at an entry is taken with; what belongs to it is taken out of the changes."""
        usual = LookContext(
            binding=entry.binding,
            config=RunConfig(),
            open_vault=lambda: self.market.vault,
            open_runner=lambda bars: Opened(runner, bars),
        )
        return replace(usual, **{each.name: changes.pop(each.name) for each in fields(usual) if each.name in changes})


class Opened:
    """A runner as a context, as a cage would be."""

    def __init__(self, runner, bars):
        self.runner = runner
        assert set(bars) == {"AAA", "BBB"}

    def __enter__(self):
        return self.runner

    def __exit__(self, *_):
        pass


@pytest.fixture(scope="session")
def market():
    return make_market()


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory):
    """A migrated store to copy: migrating it once is enough."""
    home = tmp_path_factory.mktemp("home")
    open_engine(home).dispose()
    return home


@pytest.fixture
def house(tmp_path, market, empty_home):
    shutil.copytree(empty_home, tmp_path / "home")
    return House(home=tmp_path / "home", market=market, clock=SteppingClock())


@pytest.fixture
def other_house(tmp_path, market, postgres):
    """The same on PostgreSQL."""
    opened = House(home=tmp_path / "other", market=market, clock=SteppingClock(), url=postgres.database())
    yield opened
    opened.engine.dispose()


@pytest.fixture
def scripted():
    return ScriptedRunner


@pytest.fixture
def grown():
    """Makes the same market with more bars in its vault."""
    return make_market
