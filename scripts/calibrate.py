"""How often does a night promote luck, and how often does it find an edge? Runs whole nights on markets in which the truth is known.

Each night is the real thing without Prefect: search, admission, one look at the vault, each in its cage, in a home of its own. On null
nights whatever is promoted is a false promotion; on planted nights an edge of a stated strength is there to be found; the life of a
vault is several null nights on the same bars, with a look after each. Seeds are fixed by ``--seed`` before the first night. With
``--out`` each night is kept as a line of JSON, and the same command goes on where it stopped; without, only the table is left. Ctrl-C
prints the table of what is done.

    python scripts/calibrate.py --null 200 --planted 50
"""
# ruff: noqa: E402 - the environment is set before numpy is loaded

from __future__ import annotations

import os

# Nights run side by side, one per core: threads of the linear algebra would only wait for each other, at full load.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from pathlib import Path

from calibration_nights import Task, kept, run_all

from evolution.calibration import LIFE, NULL, NightRecord, rate
from evolution.calibration_table import Levels, calibration_table
from evolution.pool import LookPolicy
from evolution.worlds import PlantedMarket, find_edge, luck_of_a_life, power_of
from runtime.store import open_engine


def plan(arguments: argparse.Namespace, template: str) -> tuple[list[Task], dict[str, str]]:
    """All nights, and a word on each kind."""
    common = {
        "seed": arguments.seed,
        "is_exhaustive": arguments.exhaustive,
        "finalists": arguments.finalists,
        "population": arguments.population,
        "years": arguments.years,
        "half_life": arguments.half_life,
        "template": template,
    }
    without_edge = {**common, "edge": 0.0, "alpha": arguments.alpha, "generations": arguments.generations}
    tasks = [Task(kind=NULL, number=number, **without_edge) for number in range(arguments.null)]
    tasks += [
        Task(kind=LIFE, number=number, nights=arguments.life_nights, **without_edge)
        for number in range(arguments.lives)
    ]
    words = {
        NULL: "real bars, permuted: every promotion is false",
        LIFE: f"the same, up to {arguments.life_nights} nights on the same bars",
    }
    for target in arguments.sharpe if arguments.planted else ():
        market = PlantedMarket(half_life=arguments.half_life)
        strength = find_edge(market, target, stretch_years=arguments.years)
        best = power_of(
            strength.rule,
            replace(market, edge=strength.edge),
            years=arguments.years,
            alpha=arguments.planted_alpha,
        )
        words[f"planted-{target:g}"] = (
            f"edge {strength.edge:.4f}: '{strength.rule}' has an active Sharpe ratio of {strength.active_sharpe:.2f} on a fresh path, "
            f"as a look measures it ({strength.whole_path:.2f} over one mean exposure for the whole path)\n"
            f"  that rule itself, known beforehand, passes {best:.1%} of looks: no search can be expected to do better"
        )
        tasks += [
            Task(
                kind=f"planted-{target:g}",
                number=number,
                edge=strength.edge,
                alpha=arguments.planted_alpha,
                generations=arguments.planted_generations,
                **common,
            )
            for number in range(arguments.planted)
        ]
    # Kinds in turn, so that a calibration that is cut short has some of each.
    return sorted(tasks, key=lambda task: task.number), words


def main(words: list[str] | None = None) -> int:
    """Run a calibration and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--null", type=int, default=200, help="null nights")
    parser.add_argument(
        "--lives", type=int, default=0, help="vaults whose whole life is run: several null nights on the same bars"
    )
    parser.add_argument("--life-nights", type=int, default=12, help="most nights in the life of a vault")
    parser.add_argument("--planted", type=int, default=50, help="planted nights for each strength")
    parser.add_argument("--sharpe", type=float, nargs="+", default=[2.0, 1.4], help="strengths: active Sharpe ratios")
    parser.add_argument(
        "--exhaustive",
        action="store_true",
        help="make every check of every finalist, and show what other checks would have done; takes longer",
    )
    parser.add_argument("--generations", type=int, default=8, help="of a null night")
    parser.add_argument(
        "--planted-generations", type=int, default=5, help="of a planted night: an edge is found sooner"
    )
    parser.add_argument("--population", type=int, default=25)
    parser.add_argument("--finalists", type=int, default=10, help="most candidates of a night that come to admission")
    parser.add_argument("--years", type=float, default=3.0, help="length of the vault")
    parser.add_argument(
        "--half-life", type=float, default=10.0, help="bars after which half of a planted drift is left"
    )
    parser.add_argument("--alpha", type=float, default=0.005, help="level of a look on null nights")
    parser.add_argument("--planted-alpha", type=float, default=0.05, help="level of a look on planted nights")
    parser.add_argument("--seed", type=int, default=20261201)
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="nights that run at the same time"
    )
    parser.add_argument("--out", type=Path, default=None, help="folder that keeps each night")
    parser.add_argument("--kept", action="store_true", help="run nothing: the table of the nights that --out has kept")
    parser.add_argument("--json", action="store_true", help="print the nights as JSON instead of the table")
    arguments = parser.parse_args(words)
    if arguments.kept and arguments.out is None:
        parser.error("--kept prints what --out has kept: name that folder")
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trigate-calibrate-") as folder:
        template = Path(folder) / "template"
        open_engine(template).dispose()
        tasks, words_of = plan(arguments, str(template))
        records, ending = _run(tasks, arguments)
    if arguments.json:
        print(json.dumps([asdict(record) for record in records]))
        return ending
    levels = Levels(
        null=arguments.alpha,
        planted=arguments.planted_alpha,
        budget=max(arguments.alpha, LookPolicy().budget),
        years=arguments.years,
    )
    print(calibration_table(records, words_of, levels))
    print(f"\n{_life_in_words(levels)}")
    print(
        f"\n{len(records)} of {len(tasks)}; {time.monotonic() - began:.0f} s, {arguments.jobs} at a time; seed {arguments.seed}"
    )
    return ending


def _run(tasks: list[Task], arguments: argparse.Namespace) -> tuple[list[NightRecord], int]:
    """The nights of a calibration that are done, and the exit code."""
    wanted = {(task.kind, task.number) for task in tasks}
    records = [record for record in kept(arguments.out) if (record.kind, record.number) in wanted]
    ending = 0
    if not arguments.kept:
        goes_on = (
            "nothing is kept without --out" if arguments.out is None else "the same command goes on with what is kept"
        )
        try:
            for record in run_all(tasks, jobs=arguments.jobs, out=arguments.out, tell=_tell):
                records.append(record)  # noqa: PERF402 - what was done before it stopped counts
        except KeyboardInterrupt:
            _tell(f"calibrate: stopped; {goes_on}")
            ending = 130
        except BrokenProcessPool:
            _tell(f"calibrate: a worker process was ended from outside; {goes_on}")
            ending = 3
    return sorted(records, key=lambda record: (record.kind, record.number)), ending


def _life_in_words(levels: Levels) -> str:
    vaults = 2_000
    unlucky = luck_of_a_life(years=levels.years, alpha=levels.null, budget=levels.budget, vaults=vaults)
    return (
        f"the life of a vault: rules without skill, looked at with nothing before it until {levels.budget:g} is spent at "
        f"{levels.null:g} a look, are promoted in {rate(unlucky, vaults)} made-up vaults"
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
