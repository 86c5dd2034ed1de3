"""Opens a run: a new one, or one that was cut short, with its data, cage, search and model; and closes it whatever happens."""

from __future__ import annotations

import asyncio
import gc
import secrets
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx

from evolution.bench import CellBench
from evolution.bench_parcel import pack
from evolution.candidate_files import CandidateFiles
from evolution.evaluate import Foresight
from evolution.foresight import NoiseBench
from evolution.heritage import front_of
from evolution.ledger import TrialLedger, UnknownIdError
from evolution.plan import SearchPlan
from evolution.pool import Pool
from evolution.pruning import is_pruned
from evolution.run import RunFacts, RunStatus
from evolution.search import Search
from evolution.seeds import document_sources, seed_sources
from evolution.workboard import Parcel, Workboard
from flows import leading, opening, stopping, ties
from flows.calls import open_clients, open_team
from flows.clock import now
from flows.cluster import joined
from flows.identity import code_digest, config_hash, identity
from flows.night import NIGHTS, Night, NightOutage
from flows.order import Order
from flows.problems import UsageProblem
from runtime.store import StoreError, impatient
from runtime.version import ENGINE_VERSION

# Of the places of a warm start's first generation, at most one in so many goes to earlier nights: tonight is to find its own.
_WARM_SHARE = 3

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.run import RunRecord
    from evolution.trial import Trial
    from flows.settings import Settings
    from flows.ties import Tie
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
        islands=settings.search.islands,
        archive_rate=settings.search.archive_rate,
        tune_rate=settings.search.tune_rate,
        box_width=settings.search.box_width,
        patience=settings.search.patience,
        candidates=settings.search.candidates,
        cpu_s=settings.search.cpu_s,
        warm_start=settings.search.warm_start,
        documents=settings.search.documents,
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
    _refuse_control(record)
    return Order(data=facts.dataset, seed=facts.seed, profile=facts.profile, resume=record.id, **_planned(facts))


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
    if is_pruned(dict(record.story)):
        raise UsageProblem(f"run {record.id} was pruned: what it would repeat is gone; name a later run")
    if "replay" in record.facts.plan:
        raise UsageProblem(
            f"run {record.id} is itself a replay: name the run that it repeats, {record.facts.plan['replay']}"
        )
    facts = record.facts
    _refuse_control(record)
    return Order(data=facts.dataset, seed=facts.seed, profile=facts.profile, replay=record.id, **_planned(facts))


def _refuse_control(record: RunRecord) -> None:
    search = record.facts.plan.get("control_of")
    if search is not None:
        raise UsageProblem(f"run {record.id} is the control arm of {search} and belongs to it: name that run")


def _planned(facts: RunFacts) -> dict[str, Any]:
    """Of the rates only those above 0 are stored; a run of an earlier version had none of them."""
    return {
        "archive_rate": 0.0,
        "tune_rate": 0.0,
        "box_width": 0.0,
        **facts.plan,
        "warm": tuple(facts.plan.get("warm", ())),
    }


@contextmanager
def open_night(
    settings: Settings, home: Path, watch: Watch, order: Order, *, tie: Tie | None = None
) -> Iterator[Night]:
    """A run that is ready for its next generation. How it ends is written down, whatever ends it.

    Args:
        settings: Of this machine.
        home: Holds the store, the data sets and the candidate files.
        watch: Told what happens.
        order: What to run.
        tie: The flow run of a deployment that this is; None at a terminal.

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
        bench = CellBench.build(bars, dataset.train_cells(), settings.run_config())
        noise = NoiseBench.build(bench)
        cage = stack.enter_context(opening.gate_cage(bars, settings.cage))
        noise_cage = stack.enter_context(opening.gate_cage(noise.bars, settings.cage))
        heritage = _heritage(ledger, order, _facts(settings, order, dataset))
        order = replace(order, warm=tuple(_place(trial) for trial in heritage))
        documents = document_sources(next(iter(bars.values())).timeframe) if order.documents else ()
        starters = (*seed_sources(), *documents, *((_place(trial), trial.candidate.source) for trial in heritage))
        record = _begin(ledger, order, _facts(settings, order, dataset), tie)
        engine = stack.enter_context(leading.led(engine, home, record.id))
        ledger = TrialLedger(engine, now=now)
        record = ledger.reopen_run(record.id)
        parts = ties.opening_parts(record.story, tie)
        if parts:
            record = ledger.tell(record.id, **parts)
        replayed = {trial.candidate.id: trial for trial in ledger.trials(order.replay)} if order.replay else {}
        night = Night(
            run_id=record.id,
            facts=record.facts,
            order=order,
            settings=settings,
            dataset=dataset,
            engine=engine,
            ledger=ledger,
            pool=Pool(engine, now=now),
            files=CandidateFiles(home),
            search=Search(_plan(order), run_id=record.id, seed=order.seed, starters=len(starters)),
            bench=bench,
            cage=cage,
            foresight=Foresight.in_cage(noise_cage, noise, settings.cage_limits()),
            models=open_team(
                stack, clients, settings, order, engine=engine, run_id=record.id, replayed=replayed, watch=watch
            ),
            now=now,
            starters=starters,
            heritage=heritage,
            recalls=order.replay is None and ledger.has_other_runs(record.id),
            replayed=replayed,
            watch=watch,
            # A replay obeys what is stored, kill by kill, and another machine's kills are not among that.
            board=Workboard(engine) if order.replay is None else None,
        )
        if night.board is not None:
            parcel = pack(bars, dataset.train_cells(), settings.run_config())
            night.board.publish(record.id, Parcel(code=code_digest(), bench=parcel))
            if settings.dask is not None:
                watch.now("bringing the run to the Dask cluster")
                night.cluster = stack.enter_context(
                    joined(
                        settings.dask,
                        record.id,
                        identity(settings),
                        parcel,
                        watch,
                        at_once_here=settings.worker_count(),
                    )
                )
        night.recall(ledger.trials(record.id))
        NIGHTS[record.id] = night
        stack.callback(NIGHTS.pop, record.id)
        # What is there now lives as long as the night: the collector need not walk over all of it again and again, which took a
        # twelfth of this process's time.
        gc.freeze()
        stack.callback(gc.unfreeze)
        with _ending(night), stopping.as_asked():
            yield night


@contextmanager
def _ending(night: Night) -> Iterator[None]:
    try:
        yield
    except (StoreError, httpx.TransportError, asyncio.CancelledError):
        # The database or Prefect's server stayed away, or the server took back the deployment's place (a person's wish to cancel comes
        # as a signal). No fault of the run, and nobody's wish: nobody leads it any more, that shows, and it may go on by itself.
        raise
    except NightOutage as outage:
        _finish(night, RunStatus.INTERRUPTED, why=str(outage))
        raise
    except Exception:  # whatever went wrong, the run must not look as if it were still running
        _finish(night, RunStatus.FAILED)
        raise
    except BaseException:  # Ctrl-C, and the signal with which a worker stops a flow
        _finish(night, RunStatus.INTERRUPTED)
        raise
    night.ledger.finish_run(night.run_id, RunStatus.FINISHED)


def _finish(night: Night, status: RunStatus, *, why: str | None = None) -> None:
    """Write down how it ended, when that can be done at once: what ended it is what must be told."""
    with suppress(StoreError):
        ledger = TrialLedger(impatient(night.engine), now=now)
        ledger.tell(night.run_id, interruption=why)
        ledger.finish_run(night.run_id, status)


def _facts(settings: Settings, order: Order, dataset: DataSet) -> RunFacts:
    return RunFacts(
        seed=order.seed,
        plan={
            "generations": order.generations,
            "population": order.population,
            "crossover_rate": order.crossover_rate,
            "llm_share": order.llm_share,
            **{name: value for name, value in _extras(order).items() if value},
            **({"replay": order.replay} if order.replay else {}),
        },
        dataset=dataset.name,
        dataset_sha256=dataset.sha256,
        config_hash=config_hash(settings),
        engine_version=ENGINE_VERSION,
        profile=order.profile,
        note=f"replay of {order.replay}, with no network" if order.replay else "",
    )


def _extras(order: Order) -> dict[str, Any]:
    """What most runs leave alone; only what is set is stored."""
    return {
        "islands": order.islands if order.islands > 1 else None,
        "archive_rate": order.archive_rate,
        "tune_rate": order.tune_rate,
        "box_width": order.box_width,
        "patience": order.patience,
        "candidates": order.candidates,
        "cpu_s": order.cpu_s,
        "control": order.control,
        "control_of": order.control_of,
        "warm_start": order.warm_start,
        "documents": order.documents,
        "warm": list(order.warm),
    }


def _heritage(ledger: TrialLedger, order: Order, facts: RunFacts) -> tuple[Trial, ...]:
    """Whom a run starts from besides the seeds: as stored when it is resumed, else the best of the earlier front."""
    if order.warm:
        places = [place.split("/") for place in order.warm]
        return tuple(ledger.trial(run_id, candidate_id) for run_id, candidate_id in places)
    if not order.warm_start or order.resume is not None or order.replay is not None:
        return ()
    return front_of(ledger.scored(facts))[: max(1, order.population // _WARM_SHARE)]


def _place(trial: Trial) -> str:
    return f"{trial.candidate.run_id}/{trial.candidate.id}"


def _begin(ledger: TrialLedger, order: Order, facts: RunFacts, tie: Tie | None) -> RunRecord:
    if order.replay is not None:
        _require_same(ledger.run(order.replay), facts)
    if order.resume is None:
        # From the first moment on: whoever is killed between here and the lock leaves a run that can be found.
        return ledger.start_run(facts, story=ties.opening_parts({}, tie))
    record = ledger.run(order.resume)
    _require_same(record, facts)
    return record


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
        islands=order.islands,
        archive_rate=order.archive_rate,
        tune_rate=order.tune_rate,
        box_width=order.box_width,
        patience=order.patience,
        is_control=order.control_of is not None,
    )
