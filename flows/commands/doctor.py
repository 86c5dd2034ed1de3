"""``trigate doctor``: what this machine has, tried live."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from flows.commands.options import Json
from flows.output import print_json, table


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
            print(f"{name}: {value}")
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
        **(_sizes(Path(home)) if is_writable else {}),
    }


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
