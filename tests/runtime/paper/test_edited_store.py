"""Every column of a run's rows is edited, and bars, locks, plans and answers are forged: what the signed log can tell is refused."""

from __future__ import annotations

import shutil

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from locking import LOCKING, Eager
from sqlalchemy import Float, Integer, delete, select, text, update

from runtime.desk import Action, Request
from runtime.paper.attest import Attestor
from runtime.paper.canon import encode, sha256
from runtime.paper.permissions import Permissions
from runtime.paper.plans import Maker, PlanBook, Proof, answer_text, plan_difference
from runtime.paper.tables import (
    BarRow,
    DeploymentRow,
    FillRow,
    LockRow,
    OrderRow,
    PlanRow,
    RunRow,
    TokenRow,
)
from runtime.paper.values import MakerKind, RunStatus
from runtime.store import reading, writing

BUY = Request(0, Action.BUY, None, 3)
ANN = Maker(name="Ann", kind=MakerKind.PERSON, reason="the news")

# Nothing is decided by these: moments and words for people, which the log tells as they were, and the handle of a row.
FOR_PEOPLE = {
    "paper_run": {"reason", "created", "finished"},
    "paper_bar": {"taken"},
    "paper_deployment": {
        "signer",
        "signature",
        "revoked",
        "revoked_by",
        "revoked_reason",
    },  # ``refusal`` asks for the signature
    "paper_lock": {"id"},
    "paper_fill": {"bar"},  # only which bars have fills is asked, and a wrong one is none that the log knows
}


@pytest.fixture
def desk(short_desk):
    short_desk.strategy = Eager
    return short_desk


def resumed(desk, run):
    attestor = Attestor(desk.engine, desk.auditor)
    return desk.run(run, guards=LOCKING, attest=lambda: attestor.run_difference(run))


@pytest.fixture
def stopped(desk):
    run = desk.book.open(desk.order(guards=LOCKING, unguarded_by=None))
    assert desk.run(run, guards=LOCKING).status is RunStatus.FINISHED
    desk.book.reopen(run, by="Ann")
    return run


def other(column, kind):
    if isinstance(kind, (Integer, Float)):
        return f'-1 - coalesce("{column}", 0)'  # keys stay different from each other
    return f"coalesce(\"{column}\", '') || 'x'"


def test_no_column_that_decides_anything_can_be_edited(desk, stopped):
    """A column that is new is edited here, too; whoever adds one says in FOR_PEOPLE why it may be, or holds it to the log."""
    store = next(desk.home.glob("*.db"))
    desk.engine.dispose()
    kept = store.with_suffix(".kept")
    shutil.copy(store, kept)
    passed = {}
    for table in (RunRow, BarRow, FillRow, LockRow, DeploymentRow):
        name = table.__tablename__
        for column in table.__table__.columns:
            desk.engine.dispose()
            for left in desk.home.glob(f"{store.name}-*"):
                left.unlink()
            shutil.copy(kept, store)
            with writing(desk.engine) as session:
                session.execute(text("PRAGMA defer_foreign_keys = ON"))
                if {column.name} & {"id", "run", "deployment"} and name != "paper_lock":
                    continue  # a row of another run: it is gone from this one, which has tests of its own
                assert session.execute(
                    text(f'UPDATE {name} SET "{column.name}" = {other(column.name, column.type)}')
                ).rowcount
            ending = resumed(desk, stopped)
            if not ending.is_refused and ending.status is not RunStatus.DRIFTED:
                passed.setdefault(name, set()).add(column.name)
    assert not {(name, each) for name, columns in passed.items() for each in columns - FOR_PEOPLE.get(name, set())}


def chained(desk, run, **changes):
    """A bar after the last one that leads on from its hash, as whoever knows the format can write it."""
    with writing(desk.engine) as session:
        row = session.get_one(RunRow, run)
        last = session.get_one(BarRow, (run, row.bars - 1))
        values = {name: getattr(last, name) for name in BarRow.model_fields} | {
            "bar": last.bar + 1,
            "ts": last.ts + 3_600,
            "asked": "[]",
        }
        values |= changes
        bar = [values[name] for name in ("ts", "open", "high", "low", "close", "volume", "asked", "state_sha256")]
        values["chain"] = row.chain = sha256(row.chain + encode(bar))
        session.add(BarRow(**values))
        row.bars += 1


def test_a_bar_that_was_put_behind_a_run_that_ended_is_named(desk, stopped):
    chained(desk, stopped)
    assert resumed(desk, stopped).reason == f"paper run {stopped}: bar 60 is in the store and not in the audit log"


def test_a_bar_with_an_order_that_no_runner_wrote_is_named_in_a_run_that_was_killed(desk):
    """It has no end in the log, and its quiet bars have no lines; one that asked for something would have."""
    run = desk.book.open(desk.order())
    assert desk.run(run, leave=lambda: True).status is None
    chained(desk, run, asked='[["buy",1,null,null,null]]')
    assert resumed(desk, run).reason == f"paper run {run}: bar 40 is in the store and not in the audit log"


def test_bars_of_a_run_that_never_began_are_named(desk):
    run = desk.book.open(desk.order())
    with writing(desk.engine) as session:
        session.add(
            BarRow(
                run=run,
                bar=0,
                ts=0,
                open=1,
                high=1,
                low=1,
                close=1,
                volume=1,
                asked="[]",
                state_sha256="",
                chain="",
                taken="",
            )
        )
    assert resumed(desk, run).reason == f"paper run {run}: bar 0 is in the store and not in the audit log"


def test_a_lock_that_no_guard_made_is_named(desk, stopped):
    with writing(desk.engine) as session:
        session.add(
            LockRow(id="forged", account="ann", until="2099-01-01T00:00:00.000000Z", rule="max_drawdown", reason="")
        )
    assert (
        "the lock of everything until 2099-01-01T00:00Z by max_drawdown is in the store and not in the audit log"
        in resumed(desk, stopped).reason
    )


def test_another_text_or_key_under_the_id_of_a_deployment_is_named(desk, stopped):
    """The id is twelve digits of a hash, and two texts can be made to share those."""
    for change, told in (
        ({"document": "{}"}, "its text is another one"),
        ({"public_key": "00" * 32}, "its key is another one"),
    ):
        with reading(desk.engine) as session:
            kept = {name: getattr(session.scalars(select(DeploymentRow)).one(), name) for name in change}
        with writing(desk.engine) as session:
            session.execute(update(DeploymentRow).values(**change))
        assert told in resumed(desk, stopped).reason
        with writing(desk.engine) as session:
            session.execute(update(DeploymentRow).values(**kept))
    assert resumed(desk, stopped).status is RunStatus.FINISHED


@pytest.fixture
def plans(desk):
    return PlanBook(desk.engine, desk.auditor)


@pytest.fixture
def run(desk):
    return desk.book.open(desk.order())


def keyed(name):
    key = Ed25519PrivateKey.from_private_bytes(sha256(name).encode()[:32])
    return key, key.public_key().public_bytes_raw().hex()


def proof_of(desk, **keys):
    return Proof(keys=keys, permissions=Permissions(), logged=Attestor(desk.engine, desk.auditor).plan)


def test_an_approval_by_somebody_who_enrolled_themselves_in_the_store_is_none(desk, plans, run):
    """The keys of people are rows, too: a signature that holds is worth something once the log knows the answer."""
    (eve, eves), (bob, bobs) = keyed("Eve"), keyed("Bob")
    proof = proof_of(desk, eve=eves, bob=bobs)
    plan = plans.make(run, BUY, ANN, Permissions())
    with writing(desk.engine) as session:
        row = session.get_one(PlanRow, plan.id)
        row.status, row.checker, row.public_key = "approved", "Eve", eves
        row.signature = eve.sign(answer_text(plan, approve=True).encode()).hex()
    assert plans.approved(run, proof) == ()
    with writing(desk.engine) as session:
        row = session.get_one(PlanRow, plan.id)
        row.status, row.checker, row.public_key, row.signature = "pending_approval", None, None, None
    signature = bob.sign(answer_text(plan, approve=True).encode()).hex()
    plans.answer(plan.id, by="Bob", approve=True, public_key=bobs, signature=signature)
    assert [each for each, _ in plans.approved(run, proof)] == [plan.id]


def test_a_plan_that_was_turned_down_is_not_made_to_wait_again(desk, plans, run):
    plan = plans.make(run, BUY, ANN, Permissions())
    plans.answer(plan.id, by="Bob", approve=False, public_key=None, signature=None)
    with writing(desk.engine) as session:
        row = session.get_one(PlanRow, plan.id)
        row.status, row.checker, row.signature, row.public_key = "pending_approval", None, None, None
    told = Attestor(desk.engine, desk.auditor).plan(plan.id)
    assert "knows another answer to it" in plan_difference(plans.get(plan.id), None, told)


def test_a_plan_that_was_carried_out_is_not_carried_out_again_when_its_token_and_order_are_gone(desk, plans, run):
    bob, bobs = keyed("Bob")
    proof = proof_of(desk, bob=bobs)
    plan = plans.make(run, BUY, ANN, Permissions())
    signature = bob.sign(answer_text(plan, approve=True).encode()).hex()
    plans.answer(plan.id, by="Bob", approve=True, public_key=bobs, signature=signature)
    assert desk.run(run, plans=lambda: plans.approved(run, proof)).status is RunStatus.FINISHED
    with writing(desk.engine) as session:
        for table in (TokenRow, OrderRow):
            session.execute(delete(table).where(table.plan == plan.id))
        session.execute(update(PlanRow).where(PlanRow.id == plan.id).values(status="approved"))
    assert len(plans.approved(run)) == 1  # by its rows alone
    assert plans.approved(run, proof) == ()


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("request", "sell 300", "its request is 'sell 300' in the store"),
        ("reason", "another", "its reason is 'another'"),
        ("maker", "Bob", "its maker is 'Bob'"),
        ("maker_kind", "model", "its kind is 'model'"),
        ("expires", "2099-01-01T00:00:00.000000Z", "its expires is '2099"),
    ],
)
def test_what_a_person_is_asked_to_approve_is_what_was_planned(desk, plans, run, column, value, told):
    plan = plans.make(run, BUY, ANN, Permissions())
    attestor = Attestor(desk.engine, desk.auditor)
    assert plan_difference(plans.get(plan.id), None, attestor.plan(plan.id)) is None
    with writing(desk.engine) as session:
        session.execute(update(PlanRow).where(PlanRow.id == plan.id).values(**{column: value}))
    assert told in plan_difference(plans.get(plan.id), None, attestor.plan(plan.id))
