"""Telling Prefect what was decided: an event that automations can hang on, and an end for reviews that wait for it.

Everything here may fail without harm: the decision stands in our own log, and a review that is not told finds out when it is resumed.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, Any

from sqlalchemy import make_url

from flows.api import find_api
from flows.clock import now
from flows.settings import database_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from evolution.pool import Decision, PoolEntry
    from flows.api import Api

REVIEW = "review"
"""Name of the flow that waits for people."""


_STORE = "trigate:store-"


def store_tag(home: Path) -> str:
    """Tag of the flow runs of this home's store: a server may serve several stores, and each of them has a p-0001."""
    url = database_url()
    place = f"sqlite {home.resolve()}" if url is None else make_url(url).render_as_string(hide_password=True)
    return f"{_STORE}{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def is_foreign(home: Path, tags: Iterable[str]) -> bool:
    """Whether a flow run with these tags works for other stores only."""
    stores = {tag for tag in tags if tag.startswith(_STORE)}
    return bool(stores) and store_tag(home) not in stores


def claim(home: Path, run: str | None, tags: Iterable[str]) -> None:
    """Tag a flow run with its store, so that whoever looks after another store on the same server leaves it alone.

    Args:
        home: The home folder.
        run: The flow run; None outside of one.
        tags: Those it has.
    """
    api = find_api(home)
    if api is not None and run is not None:
        api.call(f"flow_runs/{run}", {"tags": sorted({*tags, store_tag(home)})}, method="PATCH")


def tell_decision(home: Path, entry: PoolEntry, decision: Decision, *, but: str | None = None) -> int:
    """Tell the server of this home, if there is one, of a decision; the number of waiting reviews that ended by it.

    Args:
        home: The home folder.
        entry: As the decision leaves it.
        decision: As it stands in the log.
        but: Flow run that decided, and ends by itself.
    """
    api = find_api(home)
    if api is None:
        return 0
    _event(
        api,
        f"trigate.pool.{decision.kind.value.replace('_', '-')}",
        entry,
        {"by": decision.by, "number": decision.number},
    )
    state = {
        "type": "COMPLETED",
        "name": "Decided elsewhere",
        "message": f"{entry.id} is {entry.status.value}: decision {decision.number}, by {decision.by}",
    }
    answers = [
        api.call(f"flow_runs/{run}/set_state", {"state": state, "force": True})
        for run in _waiting(api, entry.id, store_tag(home))
        if run != but
    ]
    return sum(answer is not None and answer.is_good for answer in answers)


def has_artifact(home: Path, run: str | None, key: str) -> bool:
    """Whether a flow run has left an artifact already: one that was suspended begins anew each time."""
    api = find_api(home)
    if api is None or run is None:
        return False
    answer = api.call("artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run]}, "key": {"any_": [key]}}})
    return answer is not None and answer.is_good and bool(answer.body)


def _event(api: Api, name: str, entry: PoolEntry, payload: dict[str, Any]) -> None:
    event = {
        "id": str(uuid.uuid4()),
        "occurred": now().isoformat(),
        "event": name,
        "resource": {"prefect.resource.id": f"trigate.pool.{entry.id}", "trigate.entry": entry.id},
        "payload": payload | {"run": entry.run_id},
    }
    api.call("events", [event])


def _waiting(api: Api, entry_id: str, tag: str) -> Iterator[str]:
    """Reviews of an entry of a store that wait for somebody."""
    waiting = {"state": {"type": {"any_": ["PAUSED"]}}, "tags": {"all_": [tag]}}
    answer = api.call("flow_runs/filter", {"flows": {"name": {"any_": [REVIEW]}}, "flow_runs": waiting})
    if answer is None or not isinstance(answer.body, list):
        return
    for run in answer.body:
        if run.get("parameters") == {"request": {"entry": entry_id}}:
            yield run["id"]
