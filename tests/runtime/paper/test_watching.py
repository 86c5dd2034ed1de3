"""What a person sees: where a run stands, what a day brought, and an alarm when it does not do what its evidence promised."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from runtime.paper.audit import read_head
from runtime.paper.deployment import Expectation
from runtime.paper.locks import Lock, read_locks
from runtime.paper.values import RunStatus
from runtime.paper.watching import status_of, summary_of
from runtime.store import reading, writing


@pytest.fixture
def finished(desk):
    run = desk.book.open(desk.order())
    assert desk.run(run).status is RunStatus.FINISHED
    return run


def seen(desk, run, **expectation):
    promised = Expectation(**{"sharpe": None, "max_drawdown": None} | expectation)
    return status_of(desk.engine, run, replace(desk.deployment, expectation=promised), desk.market, desk.now())


def test_status_tells_equity_position_bars_lag_and_what_comes_next(desk, finished):
    status, backtest = seen(desk, finished), desk.backtest()
    last = datetime.fromtimestamp(int(desk.bars.ts[-1]), UTC)
    assert (status.equity, status.fills) == (backtest.equity[-1], len(backtest.fills))
    assert status.cash + status.position * desk.bars.close[-1] == status.equity
    assert (status.last_bar, status.next_bar) == (last, last + timedelta(hours=2))
    assert status.lag_s > 0.0
    assert status.holder is None
    assert status.forward.returns == len(desk.bars) - 40 == 70
    assert status.forward.total_return == pytest.approx(backtest.equity[-1] / desk.deployment.config.cash - 1.0)


def test_a_run_that_falls_short_of_its_evidence_raises_an_alarm_and_one_that_does_not_is_quiet(desk, finished):
    forward = seen(desk, finished).forward
    assert forward.alarm is None
    promised = forward.sharpe + 60.0
    assert "standard errors below what the evidence promised" in seen(desk, finished, sharpe=promised).forward.alarm
    assert seen(desk, finished, sharpe=forward.sharpe).forward.alarm is None
    assert seen(desk, finished, sharpe=forward.sharpe - 60.0).forward.alarm is None
    assert forward.max_drawdown < 0.05
    assert seen(desk, finished, max_drawdown=0.001).forward.alarm is None  # below five percent nobody is woken


def test_a_days_summary_counts_that_day_and_carries_the_head(desk, finished):
    day = datetime.fromtimestamp(int(desk.bars.ts[60]), UTC).date().isoformat()
    summary = summary_of(desk.engine, desk.auditor, finished, day)
    fills = [fill for fill in desk.backtest().fills if fill.ts.date().isoformat() == day]
    assert (summary["bars"], summary["fills"]) == (24, len(fills))
    assert summary["fees"] == pytest.approx(sum(fill.fee for fill in fills))
    with reading(desk.engine) as session:
        assert (summary["audit_sequence"], summary["audit_head"]) == read_head(session)
    assert summary["audit_key"] == desk.auditor.key.public_key


def test_locks_show_until_they_are_over_with_their_reason(desk, finished):
    at = desk.now()
    lock = Lock(
        account="ann",
        until=at + timedelta(hours=1),
        rule="daily_loss",
        reason="equity fell by 9.0% since the day began",
    )
    with writing(desk.engine) as session:
        session.add(lock.row())
    assert seen(desk, finished).locks == (lock,)
    with reading(desk.engine) as session:
        assert read_locks(session, "ann", lock.until) == ()
        assert read_locks(session, "bob", at) == ()
