"""The ``evolve`` flow: one ``generation`` subflow after the other, then admission to the pool and the report.

The flow's parameters are the harmless part of the configuration: sizes and names. Endpoints, keys, paths and the cage's mode come
from the ``trigate.toml`` of the machine that runs it.
"""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prefect import flow
from prefect.events import emit_event
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from evolution.report import render_markdown, verdict
from evolution.trial import TrialOutcome
from flows import artifacts
from flows.admission import admit_finalists
from flows.control import run_control
from flows.night import NIGHTS, NightOutage
from flows.settings import home_folder, load_settings
from flows.start import new_order, open_night
from flows.tasks import try_candidate
from flows.watch import SilentWatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prefect.client.schemas.objects import State
    from prefect.futures import PrefectFuture

    from evolution.trial import Trial
    from flows.night import Night


@flow(name="generation", flow_run_name="generation g{number:03d}", persist_result=False)
def generation(run_id: str, number: int) -> State[str]:
    """Breed, try and select one generation."""
    night = NIGHTS[run_id]
    night.watch.generation_began(number)
    candidates = night.breed()
    futures = {identity: try_candidate.submit(run_id, identity) for identity in candidates}
    try:
        outage = _wait(night, futures)
    except BaseException:
        night.stop()  # otherwise the threads would go on waiting for a model that nobody needs any more
        raise
    if outage is not None:
        raise outage
    trials = night.close_generation()
    artifacts.publish_generation(run_id, number, trials)
    counts = _counts(trials)
    _emit(
        "generation", run_id, generation=number, best_score=night.best_score(), front=len(night.search.front), **counts
    )
    return Completed(name="Selected", message=", ".join(f"{count} {name}" for name, count in counts.items()))


@flow(name="evolve", flow_run_name="evolve {data}", persist_result=False)
def evolve(  # noqa: PLR0913, PLR0917 - the parameters are the form in the UI
    data: str = "us-large-caps",
    generations: int = 6,
    population: int = 24,
    seed: int | None = None,
    profile: str | None = None,
    run: str | None = None,
) -> str:
    """Evolve strategies on a data set and fill the pool.

    Args:
        data: Name of a registered or built-in data set.
        generations: Generations after which the run ends.
        population: Candidates in each generation.
        seed: Equal seeds give equal candidates, scores and pool; None draws one.
        profile: Name of a model profile of the worker's ``trigate.toml``; None keeps to the offline operators.
        run: A run that this process has open already; None opens one.
    """
    with _joined(run, data=data, generations=generations, population=population, seed=seed, profile=profile) as night:
        progress = artifacts.open_progress(night.run_id)
        while night.search.end is None and night.stop_reason() is None:
            # One runner per generation; workers differ from machine to machine, results do not.
            runner: Any = ThreadPoolTaskRunner(
                max_workers=night.settings.worker_count()
            )  # its generic is not spelled out upstream
            generation.with_options(task_runner=runner)(night.run_id, night.search.generation)
            artifacts.show_progress(progress, night.search.generation / night.order.generations)
        night.conclude()
        admit_finalists(night)
        if night.order.control:
            run_control(night)
        summary = night.summary()
        _emit("finished", night.run_id, verdict=verdict(summary), entries=[entry.id for entry in summary.entries])
        artifacts.publish_summary(render_markdown(summary))
        return night.run_id


@contextmanager
def _joined(  # noqa: PLR0913 - the flow's parameters
    run: str | None, *, data: str, generations: int, population: int, seed: int | None, profile: str | None
) -> Iterator[Night]:
    """The run that this process has open under that id; otherwise a new one."""
    if run is not None:
        yield NIGHTS[run]
        return
    home = home_folder()
    settings = load_settings(None, home, data=data, search__generations=generations, search__population=population)
    with open_night(settings, home, SilentWatch(), new_order(settings, seed=seed, profile=profile)) as night:
        yield night


def _wait(night: Night, futures: Mapping[str, PrefectFuture[State[str]]]) -> NightOutage | None:
    """Wait for all candidates. A fault of ours in one of them is recorded for it and costs nobody else anything."""
    outage: NightOutage | None = None
    for identity, future in futures.items():
        future.wait()
        if not future.state.is_failed() and not future.state.is_crashed():
            continue
        error: object = future.result(raise_on_failure=False)
        if isinstance(error, NightOutage):
            outage = error
        elif identity not in night.trials:
            night.record_fault(identity, type(error).__name__)
    return outage


def _counts(trials: Sequence[Trial]) -> dict[str, int]:
    counts = {outcome.value: sum(trial.outcome is outcome for trial in trials) for outcome in TrialOutcome}
    return {name: count for name, count in counts.items() if count}


def _emit(what: str, run_id: str, **payload: object) -> None:
    """Tell Prefect's event feed; automations hang on it. A feed that is out must not stop a night."""
    with contextlib.suppress(OSError, RuntimeError):
        emit_event(
            event=f"trigate.run.{what}", resource={"prefect.resource.id": f"trigate.run.{run_id}"}, payload=payload
        )
