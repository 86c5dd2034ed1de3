"""Two entries side by side, and one as a document of its own."""

from __future__ import annotations

import json
from dataclasses import replace

from evolution.pool import Choice
from evolution.pool.compare import comparison, exported
from evolution.pool.keys import KeyFiles, is_signed


def test_a_comparison_names_what_differs_and_shows_the_sources_line_by_line(house):
    first = house.add_entry(b"# one\nx = 1\n")
    second = house.add_entry(b"# one\nx = 2\n", score=1.2)
    found = comparison(first, second)
    assert (found.first, found.second) == ("p-0001", "p-0002")
    assert {each.name for each in found.differences} >= {"score"}
    assert "-x = 1" in found.source
    assert "+x = 2" in found.source
    assert json.dumps(found.document())


def test_an_entry_does_not_differ_from_itself(house):
    entry = house.add_entry()
    found = comparison(entry, entry)
    assert (found.differences, found.source) == ((), ())


def test_a_figure_that_only_one_of_them_has_is_shown_too(house):
    entry = house.add_entry()
    older = replace(entry, card=replace(entry.card, notes=()))
    missing = [each for each in comparison(entry, older).differences if each.second is None]
    assert {each.name for each in missing} == {note.name for note in entry.card.notes if note.figure is not None}


def test_an_exported_entry_proves_its_decision_without_the_store(house):
    key = KeyFiles(house.home).make("Ada", "correct horse")
    house.pool.people.enrol("Ada", key.public_key)
    entry = house.add_entry()
    code = house.pool.codes.issue(entry.number, Choice.PROMOTE, by="Ada", signer=key)
    good = house.pool.codes.redeem(entry.number, Choice.PROMOTE, code.text)
    house.promote(entry, by="Ada", signer=good.signer)
    people = {"Ada": key.public_key}
    data = exported(house.pool.get(entry.id), house.pool.decisions(entry), people, house.pool.codes.papers(1))
    document = json.loads(data)
    (decision,), (paper,) = document["decisions"], document["codes"]
    assert document["source"].encode() == entry.source.data
    assert decision["public_key"] == paper["code_key"]
    assert is_signed(decision["public_key"], decision["hash"].encode(), decision["signature"])
    assert is_signed(document["people"]["Ada"], paper["signed"].encode(), paper["signature"])
    assert json.loads(paper["signed"])[1:4] == [1, "promote", "Ada"]
    assert code.text not in data.decode()
    assert "figures" not in data.decode()
