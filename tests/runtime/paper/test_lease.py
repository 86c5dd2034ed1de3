"""Of two runners exactly one acts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from runtime.paper.canon import stamp
from runtime.paper.lease import LEASE, Held, Lease, LeaseLost, acquire, fence, release
from runtime.paper.tables import LeaseRow
from runtime.store import reading, writing


@pytest.fixture
def run(desk):
    return desk.book.open(desk.order())


def test_a_thousand_races_have_one_winner_each(desk, run):
    """Two threads that start together ask for the lease of a run that is free, or whose holder is past its end."""
    at = desk.now()
    racers, start = 2, Barrier(2)

    def race(number, racer):
        start.wait()
        return acquire(desk.engine, run, holder=f"{racer}", at=at + number * 2 * LEASE)

    with ThreadPoolExecutor(racers) as pool:
        for number in range(1_000):
            results = list(pool.map(lambda racer, number=number: race(number, racer), range(racers)))
            (winner,) = [each for each in results if isinstance(each, Lease)]
            (loser,) = [each for each in results if isinstance(each, Held)]
            assert (winner.epoch, loser.holder) == (number + 1, winner.holder)


def test_a_runner_that_slept_past_its_end_finds_out_before_it_writes(desk, run):
    at = desk.now()
    asleep = acquire(desk.engine, run, holder="first", at=at)
    awake = acquire(desk.engine, run, holder="second", at=at + LEASE)
    with writing(desk.engine) as session, pytest.raises(LeaseLost, match="second"):
        fence(session, asleep, at)
    with writing(desk.engine) as session:
        fence(session, awake, at + LEASE)
    release(desk.engine, asleep, at + LEASE)
    assert isinstance(acquire(desk.engine, run, holder="third", at=at + 1.5 * LEASE), Held)


def test_one_that_only_overslept_goes_on_if_nobody_came(desk, run):
    at = desk.now()
    lease = acquire(desk.engine, run, holder="first", at=at)
    with writing(desk.engine) as session:
        fence(session, lease, at + 3 * LEASE)
    assert isinstance(acquire(desk.engine, run, holder="second", at=at + 3.5 * LEASE), Held)


def test_a_clock_set_back_does_not_shorten_a_lease(desk, run):
    at = desk.now()
    lease = acquire(desk.engine, run, holder="first", at=at)
    with writing(desk.engine) as session:
        fence(session, lease, at - timedelta(hours=1))
    with reading(desk.engine) as session:
        assert session.get(LeaseRow, run).expires == stamp(at + LEASE)
