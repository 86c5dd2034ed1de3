"""``trigate up`` and ``trigate down``: a Prefect server, a worker and the deployments, kept running for this home."""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import Json
from flows.output import print_json
from flows.problems import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    import subprocess

    from flows.standing import Station
    from flows.watch import ConsoleWatch

DEFAULT_PORT = 4200
"""Where people expect Prefect."""
_PATIENCE_S = 600.0
"""The first start migrates a database and registers deployments: half a minute on a quiet machine, many times that on a loaded one."""
_GOODBYE_S = 120.0
_LEAST_ROOM = 32 * 2**20
"""Free bytes without which nothing is started: the server's database alone takes 5 MiB before its first run."""


def up(
    port: Annotated[
        int, typer.Option(min=1, max=65_535, help="Where the server listens, on this machine only.")
    ] = 4200,
    json: Json = False,
) -> int:
    """Start Prefect's server, a worker and the deployments of prefect.yaml, and leave them running."""
    from flows import prefect_database, standing
    from flows.settings import home_folder
    from flows.watch import ConsoleWatch

    home = home_folder()
    found = standing.find(home)
    if found is not None:
        if port not in {found.port, DEFAULT_PORT}:
            raise UsageProblem(f"--port {port}: it is up already, at {found.ui_url}; trigate down ends that one")
        return _say(found, home, json=json, is_new=False)
    _require_free(port)
    _require_room(home)
    _require_checkout()
    database = prefect_database.named()
    if database is not None:
        database.require()
    with ConsoleWatch(stderr=json) as watch:
        return _say(_started(home, port, watch), home, json=json, is_new=True)


def down(json: Json = False) -> int:
    """End the server and the worker that trigate up started; a run under way is stored and can be resumed."""
    from flows import standing
    from flows.settings import home_folder

    home = home_folder()
    found = standing.find(home)
    was_up = found is not None and standing.end(found)
    until = time.monotonic() + _GOODBYE_S
    while was_up and standing.is_up(home):
        if time.monotonic() > until:
            raise EnvironmentProblem(
                f"the server and worker of {home} did not end within {_GOODBYE_S:.0f} s; see {home}/prefect"
            )
        time.sleep(0.1)
    if json:
        print_json({"was_up": was_up})
    else:
        print("ended; what was stored stays stored" if was_up else "nothing is up")
    return 0


def surroundings(home: Path) -> dict[str, Any]:
    """For ``trigate doctor``: what runs."""
    from flows import standing
    from flows.server import is_healthy

    found = standing.find(home)
    if found is None:
        last = standing.read_state(home)
        failure = (
            f"; the last one failed: {last.reason}" if last is not None and last.phase is standing.Phase.FAILED else ""
        )
        return {"server": f"down; trigate up starts one{failure}", "worker": "down"}
    answers = is_healthy(found.api_url)
    return {
        "server": f"{found.phase.value}, {found.ui_url} {'answers' if answers else 'does not answer'}",
        "worker": "up" if found.worker_pid and _lives(found.worker_pid) else "down",
        "restarts": found.restarts,
        "went_on_by_themselves": found.resumed,
        **({"trouble": found.trouble} if found.trouble else {}),
    }


def _lives(pid: int) -> bool:
    """Whether a child of the station lives; the station reaps its children, so their ids are not used again while it does not know."""
    return Path(f"/proc/{pid}").exists()


def _require_free(port: int) -> None:
    if os.environ.get("PREFECT_API_URL"):
        raise UsageProblem(
            f"PREFECT_API_URL names a server already ({os.environ['PREFECT_API_URL']}): unset it to keep one here"
        )
    from flows.server import is_healthy

    with socket.socket() as probe:
        # As servers do: a port whose last user has just gone is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            what = (
                "a Prefect server that trigate up did not start answers there"
                if is_healthy(f"http://127.0.0.1:{port}/api")
                else (error.strerror or str(error)).lower()
            )
            raise EnvironmentProblem(
                f"port {port} of 127.0.0.1: {what}; stop what uses it, or choose another one with --port"
            ) from None


def _require_room(home: Path) -> None:
    free = shutil.disk_usage(home).free
    if free < _LEAST_ROOM:
        raise EnvironmentProblem(
            f"home folder {home}: {free / 2**20:.1f} MiB are free there, and a server and its runs need {_LEAST_ROOM / 2**20:.0f} at the "
            "least; free some, or set TRIGATE_HOME to a folder elsewhere"
        )


def _require_checkout() -> None:
    from flows.station import CHECKOUT

    if not (CHECKOUT / "prefect.yaml").is_file():
        raise EnvironmentProblem(
            f"{CHECKOUT} has no prefect.yaml: deployments are registered from a checkout; install it with pip install --editable"
        )


def _started(home: Path, port: int, watch: ConsoleWatch) -> Station:
    """Wait with progress until everything is ready."""
    from flows import standing, station

    process = station.start(home, port)
    began, told = time.monotonic(), None
    while True:
        state = standing.read_state(home)
        if state is not None and state.phase is standing.Phase.READY:
            return state
        if state is not None and state.phase is standing.Phase.FAILED:
            raise EnvironmentProblem(f"{state.reason} (in {home / 'prefect'})")
        if process.poll() is not None:
            raise EnvironmentProblem(_early_end(home, process))
        elapsed = time.monotonic() - began
        if elapsed > _PATIENCE_S:
            process.terminate()
            raise EnvironmentProblem(
                f"not ready within {_PATIENCE_S:.0f} s, so it was ended; its logs are in {home / 'prefect'}"
            )
        if state is not None:
            if state.phase is not told:
                watch.say(state.phase.value)
                told = state.phase
            watch.now(f"{state.phase.value} ({elapsed:.0f} s)")
        time.sleep(0.2)


def _early_end(home: Path, process: subprocess.Popen[bytes]) -> str:
    from flows import standing

    if standing.is_up(home):
        return "another trigate up was quicker; look again with trigate doctor"
    return f"it ended with status {process.returncode} while it started; its log is {home / 'prefect' / 'station.log'}"


def _say(found: Station, home: Path, *, json: bool, is_new: bool) -> int:
    from flows.standing import auth_file

    if json:
        print_json(
            {
                "ui": found.ui_url,
                "api": found.api_url,
                "auth_file": str(auth_file(home)),
                "phase": found.phase.value,
                "is_new": is_new,
            }
        )
        return 0
    print(f"{'up' if is_new else 'up already'}: {found.ui_url} ({found.phase.value})")
    print(f"a browser asks for a password: it is the line in {auth_file(home)}")
    print("end it: trigate down; look at it: trigate doctor; logs: " + str(home / "prefect"))
    return 0
