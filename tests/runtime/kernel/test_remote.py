"""A strategy on the other end of a line: the same run as in this process, and nothing that the other end does can break it."""

from __future__ import annotations

import json
import queue
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.cage import CageEnd, CageOutcome
from runtime.kernel import (
    LOST,
    AccountKind,
    Costs,
    LocalHost,
    RemoteHost,
    RunConfig,
    RunEnd,
    RunLimits,
    run_host,
    run_strategy,
    serve_strategy,
)
from runtime.kernel.dialogue import NOTHING, encode_farewell
from runtime.market.bars import Bars
from runtime.model import Instrument, Order, OrderType, Side, Timeframe
from runtime.strategy import Strategy, crossed_above, crossed_below

KILLED = CageOutcome(end=CageEnd.KILLED, reason="was killed by a signal")


def market(n=400, seed=7):
    rng = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(rng.normal(0, 0.02, n)))
    open_ = np.concatenate([[100.0], close[:-1]]) * np.exp(rng.normal(0, 0.003, n))
    return Bars(
        instrument=Instrument(symbol="WALK", bars_per_year=252.0, borrow_bps_per_year=50.0),
        timeframe=Timeframe(86_400),
        ts=1_500_000_000 + np.arange(n) * 86_400,
        open=open_,
        high=np.maximum(open_, close) * np.exp(np.abs(rng.normal(0, 0.004, n))),
        low=np.minimum(open_, close) * np.exp(-np.abs(rng.normal(0, 0.004, n))),
        close=close,
        volume=rng.uniform(1e5, 1e6, n),
    )


BARS = market()


class Pair:
    """Both ends of a line in one process; what the near end sends is kept."""

    def __init__(self):
        self.sent = []
        self._out, self._back = queue.SimpleQueue(), queue.SimpleQueue()

    def send(self, message):
        self.sent.append(message)
        self._out.put(message)

    def receive(self):
        return self._back.get(timeout=30)

    def far_end(self):
        pair = self

        class End:
            def receive(self):
                return pair._out.get(timeout=30)

            def send(self, message):
                pair._back.put(message)

        return End()

    def hang_up(self):
        self._out.put(None)


def run_remotely(strategy, bars, config, limits=None):
    limits = limits or RunLimits()
    pair = Pair()
    host = LocalHost(strategy, bars.instrument, bars.timeframe, limits)
    server = threading.Thread(target=serve_strategy, args=(host, pair.far_end(), limits))
    server.start()
    try:
        report = run_host(RemoteHost(pair, limits), bars, config, limits=limits)
    finally:
        pair.hang_up()
        server.join(30)
    return report, pair


def assert_same(one, other):
    for name in one.__dataclass_fields__:
        mine, theirs = getattr(one, name), getattr(other, name)
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
        else:
            assert mine == theirs, name


class Cross(Strategy):
    def on_start(self):
        self.fast = self.indicator("SMA", timeperiod=5)
        self.slow = self.indicator("SMA", timeperiod=20)
        self.band = self.indicator("BBANDS.upper", "hl2")
        self.need(30)

    def on_bar(self, bar):
        if crossed_above(self.fast, self.slow):
            self.target(0.9, stop_loss=0.05, take_profit=0.3, trail=0.1, tag=f"in {bar.close:.3f}")
        elif crossed_below(self.fast, self.slow):
            self.close(tag="out")
        self.log(self.bar_count, self.cash, self.position, self.entry_price, self.equity, self.band[-1], self.fast[-7:])


class Ladder(Strategy):
    """Rests and cancels orders of every kind, long and short, and reads all it may."""

    def on_start(self):
        self.buy()
        self.seen = []

    def on_fill(self, fill):
        self.seen.append(fill)
        if len(self.seen) % 5 == 0:
            self.sell(1.5, limit=fill.price * 1.01, tag="from on_fill")

    def on_bar(self, bar):
        self.log(
            [order.id for order in self.open_orders], self.open_orders[-1:], self.seen[-1:], len(self.history(250))
        )
        match self.bar_count % 9:
            case 0:
                self.buy(3, limit=bar.close * 0.99)
            case 1:
                self.sell(2.25, stop=bar.close * 0.97)
            case 2:
                self.submit(Order(side=Side.BUY, quantity=1.0, type=OrderType.TRAILING_STOP, trail=0.03))
            case 3:
                self.submit(
                    Order(side=Side.SELL, quantity=1.0, type=OrderType.MARKET_IF_TOUCHED, stop=bar.close * 1.02)
                )
            case 4 if self.open_orders:
                self.cancel(self.open_orders[0].id)
            case 5:
                self.buy(2, stop=bar.high, limit=bar.high * 1.01, stop_loss=0.04)
            case 6:
                self.target(-0.3)
            case 7:
                self.cancel()

    def on_stop(self):
        self.log("over", self.bar_count, self.clock.now(), self.timeframe, self.instrument)


class Wrong(Strategy):
    """Asks for everything that is no order."""

    def on_bar(self, bar):
        odd = [
            None,
            True,
            "x",
            b"x",
            [],
            (),
            {},
            set(),
            1j,
            10**400,
            float("nan"),
            float("inf"),
            -1,
            0,
            object(),
            "\udc80" * 99,
            Order,
        ]
        value = odd[self.bar_count % len(odd)]
        self.buy(value)
        self.sell(1, limit=value, tag=value)
        self.close(stop=value)
        self.target(value, stop_loss=value, take_profit=value, trail=value)
        self.cancel(value)
        self.submit(value)
        self.submit(Order(side=value, quantity=value, type=value, trail=value))


def raising(hook):
    def raises(self, *_):
        self.log("before")
        raise KeyError("a text of its own")

    return type("Raising", (Cross,), {hook: raises})


def flooding(self, bar):
    for _ in range(self.bar_count):
        self.buy(1)


STRATEGIES = [
    Cross, Ladder, Wrong, *(raising(hook) for hook in ("__init__", "on_start", "on_bar", "on_fill", "on_stop")),
    type("Flood", (Strategy,), {"on_bar": flooding}), type("Silent", (Strategy,), {"on_bar": lambda self, bar: None}),
    type("Chatty", (Strategy,), {"on_bar": lambda self, bar: self.log("\x1b" + "é" * 999)}),
]  # fmt: skip


@pytest.mark.parametrize("config", [
    RunConfig(), RunConfig(account=AccountKind.MARGIN, costs=Costs(fee_bps=3.0, slippage_bps=2.0), start=50), RunConfig(decision_delay=1, cash=1234.5),
], ids=["cash", "margin", "delayed"])  # fmt: skip
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
def test_a_run_over_a_line_is_the_same_run(strategy, config):
    report, _ = run_remotely(strategy, BARS, config)
    assert_same(report, run_strategy(strategy, BARS, config))


def test_the_strategies_above_do_something():
    """Equal reports of runs without orders would prove little."""
    margin = RunConfig(account=AccountKind.MARGIN)
    assert len(run_strategy(Cross, BARS, RunConfig()).fills) > 10
    ladder = run_strategy(Ladder, BARS, margin)
    assert len(ladder.fills) > 50
    assert ladder.refused_count >= 1
    assert run_strategy(Wrong, BARS, margin).refused_count > 1000
    ends = [run_strategy(strategy, BARS, RunConfig()).end for strategy in STRATEGIES]
    assert ends.count(RunEnd.FAILED) == 5
    assert ends.count(RunEnd.FLOODED) == 1


def test_no_bar_is_sent_before_its_time():
    """Nothing of a bar is in any message before its own, and that one follows the answer to the bar before."""
    report, pair = run_remotely(Cross, BARS, RunConfig())
    first = report.first_tradable_bar
    warm_up = sum(message[:1] == b"W" for message in pair.sent)
    so_far = b"".join(pair.sent[:warm_up])
    later = pair.sent[warm_up:-1]
    assert len(later) == len(BARS) - first
    assert pair.sent[-1] == b"S"
    for row, message in enumerate(later, start=first):
        close, high = BARS.close[row].tobytes(), BARS.high[row].tobytes()
        assert close not in so_far
        assert high not in so_far
        assert close in message
        so_far += message


class Scripted:
    """The near end of a line whose other end says what it likes."""

    def __init__(self, answers):
        self._answers = list(answers)
        self.sent = 0

    def send(self, message):
        self.sent += 1

    def receive(self):
        return self._answers.pop(0) if self._answers else KILLED


START = json.dumps({"calls": [["SMA", "close", [["timeperiod", 10]]]], "need": 0, "early": 0}).encode()
TRADABLE = len(BARS) - 10
BUY = json.dumps([["buy", None, 1.0, *[None] * 6, ""]]).encode()


@pytest.mark.parametrize(
    ("answers", "hook", "broken"),
    [
        ([], "load", None),
        ([b"rubbish"], "load", "an answer that is not plain JSON"),
        ([START], "on_bar", None),
        ([START, NOTHING, BUY, b"[]"], "on_bar", "requests that are none, or too many"),
        ([START, *[NOTHING] * TRADABLE], "on_stop", None),
        ([START, *[NOTHING] * TRADABLE, b"{}"], "on_stop", "a last answer with other fields"),
        ([START, bytes(300_000)], "on_bar", "an answer of 300000 bytes"),
    ],
)
def test_a_lost_strategy_is_a_failed_run_with_its_reason(answers, hook, broken):
    host = RemoteHost(Scripted(answers), RunLimits())
    report = run_host(host, BARS, RunConfig())
    assert report.end is RunEnd.FAILED
    assert (report.failure.hook, report.failure.exception) == (hook, LOST)
    assert host.broken == broken
    assert host.ended == (KILLED if broken is None else None)
    assert (broken or "was killed") in report.failure.message
    assert report.log == ()


def test_the_log_of_a_run_that_ended_early_is_still_asked_for():
    failure = json.dumps({"failure": ["on_bar", "KeyError", 3, "on_bar raised KeyError at line 3"]}).encode()
    host = RemoteHost(Scripted([START, failure, encode_farewell(None, ("said",))]), RunLimits())
    report = run_host(host, BARS, RunConfig())
    assert (report.end, report.failure.exception, report.log) == (RunEnd.FAILED, "KeyError", ("said",))
    assert host.ended is None
    assert host.broken is None


def test_answers_that_take_too_long_together_end_the_run(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("runtime.kernel.remote.time.monotonic", lambda: next(clock))
    talk = Scripted([START, *[NOTHING] * TRADABLE, encode_farewell(None, ())])
    host = RemoteHost(talk, RunLimits(), patience_s=100)
    report = run_host(host, BARS, RunConfig())
    assert host.is_late
    assert (report.end, report.failure.exception) == (RunEnd.FAILED, LOST)
    assert "took more than 100 s together" in report.failure.message
    assert talk.sent < 150
    patient = Scripted([START, *[NOTHING] * TRADABLE, encode_farewell(None, ())])
    assert run_host(RemoteHost(patient, RunLimits()), BARS, RunConfig()).end is RunEnd.FINISHED


answers = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([START, NOTHING, BUY, b"[]", b"null", b'[["cancel",null,1,null,null,null,null,null,null,""]]', b'{"failure":null,"log":[]}']),
    st.lists(st.sampled_from([json.loads(BUY)[0], ["target", None, -1e300, *[None] * 6, ""], ["sell", "stop", 5, None, 1e-300, *[None] * 4, "x"]]), max_size=5)
    .map(lambda items: json.dumps(items).encode()),
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(answers, max_size=40), st.sampled_from(AccountKind))
def test_no_answers_whatever_raise_here(said, account):
    report = run_host(RemoteHost(Scripted([START, *said]), RunLimits()), BARS, RunConfig(account=account))
    assert report.end in RunEnd
    assert np.isfinite(report.equity).all()
