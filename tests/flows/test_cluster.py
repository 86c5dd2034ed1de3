"""Candidates on a Dask cluster: the same night as in threads, behind TLS or on this machine, and nothing but train goes there."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from evolution.candidate import Candidate, Provenance
from evolution.ledger import TrialLedger
from evolution.trial import Trial, TrialOutcome
from flows.cluster import Cluster
from flows.dask_section import DaskSection
from flows.problems import UsageProblem
from flows.settings import load_settings
from runtime.source import StrategySource
from runtime.store import open_engine

HERE = Path(__file__).parent
PATIENCE_S = 600
needs_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="Dask is not installed; it comes with the extra dev"
)


def settings_with(folder, text):
    (folder / "trigate.toml").write_text(text)
    return load_settings(folder / "trigate.toml", folder)


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.1:8786",
        "tcp://192.168.1.4:8786",
        "tcp://[2001:db8::1]:8786",
        "tcp://scheduler.example:8786",
        "tcp://localhost.evil.example:8786",
        "tcp://0.0.0.0:8786",
    ],
)
def test_who_is_neither_here_nor_behind_tls_is_refused_in_one_sentence(tmp_path, address):
    with pytest.raises(UsageProblem, match="not encrypted, and whoever reaches it runs code here and there") as refused:
        settings_with(tmp_path, f'[dask]\nscheduler = "{address}"\n')
    assert "\n" not in str(refused.value)
    assert address in str(refused.value)
    assert "tls://" in str(refused.value)


@pytest.mark.parametrize(
    "address", ["8786", "scheduler", "http://127.0.0.1:8786", "ucx://10.0.0.1:1", "tcp://127.0.0.1", "tls://a:b@h:1x"]
)
def test_what_is_no_schedulers_address_is_refused(tmp_path, address):
    with pytest.raises(UsageProblem, match="is no address like tls://host:8786"):
        settings_with(tmp_path, f'[dask]\nscheduler = "{address}"\n')


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://127.8.0.1:1", "tcp://[::1]:8786", "tcp://localhost:8786"]
)
def test_this_machine_needs_no_certificate(tmp_path, address):
    assert settings_with(tmp_path, f'[dask]\nscheduler = "{address}"\n').dask == DaskSection(scheduler=address)


def test_tls_goes_anywhere_with_a_certificate_on_both_sides(tmp_path):
    files = {name: tmp_path / f"{name}.pem" for name in ("ca_file", "cert_file", "key_file")}
    text = '[dask]\nscheduler = "tls://scheduler.example:8786"\n' + "".join(
        f'{name} = "{file}"\n' for name, file in files.items()
    )
    with pytest.raises(UsageProblem, match="there is no file for ca_file, cert_file, key_file"):
        settings_with(tmp_path, text)
    for file in files.values():
        file.write_text("-")
    assert settings_with(tmp_path, text).dask.is_encrypted


class DaskCluster:
    """Workers with an empty home, on this machine, behind TLS."""

    def __init__(self, home, pem, environment):
        command = [sys.executable, HERE / "dask_cluster.py", home, pem]
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("tls://127.0.0.1:"), self.process.wait(PATIENCE_S)

    def kill_a_worker(self):
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


def trials(home):
    """All that a run came to, but for its name and the seconds."""
    ledger = TrialLedger(open_engine(home), now=lambda: datetime.now(UTC))
    (listing,) = ledger.runs()
    return [
        (
            each.candidate.id,
            each.candidate.source.sha256,
            each.outcome,
            each.reason,
            each.scorecard,
            each.behaviour,
            each.probe,
        )
        for each in ledger.trials(listing.record.id)
    ]


@needs_dask
@pytest.mark.slow
def test_a_night_on_workers_is_the_night_in_threads_also_when_one_dies(tmp_path, trigate):
    def night(name, toml=""):
        home = tmp_path / name
        home.mkdir()
        (home / "trigate.toml").write_text(toml)
        process = subprocess.Popen(
            [sys.executable, HERE / "plain_night.py"],
            env=trigate.environment | {"TRIGATE_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return home, process

    def ends(started):
        home, process = started
        _, err = process.communicate(timeout=PATIENCE_S)
        return home, process.returncode, err

    home, code, err = ends(night("threads"))
    assert code == 0, err
    undisturbed = trials(home)

    there = tmp_path / "workers"
    pem = tmp_path / "cluster.pem"
    cluster = DaskCluster(there, pem, trigate.environment)
    try:
        files = "".join(f'{name} = "{pem}"\n' for name in ("ca_file", "cert_file", "key_file"))
        section = f'[dask]\nscheduler = "{cluster.address}"\n{files}'
        started = night("dask", section)
        assert started[1].stdout.readline().startswith("r-")
        cluster.kill_a_worker()
        home, code, err = ends(started)
        assert (code, err) == (0, "")
        assert trials(home) == undisturbed
        # A worker holds no bars but those in its memory, and no store.
        assert [path for path in there.rglob("*") if path.is_file()] == []
        _, code, err = ends(night("other", f"{section}[run]\nfee_bps = 5\n"))
        assert code != 0
        assert "its configuration is" in err
        assert "give both machines the same [run] and [limits]" in err
    finally:
        cluster.close()


@needs_dask
@pytest.mark.parametrize("is_listening", [True, False])
def test_where_no_scheduler_answers_is_told_in_one_sentence(monkeypatch, is_listening):
    from flows import cluster
    from flows.problems import EnvironmentProblem

    monkeypatch.setattr(cluster, "_CONNECT_S", 1.0)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        if is_listening:
            mute.listen()
        section = DaskSection(scheduler=f"tcp://127.0.0.1:{mute.getsockname()[1]}")
        with pytest.raises(EnvironmentProblem, match="nobody answers there"):
            cluster._connected(section)


class Answering:
    """As much of Dask's client as an attempt uses: every candidate gets the same answer."""

    def __init__(self, answer):
        self._answer = answer

    def submit(self, *_arguments, **_options):
        return self

    def done(self):
        return True

    def result(self, timeout=None):
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class Told:
    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


@pytest.mark.parametrize("kind", ["text", "nothing", "another candidate's", "no pickle", "too large"])
def test_what_a_worker_should_not_have_answered_is_tried_here(kind):
    """A result goes into the store under the candidate that was asked for, so it has to be that one's."""
    pytest.importorskip("distributed")
    seed = Provenance(operator="seed/x", parents=(), seed=None)
    asked, other = (
        Candidate(
            id=f"g000-c00{index}",
            run_id="r-1",
            generation=0,
            index=index,
            source=StrategySource.from_text(f"# {index}\n"),
            provenance=seed,
        )
        for index in (1, 2)
    )
    wrong = Trial(candidate=other, outcome=TrialOutcome.REJECTED, reason="theirs")
    right = Trial(candidate=asked, outcome=TrialOutcome.REJECTED, reason="ours")
    answer = {
        "text": "x", "nothing": None, "another candidate's": wrong, "no pickle": pickle.UnpicklingError(), "too large": MemoryError(),
    }[kind]  # fmt: skip
    told = Told()
    cluster = Cluster(Answering(answer), "r-1", told, at_once_here=1)
    assert cluster.attempt(asked, None, lambda: right, threading.Event()) is right
    assert len(told.lines) == 1
    assert told.lines[0].endswith("tried here instead")
    assert Cluster(Answering(right), "r-1", told, at_once_here=1).attempt(asked, None, None, threading.Event()) is right
