"""What a candidate of a whole night costs: our own process, the caged children, memory; with Prefect and without it.

Each night runs in a process and a home of its own. Processor time, not wall time: other people use the machine, too. The children's is
that of all that this process started (zygotes, candidates' runs on train and on bars with another future), without Prefect's server.
Breeding, trying and closing are told apart for the night without Prefect, which runs one candidate at a time.

    make bench-night
    python benchmarks/bench_night.py --generations 50 --kinds plain
    python benchmarks/bench_night.py --population 2000 --generations 2 --kinds plain
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
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.night import Night

ROOT = Path(__file__).parents[1]
_COMPARED = 1_000


def child(options: argparse.Namespace) -> None:
    """One night; prints what it took."""
    from flows.server import start_server
    from flows.settings import home_folder, load_settings
    from flows.start import new_order, open_night
    from flows.watch import SilentWatch

    home = home_folder()
    settings = load_settings(
        None,
        home,
        search__generations=options.generations,
        search__population=options.population,
    )
    if options.child == "prefect":
        start_server(home).wait()
    before = _children_s()
    with open_night(settings, home, SilentWatch(), new_order(settings, seed=options.seed, profile=None)) as night:
        began = time.monotonic()
        took = _with_prefect(night) if options.child == "prefect" else _plainly(night)
        took["wall"] = time.monotonic() - began
        count = len(night.trials)
    took["children"] = _children_s() - before  # the zygotes are gone, and have waited for their children
    took = {name: 1e3 * value / count for name, value in took.items()}
    took |= _ends_of(night, options)
    took["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"candidates": count, **took}), flush=True)


def _with_prefect(night: Night) -> dict[str, float]:
    from flows.evolve import next_generation

    cpu = time.process_time()
    while night.search.end is None:
        next_generation(night)
    return {"parent": time.process_time() - cpu}


def _plainly(night: Night) -> dict[str, float]:
    took = dict.fromkeys(("breeding", "trying", "closing"), 0.0)
    while night.search.end is None:
        stamps = [time.process_time()]
        candidates = tuple(night.breed())
        stamps.append(time.process_time())
        for candidate in candidates:
            night.try_candidate(candidate)
        stamps.append(time.process_time())
        night.close_generation()
        stamps.append(time.process_time())
        for name, began, ended in zip(took, stamps, stamps[1:], strict=False):
            took[name] += ended - began
        _costs.append(stamps[-1] - stamps[0])
    return {"parent": sum(took.values()), **took}


_costs: list[float] = []
"""Of each generation of a night without Prefect."""


def _ends_of(night: Night, options: argparse.Namespace) -> dict[str, float]:
    """The parent's cost over the first and the last thousand, without the starting generation, which is copies of seeds."""
    per = [1e3 * cost / options.population for cost in _costs[1:]]
    most = min(len(per) // 2, max(1, _COMPARED // options.population))
    if not most or not night.trials:
        return {}
    return {"later": sum(per) / len(per), "first": sum(per[:most]) / most, "last": sum(per[-most:]) / most}


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def night(kind: str, options: argparse.Namespace) -> dict[str, float]:
    """One night in a process and a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
        environment |= {"TRIGATE_HOME": folder, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        sizes = [f"--{name}={getattr(options, name)}" for name in ("population", "generations", "seed")]
        words = [sys.executable, __file__, "--child", kind, *sizes]
        done = subprocess.run(words, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    took: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return took


def main() -> None:
    """Some nights of each kind; the least of each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--population", type=int, default=40)
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", default=("plain", "prefect"), choices=("plain", "prefect"))
    parser.add_argument("--child", choices=("plain", "prefect"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    for kind in options.kinds:
        rounds = [night(kind, options) for _ in range(options.rounds)]
        least = {name: min(each[name] for each in rounds) for name in rounds[0]}
        count, peak = least.pop("candidates"), least.pop("peak_mib")
        shown = ", ".join(f"{name} {value:.1f}" for name, value in least.items())
        print(f"{kind}: {count:.0f} candidates, ms each: {shown}; peak {peak:.0f} MiB")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
