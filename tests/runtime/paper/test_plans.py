"""A plan made by hand waits for somebody else, and then goes the way of every order."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ValidationError
from sqlalchemy import select

from runtime.desk import Action, Request
from runtime.kernel.tickets import canonical
from runtime.paper.attest import Attestor
from runtime.paper.feed import ReplayFeed
from runtime.paper.limits import RiskLimits
from runtime.paper.permissions import Permissions
from runtime.paper.plans import BY_POLICY, Maker, PlanBook, PlanProblem, Proof, answer_text
from runtime.paper.resume import read_run
from runtime.paper.tables import DecisionRow, PlanRow
from runtime.paper.values import MakerKind, PlanStatus, RunStatus
from runtime.store import reading, writing
from runtime.strategy import Strategy

BUY = Request(0, Action.BUY, None, 3)
ANN = Maker(name="Ann", kind=MakerKind.PERSON, reason="the news")
MODEL = Maker(name="m-1", kind=MakerKind.MODEL, reason="the news")


class Idle(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 5:
            self.own = self.buy(1, limit=bar.close / 2)
        if self.bar_count == 40:
            self.cancel(self.own)


@pytest.fixture
def plans(desk):
    desk.strategy = Idle
    return PlanBook(desk.engine, desk.auditor)


@pytest.fixture
def run(desk):
    return desk.book.open(desk.order())


def approve(plans, plan, by="Bob", **changes):
    return plans.answer(plan.id, **{"by": by, "approve": True, "public_key": None, "signature": None} | changes)


def test_an_approved_plan_is_executed_at_the_next_bar_with_a_token_like_any_other(desk, plans, run):
    plan = plans.make(run, BUY, ANN, Permissions())
    assert plan.status is PlanStatus.PENDING
    assert plans.waiting() == (plan,)
    approve(plans, plan)
    assert desk.run(run, plans=lambda: plans.approved(run)).status is RunStatus.FINISHED
    assert plans.get(plan.id).status is PlanStatus.EXECUTED
    with reading(desk.engine) as session:
        stored = read_run(session, run)
        rows = session.scalars(select(DecisionRow).order_by(DecisionRow.number)).all()
    (fill,) = stored.fills
    assert (fill.quantity, fill.ts, fill.price) == (3.0, stored.bars[1].bar.ts, stored.bars[1].bar.open)
    assert [(row.outcome, row.plan == plan.id) for row in rows] == [
        ("filled", True),
        ("cancelled", False),
        ("done", False),
    ]
    # Its number on the session's side did not lead the strategy's own cancel astray.
    assert json.loads(stored.state)["resting"] == []
    desk.book.reopen(run, by="Ann")
    assert desk.run(run, plans=lambda: plans.approved(run)).status is RunStatus.FINISHED  # the replay has it, too


def test_an_approval_that_was_written_into_the_store_is_worth_nothing(desk, plans, run):
    """Whoever helps with a run shares the database, and has nobody's key."""
    bob = Ed25519PrivateKey.generate()
    key = bob.public_key().public_bytes_raw().hex()
    proof = Proof(keys={"bob": key, "ann": "00" * 32}, permissions=Permissions())
    plan = plans.make(run, BUY, ANN, Permissions())
    signature = bob.sign(answer_text(plan, approve=True).encode()).hex()
    turned_down = bob.sign(answer_text(plan, approve=False).encode()).hex()
    for checker, signed in (
        ("Bob", turned_down),
        ("Bob", None),
        ("Bob", "00" * 64),
        ("Eve", signature),
        ("Ann", signature),
        (BY_POLICY, None),
    ):
        with writing(desk.engine) as session:
            row = session.get_one(PlanRow, plan.id)
            row.status, row.checker, row.signature, row.public_key = "approved", checker, signed, key
        assert plans.approved(run, proof) == ()
        assert len(plans.approved(run)) == 1
    assert len(plans.approved(run, Proof(keys={}, permissions=Permissions(allow=("person:*",))))) == 1
    with writing(desk.engine) as session:
        row = session.get_one(PlanRow, plan.id)
        row.checker, row.signature = "Bob", signature
    assert [each for each, _ in plans.approved(run, proof)] == [plan.id]
    one_key = Proof(keys={"bob": key, "ann": key}, permissions=Permissions())
    assert plans.approved(run, one_key) == ()  # two names of one key are one person
    denied = Proof(keys=proof.keys, permissions=Permissions(deny=("*:buy",)))
    assert plans.approved(run, denied) == ()  # denied since: that wins over the approval of before


def test_a_plan_that_the_signed_log_does_not_know_is_not_executed(desk, plans, run):
    """What a policy allows needs nobody's signature, so its plan has to be in the log as it is in the store."""
    attestor = Attestor(desk.engine, desk.auditor)
    proof = Proof(keys={}, permissions=Permissions(allow=("model:*",)), logged=attestor.plan)
    plan = plans.make(run, BUY, MODEL, proof.permissions)
    assert [each for each, _ in plans.approved(run, proof)] == [plan.id]
    with writing(desk.engine) as session:
        row = session.get_one(PlanRow, plan.id)
        row.request = canonical(BUY._replace(quantity=300))
    assert plans.approved(run, proof) == ()


def test_a_plan_that_was_executed_is_not_executed_again_whatever_its_row_says(desk, plans, run):
    plan = plans.make(run, BUY, ANN, Permissions())
    approve(plans, plan)
    assert desk.run(run, plans=lambda: plans.approved(run)).status is RunStatus.FINISHED
    with writing(desk.engine) as session:
        session.get_one(PlanRow, plan.id).status = "approved"
    assert plans.approved(run) == ()


def test_what_nobody_approved_is_not_executed(desk, plans, run):
    plan = plans.make(run, BUY, ANN, Permissions())
    turned_down = plans.make(run, BUY, ANN, Permissions())
    approve(plans, turned_down, approve=False)
    desk.run(run, plans=lambda: plans.approved(run))
    with reading(desk.engine) as session:
        assert read_run(session, run).fills == ()
    assert plans.get(plan.id).status is PlanStatus.PENDING


@pytest.mark.parametrize("by", ["Ann", " ANN ", "\uff21nn", "system:paper_runner"])
def test_a_maker_never_checks_and_a_machine_is_no_checker(plans, run, by):
    plan = plans.make(run, BUY, ANN, Permissions())
    with pytest.raises(PlanProblem):
        approve(plans, plan, by=by)
    assert plans.get(plan.id).status is PlanStatus.PENDING


def test_a_plan_is_answered_once_and_in_its_time(desk, plans, run):
    plan = plans.make(run, BUY, ANN, Permissions(life_minutes=1))
    approve(plans, plan)
    with pytest.raises(PlanProblem, match="is approved; only one that waits"):
        approve(plans, plan)
    late = plans.make(run, BUY, ANN, Permissions(life_minutes=1))
    desk.now.at += timedelta(minutes=2)
    with pytest.raises(PlanProblem, match="was good until"):
        approve(plans, late)
    assert plans.approved(run) == ()  # the approved one was not executed in time either


def test_a_signature_is_about_one_plan(plans, run):
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw().hex()
    first, second = (plans.make(run, BUY, ANN, Permissions()) for _ in range(2))
    signature = key.sign(answer_text(first, approve=True).encode()).hex()
    with pytest.raises(PlanProblem, match="signature"):
        approve(plans, second, public_key=public, signature=signature)
    assert approve(plans, first, public_key=public, signature=signature).checker == "Bob"


def test_denying_wins_over_asking_and_asking_over_allowing(plans, run):
    rules = Permissions(deny=("model:buy",), ask=("person:*",), allow=("*:*",))
    with pytest.raises(PlanProblem, match="model:buy are denied"):
        plans.make(run, BUY, MODEL, rules)
    assert plans.make(run, BUY, ANN, rules).status is PlanStatus.PENDING
    closing = plans.make(run, Request(0, Action.CLOSE), MODEL, rules)
    assert (closing.status, closing.checker) == (PlanStatus.APPROVED, "system:policy")
    assert plans.make(run, BUY, MODEL, Permissions()).status is PlanStatus.PENDING


def test_a_guard_stands_in_the_way_of_people_too(desk, plans, run):
    plan = plans.make(run, BUY._replace(quantity=100), ANN, Permissions())
    approve(plans, plan)
    guards = RiskLimits(order_notional=1_000.0)
    desk.run(run, guards=guards, plans=lambda: plans.approved(run))
    assert plans.get(plan.id).status is PlanStatus.REJECTED
    with reading(desk.engine) as session:
        row = session.scalars(select(DecisionRow)).first()
    assert (row.outcome, row.plan) == ("risk_rejected", plan.id)
    assert "one order may be worth 1000.00" in row.reason


def test_a_plan_turned_down_while_its_bar_is_taken_is_not_executed(desk, plans, run):
    """The bar is taken again without it."""
    plan = plans.make(run, BUY, ANN, Permissions())
    approve(plans, plan)
    from runtime.paper.tables import PlanRow
    from runtime.store import writing

    def approved():
        found = plans.approved(run)
        with writing(desk.engine) as session:
            row = session.get_one(PlanRow, plan.id)
            row.status = "rejected"
            session.add(row)
        return found

    assert desk.run(run, plans=approved).status is RunStatus.FINISHED
    with reading(desk.engine) as session:
        assert read_run(session, run).fills == ()


def test_only_a_run_that_runs_takes_plans(desk, plans, run):
    desk.run(run, feed=ReplayFeed(desk.bars.between(0, 0)))
    with pytest.raises(PlanProblem, match="is finished"):
        plans.make(run, BUY, ANN, Permissions())
    with pytest.raises(PlanProblem, match="no paper run"):
        plans.make("t-none", BUY, ANN, Permissions())


@pytest.mark.parametrize(
    "pattern",
    [
        "model:Buy",
        "Model:*",
        "model: buy",
        "model",
        "buy",
        "persn:*",
        "model.*",
        "model:*:AAA",
        "",
        "[",
        "strategy:buy",
    ],
)
def test_a_pattern_that_names_no_plan_is_refused(pattern):
    """One that was to deny and was mistyped would let through what a wide one allows."""
    for name in ("deny", "ask", "allow"):
        with pytest.raises(ValidationError, match="matches no plan"):
            Permissions(**{name: (pattern,)})


def test_every_plan_can_be_named_and_denying_wins_over_any_order():
    for kind in (MakerKind.PERSON, MakerKind.MODEL):
        for action in Action:
            exact = f"{kind.value}:{action.value}"
            for deny in (exact, f"{kind.value}:*", f"*:{action.value}", "*", f"{kind.value}:[{action.value[0]}]*"):
                assert Permissions(allow=("*", exact), ask=(exact,), deny=(deny,)).verdict(kind, action) == "deny"
                assert Permissions(allow=("*", exact), ask=(deny,)).verdict(kind, action) == "ask"
