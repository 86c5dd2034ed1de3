"""The tables can be edited by whoever has the database; the signed log cannot, and it is asked first."""

from __future__ import annotations

import json
import re

import pytest
from locking import LOCKING, Eager
from sqlalchemy import delete, func, select, update

from runtime.paper.attest import Attestor
from runtime.paper.audit import read_head, read_lines
from runtime.paper.runs import RunRefused
from runtime.paper.tables import AuditHeadRow, AuditRow, BarRow, DeploymentRow, LockRow, RunRow
from runtime.paper.values import RunStatus
from runtime.store import reading, writing


@pytest.fixture
def desk(short_desk):
    short_desk.strategy = Eager
    return short_desk


@pytest.fixture
def stopped(desk):
    """A run with guards, locks and bars that a person stopped, and what is asked before it goes on."""
    run = desk.book.open(desk.order(guards=LOCKING, unguarded_by=None))
    desk.run(run, guards=LOCKING)
    desk.book.reopen(run, by="Ann")
    with reading(desk.engine) as session:
        assert session.scalar(select(func.count()).select_from(LockRow))
    return run


def resumed(desk, run):
    attestor = Attestor(desk.engine, desk.auditor)
    return desk.run(run, guards=LOCKING, attest=lambda: attestor.run_difference(run))


def edit(desk, *statements):
    with writing(desk.engine) as session:
        for statement in statements:
            session.execute(statement)


def test_what_was_not_edited_goes_on(desk, stopped):
    assert resumed(desk, stopped).status is RunStatus.FINISHED
    attestor = Attestor(desk.engine, desk.auditor)
    assert attestor.run_difference(stopped) is None
    assert attestor.account_difference("ann") is None
    desk.book.reopen(stopped, by="Ann")
    assert attestor.run_difference(stopped) is None  # the same attestor, with lines that came since


EDITS = {
    "no guard any more": (lambda: update(RunRow).values(guards=None), "guards were changed: order_notional|max_drawdown"),
    "a guard less": (
        lambda: update(RunRow).values(guards=func.replace(RunRow.guards, '"max_drawdown":0.0001', '"max_drawdown":1.0')),
        r"guards were changed: max_drawdown is 1.0 in the store and 0.0001 in the audit log",
    ),
    "guards that are none": (lambda: update(RunRow).values(guards="[]"), "not as they were written"),
    "somebody who answers for it": (lambda: update(RunRow).values(unguarded_by="Eve"), "unguarded_by is 'Eve'"),
    "another account": (lambda: update(RunRow).values(account="eve"), "account is 'eve'"),
    "another feed": (lambda: update(RunRow).values(feed="mine"), "feed is 'mine'"),
    "a lock gone": (lambda: delete(LockRow), r"lock of everything until .* by max_drawdown is in the audit log"),
    "a lock that ends early": (lambda: update(LockRow).values(until="2020-01-01T00:00:00.000000Z"), "not in the store"),
    "a bar gone with all that came after": (lambda: delete(BarRow).where(BarRow.bar > 50), "is not in the store"),
    "another chain": (lambda: update(BarRow).values(chain="00"), "bar 39 of the audit log is another one in the store"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_row_is_refused_with_the_difference_and_nothing_is_written(desk, stopped, name):
    statement, told = EDITS[name]
    edit(desk, statement())
    before = desk.book.audit()[1]
    ending = resumed(desk, stopped)
    assert (ending.status, ending.is_refused) == (None, True)
    assert re.search(told, ending.reason), ending.reason
    assert desk.book.audit()[1] == before
    with reading(desk.engine) as session:
        assert session.get_one(RunRow, stopped).status == "running"


def test_guards_that_are_none_are_said_and_not_a_crash(desk, stopped):
    edit(desk, update(RunRow).values(guards="[]"))
    with pytest.raises(RunRefused, match="not as they were written"):
        desk.book.get(stopped)


def test_a_revocation_that_was_taken_out_of_the_store_still_holds(desk, stopped):
    desk.book.revoke(desk.deployment.id, by="Ann", reason="too risky")
    assert Attestor(desk.engine, desk.auditor).run_difference(stopped) is None  # revoked, and it says so
    edit(desk, update(DeploymentRow).values(revoked=None, revoked_by=None, revoked_reason=None))
    attestor = Attestor(desk.engine, desk.auditor)
    for told in (attestor.deployment_difference(desk.deployment.id), resumed(desk, stopped).reason):
        assert "is not revoked in the store, and the audit log says that Ann revoked it: too risky" in told


def test_a_run_that_drifted_does_not_go_on_because_its_row_says_so(desk, stopped):
    edit(desk, update(RunRow).values(state=func.replace(RunRow.state, '"cash":', '"cash":1')))
    assert resumed(desk, stopped).status is RunStatus.DRIFTED
    edit(desk, update(RunRow).values(status="running", reason="", finished=None))
    assert resumed(desk, stopped).reason == f"paper run {stopped} is running in the store and drifted in the audit log"
    assert "is running in the store" in Attestor(desk.engine, desk.auditor).account_difference("ann")


def test_a_stop_that_was_taken_out_of_the_store_still_holds(desk, stopped):
    with writing(desk.engine) as session:  # as with somebody at work on it
        desk.auditor.append(session, stopped, "stop", {"by": "Bob", "over": False})
    assert "asked to stop by nobody in the store and by Bob in the audit log" in resumed(desk, stopped).reason


def test_a_run_or_deployment_that_nobody_started_is_refused(desk, stopped):
    attestor = Attestor(desk.engine, desk.auditor)
    assert "knows no start of it" in attestor.run_difference("t-none")
    assert "not both in the store and in the audit log" in attestor.deployment_difference("d-none")


def test_a_run_that_is_gone_from_the_store_does_not_make_room_for_another(desk):
    run = desk.book.open(desk.order())
    edit(desk, delete(RunRow))
    assert Attestor(desk.engine, desk.auditor).account_difference("ann") == (
        f"paper run {run} is in the audit log and not in the store"
    )


def test_a_log_that_does_not_hold_is_believed_in_nothing(desk, stopped):
    edit(desk, update(AuditRow).where(AuditRow.sequence == 2).values(line=func.replace(AuditRow.line, "Ann", "Eve")))
    assert "the audit log does not hold: line 2 was changed" in resumed(desk, stopped).reason
    assert Attestor(desk.engine, desk.auditor).plan("anything") is None


def cut_to(desk, sequence):
    """Cut the log's tail and set its head back, as whoever has the database can."""
    from runtime.paper.canon import sha256

    with reading(desk.engine) as session:
        line = read_lines(session)[sequence - 1]
    edit(
        desk,
        delete(AuditRow).where(AuditRow.sequence > sequence),
        update(AuditHeadRow).values(sequence=sequence, hash=sha256(line)),
    )


def test_a_tail_that_was_cut_together_with_the_head_is_found_by_the_file_beside_the_key(witnessed):
    desk = witnessed
    run = desk.book.open(desk.order())
    desk.book.revoke(desk.deployment.id, by="Ann", reason="too risky")
    assert desk.book.audit()[1].problem is None
    cut_to(desk, 2)
    edit(desk, update(DeploymentRow).values(revoked=None, revoked_by=None, revoked_reason=None))
    assert "ends with line 2, and this home has seen 3: its tail was cut" in desk.book.audit()[1].problem
    attestor = Attestor(desk.engine, desk.auditor)
    ending = desk.run(run, attest=lambda: attestor.run_difference(run))
    assert "its tail was cut" in ending.reason
    ending = desk.run(run)  # not even without being asked: nothing is added to what was cut
    assert (ending.status, ending.is_refused) == (None, True)
    assert "nothing is written" in ending.reason


def test_lines_that_were_written_over_a_cut_are_not_the_ones_that_were_seen(witnessed):
    desk = witnessed
    run = desk.book.open(desk.order())
    head = desk.auditor.seen()
    cut_to(desk, 1)
    other = type(desk.auditor)(desk.auditor.key, desk.now)  # the key, without the file
    with writing(desk.engine) as session:
        for _ in range(3):
            other.append(session, run, "stop", {"by": "Eve", "over": False})
    assert head.sequence == 2
    assert "line 2 is not the one that this home has seen" in desk.book.audit()[1].problem


def test_the_kept_head_follows_each_commit_and_no_rollback(witnessed):
    desk = witnessed
    desk.book.open(desk.order())
    with reading(desk.engine) as session:
        assert desk.auditor.seen() == read_head(session)

    def broken():
        with writing(desk.engine) as session:
            desk.auditor.append(session, "", "deploy", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    with reading(desk.engine) as session:
        assert desk.auditor.seen() == read_head(session)
        assert json.loads(read_lines(session)[-1])["what"] == "start"
