"""``prefect deploy --all`` takes prefect.yaml as it is, without a git remote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from flows.api import Api
from flows.automations import add_automations

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
    for name, entrypoint, queue in (
        ("evolve/evolve-nightly", "flows.evolve.evolve", "default"),
        ("paper/paper", "flows.paper.paper", "default"),
        ("rescore/rescore", "flows.rescore.rescore", "default"),
        ("review/review", "flows.review.review", "vault"),
        ("refresh-data/refresh-data", "flows.refresh.refresh_data", "vault"),
    ):
        with urllib.request.urlopen(f"{prefect_url}/deployments/name/{name}", timeout=60) as answer:
            deployment = json.load(answer)
        assert (deployment["entrypoint"], deployment["work_queue_name"]) == (entrypoint, queue)
        assert deployment["enforce_parameter_schema"]
        _carries_names_only(prefect_url, deployment)
    _has_its_automation(prefect_url)


def _carries_names_only(prefect_url, deployment):
    """What is sent for endpoint, key, path, cage or database is refused before anything runs."""
    assert deployment["job_variables"] == {}
    url = f"{prefect_url}/deployments/{deployment['id']}/create_flow_run"
    asked = deployment["parameter_openapi_schema"]["properties"]
    if "run" in asked:
        for name in (
            "../x",
            "/etc/passwd",
            "A B",
            "postgresql://h/x",
            "http://10.0.0.1/",
            {"__prefect_kind": "json", "value": '"/x"'},
        ):
            assert _status(url, {"parameters": {"run": name}}) == 409, name
    for form, good in (("request", {"entry": "p-0001"}), ("sets", {"data": []}), ("night", {"data": "us-large-caps"})):
        if form not in asked:
            continue
        for smuggled in SMUGGLED:
            assert _status(url, {"parameters": {form: good | smuggled}}) == 409, smuggled
        if form == "night":
            for wrong in (
                {"data": "/etc/passwd"},
                {"profile": "http://10.0.0.1/"},
                {"profile": "../x"},
                {"resume": "../r-1"},
            ):
                assert _status(url, {"parameters": {form: wrong}}) == 409, wrong
            continue
        for name in ("../x", "/etc/passwd", "p-1", "A B", "postgresql://h/x", "http://10.0.0.1/"):
            wrong = {"entry": name} if form == "request" else {"data": [name]}
            expected = 201 if form == "sets" and name == "p-1" else 409
            assert _status(url, {"parameters": {form: wrong}}) == expected, name


SMUGGLED = (
    {"base_url": "http://10.0.0.1/"},
    {"key_env": "AWS_SECRET_ACCESS_KEY"},
    {"config": "/etc/passwd"},
    {"home": "/tmp"},
    {"cage": "reduced"},
    {"database": "postgresql://10.0.0.1/x"},
    {"dask": {"scheduler": "tcp://10.0.0.1:8786"}},
    {"scheduler": "tcp://10.0.0.1:8786"},
    {"decision": "promote"},
    {"by": "Ada"},
    {"passphrase": "correct horse"},
)


def _status(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def _has_its_automation(prefect_url):
    """Accepted by the server, off until somebody wants it, and not made twice."""
    api = Api(url=prefect_url, auth=None)
    assert add_automations(api, ROOT) is None
    assert add_automations(api, ROOT) is None
    (found,) = api.call("automations/filter", {}).body
    assert found["enabled"] is False
    assert found["trigger"]["expect"] == ["trigate.pool.admitted"]
    (action,) = found["actions"]
    deployment = api.call("deployments/name/review/review").body
    assert (action["type"], action["deployment_id"]) == ("run-deployment", deployment["id"])
