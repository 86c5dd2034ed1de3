"""The nights of a calibration: the real search, admission and one look, each in its cage, on markets in which the truth is known.

``run_night`` runs one night, or a vault's whole life, in a home of its own; ``run_all`` runs many side by side and keeps each as a line
of JSON as soon as it is done, so that the same call goes on where it was stopped. What the nights say together is in
``evolution.calibration``.

It stands beside the script and not in the product, in which nothing but a person's decision may open a vault.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import resource
import shutil
import signal
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evolution.calibration import LIFE, NULL, FinalistRecord, NightRecord
from evolution.census import TrialCensus
from evolution.pool import (
    Entered,
    EntryStatus,
    LookContext,
    LookFailed,
    LookPolicy,
    NotAdmitted,
    Promoted,
    SegmentFigures,
    admission_bars,
)
from evolution.pool.segment import prove_segment
from evolution.summary import best_trials
from evolution.trial import TrialOutcome
from evolution.worlds import PlantedMarket, bars_for_vault, null_bars
from fitness import deflated_sharpe
from flows import opening
from flows.order import Order
from flows.settings import Settings
from flows.start import open_night
from flows.watch import SilentWatch
from runtime.market import open_vault
from runtime.market.builtin import find_builtin
from runtime.market.catalog import Source
from runtime.market.registration import Wanted, add
from runtime.store import open_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evolution.pool import AdmissionCard, PoolEntry
    from evolution.pool.segment import Runner
    from evolution.trial import Trial
    from flows.night import Night
    from runtime.market import Bars

SET = "calibration"
# Memory that a night leaves behind in its process does not add up to more than this many nights.
_NIGHTS_PER_PROCESS = 20


class Task(NamedTuple):
    """One night to run."""

    kind: str
    """``null``, ``life`` or ``planted-<active Sharpe ratio>``."""
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
    """A home with a migrated, empty store; the night's own home is made beside it."""
    nights: int = 1
    """Searches one after the other on the same bars, each followed by a look: more than one is the life of a vault, which ends with
    a promotion or with its budget."""


def make_bars(task: Task) -> Mapping[str, Bars]:
    """The market of a night."""
    rng = np.random.default_rng([task.seed, task.number, len(task.kind)])
    length = bars_for_vault(task.years)
    if task.kind in {NULL, LIFE}:
        builtin = find_builtin("us-large-caps")
        assert builtin is not None
        # In a rising market hardly anything beats buy and hold, so every second null night has no drift.
        return null_bars(builtin.load(), length, rng, keeps_drift=task.number % 2 == 0)
    return PlantedMarket(edge=task.edge, half_life=task.half_life).bars(length, rng)


def run_night(task: Task) -> NightRecord:
    """One whole night in a home of its own, or as many as the vault's life has."""
    began = _cpu()
    with tempfile.TemporaryDirectory(prefix="night-", dir=Path(task.template).parent) as folder:
        home = Path(folder) / "home"
        shutil.copytree(task.template, home)
        source = Source(kind="file", sha256="0" * 64)
        add(Wanted(bars=make_bars(task), source=source, label="synthetic", name=SET, stem=SET), home)
        record = _search(home, task, 0)
        for turn in range(1, task.nights):
            if record.outcome in {"promoted", "refused"}:
                break
            record = _both(record, _search(home, task, turn))
    return replace(record, cpu_s=_cpu() - began)


def _search(home: Path, task: Task, turn: int) -> NightRecord:
    seed = int(np.random.default_rng([task.seed, task.number, *([turn] if turn else [])]).integers(2**31))
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
        entered=len(night.pool.list(run_id=night.run_id)),
        outcome=outcome,
        cpu_s=0.0,
        looks=int(outcome in {"promoted", "failed"}),
    )


def _both(before: NightRecord, after: NightRecord) -> NightRecord:
    """Two stretches of the life of a vault as one; the outcome is the last one that was a look, or the refusal of one."""
    return replace(
        before,
        candidates=before.candidates + after.candidates,
        scored=before.scored + after.scored,
        best_score=max((each.best_score for each in (before, after) if each.best_score is not None), default=None),
        best_beats=before.best_beats or after.best_beats,
        finalists=before.finalists + after.finalists,
        entered=before.entered + after.entered,
        outcome=before.outcome if after.outcome == "empty" else after.outcome,
        looks=before.looks + after.looks,
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
    entries = night.pool.list(EntryStatus.CANDIDATE)
    if not entries:
        return "empty"
    entry = max(entries, key=_validation_psr)
    outcome = night.pool.promote(
        entry.id,
        by="Calibration",
        reason="the best on validation",
        context=LookContext(
            binding=entry.binding,
            config=night.settings.run_config(),
            open_vault=lambda: open_vault(SET, home),
            open_runner=lambda _: nullcontext(runner),
        ),
        policy=LookPolicy(alpha=task.alpha, budget=max(task.alpha, 0.05)),
    )
    return "promoted" if isinstance(outcome, Promoted) else "failed" if isinstance(outcome, LookFailed) else "refused"


def _validation_psr(entry: PoolEntry) -> float:
    figures = {check.name: check.figure for check in entry.card.checks}
    return figures.get("validation-psr") or 0.0


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


# Many nights


def run_all(
    tasks: Sequence[Task], *, jobs: int, out: Path | None, tell: Callable[[str], None]
) -> Iterator[NightRecord]:
    """Run what is not kept yet, a few at a time; each night is kept as soon as it is done, and then yielded.

    Raises:
        BrokenProcessPool: a worker process was ended from outside.
    """
    _mend(out)
    done = {(record.kind, record.number) for record in kept(out)}
    left = [task for task in tasks if (task.kind, task.number) not in done]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        max_workers=jobs, mp_context=context, max_tasks_per_child=_NIGHTS_PER_PROCESS, initializer=_begin_worker
    ) as pool:
        try:
            futures = [pool.submit(run_night, task) for task in left]
            for count, future in enumerate(as_completed(futures), start=len(tasks) - len(left) + 1):
                record = future.result()
                if out is not None:
                    with (out / KEPT).open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(record)) + "\n")
                tell(
                    f"{count}/{len(tasks)} {record.kind} {record.number}: {record.scored} scored, "
                    f"{record.entered} entered, {record.outcome}; {record.cpu_s:.1f} s of CPU"
                )
                yield record
        except BaseException:  # Ctrl-C: nights in progress are not waited for
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


KEPT = "nights.jsonl"
"""Name of the file in which nights are kept, one a line."""


def kept(out: Path | None) -> list[NightRecord]:
    """The nights that a folder keeps. A last line that was cut short is left out: its night is run again."""
    if out is None or not (out / KEPT).exists():
        return []
    *whole, _cut = (out / KEPT).read_text(encoding="utf-8").split("\n")
    return [_night(json.loads(line)) for line in whole]


def _mend(out: Path | None) -> None:
    """Take off a last line that was cut short, or the next one would be written behind it."""
    path = None if out is None else out / KEPT
    if path is not None and path.exists():
        text = path.read_text(encoding="utf-8")
        if not text.endswith("\n"):
            path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")


def _night(document: dict[str, Any]) -> NightRecord:
    finalists = [FinalistRecord(**each | {"failed": tuple(each["failed"])}) for each in document["finalists"]]
    return NightRecord(**document | {"finalists": tuple(finalists)})


def _begin_worker() -> None:
    # Ctrl-C in a terminal reaches every process of it; a night has nothing to say about that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.collect()
    gc.freeze()
