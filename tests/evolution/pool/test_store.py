"""Entries are found by what people type, and shown as the documents that are promised."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from evolution.ledger import UnknownIdError
from evolution.pool import entry_document, listing_document, run_document, trial_document


def test_an_entry_is_found_by_its_id_or_by_the_beginning_of_its_hash(house):
    first, second = house.add_entry(), house.add_entry()
    for text in ("p-0001", " P-0001 ", first.source.sha256, first.source.sha256[:8]):
        assert house.pool.get(text) == first
    assert house.pool.get("p-0002") == second
    with pytest.raises(UnknownIdError, match=r"pool entry 'p-': fits several \(p-0001, p-0002\); write the id in full"):
        house.pool.get("p-")
    for text in ("", "p-0003", "%", first.source.sha256[:5], "zzzzzz"):
        with pytest.raises(UnknownIdError, match="there is none; see trigate pool list"):
            house.pool.get(text)


def test_entries_are_numbered_in_order_of_admission_and_listed_by_run(house):
    first = house.add_entry()
    house.start_run()
    second = house.add_entry()
    assert house.pool.list() == (first, second)
    assert house.pool.list(run_id=second.run_id) == (second,)
    assert house.ledger.runs()[0].entries == 1


def test_an_entry_document_says_who_what_and_on_which_evidence(house):
    entry = house.add_entry(model="qwen3-coder")
    document = json.loads(json.dumps(entry_document(entry), allow_nan=False))
    assert {
        name: document[name] for name in ("id", "score", "status", "language", "run", "candidate", "blind", "models")
    } == {
        "id": "p-0001",
        "score": 1.1,
        "status": "candidate",
        "language": "python",
        "run": "r-20261130-001",
        "candidate": "g000-c000",
        "blind": False,
        "models": ["qwen3-coder"],
    }
    assert document["sha256"] == entry.source.sha256
    assert "decisions" not in document
    assert entry_document(entry, house.pool.decisions(entry))["decisions"] == []
    assert document["checks"][0] == {
        "name": "train-constraints",
        "figure": 0.0,
        "limit": 0.0,
        "passed": True,
        "sentence": "broken constraints on train, added up: 0.00; must be at most 0.00",
    }


def test_a_run_document_has_its_facts_its_funnel_and_its_trials(house):
    trial = house.add_trial()
    record = house.ledger.run(house.run_id)
    document = run_document(record, house.ledger.funnel(record.id), house.ledger.trials(record.id))
    json.dumps(document, allow_nan=False)
    assert document["id"] == "r-20261130-001"
    assert document["funnel"] == {
        "trials": 1,
        "barren": 0,
        "rejected": 0,
        "killed": 0,
        "failed": 0,
        "duplicate": 0,
        "stopped": 0,
        "vetoed": 0,
        "scored": 1,
        "rejected_by_gate": {"1": 0, "2": 0, "3": 0},
    }
    assert document["trials"] == [trial_document(trial)]
    shown = {
        name: document["trials"][0][name]
        for name in ("id", "generation", "parents", "operator", "outcome", "gate", "score")
    }
    assert shown == {
        "id": "g000-c000",
        "generation": 0,
        "parents": [],
        "operator": "seed/x",
        "outcome": "scored",
        "gate": None,
        "score": 1.1,
    }


def test_a_listed_run_has_its_counts_and_no_trials(house):
    house.add_entry()
    document = listing_document(house.ledger.runs()[0])
    assert (document["trials"], document["entries"], document["best_score"]) == (1, 1, 1.1)


def test_listing_the_pool_loads_nothing_that_is_slow_to_load(house):
    """`trigate pool list` should answer at once."""
    house.add_entry()
    code = """
import datetime, pathlib, sys
from evolution.pool import Pool
from runtime.store import open_engine
print(len(Pool(open_engine(pathlib.Path(sys.argv[1])), now=datetime.datetime.now).list()))
print([name for name in ("alembic", "pandas", "prefect", "httpx", "deap", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code, house.home], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("1\n[]\n", "")
