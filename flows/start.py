"""Opens a run: a new one, or one that was cut short, with its data, cage, search and model; and closes it whatever happens."""

from __future__ import annotations

import secrets
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from evolution.candidate_files import CandidateFiles
from evolution.evaluate import CellBench
from evolution.ledger import TrialLedger, UnknownIdError
from evolution.pool import Pool
from evolution.run import RunFacts, RunStatus
from evolution.search import Search, SearchPlan
from evolution.seeds import seed_sources
from flows import opening, runlock
from flows.calls import open_clients, open_team
from flows.clock import now
from flows.identity import config_hash
from flows.night import NIGHTS, Night, NightOutage, Order
from flows.problems import UsageProblem
from runtime.version import ENGINE_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.run import RunRecord
    from flows.settings import Settings
    from flows.watch import Watch
    from runtime.market import DataSet


def new_order(settings: Settings, *, seed: int | None, profile: str | None) -> Order:
    """What to run, from the settings; a seed is drawn when none is given, and stored like a given one."""
    if profile is not None:
        settings.profiles(profile)  # an unknown name is told before anything is opened
    return Order(
        data=settings.data,
        generations=settings.search.generations,
        population=settings.search.population,
        crossover_rate=settings.search.crossover_rate,
        llm_share=settings.search.llm_share if profile else 0.0,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        profile=profile,
    )


def stored_order(engine: Engine, run_id: str) -> Order:
    """What a stored run was started with.

    Raises:
        UsageProblem: there is no such run, or it has finished.
    """
    try:
        record = TrialLedger(engine, now=now).run(run_id)
    except UnknownIdError as error:
        raise UsageProblem(str(error)) from None
    if record.status is RunStatus.FINISHED:
        raise UsageProblem(f"run {record.id} has already finished; see trigate runs show {record.id}")
    facts = record.facts
    return Order(data=facts.dataset, seed=facts.seed, profile=facts.profile, resume=record.id, **facts.plan)


def replayed_order(engine: Engine, run_id: str) -> Order:
    """What a stored run was started with, to be run once more from what it has stored.

    Raises:
        UsageProblem: there is no such run, it has not finished, or it is a replay itself.
    """
    try:
        record = TrialLedger(engine, now=now).run(run_id)
    except UnknownIdError as error:
        raise UsageProblem(str(error)) from None
    if record.status is not RunStatus.FINISHED:
        raise UsageProblem(f"run {record.id} has not finished ({record.status.value}): --resume it before a replay")
    if "replay" in record.facts.plan:
        raise UsageProblem(
            f"run {record.id} is itself a replay: name the run that it repeats, {record.facts.plan['replay']}"
        )
    facts = record.facts
    return Order(data=facts.dataset, seed=facts.seed, profile=facts.profile, replay=record.id, **facts.plan)


@contextmanager
def open_night(settings: Settings, home: Path, watch: Watch, order: Order) -> Iterator[Night]:
    """A run that is ready for its next generation. How it ends is written down, whatever ends it.

    Args:
        settings: Of this machine.
        home: Holds the store, the data sets and the candidate files.
        watch: Told what happens.
        order: What to run.

    Raises:
        UsageProblem: unknown data set or profile, a missing key, or a run that cannot go on as it began.
        EnvironmentProblem: the store or a required layer of the cage is missing.
    """
    engine = opening.engine(home)
    ledger = TrialLedger(engine, now=now)
    with ExitStack() as stack:
        dataset = opening.dataset(order.data, home)
        clients = open_clients(stack, settings, order)
        watch.now("opening the cage")
        bars = dataset.train_bars()
        cage = stack.enter_context(opening.gate_cage(bars, settings.cage))
        record = _begin(ledger, order, _facts(settings, order, dataset))
        stack.enter_context(runlock.held(home, record.id))
        replayed = {trial.candidate.id: trial for trial in ledger.trials(order.replay)} if order.replay else {}
        night = Night(
            run_id=record.id,
            order=order,
            settings=settings,
            dataset=dataset,
            ledger=ledger,
            pool=Pool(engine, now=now),
            files=CandidateFiles(home),
            search=Search(_plan(order), run_id=record.id, seed=order.seed, starters=len(seed_sources())),
            bench=CellBench.build(bars, dataset.train_cells(), settings.run_config()),
            cage=cage,
            models=open_team(
                stack, clients, settings, order, engine=engine, run_id=record.id, replayed=replayed, watch=watch
            ),
            replayed=replayed,
            watch=watch,
        )
        night.recall(ledger.trials(record.id))
        NIGHTS[record.id] = night
        stack.callback(NIGHTS.pop, record.id)
        with _ending(night):
            yield night


@contextmanager
def _ending(night: Night) -> Iterator[None]:
    ledger, run_id = night.ledger, night.run_id
    try:
        yield
    except NightOutage:
        ledger.finish_run(run_id, RunStatus.INTERRUPTED)
        raise
    except Exception:  # whatever went wrong, the run must not look as if it were still running
        ledger.finish_run(run_id, RunStatus.FAILED)
        raise
    except BaseException:  # Ctrl-C, and the signal with which a worker stops a flow
        ledger.finish_run(run_id, RunStatus.INTERRUPTED)
        raise
    ledger.finish_run(run_id, RunStatus.FINISHED, note=night.note)


def _facts(settings: Settings, order: Order, dataset: DataSet) -> RunFacts:
    return RunFacts(
        seed=order.seed,
        plan={
            "generations": order.generations,
            "population": order.population,
            "crossover_rate": order.crossover_rate,
            "llm_share": order.llm_share,
            **({"replay": order.replay} if order.replay else {}),
        },
        dataset=dataset.name,
        dataset_sha256=dataset.sha256,
        config_hash=config_hash(settings),
        engine_version=ENGINE_VERSION,
        profile=order.profile,
        note=f"replay of {order.replay}, with no network" if order.replay else "",
    )


def _begin(ledger: TrialLedger, order: Order, facts: RunFacts) -> RunRecord:
    if order.replay is not None:
        _require_same(ledger.run(order.replay), facts)
    if order.resume is None:
        return ledger.start_run(facts)
    _require_same(ledger.run(order.resume), facts)
    return ledger.reopen_run(order.resume)


def _require_same(run: RunRecord, facts: RunFacts) -> None:
    """Check that trials of now would compare with those of a stored run.

    Raises:
        UsageProblem: the data, the configuration or the engine is another one.
    """
    for name in ("dataset_sha256", "config_hash", "engine_version"):
        before, after = getattr(run.facts, name), getattr(facts, name)
        if before != after:
            raise UsageProblem(
                f"run {run.id}: its {name.replace('_', ' ')} was {before[:12]} and is {after[:12]} now, so its trials "
                f"would not compare; start a new run"
            )


def _plan(order: Order) -> SearchPlan:
    return SearchPlan(
        generations=order.generations,
        population=order.population,
        crossover_rate=order.crossover_rate,
        llm_share=order.llm_share,
    )
