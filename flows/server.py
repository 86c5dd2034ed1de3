"""Prefect's server for a run: the one that the environment names, else one of our own that ends with us.

Prefect can start an ephemeral server by itself, but that one prints tracebacks into the user's terminal, inherits every
secret of the environment and gives up after its own timeout. Ours logs to a file, gets a clean environment, serves the
UI while the run lasts, and dies with its parent.

Everything here must happen before ``prefect`` is imported: it reads its settings once, at import.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows import standing
from flows.problems import EnvironmentProblem
from flows.settings import require_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

START_TIMEOUT_S = 600.0
"""The first start migrates a database: 10-20 s on a busy two-core machine; more than 180 s were seen on one with ten times too much to do."""

_SECOND = "second-run-"

_QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
    # Our own lines tell the user what happens; Prefect's go to its API, where the UI shows them.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}

_BATCHED = {
    # As it comes, the server writes each of a task's three events by itself: 37 ms of its time for a task that costs the client 5, and
    # 11 in batches. What a candidate came to is shown up to a second later, and a server that is killed forgets that second.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
}

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "VIRTUAL_ENV")
"""What a server of ours sees of the environment. An allow-list: keys of models must not reach it."""

# Asks the kernel to end the server when the process that started it dies, however it dies (PR_SET_PDEATHSIG = 1).
_DIE_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefectServer:
    """A server that answers."""

    api_url: str
    own: bool
    """Started by us for this run; False when the environment named it."""

    @property
    def ui_url(self) -> str:
        """Where a person watches."""
        return self.api_url.removesuffix("/api")


class PendingServer:
    """A server that is starting. ``wait`` for it as late as possible: it starts while data loads and cages open."""

    def __init__(self, api_url: str, *, process: subprocess.Popen[bytes] | None, log: Path | None) -> None:
        self.api_url = api_url
        self._process = process
        self._log = log

    @property
    def own(self) -> bool:
        """Started by us; False when the environment named it."""
        return self._process is not None

    def wait(self, tick: Callable[[float], None] = lambda _elapsed: None) -> PrefectServer:
        """Block until the server is healthy; ``tick`` gets the seconds waited so far.

        Raises:
            EnvironmentProblem: it does not answer, or ended.
        """
        begun = time.monotonic()
        limit = START_TIMEOUT_S if self._process else 10.0
        while not is_healthy(self.api_url):
            elapsed = time.monotonic() - begun
            if self._process is not None and self._process.poll() is not None:
                raise EnvironmentProblem(
                    f"Prefect's server ended with status {self._process.returncode} while it started; its log is {self._log}"
                )
            if elapsed > limit:
                raise EnvironmentProblem(self._silence(elapsed))
            tick(elapsed)
            time.sleep(0.1)
        return PrefectServer(api_url=self.api_url, own=self.own)

    def _silence(self, elapsed: float) -> str:
        if self._process is None:
            return f"Prefect's server {self.api_url} (PREFECT_API_URL) does not answer: start it, or unset the variable to run without one"
        return f"Prefect's server did not answer within {elapsed:.0f} s; its log is {self._log}"


def start_server(home: Path) -> PendingServer:
    """Begin to use the server that ``PREFECT_API_URL`` names, else the one of ``trigate up``, else start one of our own under ``home``.

    Sets the environment that ``import prefect`` reads.

    Raises:
        EnvironmentProblem: Prefect's home folder cannot be made or written.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    prefect_home = prefect_folder(home)
    named = os.environ.get("PREFECT_API_URL")
    if named:
        return PendingServer(named.rstrip("/"), process=None, log=None)
    kept = _station(home)
    if kept is not None:
        os.environ.update(kept)
        return PendingServer(kept["PREFECT_API_URL"], process=None, log=None)
    folder = _exclusive_folder(prefect_home)
    port = _free_port()
    api_url = f"http://127.0.0.1:{port}/api"
    os.environ["PREFECT_API_URL"] = api_url
    log = folder / "server.log"
    process = launch_server(port, log, {"PREFECT_HOME": str(folder), "PREFECT_UI_API_URL": api_url, **_QUIET})
    # Registered before prefect is imported, so it runs after prefect's own exit handlers have said goodbye to it.
    atexit.register(_stop, process)
    return PendingServer(api_url, process=process, log=log)


def _station(home: Path) -> dict[str, str] | None:
    """How to reach the server that ``trigate up`` keeps for this home; None when there is none."""
    found = standing.find(home)
    if found is None or found.phase is not standing.Phase.READY:
        return None
    return standing.client_environment(home, found.api_url)


def prefect_folder(home: Path) -> Path:
    """Prefect's home, made and writable.

    Raises:
        EnvironmentProblem: it is not.
    """
    folder = Path(os.environ.get("PREFECT_HOME") or home / "prefect").expanduser()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"Prefect's home {folder}: {(error.strerror or str(error)).lower()}; set PREFECT_HOME to a folder that you can write"
        ) from error
    require_writable(folder, "PREFECT_HOME")
    os.environ["PREFECT_HOME"] = str(folder)
    return folder


def _exclusive_folder(prefect_home: Path) -> Path:
    """Prefect's home, or a temporary one when another run's server works there: two servers on one SQLite file lock up.

    Temporary folders whose run was killed are cleared away. The locks are the kernel's: they end with their process, and their
    descriptors stay open, and so held, until this one ends.
    """
    with _alone(prefect_home):
        for left in prefect_home.glob(f"{_SECOND}*"):
            if folder_lock(left) is not None:
                shutil.rmtree(left, ignore_errors=True)
        if folder_lock(prefect_home) is not None:
            return prefect_home
        folder = tempfile.TemporaryDirectory(prefix=_SECOND, dir=prefect_home, ignore_cleanup_errors=True)
        folder_lock(Path(folder.name))
    atexit.register(folder.cleanup)
    return Path(folder.name)


@contextlib.contextmanager
def _alone(prefect_home: Path) -> Iterator[None]:
    """While folders are chosen and cleared away: one that was just made is not locked yet."""
    with (prefect_home / "folders.lock").open("w", encoding="utf-8") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield


def folder_lock(folder: Path) -> int | None:
    """Take a folder for this process; None when another one has it, or it is gone."""
    try:
        descriptor = os.open(folder / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def clean_environment() -> dict[str, str]:
    """What a server may see of ours."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def quiet() -> dict[str, str]:
    """Settings under which Prefect reports to nobody, asks nobody, and leaves our terminal alone."""
    return dict(_QUIET)


def kept_cheap() -> dict[str, str]:
    """``quiet``, and what makes a server of ours cost less than it would."""
    return _QUIET | _BATCHED


def with_parent(*words: str, signal_number: int = signal.SIGTERM) -> list[str]:
    """A command of our interpreter to which the kernel sends a signal when the process that started it dies, however it dies."""
    return [sys.executable, "-c", _DIE_WITH_PARENT, str(int(signal_number)), *words]


def launch_server(port: int, log: Path, extra: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a server on this machine's own address, with a clean environment."""
    command = with_parent("-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port))
    with log.open("wb") as sink:
        return subprocess.Popen(  # noqa: S603  (our own interpreter, fixed arguments)
            [*command, "--log-level", "WARNING"],
            env=clean_environment() | kept_cheap() | dict(extra),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is ours to handle; the server must outlive our last report
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)


def is_healthy(api_url: str) -> bool:
    """Whether a Prefect server answers there."""
    try:
        with urllib.request.urlopen(f"{api_url}/health", timeout=2) as answer:  # noqa: S310  (http(s) URL of the operator)
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
