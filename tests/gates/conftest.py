from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # where a zygote finds gate_entries, as it finds any installed entry

from victims import SECRET, VICTIM

from gates import CellJob, evaluate, open_gate_cage
from gates.smoke import SMOKE_START, smoke_bars
from runtime.cage import CageLimits
from runtime.kernel import RunConfig


@pytest.fixture(scope="session")
def canary(tmp_path_factory):
    """A folder that must stay empty; it and a secret are in the host's environment before any cage opens."""
    folder = tmp_path_factory.mktemp("canary")
    os.environ["CANARY_DIR"], os.environ["CANARY_SECRET"] = str(folder), SECRET
    yield folder
    del os.environ["CANARY_DIR"], os.environ["CANARY_SECRET"]


@pytest.fixture(scope="session")
def smoke():
    return smoke_bars()


@pytest.fixture(scope="session")
def cage(canary, smoke):
    """A gate cage with the smoke bars under the key ``smoke``."""
    with open_gate_cage({"smoke": smoke}) as opened:
        yield opened


@pytest.fixture(scope="session")
def quick():
    """Limits that end an endless loop soon."""
    return CageLimits(cpu_s=1, wall_s=30)


@pytest.fixture(scope="session")
def smoke_cell(smoke):
    return CellJob(key="smoke", start=SMOKE_START, stop=len(smoke), warmup=SMOKE_START)


@pytest.fixture(scope="session")
def victim(cage, smoke_cell):
    """A function that runs an ordinary candidate in the cage and says what came of it."""

    def run():
        report = evaluate(VICTIM, cage, [smoke_cell], RunConfig()).reports[0]
        return report.order_log, report.log, tuple(report.equity)

    return run
