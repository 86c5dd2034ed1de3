"""The caretaker of a station: finds flow runs whose process is gone, marks them, and lets their nights go on in new flow runs.

It looks every few seconds from a thread of its own, decides by ``flows.survival``, and can be killed at any moment: the successor of a
dead flow run is asked for under a key made of both ids, so whoever asks again, or at the same time, gets the same one. Two processes
that took up one run all the same would meet at its lock.
"""

from __future__ import annotations

import threading
import traceback
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evolution.ledger import TrialLedger
from evolution.run import RunStatus
from flows import leading, opening, ties
from flows.clock import now
from flows.evidence import Evidence
from flows.forms import NightForm
from flows.problems import Problem
from flows.survival import (
    RULES,
    FlowSeen,
    FlowState,
    GiveUp,
    GoOn,
    Rules,
    RunSeen,
    judge_flow,
    judge_run,
    judge_unbegun,
    state_of,
)
from flows.tidings import is_foreign
from flows.ties import AGAIN, Resume
from runtime.store import StoreError, impatient

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.run import RunRecord
    from flows.api import Api
    from flows.ties import Tied

NIGHT_FLOW = "evolve"
_EVERY_S = 3.0
# Runs that are looked at.
_NEWEST = 100
# For a look under way to end.
_PATIENCE_S = 60.0
_CREATED = 201


class Caretaker:
    """Looks after the flow runs of one server and the runs of one home.

    Args:
        home: The home folder.
        api: Prefect's server.
        pool: The work pool.
        worker: Name of the worker of this machine.
        rules: How patient to be.
    """

    def __init__(self, home: Path, api: Api, *, pool: str, worker: str, rules: Rules = RULES) -> None:
        self._home = home
        self._api = api
        self._rules = rules
        self._evidence = Evidence(home, api, pool=pool, worker=worker)
        self._since = now()
        self._engine: Engine | None = None
        self._succeeded: set[str] = set()
        self._refusal = ""
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="caretaker", daemon=True)
        self.resumed = 0
        """How many flow runs it has begun in the place of dead ones."""
        self.trouble = ""
        """What keeps it from looking at the moment; empty when nothing does."""

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more. Nothing is begun once this has returned."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_S)

    def write_off(self) -> None:
        """Write down that the runs of flows that have just been ended in order were stopped: they wait for a person."""
        try:
            ledger = self._ledger()
            for record in ledger.records(limit=_NEWEST):
                if record.status is RunStatus.RUNNING and record.story.get("flow") and not self._is_led(record):
                    ledger.finish_run(record.id, RunStatus.INTERRUPTED)
        except (Problem, StoreError):
            return  # it shows as cut short, which is true as well

    def _watch(self) -> None:
        while not self._is_over.wait(_EVERY_S):
            try:
                self.look()
                self.trouble = self._refusal
            except (Problem, StoreError) as error:
                self.trouble = str(error)
            except Exception as error:  # noqa: BLE001 - the thread's boundary: one that ended would be missed at night
                self.trouble = f"it cannot look after flows: {type(error).__name__}, see station.log"
                traceback.print_exc()

    def look(self) -> None:
        """Look once: mark what is dead, then see to the runs.

        Raises:
            StoreError, Problem: the store cannot be used now.
        """
        self._refusal = ""
        ledger = self._ledger()
        records = ledger.records(limit=_NEWEST)
        if not self._mark_dead(records):
            return  # the server does not answer; what it does not say is not known
        for record in records:
            if record.status is RunStatus.RUNNING and not self._is_over.is_set():
                try:
                    self._see_to(ledger, record)
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    # One story, or one flow run's parameters, that nobody here wrote must not cost the others their night.
                    self._refusal = (
                        f"run {record.id} cannot be looked after: {type(error).__name__} in what is stored of it"
                    )
        if not self._is_over.is_set():
            self._begin_again(records)

    def _mark_dead(self, records: Iterable[RunRecord]) -> bool:
        """Give dead flow runs the state that they are in; False when the server does not answer."""
        owned = {flow_run: record for record in records for flow_run in ties.flow_runs_of(record.story)}

        def is_led(flow_run: str) -> bool | None:
            record = owned.get(flow_run)
            return None if record is None or record.status is not RunStatus.RUNNING else self._is_led(record)

        seen = self._evidence.collect(is_led)
        if seen is None:
            return False
        for flow_run, dead_s in seen:
            flow = FlowSeen(state=state_of(flow_run["state_type"]), dead_s=dead_s)
            mark = judge_flow(flow, self._rules)
            if mark is not None and not self._is_over.is_set():
                state = {"type": mark.state.name, "name": mark.state.value.capitalize(), "message": mark.reason}
                # Not by force: one that ended meanwhile keeps its end, and the deployment's place is given back.
                self._api.call(f"flow_runs/{flow_run['id']}/set_state", {"state": state, "force": False})
        return True

    def _see_to(self, ledger: TrialLedger, record: RunRecord) -> None:
        tied = ties.read(record.story)
        if tied.flow_run is None or tied.given_up is not None or self._is_led(record):
            return
        found = self._api.call(f"flow_runs/{tied.flow_run}")
        if found is None or not found.is_good:
            return  # of another server, or pruned
        run = RunSeen(status=record.status, is_led=False, resumes=len(tied.resumes), until=tied.until)
        match judge_run(run, _seen(found.body), now(), self._rules):
            case GiveUp(reason=reason):
                ledger.tell(record.id, given_up=reason)
            case GoOn(reason=reason):
                self._go_on(ledger, record, tied, found.body, reason)
            case None:
                pass

    def _go_on(self, ledger: TrialLedger, record: RunRecord, tied: Tied, dead: dict[str, Any], reason: str) -> None:
        until = None if tied.until is None else tied.until.isoformat()
        night = {
            **(_night(dead) or {}),  # its own sizes are in the store
            "resume": record.id,
            "deadline_minutes": None,
            "until": until,
        }
        successor = self._succeed(dead, night)
        if successor is not None:
            resume = Resume(flow_run=successor, at=now(), reason=reason)
            ledger.tell(record.id, **ties.resume_parts(record.story, resume))

    def _begin_again(self, records: tuple[RunRecord, ...]) -> None:
        """Nights whose flow run died before it had a run in the store."""
        crashed = self._api.call(
            "flow_runs/filter",
            {
                "flows": {"name": {"any_": [NIGHT_FLOW]}},
                "flow_runs": {"state": {"type": {"any_": [FlowState.CRASHED.name]}}},
                "sort": "START_TIME_DESC",
                "limit": 20,
            },
        )
        known = {flow_run for record in records for flow_run in ties.flow_runs_of(record.story)}
        for dead in crashed.body if crashed is not None and crashed.is_good else ():
            night = _night(dead)
            flow = _seen(dead)
            if night is None or is_foreign(self._home, dead["tags"]):
                continue
            is_ours = dead["deployment_id"] is not None and flow.died_s < (now() - self._since).total_seconds()
            if not is_ours or dead["id"] in known | self._succeeded or night.get("resume"):
                continue
            until = _deadline(dead, night)
            if judge_unbegun(flow, is_second=AGAIN in dead["tags"], until=until, now=now()) is not None:
                told = None if until is None else until.isoformat()
                if self._succeed(dead, {**night, "deadline_minutes": None, "until": told}) is not None:
                    self._succeeded.add(dead["id"])

    def _succeed(self, dead: dict[str, Any], night: dict[str, Any]) -> str | None:
        """Begin a flow run in the place of a dead one; its id, None when the server does not take it now."""
        if self._is_over.is_set():
            return None
        body = {
            "parameters": {"night": night},
            "tags": sorted({*dead["tags"], AGAIN}),
            "idempotency_key": f"{AGAIN}/{night.get('resume') or 'anew'}/{dead['id']}",
        }
        answer = self._api.call(f"deployments/{dead['deployment_id']}/create_flow_run", body)
        if answer is None or not answer.is_good:
            if answer is not None:
                self._refusal = (
                    f"flow run {dead['id']} gets no successor: the server refuses it with status {answer.status}"
                )
            return None
        if answer.status == _CREATED:
            self.resumed += 1
        return str(answer.body["id"])

    def _is_led(self, record: RunRecord) -> bool:
        return leading.is_led(self._opened(), self._home, record.id)

    def _ledger(self) -> TrialLedger:
        return TrialLedger(self._opened(), now=now)

    def _opened(self) -> Engine:
        if self._engine is None:
            self._engine = impatient(opening.engine(self._home))
        return self._engine


def _seen(flow_run: dict[str, Any]) -> FlowSeen:
    state = flow_run["state"] or {}
    since = datetime.fromisoformat(state["timestamp"]) if state.get("timestamp") else now()
    return FlowSeen(
        state=state_of(flow_run["state_type"]),
        dead_s=None,
        died_s=(now() - since).total_seconds(),
        message=state.get("message") or "",
    )


def _night(flow_run: dict[str, Any]) -> dict[str, Any] | None:
    """What a flow run was asked for; None when that is no night, as whoever may start flow runs can write there."""
    night = (flow_run["parameters"] or {}).get("night") or {}
    try:
        NightForm.model_validate(night)
    except ValidationError:
        return None
    return dict(night)


def _deadline(flow_run: dict[str, Any], night: dict[str, Any]) -> datetime | None:
    """When a night that never began was to be done."""
    named = [datetime.fromisoformat(night["until"])] if night.get("until") else []
    began = flow_run["start_time"] or flow_run["expected_start_time"]
    if night.get("deadline_minutes") and began:
        named.append(datetime.fromisoformat(began) + timedelta(minutes=night["deadline_minutes"]))
    return min(named, default=None)
