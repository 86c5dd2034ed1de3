"""Reports over the wire: honest ones arrive whole, forged ones are refused, whatever the bytes."""

from __future__ import annotations

import json

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
    RunLimits,
    decode_report,
    encode_report,
    run_strategy,
)
from runtime.kernel.wire import readable_orders
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.strategy import Strategy

CONFIG = RunConfig(costs=Costs(fee_bps=10, slippage_bps=5), start=1)
OHLC = [100, (100, 104, 99, 103), (103, 108, 101, 107), (107, 109, 92, 95), (95, 99, 94, 98), (98, 111, 97, 110)]
MAGIC = b"TRR2"


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


def changed(data, change):
    """The bytes of a report with some of its fields changed."""
    fields = json.loads(data[len(MAGIC) :])
    change(fields)
    return MAGIC + json.dumps(fields).encode()


@pytest.fixture
def forge(report, bars):
    """Change the fields of an honest report, and decode."""

    def forged(change=lambda fields: None, config=CONFIG):
        return decode_report(changed(encode_report(report), change), bars, config)

    return forged


def assert_same(again, report):
    for name in report.__dataclass_fields__:
        if name in {"equity", "position"}:
            np.testing.assert_array_equal(getattr(again, name), getattr(report, name))
        else:
            assert getattr(again, name) == getattr(report, name), name


def test_an_honest_report_arrives_whole(report, bars):
    assert len(report.fills) == 3
    assert report.trades
    assert report.refused_count == 1
    assert report.open_orders == 1
    assert_same(decode_report(encode_report(report), bars, CONFIG), report)


def test_rows_made_before_give_the_same(report, bars):
    assert_same(decode_report(encode_report(report), bars, CONFIG, rows=bars.rows()), report)


@pytest.mark.parametrize("hook", ["on_start", "on_bar", "on_fill", "on_stop"])
def test_a_failed_run_arrives_with_its_failure_and_what_it_had_done(bars, hook):
    """What still waits when a strategy fails must not fill afterwards."""

    class Fails(Strategy):
        def on_bar(self, bar):
            self.buy(1, limit=94.5 if self.bar_count == 3 else 120)
            if hook == "on_bar" and self.bar_count == 3:
                raise ValueError

    if hook != "on_bar":
        setattr(Fails, hook, lambda *_: 1 / 0)
    report = run_strategy(Fails, bars, CONFIG)
    assert report.end is RunEnd.FAILED
    assert report.failure.hook == hook
    assert_same(decode_report(encode_report(report), bars, CONFIG), report)


def test_a_flooded_run_arrives_flooded(bars):
    class Floods(Strategy):
        def on_bar(self, bar):
            for _ in range(1 if self.bar_count < 3 else 101):
                self.buy(1)

    report = run_strategy(Floods, bars, CONFIG)
    assert report.end is RunEnd.FLOODED
    assert report.last_row == 3
    assert_same(decode_report(encode_report(report), bars, CONFIG), report)


def test_a_ruined_run_arrives_ruined(bars_of):
    class Short(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.sell(1900)

    bars, config = bars_of([100, 100, (100, 190, 99, 120), 100]), RunConfig(account=AccountKind.MARGIN)
    report = run_strategy(Short, bars, config)
    assert report.ruined
    assert_same(decode_report(encode_report(report), bars, config), report)


@pytest.mark.parametrize("early", [1, 150])
def test_orders_that_came_too_early_arrive_as_refusals(bars, early):
    class Early(Strategy):
        def on_start(self):
            for _ in range(early):
                self.buy(1)

        def on_bar(self, bar):
            self.buy(10**6)

    report = run_strategy(Early, bars, CONFIG, limits=RunLimits(orders_per_bar=200))
    assert report.refused_count > early
    assert_same(decode_report(encode_report(report), bars, CONFIG, limits=RunLimits(orders_per_bar=200)), report)


def test_a_run_that_never_traded_arrives(bars):
    class Late(Strategy):
        def on_start(self):
            self.need_history(20)

        def on_bar(self, bar):
            raise AssertionError

    report = run_strategy(Late, bars, CONFIG)
    assert report.first_tradable_bar is None
    assert_same(decode_report(encode_report(report), bars, CONFIG), report)


def test_what_a_child_can_choose_is_what_it_asks_for_and_how_it_ends(forge):
    """Another tag, or a flood on the last bar, is another run that could have been; its figures are ours all the same."""
    assert forge(line(0, 1, "1 buy quantity=100.0 stop_loss=0.08 tag='on'")).fills[0].tag == "on"
    assert forge(put("end", "flooded")).end is RunEnd.FLOODED


# Forged fields ------------------------------------------------------------------------------------------------------


def test_unchanged_the_forge_is_honest(forge, report):
    assert_same(forge(), report)


def put(key, value):
    def change(fields):
        fields[key] = value(fields[key]) if callable(value) else value

    return change


def line(index, row, action):
    def change(fields):
        fields["order_log"][index] = [row, action]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("end", "won"), "end"),
        (put("end", None), "end"),
        (put("end", "failed"), "a failure goes with a failed run"),
        (put("failure", {"hook": "on_bar"}), "failure"),
        (put("failure", {"hook": "x", "exception": "V", "line": 1, "message": ""}), "hook"),
        (put("failure", {"hook": "on_bar", "exception": "V", "line": 1, "message": ""}), "a failure goes with"),
        (put("first_tradable_bar", 0), "first tradable bar"),
        (put("first_tradable_bar", 99), "first tradable bar"),
        (put("first_tradable_bar", True), "first_tradable_bar"),
        (put("first_tradable_bar", None), "without a tradable bar"),
        (put("first_tradable_bar", 5), "before the first tradable bar"),
        (put("last_row", None), "last row"),
        (put("last_row", 4), "last row"),
        (put("last_row", 6), "last row"),
        (put("last_row", 0), "last row"),
        (put("refused_count", 0), "refused count"),
        (put("refused_count", 2), "books"),
        (put("refused_count", -1), "refused_count"),
        (put("refused_count", 2**53), "refused count"),
        (put("refused_count", 2**70), "refused_count"),
        (put("refused_count", 1.0), "refused_count"),
        (put("order_log", []), "refused count|books"),
        (put("order_log", lambda log: log[::-1]), "out of order"),
        (put("order_log", lambda log: log[:-1]), "books"),
        (put("order_log", lambda log: [*log, log[-1]]), "order log"),
        (put("order_log", {"0": 1}), "order_log"),
        (put("order_log", [[1]]), "line of the order log"),
        (put("order_log", [[1.0, "1 buy"]]), "row"),
        (put("order_log", [[10**9, "1 buy"]]), "after the last row"),
        (put("order_log", [[1, f"{n} buy"] for n in range(1, 102)]), "order log"),
        (put("order_log", [[1, "1 buy"]] * 50_001), "50001 orders"),
        (line(0, 1, "1 buy\n"), "action"),
        (line(0, 1, "1 buy" + " " * 1000), "action"),
        (line(0, 1, "1 buy quantity=99.0 stop_loss=0.08 tag='in'"), "books"),
        (put("log", ["\u001b[31m"]), "log line"),
        (put("log", "text"), "log"),
        (put("log", [""] * 1001), "log"),
        (put("books", "0" * 64), "books"),
        (put("books", None), "books"),
        (lambda fields: fields.pop("log"), "other keys"),
        (lambda fields: fields.update(sharpe=99), "other keys"),
        (lambda fields: fields.update(equity=[1e9]), "other keys"),
    ],
)
def test_a_forged_field_is_refused(forge, change, reason):
    with pytest.raises(ReportError, match=reason):
        forge(change)


@pytest.mark.parametrize(
    "action",
    [
        "",
        " ",
        "whatever",
        "1",
        "1 ",
        "buy",
        "2 buy",
        "0 buy",
        "-1 buy",
        "01 buy",
        "1 fly",
        "1 buy quantity=1",
        "1 buy quantity=1.00",
        "1 buy quantity=1e0",
        "1 buy quantity=0x10",
        "1 buy quantity=1_0.0",
        "1 buy quantity=\u0661.0",
        "1 buy quantity=Infinity",
        "1 buy quantity=1.0 quantity=1.0",
        "1 buy limit=1.0 quantity=1.0",
        "1 buy quantity",
        "1 buy cash=1.0",
        "1 buy quantity=",
        "1 buy quantity=?int",
        "1 buy quantity=" + "9" * 900,
        "1 buy tag=in",
        "1 buy tag=''",
        "1 buy tag='",
        "1 buy tag='\\x41'",
        "1 buy tag='a'b'",
        '1 buy tag="in"',
        "1 buy market market",
        "cancel",
        "cancel ",
        "cancel all all",
        "cancel 1 now",
        "cancel one",
        "1 cancel",
    ],
)
def test_a_line_that_no_run_writes_is_refused(forge, action):
    with pytest.raises(ReportError, match="order log"):
        forge(line(0, 1, action))


def test_a_report_of_another_configuration_is_refused(forge):
    for other in (
        RunConfig(costs=Costs(fee_bps=0, slippage_bps=5), start=1),
        RunConfig(costs=CONFIG.costs, start=1, cash=2e5),
        RunConfig(costs=CONFIG.costs, start=1, decision_delay=1),
    ):
        with pytest.raises(ReportError, match=r"books|refused"):
            forge(config=other)


def test_a_report_of_other_bars_is_refused(report, bars_of):
    with pytest.raises(ReportError, match="last row"):
        decode_report(encode_report(report), bars_of(OHLC[:-1]), CONFIG)
    with pytest.raises(ReportError, match="books"):
        decode_report(encode_report(report), bars_of([*OHLC[:-1], 98]), CONFIG)


def test_a_short_in_a_cash_account_is_refused(bars_of):
    class Short(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.sell(10)

    bars = bars_of([100, 100, 50])
    report = run_strategy(Short, bars, RunConfig(account=AccountKind.MARGIN))
    assert report.equity[-1] > 100_000
    with pytest.raises(ReportError, match=r"refused|books"):
        decode_report(encode_report(report), bars, RunConfig())


@pytest.mark.parametrize("dust", [False, True])
def test_a_survivor_of_a_ruinous_bar_is_refused(bars_of, dust):
    """The same orders on bars that spike to 210 in between; a small fill on that bar does not hide it."""

    class Short(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.sell(999)
            if self.bar_count == 2 and dust:
                self.buy(1e-8)
            if self.bar_count == 4:
                self.close()

    calm, wild = bars_of([100, 100, 100, 100, 90]), bars_of([100, 100, (100, 210, 100, 100), 100, 90])
    config = RunConfig(account=AccountKind.MARGIN)
    data = encode_report(run_strategy(Short, calm, config))
    assert decode_report(data, calm, config).equity[-1] > 100_000
    with pytest.raises(ReportError):
        decode_report(data, wild, config)


def test_a_margin_call_that_the_child_left_out_is_refused(bars_of):
    class Short(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.sell(1500)

    ohlc = [100, 100, (100, 140, 100, 100), 90]
    loose, strict = bars_of(ohlc), bars_of(ohlc, maintenance_margin=0.25)
    config = RunConfig(account=AccountKind.MARGIN)
    report = run_strategy(Short, loose, config)
    assert report.equity[-1] > 100_000
    with pytest.raises(ReportError, match="books"):
        decode_report(encode_report(report), strict, config)


def test_an_equity_beyond_all_bounds_is_refused(bars_of):
    """Whoever knows every next bar compounds without end; the books stay finite, and the figure is no result."""

    class Knows(Strategy):
        def on_bar(self, bar):
            self.target(1.0 if bar.close == 1 else 0.0)

    bars = bars_of([1.0, 1.0, (1.0, 1e6, 1.0, 1e6), (1e6, 1e6, 1.0, 1.0)] * 30)
    config = RunConfig(cash=1e-3, costs=Costs(fee_bps=0))
    report = run_strategy(Knows, bars, config)
    assert np.isfinite(report.equity).all()
    assert report.equity.max() > 1e15 * config.cash
    assert any("too large" in refusal.reason for refusal in report.refused)
    with pytest.raises(ReportError, match="no result"):
        decode_report(encode_report(report), bars, config)


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
def test_bytes_that_are_no_plain_object_are_refused(bars, text):
    with pytest.raises(ReportError, match=r"JSON|keys"):
        decode_report(MAGIC + text, bars, CONFIG)
    with pytest.raises(ReportError, match="not a report"):
        decode_report(text, bars, CONFIG)


def test_more_bytes_than_a_report_has_are_refused_unread(bars):
    with pytest.raises(ReportError, match="bytes"):
        decode_report(MAGIC + bytes(33 * 1024 * 1024), bars, CONFIG)


def _honest():
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


HONEST_BARS, HONEST = _honest()


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_flipped_or_missing_bytes_never_break_the_decoder(data):
    """Refused, or the same figures: there is no third way."""
    encoded = bytearray(encode_report(HONEST))
    for _ in range(data.draw(st.integers(1, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([None, None, 0, 3, 50, len(encoded) - 1]))
    try:
        again = decode_report(bytes(encoded[:cut]), HONEST_BARS, CONFIG)
    except ReportError:
        return
    np.testing.assert_array_equal(again.equity, HONEST.equity)


_numbers = st.sampled_from(
    ["5e-324", "1e-320", "1e-09", "1.0", "-1.0", "0.5", "1e+308", "1e+15", "inf", "nan", "huge", "?", "?list", "7" * 30]
) | st.floats().map(repr)
_lines = st.one_of(
    st.text(st.sampled_from("1 buyselcot=?'.-e0allimit"), max_size=30),
    st.builds(
        " ".join,
        st.tuples(
            st.sampled_from(["1 buy", "1 sell", "1 target", "1 close", "1 ?", "2 buy", "cancel all", "cancel 1"]),
            st.lists(
                st.builds(
                    "{}={}".format,
                    st.sampled_from(["quantity", "limit", "stop", "offset", "stop_loss", "take_profit", "trail"]),
                    _numbers,
                ),
                max_size=4,
            ).map(" ".join),
        ).map(lambda parts: [part for part in parts if part]),
    ),
)
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(
    log=st.lists(st.tuples(st.integers(0, 6), _lines), max_size=6),
    key=st.sampled_from([None, "end", "failure", "first_tradable_bar", "last_row", "refused_count", "order_log"]),
    value=_anything,
    account=st.sampled_from(AccountKind),
)
def test_no_claim_makes_the_decoder_raise_anything_else(log, key, value, account):
    """A decoder that breaks is a fault of ours; a broken report is an outcome of its candidate."""

    def change(fields):
        fields["order_log"] = [list(entry) for entry in log]
        if key is not None:
            fields[key] = value

    forged = changed(encode_report(HONEST), change)
    config = RunConfig(start=1, account=account, costs=CONFIG.costs)
    try:
        again = decode_report(forged, HONEST_BARS, config)
    except ReportError:
        return
    assert np.isfinite(again.equity).all()


def test_orders_that_nobody_has_the_time_to_do_again_are_refused_before_one_is_done(report, bars, monkeypatch):
    """A child writes them down for nothing."""
    most = readable_orders(len(bars) - CONFIG.start, RunLimits())
    assert most < RunLimits().orders_per_run
    done = []
    monkeypatch.setattr("runtime.kernel.audit.LoggedHost", lambda course: done.append(len(course.order_log)) or 1 / 0)

    def forged(count):
        lines = [[2, f"{number} buy quantity=1.0"] for number in range(1, count + 1)]
        return changed(encode_report(report), lambda fields: fields.update(order_log=lines))

    with pytest.raises(ReportError, match=f"{most + 1} orders, and of a run this long at most {most} are read"):
        decode_report(forged(most + 1), bars, CONFIG)
    assert done == []
    with pytest.raises(ZeroDivisionError):
        decode_report(forged(most), bars, CONFIG)
    assert done == [most]


def test_a_long_run_has_all_orders_of_its_limits():
    assert readable_orders(2_500, RunLimits()) == RunLimits().orders_per_run
    assert readable_orders(300, RunLimits(orders_per_run=10)) == 10


@pytest.mark.parametrize("unit", [b"[],", b"{},", b"1,"])
def test_what_is_larger_than_any_report_is_not_parsed(report, bars, monkeypatch, unit):
    parsed = []
    monkeypatch.setattr("runtime.kernel.wire.json.loads", lambda text, **_: parsed.append(len(text)) or {})
    bomb = encode_report(report).replace(b'"log":[', b'"log":[' + unit * (8 * 2**20 // len(unit)))
    with pytest.raises(ReportError, match="a report of"):
        decode_report(bomb, bars, CONFIG)
    assert parsed == []


def test_more_lists_than_any_report_has_are_not_parsed(report, bars, monkeypatch):
    parsed = []
    monkeypatch.setattr("runtime.kernel.wire.json.loads", lambda text, **_: parsed.append(len(text)) or {})
    bomb = encode_report(report).replace(b'"log":[', b'"log":[' + b"[]," * 300_000)
    with pytest.raises(ReportError, match="more lists"):
        decode_report(bomb, bars, CONFIG)
    assert parsed == []


def test_the_longest_texts_that_a_strategy_may_write_arrive(bars):
    limits = RunLimits()

    class Talks(Strategy):
        def on_bar(self, bar):
            for _ in range(limits.log_lines):
                self.log('[{\N{GRINNING FACE}"' * limits.log_chars)
            for _ in range(limits.orders_per_bar):
                self.buy(1e-300, limit=1.2345678901234567e-300, tag="[{\N{GRINNING FACE}" * 64)

    report = run_strategy(Talks, bars, CONFIG)
    assert len(report.log) == limits.log_lines
    assert_same(decode_report(encode_report(report), bars, CONFIG), report)
