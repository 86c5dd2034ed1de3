"""What whoever may start flow runs can send: for every deployment of prefect.yaml, every parameter and every job variable."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from pathlib import Path

import pytest
import yaml
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.workers.process import ProcessJobConfiguration

from flows.station import POOL_TEMPLATE

ROOT = Path(__file__).parents[2]
FLOWS = {
    each["name"]: each["entrypoint"]
    for each in yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
}
GOOD = {"request": {"entry": "p-0001"}, "night": {}, "sets": {}, "run": "t-1"}

# The server passes all of these on when it is told not to hold a run to its form, which whoever starts one may tell it.
TEXTS = (
    "../x", "/etc/passwd", "a/b", "a\\b", "~/x", "C:x/", "a\0b", "a\nb", "p-0001\n", "t-1\n", "r-1\n", "us-large-caps\n", " p-0001", "\u202eabc",
    "\x1b[31m", "{{ flow_run.id }}", "{{ prefect.blocks.secret.x }}", "{% x %}", "$ref", "${HOME}", "$(id)", "%(x)s", "{0.__class__}",
    "postgresql://h/x", "http://10.0.0.1", "tcp://10.0.0.1:8786", "file:///etc/passwd", "x" * 100_000, "", "\ud800",
)  # fmt: skip
VALUES = (
    float("nan"), float("inf"), 1e308, 10**4_000, {}, {"x": 1}, [["x"]], ["a/b"], ["x"] * 1_000, {"$ref": "x"},
    {"__prefect_kind": "jinja", "template": "{{ 1 }}"}, {"__prefect_kind": "workspace_variable", "variable_name": "x"},
    {"__prefect_kind": "json", "value": '"x"'},
)  # fmt: skip
# A whole number of any size is a seed.
ALLOWED = {"night.seed": (10**4_000,)}
UNKNOWN = (
    "base_url", "endpoint", "key_env", "api_key", "config", "home", "path", "file", "cage", "mode", "database", "url", "dask", "scheduler",
    "decision", "by", "reason", "code", "passphrase", "command", "env", "working_dir", "vault", "guards", "venue", "feed",
    "__class__", "model_config", "__pydantic_extra__",
)  # fmt: skip


def flow_of(name):
    module, _, attribute = FLOWS[name].rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def fields():
    """Deployment, parameter and field of each place where something can be sent; field None for a parameter that has none."""
    for name in FLOWS:
        schema = flow_of(name).parameters.model_dump()
        for parameter, described in schema["properties"].items():
            reference = described.get("$ref") or next((each["$ref"] for each in described.get("allOf", ())), None)
            inner = schema["definitions"][reference.rpartition("/")[2]]["properties"] if reference else [None]
            for field in inner:
                yield pytest.param(name, parameter, field, id=f"{name}-{parameter}-{field}")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Prefect logs each refusal with all that was sent."""
    monkeypatch.setattr(logging.getLogger("prefect.flows"), "disabled", True)


def is_refused(flow, parameters):
    try:
        flow.validate_parameters(parameters)
    except (ParameterTypeError, SignatureMismatchError, UnicodeError):
        return True
    return False


def base(flow):
    return {name: GOOD[name] for name in flow.parameters.properties if name != "run" or flow.name == "paper"}


@pytest.mark.parametrize(("name", "parameter", "field"), list(fields()))
def test_no_parameter_takes_a_path_an_address_a_template_or_a_value_without_end(name, parameter, field):
    flow = flow_of(name)
    assert not is_refused(flow, base(flow))
    allowed = ALLOWED.get(f"{parameter}.{field}", ())
    accepted = [
        str(value)[:80]
        for value in (*TEXTS, *VALUES)
        if not any(value is each or value == each for each in allowed)
        and not is_refused(
            flow, base(flow) | {parameter: value if field is None else {**GOOD[parameter], field: value}}
        )
    ]
    assert accepted == []


@pytest.mark.parametrize("name", FLOWS)
def test_no_flow_takes_what_its_form_does_not_ask_for(name):
    flow = flow_of(name)
    good = base(flow)
    for smuggled in UNKNOWN:
        assert is_refused(flow, good | {smuggled: "x"}), smuggled
        for parameter, form in good.items():
            if isinstance(form, dict):
                assert is_refused(flow, good | {parameter: form | {smuggled: "x"}}), (parameter, smuggled)


def test_every_parameter_has_its_form_at_the_server_too():
    """Prefect makes a form without a word when it cannot read an annotation, and then takes anything."""
    for name in FLOWS:
        schema = flow_of(name).parameters.model_dump()
        for parameter, described in schema["properties"].items():
            assert {"type", "$ref", "allOf", "anyOf"} & described.keys(), (name, parameter)


def test_every_flow_but_those_without_a_form_is_looked_at():
    asked = {each.values[0] for each in fields()}
    assert asked == FLOWS.keys() - {"rescore"}
    assert flow_of("rescore").parameters.properties == {}


def test_a_worker_drops_every_variable_that_somebody_sends_for_its_process():
    """The pool's template has no places for them, whether they are named plainly, with dots, or as blocks and templates."""
    template = json.loads(POOL_TEMPLATE.read_text(encoding="utf-8"))
    sent = {
        "command": "touch /tmp/x", "env": {"TRIGATE_HOME": "/tmp", "PYTHONPATH": "/tmp", "LD_PRELOAD": "x.so"}, "env.PYTHONPATH": "/tmp",
        "working_dir": "/", "name": "x", "labels": {"a": "b"}, "stream_output": True, "job_configuration": {"command": "id"},
        "job_configuration.command": "id", "image": "x", "{{ command }}": "id", "prefect.blocks.secret.x": "y",
    }  # fmt: skip
    made = [
        asyncio.run(ProcessJobConfiguration.from_template_and_values(base_job_template=template, values=values))
        for values in ({}, sent)
    ]
    assert made[0] == made[1]
    assert (made[1].command, made[1].env, made[1].working_dir) == (None, {}, None)
    run = FlowRun(flow_id="00000000-0000-0000-0000-000000000000", job_variables=sent)
    made[1].prepare_for_flow_run(run)
    assert made[1].command.endswith("-m prefect.engine")


def test_the_pool_of_a_server_of_ones_own_has_the_same_template():
    """prefect.yaml says how it is made; with Prefect's own template a flow run would choose what is executed."""
    lines = (ROOT / "prefect.yaml").read_text(encoding="utf-8").splitlines()
    (line,) = [each for each in lines if "work-pool create" in each]
    assert f"--base-job-template {POOL_TEMPLATE.name} " in line
