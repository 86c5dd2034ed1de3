"""The ``evolve`` flow: one ``generation`` subflow after the other, then admission to the pool and the report.

The flow's parameters are the harmless part of the configuration: sizes and names. Endpoints, keys, paths and the cage's mode come
from the ``trigate.toml`` of the machine that runs it.
"""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from prefect import flow, tags
from prefect.events import emit_event
from prefect.runtime import deployment, flow_run
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from evolution.pool import AlreadyIn, Entered, NotAdmitted
from evolution.report import render_markdown, verdict
from evolution.run import RunStatus
from evolution.trial import TrialOutcome
from flows import artifacts, morning, opening, stopping
from flows.admission import admit_finalists
from flows.clock import now
from flows.control import run_control
from flows.forms import ONE_NIGHT, NightForm, RunName
from flows.night import NIGHTS, NightOutage
from flows.problems import Problem, UsageProblem
from flows.settings import home_folder, load_settings
from flows.start import new_order, open_night, stored_order
from flows.tasks import try_candidate
from flows.tidings import claim, store_tag
from flows.ties import AGAIN, Tie
from flows.watch import SilentWatch
from runtime.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from prefect.client.schemas.objects import State
    from prefect.futures import PrefectFuture

    from evolution.pool import Consideration
    from evolution.trial import Trial
    from flows.night import Night


@flow(name="generation", flow_run_name="generation g{number:03d}", persist_result=False)
def generation(run_id: str, number: int) -> State[str]:
    """Breed, try and select one generation."""
    night = NIGHTS[run_id]
    night.watch.generation_began(number)
    try:
        futures = {identity: try_candidate.submit(run_id, identity) for identity in night.breed()}
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
    words = ", ".join(f"{count} {name}" for name, count in counts.items())
    return Completed(name="Selected", message=words, data=str(flow_run.id))


def next_generation(night: Night) -> str:
    """One generation of a run as a subflow; the id of its flow run."""
    # One runner per generation; workers differ from machine to machine, results do not.
    runner: Any = ThreadPoolTaskRunner(max_workers=night.at_once())  # its generic is not spelled out upstream
    # A flow run with heartbeats ends up to a second late, since the thread that sends them sleeps for a second at a time and is
    # waited for. The flow run of the whole night has them, and ours is told dead from alive by its process anyway.
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        # What a flow answers with is the data of the state that it returns.
        return str(generation.with_options(task_runner=runner)(night.run_id, night.search.generation))


@flow(name="evolve", flow_run_name="evolve {night.data}", persist_result=False)
def evolve(night: NightForm = ONE_NIGHT, run: RunName | None = None) -> str:
    """Evolve strategies on a data set and fill the pool.

    Args:
        night: Names and sizes.
        run: For the command line only: a run that this very process has open already.
    """
    home = home_folder()
    claim(home, flow_run.id, flow_run.tags)
    # Generations are flow runs, too.
    with tags(store_tag(home)), _joined(night, run) as opened:
        progress = artifacts.open_progress(opened.run_id)
        generations: dict[str, str] = {}
        while opened.search.end is None and opened.stop_reason() is None:
            number = opened.search.generation
            generations[f"generation g{number:03d}"] = next_generation(opened)
            artifacts.show_progress(progress, opened.search.generation / opened.order.generations)
            stopping.obey()
        opened.conclude()
        stopped = opened.ledger.run(opened.run_id).story.get("stop")
        if stopped is not None:
            _emit("budget", opened.run_id, reason=stopped["reason"])
        _tell_admission(opened.run_id, admit_finalists(opened))
        if opened.order.control:
            run_control(opened)
        summary = opened.summary()
        _emit("finished", opened.run_id, verdict=verdict(summary), entries=[entry.id for entry in summary.entries])
        # The store says so when this process lets go of the run; nothing but a drawing is left to do until then.
        ended = replace(summary, record=replace(summary.record, status=RunStatus.FINISHED, finished=now()))
        artifacts.publish_summary(render_markdown(ended), run_id=opened.run_id, generations=generations)
        _keep_curves(opened)
    if run is None:
        # A run from the command line gets its page there, when its end is stored; here nobody else would write it.
        with contextlib.suppress(Problem):
            morning.write_report(opened.ledger, opened.pool, home, opened.run_id)
    return opened.run_id


def _keep_curves(night: Night) -> None:
    """For the run's page, while the cage is open."""
    try:
        morning.keep_curves(night, home_folder())
    except Exception as error:  # noqa: BLE001 - all is tried, admitted and stored: a drawing must not make a finished night a failed one
        night.watch.say(f"report: its curves could not be made ({type(error).__name__}); trigate report tries again")


@contextmanager
def _joined(form: NightForm, run: str | None) -> Iterator[Night]:
    """The run that this process has open under that id; otherwise a new one, or the one to go on with."""
    if run is not None:
        if run not in NIGHTS:
            raise UsageProblem(f"run {run!r} is not open in this process: leave it empty, and name it under resume")
        yield NIGHTS[run]
        return
    home = home_folder()
    settings = load_settings(
        None, home, data=form.data, search__generations=form.generations, search__population=form.population
    )
    if form.resume is not None:
        order = stored_order(opening.engine(home), form.resume)
    else:
        opening.named_set(form.data, home)  # a path from a form is never opened
        order = new_order(settings, seed=form.seed, profile=form.profile)
    order = replace(order, until=_until(form))
    with open_night(settings, home, SilentWatch(), order, tie=_tie(order.until)) as night:
        yield night


def _until(form: NightForm) -> datetime | None:
    """The earlier one of the form's two ways to name a deadline."""
    minutes = form.deadline_minutes
    named = (form.until, None if minutes is None else now() + timedelta(minutes=minutes))
    return min((each for each in named if each is not None), default=None)


def _tie(until: datetime | None) -> Tie | None:
    """What this process is to the station, which looks after flow runs of deployments."""
    if deployment.id is None:
        return None
    return Tie(flow_run=str(flow_run.id), until=until, is_automatic=AGAIN in flow_run.tags)


def _wait(night: Night, futures: Mapping[str, PrefectFuture[State[str]]]) -> NightOutage | StoreError | None:
    """Wait for all candidates. A fault of ours in one of them is recorded for it and costs nobody else anything."""
    outage: NightOutage | StoreError | None = None
    for identity, future in futures.items():
        future.wait()
        if not future.state.is_failed() and not future.state.is_crashed():
            continue
        error: object = future.result(raise_on_failure=False)
        if isinstance(error, NightOutage | StoreError):
            outage = error
        elif identity not in night.trials:
            night.record_fault(identity, type(error).__name__)
    return outage


def _counts(trials: Sequence[Trial]) -> dict[str, int]:
    counts = {outcome.value: sum(trial.outcome is outcome for trial in trials) for outcome in TrialOutcome}
    return {name: count for name, count in counts.items() if count}


def _tell_admission(run_id: str, verdicts: Sequence[Consideration]) -> None:
    """An event for each entry and for each refusal."""
    for each in verdicts:
        match each:
            case Entered(entry=entry):
                resource = {"prefect.resource.id": f"trigate.pool.{entry.id}", "trigate.entry": entry.id}
                _event("trigate.pool.admitted", resource, run=run_id, candidate=entry.candidate_id, score=entry.score)
            case NotAdmitted(card=card):
                resource = {"prefect.resource.id": f"trigate.run.{run_id}"}
                _event("trigate.pool.refused", resource, check=card.failed[0].name, sentence=card.failed[0].sentence)
            case AlreadyIn():
                pass


def _emit(what: str, run_id: str, **payload: object) -> None:
    _event(f"trigate.run.{what}", {"prefect.resource.id": f"trigate.run.{run_id}"}, **payload)


def _event(name: str, resource: dict[str, str], **payload: object) -> None:
    """Tell Prefect's event feed; automations hang on it. A feed that is out must not stop a night."""
    with contextlib.suppress(OSError, RuntimeError):
        emit_event(event=name, resource=resource, payload=payload)
