"""The benchmark trades through the same kernel as everybody else."""

from __future__ import annotations

import pytest

from runtime.kernel import Costs, RunConfig, buy_and_hold, run_strategy
from runtime.strategy import Strategy


def test_it_buys_everything_at_the_open_after_the_first_tradable_bar(bars_of):
    bars = bars_of([50, 60, 100, (105, 106, 104, 105), 110])
    report = buy_and_hold(bars, RunConfig(costs=Costs(fee_bps=0)), first_tradable_bar=2)
    assert report.first_tradable_bar == 2
    assert [(fill.price, fill.ts) for fill in report.fills] == [(105.0, bars.rows()[3].ts)]
    assert report.equity.tolist() == pytest.approx([1e5, 1e5, 1e5, 1e5, 1e5, 1e5 * 110 / 105])


def test_it_pays_the_entry_fee_and_is_not_sold_at_the_end(bars_of):
    """100 to 110 with 10 bps on one side: 110 / (100 * 1.001) - 1 = 9.890%."""
    report = buy_and_hold(bars_of([100, 100, 110]), RunConfig(costs=Costs(fee_bps=10)), first_tradable_bar=0)
    assert report.equity[-1] / 100_000 - 1 == pytest.approx(110 / (100 * 1.001) - 1)
    assert report.trades == ()
    assert report.position[-1] > 0


def test_both_sides_cost_what_the_arithmetic_says(bars_of):
    """In and out at 10 bps each: 110 * 0.999 / (100 * 1.001) - 1 = 9.780%, not 10%."""

    class InAndOut(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.buy()
            if self.bar_count == 2:
                self.close()

    report = run_strategy(InAndOut, bars_of([100, 100, 110]), RunConfig(costs=Costs(fee_bps=10)))
    assert report.equity[-1] / 100_000 - 1 == pytest.approx(0.0978022, abs=1e-7)


def test_a_loss_is_a_loss(bars_of):
    report = buy_and_hold(bars_of([100, 100, 80]), RunConfig(costs=Costs(fee_bps=0)), first_tradable_bar=0)
    assert report.equity[-1] == pytest.approx(80_000)


def test_a_candidate_that_does_the_same_has_the_same_curve(bars_of):
    class Hold(Strategy):
        def on_bar(self, bar):
            if self.flat:
                self.buy()

    bars, config = bars_of([100, 101, 99, 104, 120]), RunConfig(start=1, costs=Costs(slippage_bps=5), decision_delay=1)
    candidate = run_strategy(Hold, bars, config)
    benchmark = buy_and_hold(bars, config, first_tradable_bar=candidate.first_tradable_bar)
    assert benchmark.equity.tolist() == candidate.equity.tolist()
