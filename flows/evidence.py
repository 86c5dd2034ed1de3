"""Whether the flow runs that Prefect takes for living have a process, and since when they have none.

On this machine the kernel says so. A flow run whose worker is on another machine is judged by the lease of its run only; as long as it has
begun none, nothing is known. A generation belongs to the flow run that it is part of, and a run at a terminal to the lock of its run.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from flows.clock import now
from flows.forms import RUN_ID
from flows.processes import flow_processes
from flows.runlock import is_held
from flows.tidings import is_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from pathlib import Path

    from flows.api import Api

_ACTIVE = ["PENDING", "RUNNING", "CANCELLING"]
# A worker that was heard of so recently may have flows. Prefect hears of one every 30 s.
_WORKER_MEMORY = timedelta(minutes=10)
_LIMIT = 200
_RUN = re.compile(RUN_ID)


class Evidence:
    """Remembers since when each active flow run has been seen without a process.

    Args:
        home: The home folder.
        api: Prefect's server.
        pool: The work pool.
        worker: Name of the worker of this machine.
        clock: Seconds that only go up.
    """

    def __init__(
        self, home: Path, api: Api, *, pool: str, worker: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._home = home
        self._api = api
        self._pool = pool
        self._worker = worker
        self._clock = clock
        self._dead_since: dict[str, float] = {}
        self._parents: dict[str, str] = {}

    def collect(self, led: Callable[[str], bool | None]) -> tuple[tuple[dict[str, Any], float | None], ...] | None:
        """Active flow runs as the server tells them, each with the seconds for which it has been seen without a process.

        Args:
            led: Whether a process leads the run that a flow run is known to have; None where none is known.

        Returns:
            None when the server does not answer.
        """
        body = {"flow_runs": {"state": {"type": {"any_": _ACTIVE}}}, "limit": _LIMIT}
        answer = self._api.call("flow_runs/filter", body)
        if answer is None or not answer.is_good:
            return None
        # A parent that is not among the first of very many may be active all the same.
        is_whole = len(answer.body) < _LIMIT
        living = {process.flow_run for process in flow_processes()}
        active = {flow_run["id"] for flow_run in answer.body}
        elsewhere = self._has_others() if any(each["id"] not in living for each in answer.body) else False
        dead = {
            flow_run["id"]
            for flow_run in answer.body
            if self._is_dead(flow_run, living=living, active=active if is_whole else None, elsewhere=elsewhere, led=led)
        }
        at = self._clock()
        self._dead_since = {each: self._dead_since.get(each, at) for each in dead}
        self._parents = {child: parent for child, parent in self._parents.items() if child in active}
        return tuple(
            (flow_run, at - self._dead_since[flow_run["id"]] if flow_run["id"] in dead else None)
            for flow_run in answer.body
        )

    def _is_dead(
        self,
        flow_run: dict[str, Any],
        *,
        living: Container[str],
        active: Container[str] | None,
        elsewhere: bool,
        led: Callable[[str], bool | None],
    ) -> bool:
        identity = flow_run["id"]
        if identity in living:
            return False
        if flow_run["parent_task_run_id"] is not None:
            parent = self._parent(flow_run)
            return active is not None and parent is not None and parent not in active
        foreign = is_foreign(self._home, flow_run["tags"])
        if flow_run["deployment_id"] is None:
            run = flow_run["parameters"].get("run")
            # The server takes any text for a parameter; this one becomes part of a path.
            is_ours = not foreign and isinstance(run, str) and _RUN.fullmatch(run) is not None
            return is_ours and is_held(self._home / "runs" / run / "lock") is False
        is_led = led(identity)
        # Elsewhere a process may be there that has no run yet, or none any more.
        return is_led is False or (is_led is None and not elsewhere and not foreign)

    def _parent(self, flow_run: dict[str, Any]) -> str | None:
        """The flow run that another one is part of; None while the server does not know yet."""
        known = self._parents.get(flow_run["id"])
        if known is None:
            answer = self._api.call(f"task_runs/{flow_run['parent_task_run_id']}")
            if answer is None or not answer.is_good or not answer.body["flow_run_id"]:
                return None
            known = self._parents[flow_run["id"]] = str(answer.body["flow_run_id"])
        return known

    def _has_others(self) -> bool:
        """Whether a worker of another machine serves the pool. What is not known counts as yes."""
        answer = self._api.call(f"work_pools/{self._pool}/workers/filter", {})
        if answer is None or not answer.is_good:
            return True
        return any(each["name"] != self._worker and _is_recent(each.get("last_heartbeat_time")) for each in answer.body)


def _is_recent(text: str | None) -> bool:
    return text is not None and now() - datetime.fromisoformat(text) < _WORKER_MEMORY
