"""``trigate evolve``: the main job, watched on the console."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evolution.plural import plural
from flows.commands.options import CageChoice, ConfigFile, DataSet, Json, Symbol, TimeframeText
from flows.problems import EnvironmentProblem, Interruption, UsageProblem

if TYPE_CHECKING:
    from evolution.summary import RunSummary
    from flows.night import Night
    from flows.order import Order
    from flows.settings import Settings
    from flows.watch import ConsoleWatch


def evolve(
    config: ConfigFile = None,
    data: DataSet = None,
    generations: Annotated[int | None, typer.Option(help="How many generations (default 6).")] = None,
    population: Annotated[int | None, typer.Option(help="Candidates in each generation (default 24).")] = None,
    seed: Annotated[int | None, typer.Option(help="Equal seeds give equal candidates, scores and pool.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="No model: offline operators only (the default).")] = False,
    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="PROFILE", help="Let a model write children; several, by comma, share the work."),
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a run that was cut short.")] = None,
    replay: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Run a finished run once more from what it has stored, with no network."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="HH:MM", help="Be done by then (local time), with time left for admission."),
    ] = None,
    control: Annotated[
        bool,
        typer.Option("--control", help="Then run the same operators and budget without selection, and compare."),
    ] = False,
    warm_start: Annotated[
        bool, typer.Option("--warm-start", help="Start also from the front of earlier nights on this data.")
    ] = False,
    documents: Annotated[
        bool, typer.Option("--documents", help="Breed documents of the closed language (SIR) beside Python files.")
    ] = False,
    symbol: Symbol = None,
    timeframe: TimeframeText = None,
    cage: CageChoice = None,
    json: Json = False,
) -> int:
    """Evolve strategies: breed, gate, cage, score, select; then fill the pool."""
    _refuse_contradictions(
        offline=offline, llm=llm, resume=resume, replay=replay, others=(data, generations, population, seed)
    )
    if control and llm:
        raise UsageProblem(
            f"--control and --llm {llm} exclude each other: a fair control arm would ask the model as often as the search does, at "
            f"twice the cost; leave --llm out to see what selection adds to the offline operators, or leave --control out"
        )
    if (control or warm_start or documents) and (resume or replay):
        raise UsageProblem(
            "--control, --warm-start and --documents belong to a new run; --resume and --replay keep to what theirs had"
        )
    from flows.settings import home_folder, load_settings
    from flows.watch import ConsoleWatch

    home = home_folder()
    settings = load_settings(
        config, home, data=data, cage=cage, search__generations=generations, search__population=population
    )
    order = _order(settings, home, seed=seed, llm=llm, resume=resume, replay=replay, symbol=symbol, timeframe=timeframe)
    order = replace(
        order,
        until=_next(until, datetime.now().astimezone()) if until else None,
        control=order.control or control,
        warm_start=order.warm_start or warm_start,
        documents=order.documents or documents,
    )
    with ConsoleWatch(stderr=json) as watch:
        watch.say(f"Trigate {_version()}: evolving strategies; state is kept in {home}")
        summary = _run(settings, home, watch, order)
    _print(summary, json=json)
    page = _page(home, summary)
    if not json:
        print(page)
    return 0


def _page(home: Path, summary: RunSummary) -> str:
    """Write the page of the run; where it is, or why there is none: the run itself is done and stored."""
    from flows.commands.runs import stores
    from flows.morning import write_report
    from flows.output import plain
    from flows.problems import Problem

    try:
        path = write_report(*stores(), home, summary.record.id)
    except Problem as problem:
        return f"report: not written: {plain(str(problem))}"
    except Exception as error:  # noqa: BLE001 - the run is done and told; a fault in its page must not make its end look like one
        return f"report: not written ({type(error).__name__}); see trigate report {summary.record.id}"
    return f"report: {plain(str(path))}"


def _next(text: str, now: datetime) -> datetime:
    """The next time that a clock here shows ``HH:MM``."""
    try:
        wanted = datetime.strptime(text, "%H:%M").time()  # noqa: DTZ007 - it has no date yet
    except ValueError:
        raise UsageProblem(f"--until {text}: write hours and minutes, like 06:30") from None
    today = now.replace(hour=wanted.hour, minute=wanted.minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def _refuse_contradictions(
    *, offline: bool, llm: str | None, resume: str | None, replay: str | None, others: tuple[object, ...]
) -> None:
    if offline and llm:
        raise UsageProblem("--offline and --llm exclude each other: leave one out")
    if resume and replay:
        raise UsageProblem(
            "--resume and --replay exclude each other: a replay that was cut short is resumed by its own id"
        )
    for flag, run in (("--resume", resume), ("--replay", replay)):
        if run and (llm or any(each is not None for each in others)):
            raise UsageProblem(f"{flag} takes the run's own data, sizes, seed and profile: leave those flags out")


def _order(
    settings: Settings,
    home: Path,
    *,
    seed: int | None,
    llm: str | None,
    resume: str | None,
    replay: str | None,
    symbol: str | None,
    timeframe: str | None,
) -> Order:
    from flows.opening import dataset, engine
    from flows.start import new_order, replayed_order, stored_order

    if resume is not None:
        return stored_order(engine(home), resume)
    if replay is not None:
        return replayed_order(engine(home), replay)
    # Registers a file under a name, so that the run itself only ever speaks of names.
    registered = dataset(settings.data, home, symbol=symbol, timeframe=timeframe)
    whole = dataset(registered.name, home)
    if registered.symbols != whole.symbols:
        raise UsageProblem(
            f"--symbol {symbol}: a run searches on all symbols of a set, and {whole.name} has {', '.join(whole.symbols)}; leave it "
            f"out, or give --data a file of that symbol"
        )
    return new_order(settings.model_copy(update={"data": registered.name}), seed=seed, profile=llm)


def _run(settings: Settings, home: Path, watch: ConsoleWatch, order: Order) -> RunSummary:
    """The run itself. Prefect's server starts while data, store and cage open; prefect is imported last."""
    from flows import stopping
    from flows.night import NightOutage
    from flows.replay import in_words
    from flows.server import start_server
    from flows.start import open_night
    from runtime.store import FencedError, StoreError

    server = start_server(home)
    if not server.own:
        server.wait()  # a named server that does not answer is told before a run begins
    stopping.listen()
    run_id = ""
    try:
        with open_night(settings, home, watch, order) as night:
            run_id = night.run_id
            _introduce(watch, night)
            running = server.wait(lambda elapsed: watch.now(f"Prefect's server is starting ({elapsed:.0f} s)"))
            watch.say(f"Prefect: {running.ui_url}" + (" (while this run lasts)" if running.own else ""))
            _flow(night)
            if order.replay is not None:
                watch.say(in_words(order.replay, night.replayed, night.trials))
    except NightOutage as outage:
        raise EnvironmentProblem(f"{outage}; {_resumable(run_id)}") from None
    except FencedError as error:
        raise EnvironmentProblem(str(error)) from None
    except StoreError as error:
        raise EnvironmentProblem(f"{error}; {_resumable(run_id)}" if run_id else str(error)) from None
    except KeyboardInterrupt:
        if not run_id:
            raise
        raise Interruption(f"stopped; {_resumable(run_id)}") from None
    return night.summary()


def _resumable(run_id: str) -> str:
    return f"run {run_id} is stored and goes on with: trigate evolve --resume {run_id}"


def _flow(night: Night) -> None:
    from flows.evolve import evolve as flow
    from flows.forms import NightForm

    order = night.order
    flow(
        night=NightForm(
            data=order.data,
            generations=order.generations,
            population=order.population,
            seed=order.seed,
            profile=order.profile,
        ),
        run=night.run_id,
    )


def _introduce(watch: ConsoleWatch, night: Night) -> None:
    from flows.output import ORIGINS

    dataset, order, settings = night.dataset, night.order, night.settings
    origin = ORIGINS[dataset.label]
    children = f"model profile {order.profile}" if order.profile else "offline operators, no model"
    if order.replay:
        children += f", as stored by run {order.replay}"
    watch.say(
        f"run {night.run_id}: {dataset.name} ({origin}: {', '.join(dataset.symbols)}, {dataset.timeframe}), seed {order.seed}"
    )
    watch.say(
        f"{plural(order.generations, 'generation')} of {order.population}; children by {children}; "
        f"{settings.cage} cage, {night.at_once()} at a time{_where(settings)}"
    )
    watch.expect(generations=order.generations, candidates=order.generations * order.population, done=len(night.trials))


def _where(settings: Settings) -> str:
    return "" if settings.dask is None else f" on the Dask cluster at {settings.dask.scheduler}"


def _print(summary: RunSummary, *, json: bool) -> None:
    from evolution.pool import entry_document, run_document
    from evolution.report import render_text, verdict
    from flows.commands.pool import print_entries
    from flows.output import print_json

    run = summary.record.id
    if json:
        entries = [entry_document(entry) for entry in summary.entries]
        print_json(run_document(summary.record, summary.funnel) | {"verdict": verdict(summary), "entries": entries})
        return
    print(render_text(summary))
    if summary.entries:
        print_entries(summary.entries)
        first = summary.entries[0].id
        print(f"look: trigate pool show {first}; decide: trigate pool promote {first} --by NAME --reason TEXT")
    else:
        print(f"the pool got nothing from this run; every candidate and its reason: trigate runs show {run} --json")


def _version() -> str:
    from importlib.metadata import version

    return version("trigate")
