"""A strategy on longer bars knows at each moment what the shorter ones had told by then, and nothing more."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.kernel import RunConfig, run_strategy
from runtime.market import Bars, resample
from runtime.market.calendar import parse_stamp
from runtime.model import Instrument, Timeframe
from runtime.strategy import Strategy

MONDAY = parse_stamp("2024-01-01")


def walk(step_s, count, seed=4):
    close = 100 * np.exp(np.cumsum(np.random.default_rng(seed).normal(0, 0.002, count)))
    opened = np.concatenate([[100.0], close[:-1]])
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=365 * 86_400 / step_s),
        timeframe=Timeframe(step_s),
        ts=MONDAY + np.arange(count) * step_s,
        open=opened,
        high=np.maximum(opened, close) * 1.001,
        low=np.minimum(opened, close) * 0.999,
        close=close,
        volume=np.ones(count),
    )


def told_to(bars):
    """What a strategy sees on each bar: the time, the close, and the highest high that it ever saw."""
    told = []

    class Watch(Strategy):
        def on_bar(self, bar):
            highest = max(bar.high, told[-1][2] if told else 0.0)
            told.append((int(self.clock.now().timestamp()), bar.close, highest))
            if self.flat and bar.close > bar.open:
                self.buy(1, stop_loss=0.01)
            elif self.long and bar.close < bar.open:
                self.close()

    report = run_strategy(Watch, bars, RunConfig())
    assert report.failure is None
    return told, report


@pytest.mark.parametrize(
    ("source", "longer"),
    [("1m", "5m"), ("1m", "15m"), ("5m", "1h"), ("15m", "4h"), ("1h", "1d"), ("4h", "1w"), ("1d", "1w"), ("1m", "7m")],
)
def test_a_longer_bar_is_known_when_its_last_part_has_ended(source, longer):
    """At that moment its close is the source's close of that very moment, and its extremes are those of the bars before."""
    step_s, long_s = Timeframe.parse(source).seconds, Timeframe.parse(longer).seconds
    parts = walk(step_s, 40 * long_s // step_s)
    told, _ = told_to(resample(parts, Timeframe(long_s)).bars)
    ends = parts.ts + step_s
    assert len(told) >= 39
    begin = told[0][0] - long_s
    for now, close, highest in told:
        known = (ends <= now) & (parts.ts >= begin)
        assert close == parts.close[known][-1]
        assert highest == parts.high[known].max()


@pytest.mark.parametrize("cut", [1, 150, 777, 958, 959, 960])
def test_a_bar_that_is_still_forming_changes_no_decision(cut):
    """The source broken off anywhere: the orders up to there are the same, since no part of a bar makes a bar."""
    parts = walk(900, 960)
    whole, short = (told_to(resample(each, Timeframe(14_400)).bars)[1] for each in (parts, parts.between(0, 32 + cut)))
    rows = len(short.position)
    assert rows == min((32 + cut) // 16, 60)
    assert [entry for entry in whole.order_log if entry.row < rows] == list(short.order_log)
    assert whole.equity[: rows + 1].tolist() == short.equity.tolist()


@pytest.mark.parametrize("text", ["1m", "3m", "45m", "1h", "7h", "1d", "3d", "1w"])
def test_any_step_of_whole_minutes_up_to_a_week_runs(text):
    bars = walk(Timeframe.parse(text).seconds, 60)
    told, report = told_to(bars)
    assert [now for now, _, _ in told] == (bars.ts + bars.timeframe.seconds).tolist()
    assert len(report.fills) > 10
