"""The ``paper`` flow: one flow run per paper run, so that Prefect shows what trades and automations can hang on its events.

A person starts a run (``trigate paper start ... --queue``), which is where guards, key and deployment are checked; the flow only runs what
was written down, by its id. Started again after a crash it goes on where the run was.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Annotated, Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State  # noqa: TC002 - without it Prefect cannot read the flow's annotations, and makes no form
from prefect.events import emit_event
from prefect.states import Completed, Failed
from pydantic import Field

from evolution.escaping import escape_markdown
from evolution.plural import plural
from flows.many import run_here
from flows.settings import home_folder, load_settings
from flows.trading import open_room
from runtime.paper.values import RunStatus
from runtime.paper.watching import summary_of

if TYPE_CHECKING:
    from flows.trading import TradingRoom
    from runtime.paper.driver import Step
    from runtime.paper.journal import Books

_log = logging.getLogger(__name__)

Run = Annotated[
    str, Field(pattern=r"^t-[0-9a-f-]{1,40}$", title="Paper run", description="Its id; trigate paper list shows it.")
]


class EventWatch:
    """Tells Prefect what a run does, and sums up each day with the audit log's head. Implements ``Watch``."""

    def __init__(self, room: TradingRoom) -> None:
        self._room = room
        self._day: str | None = None

    def took(self, run: str, step: Step, books: Books) -> None:
        """A bar was written."""
        day = f"{step.bar.ts:%Y-%m-%d}"
        if self._day is not None and day != self._day:
            publish_summary(self._room, run, self._day)
        self._day = day
        for fill in step.fills:
            emit(
                "fill",
                run,
                ts=fill.ts.isoformat(),
                side=fill.side.value,
                quantity=fill.quantity,
                price=fill.price,
                equity=books.equity,
            )
        for asked in step.asked:
            if asked.refused is not None:
                emit("refused", run, ts=step.bar.ts.isoformat(), rule=asked.rule, reason=asked.refused)

    def faulted(self, run: str, reason: str, pause_s: float) -> None:
        """Something that may pass."""
        emit("fault", run, reason=reason, pause_s=pause_s)

    def finish(self, run: str) -> None:
        """The last day, as far as it came."""
        if self._day is not None:
            publish_summary(self._room, run, self._day)


@flow(name="paper", flow_run_name="paper {run}", persist_result=False)
def paper(run: Run) -> State[str]:
    """Run one paper run that a person has started, until it ends.

    Args:
        run: Its id.
    """
    home = home_folder()
    room = open_room(home, load_settings(None, home))
    watch = EventWatch(room)
    ending = run_here(room, run, watch=watch)
    watch.finish(run)
    name = "elsewhere" if ending.status is None else ending.status.value
    emit("end", run, status=name, reason=ending.reason)
    message = f"{run} is {name}: {ending.reason}"
    if ending.is_refused:
        return Failed(name="Refused", message=f"{run} is refused: {ending.reason}")
    if ending.status in {RunStatus.FAILED, RunStatus.DRIFTED, RunStatus.REVOKED}:
        return Failed(name=name.capitalize(), message=message)
    return Completed(name=name.capitalize(), message=message)


def publish_summary(room: TradingRoom, run: str, day: str) -> None:
    """A day as artifact and event. Both leave the store, so a head in them outlives whoever rewrites it."""
    summary = summary_of(room.engine, room.auditor, run, day)
    emit("day", **summary)
    try:
        create_markdown_artifact(
            markdown=in_markdown(summary), key="paper-day", description=f"Paper run {run} on {day}."
        )
    except Exception:  # noqa: BLE001 - whatever Prefect's client raises: a server that is away must not stop a run that trades
        _log.warning("paper run %s: the summary of %s could not be published", run, day)


def in_markdown(summary: dict[str, Any]) -> str:
    """A daily summary for people."""
    decisions = ", ".join(f"{count} {name}" for name, count in summary["decisions"].items()) or "none"
    return "\n".join(
        escape_markdown(line)
        for line in (
            f"{summary['run']} on {summary['day']}: {plural(summary['bars'], 'bar')}, {plural(summary['fills'], 'fill')}, fees {summary['fees']:.2f}",
            f"Intents: {decisions}",
            f"Audit log: line {summary['audit_sequence']}, head {summary['audit_head']}, key {summary['audit_key']}",
        )
    )


def emit(what: str, run: str, **payload: object) -> None:
    """Tell Prefect's event feed. A feed that is out must not stop a run; what cannot be sent is in the audit log all the same."""
    with contextlib.suppress(OSError, RuntimeError):
        emit_event(
            event=f"trigate.paper.{what}",
            resource={"prefect.resource.id": f"trigate.paper.{run}"},
            payload={"run": run} | payload,
        )
