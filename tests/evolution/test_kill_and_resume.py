"""SIGKILL at any moment, then resume: the same end as if nothing had happened, nothing lost, nothing evaluated twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 20


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the script found out about one undisturbed search and some killed ones."""
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).parent / "killed_search.py"),
            tmp_path_factory.mktemp("kills"),
            str(KILLS),
            "7",
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_search_that_was_killed_anywhere_ends_as_if_nothing_had_happened(told):
    """The moments are spread over the whole search: before, inside and after transactions."""
    assert len(told["kills"]) == KILLS
    assert len(told["whole"]["outcome"]["front"]) > 1
    assert "offline/tune" in told["whole"]["outcome"]["operators"]
    for kill in told["kills"]:
        assert kill["killed_by"] == signal.SIGKILL
        assert kill["resumed"] == 0
        assert kill["outcome"] == told["whole"]["outcome"], kill["moment"]


@pytest.mark.slow
def test_what_was_stored_before_the_kill_is_not_evaluated_again(told):
    assert any(kill["stored"] for kill in told["kills"])
    everything = {identity for identity, _, _ in told["whole"]["outcome"]["trials"]}
    for kill in told["kills"]:
        assert not set(kill["stored"]) & set(kill["evaluated"])
        assert set(kill["stored"]) | set(kill["evaluated"]) <= everything
