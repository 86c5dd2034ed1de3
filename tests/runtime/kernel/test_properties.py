"""What holds for every run, over random worlds: no future, no scale, no difference between one piece and two."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import make_bars, planned, wild_world

from runtime.kernel import LocalHost, RunConfig, RunLimits, Session, decode_report, encode_report, run_strategy

seeds = st.integers(0, 2**63)


@settings(max_examples=100, derandomize=True)
@given(seed=seeds, cut=st.integers(1, 59), garbage=st.integers(0, 2**63))
def test_garbage_in_the_future_changes_nothing_before_it(seed, cut, garbage):
    """Every bar after the cut is replaced: what was asked for, filled, refused and owned up to it stays to the last bit."""
    rows, plan, instrument, config = wild_world(seed)
    other = [*rows[:cut], *wild_world(garbage)[0][cut:]]
    runs = [run_strategy(planned(plan), make_bars(each, instrument), config) for each in (rows, other)]
    border = make_bars(rows, instrument).rows()[cut - 1].ts
    for early in (
        lambda run: [entry for entry in run.order_log if entry.row < cut],
        lambda run: [fill for fill in run.fills if fill.ts <= border],
        lambda run: [refusal for refusal in run.refused if refusal.ts <= border],
        lambda run: [trade for trade in run.trades if trade.exit_row < cut],
        lambda run: run.equity[: cut + 1].tolist(),
        lambda run: run.position[:cut].tolist(),
    ):
        assert early(runs[0]) == early(runs[1])


@settings(max_examples=100, derandomize=True)
@given(seed=seeds, power=st.integers(-6, 6))
def test_scaling_prices_and_cash_scales_the_equity(seed, power):
    """In another currency the same fills happen: a power of two changes no digit of a float."""
    rows, plan, instrument, config = wild_world(seed)
    plain, scale = replace(instrument, tick=None), 2.0**power

    def scaled(values):
        return {name: value * scale if name in {"limit", "stop"} and value else value for name, value in values.items()}

    costs = replace(
        config.costs,
        fee_per_unit=config.costs.fee_per_unit * scale,
        fee_minimum=config.costs.fee_minimum * scale,
    )
    here = run_strategy(planned(plan), make_bars(rows, plain), config)
    there = run_strategy(
        planned([[(verb, scaled(values)) for verb, values in asked] for asked in plan]),
        make_bars(np.array(rows) * scale, replace(plain, min_notional=plain.min_notional * scale)),
        replace(config, cash=config.cash * scale, costs=costs),
    )
    assert [(f.ts, f.side, f.quantity, f.price * scale, f.fee * scale, f.tag) for f in here.fills] == [
        (f.ts, f.side, f.quantity, f.price, f.fee, f.tag) for f in there.fills
    ]
    assert (here.equity * scale).tolist() == there.equity.tolist()
    assert here.refused_count == there.refused_count


@settings(max_examples=100, derandomize=True)
@given(seed=seeds, cut=st.integers(1, 59))
def test_a_run_that_is_split_and_resumed_is_the_same_run(seed, cut):
    """Stopped after any bar, copied as if it had been stored, and gone on with: equal to the last bit."""
    rows, plan, instrument, config = wild_world(seed)
    bars, limits = make_bars(rows, instrument), RunLimits()
    whole = run_strategy(planned(plan), bars, config)
    cut = max(cut, config.start)
    records = bars.rows()
    session = Session(LocalHost(planned(plan), instrument, bars.timeframe, limits), config, instrument, limits)
    session.start()
    session.warm_up(records[: config.start], [])
    session.advance(records[config.start : cut], [])
    resumed = copy.deepcopy(session)
    resumed.advance(records[cut:], [])
    parts = resumed.finish(bars.close)
    for name in (
        "fills",
        "trades",
        "refused",
        "refused_count",
        "order_log",
        "open_orders",
        "ruined",
        "end",
        "last_row",
    ):
        assert getattr(parts, name) == getattr(whole, name), name
    assert parts.equity.tolist() == whole.equity.tolist()
    assert parts.position.tolist() == whole.position.tolist()


@settings(max_examples=60, derandomize=True)
@given(seed=seeds)
def test_bars_before_the_first_tradable_one_change_no_fill(seed):
    """Warm-up bars feed history only: with ten more of them the same orders give the same fills, ten rows later."""
    rows, plan, instrument, config = wild_world(seed)
    here = run_strategy(planned(plan), make_bars(rows, instrument), config)
    before = [(100.0, 101.0, 99.0, 100.0)] * 10
    later = RunConfig(
        cash=config.cash,
        costs=config.costs,
        account=config.account,
        start=config.start + 10,
        decision_delay=config.decision_delay,
    )
    there = run_strategy(planned(plan), make_bars([*before, *rows], instrument), later)
    assert there.first_tradable_bar == config.start + 10
    assert [fill[1:] for fill in here.fills] == [fill[1:] for fill in there.fills]
    assert here.equity[1:].tolist() == pytest.approx(there.equity[11:].tolist(), rel=0, abs=0)


@settings(max_examples=60, derandomize=True)
@given(seed=seeds)
def test_what_a_child_asked_for_gives_the_same_books_when_it_is_done_again(seed):
    """The audit makes every figure anew from the requests; it comes to the child's own books, trade by trade."""
    rows, plan, instrument, config = wild_world(seed)
    bars = make_bars(rows, instrument)
    report = run_strategy(planned(plan), bars, config)
    again = decode_report(encode_report(report), bars, config)
    assert again.fills == report.fills
    assert again.trades == report.trades
    assert again.refused == report.refused
    assert again.equity.tolist() == report.equity.tolist()
