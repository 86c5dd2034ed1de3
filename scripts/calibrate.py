"""How often does a night promote luck, and how often does it find an edge? Runs whole nights on markets in which the truth is known.

Each night is the real thing without Prefect: search, admission, one look at the vault, each in its cage, in a home of its own. On null
nights whatever is promoted is a false promotion; on planted nights an edge of a stated strength is there to be found. Seeds are fixed
by ``--seed`` before the first night. With ``--out`` each night is kept as a line of JSON, and the same command goes on where it
stopped; without, only the table is left.

    python scripts/calibrate.py --null 200 --planted 100
"""
# ruff: noqa: E402 - the environment is set before numpy is loaded

from __future__ import annotations

import os

# Nights run side by side, one per core: threads of the linear algebra would only wait for each other, at full load.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evolution.calibration import (
    VARIANTS,
    FinalistRecord,
    NightRecord,
    attrition,
    is_promoted,
    promotes_by_score,
    rate,
    rate_of,
    would_promote,
)
from evolution.census import TrialCensus
from evolution.pool import (
    Entered,
    LookFailed,
    LookPolicy,
    NotAdmitted,
    Promoted,
    SegmentFigures,
    admission_bars,
)
from evolution.pool.segment import prove_segment
from evolution.report import best_trials
from evolution.trial import TrialOutcome
from evolution.worlds import PlantedMarket, bars_for_vault, find_edge, null_bars, power_of
from fitness import deflated_sharpe
from flows import opening
from flows.night import Order
from flows.settings import Settings
from flows.start import open_night
from flows.watch import SilentWatch
from runtime.market import open_vault
from runtime.market.builtin import find_builtin
from runtime.market.catalog import Source
from runtime.market.registration import Wanted, add
from runtime.store import open_engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.pool import AdmissionCard, PoolEntry
    from evolution.pool.segment import Runner
    from evolution.trial import Trial
    from flows.night import Night
    from runtime.market import Bars

SET = "calibration"


class Task(NamedTuple):
    """One night to run."""

    kind: str
    """``null`` or ``planted-<active Sharpe ratio>``."""
    number: int
    seed: int
    generations: int
    population: int
    years: float
    edge: float
    half_life: float
    alpha: float
    is_exhaustive: bool
    finalists: int
    """Most candidates that come to admission."""
    template: str
    """A home with a migrated, empty store."""


def make_bars(task: Task) -> Mapping[str, Bars]:
    """The market of a night."""
    rng = np.random.default_rng([task.seed, task.number, len(task.kind)])
    length = bars_for_vault(task.years)
    if task.kind == "null":
        builtin = find_builtin("us-large-caps")
        assert builtin is not None
        # In a rising market hardly anything beats buy and hold, so every second null night has no drift.
        return null_bars(builtin.load(), length, rng, keeps_drift=task.number % 2 == 0)
    return PlantedMarket(edge=task.edge, half_life=task.half_life).bars(length, rng)


def run_night(task: Task) -> NightRecord:
    """One whole night in a home of its own."""
    began = _cpu()
    with tempfile.TemporaryDirectory(prefix="trigate-calibrate-") as folder:
        home = Path(folder) / "home"
        shutil.copytree(task.template, home)
        source = Source(kind="file", sha256="0" * 64)
        add(Wanted(bars=make_bars(task), source=source, label="synthetic", name=SET, stem=SET), home)
        seed = int(np.random.default_rng([task.seed, task.number]).integers(2**31))
        settings = Settings.model_validate({"data": SET, "workers": 1, "search": {"admissions": task.finalists}})
        order = Order(
            data=SET,
            generations=task.generations,
            population=task.population,
            crossover_rate=settings.search.crossover_rate,
            llm_share=0.0,
            seed=seed,
        )
        with open_night(settings, home, SilentWatch(), order) as night:
            while night.search.end is None:
                for candidate in night.breed():
                    night.try_candidate(candidate)
                night.close_generation()
            finalists, outcome = _judge(night, home, task)
        best = best_trials(night.trials.values(), limit=1)
        card = best[0].scorecard if best else None
        return NightRecord(
            kind=task.kind,
            number=task.number,
            seed=seed,
            candidates=len(night.trials),
            scored=sum(trial.outcome is TrialOutcome.SCORED for trial in night.trials.values()),
            best_score=card.score if card else None,
            best_beats=card is not None and card.beats_buy_and_hold,
            is_exhaustive=task.is_exhaustive,
            finalists=finalists,
            entered=len(night.pool.list()),
            outcome=outcome,
            cpu_s=_cpu() - began,
        )


def _judge(night: Night, home: Path, task: Task) -> tuple[tuple[FinalistRecord, ...], str]:
    """Admission of the finalists, and one look; what came of each finalist, and of the night."""
    finalists = night.finalists()
    if not finalists:
        return (), "empty"
    settings = night.settings
    # As ``flows`` does it; that the look uses the same cages for its proof run is all that is spared.
    with opening.runner(admission_bars(night.dataset), settings.cage, settings.cage_limits()) as runner:
        cards = _admit(night, finalists, runner, is_exhaustive=task.is_exhaustive)
        outcome = _promote(night, home, task, runner)
        return _records(night, home, cards, runner, is_exhaustive=task.is_exhaustive), outcome


def _admit(
    night: Night, finalists: Sequence[Trial], runner: Runner, *, is_exhaustive: bool
) -> list[tuple[Trial, AdmissionCard]]:
    """As ``flows.admission`` does it, but a calibration may make all checks of every finalist."""
    cards: list[tuple[Trial, AdmissionCard]] = []
    for trial in finalists:
        verdict = night.pool.consider(
            trial,
            dataset=night.dataset,
            runner=runner,
            config=night.settings.run_config(),
            is_exhaustive=is_exhaustive,
        )
        match verdict:
            case Entered(entry=entry):
                cards.append((trial, entry.card))
            case NotAdmitted(card=card):
                cards.append((trial, card))
    return cards


def _promote(night: Night, home: Path, task: Task, runner: Runner) -> str:
    """One look, for the entry with the best validation: what a person with no other knowledge would do."""
    entries = night.pool.list()
    if not entries:
        return "empty"
    entry = max(entries, key=_validation_psr)
    outcome = night.pool.promote(
        entry.id,
        by="Calibration",
        reason="the best on validation",
        binding=entry.binding,
        config=night.settings.run_config(),
        open_vault=lambda: open_vault(SET, home),
        open_runner=lambda _: nullcontext(runner),
        policy=LookPolicy(alpha=task.alpha, budget=max(task.alpha, 0.05)),
    )
    return "promoted" if isinstance(outcome, Promoted) else "failed" if isinstance(outcome, LookFailed) else "refused"


def _validation_psr(entry: PoolEntry) -> float:
    return _figure(entry.card, "validation-psr") or 0.0


def _figure(card: AdmissionCard, name: str) -> float | None:
    return next((check.figure for check in card.checks if check.name == name), None)


def _records(
    night: Night, home: Path, cards: list[tuple[Trial, AdmissionCard]], runner: Runner, *, is_exhaustive: bool
) -> tuple[FinalistRecord, ...]:
    """All finalists; in an exhaustive night with what the made-up vault says of each, which no real night may know."""
    figures: dict[str, SegmentFigures] = {}
    if is_exhaustive:
        vault = open_vault(SET, home)
        for trial, _ in cards:
            found = prove_segment(runner, trial.candidate.source, vault.bars, vault.cells, night.settings.run_config())
            if isinstance(found, SegmentFigures):
                figures[trial.candidate.id] = found
    records, census = [], TrialCensus(open_engine(home))
    for trial, card in cards:
        vault_figures, scorecard = figures.get(trial.candidate.id), trial.scorecard
        records.append(
            FinalistRecord(
                score=(scorecard.score if scorecard else None) or 0.0,
                failed=tuple(check.name for check in card.failed),
                figures={check.name: check.figure for check in card.checks},
                deflated_by_spread=_deflated_by_spread(trial, census),
                vault_psr=vault_figures.psr if vault_figures else None,
                vault_drawdown=vault_figures.max_drawdown if vault_figures else None,
            )
        )
    return tuple(records)


def _deflated_by_spread(trial: Trial, trials: TrialCensus) -> float | None:
    record = trial.record
    if record is None:
        return None
    census = trials.over(record.intervals)
    return deflated_sharpe(record.sample, trials=max(census.effective.clusters, 1), variance=census.variance)


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


# The whole calibration


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
    tasks = [
        Task(
            kind="null",
            number=number,
            edge=0.0,
            alpha=arguments.alpha,
            generations=arguments.generations,
            **common,
        )
        for number in range(arguments.null)
    ]
    words = {"null": "real bars, permuted: every promotion is false"}
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


def run_all(tasks: list[Task], workers: int, out: Path | None, *, only_kept: bool = False) -> list[NightRecord]:
    """Run what is not kept yet, a few at a time (nothing with ``only_kept``); each is kept as soon as it is done."""
    records = _kept(out)
    done = {(record.kind, record.number) for record in records}
    wanted = {(task.kind, task.number) for task in tasks}
    records = [record for record in records if (record.kind, record.number) in wanted]
    open_tasks = [] if only_kept else [task for task in tasks if (task.kind, task.number) not in done]
    with ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"), max_tasks_per_child=20) as pool:
        futures = [pool.submit(run_night, task) for task in open_tasks]
        for future in as_completed(futures):
            record = future.result()
            records.append(record)
            if out is not None:
                with (out / "nights.jsonl").open("a") as file:
                    file.write(json.dumps(asdict(record)) + "\n")
            print(
                f"{len(records)}/{len(tasks)} {record.kind} {record.number}: {record.scored} scored, "
                f"{record.entered} entered, {record.outcome}; {record.cpu_s:.1f} s of CPU",
                file=sys.stderr,
            )
    return sorted(records, key=lambda record: (record.kind, record.number))


def _kept(out: Path | None) -> list[NightRecord]:
    if out is None or not (out / "nights.jsonl").exists():
        return []
    documents = [json.loads(line) for line in (out / "nights.jsonl").read_text().splitlines()]
    return [
        NightRecord(
            **document
            | {
                "finalists": tuple(
                    FinalistRecord(**each | {"failed": tuple(each["failed"])}) for each in document["finalists"]
                )
            }
        )
        for document in documents
    ]


def table(records: list[NightRecord], words: Mapping[str, str], arguments: argparse.Namespace) -> str:
    """The result, for people."""
    lines = []
    for kind in sorted({record.kind for record in records}):
        nights = [record for record in records if record.kind == kind]
        lines += [
            f"\n{kind}: {len(nights)} nights of about {nights[0].candidates} candidates, vault of {arguments.years:g} years",
            f"  {words.get(kind, '')}",
        ]
        promoted = rate_of(nights, is_promoted)
        by_score = rate_of(nights, promotes_by_score)
        alpha = arguments.alpha if kind == "null" else arguments.planted_alpha
        name = "false promotions" if kind == "null" else "promotions (power)"
        lines.append(f"  {name}, one look at alpha {alpha:g}: {promoted}; lower bound {promoted.lower_bound:.1%}")
        lines.append(f"  promoted by the seed score alone (best above 0, beats buy and hold): {by_score}")
        looked = rate_of(nights, lambda night: night.outcome in {"promoted", "failed"})
        lines.append(f"  nights with a look: {looked}")
        lines.append("  check by check, nights with at least one candidate left:")
        lines += [f"    {step.check:<24} {step.left}" for step in attrition(nights)]
        exhaustive = [night for night in nights if night.is_exhaustive]
        if exhaustive:
            lines += _exhaustive(exhaustive, kind, alpha)
        cpu = [night.cpu_s for night in nights]
        lines.append(f"  CPU per night: mean {np.mean(cpu):.1f} s")
    return "\n".join(lines).lstrip()


def _exhaustive(nights: list[NightRecord], kind: str, alpha: float) -> list[str]:
    lines: list[str] = []
    levels = (alpha, 0.05) if alpha != 0.05 else (alpha,)
    for level in levels:
        lines.append(f"  with other checks, one look at alpha {level:g}:")
        for variant in VARIANTS:
            found = rate_of(nights, lambda night, v=variant, a=level: would_promote(night, v, alpha=a))
            lines.append(f"    {variant.name:<46} {found}")
    values = [each.vault_psr for night in nights for each in night.finalists if each.vault_psr is not None]
    if kind == "null" and values:
        for level in (0.05, 0.005):
            beyond = rate(sum(value > 1 - level for value in values), len(values))
            lines.append(
                f"  the look itself, on all finalists: PSR above {1 - level:g} in {beyond} (several a night, so not independent)"
            )
    return lines


def main(words: list[str] | None = None) -> int:
    """Run a calibration and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--null", type=int, default=200, help="null nights")
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
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
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
        open_engine(Path(folder)).dispose()
        tasks, words_of = plan(arguments, folder)
        try:
            records = run_all(tasks, arguments.workers, arguments.out, only_kept=arguments.kept)
        except BrokenProcessPool:
            kept = (
                "nothing is kept without --out"
                if arguments.out is None
                else "the same command goes on with what is kept"
            )
            print(f"calibrate: a worker process was ended from outside; {kept}", file=sys.stderr)
            return 3
    if arguments.json:
        print(json.dumps([asdict(record) for record in records]))
    else:
        print(table(records, words_of, arguments))
        print(f"\n{time.monotonic() - began:.0f} s on {arguments.workers} workers; seed {arguments.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
