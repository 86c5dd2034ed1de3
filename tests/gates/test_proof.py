"""The proof run: the same run as the fast one, and one that can see nothing of the future."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gate_corpus import TESTS, benign_files, text

sys.path.append(str(TESTS / "runtime" / "cage"))

from cage_arena import memory_of

from evolution.seeds import seed_sources
from gates import Admitted, CellJob, Rejected, evaluate, open_gate_cage, open_proof_cage, prove, same_orders
from gates.admit import _bars_of
from gates.smoke import smoke_bars
from gates.wire import Seat, encode_bars, encode_seat
from runtime.cage import CageEnd, CageLimits, open_cage
from runtime.kernel import AccountKind, Costs, RemoteHost, RunConfig, RunEnd, RunLimits, run_host, run_strategy
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.source import StrategySource
from runtime.strategy import Strategy

FILES = [pytest.param(source, RunConfig(), id=name) for name, source in (*benign_files(), *seed_sources())]
COSTLY = RunConfig(costs=Costs(fee_bps=5.0, slippage_bps=3.0), cash=12_345.0, decision_delay=1)
MARGIN = RunConfig(account=AccountKind.MARGIN)
SEEDS = [
    pytest.param(source, config, id=f"{name}, {word}")
    for name, source in seed_sources()
    for word, config in (("costly", COSTLY), ("margin", MARGIN))
]


@pytest.fixture(scope="session")
def proof_cage(canary):
    assert canary.is_dir()
    with open_proof_cage() as cage:
        yield cage


@pytest.fixture(scope="session")
def two_cells(smoke):
    stop = len(smoke)
    return [
        CellJob(key="smoke", start=250, stop=stop, warmup=250),
        CellJob(key="smoke", start=200, stop=stop - 40, warmup=150),
    ]


def assert_equal(one, other):
    assert same_orders(one, other) is None
    for name in one.__dataclass_fields__:
        mine, theirs = getattr(one, name), getattr(other, name)
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
        else:
            assert mine == theirs, name


@pytest.fixture(scope="module")
def walk():
    """Two years of a random walk, so that every file trades."""
    rng = np.random.default_rng(11)
    close = 50 * np.exp(np.cumsum(rng.normal(0.0003, 0.018, 750)))
    open_ = np.concatenate([[50.0], close[:-1]]) * np.exp(rng.normal(0, 0.004, 750))
    return Bars(
        instrument=Instrument(symbol="WALK", bars_per_year=252.0),
        timeframe=Timeframe(86_400),
        ts=1_300_000_000 // 86_400 * 86_400 + np.arange(750) * 86_400,
        open=open_,
        high=np.maximum(open_, close) * np.exp(np.abs(rng.normal(0, 0.005, 750))),
        low=np.minimum(open_, close) * np.exp(-np.abs(rng.normal(0, 0.005, 750))),
        close=close,
        volume=rng.uniform(1e5, 1e6, 750),
    )


@pytest.fixture(scope="module")
def walk_cage(walk):
    with open_gate_cage({"walk": walk}) as cage:
        yield cage


WALK_CELLS = [
    CellJob(key="walk", start=250, stop=700, warmup=250),
    CellJob(key="walk", start=400, stop=750, warmup=150),
]


@pytest.mark.parametrize(("source", "config"), [*FILES, *SEEDS])
def test_the_proof_run_is_the_fast_run_in_every_figure(source, config, walk_cage, proof_cage, walk):
    fast = evaluate(source, walk_cage, WALK_CELLS, config)
    proof = prove(source, proof_cage, {"walk": walk}, WALK_CELLS, config)
    assert fast.verdict == proof.verdict
    assert (fast.outcome.end, proof.outcome.end) == (CageEnd.FINISHED, CageEnd.FINISHED)
    assert len(proof.reports) == 2
    for one, other in zip(fast.reports, proof.reports, strict=True):
        assert_equal(one, other)


def test_the_files_above_trade(walk_cage):
    """Equal runs without orders would prove nothing."""
    traded = [len(evaluate(file.values[0], walk_cage, WALK_CELLS, RunConfig()).reports[0].fills) for file in FILES]
    assert sum(count > 0 for count in traded) > 0.8 * len(FILES)
    assert sum(traded) > 500


@pytest.mark.parametrize(
    "source",
    [
        text("if self.bar_count == 9: 1 / 0\nself.buy(1)"),
        text("for _ in range(self.bar_count): self.buy(1)"),
        text("self.buy('x')\nself.sell(1j)\nself.target(None)\nprint('said', bar.close)", above="print('early')"),
        text("pass", above="break"),
        text("self.sell(3)"),
    ],
    ids=["raises", "floods", "asks for nonsense", "does not compile", "goes short"],
)
def test_runs_that_end_badly_end_in_the_same_way(source, proof_cage, smoke, two_cells):
    """Past the gates, as a candidate is that only fails on other bars than those of the dry run."""
    proof = prove(source, proof_cage, {"smoke": smoke}, two_cells, MARGIN)
    assert proof.outcome.end is CageEnd.FINISHED
    if b"break" in source.data:
        assert {(r.end, r.failure.exception, r.failure.hook) for r in proof.reports} == {
            (RunEnd.FAILED, "does-not-compile", "load")
        }
        return
    namespace = {"Strategy": Strategy, "print": lambda *_: None}
    exec(compile(source.data, "<candidate>", "exec"), namespace)
    for cell, report in zip(two_cells, proof.reports, strict=True):
        expected = run_strategy(namespace["S"], cell.bars(smoke), replace(MARGIN, start=cell.warmup))
        assert same_orders(expected, report) is None
        assert report.failure == expected.failure
    assert b"print" not in source.data or proof.reports[0].log[:2] == ("early", f"said {smoke.close[250]}")


def test_a_text_that_the_gates_refuse_is_not_run(proof_cage, smoke, two_cells):
    evaluation = prove(text("eval"), proof_cage, {"smoke": smoke}, two_cells, RunConfig())
    assert isinstance(evaluation.verdict, Rejected)
    assert (evaluation.outcome, evaluation.reports) == (None, ())


def test_a_cage_that_holds_bars_is_no_place_for_a_proof(cage, smoke, two_cells):
    with pytest.raises(ValueError, match="holds no bars"):
        prove(text("pass"), cage, {"smoke": smoke}, two_cells, RunConfig())


def test_no_cells_are_proven_at_once(proof_cage):
    evaluation = prove(text("pass"), proof_cage, {}, [], RunConfig())
    assert isinstance(evaluation.verdict, Admitted)
    assert evaluation.outcome.end is CageEnd.FINISHED


# -- what the child can see --

SENTINEL = 123.456789012345678
"""Written over one later price: no other number of a run has these bits."""


def marked(bars, row):
    columns = {name: getattr(bars, name).copy() for name in ("open", "high", "low", "close")}
    for name, column in columns.items():
        column[row] = {"high": SENTINEL * 1.5, "low": SENTINEL / 1.5}.get(name, SENTINEL)
    return replace(bars, **columns)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into a caged child")
def test_a_later_price_is_nowhere_in_the_memory_of_the_strategys_process(proof_cage, smoke):
    """In the middle of a proof run: the bars so far are there, and the next one is not."""
    row = 290
    bars, needle = marked(smoke, row), np.float64(SENTINEL).tobytes()
    source = text("self.history(5)", inside="def on_start(self):\n    self.sma = self.indicator('SMA', timeperiod=10)")
    seat = Seat(source=source.data, class_name="S", instrument=bars.instrument, timeframe=bars.timeframe)
    with proof_cage.converse(encode_seat(seat)) as talk:
        memories = {}

        class Watched(RemoteHost):
            def decide(self, moment, account, fills):
                answer = super().decide(moment, account, fills)
                if moment[0].ts.timestamp() in (bars.ts[row - 1], bars.ts[row]):
                    memories[moment[0].ts.timestamp()] = memory_of(talk.pid)
                return answer

        report = run_host(Watched(talk, RunLimits()), bars, RunConfig(start=250))
        assert talk.finish().end is CageEnd.FINISHED
    assert report.end is RunEnd.FINISHED
    before, after = memories[bars.ts[row - 1]], memories[bars.ts[row]]
    assert bars.close[row - 1].tobytes() in before
    assert needle not in before
    assert needle in after, "once it is the current bar the same search finds it"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into a caged child")
def test_the_fast_host_does_hold_it(smoke):
    """What the proof run is for, and the evidence that the search above can find what it looks for."""
    bars, needle = marked(smoke, 300), np.float64(SENTINEL).tobytes()
    with open_gate_cage({"smoke": bars}) as cage:
        cell = CellJob(key="smoke", start=250, stop=len(bars), warmup=250)
        source = text("while bar.close and self.cash == 1000: pass", above="COUNT = 1")
        limits = CageLimits(cpu_s=3, wall_s=30)
        run = threading.Thread(target=evaluate, args=(source, cage, [cell], RunConfig(cash=1000.0), limits))
        run.start()
        found = b""
        while run.is_alive() and needle not in found:
            for pid in children_of(cage._zygote.pid):
                try:
                    found = memory_of(pid)
                except OSError:
                    continue
            time.sleep(0.05)
        run.join()
    assert needle in found


def children_of(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


# -- what the fast run could do and the proof run shows --

LOOKS_AHEAD = text(
    "later = [b for b in self.history(0) if b.ts > bar.ts]\n"
    "if later and later[0].close > bar.close:\n    self.target(1.0)\nelif self.long:\n    self.close()"
)


def test_a_hole_through_which_the_future_shows_is_found(smoke):
    """The same hole is in both processes; only in one of them there is something to see."""
    cell = CellJob(key="smoke", start=250, stop=len(smoke), warmup=250)
    with open_cage("leaky_entries:run", encode_bars({"smoke": smoke})) as leaky:
        _bars_of[leaky] = {"smoke": smoke}
        fast = evaluate(LOOKS_AHEAD, leaky, [cell], RunConfig())
    with open_cage("leaky_entries:run", encode_bars({})) as leaky:
        proof = prove(LOOKS_AHEAD, leaky, {"smoke": smoke}, [cell], RunConfig())
    assert fast.reports[0].equity[-1] > 2 * fast.reports[0].equity[0], "it does cheat"
    difference = same_orders(fast.reports[0], proof.reports[0])
    assert difference.what == "order"
    assert "target" in str(difference)
    assert "nothing in the proof run" in str(difference)


def test_every_kind_of_difference_is_seen(proof_cage, smoke, two_cells):
    source = dict(seed_sources())["momentum"]
    (report, _) = prove(source, proof_cage, {"smoke": smoke}, two_cells, RunConfig()).reports
    assert len(report.fills) > 1
    entry, fill = report.order_log[0], report.fills[0]
    equity = report.equity.copy()
    equity[270] = np.nextafter(equity[270], 0)
    others = {
        "order": [
            replace(report, order_log=()),
            replace(report, order_log=(*report.order_log, entry)),
            replace(report, order_log=(entry._replace(row=entry.row + 1), *report.order_log[1:])),
            replace(report, order_log=(entry._replace(action=entry.action + "1"), *report.order_log[1:])),
        ],
        "fill": [
            replace(report, fills=(fill._replace(price=np.nextafter(fill.price, 0)), *report.fills[1:])),
            replace(report, fills=report.fills[:-1]),
        ],
        "end": [replace(report, end=RunEnd.FLOODED), replace(report, ruined=True)],
        "first bar": [replace(report, first_tradable_bar=None)],
        "refused orders": [replace(report, refused_count=7)],
        "trades": [replace(report, trades=())],
        "equity": [replace(report, equity=equity)],
    }
    for what, reports in others.items():
        for other in reports:
            assert same_orders(report, other).what == what
            assert same_orders(other, report).what == what
            assert str(same_orders(other, report))
    assert same_orders(report, replace(report, equity=equity)).row == 269
    assert same_orders(report, report) is None


# -- what the child can do --

HOSTILE = {
    "says nothing": ("time.sleep(60)", CageEnd.TIMED_OUT),
    "starts and says nothing": ("line.send(START);; time.sleep(60)", CageEnd.TIMED_OUT),
    "spins": ("while True: pass", CageEnd.CPU_EXCEEDED),
    "leaves": ("os._exit(0)", CageEnd.CRASHED),
    "leaves in the middle": ("line.send(START);; line.receive();; os._exit(0)", CageEnd.CRASHED),
    "returns at once": ("pass", CageEnd.BROKEN_RESULT),
    "returns in the middle": ("line.send(START);; line.receive()", CageEnd.BROKEN_RESULT),
    "returns rubbish": ("result = 5", CageEnd.CRASHED),
    "raises": ("raise ValueError", CageEnd.CRASHED),
    "forks": ("os.fork()", CageEnd.FORBIDDEN),
    "forks in the middle": ("line.send(START);; line.receive();; os.fork()", CageEnd.FORBIDDEN),
    "eats memory": ("line.send(START);; x = [];; while True: x.append(bytes(10**6))", CageEnd.OUT_OF_MEMORY),
    "kills itself": ("os.kill(os.getpid(), 9)", CageEnd.FORBIDDEN),
    "breaks the frames": ("os.write(3, b'junk')", CageEnd.BROKEN_RESULT),
    "sends an endless message": ("line.send(START);; line.send(bytes(2**21))", CageEnd.FLOODED),
    "sends endless messages": ("while True: line.send(START)", None),
    "declares nonsense": ("line.send(b'{}')", CageEnd.BROKEN_RESULT),
    "declares a series of the future": ("line.send(START.replace(b'[]', b'[[\"SMA\",\"close\",[[\"timeperiod\",-1]]]]'))", CageEnd.BROKEN_RESULT),
    "asks for nonsense": ("line.send(START);; line.receive();; line.send(b'[[1]]')", CageEnd.BROKEN_RESULT),
    "answers with a wall of brackets": ("line.send(START);; line.send(b'[' * 200000)", CageEnd.BROKEN_RESULT),
    "answers with a wall of text": ("line.send(START);; line.send(b'x' * 1000000)", CageEnd.BROKEN_RESULT),
}  # fmt: skip


@pytest.fixture(scope="module")
def lying_cage():
    with open_cage("lying_entries:run") as cage:
        yield cage


@pytest.mark.parametrize(("program", "end"), HOSTILE.values(), ids=HOSTILE.keys())
def test_whatever_the_strategys_process_does_is_an_outcome(program, end, lying_cage, smoke, two_cells):
    source = StrategySource(text("pass").data + f"# {program}".encode())
    limits = CageLimits(cpu_s=1, wall_s=1.5, memory_mib=64, result_bytes=1 << 20)
    evaluation = prove(source, lying_cage, {"smoke": smoke}, two_cells, RunConfig(), limits=limits)
    assert isinstance(evaluation.verdict, Admitted)
    assert evaluation.outcome.end is not CageEnd.FINISHED
    assert end is None or evaluation.outcome.end is end, evaluation.outcome.reason
    assert evaluation.reports == ()


def test_an_honest_process_is_heard_in_the_same_way(lying_cage, smoke, two_cells):
    """Without this, a host that refuses everything would pass the tests above."""
    farewell = """b'{"failure":null,"log":["x"]}' if said == b'S' else b''"""
    program = (
        f"line.send(START);; while (said := line.receive()) is not None:;;   said[:1] == b'W' or line.send({farewell})"
    )
    source = StrategySource(text("pass").data + f"# {program}".encode())
    evaluation = prove(source, lying_cage, {"smoke": smoke}, two_cells, RunConfig())
    assert evaluation.outcome.end is CageEnd.FINISHED, evaluation.outcome.reason
    assert [report.end for report in evaluation.reports] == [RunEnd.FINISHED] * 2
    assert evaluation.reports[0].log == ("x",)


def test_a_line_that_is_kept_waiting_is_cut(lying_cage, two_cells, smoke, monkeypatch):
    """Each answer in time and the whole of them not: a night has an end."""
    monkeypatch.setattr("gates.proof._PATIENCE", 1)
    program = "line.send(START);; while line.receive() is not None: time.sleep(0.2) or line.send(b'')"
    source = StrategySource(text("pass").data + f"# {program}".encode())
    limits = CageLimits(cpu_s=1, wall_s=1)
    evaluation = prove(source, lying_cage, {"smoke": smoke}, two_cells, RunConfig(), limits=limits)
    assert evaluation.outcome.end is CageEnd.TIMED_OUT
    assert "1 s of wall time over all its answers" in evaluation.outcome.reason


def test_a_proof_cage_holds_no_bars_but_those_of_the_dry_run(proof_cage):
    assert proof_cage not in _bars_of
    assert smoke_bars().instrument.symbol == "SMOKE"
