"""One sentence says what to do this morning, and the commands do it."""

from __future__ import annotations

import pytest

from evolution.morning.headline import headline
from evolution.pool.entry import EntryStatus
from evolution.run import RunStatus


def test_waiting_entries_come_first(full_night):
    morning = full_night.morning()
    assert morning.headline == "1 strategy waits for your decision: p-0001"
    assert morning.commands[0].text == "trigate pool show p-0001"
    texts = [command.text for command in morning.shown[0].commands]
    assert texts[1:] == [
        'trigate pool promote p-0001 --by "Your Name" --reason "why"',
        'trigate pool decline p-0001 --by "Your Name" --reason "why"',
    ]


@pytest.mark.parametrize(("count", "names"), [(2, "p-0001 and p-0002"), (4, "p-0001 to p-0004")])
def test_several_waiting_entries_are_counted(make, count, names):
    trials = [make.trial(0, index, score=0.9 - index / 100) for index in range(count)]
    entries = tuple(make.entry(place, each) for place, each in enumerate(trials, 1))
    night = make.night(trials=trials, entries=entries)
    assert night.morning().headline == f"{count} strategies wait for your decision: {names}"


@pytest.mark.parametrize(
    ("status", "last"),
    [(EntryStatus.PROMOTED, "trigate pool retire p-0001"), (EntryStatus.DECLINED, "trigate pool show p-0001")],
)
def test_what_is_decided_needs_nobody(make, status, last):
    one = make.trial(0, 0)
    morning = make.night(trials=(one,), entries=(make.entry(1, one, status=status),)).morning()
    assert morning.headline == "Nothing left to decide: every new pool entry has its answer"
    assert morning.shown[0].commands[-1].text.startswith(last)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Nothing to decide this morning: no candidate was good enough"),
        ({"status": RunStatus.RUNNING}, "The run is still going: nothing to decide yet"),
        ({"plan": {"replay": "r-1"}}, "Nothing to decide: this run repeated an earlier one"),
        ({"plan": {"control_of": "r-1"}}, "Nothing to decide: this is the control arm of r-1"),
    ],
)
def test_a_night_without_an_entry_says_so(make, changes, words):
    assert make.night(trials=(make.trial(0, 0),), **changes).morning().headline == words


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"status": RunStatus.INTERRUPTED}, "interrupted"),
        ({"status": RunStatus.FAILED}, "failed"),
        ({"status": RunStatus.RUNNING, "is_cut_short": True}, "cut short"),
    ],
)
def test_a_run_that_can_go_on_says_how(make, changes, word):
    morning = make.night(trials=(), **changes).morning()
    assert morning.headline == f"The run did not come to its end ({word}): let it go on"
    assert morning.commands[0].text == "trigate evolve --resume r-20261130-001"


def test_what_the_pool_has_already_is_neither_new_nor_bad(make):
    night = make.night(trials=(make.trial(0, 0),))
    stored = night.stored()
    stored = stored._replace(summary=make.replace(stored.summary, known=("p-0003",)))
    assert headline(stored.summary) == "Nothing new to decide: what was good enough is in the pool already"


def test_the_finding_does_not_repeat_the_headline(make):
    morning = make.night(trials=(make.trial(0, 0, score=0.2),)).morning()
    assert morning.finding == "none beats buy and hold on train (best 0.200 against 0.400), of 1 that were scored"
