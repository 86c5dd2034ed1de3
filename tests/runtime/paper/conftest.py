"""A store with a signed deployment, a small market, and strategies that trade a lot in it."""

from __future__ import annotations

import importlib.util
import random
import sys
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from runtime.kernel import LocalHost, RunConfig, RunLimits, run_strategy
from runtime.market import Bars
from runtime.model import Instrument, Timeframe
from runtime.paper.audit import Auditor
from runtime.paper.clocks import ReplayClock
from runtime.paper.deployment import Deployment, SignedDeployment
from runtime.paper.feed import Market, ReplayFeed
from runtime.paper.runner import RunParts, run_paper
from runtime.paper.runs import RunBook, RunOrder
from runtime.paper.signing import RunnerKey
from runtime.paper.witness import HeadFile
from runtime.source import Language, StrategySource
from runtime.store import open_engine
from runtime.strategy import Strategy, param

HOUR = 3_600
FIRST = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
WARM = 40
SYMBOL = "AAA"
SOURCE = StrategySource(data=b"class Anything(Strategy): ...", language=Language.PYTHON)


class Busy(Strategy):
    """Market, limit, stop and bracket orders, cancels, and a state of its own that a restart would lose."""

    window = param(12, low=2, high=100)

    def on_start(self):
        self.mean = self.indicator("EMA", timeperiod=self.window)
        self.dice = 7
        self.held = 0
        self.last = None

    def on_fill(self, fill):
        self.held += 1

    def on_bar(self, bar):
        self.dice = (self.dice * 1_103_515_245 + 12_345 + self.held) % 2**31
        throw = self.dice % 11
        if throw == 0:
            self.target(0.6, stop_loss=0.02)
        elif throw == 1:
            self.close()
        elif throw == 2 and bar.close > self.mean[-1]:
            self.last = self.buy(5, limit=bar.close * 0.995, tag="dip")
        elif throw == 3 and self.last is not None:
            self.cancel(self.last)
        elif throw == 4 and self.long:
            self.sell(1.5, tag="slice")
        elif throw == 5:
            self.buy(2, stop=bar.close * 1.004)


def market_bars(length=110, seed=5, step=HOUR):
    returns = np.random.default_rng(seed).normal(0.0002, 0.008, length)
    close = 100.0 * np.cumprod(1.0 + returns)
    gaps = np.random.default_rng(seed + 1).normal(0.0, 0.003, length)
    opened = np.concatenate(([100.0], close[:-1])) * (1.0 + gaps)
    wiggle = 1.0 + np.abs(np.random.default_rng(seed + 2).normal(0.0, 0.004, length))
    return Bars(
        instrument=Instrument(symbol=SYMBOL, bars_per_year=8_760.0),
        timeframe=Timeframe(step),
        ts=FIRST + step * np.arange(length),
        open=opened,
        high=np.maximum(opened, close) * wiggle,
        low=np.minimum(opened, close) / wiggle,
        close=close,
        volume=np.full(length, 1e4),
    )


class SteppingClock:
    """A wall clock on which a second passes at each look."""

    def __init__(self):
        self.at = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)

    def __call__(self):
        self.at += timedelta(milliseconds=10)
        return self.at


class Desk:
    """One store, one deployment, and runs of it on replayed bars."""

    def __init__(self, home, strategy=Busy, bars=None, witness=None):
        self.home = home
        self.engine = open_engine(home)
        self.person = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        self.now = SteppingClock()
        key = RunnerKey(Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))
        self.auditor = Auditor(key, self.now, witness)
        self.book = RunBook(self.engine, self.auditor)
        self.bars = market_bars() if bars is None else bars
        self.strategy = strategy
        self.market = Market(timeframe=self.bars.timeframe)
        self.limits = RunLimits()
        self.deployment = Deployment(
            entry="p-0001",
            source_sha256=SOURCE.sha256,
            language=SOURCE.language.value,
            owner="Ann",
            dataset="walks",
            instruments=(self.bars.instrument,),
            timeframe=self.bars.timeframe,
            config=RunConfig(),
            max_notional=1e6,
            engine_version="1",
            signed=self.now(),
            expires=self.now() + timedelta(days=30),
        )
        self.signed = self.sign(self.deployment)
        self.book.keep(self.signed)

    def sign(self, deployment):
        return SignedDeployment(
            deployment=deployment,
            public_key=self.person.public_key().public_bytes_raw().hex(),
            signature=self.person.sign(deployment.text().encode()).hex(),
        )

    def order(self, **changes):
        order = RunOrder(
            deployment=self.deployment.id,
            account="ann",
            symbol=self.bars.instrument.symbol,
            started_by="Ann",
            guards=None,
            unguarded_by="Ann",
            feed="replay",
        )
        return replace(order, **changes)

    @contextmanager
    def host(self):
        yield LocalHost(self.strategy, self.bars.instrument, self.bars.timeframe, self.limits)

    def parts(self, run, **changes):
        live = self.bars.between(WARM, len(self.bars))
        parts = RunParts(
            engine=self.engine,
            auditor=self.auditor,
            run=run,
            holder="test",
            account="ann",
            symbol=self.bars.instrument.symbol,
            deployment=self.deployment,
            guards=None,
            market=self.market,
            feed=ReplayFeed(live),
            warm=self.bars.between(0, WARM).rows(),
            clock=ReplayClock(datetime.fromtimestamp(int(live.ts[0]), UTC)),
            open_host=self.host,
            permit=lambda: None,
            limits=self.limits,
            look_every_s=0.0,
        )
        return replace(parts, **changes)

    def run(self, run, **changes):
        return run_paper(self.parts(run, **changes))

    def backtest(self):
        return run_strategy(self.strategy, self.bars, replace(self.deployment.config, start=WARM))


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def witnessed(tmp_path):
    """A desk that keeps the audit log's head in a file, too."""
    return Desk(tmp_path, witness=HeadFile(tmp_path / "head"))


@pytest.fixture
def short_desk(tmp_path):
    return Desk(tmp_path, bars=market_bars(60))


@pytest.fixture
def desk_of(tmp_path):
    """A desk on bars of the test's own."""
    return lambda bars: Desk(tmp_path, bars=bars)


@pytest.fixture
def long_desk(tmp_path):
    return Desk(tmp_path, bars=market_bars(240))


@pytest.fixture(scope="session")
def klines_server():
    """The module ``tests/klines_server.py``; tests/ is no package, so it is taken from its file, once."""
    name = "trigate_tests_klines_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "klines_server.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def dice():
    return random.Random(11)
