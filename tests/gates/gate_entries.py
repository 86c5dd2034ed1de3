"""A cage entry without any gate: real builtins, real modules, the corpus as it is. Shows what the cage holds alone."""

from __future__ import annotations

import base64
import collections
import dataclasses
import enum
import json
import math
import os
import statistics
import threading
import typing

from gates.smoke import SMOKE_START, smoke_bars
from runtime.kernel import CANDIDATE_FILE, RunConfig, run_strategy
from runtime.strategy import INJECTED, Strategy

LOADED = (collections, dataclasses, enum, math, statistics, threading, typing)
STAGE = []


def prepare(_blob: bytes) -> None:
    bars = smoke_bars()
    STAGE.extend((bars, bars.rows()))


def run(job: bytes) -> bytes:
    request = json.loads(job)
    os.environ["CANARY_DIR"] = request["canary"]
    bars, rows = STAGE
    namespace = {**INJECTED, "__name__": "candidate"}
    try:
        exec(compile(base64.b64decode(request["source"]), CANDIDATE_FILE, "exec"), namespace)
        found = [
            value
            for value in namespace.values()
            if isinstance(value, type) and issubclass(value, Strategy) and value is not Strategy
        ]
        said = list(run_strategy(found[0], bars, RunConfig(start=SMOKE_START), rows=rows).log)
    except Exception as error:  # noqa: BLE001 - a hostile program may raise anything
        said = [repr(error)]
    return json.dumps(said).encode()


def ask(source: bytes, canary: str) -> bytes:
    """The job of one file, for the host's side."""
    return json.dumps({"source": base64.b64encode(source).decode(), "canary": canary}).encode()
