"""The schedule names what a person may score again, and decides nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from evolution.pool import EntryStatus
from flows.rescore import Due, due, in_markdown

SEEN = datetime(2026, 1, 10, tzinfo=UTC)


class Shelf:
    """As much of a pool as is asked."""

    def __init__(self, **seen):
        self.seen = seen

    def list(self, status):
        assert status is EntryStatus.PROMOTED
        return [SimpleNamespace(id=name, binding=SimpleNamespace(dataset="daily")) for name in sorted(self.seen)]

    def seen_until(self, entry):
        return self.seen[entry.id]

    def looks_left(self, entry):
        return 7


def data_set(last):
    return [SimpleNamespace(name="daily", last=last)]


def test_an_entry_is_due_as_soon_as_a_bar_came_that_no_look_has_seen():
    """A look ends with the end of its last bar, which is the stamp of the next one."""
    shelf = Shelf(first=SEEN, second=SEEN + timedelta(days=9), third=None)
    assert due(shelf, data_set(SEEN - timedelta(days=1))) == ()
    (one,) = due(shelf, data_set(SEEN))
    assert (one.entry_id, one.looks_left, one.newest) == ("first", 7, SEEN)
    assert due(shelf, []) == ()


def test_the_command_that_a_person_types_stands_beside_each_entry():
    one = Due(entry_id="p-0001", dataset="a*b", seen_until=SEEN, newest=SEEN, looks_left=7)
    assert in_markdown([one]).endswith("`trigate pool rescore p-0001 --by NAME --reason TEXT`")
    assert "a\\*b" in in_markdown([one])
    assert in_markdown([]) == "No promoted entry has bars that it was not looked at on."
