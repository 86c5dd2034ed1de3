"""Retention: old runs lose their bulk in the store, on disk and in Prefect's history, and the database gives back the room.

Nothing that a later verdict counts on goes (``evolution.pruning``). Candidate files of pool entries stay.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evolution.candidate_files import CandidateFiles
from evolution.pruning import prunable, prune
from flows.api import find_api
from flows.runlock import is_held
from flows.tidings import is_foreign

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.pool import Pool
    from evolution.pruning import Prunable
    from flows.api import Api

_FLOWS = ("evolve", "generation", "review", "rescore", "refresh-data")
_ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would go."""

    runs: tuple[Prunable, ...]
    files: tuple[Path, ...]
    """Of candidates that never entered the pool, of these runs."""
    file_bytes: int
    flow_runs: int | None
    """In Prefect's history, with their tasks, logs and artifacts; None when no server answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What went."""

    runs: int
    files: int
    flow_runs: int | None
    store_before: int | None
    """Bytes of the database file; None for a server."""
    store_after: int | None
    note: str
    """Why the file did not shrink; empty when it did or there is none."""


def plan(home: Path, engine: Engine, pool: Pool, before: datetime) -> Plan:
    """What would go of runs that ended before a moment; nothing is touched."""
    runs = prunable(engine, before)
    files = tuple(file for run in runs for file in _files(home, pool, run.run_id))
    api = find_api(home)
    return Plan(
        runs=runs,
        files=files,
        file_bytes=sum(file.stat().st_size for file in files),
        flow_runs=None if api is None else _count(home, api, before),
    )


def carry_out(home: Path, engine: Engine, planned: Plan, *, before: datetime, at: datetime) -> Pruned:
    """Let go what was planned. Cut short, it is simply done again."""
    store = _store_file(engine)
    size = None if store is None else store.stat().st_size
    runs = sum(prune(engine, run.run_id, at) for run in planned.runs)
    for file in planned.files:
        file.unlink(missing_ok=True)
    api = find_api(home)
    note = "" if store is None else _shrink(home, engine, store)
    return Pruned(
        runs=runs,
        files=len(planned.files),
        flow_runs=None if api is None else _delete(home, api, before),
        store_before=size,
        store_after=None if store is None else store.stat().st_size,
        note=note,
    )


def working_runs(home: Path) -> tuple[str, ...]:
    """Runs that a process works on in this home, by id."""
    return tuple(sorted(lock.parent.name for lock in (home / "runs").glob("*/lock") if is_held(lock)))


def _files(home: Path, pool: Pool, run_id: str) -> Iterator[Path]:
    entered = {
        CandidateFiles(home).path(run_id, entry.candidate_id, entry.source.language)
        for entry in pool.list(run_id=run_id)
    }
    for file in sorted((home / "runs" / run_id / "candidates").glob("*")):
        if file.is_file() and not file.is_symlink() and file not in entered:
            yield file


def _store_file(engine: Engine) -> Path | None:
    from pathlib import Path  # noqa: PLC0415 - a type elsewhere

    return Path(str(engine.url.database)) if engine.dialect.name == "sqlite" else None


def _shrink(home: Path, engine: Engine, store: Path) -> str:
    """Rewrite the file without its holes. Needs it alone for a while, so not while a run works."""
    busy = working_runs(home)
    if busy:
        return f"run {busy[0]} is working, so the database keeps its size; prune again when it has ended"
    engine.dispose()
    connection = sqlite3.connect(store, timeout=30, isolation_level=None)
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        return f"the database keeps its size for now ({error}); prune again later"
    finally:
        connection.close()
    return ""


def _filter(before: datetime) -> dict[str, Any]:
    return {
        "flows": {"name": {"any_": list(_FLOWS)}},
        "flow_runs": {"end_time": {"before_": before.isoformat()}, "state": {"type": {"any_": list(_ENDED)}}},
    }


def _ours(home: Path, api: Api, before: datetime) -> list[str] | None:
    """Ids of flow runs that ended before a moment, without those of other stores on the same server; None when it does not answer."""
    found: list[str] = []
    offset = 0
    while True:
        page = {"limit": _PAGE, "offset": offset, "sort": "ID_DESC"}
        answer = api.call("flow_runs/filter", _filter(before) | page)
        if answer is None or not answer.is_good:
            return None
        if not answer.body:
            return found
        found += [run["id"] for run in answer.body if not is_foreign(home, run["tags"])]
        offset += len(answer.body)


def _count(home: Path, api: Api, before: datetime) -> int | None:
    ours = _ours(home, api, before)
    return None if ours is None else len(ours)


def _delete(home: Path, api: Api, before: datetime) -> int:
    """Flow runs with their tasks and artifacts; a server that stops answering leaves the rest for the next time."""
    ours = _ours(home, api, before) or []
    gone = 0
    for begin in range(0, len(ours), _PAGE):
        ids = ours[begin : begin + _PAGE]
        _delete_artifacts(api, ids)
        done = [api.call(f"flow_runs/{run}", method="DELETE") for run in ids]
        deleted = sum(each is not None and each.is_good for each in done)
        gone += deleted
        if not deleted:
            break
    return gone


def _delete_artifacts(api: Api, runs: list[str]) -> None:
    while True:
        answer = api.call("artifacts/filter", {"artifacts": {"flow_run_id": {"any_": runs}}, "limit": _PAGE})
        if answer is None or not answer.is_good or not answer.body:
            return
        done = [api.call(f"artifacts/{each['id']}", method="DELETE") for each in answer.body]
        if not any(each is not None and each.is_good for each in done):
            return
