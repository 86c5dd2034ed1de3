"""The ``rescore`` flow: which promoted entries have bars that nobody has looked at yet.

It only names them. A rescore spends a counted look and can retire an entry, so a person takes it, at the command line, in their own
name: no schedule and no flow decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.states import Completed

from evolution.escaping import escape_markdown
from evolution.pool import EntryStatus, Pool
from flows import opening
from flows.clock import now
from flows.settings import home_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from prefect.client.schemas.objects import State

    from runtime.market import DataSetSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A promoted entry whose data set has grown since it was last looked at."""

    entry_id: str
    dataset: str
    seen_until: datetime
    """End of the newest bar that a look has seen."""
    newest: datetime
    """Stamp of the set's newest bar."""
    looks_left: int

    @property
    def command(self) -> str:
        """What a person types."""
        return f"trigate pool rescore {self.entry_id} --by NAME --reason TEXT"


def due(pool: Pool, sets: Sequence[DataSetSummary]) -> tuple[Due, ...]:
    """Promoted entries with newer bars, in order of admission. The vault stays closed: its newest date is no secret."""
    newest = {each.name: each.last for each in sets}
    found = []
    for entry in pool.list(EntryStatus.PROMOTED):
        seen, last = pool.seen_until(entry), newest.get(entry.binding.dataset)
        if seen is not None and last is not None and last >= seen:
            found.append(
                Due(
                    entry_id=entry.id,
                    dataset=entry.binding.dataset,
                    seen_until=seen,
                    newest=last,
                    looks_left=pool.looks_left(entry),
                )
            )
    return tuple(found)


@flow(name="rescore", persist_result=False)
def rescore() -> State[str]:
    """Name the promoted entries that a person may score again on newer bars."""
    home = home_folder()
    found = due(Pool(opening.engine(home), now=now), opening.known_sets(home))
    create_markdown_artifact(
        markdown=in_markdown(found), key="rescore", description="Promoted entries with bars that nobody has looked at."
    )
    return Completed(name="Due" if found else "Nothing due", message=f"{len(found)} promoted entries have newer bars")


def in_markdown(found: Sequence[Due]) -> str:
    """One line per entry, with the command; a look needs 250 newer bars, and refuses by itself what has fewer."""
    if not found:
        return "No promoted entry has bars that it was not looked at on."
    return "\n".join(
        f"- {escape_markdown(f'{each.entry_id} on {each.dataset}: seen until {each.seen_until:%Y-%m-%d}, newest bar {each.newest:%Y-%m-%d}, looks left {each.looks_left}; a person decides:')} `{each.command}`"
        for each in found
    )
