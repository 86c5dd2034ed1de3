from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # where a zygote finds gate_entries, as it finds any installed entry

from gates import CellJob, evaluate, open_gate_cage
from gates.smoke import SMOKE_START, smoke_bars
from runtime.cage import CageLimits
from runtime.kernel import RunConfig
from runtime.source import StrategySource

SECRET = "a-secret-that-only-the-host-knows"


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


VICTIM = StrategySource(b"""
class Victim(Strategy):
    def on_start(self):
        self.average = self.indicator("SMA", timeperiod=10)

    def on_bar(self, bar):
        if self.flat and bar.close > self.average[-1]:
            self.buy(stop_loss=0.05)
        elif self.long and bar.close < self.average[-1]:
            self.close()
        self.log(sum([1, 2]), bar.close)
""")


@pytest.fixture(scope="session")
def victim(cage, smoke_cell):
    """A function that runs an ordinary candidate in the cage and says what came of it."""

    def run():
        report = evaluate(VICTIM, cage, [smoke_cell], RunConfig()).reports[0]
        return report.order_log, report.log, tuple(report.equity)

    return run
