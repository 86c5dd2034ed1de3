"""The station: one Prefect server, one worker and the deployments, kept running for a home folder from ``trigate up`` to ``trigate down``.

A process of its own watches over both and starts them again when they die; its caretaker (``flows.caretaker``) sees to flows that died. It holds a kernel lock while it lives, so a process id that
is used again fools nobody; what it is doing stands in ``station.json``. Server and worker end with it, however it ends.

The server listens on this machine only and asks for a password, kept in a file that only its owner can read: other users of the machine
can reach the port. Started by ``flows.commands.up`` as ``python -m flows.station HOME PORT``.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows import prefect_database
from flows.api import Api
from flows.automations import add_automations
from flows.caretaker import Caretaker
from flows.commands.signing import PASSPHRASE
from flows.problems import Problem
from flows.processes import flow_processes
from flows.server import (
    START_TIMEOUT_S,
    clean_environment,
    folder_lock,
    is_healthy,
    launch_server,
    prefect_folder,
    quiet,
    with_parent,
)
from flows.standing import LOCK, Phase, Station, auth_string, client_environment, forget, write_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CHECKOUT = Path(__file__).parents[1]
POOL = "trigate"
# Prefect's own template lets whoever may start a run also choose its command, environment and folder. This one has no such places, so
# what is sent for them is dropped.
POOL_TEMPLATE = CHECKOUT / "work-pool.json"
# Long enough that a server that cannot start does not fill the disk with its log, short enough that a night survives.
_PAUSE_BEFORE_RESTART_S = 5.0
_ATTEMPTS = 5
# What the server forgets by itself: flow runs that ended 90 days ago with their tasks, logs and artifacts, and events after a week. The file
# keeps its size and is filled anew; trigate runs prune shortens it sooner.
_SERVER = {
    # In memory, as by default, a server that is started anew would not know whose place in a deployment is whose, and end the night.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(90 * 86_400),
}
# How often a flow's client asks a server that does not answer, each time after twice as long: eight and a half minutes in all.
_CLIENT_RETRIES = "8"
_TURN_S = 0.5
# For ending in order; after that the kernel ends them.
_GOODBYE_S = 30.0


class _FailureError(Exception):
    """The station cannot work; the sentence is for people."""


class _Watch:
    """The process that watches.

    Args:
        home: The home folder.
        port: Where the server listens.
    """

    def __init__(self, home: Path, port: int) -> None:
        self._home = home
        self._folder = home / "prefect"
        self._station = Station(phase=Phase.SERVER, pid=os.getpid(), port=port)
        self._server: subprocess.Popen[bytes] | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._caretaker: Caretaker | None = None
        self._is_ending = False

    def run(self) -> int:
        """Watch until told to end; the exit status."""
        lock = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 3  # another one was quicker, and is found by whoever started this
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end)
        try:
            self._tell(phase=Phase.SERVER)
            self._take_folder()
            self._start()
            while not self._is_ending:
                self._turn()
        except _FailureError as failure:
            self._stop()
            self._tell(phase=Phase.FAILED, reason=str(failure))
            return 3
        self._tell(phase=Phase.ENDING)
        self._stop()
        return 0

    def _take_folder(self) -> None:
        if folder_lock(self._folder) is None:
            raise _FailureError(
                "a run with a Prefect server of its own works in this home: wait for its end, or stop it"
            )

    def _end(self, *_: object) -> None:
        self._is_ending = True

    def _start(self) -> None:
        self._serve()
        self._tell(phase=Phase.DEPLOYMENTS)
        self._prefect(
            "work-pool", "create", "--type", "process", "--base-job-template", str(POOL_TEMPLATE), "--overwrite", POOL
        )
        self._prefect("--no-prompt", "deploy", "--all")
        if not self._is_ending:
            trouble = add_automations(Api(url=self._station.api_url, auth=auth_string(self._home)), CHECKOUT)
            if trouble is not None:
                raise _FailureError(trouble)
        self._tell(phase=Phase.WORKER)
        self._work()
        api = Api(url=self._station.api_url, auth=auth_string(self._home))
        self._caretaker = Caretaker(self._home, api, pool=POOL, worker=_worker_name(self._home))
        self._caretaker.start()
        self._tell(phase=Phase.READY)

    def _turn(self) -> None:
        """Start again what has died."""
        time.sleep(_TURN_S)
        care = self._caretaker
        if care is not None and (care.resumed, care.trouble) != (self._station.resumed, self._station.trouble):
            self._tell(resumed=care.resumed, trouble=care.trouble)
        for process, start in ((self._server, self._serve), (self._worker, self._work)):
            if process is not None and process.poll() is not None and not self._is_ending:
                self._again(start)
                self._tell(phase=Phase.READY, restarts=self._station.restarts + 1)

    def _again(self, start: Callable[[], None]) -> None:
        """Start a server or worker anew. A night may be under way that can wait, so a server that does not come up gets more chances."""
        for attempt in range(1, _ATTEMPTS + 1):
            self._pause(attempt * _PAUSE_BEFORE_RESTART_S)
            try:
                start()
            except _FailureError as failure:
                if attempt == _ATTEMPTS:
                    raise
                self._tell(trouble=f"{failure}; it is started again")
            else:
                return

    def _pause(self, pause_s: float) -> None:
        until = time.monotonic() + pause_s
        while time.monotonic() < until and not self._is_ending:
            time.sleep(0.1)

    def _serve(self) -> None:
        """Start the server and wait until it answers."""
        api_url = self._station.api_url
        extra = {
            "PREFECT_HOME": str(self._folder),
            "PREFECT_UI_API_URL": api_url,
            "PREFECT_SERVER_API_AUTH_STRING": auth_string(self._home),
            # The server's own services speak to its API, too.
            "PREFECT_API_AUTH_STRING": auth_string(self._home),
            **_SERVER,
            **self._database_environment(),
        }
        self._server = launch_server(self._station.port, self._folder / "server.log", extra)
        self._tell(server_pid=self._server.pid)
        began = time.monotonic()
        while not is_healthy(api_url) and not self._is_ending:
            if self._server.poll() is not None:
                raise _FailureError(
                    f"Prefect's server ended with status {self._server.returncode} while it started; see server.log"
                )
            if time.monotonic() - began > START_TIMEOUT_S:
                raise _FailureError(f"Prefect's server did not answer within {START_TIMEOUT_S:.0f} s; see server.log")
            time.sleep(0.1)

    def _database_environment(self) -> dict[str, str]:
        """Where the server keeps its history, when that is not in the home folder."""
        try:
            database = prefect_database.named()
        except Problem as problem:
            raise _FailureError(str(problem)) from None
        return {} if database is None else database.server_environment()

    def _prefect(self, *words: str) -> None:
        """One of Prefect's own commands, against our server, from the checkout."""
        if self._is_ending:
            return
        environment = clean_environment() | quiet() | client_environment(self._home, self._station.api_url)
        # Deployments name modules; the checkout that is deployed is the one that runs this.
        environment["PYTHONPATH"] = str(CHECKOUT)
        done = subprocess.run(  # noqa: S603 - our own interpreter, fixed arguments
            [sys.executable, "-m", "prefect", *words],
            cwd=CHECKOUT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            (self._folder / "deploy.log").write_text(done.stdout + done.stderr, encoding="utf-8")
            raise _FailureError(f"prefect {words[0]} ended with status {done.returncode}; see deploy.log")

    def _work(self) -> None:
        """Start the worker. It gets the environment of whoever typed ``trigate up``: keys of models, the home, the database."""
        if self._is_ending:
            return
        environment = (
            dict(os.environ)
            | quiet()
            | client_environment(self._home, self._station.api_url)
            | {"TRIGATE_HOME": str(self._home), "PREFECT_CLIENT_MAX_RETRIES": _CLIENT_RETRIES}
        )
        # What opens a person's key, or the server's database, is no business of a process that runs flows.
        for name in (PASSPHRASE, prefect_database.VARIABLE):
            environment.pop(name, None)
        words = ("worker", "start", "--pool", POOL, "--name", _worker_name(self._home))
        with (self._folder / "worker.log").open("ab") as log:
            self._worker = subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
                # Killed outright when the station is: a worker that ends in order ends its flows, and nobody has asked for that.
                with_parent("-m", "prefect", *words, signal_number=signal.SIGKILL),
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._tell(worker_pid=self._worker.pid)

    def _stop(self) -> None:
        """The worker and its flows first, while the server still listens. What a flow cannot write down any more is written here."""
        if self._caretaker is not None:
            self._caretaker.stop()
        _end_group(self._worker)
        _end_flows(self._home)
        if self._caretaker is not None:
            self._caretaker.write_off()
        _end_group(self._server)

    def _tell(self, **changes: Any) -> None:
        self._station = replace(self._station, **changes)
        write_state(self._home, self._station)


def _worker_name(home: Path) -> str:
    # With the home: another one on this machine may use the same server, and has a worker of its own.
    return f"{POOL}-{os.uname().nodename}-{hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:8]}"


def _end_group(process: subprocess.Popen[bytes] | None) -> None:
    """End a process and what it started, in order where they hear."""
    if process is None:
        return
    _signal_all(process, signal.SIGTERM)
    until = time.monotonic() + _GOODBYE_S
    while _signal_all(process, 0) and time.monotonic() < until:
        process.poll()  # what has ended is still there until somebody asks
        time.sleep(0.1)
    _signal_all(process, signal.SIGKILL)
    process.wait()


def _end_flows(home: Path) -> None:
    """End flows of a worker that was killed: they outlive it, and nobody else knows them."""
    until = time.monotonic() + _GOODBYE_S
    asked: set[int] = set()
    while left := {each.pid for each in flow_processes() if each.home == str(home)}:
        is_late = time.monotonic() > until
        for pid in left if is_late else left - asked:  # asked twice it would stop writing down that it ended
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        asked |= left
        time.sleep(0.2)


def _signal_all(leader: subprocess.Popen[bytes], number: int) -> bool:
    """Reach a process and all that it started; False when nobody is left."""
    try:
        os.killpg(leader.pid, number)
    except ProcessLookupError:
        return False
    return True


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def start(home: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the process that watches, detached from the terminal.

    Raises:
        EnvironmentProblem: Prefect's home folder cannot be made or written.
    """
    folder = prefect_folder(home)
    forget(home)
    with open(folder / "station.log", "wb", opener=_privately) as log:
        return subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
            [sys.executable, "-m", "flows.station", str(home), str(port)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def main(arguments: Sequence[str]) -> int:
    """``python -m flows.station HOME PORT``."""
    home, port = arguments
    os.umask(0o077)  # logs and databases of what is started here are for their owner
    return _Watch(Path(home), int(port)).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
