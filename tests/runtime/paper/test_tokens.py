"""A token executes its plan once, in its time, for the holder of its lease; nothing else does."""

from __future__ import annotations

import secrets
from datetime import timedelta

import pytest
from sqlalchemy import select

from runtime.paper import tokens
from runtime.paper.canon import stamp
from runtime.paper.journal import PlanConflict, execute
from runtime.paper.tables import PlanRow, TokenRow
from runtime.paper.values import PlanStatus
from runtime.store import reading, writing


@pytest.fixture
def run(desk):
    return desk.book.open(desk.order())


def add_plan(session, desk, run, name, status=PlanStatus.APPROVED):
    at = desk.now()
    session.add(
        PlanRow(
            id=name,
            run=run,
            request="1 buy",
            maker="strategy",
            maker_kind="strategy",
            created=stamp(at),
            expires=stamp(at + timedelta(days=1)),
            status=status.value,
            checker="system:paper_runner",
        )
    )
    session.flush()


def test_ten_thousand_forged_reused_expired_and_foreign_tokens_execute_nothing(desk, run, dice):
    """Each kind meets a plan that a good token would execute; the good one still does afterwards."""
    with writing(desk.engine) as session:
        for name in ("good", "other", "used"):
            add_plan(session, desk, run, name)
        at = desk.now()
        good = tokens.issue(session, plan="good", epoch=3, at=at)
        foreign = tokens.issue(session, plan="other", epoch=3, at=at)
        older = tokens.issue(session, plan="good", epoch=2, at=at)
        expired = tokens.issue(session, plan="good", epoch=3, at=at - tokens.TOKEN_LIFE)
        used = tokens.issue(session, plan="used", epoch=3, at=at)
        execute(session, plan="used", secret=used, epoch=3, at=at)
    accepted, refused = 0, {}
    kinds = {
        "forged": lambda: (secrets.token_hex(32), "good"),
        "nearly": lambda: (
            good[: (place := dice.randrange(64))] + "0123456789abcdef"[int(good[place], 16) - 1] + good[place + 1 :],
            "good",
        ),
        "hash": lambda: (tokens._hash(good), "good"),
        "case": lambda: (good.upper() + " " * dice.randrange(3) if good.upper() != good else "", "good"),
        "foreign": lambda: (foreign, "good"),
        "other plan": lambda: (good, "other"),
        "older lease": lambda: (older, "good"),
        "expired": lambda: (expired, "good"),
        "reused": lambda: (used, "used"),
        "text": lambda: (dice.choice(["", "\0", "\ud800", "' OR 1=1 --"]), "good"),
    }
    with writing(desk.engine) as session:
        for attempt in range(10_000):
            kind = list(kinds)[attempt % len(kinds)]
            secret, plan = kinds[kind]()
            try:
                execute(session, plan=plan, secret=secret, epoch=3, at=at)
                accepted += 1
            except tokens.TokenRefused as error:
                refused.setdefault(str(error).split(" until")[0], set()).add(kind)
        statuses = dict(session.execute(select(PlanRow.id, PlanRow.status)).all())
    assert accepted == 0
    assert statuses == {"good": "approved", "other": "approved", "used": "executed"}
    assert len(refused) == 5
    with writing(desk.engine) as session:
        execute(session, plan="good", secret=good, epoch=3, at=at)
        with pytest.raises(tokens.TokenRefused, match="used before"):
            execute(session, plan="good", secret=good, epoch=3, at=at)


def test_a_good_token_does_not_make_up_for_a_plan_that_nobody_approved(desk, run):
    with writing(desk.engine) as session:
        add_plan(session, desk, run, "waits", PlanStatus.PENDING)
        secret = tokens.issue(session, plan="waits", epoch=1, at=desk.now())
    for _ in range(2):
        # The transaction is rolled back, and the token is as unused as before.
        with pytest.raises(PlanConflict, match="pending_approval"), writing(desk.engine) as session:
            execute(session, plan="waits", secret=secret, epoch=1, at=desk.now())


def test_the_store_holds_no_secret(desk, run):
    with writing(desk.engine) as session:
        add_plan(session, desk, run, "plan")
        secret = tokens.issue(session, plan="plan", epoch=1, at=desk.now())
    with reading(desk.engine) as session:
        (row,) = session.scalars(select(TokenRow)).all()
    assert len(secret) * 4 == 256
    assert secret not in row.model_dump_json()
