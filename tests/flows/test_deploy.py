"""``prefect deploy --all`` takes prefect.yaml as it is, without a git remote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_nightly_deployment_is_accepted_with_its_schedule(tmp_path, prefect_url):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    environment |= {"PREFECT_API_URL": prefect_url, "PREFECT_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}

    def prefect(*words):
        return subprocess.run(
            [sys.executable, "-m", "prefect", *words],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    assert prefect("work-pool", "create", "--type", "process", "trigate").returncode == 0
    done = prefect("deploy", "--all")
    assert done.returncode == 0, done.stdout + done.stderr
    with urllib.request.urlopen(f"{prefect_url}/deployments/name/evolve/evolve-nightly", timeout=30) as answer:
        deployment = json.load(answer)
    assert deployment["entrypoint"] == "flows.evolve.evolve"
    (schedule,) = deployment["schedules"]
    assert schedule["schedule"]["cron"]
    assert schedule["schedule"]["timezone"] == "America/New_York"
    assert set(deployment["parameters"]) == {"night"}
    assert deployment["parameters"]["night"]["deadline_minutes"] == 360
    assert deployment["enforce_parameter_schema"]
    with urllib.request.urlopen(f"{prefect_url}/deployments/name/rescore/rescore", timeout=60) as answer:
        deployment = json.load(answer)
    assert (deployment["entrypoint"], deployment["parameters"]) == ("flows.rescore.rescore", {})
