"""Caps, conflicts and guards are looked at before anything is written."""

from __future__ import annotations

import pytest

from runtime.paper.limits import RiskLimits
from runtime.paper.runs import RunRefused
from runtime.paper.tables import DeploymentRow
from runtime.paper.values import RunStatus
from runtime.store import writing


def test_no_guard_no_run_unless_somebody_says_so_by_name(desk):
    with pytest.raises(RunRefused, match="--without-guard --by NAME") as refused:
        desk.book.open(desk.order(unguarded_by=None))
    assert refused.value.code == 403
    assert desk.book.list() == ()
    assert desk.book.get(desk.book.open(desk.order(unguarded_by="Ann"))).unguarded_by == "Ann"


def test_guards_come_back_as_they_were_given(desk):
    limits = RiskLimits(stop_losses=3)
    assert desk.book.get(desk.book.open(desk.order(guards=limits))).guards == limits


def test_an_account_trades_a_symbol_once(desk):
    first = desk.book.open(desk.order())
    with pytest.raises(RunRefused, match=first) as refused:
        desk.book.open(desk.order())
    assert refused.value.code == 409
    desk.book.open(desk.order(account="bob"))


def test_the_eleventh_run_of_an_account_is_one_too_many(desk):
    for number in range(10):
        desk.book.open(desk.order(symbol=f"S{number}"))
    with pytest.raises(RunRefused, match="code 429") as refused:
        desk.book.open(desk.order(symbol="S10"))
    assert refused.value.code == 429


def test_a_stop_of_what_nobody_runs_is_the_end(desk):
    run = desk.book.open(desk.order())
    assert desk.book.stop(run, by="Ann")
    assert desk.book.get(run).status is RunStatus.STOPPED
    with pytest.raises(RunRefused, match="is stopped already"):
        desk.book.stop(run, by="Ann")
    second = desk.book.open(desk.order())
    with pytest.raises(RunRefused, match=f"in run {second} by now"):
        desk.book.reopen(run, by="Ann")


def test_nobody_but_its_owner_lets_a_run_go_on(desk):
    run = desk.book.open(desk.order())
    desk.book.stop(run, by="Bob")
    with pytest.raises(RunRefused, match="belongs to account 'ann'") as refused:
        desk.book.reopen(run, by="Bob")
    assert refused.value.code == 403
    desk.book.reopen(run, by="  ANN ")
    assert desk.book.get(run).status is RunStatus.RUNNING


def test_a_revoked_deployment_says_who_and_why(desk):
    desk.book.revoke(desk.deployment.id, by="Bob", reason="too risky")
    assert desk.book.deployment(desk.deployment.id).revoked.startswith("by Bob on 2026-11-30: too risky")
    with pytest.raises(RunRefused, match="was revoked before"):
        desk.book.revoke(desk.deployment.id, by="Bob", reason="again")


def test_a_revoked_deployment_does_not_come_back_under_another_id(desk):
    """Its signature holds for ever: whoever can write to the store could file it anew."""
    desk.book.revoke(desk.deployment.id, by="Bob", reason="too risky")
    with writing(desk.engine) as session:
        row = session.get_one(DeploymentRow, desk.deployment.id)
        facts = {
            "document": row.document,
            "signer": row.signer,
            "public_key": row.public_key,
            "signature": row.signature,
        }
        session.add(DeploymentRow(id="d-000000000000", **facts))
    with pytest.raises(RunRefused, match=f"holds the text of {desk.deployment.id}"):
        desk.book.deployment("d-000000000000")


@pytest.mark.parametrize("ask", ["get", "deployment"])
def test_what_is_not_there_is_named(desk, ask):
    with pytest.raises(RunRefused, match="'nothing'") as refused:
        getattr(desk.book, ask)("nothing")
    assert refused.value.code == 404
