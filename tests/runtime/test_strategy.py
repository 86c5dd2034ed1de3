"""The API that strategies see, at its edges."""

from __future__ import annotations

import ast
import inspect
import math
from collections import deque

import numpy as np
import pytest

from runtime import strategy
from runtime.desk import Desk, Series, printable
from runtime.kernel import RunConfig, run_strategy
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.strategy import INJECTED, Strategy, StrategyError, crossed_above, crossed_below, param


@pytest.fixture
def bars():
    price = np.linspace(100, 140, 300)
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(3600),
        ts=np.arange(300) * 3600,
        open=price,
        high=price + 1,
        low=price - 1,
        close=price,
        volume=price,
    )


@pytest.fixture
def series():
    """A series over the given values, oldest first."""

    def make(*values):
        return Series(deque([(None, 0, value) for value in values], maxlen=250), 2)

    return make


@pytest.fixture
def rule_of(bars):
    """The rule under which a strategy fails, with the given bodies of its hooks."""

    def run(on_start="pass", on_bar="pass"):
        namespace = dict(INJECTED)
        exec(
            f"class S(Strategy):\n def on_start(self):\n  {on_start}\n def on_bar(self, bar):\n  {on_bar}\n", namespace
        )
        failure = run_strategy(namespace["S"], bars, RunConfig()).failure
        return None if failure is None else failure.exception

    return run


def test_every_strategy_gets_the_promised_names():
    assert set(INJECTED) == {
        "Strategy", "Bar", "Order", "OrderType", "Side", "Fill", "Position", "Clock", "MessageBus", "Instrument",
        "Timeframe", "param", "crossed_above", "crossed_below",
    }  # fmt: skip
    with pytest.raises(TypeError):
        INJECTED["print"] = print


# param --------------------------------------------------------------------------------------------------------------


def test_a_param_is_its_number():
    assert param(40, low=10, high=120) == 40
    assert type(param(40, low=10, high=120)) is int
    assert param(0.5, low=0, high=1) == 0.5


@pytest.mark.parametrize(
    ("default", "low", "high", "rule"),
    [
        (5, 10, 20, "param-range"),
        (25, 10, 20, "param-range"),
        (15, 20, 10, "param-range"),
        (True, 0, 2, "param-value"),
        ("5", 0, 9, "param-value"),
        (math.nan, 0, 1, "param-value"),
        (1, 0, math.inf, "param-value"),
        (None, 0, 1, "param-value"),
    ],
)
def test_a_wrong_param_is_told(default, low, high, rule):
    with pytest.raises(StrategyError) as error:
        param(default, low=low, high=high)
    assert error.value.rule == rule


# Series -------------------------------------------------------------------------------------------------------------


def test_a_series_is_read_backwards(series):
    values = series(1.0, 2.0, 3.0)
    assert (values[-1], values[-2], values[-3]) == (3.0, 2.0, 1.0)
    assert values[-2:] == (2.0, 3.0)
    assert values[-2:-1] == (2.0,)
    assert len(values) == 3


@pytest.mark.parametrize("index", [0, 1, 5, True, False, "a", -1.0, None])
def test_reading_forwards_or_by_something_else_is_told(series, index):
    with pytest.raises(StrategyError, match=r"series\[-1\] is the current bar"):
        series(1.0, 2.0)[index]


def test_before_the_first_value_there_is_nan_and_beyond_250_an_error(series):
    assert math.isnan(series(1.0)[-2])
    assert math.isnan(series(1.0)[-250])
    for index in (-251, -(10**400)):
        with pytest.raises(StrategyError) as error:
            series(1.0)[index]
        assert error.value.rule == "lookback-too-long"


def test_nothing_public_on_a_series_leads_to_later_values(bars):
    """What a strategy holds is all that exists behind it: no attribute of a series, public or not, knows the future."""

    class Peeks(Strategy):
        def on_start(self):
            self.sma = self.indicator("SMA", timeperiod=5)

        def on_bar(self, bar):
            assert [name for name in dir(self.sma) if not name.startswith("_")] == []
            assert max(moment[0].ts for moment in self.sma._past) == bar.ts
            assert max(moment[0].ts for moment in self._desk.past) == bar.ts
            with pytest.raises(AttributeError):
                self.sma.values = 1
            with pytest.raises(TypeError):
                self.sma[-1] = 5.0

    assert run_strategy(Peeks, bars, RunConfig()).failure is None


@pytest.mark.parametrize(
    ("a", "b", "above", "below"),
    [
        ((1.0, 3.0), (2.0, 2.0), True, False),
        ((3.0, 1.0), (2.0, 2.0), False, True),
        ((2.0, 3.0), (2.0, 2.0), True, False),
        ((3.0, 4.0), (2.0, 2.0), False, False),
        ((math.nan, 3.0), (2.0, 2.0), False, False),
        ((1.0, 3.0), 2, True, False),
        ((3.0, 1.0), 2.0, False, True),
    ],
)
def test_crossings_need_both_bars(series, a, b, above, below):
    left, right = series(*a), series(*b) if isinstance(b, tuple) else b
    assert crossed_above(left, right) is above
    assert crossed_below(left, right) is below
    assert crossed_below(right, left) is above


# Declarations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on_start", "rule"),
    [
        ("self.indicator('SMA', timeperiod=250)", None),
        ("self.indicator('SMA', timeperiod=251)", "lookback-too-long"),
        ("self.indicator('RSI', timeperiod=250)", "lookback-too-long"),
        ("self.indicator('SMA', timeperiod=100000)", "lookback-too-long"),
        ("self.indicator('SMA', timeperiod=100001)", "indicator-range"),
        ("self.indicator('SMA', timeperiod=10**400)", "indicator-range"),
        ("self.indicator('SMA', timeperiod=20.0)", "indicator-range"),
        ("self.indicator('SMA', timeperiod=True)", "indicator-range"),
        ("self.indicator('SMA', period=20)", "indicator-param"),
        ("self.indicator('SMMA')", "indicator-name"),
        ("self.indicator('BBANDS')", "indicator-name"),
        ("self.indicator(5)", "indicator-name"),
        ("self.indicator('SMA', source='price')", "indicator-source"),
        ("self.indicator('SMA', 5)", "indicator-source"),
        ("self.indicator('ATR', source='open')", "indicator-source"),
        ("self.need(250)", None),
        ("self.need(251)", "lookback-too-long"),
        ("self.need(0)", "need-value"),
        ("self.need(2.0)", "need-value"),
        ("self.need(True)", "need-value"),
        ("self.clock.now()", "clock-not-running"),
    ],
)
def test_declarations_are_checked_where_they_stand(rule_of, on_start, rule):
    assert rule_of(on_start=on_start) == rule


@pytest.mark.parametrize(
    ("on_bar", "rule"),
    [
        ("self.indicator('SMA')", "declare-late"),
        ("self.need(3)", "declare-late"),
        ("self.history(250)", None),
        ("self.history(251)", "lookback-too-long"),
        ("self.history(0)", "history-value"),
        ("self.history('3')", "history-value"),
    ],
)
def test_what_is_declared_late_or_asked_wrongly_is_told(rule_of, on_bar, rule):
    assert rule_of(on_bar=on_bar) == rule


def test_history_gives_what_exists_newest_last(bars):
    class Past(Strategy):
        def on_bar(self, bar):
            past = self.history(3)
            if self.bar_count in {1, 2, 5}:
                self.log([round(old.close, 3) for old in past], past[-1] is bar)

    assert run_strategy(Past, bars, RunConfig()).log[:2] == ("[100.0] True", "[100.0, 100.134] True")


def test_equal_declarations_share_one_column():
    desk = Desk(step_s=60, starting=True)

    class Twice(Strategy):
        def on_bar(self, bar):
            pass

    twice = Twice("n", None, None, None, None)
    twice._desk = desk
    twice.indicator("SMA")
    twice.indicator("SMA", timeperiod=30)
    twice.indicator("SMA", timeperiod=31)
    twice.indicator("MACD.signal")
    twice.indicator("MACD.macdsignal")
    assert [(call.name, dict(call.params).get("timeperiod")) for call in desk.calls] == [
        ("SMA", 30), ("SMA", 31), ("MACD.macdsignal", None),
    ]  # fmt: skip


def test_state_is_read_only(rule_of):
    for name in ("flat", "long", "short", "position", "entry_price", "cash", "equity", "bar_count", "open_orders"):
        assert rule_of(on_bar=f"self.{name} = 1") == "AttributeError"


def test_printable_text_stays_and_the_rest_is_escaped():
    assert printable("größer: 5 €") == "größer: 5 €"
    assert printable("\x1b[31m\u202e\ud800\n") == "\\x1b[31m\\u202e\\ud800\\n"


def test_no_error_repeats_a_value_of_run_time():
    """On real bars a value may be a price or a date, and the sentence reaches the model that wrote the strategy."""
    source = inspect.getsource(strategy)
    raised = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)
              and isinstance(node.func, ast.Name) and node.func.id == "StrategyError"]  # fmt: skip
    assert len(raised) > 8
    shown = {
        ast.unparse(part.value) for call in raised for part in ast.walk(call) if isinstance(part, ast.FormattedValue)
    }
    assert shown <= {"MAX_LOOKBACK", "call.name", "what"}
