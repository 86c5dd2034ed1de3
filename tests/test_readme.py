"""The README is run: its strategy, its commands, and the output that it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gates import scan
from gates.scan import Scanned
from runtime.source import StrategySource

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("trigate ")]
OUTPUT = re.search(r"<!-- output: trigate (.*?) -->\n```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

# What differs from run to run: where, when, how long, on which port, and how many cores.
MASKS = (
    (r"state is kept in \S+", "state is kept in HOME"),
    (r"r-\d{8}-\d{3}", "RUN"),
    (r"^report: \S+", "report: FILE"),
    (r"127\.0\.0\.1:\d+", "SERVER"),
    (r"\d+\.\d s$", "SECONDS"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME"),
    (r"\d+ at a time", "WORKERS"),
)


def masked(text):
    for pattern, word in MASKS:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_strategy_passes_gate_one_and_three():
    (code,) = [block for language, block in BLOCKS if language == "python"]
    assert isinstance(scan(StrategySource.from_text(code)), Scanned)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_is_understood(line):
    words = [word for word in line.split()[1:] if not word.startswith("-") and word.islower() and "." not in word]
    known = []
    for word in words[:2]:
        done = subprocess.run(
            [sys.executable, "-m", "flows.cli", *known, word, "--help"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        if done.returncode != 0:
            break
        known.append(word)
        options = re.findall(r"--[a-z-]+", done.stdout)
    assert known, line
    for flag in re.findall(r"--[a-z-]+", line):
        assert flag in options, (line, flag)


def test_the_make_targets_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"(?:`|^    )make ([a-z-]+)", README, re.MULTILINE):
        assert target in targets


@pytest.mark.slow
def test_the_output_on_the_first_screen_is_what_the_command_prints(tmp_path):
    """If the engine changed on purpose: run the command, and paste its output."""
    words, shown = OUTPUT.groups()
    import os

    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", *words.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment | {"TRIGATE_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert masked(done.stdout) == masked(shown)
