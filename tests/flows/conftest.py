"""The command line as a user runs it: a process, a home, and one Prefect server for the whole session."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evolution.bench import CellBench
from evolution.candidate import Candidate, Provenance
from evolution.candidate_files import CandidateFiles
from evolution.evaluate import CageEvaluator, run_trial
from evolution.ledger import TrialLedger
from evolution.pool import Entered, Pool, admission_bars
from evolution.pool.runner import open_runner
from evolution.run import RunFacts
from evolution.seeds import document_sources, seed_sources
from flows.identity import config_hash
from flows.settings import Settings
from runtime.market import open_dataset
from runtime.model import Timeframe
from runtime.source import Language, StrategySource
from runtime.store import open_engine
from runtime.version import ENGINE_VERSION

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "evolution" / "seeds"


@dataclass
class Ended:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        """The one JSON document on stdout."""
        return json.loads(self.out)


@dataclass
class Trigate:
    """Runs ``trigate`` in processes of their own, with a home of their own."""

    home: Path
    environment: dict[str, str]

    def command(self, *words):
        return [sys.executable, "-m", "flows.cli", *map(str, words)]

    def run(self, *words, timeout=900, cwd=None, **environment) -> Ended:
        done = subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            cwd=cwd or self.home.parent,
            env=self.environment | environment,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *words, **environment) -> subprocess.Popen:
        return subprocess.Popen(
            self.command(*words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd=self.home.parent,
            env=self.environment | environment,
            # Shells start background jobs with SIGINT ignored, and a test run may be one.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - takes no lock
        )


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "TRIGATE"))}
    # The checkout that is under test, whichever one is installed.
    return kept | {"TRIGATE_HOME": str(home), "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="session")
def prefect_folder(tmp_path_factory):
    """Where the Prefect server of this worker keeps its database and its log."""
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture(scope="session")
def prefect_url(prefect_folder):
    """A Prefect server for all tests of this worker; started as a user would, in a folder of its own."""
    folder = prefect_folder
    (port,) = _free_ports(1)
    environment = _environment(folder) | {
        "PREFECT_HOME": str(folder),
        # Otherwise the UI asks port 4200, whoever listens there.
        "PREFECT_UI_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/api"
    try:
        _wait_for(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(120)


@pytest.fixture
def trigate(tmp_path):
    """The command with an empty home and no server."""
    return Trigate(tmp_path / "home", _environment(tmp_path / "home"))


@pytest.fixture(scope="session")
def night(tmp_path_factory, prefect_url):
    """One small night on real bars, shared by the tests that only look at what it left behind."""
    home = tmp_path_factory.mktemp("night") / "home"
    trigate = Trigate(
        home, _environment(home) | {"PREFECT_API_URL": prefect_url, "PREFECT_HOME": str(home / "prefect")}
    )
    ended = trigate.run("evolve", "--generations", 2, "--population", 8, "--seed", 11, "--json")
    assert ended.code == 0, ended.err
    return trigate, ended.document


@pytest.fixture
def with_server(trigate, prefect_url):
    """The command with an empty home and a running Prefect server."""
    trigate.environment["PREFECT_API_URL"] = prefect_url
    return trigate


def _now():
    return datetime(2026, 11, 30, 22, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def stocked(tmp_path_factory):
    """A home with one entry in its pool: a seed on the set with a planted edge, with the default settings."""
    return _stocked(tmp_path_factory.mktemp("stocked") / "home", "breakout", dict(seed_sources())["breakout"])


@pytest.fixture(scope="session")
def stocked_document(tmp_path_factory):
    """The same with a document, which also looks at bars of one week."""
    source = dict(document_sources(Timeframe(86_400)))["channel_breakout"]
    tree = json.loads(source.data)
    weeks = {"id": "weeks", "type": "MIN", "params": {"timeperiod": 3}, "timeframe": "1w", "source": "low"}
    tree["features"].append(weeks)
    above = {
        "left": {"kind": "price", "field": "close"},
        "operator": ">",
        "right": {"kind": "indicator", "id": "weeks"},
    }
    tree["signals"]["entry"][0]["all"].append(above)
    document = StrategySource(json.dumps(tree).encode(), Language.SIR)
    return _stocked(tmp_path_factory.mktemp("stocked-document") / "home", "channel_breakout", document)


def _stocked(home, name, source):
    settings = Settings()
    engine = open_engine(home)
    ledger, pool = TrialLedger(engine, now=_now), Pool(engine, now=_now)
    dataset, config = open_dataset("planted-edge", home), settings.run_config()
    facts = RunFacts(
        seed=1,
        plan={},
        dataset=dataset.name,
        dataset_sha256=dataset.sha256,
        config_hash=config_hash(settings),
        engine_version=ENGINE_VERSION,
    )
    candidate = Candidate(
        id="g000-c000",
        run_id=ledger.start_run(facts).id,
        generation=0,
        index=0,
        source=source,
        provenance=Provenance(operator=f"seed/{name}", parents=(), seed=None),
    )
    CandidateFiles(home).write(candidate)
    bench = CellBench.build(dataset.train_bars(), dataset.train_cells(), config)
    with open_runner(admission_bars(dataset)) as runner:
        trial = run_trial(candidate, CageEvaluator(cage=runner.cage, bench=bench), bench)
        ledger.add_trials([trial])
        verdict = pool.consider(trial, dataset=dataset, runner=runner, config=config)
    assert isinstance(verdict, Entered)
    engine.dispose()
    return home


@pytest.fixture
def house(trigate, stocked):
    shutil.copytree(stocked, trigate.home)
    return trigate


@pytest.fixture
def here(house, monkeypatch, capsys):
    """The same commands in this very process: quick, for what is not about processes."""
    from flows.cli import main

    for name in [name for name in os.environ if name.startswith(("PREFECT", "TRIGATE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRIGATE_HOME", str(house.home))
    monkeypatch.chdir(house.home.parent)

    def run(*words, **environment):
        with monkeypatch.context() as context:
            for name, value in environment.items():
                context.setenv(name, value)
            capsys.readouterr()
            code = main([str(word) for word in words])
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    house.run = run
    return house


def _free_ports(count):
    import socket

    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for(url, process):
    for _ in range(9_000):
        assert process.poll() is None, "the server ended while it started"
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not become healthy")
