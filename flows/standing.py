"""What is known of the station of a home folder (``flows.station``): whether it is up, where it answers, how to sign in, how to end it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from flows.runlock import is_held

_STATE, _SECRET = "station.json", "auth"
LOCK = "station.lock"
"""Held by the process that watches while it lives."""


class Phase(Enum):
    """What the station is doing; the value is told to people."""

    SERVER = "Prefect's server is starting"
    DEPLOYMENTS = "deployments are being registered"
    WORKER = "the worker is starting"
    READY = "ready"
    FAILED = "failed"
    ENDING = "ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """What is known of a living station."""

    phase: Phase
    pid: int
    """Of the process that watches."""
    port: int
    server_pid: int | None = None
    worker_pid: int | None = None
    restarts: int = 0
    """How often a server or worker that had died was started again."""
    resumed: int = 0
    """How many flow runs were begun in the place of dead ones."""
    trouble: str = ""
    """What keeps it from starting the server again, or from looking after flows, at the moment."""
    reason: str = ""
    """Why it failed."""

    @property
    def api_url(self) -> str:
        """Where the server answers."""
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def ui_url(self) -> str:
        """Where a person watches."""
        return self.api_url.removesuffix("/api")


def find(home: Path) -> Station | None:
    """The station of a home folder; None when nobody holds its lock, whatever a file says."""
    if not is_up(home):
        return None
    return read_state(home)


def is_up(home: Path) -> bool:
    """Whether a process holds the station's lock."""
    return is_held(home / "prefect" / LOCK) is True


def read_state(home: Path) -> Station | None:
    """What the last station wrote; None when there is nothing readable."""
    try:
        stored = json.loads((home / "prefect" / _STATE).read_text(encoding="utf-8"))
        return Station(**stored | {"phase": Phase[stored["phase"]]})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def auth_file(home: Path) -> Path:
    """Holds what a browser or a client signs in with, like ``trigate:3f...``."""
    return home / "prefect" / _SECRET


def auth_string(home: Path) -> str:
    """The password of this home's server, made once.

    Raises:
        OSError: It cannot be read or written.
    """
    file = auth_file(home)
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as sink:
            sink.write(f"trigate:{secrets.token_hex(24)}\n")
    return file.read_text(encoding="ascii").strip()


def client_environment(home: Path, api_url: str) -> dict[str, str]:
    """What a client of the station's server needs in its environment."""
    return {
        "PREFECT_API_URL": api_url,
        "PREFECT_API_AUTH_STRING": auth_string(home),
        "PREFECT_HOME": str(home / "prefect"),
    }


def write_state(home: Path, station: Station) -> None:
    """Complete or not at all, for the owner only."""
    file = home / "prefect" / _STATE
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as sink:
        json.dump(asdict(station) | {"phase": station.phase.name}, sink)
    partial.replace(file)


def forget(home: Path) -> None:
    """Drop what an earlier station wrote."""
    with contextlib.suppress(FileNotFoundError):
        (home / "prefect" / _STATE).unlink()


def end(station: Station) -> bool:
    """Ask the process that watches to end; False when it is gone already."""
    try:
        handle = os.pidfd_open(station.pid)
    except OSError:
        return False
    try:
        command = Path(f"/proc/{station.pid}/cmdline").read_bytes()
        if b"flows.station" not in command:
            return False
        signal.pidfd_send_signal(handle, signal.SIGTERM)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
