"""Reports over the wire: honest ones arrive whole, forged ones are refused, whatever the bytes."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.kernel import (
    AccountKind,
    Costs,
    ReportError,
    RunConfig,
    RunEnd,
    decode_report,
    encode_report,
    run_strategy,
)
from runtime.strategy import Strategy

CONFIG = RunConfig(costs=Costs(fee_bps=10, slippage_bps=5), start=1)
OHLC = [100, (100, 104, 99, 103), (103, 108, 101, 107), (107, 109, 92, 95), (95, 99, 94, 98), (98, 111, 97, 110)]
PREFIX = struct.Struct(">4sII")


class Busy(Strategy):
    def on_bar(self, bar):
        self.log("bar", self.bar_count)
        if self.bar_count == 1:
            self.buy(100, stop_loss=0.08, tag="in")
            self.buy(5000)
        if self.bar_count == 3:
            self.target(0.5)
        if self.bar_count == 4:
            self.sell(3, limit=200)


@pytest.fixture
def bars(bars_of):
    return bars_of(OHLC)


@pytest.fixture
def report(bars):
    return run_strategy(Busy, bars, CONFIG)


@pytest.fixture
def forge(report, bars):
    """Change the header or the arrays of an honest report, and decode."""

    def change(header=None, equity=None, position=None, config=CONFIG):
        data = encode_report(report)
        _, size, n = PREFIX.unpack_from(data)
        fields = json.loads(data[PREFIX.size : PREFIX.size + size])
        arrays = np.frombuffer(data[PREFIX.size + size :]).copy()
        if header:
            header(fields)
        if equity:
            equity(arrays[: n + 1])
        if position:
            position(arrays[n + 1 :])
        text = json.dumps(fields).encode()
        return decode_report(PREFIX.pack(b"TRR1", len(text), n) + text + arrays.tobytes(), bars, config)

    return change


def test_an_honest_report_arrives_whole(report, bars):
    again = decode_report(encode_report(report), bars, CONFIG)
    assert len(report.fills) == 3
    assert report.trades
    assert report.refused_count == 1
    assert report.open_orders == 1
    for name in report.__dataclass_fields__:
        if name in {"equity", "position"}:
            np.testing.assert_array_equal(getattr(again, name), getattr(report, name))
        else:
            assert getattr(again, name) == getattr(report, name), name


def test_a_failed_run_arrives_with_its_failure(bars):
    class Fails(Strategy):
        def on_bar(self, bar):
            self.buy(1)
            if self.bar_count == 3:
                raise ValueError

    report = run_strategy(Fails, bars, CONFIG)
    again = decode_report(encode_report(report), bars, CONFIG)
    assert again.end is RunEnd.FAILED
    assert again.failure == report.failure


def test_a_ruined_run_arrives_ruined(bars_of):
    class Short(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.sell(1900)

    bars, config = bars_of([100, 100, (100, 190, 99, 120), 100]), RunConfig(account=AccountKind.MARGIN)
    report = run_strategy(Short, bars, config)
    again = decode_report(encode_report(report), bars, config)
    assert again.ruined
    assert again.equity.tolist() == report.equity.tolist()
    assert again.trades == report.trades


# Forged figures -----------------------------------------------------------------------------------------------------


def test_unchanged_the_forge_is_honest(forge, report):
    assert forge().fills == report.fills


@pytest.mark.parametrize("row", range(7))
def test_a_painted_equity_curve_is_refused(forge, row):
    def paint(equity):
        equity[row] *= 1 + 1e-6

    with pytest.raises(ReportError, match="equity does not follow from the fills"):
        forge(equity=paint)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_curve_that_is_not_finite_is_refused(forge, value):
    def paint(array):
        array[2] = value

    with pytest.raises(ReportError, match="equity is not finite"):
        forge(equity=paint)
    with pytest.raises(ReportError, match="position is not finite"):
        forge(position=paint)


def test_a_position_that_no_fill_explains_is_refused(forge):
    def paint(position):
        position[0] = 1.0

    with pytest.raises(ReportError, match="position does not follow"):
        forge(position=paint)


TS, SIDE, QUANTITY, PRICE, FEE, TAG, ORDER = range(7)


def fill(index, field, value):
    def change(header):
        header["fills"][index][field] = value(header["fills"][index][field]) if callable(value) else value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (fill(0, PRICE, 50.0), "outside its bar"),
        (fill(0, PRICE, 103.1), "equity|fee"),
        (fill(0, FEE, 0.0), "fee"),
        (fill(0, FEE, -5.0), "fee"),
        (fill(0, QUANTITY, 1e6), "fee|covered"),
        (fill(0, QUANTITY, 0.0), "quantity"),
        (fill(0, QUANTITY, -1.0), "quantity"),
        (fill(0, SIDE, "short"), "side"),
        (fill(0, SIDE, "sell"), "covered|outside"),
        (fill(0, SIDE, None), "side"),
        (fill(0, TS, lambda ts: ts + 1), "stamp"),
        (fill(0, TS, lambda ts: ts + 86_400 * 10_000), "stamp"),
        (fill(0, TS, lambda ts: ts - 86_400), "nobody can have asked"),
        (fill(0, TS, lambda ts: ts + 86_400 * 3), "out of order"),
        (fill(0, TAG, "x\n"), "tag"),
        (fill(0, TAG, "x" * 65), "tag"),
        (fill(0, ORDER, -1), "order id"),
        (fill(0, ORDER, True), "order id"),
        (fill(0, PRICE, "103"), "price"),
        (fill(0, PRICE, 103), "price"),
    ],
)
def test_a_forged_fill_is_refused(forge, change, reason):
    with pytest.raises(ReportError, match=reason):
        forge(header=change)


def put(key, value):
    def change(header):
        header[key] = value(header[key]) if callable(value) else value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("end", "won"), "end"),
        (put("end", "failed"), "a failure goes with a failed run"),
        (put("failure", {"hook": "on_bar"}), "failure"),
        (put("failure", {"hook": "x", "exception": "V", "line": 1, "message": ""}), "hook"),
        (put("first_tradable_bar", 0), "first tradable bar"),
        (put("first_tradable_bar", 99), "first tradable bar"),
        (put("first_tradable_bar", None), "without a tradable bar"),
        (put("first_tradable_bar", 5), "before the first tradable bar"),
        (put("fills", []), "trades|position"),
        (put("fills", lambda fills: fills[:-1]), "position|trades"),
        (put("fills", {"0": 1}), "fills"),
        (put("fills", [[1, 2]]), "fills"),
        (put("trades", []), "0 trades, 1 follow"),
        (put("trades", [[0.0, 0.0, "luck"]]), "exit reason"),
        (put("trades", [[0.0, 0.0, "ruin"]]), "ruin"),
        (put("trades", [[0.9, 0.0, "signal"]]), "mae"),
        (put("trades", [[0.0, 0.9, "signal"]]), "mfe"),
        (put("trades", [[-0.1, 0.0, "signal"]]), "mae"),
        (put("refused_count", 0), "more refusals listed"),
        (put("refused_count", -1), "refused_count"),
        (put("refused_count", 2**70), "refused_count"),
        (put("open_orders", 1.5), "open_orders"),
        (put("order_log", []), "nobody can have asked"),
        (put("order_log", lambda log: log[::-1]), "out of order"),
        (put("order_log", [[10**9, "1 buy"]]), "outside the bars"),
        (put("order_log", [[1, "1 buy\n"]]), "action"),
        (put("log", ["\u001b[31m"]), "log line"),
        (put("log", "text"), "log"),
        (put("ruined", True), "ruined, but"),
        (put("ruined", 0), "flag"),
        (lambda header: header.pop("log"), "other keys"),
        (lambda header: header.update(sharpe=99), "other keys"),
    ],
)
def test_a_forged_header_is_refused(forge, change, reason):
    with pytest.raises(ReportError, match=reason):
        forge(header=change)


def test_a_report_of_another_configuration_is_refused(forge):
    with pytest.raises(ReportError, match="fee"):
        forge(config=RunConfig(costs=Costs(fee_bps=0, slippage_bps=5), start=1))
    with pytest.raises(ReportError, match="equity"):
        forge(config=RunConfig(costs=CONFIG.costs, start=1, cash=2e5))
    with pytest.raises(ReportError, match=r"outside its bar|nobody"):
        forge(config=RunConfig(costs=CONFIG.costs, start=1, decision_delay=1))


def test_a_report_of_other_bars_is_refused(report, bars_of):
    with pytest.raises(ReportError, match="a report of 6 bars, 5 expected"):
        decode_report(encode_report(report), bars_of(OHLC[:-1]), CONFIG)
    with pytest.raises(ReportError):
        decode_report(encode_report(report), bars_of([*OHLC[:-1], 98]), CONFIG)


def test_a_short_in_a_cash_account_is_refused(bars_of):
    class Short(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.sell(10)

    bars = bars_of([100, 100, 50])
    report = run_strategy(Short, bars, RunConfig(account=AccountKind.MARGIN))
    assert report.equity[-1] > 100_000
    with pytest.raises(ReportError, match="covered"):
        decode_report(encode_report(report), bars, RunConfig())


def test_leverage_beyond_the_margin_is_refused(bars_of):
    class Big(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.buy(1900)

    loose, strict = bars_of([100, 100, 110], initial_margin=0.5), bars_of([100, 100, 110], initial_margin=0.9)
    config = RunConfig(account=AccountKind.MARGIN)
    report = run_strategy(Big, loose, config)
    assert decode_report(encode_report(report), loose, config).equity[-1] > 100_000
    with pytest.raises(ReportError, match="margin"):
        decode_report(encode_report(report), strict, config)


def test_a_survivor_of_a_ruinous_bar_is_refused(bars_of):
    """The same fills on bars that spike to 210 in between: whoever claims to have lived through that lies."""

    class Short(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.sell(999)
            if self.bar_count == 4:
                self.close()

    calm, wild = bars_of([100, 100, 100, 100, 90]), bars_of([100, 100, (100, 210, 100, 100), 100, 90])
    config = RunConfig(account=AccountKind.MARGIN)
    data = encode_report(run_strategy(Short, calm, config))
    assert decode_report(data, calm, config).equity[-1] > 100_000
    with pytest.raises(ReportError, match="ruins"):
        decode_report(data, wild, config)


# Forged bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"end": NaN}',
        b'{"end": 1, "end": 2}',
        b"1" * 100_000,
        b'"' + b"x" * 1000 + b'"',
    ],
)
def test_a_header_that_is_no_plain_object_is_refused(bars, text):
    data = PREFIX.pack(b"TRR1", len(text), len(bars)) + text + bytes(8 * (2 * len(bars) + 1))
    with pytest.raises(ReportError, match="header"):
        decode_report(data, bars, CONFIG)


@pytest.mark.parametrize("literal", ["1e999", "-1e999", "1" * 400, '"1"', "true", "[]"])
def test_numbers_that_are_none_are_refused(report, bars, literal):
    data = encode_report(report)
    _, size, n = PREFIX.unpack_from(data)
    text = data[PREFIX.size : PREFIX.size + size].decode()
    text = text.replace(repr(report.fills[0].quantity), literal, 1).encode()
    with pytest.raises(ReportError):
        decode_report(PREFIX.pack(b"TRR1", len(text), n) + text + data[PREFIX.size + size :], bars, CONFIG)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_flipped_or_missing_bytes_never_break_the_decoder(data):
    """Refused, or the same report: there is no third way."""
    conftest_bars, report = _honest()
    encoded = bytearray(encode_report(report))
    for _ in range(data.draw(st.integers(1, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([None, None, 0, 3, 50, len(encoded) - 1]))
    try:
        again = decode_report(bytes(encoded[:cut]), conftest_bars, CONFIG)
    except ReportError:
        return
    np.testing.assert_allclose(again.equity, report.equity, rtol=1e-8)


def _honest():
    from runtime.market.bars import Bars
    from runtime.model import Instrument, Timeframe

    rows = np.array([row if isinstance(row, tuple) else (row,) * 4 for row in OHLC], dtype=float)
    bars = Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(len(rows)) * 86_400,
        open=rows[:, 0],
        high=rows[:, 1],
        low=rows[:, 2],
        close=rows[:, 3],
        volume=np.ones(len(rows)),
    )
    return bars, run_strategy(Busy, bars, CONFIG)
