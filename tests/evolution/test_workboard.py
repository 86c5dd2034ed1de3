"""Candidates are shared out so that each is with one process at a time, and a helper that dies costs nothing, on both databases."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.leases import Leases
from evolution.ledger import TrialLedger
from evolution.run import RunFacts
from evolution.workboard import DamagedParcelError, Parcel, Workboard
from runtime.source import StrategySource
from runtime.store import open_engine, writing

FACTS = RunFacts(seed=1, plan={}, dataset="d", dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="1")


@pytest.fixture
def engine(tmp_path, database_url):
    opened = open_engine(tmp_path, database_url)
    yield opened
    opened.dispose()


@pytest.fixture
def run(engine):
    return TrialLedger(engine, now=lambda: datetime.now(UTC)).start_run(FACTS).id


@pytest.fixture
def board(engine):
    return Workboard(engine)


def candidates(run, count, generation=0):
    return [
        Candidate(
            id=candidate_id(generation, index),
            run_id=run,
            generation=generation,
            index=index,
            source=StrategySource(f"# {index}\n\0\udcff".encode("utf-8", "surrogateescape")),
            provenance=Provenance(operator="offline/jitter", parents=("g000-c001",), seed=2**62 + index),
            structure="s",
            redraws=index,
        )
        for index in range(count)
    ]


def silence(engine):
    """All helpers are not heard of for a day."""
    with writing(engine) as session:
        then = datetime.now(UTC) - timedelta(days=1)
        session.execute(text("UPDATE shared_candidate SET expires = :then WHERE expires IS NOT NULL"), {"then": then})


def test_the_leader_takes_from_the_front_and_helpers_from_the_back_exactly_as_offered(board, run):
    offered = candidates(run, 3)
    board.offer(run, offered, {"g000-c002": True})
    assert board.claim(run, "g000-c000")
    job = board.take(run, "helper")
    assert (job.candidate, job.is_full) == (offered[2], True)
    assert not board.claim(run, "g000-c002")
    job = board.take(run, "other")
    assert (job.candidate, job.is_full) == (offered[1], False)
    assert board.take(run, "helper") is None


def test_what_is_done_is_nobodys_again_and_counts_for_who_did_it(board, run, engine):
    board.offer(run, candidates(run, 2), {})
    board.take(run, "helper")
    assert not board.is_done(run, "g000-c001")
    board.finish(run, "g000-c001", "somebody else")
    assert not board.is_done(run, "g000-c001")
    board.finish(run, "g000-c001", "helper")
    silence(engine)
    assert board.is_done(run, "g000-c001")
    assert not board.claim(run, "g000-c001")
    assert board.helpers(run) == {"helper": 1}


def test_a_helper_that_is_not_heard_of_loses_its_candidate_and_one_that_is_keeps_it(board, run, engine):
    board.offer(run, candidates(run, 1), {})
    board.take(run, "helper")
    silence(engine)
    board.renew("helper")
    assert not board.claim(run, "g000-c000")
    silence(engine)
    assert board.claim(run, "g000-c000")
    assert board.take(run, "helper") is None
    silence(engine)
    assert board.take(run, "helper") is None, "the leader's claim lasts as long as it leads"


def test_what_is_given_back_is_free_at_once(board, run):
    board.offer(run, candidates(run, 1), {})
    board.take(run, "helper")
    board.give_back("helper")
    assert board.claim(run, "g000-c000")


def test_a_new_leader_frees_what_the_former_one_was_at_and_leaves_helpers_alone(board, run):
    offered = candidates(run, 3)
    board.offer(run, offered, {})
    board.claim(run, "g000-c000")
    board.take(run, "helper")
    board.clear(run, [each.id for each in offered])
    board.offer(run, offered[:1], {})
    board.offer(run, offered[1:], {})
    assert board.claim(run, "g000-c000")
    assert not board.claim(run, "g000-c002")
    following = candidates(run, 1, generation=1)
    board.clear(run, [each.id for each in following])
    board.offer(run, following, {})
    assert board.take(run, "helper").candidate.generation == 1


def test_many_at_once_never_get_the_same_candidate(board, run):
    board.offer(run, candidates(run, 24), {})
    taken, gate = [], threading.Lock()

    def grab(name):
        while (job := board.take(run, name)) is not None:
            with gate:
                taken.append(job.candidate.id)

    threads = [threading.Thread(target=grab, args=(f"helper-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [candidate_id(0, index) for index in range(24)]


def test_a_parcel_comes_back_as_it_was_or_not_at_all(board, run, engine):
    assert board.parcel(run) is None
    parcel = Parcel(code="c", bench=bytes(range(256)))
    board.publish(run, replace(parcel, bench=b"of a former leader"))
    board.publish(run, parcel)
    assert board.parcel(run) == parcel
    with writing(engine) as session:
        session.execute(text("UPDATE shared_run SET bench = :other"), {"other": b"other bars"})
    with pytest.raises(DamagedParcelError, match=f"run {run}: the bars that it shares are not those"):
        board.parcel(run)


def test_a_run_is_open_to_helpers_while_somebody_leads_it_and_leaves_nothing_behind(board, run, engine):
    board.publish(run, Parcel(code="c", bench=b"b"))
    board.offer(run, candidates(run, 2), {})
    assert board.runs() == ()
    leases = Leases(engine)
    lease = leases.take(run, "leader")
    assert board.runs() == (run,)
    leases.release(lease)
    assert board.runs() == ()
    assert board.parcel(run) is None
    assert board.take(run, "helper") is None
