"""Which flow runs a run of ours is tied to, as it stands in the run's story: who works on it, how often it went on by itself, and why no more.

``flow`` and ``flow_runs`` are written by the process that works on the run, ``resumes`` and ``given_up`` by the station of ``trigate up``, which only writes
while nobody works on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

AGAIN = "trigate:again"
"""Tag of a flow run that the station began in the place of a dead one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """A flow run of a deployment, as the process that it is tells it."""

    flow_run: str
    until: datetime | None
    """When the night is to be done."""
    is_automatic: bool = False
    """Begun by the station, in the place of a dead one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Once that a run went on by itself."""

    flow_run: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tied:
    """What a run's story says."""

    flow_run: str | None
    """The newest flow run that works, worked or is to work on it; None when a person at a terminal has it, or had it last."""
    until: datetime | None
    resumes: tuple[Resume, ...]
    given_up: str | None
    """Why it does not go on by itself any more; None when that was not decided."""


def read(story: Mapping[str, Any]) -> Tied:
    """From a run's story."""
    flow = story.get("flow") or {}
    resumes = tuple(
        Resume(flow_run=each["flow_run"], at=datetime.fromisoformat(each["at"]), reason=each["reason"])
        for each in (story.get("resumes") or ()) if flow
    )  # fmt: skip
    until = flow.get("until")
    return Tied(
        flow_run=resumes[-1].flow_run if resumes else flow.get("id"),
        until=None if until is None else datetime.fromisoformat(until),
        resumes=resumes,
        given_up=story.get("given_up"),
    )


def opening_parts(story: Mapping[str, Any], tie: Tie | None) -> dict[str, Any]:
    """What to write when a process takes up a run: a person who does so begins the count anew, or ends it at a terminal."""
    anew: dict[str, Any] = {"resumes": [], "given_up": None}
    if tie is None:
        return {"flow": None, **anew} if story.get("flow") else {}
    flow = {"id": tie.flow_run, "until": None if tie.until is None else tie.until.isoformat()}
    mine = {"flow": flow, "flow_runs": sorted({*(story.get("flow_runs") or ()), tie.flow_run})}
    return mine if tie.is_automatic else {**mine, **(anew if story.get("flow") else {})}


def resume_parts(story: Mapping[str, Any], resume: Resume) -> dict[str, Any]:
    """What to write when a run is to go on by itself once more. Written twice it counts once."""
    before = [each for each in (story.get("resumes") or []) if each["flow_run"] != resume.flow_run]
    entry = {"flow_run": resume.flow_run, "at": resume.at.isoformat(), "reason": resume.reason}
    return {"resumes": [*before, entry]}


def flow_runs_of(story: Mapping[str, Any]) -> frozenset[str]:
    """All flow runs that ever worked on a run, or are to; what is none, in a story that nobody here wrote, is passed over."""
    flow_runs, resumes = story.get("flow_runs"), story.get("resumes")
    named = [*flow_runs] if isinstance(flow_runs, list) else []
    if isinstance(resumes, list):
        named += [each.get("flow_run") for each in resumes if isinstance(each, dict)]
    return frozenset(each for each in named if isinstance(each, str))
