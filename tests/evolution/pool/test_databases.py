"""The pool is the same on PostgreSQL as on SQLite: entries, refusals, looks, decisions with their chain, people and their codes."""

from __future__ import annotations

import json
import threading

import pytest
from sqlalchemy import text

from evolution.pool import AlreadyIn, LookFailed, NotAdmitted, Promoted, entry_document
from evolution.pool.promotion import PromotionRefused

pytestmark = pytest.mark.slow


def life(house, scripted):
    """What can happen to a pool, and all that is to be seen of it afterwards."""
    first = house.add_entry(record=house.noise_record(1))
    second, third = house.add_entry(model="qwen3-coder"), house.add_entry()
    assert isinstance(house.consider(house.add_trial(first.source.data)), AlreadyIn)
    refused = house.consider(house.add_trial(score=0.1, beats_buy_and_hold=False))
    assert isinstance(refused, NotAdmitted)
    assert isinstance(house.promote(first), Promoted)
    assert isinstance(house.promote(second, scripted(vault=0.0)), LookFailed)
    house.pool.decline(third.id, by="Grace", reason="too like the first, ünd 北")
    house.pool.retire(first.id, by="Ada", reason="enough")
    house.reopen()
    return {
        "entries": [entry_document(entry, house.pool.decisions(entry)) for entry in house.pool.list()],
        "refusals": [(each.candidate_id, each.check, each.figure) for each in house.pool.refusals(house.run_id)],
        "decisions": [each.hash for each in house.pool.decisions()],
        "chain": repr(house.pool.verify_chain()),
        "people": [each.name for each in house.pool.people.list()],
        "looks_left": house.pool.looks_left(first),
        "seen_until": str(house.pool.seen_until(first)),
        "reads": repr(house.pool.validation_reads(house.run_id)),
    }


def test_what_happens_to_a_pool_comes_to_the_same_on_both(house, other_house, scripted):
    here, there = (json.dumps(life(each, scripted), sort_keys=True, indent=1) for each in (house, other_house))
    assert here == there
    assert '"decisions"' in here


def test_of_two_promotions_at_once_one_is_made_and_one_look_is_charged(other_house):
    entry = other_house.add_entry()
    barrier, found = threading.Barrier(2), []

    def promote():
        barrier.wait()
        found.append(other_house.promote(entry))

    threads = [threading.Thread(target=promote) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {type(each) for each in found} <= {Promoted, PromotionRefused}
    assert any(isinstance(each, Promoted) for each in found)
    assert len(other_house.pool.decisions()) == 1
    with other_house.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(DISTINCT look) FROM vault_look")) == 1
