"""From a source to the record of it: every way to end, real runs in the kernel, and nothing taken on trust."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from evolution.bench import CellBench
from evolution.candidate import Candidate, Provenance
from evolution.cascade import Cascade
from evolution.evaluate import CageEvaluator, behaviour_digest, recalled_trial, run_trial
from evolution.trial import TrialOutcome
from fitness import ScoreRules
from gates import Admitted, Evaluation, Finding, Rejected, admit, open_gate_cage
from runtime.cage import CageEnd, CageMode, CageOutcome
from runtime.kernel import Failure, OrderEntry, RunConfig, RunEnd, decode_report, run_strategy
from runtime.market import WARMUP_BARS, Bars, Cell
from runtime.model import Instrument, Timeframe
from runtime.source import StrategySource
from runtime.strategy import Strategy, param

CELL_BARS = 300
CELLS = tuple(
    Cell(
        symbol=symbol,
        fold=f"train-{fold + 1}",
        start=WARMUP_BARS + fold * CELL_BARS,
        stop=WARMUP_BARS + (fold + 1) * CELL_BARS,
    )
    for fold in range(2)
    for symbol in ("AAA", "BBB")
)


def market(seed, symbol):
    """A rising market with a swing of forty bars that a fast average can ride."""
    rng = np.random.default_rng(seed)
    count = WARMUP_BARS + 2 * CELL_BARS
    steps = 0.0004 + 0.006 * np.sin(np.arange(count) * 2 * np.pi / 40) + rng.normal(0, 0.006, count)
    close = 100 * np.exp(np.cumsum(steps))
    opened = np.concatenate(([100.0], close[:-1]))
    return Bars(
        instrument=Instrument(symbol=symbol, bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=946_857_600 + 86_400 * np.arange(count),
        open=opened,
        high=np.maximum(opened, close) * 1.002,
        low=np.minimum(opened, close) * 0.998,
        close=close,
        volume=np.full(count, 1e6),
    )


BARS = {"AAA": market(1, "AAA"), "BBB": market(2, "BBB")}
BENCH = CellBench.build(BARS, CELLS, RunConfig())

SWING_TEXT = """class Swing(Strategy):
    window = param(8, low=2, high=50)

    def on_start(self):
        self.mean = self.indicator("SMA", timeperiod=self.window)

    def on_bar(self, bar):
        if self.flat and bar.close > self.mean[-1]:
            self.buy()
        elif self.long and bar.close < self.mean[-1]:
            self.close()
"""


class Swing(Strategy):
    """The same as ``SWING_TEXT``, trusted, for runs in this process."""

    window = param(8, low=2, high=50)

    def on_start(self):
        self.mean = self.indicator("SMA", timeperiod=self.window)

    def on_bar(self, bar):
        if self.flat and bar.close > self.mean[-1]:
            self.buy()
        elif self.long and bar.close < self.mean[-1]:
            self.close()


class Idle(Strategy):
    def on_bar(self, bar):
        pass


class Breaks(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 5:
            raise ZeroDivisionError


def reports_of(strategy):
    return tuple(run_strategy(strategy, each.bars, each.config) for each in BENCH.cells)


class Scripted:
    """An evaluator with one answer for everything."""

    def __init__(self, *, verdict=None, outcome=None, reports=()):
        self._answer = (verdict, outcome, tuple(reports))

    def evaluate(self, source):
        verdict, outcome, reports = self._answer
        return Evaluation(
            verdict=verdict or Admitted(source=source, class_name="Swing"), outcome=outcome or FINISHED, reports=reports
        )


FINISHED = CageOutcome(end=CageEnd.FINISHED, reason="finished", payload=b"", cpu_s=0.5, wall_s=0.75)


def candidate(text=SWING_TEXT):
    return Candidate(
        id="g000-c000",
        run_id="r1",
        generation=0,
        index=0,
        source=StrategySource.from_text(text),
        provenance=Provenance(operator="seed/swing", parents=(), seed=None),
    )


def try_out(**script):
    return run_trial(candidate(), Scripted(**script), BENCH)


def test_a_good_strategy_is_scored_on_every_cell():
    trial = try_out(reports=reports_of(Swing))
    assert trial.outcome is TrialOutcome.SCORED
    assert [(cell.symbol, cell.fold) for cell in trial.scorecard.cells] == [(cell.symbol, cell.fold) for cell in CELLS]
    assert trial.scorecard.vetoes == ()
    assert trial.scorecard.trades >= 30
    assert f"seed score {trial.scorecard.score:.2f}" in trial.reason
    assert (trial.cpu_s, trial.wall_s) == (0.5, 0.75)


def test_a_rejection_keeps_gate_and_findings():
    findings = (Finding(gate=2, rule="no-class", line=4, column=1, message="no class", hint="write one"),)
    trial = try_out(verdict=Rejected(source=candidate().source, gate=2, findings=findings))
    assert (trial.outcome, trial.gate, trial.findings) == (TrialOutcome.REJECTED, 2, findings)
    assert trial.reason == "gate 2: no class at line 4"
    assert trial.scorecard is None


@pytest.mark.parametrize("end", [end for end in CageEnd if end is not CageEnd.FINISHED])
def test_whatever_the_cage_ended_is_killed_and_never_scored(end):
    """Even when reports came along: a crash must not have a score."""
    outcome = CageOutcome(end=end, reason="used more than 5 s of CPU", cpu_s=5.0)
    trial = try_out(outcome=outcome, reports=reports_of(Swing))
    assert (trial.outcome, trial.reason, trial.scorecard) == (TrialOutcome.KILLED, "used more than 5 s of CPU", None)
    assert trial.cpu_s == 5.0


def test_a_strategy_that_raises_has_failed_and_the_reason_says_where():
    trial = try_out(reports=reports_of(Breaks))
    assert trial.outcome is TrialOutcome.FAILED
    assert trial.reason.startswith("train-1: ZeroDivisionError in on_bar")
    assert trial.scorecard is None


def test_one_failed_cell_fails_the_candidate():
    failure = Failure(hook="on_bar", exception="ValueError", line=7, message="on_bar raised ValueError at line 7")
    good = reports_of(Swing)
    broken = replace(good[3], end=RunEnd.FAILED, failure=failure)
    trial = try_out(reports=(*good[:3], broken))
    assert trial.outcome is TrialOutcome.FAILED
    assert trial.reason == "train-2: ValueError in on_bar at line 7: on_bar raised ValueError at line 7"


def test_a_flood_of_orders_has_failed():
    broken = replace(reports_of(Swing)[0], end=RunEnd.FLOODED)
    assert try_out(reports=(broken,) * 4).reason == "train-1: the run ended as flooded"


def test_missing_reports_are_a_failure_not_a_better_average():
    trial = try_out(reports=reports_of(Swing)[:3])
    assert (trial.outcome, trial.reason) == (TrialOutcome.FAILED, "3 reports came back for 4 cells")


def test_a_strategy_that_never_trades_is_vetoed_and_has_no_objectives():
    trial = try_out(reports=reports_of(Idle))
    assert trial.outcome is TrialOutcome.VETOED
    assert trial.scorecard.objectives is None
    assert trial.scorecard.score is None
    assert "0 closed round trips" in trial.reason


def test_a_veto_keeps_the_real_figures():
    rules = ScoreRules(max_drawdown=0.01)
    trial = run_trial(candidate(), Scripted(reports=reports_of(Swing)), BENCH, rules=rules)
    assert trial.outcome is TrialOutcome.VETOED
    assert trial.scorecard.objectives == try_out(reports=reports_of(Swing)).scorecard.objectives
    assert trial.reason == "; ".join(trial.scorecard.vetoes)


def test_buy_and_hold_covers_the_same_bars_with_the_same_cash_and_fee():
    for each in BENCH.cells:
        closes = BARS[each.cell.symbol]
        bought = closes.open[each.cell.start + 1]
        units = 100_000 / (bought * 1.001)
        assert each.buy_and_hold.final_equity == pytest.approx(units * closes.close[each.cell.stop - 1])
        assert each.buy_and_hold.exposure == pytest.approx((CELL_BARS - 1) / CELL_BARS)
        assert each.buy_and_hold.trades == 0


def test_a_late_start_in_the_report_changes_no_figure():
    """The report's own first bar is a claim; the cell's first bar counts."""
    honest = reports_of(Swing)
    late = [replace(report, first_tradable_bar=report.first_tradable_bar + 20) for report in honest]
    assert try_out(reports=late).scorecard == try_out(reports=honest).scorecard


def test_equal_order_logs_have_equal_digests_and_any_difference_shows():
    reports = reports_of(Swing)
    first = reports[0]
    assert behaviour_digest(reports) == behaviour_digest(reports_of(Swing))
    later = replace(first, order_log=(*first.order_log, OrderEntry(row=299, action="buy")))
    assert behaviour_digest((later, *reports[1:])) != behaviour_digest(reports)
    assert behaviour_digest(reports[::-1]) != behaviour_digest(reports)


def test_an_entry_cannot_be_moved_from_one_cell_to_the_next_unseen():
    entry = OrderEntry(row=1, action="buy")
    one, none = (replace(reports_of(Idle)[0], order_log=log) for log in ((entry,), ()))
    assert behaviour_digest((one, none)) != behaviour_digest((none, one))


def test_jobs_name_the_rows_of_each_cell():
    jobs = [(job.key, job.start, job.stop, job.warmup) for job in BENCH.jobs]
    assert jobs == [(cell.symbol, cell.start, cell.stop, WARMUP_BARS) for cell in CELLS]


@pytest.mark.parametrize(("start", "stop"), [(-1, 10), (10, 10), (10, 10_000)])
def test_a_cell_outside_its_bars_is_refused(start, stop):
    with pytest.raises(ValueError, match="cell odd of AAA"):
        CellBench.build(BARS, [Cell(symbol="AAA", fold="odd", start=start, stop=stop)], RunConfig())


def test_a_bench_without_cells_is_refused():
    with pytest.raises(ValueError, match="at least one cell"):
        CellBench.build(BARS, [], RunConfig())


@pytest.mark.parametrize("factor", [0.01, 50.0])
def test_scaling_prices_and_cash_changes_no_objective(factor):
    """Candidates see rescaled prices in a search; the verdict must not depend on the scale."""

    def scaled(bars):
        return replace(bars, **{name: factor * getattr(bars, name) for name in ("open", "high", "low", "close")})

    config = RunConfig(cash=100_000 * factor)
    bench = CellBench.build({symbol: scaled(bars) for symbol, bars in BARS.items()}, CELLS, config)
    reports = [run_strategy(Swing, each.bars, each.config) for each in bench.cells]
    card = run_trial(candidate(), Scripted(reports=reports), bench).scorecard
    plain = try_out(reports=reports_of(Swing)).scorecard
    for name in ("sharpe", "calmar", "turnover"):
        assert math.isclose(getattr(card.objectives, name), getattr(plain.objectives, name), rel_tol=1e-6)
    assert card.benchmark_score == pytest.approx(plain.benchmark_score)
    assert card.trades == plain.trades


def test_a_caged_run_gives_the_trial_that_the_same_strategy_gives_in_this_process():
    with open_gate_cage(BARS, mode=CageMode.FULL) as cage:
        trial = run_trial(candidate(), CageEvaluator(cage=cage, bench=BENCH), BENCH)
    here = try_out(reports=reports_of(Swing))
    assert trial.outcome is TrialOutcome.SCORED, trial.reason
    assert trial.scorecard == here.scorecard
    assert trial.behaviour == here.behaviour


DUST_TEXT = """class Dust(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.buy(5e-324)
            self.buy(5e-324)
        if self.bar_count == 3:
            self.sell()
"""


def test_quantities_that_underflow_are_an_outcome(penny_bench):
    bars, bench = penny_bench
    with open_gate_cage(bars) as cage:
        trial = run_trial(candidate(DUST_TEXT), CageEvaluator(cage=cage, bench=bench), bench)
    assert trial.outcome is TrialOutcome.VETOED


@pytest.fixture(scope="module")
def penny_bench():
    whole = BARS["AAA"]
    low = {name: getattr(whole, name) * 0.003 for name in ("open", "high", "low", "close")}
    bars = {"AAA": replace(whole, **low)}
    return bars, CellBench.build(bars, CELLS[:1], RunConfig())


@pytest.mark.parametrize(
    "forge",
    [
        lambda fields: fields.update(order_log=[[fields["first_tradable_bar"], "1 buy quantity=5e-324"]] * 2),
        lambda fields: fields.update(order_log=[[fields["first_tradable_bar"], "whatever"]]),
        lambda fields: fields.update(fills=[[0, "buy", 1e308, 1.0, 0.0, "", 1]] * 13_788),
        lambda fields: fields.update(books="0" * 64),
        lambda fields: fields.update(refused_count=2**53),
        lambda fields: fields.update(last_row=10**9),
    ],
)
def test_a_forged_report_is_an_outcome_of_its_candidate_and_no_fault_of_ours(forge, monkeypatch):
    """What a child that got out of hand may send: the night goes on, and the candidate is marked as killed."""

    def forged(data, bars, config, **more):
        fields = json.loads(data[4:])
        forge(fields)
        return decode_report(data[:4] + json.dumps(fields).encode(), bars, config, **more)

    monkeypatch.setattr(admit, "decode_report", forged)
    with open_gate_cage(BARS) as cage:
        trial = run_trial(candidate(), CageEvaluator(cage=cage, bench=BENCH), BENCH)
    assert trial.outcome is TrialOutcome.KILLED
    assert "does not follow the protocol: cell 1" in trial.reason


# The cascade: what is decided between two folds, and what an earlier night already knew


class Watched(Scripted):
    """Shows the reports one by one, as a cage does, and stops when it is told to."""

    def __init__(self, reports):
        super().__init__(reports=reports)
        self.shown = 0

    def evaluate(self, source, *, goes_on=None):
        whole = super().evaluate(source)
        for count in range(1, len(whole.reports)):
            self.shown = count
            if goes_on is not None and not goes_on(whole.reports[:count]):
                return replace(whole, reports=whole.reports[:count], was_stopped=True)
        return whole


def four_folds():
    """Four folds of one symbol, so that the probe is half of them."""
    cells = tuple(
        Cell(symbol="AAA", fold=f"train-{n + 1}", start=WARMUP_BARS + 60 * n, stop=WARMUP_BARS + 60 * (n + 1))
        for n in range(4)
    )
    bench = CellBench.build(BARS, cells, RunConfig())
    return bench, tuple(run_strategy(Swing, each.bars, each.config) for each in bench.cells)


def test_folds_end_where_another_one_begins():
    assert BENCH.fold_ends == (2,)
    assert BENCH.probe_cells == 4
    bench, _ = four_folds()
    assert (bench.fold_ends, bench.probe_cells) == ((1, 2, 3), 2)


def test_without_a_reason_to_stop_a_cascade_changes_nothing():
    bench, reports = four_folds()
    plain = run_trial(candidate(), Scripted(reports=reports), bench)
    assert run_trial(candidate(), Watched(reports), bench, cascade=Cascade(is_full=True)) == plain
    assert plain.probe is not None
    assert plain.probe != plain.behaviour


def test_a_duplicate_ends_after_the_folds_of_the_probe():
    bench, reports = four_folds()
    probe = run_trial(candidate(), Scripted(reports=reports), bench).probe
    evaluator = Watched(reports)
    trial = run_trial(candidate(), evaluator, bench, cascade=Cascade(known={probe: "g000-c001"}))
    assert trial.outcome is TrialOutcome.DUPLICATE
    assert evaluator.shown == 2
    assert trial.probe == probe
    assert trial.scorecard is None
    assert trial.record.intervals[0].end < active_end(bench)  # it counts among the trials, on the bars that it saw


def active_end(bench):
    return run_trial(candidate(), Scripted(reports=four_folds()[1]), bench).record.intervals[0].end


def test_who_orders_nothing_has_no_probe():
    bench, _ = four_folds()
    idle = tuple(run_strategy(Idle, each.bars, each.config) for each in bench.cells)
    assert run_trial(candidate(), Scripted(reports=idle), bench).probe is None


def test_what_an_earlier_night_found_is_recalled_and_marked():
    bench, reports = four_folds()
    stored = run_trial(candidate(), Scripted(reports=reports), bench)
    mine = replace(candidate(), run_id="r2", id="g001-c004", generation=1, index=4)
    recalled = recalled_trial(mine, stored, bench, Cascade())
    assert recalled.recalled == "r1/g000-c000"
    assert recalled.cpu_s == 0.0
    assert replace(recalled, candidate=stored.candidate, recalled=None, cpu_s=0.5, wall_s=0.75) == stored
    again = recalled_trial(replace(mine, run_id="r3"), recalled, bench, Cascade())
    assert again.recalled == "r1/g000-c000"  # where it was found out, not where it was last recalled


def test_a_recalled_result_is_judged_as_if_it_had_been_run():
    bench, reports = four_folds()
    stored = run_trial(candidate(), Scripted(reports=reports), bench)
    cascade = Cascade(known={stored.probe: "g000-c001"})
    recalled = recalled_trial(candidate(), stored, bench, cascade)
    fresh = run_trial(candidate(), Watched(reports), bench, cascade=cascade)
    assert replace(recalled, recalled=None, cpu_s=0.5, wall_s=0.75) == fresh


def test_results_on_other_cells_are_not_recalled():
    bench, _ = four_folds()
    assert recalled_trial(candidate(), try_out(reports=reports_of(Swing)), bench, Cascade()) is None
