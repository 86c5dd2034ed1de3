"""New bars by schedule: each set by the request that made it, and one that fails keeps no other waiting."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from flows import refresh
from flows.forms import RefreshForm
from flows.problems import EnvironmentProblem
from flows.refresh import Refreshed, in_markdown, refreshed


@pytest.fixture
def feeds(monkeypatch):
    """Two sets; the feed of the first is out."""
    asked = []
    due = [
        SimpleNamespace(feed=feed, request=SimpleNamespace(name=name)) for feed, name in (("out", "one"), ("in", "two"))
    ]

    def fetched(_feeds, feed, request, _home, _watch):
        asked.append(request.name)
        if feed == "out":
            raise EnvironmentProblem("feed out: does not answer")
        return SimpleNamespace(added=SimpleNamespace(new_bars=3))

    monkeypatch.setattr(refresh.opening, "due_refreshes", lambda _home: due)
    monkeypatch.setattr(refresh.opening, "fetched_set", fetched)
    return asked


def test_every_set_is_asked_for_and_a_problem_is_told(feeds, tmp_path):
    done = refreshed(tmp_path, {}, [])
    assert done == (
        Refreshed(name="one", new_bars=0, problem="feed out: does not answer"),
        Refreshed(name="two", new_bars=3, problem=None),
    )
    assert feeds == ["one", "two"]


def test_a_name_that_no_feed_made_is_told_and_opens_nothing(feeds, tmp_path):
    done = refreshed(tmp_path, {}, ["two", "bars.csv"])
    assert [(each.name, each.problem is None) for each in done] == [("bars.csv", False), ("two", True)]
    assert feeds == ["two"]


def test_what_a_feed_said_is_no_markup():
    text = in_markdown([Refreshed(name="one", new_bars=0, problem="<b>[x](y)\x1b")])
    assert "<b>" not in text
    assert "\x1b" not in text
    assert in_markdown([]) == "No data set came from a feed."


@pytest.mark.parametrize("sent", [{"data": ["../x"]}, {"data": ["a"] * 101}, {"feed": "x"}, {"base_url": "http://x"}])
def test_a_form_carries_names_only(sent):
    with pytest.raises(ValidationError):
        RefreshForm.model_validate(sent)
