"""A run on paper does what the backtest did, and goes on from wherever it was cut."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event, func, select, update

from runtime.kernel import LOST, Failure, LocalHost
from runtime.paper.audit import read_head, read_lines, verify
from runtime.paper.feed import Outage, ReplayFeed
from runtime.paper.lease import LEASE, acquire
from runtime.paper.limits import RiskLimits
from runtime.paper.resume import read_run
from runtime.paper.runner import Faults
from runtime.paper.tables import BarRow, DecisionRow, FillRow, LedgerRow, OrderRow, PlanRow, RunRow, TokenRow
from runtime.paper.values import PAPER_RUNNER, RunStatus
from runtime.store import reading, writing
from runtime.strategy import Strategy

ROOT = Path(__file__).parents[3]
KILLED = Path(__file__).with_name("killed_run.py")


def whole(desk, run):
    """Everything that must be right about a finished run."""
    backtest = desk.backtest()
    with reading(desk.engine) as session:
        stored = read_run(session, run)
        orders = session.scalars(select(OrderRow).where(OrderRow.run == run)).all()
        decisions = session.scalars(select(DecisionRow).where(DecisionRow.run == run)).all()
        plans = session.scalars(select(PlanRow).where(PlanRow.run == run)).all()
        tokens = session.scalars(select(TokenRow)).all()
        ledger = session.scalars(select(LedgerRow).where(LedgerRow.run == run).order_by(LedgerRow.number)).all()
        report = verify(read_lines(session), read_head(session), desk.auditor.key.public_key)
    assert stored.fills == backtest.fills  # none lost, none doubled, none drifting
    assert len(stored.warm) + len(stored.bars) == len(desk.bars)
    assert len(decisions) == len(plans) == len(tokens) == len(backtest.order_log)
    assert {plan.status for plan in plans} == {"executed"}
    assert {plan.checker for plan in plans} == {PAPER_RUNNER}
    assert all(token.used for token in tokens)
    assert len({order.number for order in orders}) == len(orders)
    assert report.problem is None
    told = [json.loads(line) for line in report_lines(desk)]
    assert [fill for line in told for fill in line["body"].get("fills", [])] == [
        {
            "side": fill.side.value,
            "quantity": fill.quantity,
            "price": fill.price,
            "fee": fill.fee,
            "tag": fill.tag,
            "order": fill.order_id,
        }
        for fill in backtest.fills
    ]
    state = json.loads(stored.state)
    assert (ledger[-1].cash, ledger[-1].position) == (state["cash"], state["position"])
    assert state["cash"] + state["position"] * desk.bars.close[-1] == backtest.equity[-1]
    return backtest


def report_lines(desk):
    with reading(desk.engine) as session:
        return [line for line in read_lines(session) if '"what":"bar"' in line]


def test_a_replayed_night_has_the_fills_of_the_backtest_bit_for_bit(desk):
    run = desk.book.open(desk.order())
    ending = desk.run(run)
    assert (ending.status, ending.reason) == (RunStatus.FINISHED, "the feed has no further bars")
    backtest = whole(desk, run)
    assert len(backtest.fills) > 8
    assert backtest.refused_count > 0
    with reading(desk.engine) as session:
        outcomes = set(session.scalars(select(DecisionRow.outcome).where(DecisionRow.run == run)))
    assert outcomes >= {"filled", "rejected", "cancelled", "done"}


class Killed(BaseException):
    """What a kill looks like to a process that it does not end: nothing after it happens."""


@pytest.mark.slow
def test_two_hundred_kills_between_the_statements_of_the_order_path_lose_and_double_nothing(long_desk, dice):
    """After each one a new runner replays what is stored and goes on; the end is the backtest's."""
    desk = long_desk
    run = desk.book.open(desk.order())
    kills, places, left = 0, {}, 0

    def checkpoint(name):
        nonlocal left, kills
        left -= 1
        if left == 0 and kills < 200:
            kills += 1
            places[name] = places.get(name, 0) + 1
            raise Killed

    ending = None
    while ending is None:
        left = dice.randint(1, 26)
        try:
            ending = desk.run(run, checkpoint=checkpoint)
        except Killed:
            desk.now.at += 2 * LEASE
    assert ending.status is RunStatus.FINISHED
    assert kills == 200
    assert {
        "begin",
        "bar",
        "fill",
        "ledger",
        "plan",
        "token",
        "spent",
        "order",
        "decision",
        "run",
        "audited",
    } <= places.keys()
    whole(desk, run)


@pytest.mark.slow
def test_a_process_that_is_really_killed_goes_on_in_another_one(desk, dice):
    run = desk.book.open(desk.order())
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for number in range(4):
        words = [sys.executable, str(KILLED), str(desk.home), run, str(dice.randint(5, 120)), str(number)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
    desk.now.at += timedelta(days=1)
    assert desk.run(run).status is RunStatus.FINISHED
    whole(desk, run)


def test_a_second_runner_stands_back_while_the_first_is_alive(desk):
    run = desk.book.open(desk.order())
    acquire(desk.engine, run, holder="host-1", at=desk.now())
    ending = desk.run(run)
    assert ending.status is None
    assert ending.reason.startswith("host-1 runs it, until ")


def test_a_runner_that_slept_stops_without_a_word_when_another_took_over(desk):
    """The first is asleep between two bars; what it writes afterwards is fenced off."""
    run = desk.book.open(desk.order())

    class Sleepy(ReplayFeed):
        slept = False

        def bars(self, after, now):
            if not self.slept and after > int(desk.bars.ts[70]):
                self.slept = True
                desk.now.at += 2 * LEASE
                assert desk.run(run).status is RunStatus.FINISHED
            return super().bars(after, now)

    ending = desk.run(run, feed=Sleepy(desk.parts(run).feed._bars))
    assert ending.status is None
    assert "was taken over by" in ending.reason
    whole(desk, run)


def test_a_stop_is_obeyed_and_the_run_goes_on_where_it_was(desk):
    run = desk.book.open(desk.order())

    class Asked(ReplayFeed):
        def bars(self, after, now):
            if after > int(desk.bars.ts[80]):
                desk.book.stop(run, by="Ann")
            return super().bars(after, now)

    ending = desk.run(run, feed=Asked(desk.parts(run).feed._bars))
    assert (ending.status, ending.reason) == (RunStatus.STOPPED, "by Ann")
    assert desk.run(run) == ending  # asked to run what is over, a runner does nothing
    desk.book.reopen(run, by="Ann")
    assert desk.run(run).status is RunStatus.FINISHED
    whole(desk, run)


class Flaky(ReplayFeed):
    """Out for some polls in the middle."""

    outages = 4
    passes = True

    def bars(self, after, now):
        if after > FLAKY_FROM[0] and self.outages:
            self.outages -= 1
            return Outage("it answered 503", self.passes)
        return super().bars(after, now)


FLAKY_FROM = [0]


@pytest.mark.parametrize(
    ("outages", "passes", "status"), [(4, True, "finished"), (5, True, "failed"), (1, False, "failed")]
)
def test_an_outage_is_borne_up_to_a_streak_and_what_cannot_pass_ends_the_run(desk, outages, passes, status):
    run = desk.book.open(desk.order())
    FLAKY_FROM[0] = int(desk.bars.ts[80])
    feed = Flaky(desk.parts(run).feed._bars)
    feed.outages, feed.passes = outages, passes
    paused = []

    class Watch:
        def took(self, run, step, books):
            pass

        def faulted(self, run, reason, pause_s):
            paused.append(pause_s)

    ending = desk.run(run, feed=feed, watch=Watch(), faults=Faults(streak=5, first_s=1.0, most_s=6.0))
    assert ending.status.value == status
    assert paused == [1.0, 2.0, 4.0, 6.0, 6.0][: outages if passes else 0]
    if status == "finished":
        whole(desk, run)
    else:
        assert "503" in desk.book.get(run).reason


def test_a_disk_that_is_full_for_good_ends_the_process_and_loses_nothing(desk):
    """Not even the end can be written then; with room again the run goes on."""
    run = desk.book.open(desk.order())
    is_full = [False]

    @event.listens_for(desk.engine, "begin")
    def limit(connection):
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages if is_full[0] else 1_000_000}")

    class Fills(ReplayFeed):
        def bars(self, after, now):
            is_full[0] = is_full[0] or after > int(desk.bars.ts[70])
            return super().bars(after, now)

    ending = desk.run(run, feed=Fills(desk.parts(run).feed._bars), faults=Faults(streak=3))
    assert ending.status is None
    assert "database or disk is full" in ending.reason
    assert desk.book.get(run).status is RunStatus.RUNNING
    is_full[0] = False
    desk.now.at += 2 * LEASE
    assert desk.run(run).status is RunStatus.FINISHED
    whole(desk, run)


def test_a_strategy_that_raises_ends_its_run_and_keeps_its_bar_untaken(desk):
    class Breaks(desk.strategy):
        def on_bar(self, bar):
            if self.bar_count == 30:
                raise ValueError
            super().on_bar(bar)

    desk.strategy = Breaks
    run = desk.book.open(desk.order())
    ending = desk.run(run)
    assert ending.status is RunStatus.FAILED
    assert "ValueError" in ending.reason
    assert desk.book.get(run).bars == 40 + 29


TAMPERED = [
    ("bar", lambda: update(BarRow).where(BarRow.bar == 60).values(close=1.0), "bar 60"),
    ("last bar gone", lambda: BarRow.__table__.delete().where(BarRow.bar == 90), "bar 90"),
    ("fill", lambda: update(FillRow).where(FillRow.number == 3).values(price=1.0), "fills that are not"),
    ("cash", lambda: update(RunRow).values(state=func.replace(RunRow.state, '"cash":', '"cash":1')), "the books are"),
]


@pytest.mark.parametrize(("what", "statement", "told"), TAMPERED, ids=[each[0] for each in TAMPERED])
def test_a_resume_that_does_not_arrive_at_what_is_stored_stops_and_names_it(desk, what, statement, told):
    run = desk.book.open(desk.order())
    desk.run(run)
    desk.book.reopen(run, by="Ann")
    with writing(desk.engine) as session:
        session.execute(statement())
    ending = desk.run(run)
    assert ending.status is RunStatus.DRIFTED
    assert told in ending.reason
    with pytest.raises(ValueError, match="drifted"):
        desk.book.reopen(run, by="Ann")


def test_another_strategy_under_the_same_run_is_drift(desk):
    run = desk.book.open(desk.order())
    desk.run(run)
    desk.book.reopen(run, by="Ann")

    class Other(desk.strategy):
        def on_bar(self, bar):
            super().on_bar(bar)
            if self.bar_count == 50:
                self.buy(1)

    desk.strategy = Other
    ending = desk.run(run)
    assert ending.status is RunStatus.DRIFTED
    assert "the strategy asked otherwise before" in ending.reason


def test_a_deployment_that_stops_holding_ends_its_run(desk):
    run = desk.book.open(desk.order())
    answers = iter([None, None, None])
    ending = desk.run(run, permit=lambda: next(answers, "deployment d-1 was revoked by Ann"))
    assert (ending.status, ending.reason) == (RunStatus.REVOKED, "deployment d-1 was revoked by Ann")


def test_what_a_guard_refuses_never_reaches_the_venue_and_a_resume_keeps_the_verdict(desk):
    """Half-way the guards change; the verdicts of before are not made again."""
    tight = RiskLimits(order_notional=400.0, max_drawdown=None, daily_loss=None, low_profit=None, cooldown_minutes=None)
    run = desk.book.open(desk.order(guards=tight))
    first = desk.bars.between(40, 80)
    desk.run(run, guards=tight, feed=ReplayFeed(first))
    desk.book.reopen(run, by="Ann")
    assert desk.run(run, guards=replace_limits(tight, order_notional=None)).status is RunStatus.FINISHED
    with reading(desk.engine) as session:
        rows = session.scalars(select(DecisionRow).where(DecisionRow.run == run).order_by(DecisionRow.number)).all()
        stored = read_run(session, run)
    refused = [row for row in rows if row.outcome == "risk_rejected"]
    assert refused
    assert all(row.bar < 80 and row.plan is None and row.order is None for row in refused)
    assert "one order may be worth 400.00" in refused[0].reason
    assert stored.fills
    assert all(
        fill.quantity * fill.price <= 420.0
        for fill in stored.fills
        if fill.ts < stored.bars[40].bar.ts and fill.side.value == "buy"
    )


def replace_limits(limits, **changes):
    return limits.model_copy(update=changes)


def test_a_cancel_means_the_strategys_own_order_also_when_a_guard_took_others_out(desk):
    """Numbers shift on the session's side; a strategy that cancels its second order must not cancel its third."""

    class Cancels(Strategy):
        def on_bar(self, bar):
            if self.bar_count == 1:
                self.buy(100_000, limit=bar.close * 0.5, tag="too much")
                self.keep = self.buy(1, limit=bar.close * 0.5, tag="keep")
                self.drop = self.buy(1, limit=bar.close * 0.5, tag="drop")
            elif self.bar_count == 3:
                self.cancel(self.drop)
            elif self.bar_count == 5:
                self.log(" ".join(order.tag for order in self.open_orders))
                (left,) = self.open_orders
                assert left.id == self.keep

    desk.strategy = Cancels
    limits = RiskLimits(price_deviation=None)
    run = desk.book.open(desk.order(guards=limits))
    assert desk.run(run, guards=limits).status is RunStatus.FINISHED
    waiting = json.loads(desk.book.get(run).state)["resting"]
    assert [order[12] for order in waiting] == ["keep"]


def test_a_process_that_the_machine_killed_is_replaced_and_the_run_goes_on(desk):
    """The strategy is not to blame for the out-of-memory killer."""
    from contextlib import contextmanager

    from runtime.cage import CageEnd, CageOutcome
    from runtime.kernel import RemoteHost

    class Dying(RemoteHost):
        def __init__(self, local, lives):
            self.local, self.lives = local, lives
            self.ended, self.broken, self.is_late = None, None, False
            for name in ("start", "warm_up", "stop"):
                setattr(self, name, getattr(local, name))

        def decide(self, moment, account, fills):
            self.lives -= 1
            if self.lives == 0:
                self.ended = CageOutcome(end=CageEnd.KILLED, reason="was killed by a signal")
                return Failure(hook="on_bar", exception=LOST, line=None, message="lost")
            return self.local.decide(moment, account, fills)

        dropped = 0
        log = ()

    hosts = iter([20, 50, 10_000])

    @contextmanager
    def host():
        yield Dying(LocalHost(desk.strategy, desk.bars.instrument, desk.bars.timeframe, desk.limits), next(hosts))

    run = desk.book.open(desk.order())
    assert desk.run(run, open_host=host).status is RunStatus.FINISHED
    whole(desk, run)


def test_a_wrong_bar_ends_the_run_and_a_revised_one_is_only_written_down(desk):
    run = desk.book.open(desk.order())
    bars = desk.parts(run).feed._bars

    class Odd(ReplayFeed):
        def bars(self, after, now):
            answer = list(super().bars(after, now))
            place = int((after - int(bars.ts[0])) // 3_600)
            if place == 20:
                old = bars.rows()[12]
                return [answer[0], old._replace(close=old.open)]
            if place == 50:
                answer[0] = answer[0]._replace(high=answer[0].low / 2)
            return answer[:1]

    ending = desk.run(run, feed=Odd(bars))
    assert ending.status is RunStatus.FAILED
    assert "do not enclose" in ending.reason
    with reading(desk.engine) as session:
        notes = [line for line in read_lines(session) if '"what":"revised"' in line]
    assert len(notes) == 1
    assert desk.book.get(run).bars == 40 + 51
