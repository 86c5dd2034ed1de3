"""``trigate doctor``: what this machine has, tried live."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.commands.options import Json
from flows.output import print_json, table

if TYPE_CHECKING:
    from evolution.run import RunRecord


# Runs that are looked at.
_NEWEST = 100


def doctor(json: Json = False) -> int:
    """Try each layer of the cage in a throwaway child, and look at the rest of the machine."""
    from runtime.cage import probe_layers

    layers = probe_layers()
    missing = [layer.name for layer in layers if layer.required and not layer.active]
    if json:
        print_json(
            {
                "layers": [
                    {"name": layer.name, "required": layer.required, "active": layer.active, "probe": layer.probe}
                    for layer in layers
                ],
                **_surroundings(),
            }
        )
    else:
        table("", ("layer", "required", "active", "probe"), [(x.name, x.required, x.active, x.probe) for x in layers])
        for name, value in _surroundings().items():
            told = ("yes" if value else "no") if isinstance(value, bool) else value
            print(f"{name.replace('_', ' ')}: {told}")
        print(f"missing: {', '.join(missing)}" if missing else "the full cage holds here")
    return 3 if missing else 0


def _surroundings() -> dict[str, Any]:
    """What else decides if a night can run."""
    from flows.commands.station import surroundings
    from flows.problems import Problem
    from flows.settings import home_folder

    try:
        home, is_writable = str(home_folder()), True
    except Problem as problem:
        home, is_writable = str(problem), False
    running = surroundings(Path(home)) if is_writable else {}
    database = _database(Path(home)) if is_writable else "none without a home"
    return {
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}, kernel {platform.release()}",
        "home": home,
        "home_writable": is_writable,
        "database": database,
        **running,
        **(_cut_short(Path(home)) if is_writable else {}),
        **(_sizes(Path(home)) if is_writable else {}),
    }


def _cut_short(home: Path) -> dict[str, Any]:
    """Runs that nobody works on although they are not over, each with what happens to it."""
    from evolution.ledger import TrialLedger
    from evolution.report import resume_command
    from evolution.run import RunStatus
    from evolution.story import given_up
    from flows.clock import now
    from flows.leading import is_cut_short
    from flows.opening import engine
    from flows.problems import Problem
    from flows.settings import database_url
    from runtime.store import DATABASE_FILE, StoreError

    if database_url() is None and not (home / DATABASE_FILE).is_file():
        return {}
    try:
        opened = engine(home)
        records = TrialLedger(opened, now=now).records(limit=_NEWEST)
        left = [each for each in records if each.status is RunStatus.RUNNING and is_cut_short(opened, home, each)]
        opened.dispose()
    except (Problem, StoreError):
        return {}  # told as the database's own line
    said = {record.id: given_up(record.story) or _outlook(record) for record in left}
    return {"cut_short": {run: f"{why}; {resume_command(run)}" for run, why in said.items()}} if said else {}


def _outlook(record: RunRecord) -> str:
    """What becomes of a run that was cut short."""
    return "it goes on by itself while trigate up runs" if record.story.get("flow") else "it waits for a person"


def _sizes(home: Path) -> dict[str, str]:
    """What is kept, and what room is left for more."""
    import shutil

    from flows.commands.store import in_mib
    from runtime.store import DATABASE_FILE

    def size(*files: Path) -> str:
        return in_mib(sum(file.stat().st_size for file in files if file.is_file()))

    store, history = home / DATABASE_FILE, home / "prefect" / "prefect.db"
    return {
        "store": size(store, store.with_name(f"{store.name}-wal")),
        "prefect_history": size(history, history.with_name(f"{history.name}-wal")),
        "free": in_mib(shutil.disk_usage(home).free),
    }


def _database(home: Path) -> str:
    """Which database is used, and whether it can be; a password is never shown."""
    from flows.opening import engine
    from flows.problems import Problem
    from flows.settings import database_url

    if database_url() is None:
        return "SQLite in the home folder"
    try:
        opened = engine(home)
    except Problem as problem:
        return str(problem)
    url = opened.url.render_as_string(hide_password=True)
    opened.dispose()
    return f"{url} answers"
