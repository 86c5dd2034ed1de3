"""The same past with another future: honest candidates do the same, and one that looks ahead shows itself."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "gates"))  # where a zygote finds leaky_entries

from evolution.bench import CellBench
from evolution.candidate import Candidate, Provenance
from evolution.evaluate import CageEvaluator, Foresight, run_trial
from evolution.foresight import NoiseBench, looks_ahead, with_noise_from
from evolution.seeds import seed_sources
from evolution.trial import TrialOutcome
from gates import Admitted, Evaluation, Finding, Rejected, open_gate_cage
from gates.admit import _bars_of
from gates.wire import encode_bars
from runtime.cage import CageEnd, CageLimits, CageOutcome, open_cage
from runtime.kernel import OrderEntry, RunConfig, RunEnd, RunReport
from runtime.market import WARMUP_BARS, Bars, Cell
from runtime.market.quality import check_quality
from runtime.model import Instrument, Timeframe
from runtime.source import StrategySource

CELL_BARS = 200
FOLDS = 3


def market(seed, symbol):
    rng = np.random.default_rng(seed)
    count = WARMUP_BARS + FOLDS * CELL_BARS
    close = 100 * np.exp(np.cumsum(0.0015 + 0.012 * np.sin(np.arange(count) / 9) + rng.normal(0, 0.008, count)))
    open_ = np.concatenate(([100.0], close[:-1]))
    return Bars(
        instrument=Instrument(symbol=symbol, bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=946_857_600 + 86_400 * np.arange(count),
        open=open_,
        high=np.maximum(open_, close) * 1.002,
        low=np.minimum(open_, close) * 0.998,
        close=close,
        volume=rng.uniform(1e5, 1e6, count),
    )


BARS = {"AAA": market(1, "AAA"), "BBB": market(2, "BBB")}
CELLS = tuple(
    Cell(
        symbol=symbol,
        fold=f"train-{fold + 1}",
        start=WARMUP_BARS + fold * CELL_BARS,
        stop=WARMUP_BARS + (fold + 1) * CELL_BARS,
    )
    for fold in range(FOLDS)
    for symbol in BARS
)
BENCH = CellBench.build(BARS, CELLS, RunConfig())
NOISE = NoiseBench.build(BENCH)


def candidate(source):
    provenance = Provenance(operator="seed/x", parents=(), seed=None)
    return Candidate(id="g000-c000", run_id="r", generation=0, index=0, source=source, provenance=provenance)


# -- the noise --


def test_there_is_one_cell_per_fold_over_the_symbols_in_turn():
    assert [(CELLS[cell.place].symbol, CELLS[cell.place].fold) for cell in NOISE.cells] == [
        ("AAA", "train-1"),
        ("BBB", "train-2"),
        ("AAA", "train-3"),
    ]


def test_the_past_is_the_same_and_nothing_of_the_future_is_left():
    for cell in NOISE.cells:
        true, noisy = BENCH.cells[cell.place].bars, NOISE.bars[cell.job.key]
        assert cell.cut == WARMUP_BARS + CELL_BARS // 2
        assert np.array_equal(true.ts, noisy.ts)
        for name in ("open", "high", "low", "close"):
            before, after = getattr(true, name), getattr(noisy, name)
            assert np.array_equal(before[: cell.cut], after[: cell.cut])
            assert not np.isin(after[cell.cut :], before[cell.cut :]).any()


def test_noise_is_a_market_like_any_other_and_always_the_same():
    for bars in NOISE.bars.values():
        assert not check_quality(bars).errors
    again = NoiseBench.build(BENCH)
    assert {key: bars.sha256 for key, bars in again.bars.items()} == {k: b.sha256 for k, b in NOISE.bars.items()}


def test_a_past_that_does_not_move_is_followed_by_small_noise():
    flat = replace(BARS["AAA"], **dict.fromkeys(("open", "high", "low", "close"), np.full(len(BARS["AAA"]), 50.0)))
    noisy = with_noise_from(flat, 300, np.random.default_rng(1))
    assert 0 < np.diff(np.log(noisy.close[300:])).std() < 0.01


# -- honest candidates, in the real cages --


@pytest.fixture(scope="module")
def foresight():
    with open_gate_cage(NOISE.bars) as cage:
        yield Foresight.in_cage(cage, NOISE, CageLimits())


@pytest.fixture(scope="module")
def evaluator():
    with open_gate_cage(BARS) as cage:
        yield CageEvaluator(cage=cage, bench=BENCH)


@pytest.mark.parametrize("name", [name for name, _ in seed_sources()])
def test_honest_candidates_pass(name, evaluator, foresight):
    source = dict(seed_sources())[name]
    reports = evaluator.evaluate(source).reports
    assert foresight.suspicion(source, reports) is None


def test_the_seeds_do_trade_before_the_cut(evaluator):
    """Otherwise the test above would compare nothing with nothing."""
    counts = []
    for _, source in seed_sources():
        reports = evaluator.evaluate(source).reports
        counts.append(sum(entry.row < cell.cut for cell in NOISE.cells for entry in reports[cell.place].order_log))
    assert sum(counts) > 30
    assert sum(count > 0 for count in counts) >= 4


# -- the others --

LOOKS_AHEAD = StrategySource(b"""
class S(Strategy):
    def on_bar(self, bar):
        later = [one for one in self.history(0) if one.ts > bar.ts]
        if later and later[0].close > bar.close:
            self.target(1.0)
        elif self.long:
            self.close()
""")


def test_a_candidate_that_sees_later_bars_shows_itself():
    """The hole is in both cages; in one of them another future shows through it."""
    with (
        open_cage("leaky_entries:run", encode_bars(BARS)) as cage,
        open_cage("leaky_entries:run", encode_bars(NOISE.bars)) as other,
    ):
        _bars_of[cage], _bars_of[other] = BARS, NOISE.bars
        trial = run_trial(
            candidate(LOOKS_AHEAD),
            CageEvaluator(cage=cage, bench=BENCH),
            BENCH,
            foresight=Foresight.in_cage(other, NOISE, CageLimits()),
        )
        unchecked = run_trial(candidate(LOOKS_AHEAD), CageEvaluator(cage=cage, bench=BENCH), BENCH)
    assert unchecked.outcome is TrialOutcome.SCORED
    assert unchecked.scorecard.beats_buy_and_hold, "it would have led the search"
    assert trial.outcome is TrialOutcome.FAILED
    assert trial.scorecard is None
    assert trial.reason.startswith("looks ahead: its orders at row ")
    assert "AAA" not in trial.reason
    assert "BBB" not in trial.reason


def report(*orders, end=RunEnd.FINISHED):
    return RunReport(
        end=end,
        failure=None,
        first_tradable_bar=WARMUP_BARS,
        equity=np.ones(2),
        position=np.zeros(1),
        fills=(),
        trades=(),
        refused=(),
        refused_count=0,
        open_orders=0,
        order_log=tuple(OrderEntry(row=row, action=action) for row, action in orders),
        log=(),
        ruined=False,
    )


class Says:
    def __init__(self, *reports, end=CageEnd.FINISHED, verdict=None):
        payload = b"" if end is CageEnd.FINISHED else None
        outcome = CageOutcome(end=end, reason="ran past 30 s of wall time", payload=payload)
        source = StrategySource(b"x")
        verdict = verdict or Admitted(source=source, class_name="S")
        self._said = Evaluation(verdict=verdict, outcome=outcome, reports=reports)

    def evaluate(self, _source):
        return self._said


CUT = NOISE.cells[0].cut


@pytest.mark.parametrize(
    ("mine", "theirs", "row"),
    [
        ([], [], None),
        ([(260, "1 buy")], [(260, "1 buy")], None),
        ([(260, "1 buy"), (CUT, "2 sell")], [(260, "1 buy")], None),
        ([(260, "1 buy"), (CUT - 1, "2 sell")], [(260, "1 buy")], CUT - 1),
        ([(260, "1 buy")], [(260, "1 buy"), (270, "2 sell")], 270),
        ([(260, "1 buy")], [(260, "1 buy quantity=1.0")], 260),
        ([(260, "1 buy")], [(259, "1 buy")], 259),
        ([], [(CUT - 1, "1 buy"), (CUT, "2 buy")], CUT - 1),
    ],
)
def test_orders_are_compared_up_to_the_cut_and_no_further(mine, theirs, row):
    reports = [report(*mine)] * len(BENCH.cells)
    others = [report(*mine, end=RunEnd.FAILED)] * (len(NOISE.cells) - 1)
    suspicion = looks_ahead(StrategySource(b"x"), reports, NOISE, Says(report(*theirs), *others))
    if row is None:
        assert suspicion is None
    else:
        assert f"at row {row} of cell 1" in suspicion.reason
        assert not suspicion.is_kill


def test_a_run_on_noise_that_does_not_end_is_no_proof_of_anything():
    reports = [report()] * len(BENCH.cells)
    suspicion = looks_ahead(StrategySource(b"x"), reports, NOISE, Says(end=CageEnd.TIMED_OUT))
    assert suspicion == ("on bars with another future the run ran past 30 s of wall time", True)
    rejected = Rejected(
        source=StrategySource(b"x"),
        gate=3,
        findings=(Finding(gate=3, rule="raises", line=1, column=1, message="raises KeyError in on_bar", hint=""),),
    )
    suspicion = looks_ahead(StrategySource(b"x"), reports, NOISE, Says(verdict=rejected))
    assert not suspicion.is_kill
    assert "raises KeyError" in suspicion.reason


SWING = StrategySource(b"""
class Swing(Strategy):
    def on_start(self):
        self.mean = self.indicator("SMA", timeperiod=8)

    def on_bar(self, bar):
        if self.flat and bar.close > self.mean[-1]:
            self.buy()
        elif self.long and bar.close < self.mean[-1]:
            self.close()
""")


def test_a_trial_whose_check_was_cut_short_counts_as_killed(evaluator, foresight):
    late = Foresight(noise=NOISE, evaluator=Says(end=CageEnd.TIMED_OUT))
    assert run_trial(candidate(SWING), evaluator, BENCH, foresight=foresight).outcome is TrialOutcome.SCORED
    trial = run_trial(candidate(SWING), evaluator, BENCH, foresight=late)
    assert (trial.outcome, trial.scorecard) == (TrialOutcome.KILLED, None)
    assert "another future" in trial.reason


def test_a_vetoed_candidate_is_not_checked(evaluator):
    late = Foresight(noise=NOISE, evaluator=Says(end=CageEnd.TIMED_OUT))
    never = StrategySource(b"class S(Strategy):\n    def on_bar(self, bar): pass\n")
    assert run_trial(candidate(never), evaluator, BENCH, foresight=late).outcome is TrialOutcome.VETOED
