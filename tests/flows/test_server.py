"""The server of our own: clean environment, gone when its parent is gone, and never two on one folder."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows import server
from flows.problems import EnvironmentProblem

SCRIPT = """
import sys
from pathlib import Path
from flows.server import start_server
running = start_server(Path(sys.argv[1])).wait()
print(running.api_url, running.own, flush=True)
sys.stdin.read()
"""


def start(home, **environment):
    import os

    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    kept |= {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=kept | environment,
    )


def children_of(pid):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.slow
def test_a_server_of_ours_sees_no_secret_and_dies_with_its_parent(tmp_path):
    process = start(tmp_path, MY_MODEL_KEY="sk-canary-1")
    line = process.stdout.readline().split()
    assert line[1] == "True", process.stderr.read()
    (child,) = children_of(process.pid)
    environment = Path(f"/proc/{child}/environ").read_bytes()
    assert b"canary" not in environment
    assert b"PREFECT_SERVER_ANALYTICS_ENABLED=false" in environment
    process.kill()
    process.communicate()
    for _ in range(1_200):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{child}").exists()


def test_a_server_of_ours_writes_what_it_hears_of_tasks_in_batches(tmp_path):
    """One by one, as it comes, three events for each candidate cost it more time than the candidates take. Asked of Prefect
    itself, since a name that it does not know would be passed over in silence."""
    script = tmp_path / "prefect_settings.py"
    script.write_text(
        "from prefect.settings import get_current_settings\n"
        "services = get_current_settings().server.services\n"
        "recorder, persister = services.task_run_recorder, services.event_persister\n"
        "print(recorder.batch_size, recorder.flush_interval, persister.batch_size)\n"
    )
    environment = server.clean_environment() | server.kept_cheap() | {"PREFECT_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True)
    assert [float(word) for word in done.stdout.split()] == [200, 1, 200]


def test_a_named_server_is_used_and_nothing_is_started(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api/")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    pending = server.start_server(tmp_path)
    assert pending.api_url == "http://127.0.0.1:9/api"
    monkeypatch.setattr(server, "is_healthy", lambda _url: True)
    assert not pending.wait().own


def test_a_server_that_ends_while_it_starts_is_told_with_its_log(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(4)"])
    process.wait()
    pending = server.PendingServer("http://127.0.0.1:9/api", process=process, log=tmp_path / "server.log")
    with pytest.raises(EnvironmentProblem, match=r"status 4.*server\.log"):
        pending.wait()


def test_only_one_run_at_a_time_works_in_prefects_own_folder(tmp_path):
    first = server._exclusive_folder(tmp_path)
    second = server._exclusive_folder(tmp_path)
    assert first == tmp_path
    assert second != tmp_path
    assert second.parent == tmp_path


SECOND = """
import sys
from pathlib import Path
from flows.server import _exclusive_folder
print(_exclusive_folder(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def test_what_a_killed_second_run_left_behind_is_cleared_away_and_a_living_one_keeps_its_folder(tmp_path):
    first = server._exclusive_folder(tmp_path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SECOND, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(2)
    ]
    killed, living = (Path(process.stdout.readline().strip()) for process in processes)
    assert killed.is_dir()
    assert killed != living != first
    processes[0].kill()
    processes[0].communicate()
    assert killed.is_dir()
    server._exclusive_folder(tmp_path)
    assert not killed.exists()
    assert living.is_dir()
    processes[1].communicate("")
    assert not living.exists()
