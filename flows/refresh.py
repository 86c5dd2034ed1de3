"""The ``refresh-data`` flow: brings sets that came from a feed up to date, each by the request that made it.

Its parameters are names. Where a feed is and which variable holds its key stand in the ``trigate.toml`` of this machine. New bars only
ever go to the vault, so it runs where the vault is, in the queue of reviews.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State  # noqa: TC002 - without it Prefect cannot read the flow's annotations, and makes no form
from prefect.states import Completed

from evolution.escaping import escape_markdown
from evolution.plural import plural
from flows import opening
from flows.forms import EVERY_SET, RefreshForm
from flows.output import plain
from flows.problems import Problem
from flows.settings import home_folder, load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from flows.feeds import FeedSection
    from runtime.market.feeds import Refresh


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What became of one set."""

    name: str
    new_bars: int
    problem: str | None
    """Why it is not up to date, in one sentence; None when it is."""


def refreshed(home: Path, feeds: Mapping[str, FeedSection], names: Sequence[str]) -> tuple[Refreshed, ...]:
    """Bring sets up to date, one after the other; a problem with one keeps no other waiting.

    Args:
        home: The home folder.
        feeds: This machine's feeds, by name.
        names: Sets that are wanted; empty means every one that came from a feed.
    """
    known = {each.request.name: each for each in opening.due_refreshes(home)}
    strangers = [
        Refreshed(name=name, new_bars=0, problem=f"no data set {name!r} came from a feed")
        for name in names
        if name not in known
    ]
    wanted = [each for name, each in known.items() if not names or name in names]
    return (*strangers, *(_refreshed(each, home, feeds) for each in wanted))


def _refreshed(due: Refresh, home: Path, feeds: Mapping[str, FeedSection]) -> Refreshed:
    try:
        collected = opening.fetched_set(feeds, due.feed, due.request, home, lambda _step: None)
    except Problem as problem:
        return Refreshed(name=due.request.name, new_bars=0, problem=str(problem))
    return Refreshed(name=due.request.name, new_bars=collected.added.new_bars, problem=None)


@flow(name="refresh-data", persist_result=False)
def refresh_data(sets: RefreshForm = EVERY_SET) -> State[str]:
    """Fetch the newest closed bars of sets that came from a feed; all of them go to the vaults."""
    home = home_folder()
    done = refreshed(home, load_settings(None, home).feeds, sets.data)
    create_markdown_artifact(
        markdown=in_markdown(done), key="refresh-data", description="Data sets that came from a feed."
    )
    troubles = [each.problem for each in done if each.problem is not None]
    new = sum(each.new_bars for each in done)
    words = f"{len(done) - len(troubles)} of {plural(len(done), 'set')} up to date, {plural(new, 'new bar')}"
    if troubles:
        return Completed(name="Incomplete", message=f"{words}; {troubles[0]}")
    return Completed(name="Fetched" if new else "Nothing new", message=words)


def in_markdown(done: Sequence[Refreshed]) -> str:
    """A line per set."""
    if not done:
        return "No data set came from a feed."
    return "\n".join(
        f"- {escape_markdown(each.name)}: "
        + (plural(each.new_bars, "new bar") if each.problem is None else escape_markdown(plain(each.problem)))
        for each in done
    )
