"""A run on paper does what the backtest did, and goes on from wherever it was cut."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from sqlalchemy import select, text

from runtime.paper.audit import read_head, read_lines, verify
from runtime.paper.feed import Outage, ReplayFeed
from runtime.paper.resume import read_run
from runtime.paper.runner import Faults
from runtime.paper.tables import DecisionRow, OrderRow, PlanRow, RunRow, TokenRow
from runtime.paper.values import PAPER_RUNNER, RunStatus
from runtime.store import reading, writing




def test_a_replayed_night_has_the_fills_of_the_backtest_bit_for_bit(desk):
    run = desk.book.open(desk.order())
    ending = desk.run(run)
    assert (ending.status, ending.reason) == (RunStatus.FINISHED, "the feed has no further bars")
    backtest = desk.backtest()
    with reading(desk.engine) as session:
        stored = read_run(session, run)
    assert len(backtest.fills) > 20
    assert stored.fills == backtest.fills
    state = json.loads(stored.state)
    assert state["cash"] + state["position"] * desk.bars.close[-1] == backtest.equity[-1]
    assert state["refused"] == backtest.refused_count > 0
