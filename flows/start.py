"""Opens a run: a new one, or one that was cut short, with its data, cage, search and model; and closes it whatever happens."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from evolution.candidate_files import CandidateFiles
from evolution.evaluate import CellBench
from evolution.ledger import TrialLedger, UnknownIdError
from evolution.llm import KeyMissingError, open_client
from evolution.llm.breeder import LlmBreeder
from evolution.llm.contract import standard_prompts
from evolution.pool import Pool
from evolution.run import RunFacts, RunStatus
from evolution.search import Search, SearchPlan
from evolution.seeds import seed_sources
from flows import opening
from flows.calls import CallFile
from flows.clock import now
from flows.identity import config_hash
from flows.night import NIGHTS, Night, NightOutage, Order
from flows.problems import UsageProblem
from runtime.version import ENGINE_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.llm import EndpointClient
    from evolution.run import RunRecord
    from flows.settings import Settings
    from flows.watch import Watch
    from runtime.market import DataSet


def new_order(settings: Settings, *, seed: int | None, profile: str | None) -> Order:
    """What to run, from the settings; a seed is drawn when none is given, and stored like a given one."""
    if profile is not None:
        settings.profile(profile)  # an unknown name is told before anything is opened
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
        client = _client(stack, settings, order)
        watch.now("opening the cage")
        bars = dataset.train_bars()
        cage = stack.enter_context(opening.gate_cage(bars, settings.cage))
        record = _begin(ledger, order, _facts(settings, order, dataset))
        stack.enter_context(_lock(home, record.id))
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
            breeder=_breeder(client, settings, order, home, record.id) if client else None,
            watch=watch,
        )
        night.recall(ledger.trials(record.id))
        NIGHTS[record.id] = night
        stack.callback(NIGHTS.pop, record.id)
        with _ending(ledger, record.id):
            yield night


@contextmanager
def _ending(ledger: TrialLedger, run_id: str) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, NightOutage):
        ledger.finish_run(run_id, RunStatus.INTERRUPTED)
        raise
    except BaseException:  # whatever went wrong, the run must not look as if it were still running
        ledger.finish_run(run_id, RunStatus.FAILED)
        raise
    ledger.finish_run(run_id, RunStatus.FINISHED)


def _facts(settings: Settings, order: Order, dataset: DataSet) -> RunFacts:
    return RunFacts(
        seed=order.seed,
        plan={
            "generations": order.generations,
            "population": order.population,
            "crossover_rate": order.crossover_rate,
            "llm_share": order.llm_share,
        },
        dataset=dataset.name,
        dataset_sha256=dataset.sha256,
        config_hash=config_hash(settings),
        engine_version=ENGINE_VERSION,
        profile=order.profile,
    )


def _begin(ledger: TrialLedger, order: Order, facts: RunFacts) -> RunRecord:
    if order.resume is None:
        return ledger.start_run(facts)
    stored = ledger.run(order.resume).facts
    for name in ("dataset_sha256", "config_hash", "engine_version"):
        before, after = getattr(stored, name), getattr(facts, name)
        if before != after:
            raise UsageProblem(
                f"run {order.resume}: its {name.replace('_', ' ')} was {before[:12]} and is {after[:12]} now, so its trials "
                f"would not compare; start a new run"
            )
    return ledger.reopen_run(order.resume)


@contextmanager
def _lock(home: Path, run_id: str) -> Iterator[None]:
    """One process per run: two that resume the same one would try the same candidates twice."""
    folder = home / "runs" / run_id
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise UsageProblem(
            f"run {run_id} is being worked on by another process; wait for it, or stop it first"
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)


def _plan(order: Order) -> SearchPlan:
    return SearchPlan(
        generations=order.generations,
        population=order.population,
        crossover_rate=order.crossover_rate,
        llm_share=order.llm_share,
    )


def _client(stack: ExitStack, settings: Settings, order: Order) -> EndpointClient | None:
    if order.profile is None:
        return None
    try:
        return stack.enter_context(open_client(settings.profile(order.profile), os.environ))
    except KeyMissingError as error:
        raise UsageProblem(str(error)) from None


def _breeder(client: EndpointClient, settings: Settings, order: Order, home: Path, run_id: str) -> LlmBreeder:
    assert order.profile is not None  # there is a client
    record = CallFile(home, run_id).keep
    return LlmBreeder(client, settings.profile(order.profile), prompts=standard_prompts(), record=record)
