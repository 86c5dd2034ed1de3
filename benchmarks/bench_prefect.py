"""What Prefect costs per candidate: the same night with it and without it, each in a process of its own; and how long its server takes.

The difference of the two is divided by the number of candidates, for the wall clock and for the processor time of our own process (which
holds Prefect's client; its server is another process). Each is the least of some rounds, since others use the machine, too.

    make bench-prefect ARGS="--rounds 3"
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def child(options: argparse.Namespace) -> None:
    """One night; prints what the search itself took."""
    from flows.plain import search_plainly
    from flows.server import start_server
    from flows.settings import home_folder, load_settings
    from flows.start import new_order, open_night
    from flows.watch import SilentWatch

    home = home_folder()
    settings = load_settings(
        None,
        home,
        data="planted-edge",
        search__generations=options.generations,
        search__population=options.population,
    )
    took: dict[str, float] = {}
    began = time.monotonic()
    if options.child == "prefect":
        start_server(home).wait()
        took["server_s"] = time.monotonic() - began
    with open_night(settings, home, SilentWatch(), new_order(settings, seed=1, profile=None)) as night:
        if options.child == "prefect":
            from flows.evolve import next_generation

            began, cpu = time.monotonic(), time.process_time()
            while night.search.end is None:
                next_generation(night)
        else:
            began, cpu = time.monotonic(), time.process_time()
            search_plainly(night)
        took |= {"wall_s": time.monotonic() - began, "cpu_s": time.process_time() - cpu}
        took["candidates"] = len(night.trials)
    print(json.dumps(took), flush=True)


def night(kind: str) -> dict[str, float]:
    """One night in a process and a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
        environment |= {"TRIGATE_HOME": folder, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        words = [sys.executable, __file__, "--child", kind, *sys.argv[1:]]
        done = subprocess.run(words, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    took: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return took


def main() -> None:
    """Some rounds of both, and the difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--population", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--child", choices=("plain", "prefect"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    rounds = {kind: [night(kind) for _ in range(options.rounds)] for kind in ("plain", "prefect")}
    count = rounds["plain"][0]["candidates"]
    for figure, name in (("wall_s", "wall"), ("cpu_s", "CPU of our process")):
        plain, wrapped = (min(each[figure] for each in rounds[kind]) for kind in ("plain", "prefect"))
        print(
            f"{name}: {plain:.2f} s without, {wrapped:.2f} s with Prefect: "
            f"{1e3 * (wrapped - plain) / count:.1f} ms for each of {count:.0f} candidates"
        )
    print(f"server start: {min(each['server_s'] for each in rounds['prefect']):.1f} s")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
