"""``trigate work``: help with runs that another process leads, on this machine or another one with the same database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from evolution.plural import plural
from flows.commands.options import CageChoice, ConfigFile, Json
from flows.problems import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from flows.settings import Settings
    from flows.watch import ConsoleWatch

_PAUSE_S = 1.0
"""Between two looks for a run to help with."""


def work(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only this run, until it ends; without it any, until stopped.")
    ] = None,
    config: ConfigFile = None,
    cage: CageChoice = None,
    json: Json = False,
) -> int:
    """Try candidates for runs that another process leads; TRIGATE_DATABASE_URL names the database that they share."""
    from flows import stopping
    from flows.helper import helper_name
    from flows.opening import engine
    from flows.output import print_json
    from flows.settings import home_folder, load_settings
    from flows.watch import ConsoleWatch

    home = home_folder()
    settings = load_settings(config, home, cage=cage)
    opened = engine(home)
    name = helper_name()
    stopping.listen()
    with ConsoleWatch(stderr=json) as watch:
        watch.say(f"helping as {name}, {plural(settings.worker_count(), 'candidate')} at a time; Ctrl-C ends it")
        if run is None:
            _help_all(settings, opened, name, watch)
        count = _help_one(settings, opened, _full_id(opened, run), name, watch)
    if json:
        print_json({"run": run, "helper": name, "tried": count})
    return 0


def _full_id(opened: Engine, run: str) -> str:
    from evolution.ledger import TrialLedger, UnknownIdError
    from flows.clock import now

    try:
        return TrialLedger(opened, now=now).run(run).id
    except UnknownIdError as error:
        raise UsageProblem(str(error)) from None


def _help_one(settings: Settings, opened: Engine, run_id: str, name: str, watch: ConsoleWatch) -> int:
    from flows.helper import help_along, shared_run

    with shared_run(settings, opened, run_id, name) as shared:
        watch.say(f"run {run_id}: helping")
        count = help_along(
            shared,
            lambda job, outcome: watch.now(f"{job.candidate.id} {outcome.value if outcome else 'came too late'}"),
            at_once=settings.worker_count(),
        )
    watch.say(f"run {run_id}: nobody leads it any more; {plural(count, 'candidate was', 'candidates were')} tried here")
    return count


def _help_all(settings: Settings, opened: Engine, name: str, watch: ConsoleWatch) -> NoReturn:
    """Any run that somebody leads, one after the other. A run that this machine cannot help with is named once."""
    from evolution.workboard import Workboard

    refused: set[str] = set()
    while True:
        for run_id in Workboard(opened).runs():
            if run_id not in refused:
                try:
                    _help_one(settings, opened, run_id, name, watch)
                except EnvironmentProblem as problem:
                    refused.add(run_id)
                    watch.say(str(problem))
        watch.now("waiting for a run to help with")
        time.sleep(_PAUSE_S)
