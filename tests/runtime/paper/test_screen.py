"""Hooks stand around every order of an unattended run; what one says is stored with the bar, so that a resume asks nobody twice."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from runtime.paper.audit import read_lines
from runtime.paper.tables import DecisionRow, FillRow
from runtime.paper.values import RunStatus
from runtime.store import reading
from runtime.strategy import Strategy


class InAndOut(Strategy):
    def on_bar(self, bar):
        if self.bar_count % 4 == 1:
            self.buy(5)
        elif self.bar_count % 4 == 3:
            self.close()


class Hooks:
    """Has something against some orders, and remembers all."""

    def __init__(self, against=lambda order: None, complaint=None):
        self.against, self.complaint = against, complaint
        self.asked, self.told = [], []

    def before(self, order):
        self.asked.append(order)
        return self.against(order)

    def after(self, order):
        self.told.append(order)
        return self.complaint


@pytest.fixture
def desk(short_desk):
    short_desk.strategy = InAndOut
    return short_desk


def outcome(desk):
    with reading(desk.engine) as session:
        decisions = session.scalars(select(DecisionRow).order_by(DecisionRow.number)).all()
        fills = session.scalars(select(FillRow.side).order_by(FillRow.number)).all()
        lines = [json.loads(line) for line in read_lines(session)]
    return decisions, fills, lines


def test_each_order_is_asked_about_before_and_told_of_after(desk):
    hooks = Hooks(complaint="the other end is away")
    run = desk.book.open(desk.order())
    assert desk.run(run, hooks=hooks).status is RunStatus.FINISHED
    decisions, fills, lines = outcome(desk)
    assert list(fills) == ["buy", "sell"] * 5
    assert [order["request"] for order in hooks.asked] == [row.intent for row in decisions]
    assert [order["request"] for order in hooks.told] == [row.intent for row in decisions]
    assert hooks.asked[0].keys() == {"account", "market", "symbol", "ts", "close", "request", "plan"}
    assert [line["body"]["complaint"] for line in lines if line["what"] == "hook"] == [hooks.complaint] * len(decisions)


def test_an_order_that_a_hook_is_against_is_refused_and_a_resume_asks_nobody_again(desk):
    hooks = Hooks(against=lambda order: "hook 'check' ended with 1")
    run = desk.book.open(desk.order())
    desk.run(run, hooks=hooks)
    decisions, fills, lines = outcome(desk)
    assert list(fills) == []
    opened = [row for row in decisions if " buy " in f" {row.intent} "]
    assert {(row.outcome, row.reason, row.plan) for row in opened} == {
        ("risk_rejected", "hook 'check' ended with 1", None)
    }
    rules = {
        each["rule"]
        for line in lines
        for each in line["body"].get("decisions", ())
        if each["outcome"] == "risk_rejected"
    }
    assert rules == {"hook"}
    asked = len(hooks.asked)
    desk.book.reopen(run, by="Ann")
    assert desk.run(run, hooks=hooks).status is RunStatus.FINISHED
    assert len(hooks.asked) == asked


def test_a_hook_holds_no_position_fast(desk):
    """What only reduces is executed, and that the hook was against it is written down."""
    hooks = Hooks(against=lambda order: "broken" if "close" in order["request"] else None)
    run = desk.book.open(desk.order())
    desk.run(run, hooks=hooks)
    _, fills, lines = outcome(desk)
    assert list(fills) == ["buy", "sell"] * 5
    notes = [note for line in lines for note in line["body"].get("notes", ())]
    assert {note["detail"] for note in notes} == {"broken; it only reduces, and was passed on"}
