"""What a second process brings: one night alone, and the same night with a helper (``trigate work``), each one candidate at a time.

Both are searches without Prefect on the same seed, so they try the same candidates; the ledgers are compared. On a machine that others
use, too, wall clocks say little; so the share of the processors that the night got is printed beside them, and what the helper did: with
N candidates, of which it tried H, two equal processors could not have been faster than N / max(H, N - H) times.

    make bench-workers ARGS="--generations 4 --population 40"
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lead(options: argparse.Namespace) -> None:
    """The leading process: search, then tell how long it took from the first candidate on."""
    from flows.plain import search_plainly
    from flows.settings import home_folder, load_settings
    from flows.start import new_order, open_night
    from flows.watch import SilentWatch

    home = home_folder()
    settings = load_settings(
        None,
        home,
        data=options.data,
        workers=1,
        search__generations=options.generations,
        search__population=options.population,
    )
    with open_night(settings, home, SilentWatch(), new_order(settings, seed=options.seed, profile=None)) as night:
        print(night.run_id, flush=True)
        sys.stdin.readline()  # until the helper is ready
        began = time.monotonic()
        search_plainly(night)
        wall_s = time.monotonic() - began
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"wall_s": wall_s, "cpu_s": sum(each.ru_utime + each.ru_stime for each in usage)}), flush=True)


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def night(home: Path, *, helped: bool) -> dict[str, float]:
    """One night in processes of its own; what it took."""
    from evolution.ledger import TrialLedger
    from runtime.store import open_engine

    home.mkdir()
    (home / "trigate.toml").write_text("workers = 1\n", encoding="utf-8")
    environment = os.environ | {"TRIGATE_HOME": str(home), "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, __file__, "--lead", *sys.argv[1:]]
    leader = subprocess.Popen(
        words, env=environment, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert leader.stdin is not None
    assert leader.stdout is not None
    run = leader.stdout.readline().strip()
    helper = None
    if helped:
        words = [sys.executable, "-m", "flows.cli", "work", run]
        helper = subprocess.Popen(words, env=environment, cwd=home, stdout=subprocess.PIPE, text=True)
        assert helper.stdout is not None
        while not helper.stdout.readline().endswith(": helping\n"):
            assert helper.poll() is None, "the helper ended"
    print(file=leader.stdin, flush=True)
    took: dict[str, float] = json.loads(leader.stdout.readline())
    leader.wait()
    if helper is not None:
        before = _children_s()
        helper.wait()  # nobody leads the run any more, so it ends by itself
        took["cpu_s"] += _children_s() - before
    ledger = TrialLedger(open_engine(home), now=lambda: datetime.now(UTC))
    took["candidates"] = len(ledger.trials(run))
    took["helped"] = sum(ledger.run(run).story.get("helpers", {}).values())
    results = [(trial.candidate.id, trial.outcome.value, trial.scorecard) for trial in ledger.trials(run)]
    took["results"] = zlib.crc32(repr(results).encode())
    return took


def main() -> None:
    """Both nights, and what they say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default="us-large-caps")
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--population", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lead", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lead:
        lead(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        alone, helped = (night(Path(folder) / name, helped=name == "helped") for name in ("alone", "helped"))
    for name, took in (("alone", alone), ("with a helper", helped)):
        share = took["cpu_s"] / took["wall_s"]
        print(
            f"{name:14} {took['wall_s']:7.1f} s wall, {took['cpu_s']:7.1f} s CPU, {share:.2f} processors; "
            f"the helper tried {took['helped']:.0f} of {took['candidates']:.0f} candidates"
        )
    most = max(helped["helped"], helped["candidates"] - helped["helped"])
    print(f"wall, alone / with a helper: {alone['wall_s'] / helped['wall_s']:.2f}")
    print(f"as the candidates were shared out, at best: {helped['candidates'] / most:.2f}")
    print(f"CPU, with a helper / alone: {helped['cpu_s'] / alone['cpu_s']:.2f}")
    print("results: " + ("the same" if alone["results"] == helped["results"] else "DIFFERENT"))


if __name__ == "__main__":
    main()
