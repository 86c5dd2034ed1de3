"""One leader per run on both databases: by the database's clock, and nobody who was replaced writes any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from evolution.leases import LEASE_S, Lease, Leases, Taken
from evolution.ledger import TrialLedger
from evolution.run import RunFacts, RunStatus
from runtime.store import FencedError, fenced, open_engine, writing, writing_rows

FACTS = RunFacts(seed=1, plan={}, dataset="d", dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="1")


@pytest.fixture
def engine(tmp_path, database_url):
    opened = open_engine(tmp_path, database_url)
    yield opened
    opened.dispose()


@pytest.fixture
def run(engine):
    return TrialLedger(engine, now=lambda: datetime.now(UTC)).start_run(FACTS).id


def let_run_out(engine, run):
    with writing(engine) as session:
        session.execute(
            text("UPDATE run_lease SET expires = :then WHERE run_id = :run"),
            {"then": datetime.now(UTC) - timedelta(days=1), "run": run},
        )


def test_only_one_leads_and_the_other_is_told_who_and_how_long(engine, run):
    leases = Leases(engine)
    assert isinstance(leases.take(run, "here"), Lease)
    taken = leases.take(run, "there")
    assert isinstance(taken, Taken)
    assert taken.holder == "here"
    assert 0 < taken.free_in_s <= LEASE_S
    assert leases.holder(run).holder == "here"


def test_a_lease_of_the_same_name_is_a_dead_ones_only_for_who_knows_it(engine, run):
    leases = Leases(engine)
    leases.take(run, "here")
    assert isinstance(leases.take(run, "here"), Taken)
    assert isinstance(leases.take(run, "there", is_alone=True), Taken)
    assert isinstance(leases.take(run, "here", is_alone=True), Lease)


def test_who_was_replaced_cannot_write_any_more_however_late_it_wakes_up(engine, run):
    leases = Leases(engine)
    first = leases.take(run, "here")
    late = TrialLedger(fenced(engine, run, first.token), now=lambda: datetime.now(UTC))
    late.tell(run, was="here")
    let_run_out(engine, run)
    assert leases.renew(first), "nobody else leads it, so it goes on"
    let_run_out(engine, run)
    second = leases.take(run, "there")
    assert isinstance(second, Lease)
    assert not leases.renew(first)
    with pytest.raises(FencedError, match=f"run {run}: there has taken over"):
        late.finish_run(run, RunStatus.FAILED)
    with pytest.raises(FencedError), writing_rows(fenced(engine, run, first.token)) as connection:
        connection.execute(text("DELETE FROM run_lease"))
    leases.release(first)
    assert leases.holder(run).holder == "there"
    assert late.run(run).status is RunStatus.RUNNING
    TrialLedger(fenced(engine, run, second.token), now=lambda: datetime.now(UTC)).finish_run(run, RunStatus.FINISHED)
    leases.release(second)
    assert leases.holder(run) is None


def test_a_clock_of_ours_that_is_wrong_changes_nothing(engine, run, monkeypatch):
    """On a server its clock counts; on SQLite all processes have the same one."""
    if engine.dialect.name == "sqlite":
        pytest.skip("one machine, one clock")
    import runtime.store

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=1)

    leases = Leases(engine)
    leases.take(run, "here")
    monkeypatch.setattr(runtime.store, "datetime", Tomorrow)
    assert isinstance(leases.take(run, "there"), Taken)
